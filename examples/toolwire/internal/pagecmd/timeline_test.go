package pagecmd

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// What the proxy refuses stands in the timeline with status, class and reason, and in the table of
// failures with what to do.
func TestRefusedCalls(t *testing.T) {
	l := start(t, 10)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_ordr", nil)
		_, _ = run.Proxy.Do(ctx, "get_ordr", nil)
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]any{"order_id": nil})
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("events").say(),
		"get_ordr refused", "Attempt 1", "404 tool_not_executable", "is not declared", "arguments", "{}",
		"get_order refused", "422 invalid_arguments", "/order_id must be a string", `{"order_id":null}`)
	has(t, page.id("facts").say(), "0 + 3 refused")
	has(t, page.id("failures").say(), "invalid_arguments", "get_order", "1", "input_schema")
	has(t, page.id("failures").say(), "tool_not_executable", "get_ordr", "2", "not declared in the world")
	has(t, page.id("contract").say(), "Faults", "get_ordr")
}

// Failures that look like results are shown as failures too, and so are broken answers and their
// repetitions.
func TestInjectedAndBroken(t *testing.T) {
	world, err := proxytest.ParseWorld(sampleWorld)
	if err != nil {
		t.Fatal(err)
	}
	world.FailureRules, err = proxytest.ParseRules([]byte(`[
		{"tool": "get_order", "nth": 1, "response": {"error": "the backend is busy"}},
		{"tool": "get_order", "nth": 2, "break": "truncate"}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	l := startWorld(t, world)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 2 {
			_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"})
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("events").say(), "get_order injected", "failure rule 0", "the backend is busy", "get_order refused",
		"failure rule 1", "no answer")
	has(t, page.id("failures").say(), "injected", "get_order", "A failure rule of the world answered", "no answer",
		"The tool may have run")
}

// The page shows when a trace event occurred that was sent late.
func TestLateTrace(t *testing.T) {
	l := start(t, 1)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if _, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"}); err != nil {
			return nil, err
		}
		_, _ = run.Proxy.Trace(ctx, proxy.EventThinking,
			map[string]string{"text": "long ago", "__occurred_at": "2026-01-01T00:00:00Z"})
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	has(t, l.get(path).id("events").say(), "Dispatch", "after it occurred", "long ago", "get_order", "Answer")
}

// Telemetry spans are in the timeline. What the proxy does not serve of later releases is refused,
// and the page says so.
func TestLaterReleases(t *testing.T) {
	l := start(t, 1)
	path := l.dispatchTo(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, sent := range []struct{ path, body string }{
			{"telemetry", `{"kind":"note","payload":{"text":"for the log"},"actor_id":"triage"}`}, {"data", `{"kind":"sql"}`},
		} {
			base := r.Header.Get("X-Pipelines-Odyssey-Proxy-Url") // the ping has none
			request, err := http.NewRequest(http.MethodPost, base+"/"+sent.path, strings.NewReader(sent.body))
			if err != nil || base == "" {
				break
			}
			request.Header.Set("X-Pipelines-Run-Token", r.Header.Get("X-Pipelines-Run-Token"))
			if answer, err := http.DefaultClient.Do(request); err == nil {
				_ = answer.Body.Close()
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"final_response":"done"}`))
	}), nil)
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("facts").say(), "Telemetry spans 1")
	has(t, page.id("events").say(), "triage 1 event", "telemetry: note", "for the log")
	has(t, page.id("events").say(), "data refused", "404", "later release")
}

