package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// orders is a world whose get_order has an output_schema.
func orders(output string) *dispatchtest.Task {
	return &dispatchtest.Task{Instruction: "Where is order #4521?", World: proxytest.World{Tools: []schema.Tool{{
		Name: "get_order", Description: "Looks an order up.", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(output),
	}}}}
}

const orderOutput = `{"type":"object","required":["status","total"],"additionalProperties":false,
	"properties":{"status":{"type":"string"},"total":{"type":"number"}}}`

// reads is an agent that needs the members which the output_schema requires.
func reads(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	run.Transcript()
	order, err := proxy.Call[map[string]any](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
	if err != nil {
		return &dispatch.Response{FinalResponse: "I cannot see the order: " + err.Error()}, nil
	}
	status, ok := order["status"].(string)
	if !ok || order["total"] == nil {
		return nil, errors.New("the order has no status or no total")
	}
	return &dispatch.Response{FinalResponse: "It is " + status + "."}, nil
}

// Scenarios return only results that the output_schema allows, so an agent may rely on it.
func TestScenariosKeepToTheOutputSchema(t *testing.T) {
	for name, tt := range map[string]struct {
		output  string
		agent   dispatch.Agent
		skipped names
	}{
		"closed":     {orderOutput, reads, nil},
		"open":       {strings.Replace(orderOutput, `"additionalProperties":false,`, "", 1), reads, nil},
		"no strings": {strings.Replace(orderOutput, `{"type":"string"}`, `{"enum":["open","shipped"]}`, 1), reads, names{"unwrap", "result_kinds"}},
		"a list of orders": {`{"type":"array","minItems":1,"items":` + orderOutput + `}`, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			list, err := proxy.Call[[]map[string]any](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return &dispatch.Response{FinalResponse: "There is an error."}, nil
			}
			return &dispatch.Response{FinalResponse: list[0]["status"].(string)}, nil
		}, nil},
		"a text": {`{"type":"string"}`, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			text, err := proxy.Call[string](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return &dispatch.Response{FinalResponse: "There is an error."}, nil
			}
			return &dispatch.Response{FinalResponse: text}, nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := scenarios(doctor.Scenarios()...)
				opts.Task = orders(tt.output)
				report := examineWith(t, dispatchtest.Target{Agent: tt.agent}, opts)
				assertNoWarning(t, report)
				for _, scenario := range judged() {
					want := doctor.StatusOK
					if slices.Contains(tt.skipped, scenario) {
						want = doctor.StatusSkipped
					}
					wantStatus(t, report, scenario, want)
				}
			})
		})
	}
}

// A result that no tool of the sample may return is not tried.
func TestResultKindsTryWhatTheOutputSchemaAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		counted := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			runs.Add(1)
			return reads(ctx, run)
		}
		opts := scenarios("result_kinds")
		opts.Task = orders(orderOutput)
		report := examineWith(t, dispatchtest.Target{Agent: counted}, opts)
		if f := find(t, report, "result_kinds"); f.Status != doctor.StatusOK || runs.Load() != 4 { // the sample, a run alone, and two long or unusual texts
			t.Errorf("%d runs, want 4: %+v", runs.Load(), f)
		}
	})
}

// An agent that an unusual text in a result makes fail gets its mark elsewhere.
func TestScenariosMarkWhatTheAgentDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		picky := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			runs.Add(1)
			run.Transcript()
			order, err := proxy.Call[map[string]any](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return nil, err
			}
			if order["status"] != "shipped" {
				return nil, errors.New("the status is unknown")
			}
			return &dispatch.Response{FinalResponse: "It is shipped."}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: picky}, scenarios("concurrent_runs", "unwrap"))
		assertNoWarning(t, report)
		for _, scenario := range []doctor.Name{"concurrent_runs", "unwrap"} {
			wantStatus(t, report, scenario, doctor.StatusOK)
		}
		if runs.Load() != 5 { // the sample, two alone for both scenarios, and a pair
			t.Errorf("%d runs, want 5", runs.Load())
		}
	})
}

// An agent that fails with any change of a result is not accused of what it fails for.
func TestScenariosSayWhatTheyCannotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exact := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			if err == nil && string(order) != `{"status":"shipped"}` {
				err = errors.New("another order")
			}
			if err != nil {
				return nil, err
			}
			return &dispatch.Response{FinalResponse: "It is shipped."}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: exact}, scenarios("concurrent_runs", "unwrap", "retry_429"))
		assertNoWarning(t, report)
		for scenario, want := range map[doctor.Name]doctor.Status{"concurrent_runs": "skipped", "unwrap": "skipped", "retry_429": "ok"} {
			f := find(t, report, scenario)
			if f.Status != want || want == "skipped" && !strings.Contains(f.Seen, "one run alone fails") {
				t.Errorf("%+v", f)
			}
		}
	})
}

