package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// serving returns targets for the agent in every way in which a test can have it in its own
// process. The handler has no logger.
func serving(t *testing.T, agent dispatch.Agent) map[string]dispatchtest.Target {
	t.Helper()
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret-token"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]dispatchtest.Target{
		"agent":   {Agent: agent},
		"handler": {Handler: handler, AuthValue: "Bearer secret-token"},
	}
}

func explode() { panic("index 7 of an empty basket") }

// What an agent fails with is in the result, and in the output of the test.
func TestTheAgentsErrorIsShown(t *testing.T) {
	for name, tt := range map[string]struct {
		agent dispatch.Agent
		class dispatchtest.ErrorClass
		want  []string // parts of AgentError and of the output
	}{
		"error": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				return nil, errors.New("no route to the model at llm:9000")
			}, dispatchtest.Agent5xx, []string{"no route to the model at llm:9000"},
		},
		"panic": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) { explode(); return nil, nil },
			dispatchtest.Agent5xx, []string{"panic: index 7 of an empty basket", "dispatchtest_test.explode",
				"witness_test.go:"},
		},
	} {
		for kind, target := range serving(t, tt.agent) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var got *dispatchtest.Result
				_, output := testkit.Run(t, func(tb testing.TB) { got = dispatchtest.Run(tb, target, task()) })
				got.AssertErrorClass(t, tt.class)
				for _, want := range tt.want {
					if !strings.Contains(got.AgentError, want) || !strings.Contains(output, want) {
						t.Errorf("AgentError %q\noutput %s\nwant %q in both", got.AgentError, output, want)
					}
				}
				if first, _, _ := strings.Cut(got.AgentError, "\n"); got.Error != "the agent failed: "+first ||
					!strings.Contains(got.String(), "\nerror      "+first+"\n") {
					t.Errorf("Error %q, timeline\n%s", got.Error, got)
				}
				if n := strings.Count(output, "the agent failed: "); n != 1 {
					t.Errorf("the output names the failure %d times:\n%s", n, output)
				}
				// Without a test it is in the result.
				dispatched, err := dispatchtest.Dispatch(t.Context(), target, task())
				if err != nil || !strings.Contains(dispatched.AgentError, tt.want[0]) {
					t.Errorf("Dispatch: %v, AgentError %q", err, dispatched.AgentError)
				}
			})
		}
	}
}

// A handler of another kind has its panics shown too, without the run token.
func TestAHandlersPanicIsShown(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("X-Pipelines-Run-Token"); token != "" {
			panic("no client for " + token)
		}
	})
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"at the ping":     {func(http.ResponseWriter, *http.Request) { explode() }, "panic: index 7 of an empty basket\n"},
		"at the dispatch": {handler, "panic: no client for [redacted]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var got *dispatchtest.Result
			_, output := testkit.Run(t, func(tb testing.TB) {
				got = dispatchtest.Run(tb, dispatchtest.Target{Handler: tt.handler}, task())
			})
			got.AssertErrorClass(t, dispatchtest.AgentUnreachable)
			if !strings.HasPrefix(got.AgentError, tt.want) || !strings.Contains(got.AgentError, "witness_test.go:") ||
				!strings.Contains(got.Error, strings.TrimSpace(tt.want)) || !strings.Contains(output, tt.want) {
				t.Errorf("Error %q, AgentError %q\noutput %s", got.Error, got.AgentError, output)
			}
		})
	}
}

// The error belongs to the turn that failed.
func TestTheErrorOfATurn(t *testing.T) {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if run.TurnID == "2" {
			return nil, errors.New("forgot turn 1")
		}
		return &dispatch.Response{FinalResponse: "fine"}, nil
	}
	got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"one", "two", "three"}},
	})
	if err != nil || len(got.Turns) != 2 || got.AgentError != "forgot turn 1" {
		t.Errorf("%v, %d turns, AgentError %q", err, len(got.Turns), got.AgentError)
	}
	// An agent whose failure is graded still failed.
	graded := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("gave up") }
	got = dispatchtest.Run(t, dispatchtest.Target{Agent: graded, Options: &dispatch.Options{
		FailureResponse: func(*dispatch.Run, *toolwire.Error) *dispatch.Response {
			return &dispatch.Response{FinalResponse: "Sorry."}
		},
	}}, dispatchtest.Task{})
	if got.AgentError != "gave up" || got.StandIn != dispatchtest.AgentFailed || got.FinalResponse != "Sorry." || !got.WouldBeGraded() {
		t.Errorf("AgentError %q, Error %q", got.AgentError, got.Error)
	}
}

