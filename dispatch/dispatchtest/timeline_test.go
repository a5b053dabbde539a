package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
error      looking the order up: proxy: get_oder: refused (HTTP 404, tool_not_executable); check that the tool is declared in tools_schema and that the base URL is the run's
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
contract   final_response_missing: /final_response is empty
warning    the run completed without a tool call, although tools are declared
final      (no final response)
verdict    failed: no_answer (the platform would grade the run)
`},
		{"an answer that forges lines", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: forged}, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertFinalResponse(t, "open") }, `
the final response is "the shop is closed\nverdict    ok: the run would be graded\x1b[2J\x1b]0;x\a\r\u009b\u202e\u2028"
want it to contain "open"
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"the shop is closed\nverdict    ok: the run would be graded\u001b[2J\u001b]0;x\u0007\r�� "}  (0.0 ms)
warning    the run completed without a tool call, although tools are declared
final      the shop is closed
           verdict    ok: the run would be graded�[2J�]0;x� �� 
verdict    ok: the run would be graded
`},
		{"a long answer", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: strings.Repeat("x", 2<<20)}, nil
		}, func(r *dispatchtest.Result, t testing.TB) { r.AssertFinalResponse(t, "open") }, `
the final response is "X2000"… (2097152 bytes)
want it to contain "open"
ping       200 {"ok":true}  (0.0 ms)
dispatch   "Go." with input {}
answer     200 {"final_response":"X141… (2097173 bytes)  (0.0 ms)
contract   final_response_long: /final_response has more than 50,000 characters and is cut off by the platform
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
contract   final_response_missing: /final_response is empty
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
		{"a body", 415, "", "use\x1b JSON\n", dispatchtest.Agent4xx, "ping: the endpoint answered 415: use\uFFFD JSON "},
		{"a password", 401, `Basic realm="x"`, "", dispatchtest.AuthFailed, "ping: this 401 does not come from dispatch.Handler: it has " +
			"WWW-Authenticate: Basic, so a middleware or proxy in front of the agent requires credentials of its own"},
		{"a bearer token", 401, `Bearer realm="x"`, "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401: compare the registered auth header with the agent's token"},
		{"a 401 of the handler", 401, "", "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401: compare the registered auth header with the agent's token"},
		{"a challenge without a scheme", 401, `"x"`, "", dispatchtest.AuthFailed,
			"ping: the endpoint answered 401: compare the registered auth header with the agent's token"},
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
