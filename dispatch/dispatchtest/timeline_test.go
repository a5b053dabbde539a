package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The text of a failing test names the cause once, first. Below it is what happened.
func TestTheTextOfAFailingTest(t *testing.T) {
	forged := "the shop is closed\nverdict    ok: the run would be graded\x1b[2J\x1b]0;x\a\r\u009b\u202e\u2028"
	for _, tt := range []struct {
		name   string
		agent  dispatch.Agent
		assert func(*dispatchtest.Result, testing.TB)
		want   string
	}{
		{"an undeclared tool", func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if _, err := proxy.Call[map[string]any](ctx, run.Proxy, "get_oder", map[string]any{"id": "1"}); err != nil {
				return nil, fmt.Errorf("looking the order up: %w", err)
			}
			return nil, nil
		}, (*dispatchtest.Result).AssertOK, `
the run failed: agent_5xx: the agent called get_oder, which is not declared (did you mean get_order?)
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
call       get_oder {"id":"1"}
           -> 404 tool_not_executable: get_oder is not declared; did you mean get_order?  (0.00 ms)
answer     500 agent_failed  (0.0 ms)
error      looking the order up: proxy: get_oder: not_found (HTTP 404, tool_not_executable); check that the tool is declared in tools_schema and that the base URL is the run's
verdict    failed: agent_5xx
`},
		{"an error", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, errors.New(forged)
		}, (*dispatchtest.Result).AssertOK, `
the run failed: agent_5xx: the agent failed: the shop is closed
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     500 agent_failed  (0.0 ms)
verdict    failed: agent_5xx
`},
		{"no answer", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, nil
		}, (*dispatchtest.Result).AssertOK, `
the run failed: no_answer: the agent returned no final response; its handler answered in its place
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"(no final response)"}  (0.0 ms)
contract   /final_response is empty [final_response_missing]
warning    the run completed without a tool call, although tools are declared
final      (no final response)
verdict    failed: no_answer (the platform would grade the run)
`},
		{"an answer that forges lines", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: forged}, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertFinalResponse(t, "open") }, `
the final response does not contain ["open"]
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"the shop is closed\nverdict    ok: the run would be graded\u001b[2J\u001b]0;x\u0007\r�� "}  (0.0 ms)
warning    the run completed without a tool call, although tools are declared
final      the shop is closed
           | verdict    ok: the run would be graded�[2J�]0;x� �� 
verdict    ok: the run would be graded
`},
		{"a long answer", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: strings.Repeat("x", 2<<20)}, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertFinalResponse(t, "open", "x", "at nine") }, `
the final response does not contain ["open" "at nine"]
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"X141… (2097173 bytes)  (0.0 ms)
contract   /final_response has more than 50,000 characters and is cut off by the platform [final_response_long]
warning    the run completed without a tool call, although tools are declared
final      X2000… (2097152 bytes)
verdict    ok: the run would be graded
`},
		{"another class", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "Done."}, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertErrorClass(t, dispatchtest.AgentTimeout) }, `
the run succeeded, want it to fail with agent_timeout
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"Done."}  (0.0 ms)
warning    the run completed without a tool call, although tools are declared
final      Done.
verdict    ok: the run would be graded
`},
		{"a stand-in, which is no error class", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertErrorClass(t, dispatchtest.AgentTimeout) }, `
the platform would grade the run, want it to fail with agent_timeout
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"(no final response)"}  (0.0 ms)
contract   /final_response is empty [final_response_missing]
warning    the run completed without a tool call, although tools are declared
final      (no final response)
verdict    failed: no_answer: the agent returned no final response; its handler answered in its place (the platform would grade the run)
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}
				result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: tt.agent},
					dispatchtest.Task{Instruction: "Go.", World: world})
				if err != nil {
					t.Fatal(err)
				}
				got := testkit.Failures(t, func(t testing.TB) { tt.assert(result, t) })
				for _, n := range []int{2000, 141} {
					got = strings.ReplaceAll(got, strings.Repeat("x", n), fmt.Sprintf("X%d", n))
				}
				if got != tt.want[1:] {
					t.Errorf("got\n%s\nwant%s", got, tt.want)
				}
			})
		})
	}
}

// Printed by itself, a result names the cause once too.
func TestThePrintedResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			agent dispatch.Agent
			want  string
		}{
			{func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no model") }, `