// calling returns an agent that makes n calls. Like agents of frameworks that have no context it
// calls with one of its own.
func calling(n int) dispatch.Agent {
	return func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for i := range n {
			if _, err := run.Proxy.Do(context.Background(), "get_order", map[string]int{"i": i}); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
}

// A run that stalls says so, why, and how to lift the limit.
func TestWaitsAreShown(t *testing.T) {
	unlimited, err := proxytest.New(task().World, &proxytest.Options{RatePerMinute: -1})
	if err != nil {
		t.Fatal(err)
	}
	contended := task().World
	contended.FailureRules = []proxytest.FailureRule{{Nth: []int{1}, Status: 503, ErrorClass: "lock_contention",
		RetryAfter: 7}}
	for _, tt := range []struct {
		name  string
		calls int
		task  dispatchtest.Task
		want  []dispatchtest.Wait
	}{
		{"within the limit", 60, task(), nil},
		{"beyond the limit", 61, task(), []dispatchtest.Wait{{Tool: "get_order", Duration: time.Minute + 50*time.Millisecond,
			Reason: "a run token may make 60 requests in 1m0s. In a testing/synctest bubble the wait takes no time; " +
				"proxytest.Options{RatePerMinute: -1} lifts the limit"}}},
		{"no limit", 300, dispatchtest.Task{Platform: unlimited}, nil},
		{"repeated", 1, dispatchtest.Task{World: contended},
			[]dispatchtest.Wait{{Tool: "get_order", Duration: 7 * time.Second,
				Reason: "the proxy answered 503 lock_contention"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got *dispatchtest.Result
				_, output := testkit.Run(t, func(tb testing.TB) {
					got = dispatchtest.Run(tb, dispatchtest.Target{Agent: calling(tt.calls)}, tt.task)
				})
				got.AssertOK(t)
				if len(got.Waits) != len(tt.want) {
					t.Fatalf("waits %v, want %v", got.Waits, tt.want)
				}
				for i, want := range tt.want {
					if w := &got.Waits[i]; w.At.IsZero() || w.Order == 0 {
						t.Errorf("wait %v has no place", *w)
					} else {
						want.At, want.Order = w.At, w.Order
					}
					if got.Waits[i] != want {
						t.Errorf("wait %v, want %v", got.Waits[i], want)
					}
					if line := "dispatchtest: get_order waits " + want.Duration.String() + ": " + want.Reason +
						"\n"; !strings.Contains(output, line) {
						t.Errorf("output %s\nwant %s", output, line)
					}
				}
				if len(tt.want) == 0 && (got.Dispatch.TookMS != 0 || strings.Contains(output, "waits")) {
					t.Errorf("took %v ms, output %s", got.Dispatch.TookMS, output)
				}
			})
		})
	}
}

// Requests that the proxy refuses are named in the output, over loopback too.
func TestRefusedCallsAreShown(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.As("sub").Do(ctx, "get_ordre", nil)
		return nil, nil
	}
	for kind, target := range serving(t, agent) {
		t.Run(kind, func(t *testing.T) {
			var got *dispatchtest.Result
			failed, output := testkit.Run(t, func(tb testing.TB) { got = dispatchtest.Run(tb, target, task()) })
			const want = "dispatchtest: the proxy refused sub: get_ordre: 404 tool_not_executable: get_ordre is not declared; did you mean get_order?\n"
			if strings.Count(output, want) != 1 || len(got.Refused) != 1 || failed == "" {
				t.Errorf("%d refused, failure %q, output %s", len(got.Refused), failed, output)
			}
		})
	}
	// A platform of the test shows them where a run without a test cannot.
	_, output := testkit.Run(t, func(tb testing.TB) {
		platform := proxytest.NewPlatform(t, task().World, &proxytest.Options{AllowUndeclared: true})
		dispatchtest.Run(tb, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Platform: platform})
	})
	if strings.Count(output, "get_ordre: 404") != 1 {
		t.Errorf("output %s", output)
	}
	_, output = testkit.Run(t, func(tb testing.TB) {
		platform := proxytest.NewPlatform(tb, task().World, &proxytest.Options{AllowUndeclared: true})
		if _, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent},
			dispatchtest.Task{Platform: platform}); err != nil {
			t.Error(err)
		}
	})
	if strings.Count(output, "proxytest: the proxy refused sub: get_ordre: 404") != 1 {
		t.Errorf("output %s", output)
	}
}