// stops makes n equal calls at once and stops at the first refusal.
func stops(n int) http.Handler {
	return hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		var wait sync.WaitGroup
		for range n {
			wait.Go(func() { call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token")) })
		}
		wait.Wait()
		say(w, 200, `{"final_response":"There was an error, or it is done."}`)
	}}
}

// Calls that were on their way when the token expired are not sent after its end.
func TestParallelCallersMayEndTogether(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4, 8} {
		atOnce := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			results := make(chan error, n)
			for i := range n {
				go func() {
					_, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]int{"order_id": i})
					results <- err
				}()
			}
			var failed error
			for range n {
				failed = errors.Join(failed, <-results)
			}
			return &dispatch.Response{FinalResponse: fmt.Sprint("done, error: ", failed != nil)}, nil
		}
		for name, target := range map[string]dispatchtest.Target{
			"a port":      {Handler: stops(n), AuthValue: "Bearer " + handToken},
			"our handler": endpoints(t, atOnce)["handler"],
		} {
			t.Run(fmt.Sprintf("%s, %d calls", name, n), func(t *testing.T) {
				t.Parallel()
				report := examineWith(t, target, scenarios("expired_token"))
				assertNoWarning(t, report)
				if f := find(t, report, "expired_token"); f.Status != doctor.StatusSkipped { // nothing comes after the calls
					t.Errorf("%+v", f)
				}
			})
		}
	}
}

// While a call waits for its answer, another one is not proof that the agent knows of the end of its token.
func TestACallBesideOneThatIsOpen(t *testing.T) {
	t.Parallel()
	open, end := make(chan struct{}), make(chan struct{}, 1)
	opts := scenarios("expired_token")
	opts.Task.WrapProxy = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("open") {
				open <- struct{}{}
				<-end
			}
			next.ServeHTTP(w, r)
		})
	}
	agent := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		token := r.Header.Get("X-Pipelines-Run-Token")
		var first sync.WaitGroup
		first.Go(func() { call(e, "get_order?open", token) })
		<-open
		call(e, "get_order", token)
		call(e, "get_order", token)
		end <- struct{}{}
		first.Wait()
		say(w, 200, `{"final_response":"There was an error, or it is done."}`)
	}}
	report := examineWith(t, byHand(agent), opts)
	assertNoWarning(t, report)
	wantStatus(t, report, "expired_token", doctor.StatusSkipped)
}

// An agent that goes on one call after the other is still found.
func TestCallsAfterTheTokenExpired(t *testing.T) {
	t.Parallel()
	goesOn := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		for range 4 {
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
		}
		say(w, 200, `{"final_response":"done"}`)
	}}
	report := examineWith(t, byHand(goesOn), scenarios("expired_token"))
	expect(t, report, nil, names{"expired_token"}, "2 requests after")
}

// An agent may make the same call twice, on purpose.
func TestASecondCallIsNotARepetition(t *testing.T) {
	t.Parallel()
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		twice := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 200, `{"final_response":"An error, perhaps."}`)
		}}
		report := examineWith(t, byHand(twice), scenarios("terminal_503"))
		assertNoWarning(t, report)
	})
	t.Run("at once, each repeated after a wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			atOnce := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				errs := make(chan error)
				for range 2 {
					go func() {
						_, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
						errs <- err
					}()
				}
				if err := errors.Join(<-errs, <-errs); err != nil {
					return &dispatch.Response{FinalResponse: "An error: " + err.Error()}, nil
				}
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
			report := examineWith(t, dispatchtest.Target{Agent: atOnce}, scenarios("retry_429", "retry_503", "terminal_503"))
			assertNoWarning(t, report)
		})
	})
}

// An agent that serves one run at a time makes the doctor wait once for each pair of runs, not for each
// call.
func TestConcurrentRunsWaitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := make(chan struct{}, 1)
		serial := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			one <- struct{}{}
			defer func() { <-one }()
			for i := range 20 {
				if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]int{"i": i}); err != nil {
					return nil, err
				}
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		start := time.Now()
		report := examineWith(t, dispatchtest.Target{Agent: serial}, scenarios("concurrent_runs"))
		if took := time.Since(start); took > 7*time.Second {
			t.Errorf("it took %s", took)
		}
		expect(t, report, nil, names{"concurrent_runs"}, "one run at a time")
	})
}

