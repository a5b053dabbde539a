package proxytest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func ruled(t testing.TB, seed uint64, rules ...proxytest.FailureRule) *proxytest.Run {
	t.Helper()
	return proxytest.NewPlatform(t, proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`"well"`),
			"refund_order": proxytest.Canned(`"well"`)},
		FailureRules: rules, Seed: seed,
	}, &proxytest.Options{RatePerMinute: -1}).NewRun()
}

// hits makes n calls and returns which of them were injected, from 1.
func hits(t *testing.T, run *proxytest.Run, n int, tool, arguments string) (which []int) {
	t.Helper()
	client := run.Client(&proxy.Options{Pacer: unpaced()})
	for i := 1; i <= n; i++ {
		got, err := client.Do(t.Context(), tool, json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if got.Source == proxy.SourceInjected {
			which = append(which, i)
		}
	}
	return which
}

func unpaced() *proxy.Pacer { return proxy.NewPacer(1_000_000, time.Minute) }

func TestWhichCallsRulesFail(t *testing.T) {
	injected := json.RawMessage(`{"error":"no"}`)
	for _, tt := range []struct {
		name string
		rule proxytest.FailureRule
		want []int // of 10 calls of get_order with order_id 4521 and amount 20.0
	}{
		{"all", proxytest.FailureRule{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"tool", proxytest.FailureRule{Tool: "get_order", Nth: []int{10}}, []int{10}},
		{"other tool", proxytest.FailureRule{Tool: "refund_order"}, nil},
		{"trace", proxytest.FailureRule{Trace: "*"}, nil},
		{"nth", proxytest.FailureRule{Nth: []int{2, 5}}, []int{2, 5}},
		{"every", proxytest.FailureRule{Every: 4}, []int{4, 8}},
		{"nth and every", proxytest.FailureRule{Nth: []int{2, 4}, Every: 4}, []int{4}},
		{"arguments", proxytest.FailureRule{Arguments: json.RawMessage(`{"order_id":"4521","amount":20,"to":{"a":[1]}}`),
			Nth: []int{1}}, []int{1}},
		{"other arguments", proxytest.FailureRule{Arguments: json.RawMessage(`{"order_id":"77"}`)}, nil},
		{"absent argument", proxytest.FailureRule{Arguments: json.RawMessage(`{"order":"77"}`)}, nil},
		{"deep argument", proxytest.FailureRule{Arguments: json.RawMessage(`{"to":{"a":[2]}}`)}, nil},
		// pinned: worlds must fail alike in every release
		{"probability", proxytest.FailureRule{Probability: 0.5}, []int{3, 4, 5, 7, 8}},
		{"probability 1", proxytest.FailureRule{Probability: 1, Every: 9}, []int{9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := tt.rule
			if rule.Response = injected; rule.Trace != "" {
				rule.Response, rule.Status = nil, 500
			}
			const arguments = `{"order_id":"4521","amount":20.0,"to":{"a":[1],"b":2}}`
			if got := hits(t, ruled(t, 1, rule), 10, "get_order", arguments); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	// Calls that a rule does not fit are not counted by it.
	run := ruled(t, 0, proxytest.FailureRule{Tool: "refund_order", Nth: []int{2}, Response: injected})
	hits(t, run, 3, "get_order", `{}`)
	if got := hits(t, run, 3, "refund_order", `{}`); !reflect.DeepEqual(got, []int{2}) {
		t.Errorf("%v", got)
	}
}

func TestProbabilities(t *testing.T) {
	rule := proxytest.FailureRule{Probability: 0.3, Response: json.RawMessage("1")}
	first := hits(t, ruled(t, 7, rule), 500, "get_order", `{}`)
	if again := hits(t, ruled(t, 7, rule), 500, "get_order", `{}`); !reflect.DeepEqual(first, again) {
		t.Error("the same seed fails other calls")
	}
	if other := hits(t, ruled(t, 8, rule), 500, "get_order", `{}`); reflect.DeepEqual(first, other) {
		t.Error("another seed fails the same calls")
	}
	if n := len(first); n < 110 || n > 190 {
		t.Errorf("%d of 500 calls fail with a probability of 0.3", n)
	}
}

func TestTheFirstRuleWins(t *testing.T) {
	run := ruled(t, 0,
		proxytest.FailureRule{Every: 2, Response: json.RawMessage(`"first"`)},
		proxytest.FailureRule{Nth: []int{2, 3}, Response: json.RawMessage(`"second"`)})
	for n, want := range []string{`"well"`, `"first"`, `"second"`, `"first"`} {
		got := call(t, run, "get_order", `{}`)
		rule := map[string]int64{`"first"`: 0, `"second"`: 1}
		if index, injected := rule[want]; string(got.Response) != want || (got.MatchedRule != nil) != injected || injected &&
			*got.MatchedRule != index {
			t.Errorf("call %d: %s by rule %v", n+1, got.Response, got.MatchedRule)
		}
	}
	if got := run.Log().Calls[1]; got.Source != proxy.SourceInjected || *got.Rule != 0 {
		t.Errorf("%+v", got)
	}
}

// Every effect, as the client sees it, in memory and on the wire.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rule     proxytest.FailureRule
		code     toolwire.Code
		delivery proxy.Delivery
		status   int    // recorded
		reason   string // recorded
	}{
		{"status", proxytest.FailureRule{Status: 500}, toolwire.CodeServerError, proxy.Unknown, 500, "failure rule"},
		{"class", proxytest.FailureRule{Status: 409, ErrorClass: "tool_executes_in_sandbox"}, toolwire.CodeRefused,
			proxy.Refused, 409, ""},
		{"run over", proxytest.FailureRule{Status: 401, ErrorClass: "run_token_rejected"}, toolwire.CodeRunOver, proxy.Refused,
			401, ""},
		{"reset", proxytest.FailureRule{Break: "reset"}, toolwire.CodeTransport, proxy.Unknown, 0, "reset"},
		{"truncate", proxytest.FailureRule{Break: "truncate"}, toolwire.CodeTransport, proxy.Unknown, 0, "truncate"},
		{"oversize", proxytest.FailureRule{Break: "oversize"}, toolwire.CodeResponseTooLarge, proxy.Unknown, 0, "oversize"},
	} {
		for _, wire := range []string{"memory", "loopback"} {
			t.Run(tt.name+" "+wire, func(t *testing.T) {
				platform := proxytest.NewPlatform(t, proxytest.World{
					Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)},
					FailureRules: []proxytest.FailureRule{tt.rule},
				}, nil)
				server := httptest.NewServer(platform)
				defer server.Close()
				run := platform.NewRun()
				client := run.Client(nil)
				if wire == "loopback" {
					var err error
					if client, err = proxy.New(server.URL+run.Path, run.Token, nil); err != nil {
						t.Fatal(err)
					}
				}
				_, err := client.Do(t.Context(), "get_order", nil)
				e, ok := errors.AsType[*proxy.Error](err)
				if !ok || e.Code != tt.code || e.Delivery != tt.delivery || e.Class != tt.rule.ErrorClass || e.Attempts != 1 {
					t.Fatalf("%+v", err)
				}
				reset := tt.rule.Break == "reset"
				if windows := runtime.GOOS == "windows" && wire == "loopback"; !windows && errors.Is(err, syscall.ECONNRESET) != reset { // another error there
					t.Errorf("%v", err)
				}
				record := run.Log()
				if len(record.Calls) != 0 || len(record.Refused) != 1 {
					t.Fatalf("%d calls, %d refused", len(record.Calls), len(record.Refused))
				}
				if c := record.Refused[0]; c.Status != tt.status || !strings.Contains(c.Reason, tt.reason) || c.Rule == nil {
					t.Errorf("%+v", c)
				}
			})
		}
	}
}

// After a break the agent does not know whether the tool has run; the ledger does.
func TestWhetherTheToolHasRun(t *testing.T) {
	for way, changes := range map[string]string{
		"reset": "", "truncate": "added flag ran\n", "oversize": "added flag ran\n",
	} {
		run := proxytest.NewPlatform(t, proxytest.World{
			Behaviors: map[string]proxytest.Behavior{"act": func(r *proxytest.Request) (any, error) {
				return "done", r.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "ran"})
			}},
			FailureRules: []proxytest.FailureRule{{Break: way}, {Trace: "custom", Break: way}},
		}, nil).NewRun()
		if _, err := run.Client(nil).Do(t.Context(), "act", nil); err == nil {
			t.Errorf("%s: no error", way)
		}
		if _, err := run.Client(nil).Trace(t.Context(), proxy.EventCustom, nil); err == nil {
			t.Errorf("%s: no error of the trace", way)
		}
		record := run.Log()
		if got := record.Changes.String(); got != changes || len(record.Refused) != 2 ||
			(record.Refused[0].Response != nil) != (changes != "") {
			t.Errorf("%s: %q, %+v", way, got, record.Refused)
		}
		if traces := len(record.Traces); traces != len(changes)/len("added flag ran\n") {
			t.Errorf("%s: %d traces", way, traces)
		}
	}
}

func TestRepeatedCallsAreOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := ruled(t, 0,
			proxytest.FailureRule{Tool: "get_order", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"},
			proxytest.FailureRule{Tool: "get_order", Nth: []int{2}, Status: 429, ErrorClass: "rate_limited", RetryAfter: 7},
			proxytest.FailureRule{Trace: "thinking", Nth: []int{1}, Status: 503, ErrorClass: "trace_sequence_contended"})
		client, start := run.Client(nil), time.Now()
		if got, err := proxy.Call[json.RawMessage](t.Context(), client, "get_order", map[string]int{"n": 1}); err != nil || string(got) != `"well"` {
			t.Errorf("%s %v", got, err)
		}
		if took := time.Since(start); took < 7*time.Second {
			t.Errorf("Retry-After was not sent: %s", took)
		}
		if _, err := client.Do(t.Context(), "get_order", map[string]int{"n": 1}); err != nil {
			t.Error(err)
		}
		if _, err := client.Trace(t.Context(), proxy.EventThinking, nil); err != nil {
			t.Error(err)
		}
		record := run.Log()
		record.AssertCalledTimes(t, "get_order", 2)
		record.AssertWithinRate(t) // a 429 by a rule is not the agent's fault
		if a, b := record.Calls[0].Attempt, record.Calls[1].Attempt; a != 3 || b != 1 || len(record.Refused) != 3 ||
			len(record.Traces) != 1 {
			t.Errorf("attempts %d and %d\n%s", a, b, record)
		}
	})
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := ruled(t, 0,
			proxytest.FailureRule{Nth: []int{1}, Delay: 90 * time.Second},
			proxytest.FailureRule{Nth: []int{2}, Delay: time.Second, Response: json.RawMessage("1")},
			proxytest.FailureRule{Nth: []int{3}, Delay: time.Hour})
		start := time.Now()
		if got := call(t, run, "get_order", `{}`); got.Source != proxy.SourceOdyssey || got.MatchedRule != nil ||
			got.LatencyMS != 90_000 {
			t.Errorf("%+v", got)
		}
		if got := call(t, run, "get_order", `{}`); got.Source != proxy.SourceInjected || time.Since(start) != 91*time.Second {
			t.Errorf("%+v after %s", got, time.Since(start))
		}
		_, err := run.Client(nil).Do(t.Context(), "get_order", nil)
		if toolwire.CodeOf(err) != toolwire.CodeTimeout || time.Since(start) != 211*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		synctest.Wait() // for the platform to see that the client is gone
		if refused := run.Log().Refused; len(refused) != 1 || !strings.Contains(refused[0].Reason, "cancelled the call") {
			t.Errorf("%+v", refused)
		}
	})
}