// What does not arrive of an answer is in the result and fails AssertOK, whoever lost it.
func TestWhatDoesNotArrive(t *testing.T) {
	agent := func(messages []dispatch.Message, metadata *dispatch.Metadata) dispatchtest.Target {
		return dispatchtest.Target{Agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "done", Messages: messages, Metadata: metadata}, nil
		}}
	}
	raw := func(body string) dispatchtest.Target {
		return dispatchtest.Target{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, body)
		})}
	}
	said := dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("done")}
	for _, tt := range []struct {
		name    string
		target  dispatchtest.Target
		pointer string // of the one problem
		want    string // a part of AssertOK's failure; "" for a pass
	}{
		{"all arrives", agent([]dispatch.Message{said}, &dispatch.Metadata{Model: "m"}), "", ""},
		{"an unknown role", agent([]dispatch.Message{{Role: "robot"}, said}, nil), "/messages/0/role",
			"/messages/0/role is not system, user, assistant or tool: the message is not sent [messages_removed]"},
		{"unfinished arguments",
			agent([]dispatch.Message{{Role: dispatch.RoleAssistant,
				ToolCalls: []dispatch.ToolCall{{ID: "1", Name: "f", Arguments: []byte(`{"order_id":`)}}}, said}, nil),
			"/messages/0/tool_calls/0/arguments", ""},
		{"metadata that JSON cannot write", agent(nil, &dispatch.Metadata{Extra: map[string]any{"f": func() {}}}),
			"/metadata", "/metadata"},
		{"no answer", dispatchtest.Target{Agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, nil
		}}, "/final_response", "the run failed: no_answer: "},
		{"a raw answer",
			raw(`{"final_response":"done","messages":[{"role":"assistant","content":"done"}],"metadata":{"model":"m"}}`), "",
			""},
		{"raw messages", raw(`{"final_response":"done","messages":[{"role":"robot","content":"x"}]}`), "/messages/0/role",
			"/messages/0/role must be system, user, assistant or tool [messages_malformed]"},
		{"raw metadata", raw(`{"final_response":"done","metadata":[]}`), "/metadata", "/metadata is dropped: it is not an object [metadata_malformed]"},
		{"a long answer", raw(`{"final_response":"` + strings.Repeat("x", 50_001) + `"}`), "/final_response",
			"final_response_long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dispatchtest.Run(t, tt.target, dispatchtest.Task{})
			if !got.WouldBeGraded() || len(got.Problems) != min(1, len(tt.pointer)) || len(got.Problems) == 1 &&
				got.Problems[0].Pointer != tt.pointer {
				t.Fatalf("problems %v\n%s", got.Problems, got)
			}
			lost := strings.HasSuffix(tt.want, "[messages_malformed]")
			if strings.HasPrefix(tt.pointer, "/messages") && lost != (got.Messages == nil) {
				t.Errorf("these messages arrive: %v", got.Messages)
			}
			failed := testkit.Failures(t, func(tb testing.TB) { got.AssertOK(tb) })
			if (failed == "") != (tt.want == "") || !strings.Contains(failed, tt.want) {
				t.Errorf("AssertOK says %q, want %q", failed, tt.want)
			}
		})
	}
}

// A wrong token is the most common mistake of a registration. The handler's log says what it
// refused.
func TestTheHandlersLogIsShown(t *testing.T) {
	done := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	for kind, target := range serving(t, done) {
		t.Run(kind, func(t *testing.T) {
			target.AuthValue = "Bearer stale-token"
			var got *dispatchtest.Result
			_, output := testkit.Run(t, func(tb testing.TB) { got = dispatchtest.Run(tb, target, task()) })
			got.AssertErrorClass(t, dispatchtest.AuthFailed)
			if !strings.Contains(output, "dispatchtest: dispatch refused error=") || !strings.Contains(output, "unauthorized") ||
				strings.Contains(output, "stale") {
				t.Errorf("output %s", output)
			}
		})
	}
}