// A model that thinks for long in one of two runs does not make them serial.
func TestASlowModelIsNotABusyEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		slow := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			n := runs.Add(1)
			time.Sleep(2 * time.Second)
			if n == 4 { // the second of the two
				time.Sleep(20 * time.Second)
			}
			if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil); err != nil {
				return nil, err
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: slow}, scenarios("concurrent_runs"))
		assertNoWarning(t, report)
		wantStatus(t, report, "concurrent_runs", doctor.StatusOK)
	})
}

// A run that fails once beside another one does not prove that they share something.
func TestAFailureBesideAnotherRunIsRepeated(t *testing.T) {
	for failures, want := range map[int64]doctor.Status{1: doctor.StatusWarning, 2: doctor.StatusFailed} {
		synctest.Test(t, func(t *testing.T) {
			var runs atomic.Int64
			flaky := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				n := runs.Add(1)
				if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil); err != nil {
					return nil, err
				}
				if n == 4 || n == 6 && failures == 2 { // 1 is the sample, 2 is alone, then two are at work at a time
					return nil, errors.New("the model is away")
				}
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
			report := examineWith(t, dispatchtest.Target{Agent: flaky}, scenarios("concurrent_runs"))
			wantStatus(t, report, "concurrent_runs", want, "the model is away")
		})
	}
}

// An error of the caller's user is reported as such.
func TestAUserThatFails(t *testing.T) {
	t.Parallel()
	user := func(context.Context, []dispatchtest.Turn) (string, error) {
		return "", errors.New("the user's model is away")
	}
	opts := scenarios("retry_429")
	opts.Task.Conversation = &dispatchtest.Conversation{User: user}
	report := examineWith(t, endpoints(t, once)["handler"], opts)
	expect(t, report, names{"dispatch"}, nil, "the user's model is away")
}

// An agent may admit a failure in any language.
func TestFailuresAreAdmittedInAnyLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		german := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			result, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return &dispatch.Response{FinalResponse: "Das hat leider nicht geklappt."}, nil
			}
			return &dispatch.Response{FinalResponse: string(result)}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: german}, scenarios("unwrap", "failing_tools"))
		assertNoWarning(t, report)
	})
}

// An agent that does something else because of a text in a result gets its mark elsewhere, too.
func TestScenariosLeaveTheWayOfTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		branches := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			order, err := proxy.Call[map[string]any](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return nil, err
			}
			if order["status"] != "shipped" {
				return &dispatch.Response{FinalResponse: "I will ask somebody."}, nil
			}
			again, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return nil, err
			}
			return &dispatch.Response{FinalResponse: string(again)}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: branches}, scenarios("concurrent_runs", "unwrap"))
		assertNoWarning(t, report)
		wantStatus(t, report, "unwrap", doctor.StatusOK)
	})
}

// The numbers of calls are evidence only if they come again and the agent makes the same number each
// time.
func TestTheNumbersOfCallsAsEvidence(t *testing.T) {
	for name, tt := range map[string]struct {
		calls []int // of the sample, the run alone, and the runs of the pairs
		want  doctor.Status
	}{
		"the same":             {[]int{2, 2, 2, 2}, doctor.StatusOK},
		"another number once":  {[]int{2, 2, 1, 3, 2, 2}, doctor.StatusOK},
		"another number twice": {[]int{2, 2, 1, 3, 1, 3}, doctor.StatusFailed}, // no model does so by chance
		"an unsteady agent":    {[]int{1, 2, 1, 3}, doctor.StatusOK},
	} {
		synctest.Test(t, func(t *testing.T) {
			var runs atomic.Int64
			agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				for i := range tt.calls[runs.Add(1)-1] {
					if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]int{"i": i}); err != nil {
						return nil, err
					}
				}
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
			report := examineWith(t, dispatchtest.Target{Agent: agent}, scenarios("concurrent_runs"))
			if f := find(t, report, "concurrent_runs"); f.Status != tt.want || int(runs.Load()) != len(tt.calls) {
				t.Errorf("%s: %d runs, %+v", name, runs.Load(), f)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		var client atomic.Pointer[proxy.Client] // of the last run
		shares := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			runs.Add(1)
			client.Store(run.Proxy)
			time.Sleep(time.Second)
			_, _ = proxy.Call[json.RawMessage](ctx, client.Load(), "get_order", nil)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: shares}, scenarios("concurrent_runs"))
		if expect(t, report, names{"concurrent_runs"}, nil); runs.Load() != 6 {
			t.Errorf("%d runs, want 6", runs.Load())
		}
	})
}

