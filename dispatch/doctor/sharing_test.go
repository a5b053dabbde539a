package doctor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// sharing is a port whose runs share what use returns of a run's URL and token, and of its results.
type sharing struct {
	calls  int           // of one tool, one after the other; 0 is one
	thinks time.Duration // before the first call
	quotes bool          // the answer has the results
	use    func(*kept, string, string) (url, token string)
	before bool // the answer has the result of the run before
	last   bool // the answer has the last result of all runs
	all    bool // the answer has the results of all runs

	mu   sync.Mutex
	kept kept
}

type kept struct{ url, token, result, results string }

func (s *sharing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		locked := func(f func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			f()
		}
		var url, token string
		access := func() { url, token = s.use(&s.kept, e.ProxyURL, r.Header.Get("X-Pipelines-Run-Token")) }
		if s.use == nil {
			access = func() { url, token = e.ProxyURL, r.Header.Get("X-Pipelines-Run-Token") }
		}
		locked(access)
		answer := "I am done."
		if s.before {
			locked(func() { answer = s.kept.result })
		}
		time.Sleep(s.thinks)
		for range max(s.calls, 1) {
			locked(func() {
				if s.kept.url != "" && s.use != nil {
					url, token = s.use(&s.kept, "", "")
				}
			})
			result := fetch(url, token)
			if s.quotes {
				answer += result
			}
			locked(func() { s.kept.result, s.kept.results = result, s.kept.results+result })
		}
		if s.last {
			time.Sleep(s.thinks)
			locked(func() { answer = s.kept.result })
		}
		if s.all {
			locked(func() { answer = s.kept.results })
		}
		text, _ := json.Marshal(map[string]string{"final_response": answer})
		say(w, 200, string(text))
	}}.ServeHTTP(w, r)
}

// fetch calls get_order, and returns the result as JSON, or the refusal.
func fetch(url, token string) string {
	status, body, err := exchange(url+"/tools/get_order", map[string]string{"Authorization": "Bearer " + token}, `{"order_id":"4521"}`)
	var envelope struct {
		Response json.RawMessage `json:"response"`
	}
	switch {
	case err != nil:
		return err.Error()
	case json.Unmarshal(body, &envelope) != nil || status != 200:
		return "error"
	}
	return string(envelope.Response)
}

// Ways to share an URL or a token between runs. With "" nothing is set.
var (
	lastRun = func(k *kept, url, token string) (string, string) {
		if url != "" {
			k.url, k.token = url, token
		}
		return k.url, k.token
	}
	firstRun = func(k *kept, url, token string) (string, string) {
		if k.url == "" {
			k.url, k.token = url, token
		}
		return k.url, k.token
	}
)

// Whatever two runs share, it is found, even if no answer quotes a result.
func TestScenariosFindWhatRunsShare(t *testing.T) {
	t.Parallel()
	const ofOthers, ofFirst, mixed, ofOne = "with the token or the URL of another run", "a later run called the proxy of the first run",
		"the answer of one run has the results of another", "with the token and the URL of one of them"
	for name, tt := range map[string]struct {
		port *sharing
		seen string
	}{
		"URL and token of the last dispatch, one call":        {&sharing{use: lastRun, thinks: 300 * time.Millisecond}, ofOne},
		"URL and token of the last dispatch, a quoted result": {&sharing{use: lastRun, thinks: 300 * time.Millisecond, quotes: true}, "of one"},
		"URL and token of the last dispatch, two calls":       {&sharing{use: lastRun, calls: 2}, ofOne},
		"URL and token of the first dispatch":                 {&sharing{use: firstRun}, ofFirst},
		"the last result":                                     {&sharing{last: true, thinks: 300 * time.Millisecond}, mixed},
		"all results":                                         {&sharing{all: true}, mixed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judgeSharing(t, tt.port, tt.seen, doctor.Scenarios()...)
		})
	}
	t.Run("a slow ping before one of the dispatches", func(t *testing.T) {
		t.Parallel()
		var dispatches, pings atomic.Int64
		port := &sharing{use: lastRun, thinks: 300 * time.Millisecond}
		judgeSharing(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Pipelines-Run-Token") != "" {
				dispatches.Add(1)
			} else if dispatches.Load() > 1 && pings.Add(1)%2 == 0 { // the sample is over
				time.Sleep(900 * time.Millisecond)
			}
			port.ServeHTTP(w, r)
		}), ofOne, "concurrent_runs")
	})
	for name, keep := range map[string]func(url, token *string, keptURL, keptToken string){
		"the URL of the first dispatch":   func(url, _ *string, kept, _ string) { *url = kept },
		"the token of the first dispatch": func(_, token *string, _, kept string) { *token = kept },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judgeSharing(t, keepsFirst(keep), ofOthers, doctor.Scenarios()...)
		})
	}
}

// keepsFirst is a port that keeps a part of the first dispatch.
func keepsFirst(keep func(url, token *string, keptURL, keptToken string)) http.Handler {
	var mu sync.Mutex
	var keptURL, keptToken string
	return hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
		url, token := e.ProxyURL, r.Header.Get("X-Pipelines-Run-Token")
		mu.Lock()
		if keptURL == "" {
			keptURL, keptToken = url, token
		}
		keep(&url, &token, keptURL, keptToken)
		mu.Unlock()
		fetch(url, token)
		say(w, 200, `{"final_response":"I am done."}`)
	}}
}

func judgeSharing(t *testing.T, port http.Handler, seen string, played ...doctor.Name) {
	t.Helper()
	report := examineWith(t, byHand(port), scenarios(played...))
	expect(t, report, names{"concurrent_runs"}, nil, seen)
}

// A scenario that is played without concurrent_runs names the shared URL too, instead of saying that
// no tool was called.
func TestEachScenarioFindsTheURLOfAnotherRun(t *testing.T) {
	t.Parallel()
	for _, name := range []doctor.Name{"unwrap", "retry_429", "retry_503", "terminal_503", "failing_tools", "expired_token", "body_only"} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			port := keepsFirst(func(url, _ *string, kept, _ string) { *url = kept })
			report := examineWith(t, byHand(port), scenarios(name))
			expect(t, report, names{name}, nil, "the URL of another run")
		})
	}
}

// serially lets an endpoint work on one request or one dispatch at a time.
func serially(agent http.Handler, pings bool) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pings || r.Header.Get("X-Pipelines-Run-Token") != "" {
			one.Lock()
			defer one.Unlock()
		}
		agent.ServeHTTP(w, r)
	})
}

// An endpoint that works on one run at a time gets a warning, which says whether it answers pings meanwhile.
func TestScenariosNameEndpointsThatServeOneRun(t *testing.T) {
	t.Parallel()
	for pings, seen := range map[bool]string{true: "not even a ping is answered", false: "the second run began when the first had ended"} {
		t.Run(fmt.Sprint("pings wait: ", pings), func(t *testing.T) {
			t.Parallel()
			target := dispatchtest.Target{Handler: serially(&sharing{quotes: true}, pings), AuthValue: "Bearer " + handToken}
			report := examineWith(t, target, scenarios("concurrent_runs", "unwrap"))
			said := expect(t, report, nil, names{"concurrent_runs"})
			f := find(t, report, "concurrent_runs")
			if !strings.Contains(said, "works on one run at a time") || !strings.Contains(said, seen) || f.Severity != "inferred" {
				t.Errorf("%+v, want %q", f, seen)
			}
			wantStatus(t, report, "unwrap", doctor.StatusOK)
		})
	}
}