// What an agent in any language sends is judged by the words of "Porting without the SDK",
// rich-mode messages.
func TestRawMessages(t *testing.T) {
	const call = `{"role":"assistant","tool_calls":[{"id":"c1","name":"get_order","arguments":%s}]}`
	for _, tt := range []struct {
		name, messages string
		arrive         bool
	}{
		{"content is a string", `[{"role":"assistant","content":"x"}]`, true},
		{"content is a list", `[{"role":"user","content":[{"type":"text","text":"x"}]}]`, true},
		{"content is null", `[{"role":"assistant","content":null}]`, true},
		{"content is absent", `[{"role":"assistant"}]`, true},
		{"content is a number", `[{"role":"assistant","content":1}]`, false},
		{"content is an object", `[{"role":"assistant","content":{}}]`, false},
		{"an unknown role", `[{"role":"developer","content":"x"}]`, false},
		{"no role", `[{"content":"x"}]`, false},
		{"a role in other case", `[{"role":"Assistant","content":"x"}]`, false},
		{"a tool row without an id", `[` + fmt.Sprintf(call, `{}`) + `,{"role":"tool","content":"x"}]`, false},
		{"a tool row with another id", `[` + fmt.Sprintf(call, `{}`) + `,{"role":"tool","tool_call_id":"c2","content":"x"}]`,
			false},
		{"a tool row that matches", `[` + fmt.Sprintf(call, `{}`) + `,{"role":"tool","tool_call_id":"c1","content":"x"}]`,
			true},
		{"nested",
			`[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_order","arguments":"{}"}}]}]`, true},
		{"arguments are any text", `[` + fmt.Sprintf(call, `"{\"order_id\":"`) + `]`, true},
		{"arguments are an empty string", `[` + fmt.Sprintf(call, `""`) + `]`, true},
		{"arguments are a list", `[` + fmt.Sprintf(call, `[1]`) + `]`, false},
		{"thinking is a list", `[{"role":"assistant","content":"x","thinking":[{"type":"text","text":"hm"}]}]`, true},
		{"thinking is a string", `[{"role":"assistant","content":"x","thinking":"hm"}]`, false},
		{"not a list", `{"role":"assistant"}`, false},
		{"one bad row among good ones", `[{"role":"assistant","content":"x"},{"role":"robot"}]`, false},
		{"null", `null`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dispatchtest.Run(t,
				dispatchtest.Target{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = fmt.Fprintf(w, `{"final_response":"done","messages":%s}`, tt.messages)
				})}, dispatchtest.Task{})
			if !got.OK() || (len(got.Problems) == 0) != tt.arrive || got.Messages != nil && !tt.arrive {
				t.Errorf("problems %v, messages %v; want them to arrive: %t", got.Problems, got.Messages, tt.arrive)
			}
		})
	}
}