func TestARuleEndsTheRun(t *testing.T) {
	run := ruled(t, 0, proxytest.FailureRule{Tool: "refund_order", Status: 401, ErrorClass: "run_token_expired"})
	_, err := run.Client(nil).Do(t.Context(), "refund_order", nil)
	if !proxy.IsRunOver(err) {
		t.Errorf("%v", err)
	}
	if _, err := run.Client(nil).Do(t.Context(), "get_order", nil); !proxy.IsRunOver(err) {
		t.Errorf("%v", err)
	}
}

func TestParseRules(t *testing.T) {
	rules, err := proxytest.ParseRules([]byte(`[
		{"tool": "refund_order", "arguments": {"order_id": "4521"}, "nth": [1, 2], "status": 503, "error_class": "lock_contention", "retry_after": 1},
		{"tool": "get_order", "every": 3, "response": null},
		{"probability": 0.1, "delay_ms": 1500},
		{"tool": "get_order", "nth": 1, "break": "truncate"},
		{"trace": "*", "status": 503, "error_class": "trace_sequence_contended"}
	]`))
	want := []proxytest.FailureRule{
		{Tool: "refund_order", Arguments: json.RawMessage(`{"order_id": "4521"}`), Nth: []int{1, 2}, Status: 503,
			ErrorClass: "lock_contention", RetryAfter: 1},
		{Tool: "get_order", Every: 3, Response: json.RawMessage("null")},
		{Probability: 0.1, Delay: 1500 * time.Millisecond},
		{Tool: "get_order", Nth: []int{1}, Break: "truncate"},
		{Trace: "*", Status: 503, ErrorClass: "trace_sequence_contended"},
	}
	if err != nil || !reflect.DeepEqual(rules, want) {
		t.Errorf("%+v\n%v", rules, err)
	}
	if rules, err := proxytest.ParseRules([]byte(`[]`)); err != nil || len(rules) != 0 {
		t.Errorf("%v %v", rules, err)
	}
	_, err = proxytest.ParseRules([]byte(`[
		{"tool": 1}, {"Tool": "x"}, {"times": 2}, {"nth": [], "status": 500}, {"nth": 1.5, "status": 500}, {"every": null},
		7, {"status": 200}, {"delay_ms": 1e300}, {"status": 99999999999}
	]`))
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != "invalid_rules" || len(e.Problems) != 10 {
		t.Fatalf("%v", err)
	}
	for i, part := range []string{
		"/tool must be a string", "Tool is not a member; did you mean tool?", "times is not a member", "integer", "integer",
		"/every must be an integer", "must be an object", "status must", "too long", "status must",
	} {
		if p := e.Problems[i]; p.Code != "rule" || p.Pointer != fmt.Sprintf("/%d", i) || !strings.Contains(p.Message, part) {
			t.Errorf("problem %d: %s, want %q", i, p, part)
		}
	}
	for _, doc := range []string{``, `{}`, `[`, `[]x`, `null`, `[{"status":500,"status":500}]`} {
		if _, err := proxytest.ParseRules([]byte(doc)); err == nil {
			t.Errorf("%q was read", doc)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(`[{"tool":"get_order","nth":[1],"status":503,"delay_ms":1.5},{"response":{"a":[1]},"probability":0.5}]`))
	f.Add([]byte(`[{"every":3,"break":"reset","arguments":{}}]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		rules, err := proxytest.ParseRules(doc)
		if err != nil {
			if _, ok := errors.AsType[*toolwire.Error](err); !ok || rules != nil {
				t.Fatalf("%v %v", rules, err)
			}
			return
		}
		world := proxytest.World{Behaviors: map[string]proxytest.Behavior{}, FailureRules: rules}
		for _, r := range rules {
			if r.Tool != "" {
				world.Behaviors[r.Tool] = proxytest.Canned("1")
			}
			if r.Trace != "" && r.Trace != "*" && !proxy.Event(r.Trace).Reserved() {
				return // the world knows the events, the format does not
			}
		}
		if _, err := proxytest.New(world, nil); err != nil {
			t.Fatalf("rules that were read make no world: %v", err)
		}
	})
}
