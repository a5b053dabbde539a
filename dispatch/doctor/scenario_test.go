package doctor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// once calls get_order and answers with its result.
func once(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	run.Transcript()
	order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]string{"id": "4521"})
	if err != nil {
		return &dispatch.Response{FinalResponse: "Sorry, there was an error."}, nil
	}
	return &dispatch.Response{FinalResponse: string(order)}, nil
}

func scenarios(names ...doctor.Name) *doctor.Options {
	own := task()
	return &doctor.Options{Task: &own, Scenarios: names, Timeout: 5 * time.Minute, LateCallWait: time.Millisecond}
}

// judged returns the scenarios that judge every agent. The others judge an agent that shows what it
// knows of a session, as the agents of TestMemory do, or one that makes two calls, one after the other.
func judged() []doctor.Name {
	return slices.DeleteFunc(doctor.Scenarios(), func(name doctor.Name) bool {
		return strings.HasPrefix(string(name), "memory_") || name == "expired_token"
	})
}

// An agent behind this module's handler passes every scenario, in memory and on loopback.
func TestScenariosPassOurHandler(t *testing.T) {
	t.Parallel()
	for name, target := range endpoints(t, once) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := examineWith(t, target, scenarios(doctor.Scenarios()...))
			assertNoWarning(t, report)
			var played []doctor.Name
			for _, f := range report.Findings {
				if slices.Contains(doctor.Scenarios(), f.Name) && f.Status == doctor.StatusOK {
					played = append(played, f.Name)
				}
			}
			if !slices.Equal(played, judged()) {
				t.Errorf("played %v\n%s", played, report)
			}
		})
	}
}

// In a bubble a repetition without a wait takes no time at all.
func TestScenariosNameHastyRepetitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasty := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			run.Transcript()
			var err error
			for range 4 {
				if _, err = run.Proxy.Do(ctx, "get_order", nil); err == nil {
					return &dispatch.Response{FinalResponse: "done"}, nil
				}
			}
			return &dispatch.Response{FinalResponse: "an error: " + err.Error()}, nil
		}
		target := dispatchtest.Target{Agent: hasty, Options: &dispatch.Options{Proxy: &proxy.Options{MaxAttempts: 1}}}
		report := examineWith(t, target, scenarios("retry_429", "retry_503", "terminal_503", "expired_token"))
		expect(t, report, names{"retry_429"}, names{"retry_503", "terminal_503"}, "without a wait after a 429: get_order", "without a wait after a transient 503", "not transient: get_order")
	})
}

// What cannot be judged is skipped with a reason.
func TestScenariosThatCannotBePlayed(t *testing.T) {
	t.Parallel()
	world, err := proxytest.New(task().World, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(world)
	defer server.Close()
	for name, tt := range map[string]struct {
		agent  dispatch.Agent
		change func(*doctor.Options)
		seen   string
	}{
		"no dispatch":   {once, func(o *doctor.Options) { o.NoDispatch = true }, "there was no sample dispatch"},
		"no tool call":  {ready, func(*doctor.Options) {}, "the sample called no tool"},
		"another proxy": {once, func(o *doctor.Options) { o.Task = &dispatchtest.Task{Platform: world, ProxyURL: server.URL} }, "served elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			opts := scenarios(doctor.Scenarios()[:3]...)
			tt.change(opts)
			report := examineWith(t, endpoints(t, tt.agent)["handler"], opts)
			report.AssertOK(t)
			for _, scenario := range opts.Scenarios {
				wantStatus(t, report, scenario, doctor.StatusSkipped, tt.seen)
			}
		})
	}
	if _, err := doctor.Check(t.Context(), dispatchtest.Target{Agent: ready}, scenarios("retry_500")); err == nil ||
		!strings.Contains(err.Error(), `unknown name "retry_500"`) {
		t.Errorf("%v", err)
	}
}

// Commands name the scenario, and no secret.
func TestScenariosSayHowToRepeatThem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&port{impatient: true})
	defer server.Close()
	opts := scenarios("retry_429")
	opts.Task, opts.ToolsSchema = &dispatchtest.Task{Instruction: "Where's my order?"}, []byte(orderTool)
	report := examineWith(t, dispatchtest.Target{URL: server.URL + "/dispatch", AuthValue: "Bearer " + handToken}, opts)
	expect(t, report, names{"retry_429"}, nil)
	want := fmt.Sprintf(`go run github.com/toolwire/toolwire/examples/toolwire doctor -url '%s/dispatch' -token-env AGENT_TOKEN `+
		`-tools "$TOOLS" -instruction 'Where'\''s my order?' -scenarios retry_429`, server.URL)
	if f := find(t, report, "retry_429"); f.Reproduce != want {
		t.Errorf("%s\nwant\n%s", f.Reproduce, want)
	}
	want = fmt.Sprintf(`curl -i -X POST -H 'Content-Type: application/json' -H "Authorization: $AUTH_VALUE" `+
		`-d $'\n{ "ping" :\ttrue } \r\n' '%s/dispatch'`, server.URL)
	if f := find(t, report, "ping_spacing"); f.Reproduce != want {
		t.Errorf("%s\nwant\n%s", f.Reproduce, want)
	}
	if f := find(t, report, "wrong_bearer"); !strings.Contains(f.Reproduce, `-H 'Authorization: Bearer wrong' -d '{"ping":true}'`) {
		t.Errorf("%s", f.Reproduce)
	}
}