// A handler without a logger reports to the output of the test what a logger would receive.
func TestWhatAHandlerReportsIsShown(t *testing.T) {
	done := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	stall := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		opts  dispatch.Options
		want  []string
	}{
		{"an answer", done, dispatch.Options{}, []string{"dispatchtest: run answered"}},
		{"a repair", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "done", Messages: []dispatch.Message{{Role: "robot"}}}, nil
		}, dispatch.Options{}, []string{"dispatchtest: response contract", "messages_removed", "/messages/0/role", "role"}},
		{"a timeout", stall, dispatch.Options{RunTimeout: time.Second, Reserve: 500 * time.Millisecond},
			[]string{"dispatchtest: run timed out after "}},
		{"an error in words of the agent", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, fmt.Errorf("step 3: %w", &toolwire.Error{Code: "invalid_input", Message: "no order"})
		}, dispatch.Options{}, []string{"dispatchtest: the agent failed: step 3: invalid_input: no order\n"}},
		{"a failed call", func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := run.Proxy.Do(ctx, "no such tool", nil)
			return nil, err
		}, dispatch.Options{}, []string{"dispatchtest: the agent failed: proxy: invalid_tool_name"}},
		{"a lost event", func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, _ = run.Proxy.Trace(ctx, "thought", nil)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, dispatch.Options{}, []string{"dispatchtest: proxy trace event lost", "thought", "invalid_event"}},
		{"a panic of an observer", done, dispatch.Options{Observer: &dispatch.Observer{
			RunEnd: func(context.Context, dispatch.RunEnd) { explode() },
		}}, []string{"a function of Options.Observer panicked", "index 7 of an empty basket", "witness_test.go:"}},
		{"an observer that takes too long", done, dispatch.Options{
			RunTimeout: 20 * time.Second, Reserve: 2 * time.Second,
			Observer: &dispatch.Observer{RunEnd: func(context.Context, dispatch.RunEnd) { time.Sleep(time.Second) }},
		}, []string{"a function of Options.Observer did not return in time and still runs", "500ms"}},
		{"a panic of FailureResponse", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, errors.New("no")
		}, dispatch.Options{FailureResponse: func(*dispatch.Run, *toolwire.Error) *dispatch.Response {
			explode()
			return nil
		}}, []string{"the agent failed: no\n", "a function of the options panicked", "index 7 of an empty basket", "witness_test.go:"}},
		{"a panic of TokenFunc", done, dispatch.Options{TokenFunc: func() []string { explode(); return nil }},
			[]string{"dispatch refused", "TokenFunc panicked", "string", "witness_test.go:"}},
	} {
		if tt.opts.Reserve == 0 {
			tt.opts.Reserve = time.Minute // hooks have a quarter of it
		}
		if tt.opts.TokenFunc == nil {
			tt.opts.Tokens = []string{"secret-token"}
		}
		for _, kind := range []string{"agent", "handler"} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				target := dispatchtest.Target{Agent: tt.agent, Options: &tt.opts}
				if kind == "handler" {
					handler, err := dispatch.New(tt.agent, &tt.opts)
					if err != nil {
						t.Fatal(err)
					}
					target = dispatchtest.Target{Handler: handler}
				}
				target.AuthValue = "Bearer secret-token"
				_, output := testkit.Run(t, func(tb testing.TB) { dispatchtest.Run(tb, target, task()) })
				for _, want := range tt.want {
					if !strings.Contains(output, want) {
						t.Errorf("%q is missing in\n%s", want, output)
					}
				}
			})
		}
	}
}

// An agent that aborts breaks the connection as a handler of net/http does, and this is not reported as a panic.
func TestAnAbortIsNoPanic(t *testing.T) {
	abort := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(http.ErrAbortHandler) }
	for kind, target := range serving(t, abort) {
		got, err := dispatchtest.Dispatch(t.Context(), target, task())
		if err != nil || got.ErrorClass != dispatchtest.AgentUnreachable || got.AgentError != "" {
			t.Errorf("%s: %v %s %q", kind, err, got.ErrorClass, got.AgentError)
		}
	}
}

// A middleware that ends requests before the run's time is over is named, whatever it answers.
func TestTheLimitOfAMiddlewareIsNamed(t *testing.T) {
	handler, err := dispatch.New(func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 200*time.Millisecond)
		defer cancel()
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
	var got *dispatchtest.Result
	_, output := testkit.Run(t, func(tb testing.TB) { got = dispatchtest.Run(tb, dispatchtest.Target{Handler: limited}, task()) })
	const want = "the request's context ended after 0.2 s, before RunTimeout (300 s): a middleware or server timeout?"
	if got.ErrorClass != dispatchtest.Agent5xx || !strings.Contains(got.AgentError, want) || !strings.Contains(output, want) {
		t.Errorf("%s, AgentError %q\noutput %s", got.ErrorClass, got.AgentError, output)
	}
}

// An agent that breaks the connection, as http.ErrAbortHandler does, has not failed.
func TestAnAbortIsNoFailureOfTheAgent(t *testing.T) {
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(http.ErrAbortHandler) }
	for kind, target := range serving(t, agent) {
		t.Run(kind, func(t *testing.T) {
			var got *dispatchtest.Result
			_, output := testkit.Run(t, func(tb testing.TB) { got = dispatchtest.Run(tb, target, task()) })
			got.AssertErrorClass(t, dispatchtest.AgentUnreachable)
			if got.AgentError != "" || strings.Contains(output, "the agent failed") {
				t.Errorf("AgentError %q, output %s", got.AgentError, output)
			}
		})
	}
}