// A mark leaves ids and repeated arguments as they are, and a long text is put in one place only.
func TestScenariosMarkWithCare(t *testing.T) {
	quotes := func(check func(order map[string]any) bool) dispatch.Agent {
		return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			order, err := proxy.Call[map[string]any](ctx, run.Proxy, "get_order", map[string]string{"ref": "4521"})
			if err == nil && !check(order) {
				err = errors.New("another order")
			}
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(order)
			return &dispatch.Response{FinalResponse: string(text)}, err
		}
	}
	lines := strings.Repeat(`"a line",`, 15)
	for name, tt := range map[string]struct {
		output, result string
		check          func(order map[string]any) bool
	}{
		"ids": {`{"type":"object","additionalProperties":false,"required":["customer_id","id","ref"],"properties":{"customer_id":{"type":"string"},"id":{"type":"string"},
			"ref":{"type":"string"},"note":{"type":"string"}}}`, `{"customer_id":"c-7","id":"o-1","ref":"4521","note":"fragile"}`,
			func(order map[string]any) bool {
				return order["customer_id"] == "c-7" && order["id"] == "o-1" && order["ref"] == "4521"
			}},
		"many strings": {`{"type":"object","required":["lines"],"properties":{"lines":{"type":"array","minItems":15}}}`, `{"lines":[` + strings.TrimSuffix(lines, ",") + `]}`,
			func(order map[string]any) bool { return len(order["lines"].([]any)) == 15 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := scenarios("unwrap", "result_kinds")
				opts.Task = orders(tt.output)
				opts.Task.World.Behaviors = map[string]proxytest.Behavior{"get_order": proxytest.Canned(tt.result)}
				report := examineWith(t, dispatchtest.Target{Agent: quotes(tt.check)}, opts)
				assertNoWarning(t, report)
				wantStatus(t, report, "unwrap", doctor.StatusOK)
			})
		})
	}
}

// A scenario in which the agent calls no tool judges nothing.
func TestScenariosWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		first := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if runs.Add(1) > 1 {
				return ready(ctx, run)
			}
			return once(ctx, run)
		}
		names := []doctor.Name{"concurrent_runs", "unwrap", "result_kinds", "retry_429", "retry_503", "terminal_503", "failing_tools", "expired_token"}
		report := examineWith(t, dispatchtest.Target{Agent: first}, scenarios(names...))
		assertNoWarning(t, report)
		for _, name := range names {
			wantStatus(t, report, name, doctor.StatusSkipped, "called no tool this time")
		}
	})
}

// A call that the sample had to repeat is not one that the agent makes twice on purpose.
func TestARepetitionOfTheSampleIsNotASecondCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twice := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				time.Sleep(time.Second)
				_, err = proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			}
			return &dispatch.Response{FinalResponse: fmt.Sprint("done, error: ", err)}, nil
		}
		opts := scenarios("terminal_503")
		opts.Task.World.FailureRules = []proxytest.FailureRule{{Tool: "get_order", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"}}
		report := examineWith(t, dispatchtest.Target{Agent: twice, Options: &dispatch.Options{Proxy: &proxy.Options{MaxAttempts: 1}}}, opts)
		expect(t, report, nil, names{"terminal_503"})
	})
}

// A tool message with a part of the result is not the answer of another body.
func TestAPartOfAResultIsNotAnotherResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row           string
		want          doctor.Status
		world, reason string
	}{
		{"the total is 4711", doctor.StatusSkipped, `{"status":"shipped","total":4711}`, "does not repeat"},
		{"the total is 12", doctor.StatusFailed, `{"status":"shipped","total":4711}`, "another content"},
	} {
		partly := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 200, fmt.Sprintf(`{"final_response":"done","messages":[{"role":"assistant","tool_calls":[{"id":"c","name":"get_order","arguments":{}}]},`+
				`{"role":"tool","tool_call_id":"c","content":%q},{"role":"assistant","content":"done"}]}`, tt.row))
		}}
		opts := scenarios("unwrap")
		opts.Task.World.Behaviors = map[string]proxytest.Behavior{"get_order": proxytest.Canned(tt.world)}
		report := examineWith(t, byHand(partly), opts)
		wantStatus(t, report, "unwrap", tt.want, tt.reason)
	}
}