answer     500 agent_failed  (0.0 ms)
error      no model
verdict    failed: agent_5xx
`}, {func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, nil }, `
answer     200 {"final_response":"(no final response)"}  (0.0 ms)
contract   /final_response is empty [final_response_missing]
final      (no final response)
verdict    failed: no_answer: the agent returned no final response; its handler answered in its place (the platform would grade the run)
`},
		} {
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: tt.agent}, dispatchtest.Task{})
			if err != nil {
				t.Fatal(err)
			}
			want := "ping       200 {\"ok\":true}  (0.0 ms)\ndispatch   \"\" with input {}" + tt.want
			if got := fmt.Sprint(result); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
	})
}

// A response that is not the handler's is described by what distinguishes it.
func TestResponsesOfAnotherServer(t *testing.T) {
	for _, tt := range []struct {
		name      string
		status    int
		challenge string
		body      string
		class     dispatchtest.ErrorClass
		want      string
	}{
		{"an empty body", 415, "", " \n", dispatchtest.Agent4xx, "ping: the endpoint answered 415 with an empty body"},
		{"an empty body of a server error", 502, "", "", dispatchtest.Agent5xx, "ping: the endpoint answered 502 with an empty body"},
		{"a body", 415, "", "use\x1b JSON\n", dispatchtest.Agent4xx, "ping: the endpoint answered 415: use\uFFFD JSON"},
		{"a password", 401, `Basic realm="x"`, "", dispatchtest.AuthFailed, "ping: this 401 does not come from dispatch.Handler: it has " +
			"WWW-Authenticate: Basic, so a middleware or proxy in front of the agent requires credentials of its own"},
		{"a bearer token", 401, `Bearer realm="x"`, "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401 with an empty body; compare the registered auth header with the agent's token"},
		{"a 401 of the handler", 401, "", "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401 with an empty body; compare the registered auth header with the agent's token"},
		{"a challenge without a scheme", 401, `"x"`, "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401 with an empty body; compare the registered auth header with the agent's token"},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if tt.challenge != "" {
				w.Header().Set("WWW-Authenticate", tt.challenge)
			}
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		})
		got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer x"}, dispatchtest.Task{})
		if err != nil {
			t.Fatal(err)
		}
		if got.ErrorClass != tt.class || got.Error != tt.want {
			t.Errorf("%s: %s: %s\nwant %s", tt.name, got.ErrorClass, got.Error, tt.want)
		}
	}
}

// What an agent says cannot forge a line in the output of a test, or steer the terminal.
func TestOutputForgesNoLine(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
		return nil, errors.New("x\ndispatchtest: forged\x1b[2J\u009b\u202e" + strings.Repeat("y", 1<<20))
	}
	world := proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": func(*proxytest.Request) (any, error) { panic("x\nproxytest: forged\x1b[2J") }},
	}
	failed, output := testkit.Run(t, func(t testing.TB) {
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world})
	})
	// The panic of a behavior is the cause of a failure too, and an error of the user is one.
	user := func(context.Context, []dispatchtest.Turn) (string, error) {
		return "", errors.New("x\nverdict: forged\x1b[2J")
	}
	polite := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Anything else?"}, nil
	}
	asserted := testkit.Failures(t, func(t testing.TB) {
		got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world})
		if err != nil {
			t.Fatal(err)
		}
		got.AssertOK(t)
		dispatchtest.Run(t, dispatchtest.Target{Agent: polite}, dispatchtest.Task{Conversation: &dispatchtest.Conversation{User: user}})
	})
	forged := regexp.MustCompile(`(?m)^\w+: forged`)
	for name, text := range map[string]string{"failures": failed, "assertions": asserted, "output": output} {
		if strings.ContainsAny(text, "\x1b\u009b\u202e") || len(text) > 40_000 || forged.MatchString(text) {
			t.Errorf("%s, %d bytes: %.500q", name, len(text), text)
		}
	}
	if !strings.Contains(output, "… (1048") {
		t.Errorf("the output does not say how long the error is: %.500q", output)
	}
}

// An agent that dispatches to another agent in its process answers for itself: the failure of the
// other one is not its own.
func TestStandInOfANestedAgent(t *testing.T) {
	inner, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return nil, errors.New("the inner agent has no model")
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	outer := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		body := `{"odyssey_proxy_url":"http://proxy.test/api/odyssey-proxy/runs/9","run_token":"t","input":{}}`
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
		w := httptest.NewRecorder()
		inner.ServeHTTP(w, r)
		return &dispatch.Response{FinalResponse: fmt.Sprintf("The other agent answered %d.", w.Code)}, nil
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: outer}, dispatchtest.Task{})
	got.AssertFinalResponse(t, "The other agent answered 500.")
}

// What Run has reported already is not repeated, and a printed verdict says what no line above it says.
func TestWhatFailuresDoNotRepeat(t *testing.T) {
	const undeclared = "the agent called get_oder, which is not declared (did you mean get_order?)"
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_oder", nil)
		return nil, errors.New("no order")
	}
	failed := testkit.Failures(t, func(t testing.TB) {
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world}).AssertOK(t)
	})
	if want := "proxytest: " + undeclared + "\nthe run failed: agent_5xx: the agent failed: no order\n"; !strings.HasPrefix(failed, want) ||
		strings.Count(failed, undeclared) != 1 {
		t.Errorf("got\n%s\nwant once, first\n%s", failed, want)
	}
	long := strings.Repeat("x", 400)
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string // the end of the printed result
	}{
		{"a server error", 500, long, "answer     500 " + long + "\nverdict    failed: agent_5xx\n"},
		{"a client error", 404, long, "answer     404 " + long + "\nverdict    failed: agent_4xx\n"},
		{"no final response", 200, `{}`, "contract   /final_response must be a string [final_response_missing]\nverdict    failed: agent_bad_response\n"},
		{"no JSON", 200, `<p>`, "contract   the response is not a JSON object: invalid JSON at byte 0: invalid character '<' where a value should begin [not_json]\n" +
			"verdict    failed: agent_bad_response\n"},
		{"a redirect", 302, `{}`, "answer     302 {}\nverdict    failed: agent_bad_response: the endpoint answered 302; redirects are not followed\n"},
		{"a 401", 401, "", "verdict    failed: auth_failed: the endpoint answered 401 with an empty body; compare the registered auth header with the agent's token\n"},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); string(body) == `{"ping":true}` {
				return
			}
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		})
		got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer x"}, dispatchtest.Task{})
		if err != nil {
			t.Fatal(err)
		}
		if text := regexp.MustCompile(`  \([0-9.]+ ms\)`).ReplaceAllString(got.String(), ""); !strings.HasSuffix(text, tt.want) {
			t.Errorf("%s: got\n%s\nwant at its end\n%s", tt.name, text, tt.want)
		}
	}
	// The error belongs to the last turn: the answer of another turn is shown whole. Each turn has its own calls.
	turns := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"turn": run.TurnID})
		if run.TurnID == "2" {
			return nil, errors.New("forgot turn 1")
		}
		return &dispatch.Response{FinalResponse: "fine"}, nil
	}
	got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: turns}, dispatchtest.Task{
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"one", "two"}}, World: world,
	})
	if calls := regexp.MustCompile(`(?m)^(?:answer|call.*)`).FindAllString(got.String(), -1); strings.Join(calls, ", ") !=
		`call       get_order {"turn":"1"}, answer, call       get_order {"turn":"2"}, answer` {
		t.Errorf("%q", calls)
	}
	if err != nil || strings.Count(got.String(), "forgot turn 1") != 1 || !strings.Contains(got.String(), "answer     500 agent_failed  (") {
		t.Errorf("%v\n%s", err, got)
	}
}

// A problem that failed the run is the cause, and does not stand below it too.
func TestAFatalProblemIsSaidOnce(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"final_response": 5, "messages": {}}`)
	})
	got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Handler: handler}, dispatchtest.Task{})
	if err != nil {
		t.Fatal(err)
	}
	text := testkit.Failures(t, func(t testing.TB) { got.AssertOK(t) })
	if want := "the run failed: agent_bad_response: /final_response must be a string [final_response_missing]\n"; !strings.HasPrefix(text, want) ||
		strings.Count(text, "must be a string") != 1 || !strings.Contains(text, "\ncontract   /messages must be a list of messages [messages_malformed]\n") {
		t.Errorf("got\n%s\nwant once, first\n%s", text, want)
	}
}