// A task that no flag can express is repeated from Go.
func TestScenariosOfATaskInGo(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&port{impatient: true})
	defer server.Close()
	report := examineWith(t, dispatchtest.Target{URL: server.URL, AuthValue: "Bearer " + handToken}, scenarios("retry_429"))
	want := `doctor.Check(ctx, target, &doctor.Options{Task: task, Scenarios: []doctor.Name{"retry_429"}})`
	if f := find(t, report, "retry_429"); f.Reproduce != want {
		t.Errorf("%s\nwant\n%s", f.Reproduce, want)
	}
}

// An endpoint that takes one run at a time is not in order, but no document demands more.
func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	handler, err := dispatch.New(once, &dispatch.Options{Tokens: []string{handToken}, MaxRuns: 1})
	if err != nil {
		t.Fatal(err)
	}
	report := examineWith(t, byHand(handler), scenarios("concurrent_runs", "unwrap"))
	said := expect(t, report, nil, names{"concurrent_runs"})
	f := find(t, report, "concurrent_runs")
	if !strings.Contains(said, "rejected with 503") || f.Severity != "inferred" || !strings.Contains(f.Rule, "No document") {
		t.Errorf("%+v", f)
	}
	wantStatus(t, report, "unwrap", doctor.StatusOK)
}

// A result is found in an answer however its JSON is escaped.
func TestShows(t *testing.T) {
	for _, tt := range []struct {
		text, marker string
		want         bool
	}{
		{"It says Grüße 漢字 🎉.", "Grüße 漢字 🎉", true},
		{`{"text":"<a> \"b\""}`, `<a> "b"`, true},
		{`"Gr\u00fc\u00dfe \u6f22\u5b57 \ud83c\udf89"`, "Grüße 漢字 🎉", true},
		{"Grüße", "Grüße 漢字 🎉", false},
	} {
		if got := doctor.Shows(tt.text, tt.marker); got != tt.want {
			t.Errorf("%s in %s: %t", tt.marker, tt.text, got)
		}
	}
}

// Results that a scenario replaces have another length than the proxy has announced.
func TestScenariosReplaceAnnouncedResults(t *testing.T) {
	t.Parallel()
	opts := scenarios("unwrap")
	opts.Task.WrapProxy = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
			w.WriteHeader(answer.Code)
			_, _ = answer.Body.WriteTo(w)
		})
	}
	report := examineWith(t, endpoints(t, once)["handler"], opts)
	assertNoWarning(t, report)
	wantStatus(t, report, "unwrap", doctor.StatusOK)
}

// A scenario replaces results, and leaves refusals as they are.
func TestScenariosLeaveRefusals(t *testing.T) {
	t.Parallel()
	var refusals atomic.Int64
	handler := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		token := r.Header.Get("X-Pipelines-Run-Token")
		call(e, "get_order", token)
		status, body, err := exchange(e.ProxyURL+"/tools/no_such_tool", map[string]string{"Authorization": "Bearer " + token}, "{}")
		if err != nil || status != http.StatusNotFound || !strings.Contains(string(body), "tool_not_executable") {
			t.Errorf("%d: %s, %v", status, body, err)
		}
		refusals.Add(1)
		say(w, 200, `{"final_response":"done"}`)
	}}
	report := examineWith(t, byHand(handler), scenarios("unwrap"))
	expect(t, report, nil, names{"dispatch"}) // it calls a tool that is not there
	if refusals.Load() != 2 {
		t.Errorf("%d refusals, want one in the sample and one in the scenario", refusals.Load())
	}
}

// The command names the auth header of the registration.
func TestDispatchSaysHowToRepeatIt(t *testing.T) {
	t.Parallel()
	handler, err := dispatch.New(ready, &dispatch.Options{Tokens: []string{handToken}, AuthHeader: "X-API-Key"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	target := dispatchtest.Target{URL: server.URL + "/dispatch?tenant=a-secret-tenant", AuthHeader: "X-API-Key", AuthValue: handToken}
	report := examineWith(t, target, &quick)
	want := `go run github.com/toolwire/toolwire/examples/toolwire doctor -url "$URL" -auth-header 'X-API-Key' -token-env AGENT_TOKEN`
	if f := find(t, report, "dispatch"); f.Reproduce != want {
		t.Errorf("%s\nwant\n%s", f.Reproduce, want)
	}
	if f := find(t, report, "wrong_bearer"); !strings.Contains(f.Reproduce, `-H 'X-API-Key: wrong'`) {
		t.Errorf("%s", f.Reproduce)
	}
}