// The page says where the parts of a generated result come from.
func TestNotes(t *testing.T) {
	world, err := proxytest.ParseWorld([]byte(`{
		"tools_schema": [{
			"name": "order_status", "input_schema": {"type": "object"},
			"output_schema": {"type": "object", "properties": {"status": {"type": "string"}, "eta": {"const": "soon"}}}
		}],
		"ledger_schema": {"entities": [{"type": "order", "id_field": "order_id"}]},
		"initial_state": {"order": {"4521": {"status": "shipped"}}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	l := startWorld(t, world)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "order_status", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: "done"}, err
	}), nil)
	l.runs.wait()
	has(t, l.get(path).id("events").say(), "order_status odyssey", `"status":"shipped"`,
		"Notes", "from order/4521 in the ledger: /status", "generated: /eta")
}

// The same call made twice is two entries; only attempts of one call are one.
func TestAttempts(t *testing.T) {
	t.Parallel()
	world, err := proxytest.ParseWorld(sampleWorld)
	if err != nil {
		t.Fatal(err)
	}
	world.FailureRules = []proxytest.FailureRule{{Tool: "get_order", Nth: []int{2}, Status: 503,
		ErrorClass: "lock_contention"}}
	l := startWorld(t, world)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 3 {
			if _, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"}); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	text := l.get(path).id("events").say()
	if n := strings.Count(text, "get_order odyssey"); n != 3 {
		t.Errorf("%d entries in\n%s", n, text)
	}
	_, second, _ := strings.Cut(text, `"delivered" }`)
	has(t, second, "get_order odyssey", "2 attempts", "Attempt 1", "503 lock_contention", "Attempt 2", "answered",
		"get_order odyssey")
	if strings.Count(text, "2 attempts") != 1 || strings.Count(text, "Attempt ") != 2 {
		t.Errorf("the attempts are not together in\n%s", text)
	}
}

// Of two equal calls at once, the second attempt belongs to the one that was refused.
func TestAttemptsOfEqualCalls(t *testing.T) {
	t.Parallel()
	world, err := proxytest.ParseWorld(sampleWorld)
	if err != nil {
		t.Fatal(err)
	}
	world.FailureRules = []proxytest.FailureRule{{Tool: "get_order", Nth: []int{1}, Delay: time.Second, Status: 503,
		ErrorClass: "lock_contention"}}
	l := startWorld(t, world)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() { _, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"}) })
		}
		calls.Wait()
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	text := l.get(path).id("events").say()
	if strings.Count(text, "get_order odyssey") != 2 || strings.Count(text, "2 attempts") != 1 ||
		strings.Contains(text, "refused") {
		t.Errorf("the attempts are not with their call in\n%s", text)
	}
}

// An answer that breaks the contract, although the agent did not fail.
func TestContract(t *testing.T) {
	l := start(t, 10)
	answer := func(body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		})
	}
	path := l.dispatchTo(answer(`{"final_response":"hello","messages":[{"role":"narrator","content":"once"}]}`), nil)
	l.runs.wait()
	has(t, l.get(path).id("contract").say(), "not gradeable", "requires none", "soft warning", "/messages/0/role",
		"messages_malformed")
	path = l.dispatchTo(answer(`{"final_response":""}`), nil)
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("failure").say(), "agent_bad_response", "final_response")
	has(t, page.id("contract").say(), "fatal", "final_response_missing")
}

// Every failure of a run at a URL has advice, and so has every request that failed.
func TestAdvice(t *testing.T) {
	for _, class := range []string{
		string(dispatchtest.AuthFailed), string(dispatchtest.AgentTimeout), string(dispatchtest.Agent5xx), string(dispatchtest.Agent4xx),
		string(dispatchtest.AgentBadResponse), string(dispatchtest.AgentUnreachable), string(dispatchtest.ContractViolation),
		string(dispatchtest.NoAnswer), string(dispatchtest.OutOfTime),
	} {
		if a := ofRun[class]; a.Severity == "" || a.Advice == "" {
			t.Errorf("%s has no advice", class)
		}
	}
	for _, tt := range []struct {
		attempt   timeline.Attempt
		class, to string
	}{
		{timeline.Attempt{}, "no answer", "No whole answer was sent"},
		{timeline.Attempt{Status: 404}, "status 404", "No such path or tool"},
		{timeline.Attempt{Status: 404, Class: "of_tomorrow"}, "of_tomorrow", "No such path or tool"},
		{timeline.Attempt{Status: 413}, "status 413", "at most 1 MiB"},
		{timeline.Attempt{Status: 422}, "status 422", "The body is not a JSON object"},
		{timeline.Attempt{Status: 422, Class: "invalid_arguments"}, "invalid_arguments", "do not match the tool's input_schema"},
		{timeline.Attempt{Status: 429}, "status 429", "More than 60 requests"},
		{timeline.Attempt{Status: 429, Class: "rate_limited"}, "rate_limited", "More than 60 requests"},
		{timeline.Attempt{Status: 418}, "status 418", "The timeline has the reason"},
	} {
		p := &page{Run: &runhtml.Run{}}
		p.count(&timeline.Row{Name: "get_order", Attempts: []timeline.Attempt{tt.attempt, tt.attempt}})
		if len(p.Failures) != 1 || p.Failures[0].Count != 2 || p.Failures[0].Class != tt.class || !strings.Contains(p.Failures[0].To, tt.to) {
			t.Errorf("%+v: %+v", tt.attempt, p.Failures)
		}
	}
}
