package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy"
)

// quiet calls get_order and does not repeat the result.
func quiet(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	_, err := run.Proxy.Do(ctx, "get_order", nil)
	if proxy.IsRunOver(err) {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: "I am done."}, nil
}

// What cannot be seen in a response is not judged.
func TestScenariosOfAnAgentThatShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := examineWith(t, dispatchtest.Target{Agent: quiet}, scenarios("unwrap", "result_kinds", "failing_tools"))
		expect(t, report, nil, nil)
		for name, want := range map[doctor.Name]doctor.Status{"unwrap": "skipped", "result_kinds": "skipped", "failing_tools": "skipped"} {
			wantStatus(t, report, name, want)
		}
		if f := find(t, report, "result_kinds"); !strings.Contains(f.Seen, "do not show") {
			t.Errorf("%+v", f)
		}
	})
}

// An agent may leave a long result out of its answer, but not a short one.
func TestScenariosOfAnAgentThatShortens(t *testing.T) {
	for limit, warned := range map[int]names{1000: nil, 10: {"result_kinds"}} {
		synctest.Test(t, func(t *testing.T) {
			shortens := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				result, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
				if err != nil {
					return nil, err
				}
				if object := result[0] == '{'; !object && len(result) > limit {
					result = []byte("It is long.")
				}
				return &dispatch.Response{FinalResponse: string(result)}, nil
			}
			report := examineWith(t, dispatchtest.Target{Agent: shortens}, scenarios("unwrap", "result_kinds"))
			expect(t, report, nil, warned)
		})
	}
}

// The results of two runs meet in a variable of the package.
func TestScenariosNameSharedResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var last string
		shares := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			result, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			last = string(result)
			mu.Unlock()
			time.Sleep(time.Minute) // until the other run has its result
			mu.Lock()
			defer mu.Unlock()
			return &dispatch.Response{FinalResponse: last}, nil
		}
		report := examineWith(t, dispatchtest.Target{Agent: shares}, scenarios("concurrent_runs"))
		expect(t, report, names{"concurrent_runs"}, nil, "the answer of one run has the results of another")
	})
}

// The token expires at the second call of an agent that makes several.
func TestScenariosLetTheTokenExpireLater(t *testing.T) {
	for calls, want := range map[int]struct {
		status doctor.Status
		sent   string
	}{
		5: {doctor.StatusOK, "from the second tool call on"},
		3: {doctor.StatusOK, "from the second tool call on"},
		2: {doctor.StatusOK, "each tool call"},      // at the second call, there would be none left
		1: {doctor.StatusSkipped, "each tool call"}, // there is none left
	} {
		synctest.Test(t, func(t *testing.T) {
			agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				for i := range calls {
					if _, err := run.Proxy.Do(ctx, "get_order", map[string]int{"i": i}); err != nil {
						return nil, err
					}
				}
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
			report := examineWith(t, dispatchtest.Target{Agent: agent}, scenarios("expired_token"))
			if f := find(t, report, "expired_token"); f.Status != want.status || !strings.Contains(f.Sent, want.sent) {
				t.Errorf("%d calls: %+v", calls, f)
			}
		})
	}
}

// Trace events are requests, too: one that is refused for a moment is repeated, and none is sent
// after the token has expired.
func TestScenariosWatchTraceEvents(t *testing.T) {
	t.Parallel()
	traces := hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		token := r.Header.Get("X-Pipelines-Run-Token")
		for range 4 {
			if status := call(e, "get_order", token); status != http.StatusServiceUnavailable {
				break
			}
			time.Sleep(150 * time.Millisecond)
		}
		post(e.ProxyURL+"/traces/thinking", token)
		say(w, 200, `{"final_response":"I am done, with an error."}`)
	}}
	report := examineWith(t, byHand(traces), scenarios("retry_503", "expired_token"))
	expect(t, report, nil, names{"retry_503", "expired_token"}, "not repeated after a transient 503: traces/thinking", "1 request after the proxy had said")
}

// The scenarios of headers and body take away all that the other one has.
func TestScenariosTakeTheIDsAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		has    func(header http.Header, body map[string]any) bool
		failed names
	}{
		{"run id in the header", func(h http.Header, _ map[string]any) bool { return h.Get("X-Pipelines-Run-Id") != "" }, names{"body_only"}},
		{"task id in the header", func(h http.Header, _ map[string]any) bool { return h.Get("X-Pipelines-Task-Id") != "" }, names{"body_only"}},
		{"run id in the body", func(_ http.Header, b map[string]any) bool { return b["run_id"] != nil }, names{"headers_only"}},
		{"token id in the body", func(_ http.Header, b map[string]any) bool { return b["run_token_jti"] != nil }, names{"headers_only"}},
		{"run token in the header", func(h http.Header, _ map[string]any) bool { return h.Get("X-Pipelines-Run-Token") != "" }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
				var body map[string]any
				if json.Unmarshal(text, &body) == nil && body["input"] != nil && r.Header.Get("Authorization") == "Bearer "+handToken && !tt.has(r.Header, body) {
					say(w, 400, `{"error":"an id is missing"}`)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(text))
				new(port).ServeHTTP(w, r)
			})
			report := examine(t, handler, "headers_only", "body_only")
			for _, name := range []doctor.Name{"headers_only", "body_only"} {
				want := doctor.StatusOK
				if len(tt.failed) > 0 && tt.failed[0] == name {
					want = doctor.StatusFailed
				}
				wantStatus(t, report, name, want)
			}
		})
	}
}
