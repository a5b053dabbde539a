package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
)

func TestMatching(t *testing.T) {
	const a = `{"order":{"id":7,"lines":[{"id":"x","n":1},{"id":"y","n":2}]},"sum":1.50,"at":"09:00"}`
	tests := map[string]struct {
		opts      cassette.Options
		arguments string
		actor     string
		want      bool
	}{
		"same":             {arguments: a, want: true},
		"order of members": {arguments: `{"at":"09:00","sum":1.50,"order":{"lines":[{"n":1,"id":"x"},{"n":2,"id":"y"}],"id":7}}`, want: true},
		"spelling of numbers": {arguments: strings.NewReplacer("1.50", "15e-1", ":7", ":7.0", `"n":2`,
			`"n":0.2e1`).Replace(a), want: true},
		"escapes":           {arguments: strings.Replace(a, `"x"`, `"\u0078"`, 1), want: true},
		"another number":    {arguments: strings.Replace(a, "1.50", "1.5000000000000000001", 1)},
		"number as string":  {arguments: strings.Replace(a, ":7", `:"7"`, 1)},
		"order of elements": {arguments: strings.NewReplacer(`"x"`, `"y"`, `"y"`, `"x"`).Replace(a)},
		"member more":       {arguments: strings.Replace(a, `"at"`, `"by":null,"at"`, 1)},
		"member less":       {arguments: strings.Replace(a, `,"at":"09:00"`, "", 1)},
		"ignored member": {opts: cassette.Options{Ignore: []string{"/at"}},
			arguments: strings.Replace(a, "09:00", "10:00", 1), want: true},
		"ignored and absent": {opts: cassette.Options{Ignore: []string{"/at"}},
			arguments: strings.Replace(a, `,"at":"09:00"`, "", 1), want: true},
		"other member than ignored": {opts: cassette.Options{Ignore: []string{"/order/at"}},
			arguments: strings.Replace(a, "09:00", "10:00", 1)},
		"ignored in every element": {opts: cassette.Options{Ignore: []string{"/order/lines/*/id"}},
			arguments: strings.NewReplacer(`"x"`, `"p"`, `"y"`, `"q"`).Replace(a), want: true},
		"ignored in one element": {opts: cassette.Options{Ignore: []string{"/order/lines/1"}},
			arguments: strings.Replace(a, `"y"`, `"q"`, 1), want: true},
		"ignored in another element": {opts: cassette.Options{Ignore: []string{"/order/lines/0"}},
			arguments: strings.Replace(a, `"y"`, `"q"`, 1)},
		"another actor": {arguments: a, actor: "supervisor/billing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCassette(t, tape(t, head, call(1, "get_order", a, `"found"`), tail(1)), &test.opts)
			got, err := proxy.Call[json.RawMessage](t.Context(), client(t, c, nil).As(test.actor), "get_order", json.RawMessage(test.arguments))
			if test.want {
				if err != nil || string(got) != `"found"` || !c.Report().OK() {
					t.Errorf("got %s, %v\n%s", got, err, c.Report())
				}
				return
			}
			wantRefused(t, err)
			wantKinds(t, c.Report(), "changed")
			if d := c.Report().Deviations[0]; len(d.Diff) == 0 {
				t.Errorf("no diff in\n%s", c.Report())
			}
		})
	}
}

// wantRefused makes sure that a client takes the answer for final.
func wantRefused(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Code != toolwire.CodeRefused || e.Class != "cassette_no_match" || e.Attempts != 1 {
		t.Errorf("error %v, want a refusal with %s after one attempt", err, "cassette_no_match")
	}
}

func TestEqualCallsGetTheirAnswersInTurn(t *testing.T) {
	path := tape(t, head, call(1, "next", `{}`, `1`), call(2, "next", `{}`, `2`), tail(2))
	for _, repeat := range []bool{false, true} {
		c := newCassette(t, path, &cassette.Options{RepeatLast: repeat})
		p := client(t, c, nil)
		for want := 1; want <= 2; want++ {
			if got, err := proxy.Call[json.RawMessage](t.Context(), p, "next", nil); err != nil || string(got) != fmt.Sprint(want) {
				t.Errorf("got %s, %v, want %d", got, err, want)
			}
		}
		got, err := proxy.Call[json.RawMessage](t.Context(), p, "next", nil)
		if repeat {
			if err != nil || string(got) != "2" || !c.Report().OK() {
				t.Errorf("got %s, %v, want 2 again\n%s", got, err, c.Report())
			}
			continue
		}
		wantRefused(t, err)
		wantKinds(t, c.Report(), "not_on_tape")
		mustContain(t, c.Report().String(), "next was called once more than on the tape")
	}
}

// Parallel calls get their own answers in whatever order they come.
func TestParallelCallsInAnyOrder(t *testing.T) {
	synctest.Test(t, parallelCallsInAnyOrder) // where they begin at once however busy the machine is
}

func parallelCallsInAnyOrder(t *testing.T) {
	const n = 40
	path := record(t, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args struct{ ID int }
		_ = json.NewDecoder(r.Body).Decode(&args)
		envelope(w, "get_order", fmt.Sprintf(`{"id":%d}`, args.ID))
	}), func(p *proxy.Client) { callAll(t, p, n) })
	for range 5 {
		c := newCassette(t, path, nil)
		callAll(t, client(t, c, nil), n)
		if r := c.Report(); !r.OK() || r.Matched != n {
			t.Fatalf("%s", r)
		}
	}
}

// callAll makes n calls at once, in a shuffled order.
func callAll(t *testing.T, p *proxy.Client, n int) {
	t.Helper()
	var wait sync.WaitGroup
	start := make(chan struct{})
	for _, id := range rand.Perm(n) {
		wait.Go(func() {
			<-start
			got, err := proxy.Call[json.RawMessage](context.WithoutCancel(t.Context()), p, "get_order", map[string]int{"ID": id})
			if want := fmt.Sprintf(`{"id":%d}`, id); err != nil || string(got) != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
	close(start)
	wait.Wait()
}

func TestOrder(t *testing.T) {
	// at is a line of a call that began after so many answers and milliseconds.
	at := func(n int, tool string, after, ms int) string {
		return strings.NewReplacer(`"kind"`, fmt.Sprintf(`"after":%d,"kind"`, after), `"at_ms":0`, fmt.Sprintf(`"at_ms":%d`, ms)).
			Replace(call(n, tool, `{}`, `1`))
	}
	for name, tt := range map[string]struct {
		lines []string
		want  map[string]int // deviations by the order of the calls
	}{
		// b and c were parallel, both after a. d came so soon after them that it may have been parallel, too.
		"parallel calls": {[]string{at(1, "a", 0, 0), at(2, "b", 1, 3000), at(3, "c", 1, 3001), at(4, "d", 3, 3050)},
			map[string]int{"abcd": 0, "acbd": 0, "dacb": 1, "adcb": 0, "bacd": 1, "bcad": 1, "bcda": 1}},
		// An answer that is given again is out of the order of the tape.
		"repeated answers": {[]string{at(1, "a", 0, 0), at(2, "b", 1, 2000)}, map[string]int{"aba": 0}},
		// Two workers made the calls a to d, each taking the next when it had its answer. The order in
		// which they take them is nobody's intention; that e came when all were done is.
		"workers": {[]string{at(1, "a", 0, 0), at(2, "b", 0, 1), at(3, "c", 1, 2000), at(4, "d", 2, 4000), at(5, "e", 4, 9000)},
			map[string]int{"abcde": 0, "dcbae": 0, "cdabe": 0, "abced": 1, "eabcd": 4}},
		// While a client waits to repeat a call, others may be made.
		"a call that is repeated": {[]string{`{"n":1,"kind":"tool","name":"a","arguments":{},"status":429,"at_ms":0,"latency_ms":1}`,
			at(2, "a", 1, 1000), at(3, "b", 2, 2000)}, map[string]int{"aab": 0, "aba": 0, "baa": 1}},
	} {
		path := tape(t, slices.Concat([]string{head}, tt.lines, []string{tail(len(tt.lines))})...)
		for order, want := range tt.want {
			c := newCassette(t, path, &cassette.Options{RepeatLast: name == "repeated answers"})
			for _, tool := range strings.Split(order, "") {
				post(t, c, "/tools/"+tool, `{}`, token)
			}
			if r := c.Report(); len(r.Deviations) != want || want > 0 && r.Deviations[0].Code != "order" {
				t.Errorf("%s, %s: want %d deviations\n%s", name, order, want, r)
			}
		}
	}
}

// The nearest call is the one with the fewest differences.
func TestNearest(t *testing.T) {
	c := newCassette(t, tape(t, head, call(1, "get", `{"a":1,"b":1,"c":1}`, `1`),
		call(2, "get", `{"a":2,"b":2,"c":2}`, `1`),
		call(3, "get", `{"a":3,"b":3,"c":3}`, `1`), tail(3)), nil)
	_, err := client(t, c, nil).Do(t.Context(), "get", json.RawMessage(`{"a":2,"b":2,"c":9}`))
	mustContain(t, detail(err), "line 3 differs at /c")
	report := c.Report()
	wantKinds(t, report, "changed", "never_made", "never_made")
	if d := report.Deviations[0]; d.Tape.Number != 2 || len(d.Diff) != 1 || d.Diff[0].Pointer != "/c" ||
		string(d.Diff[0].Tape) != "2" || string(d.Diff[0].Run) != "9" {
		t.Errorf("%s", report)
	}
	if a, b := report.Deviations[1].Tape.Number, report.Deviations[2].Tape.Number; a != 1 || b != 3 {
		t.Errorf("the calls %d and %d were never made, want 1 and 3", a, b)
	}
}

// Each call of the run that is not on the tape stands for another call of the tape.
func TestEachChangedCallHasItsOwn(t *testing.T) {
	c := newCassette(t, tape(t, head, call(1, "get", `{"a":1}`, `1`), call(2, "get", `{"a":2}`, `1`), call(3, "get", `{"a":3}`, `1`),
		call(4, "get", `{"a":4}`, `1`), call(5, "get", `{"a":5}`, `1`), tail(5)), nil)
	p := client(t, c, nil)
	for i := range 4 {
		_, _ = p.Do(t.Context(), "get", map[string]int{"a": 10 + i})
	}
	report := c.Report()
	wantKinds(t, report, "changed", "changed", "changed", "changed", "never_made")
	for i, d := range report.Deviations {
		if d.Tape.Number != i+1 {
			t.Errorf("deviation %d stands for call %d of the tape:\n%s", i+1, d.Tape.Number, report)
		}
	}
}

// A call that is one more than on the tape is compared with those that are replayed, not with attempts
// that were dropped.
func TestNearestIsReplayed(t *testing.T) {
	busy := `{"n":1,"kind":"tool","name":"get","arguments":{"a":1,"b":1},"status":429,"answer":{"detail":{}},"at_ms":0,"latency_ms":1}`
	for drop, want := range map[bool]int{false: 1, true: 2} {
		c := newCassette(t, tape(t, head, busy, call(2, "get", `{"a":1,"b":1}`, `1`), call(3, "get", `{"a":2,"b":2}`, `1`), tail(3)),
			&cassette.Options{DropRetries: drop})
		p := client(t, c, &proxy.Options{MaxAttempts: 1})
		for _, args := range []string{`{"a":1,"b":1}`, `{"a":1,"b":1}`, `{"a":2,"b":2}`} {
			_, _ = p.Do(t.Context(), "get", json.RawMessage(args))
		}
		_, _ = p.Do(t.Context(), "get", json.RawMessage(`{"a":1,"b":7}`))
		report := c.Report()
		last := report.Deviations[len(report.Deviations)-1]
		if last.Code != "not_on_tape" || last.Tape.Number != want {
			t.Errorf("dropped %t: the nearest call has the number %d, want %d\n%s", drop, last.Tape.Number, want, report)
		}
	}
}

// Of very many calls not all are looked at for the nearest, but an equal one is found wherever it
// is.
func TestNearestOfMany(t *testing.T) {
	const n = 2000
	lines := []string{head}
	for i := range n {
		lines = append(lines, call(i+1, "get", fmt.Sprintf(`{"id":%d}`, i), `1`))
	}
	p := client(t, newCassette(t, tape(t, append(lines, tail(n))...), nil), nil)
	args := json.RawMessage(fmt.Sprintf(`{"id":%d}`, n-1))
	mustCall(t, p, t.Context(), "get", args)
	_, err := p.Do(t.Context(), "get", args)
	mustContain(t, detail(err), "get has had all responses that the tape has for this call")
}

// What is compared for one call that is not on the tape is bounded, or an agent that strays would
// take minutes to fail.
func TestNearestIsBounded(t *testing.T) {
	allocations := func(calls int) float64 {
		lines := []string{head}
		for i := range calls {
			lines = append(lines, call(i+1, "get", fmt.Sprintf(`{"id":%d}`, i), `1`))
		}
		c := newCassette(t, tape(t, append(lines, tail(calls))...), nil)
		return testing.AllocsPerRun(5, func() {
			if got := post(t, c, "/tools/get", `{"id":"none"}`, token); got.status != 409 {
				t.Errorf("%+v", got)
			}
		})
	}
	if few, many := allocations(1000), allocations(8000); many > 1.5*few {
		t.Errorf("%.0f allocations with 1000 calls on the tape, %.0f with 8000", few, many)
	}
}

// So is what a report compares: the work of a call that is not on the tape does not grow with the
// tape and the run.
func TestReportIsBounded(t *testing.T) {
	for _, test := range []struct {
		name         string
		taped, calls int
	}{
		{"each replaces another", 2000, 2000},
		{"more than on the tape", 1000, 3000},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := []string{head}
			for i := range test.taped {
				lines = append(lines, call(i+1, "get", fmt.Sprintf(`{"id":%d}`, i), `1`))
			}
			c := newCassette(t, tape(t, append(lines, tail(test.taped))...), nil)
			for i := range test.calls {
				if got := post(t, c, "/tools/get", fmt.Sprintf(`{"id":"other %d"}`, i), token); got.status != 409 {
					t.Fatalf("%+v", got)
				}
			}
			var report *cassette.Report
			allocations := testing.AllocsPerRun(1, func() { report = c.Report() })
			if most := 200_000.0; allocations > most {
				t.Errorf("%.0f allocations, want at most %.0f", allocations, most)
			}
			if n := len(report.Deviations); n != test.calls {
				t.Errorf("%d deviations", n)
			}
		})
	}
}

// deviants are agents that do not do what is on the tape.
func TestDeviations(t *testing.T) {
	get := func(p *proxy.Client, id string) (json.RawMessage, error) {
		return proxy.Call[json.RawMessage](t.Context(), p, "get_order", map[string]any{"order_id": id, "with": []string{"lines"}})
	}
	path := tape(t, head,
		call(1, "get_order", `{"order_id":"4521","with":["lines"]}`, `{"status":"shipped"}`),
		call(2, "refund_order", `{"order_id":"4521","password":"[redacted]"}`, `true`),
		tail(2))
	tests := map[string]struct {
		run  func(p *proxy.Client)
		want []string
		text []string
	}{
		"extra": {
			func(p *proxy.Client) {
				_, _ = get(p, "4521")
				_, _ = p.Do(t.Context(), "refund_order",
					json.RawMessage(`{"order_id":"4521","password":"hunter2hunter2"}`))
				_, _ = p.Do(t.Context(), "close_order", nil)
			},
			[]string{"not_on_tape"},
			[]string{"2 requests on the tape, 1 deviation", "not on tape: the tape has no call of close_order",
				"run   close_order {}"},
		},
		"missing": {
			func(p *proxy.Client) { _, _ = get(p, "4521") },
			[]string{"never_made"},
			[]string{"never made: refund_order was not called as on the tape", `"password":"[redacted]"}, line 3`},
		},
		"changed": {
			func(p *proxy.Client) {
				_, err := get(p, "9")
				wantRefused(t, err)
				mustContain(t, detail(err), "line 2 differs at /order_id")
				_, _ = p.Do(t.Context(), "refund_order",
					json.RawMessage(`{"order_id":"4521","password":"hunter2hunter2"}`))
			},
			[]string{"changed"},
			[]string{`run   get_order {"order_id":"9","with":["lines"]}`, "line 2",
				`/order_id: "4521" on the tape, "9" in the run`},
		},
		"once more with others": {
			func(p *proxy.Client) {
				_, _ = get(p, "4521")
				_, _ = p.Do(t.Context(), "get_order", json.RawMessage(`{"order_id":"4521","deep":true}`))
				_, _ = p.Do(t.Context(), "refund_order",
					json.RawMessage(`{"order_id":"4521","password":"hunter2hunter2"}`))
			},
			[]string{"not_on_tape"},
			[]string{"/deep: nothing on the tape, true in the run", `/with: ["lines"] on the tape, nothing in the run`},
		},
		"by another": {
			func(p *proxy.Client) {
				_, _ = get(p.As("supervisor"), "4521")
				_, _ = p.Do(t.Context(), "refund_order",
					json.RawMessage(`{"order_id":"4521","password":"hunter2hunter2"}`))
			},
			[]string{"changed"},
			[]string{"the sub-agent differs from the tape", `"" on the tape, "supervisor" in the run`},
		},
		"nothing at all": {
			func(*proxy.Client) {},
			[]string{"never_made", "never_made"}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCassette(t, path, nil)
			test.run(client(t, c, nil))
			report := c.Report()
			wantKinds(t, report, test.want...)
			mustContain(t, report.String(), test.text...)
			if strings.Contains(report.String(), "hunter2") {
				t.Errorf("a secret in\n%s", report)
			}
		})
	}
}

// detail is what the proxy said about an error.
func detail(err error) string {
	var e *proxy.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return ""
}

// failing records what would fail a test.
type failing struct {
	testing.TB
	errors  []string
	logs    []string
	cleanup []func()
}

func (f *failing) Helper() {}
func (f *failing) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}
func (f *failing) Cleanup(end func()) { f.cleanup = append(f.cleanup, end) }
func (f *failing) Error(args ...any)  { f.errors = append(f.errors, fmt.Sprint(args...)) }
func (f *failing) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func TestOpenFailsTheTestForDeviations(t *testing.T) {
	f := &failing{TB: t}
	cassette.Open(f, tape(t, head, call(1, "get_order", `{}`, `1`), tail(1)), nil)
	for _, end := range f.cleanup {
		end()
	}
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "never made") {
		t.Errorf("the test failed with %q", f.errors)
	}
}

func TestAgentDeviates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCassette(t, recorded, nil)
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if _, err := refund(ctx, run); err != nil {
				return nil, err
			}
			_, err := run.Proxy.Do(ctx, "refund_order", map[string]string{"order_id": "4522"})
			return nil, err
		}
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, replayTask(c))
		result.AssertErrorClass(t, dispatchtest.Agent5xx)
		wantKinds(t, c.Report(), "not_on_tape")
	})
}

// The attempts on the tape make the client wait as it did then.
func TestRetriesAreReplayed(t *testing.T) {
	busy := `{"n":1,"kind":"tool","name":"get_order","arguments":{},"status":429,"retry_after":7,"answer":{"detail":{"error_class":"rate_limited"}},"at_ms":0,"latency_ms":1}`
	path := tape(t, head, busy, call(2, "get_order", `{}`, `"shipped"`), tail(2))
	for drop, want := range map[bool]time.Duration{false: 7 * time.Second, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			c := newCassette(t, path, &cassette.Options{DropRetries: drop})
			start := time.Now()
			result, err := client(t, c, nil).Do(t.Context(), "get_order", nil)
			if err != nil {
				t.Fatal(err)
			}
			attempts := 2
			if drop {
				attempts = 1
			}
			if took := time.Since(start); took < want || took > want+time.Second || result.Attempts != attempts {
				t.Errorf("drop %v: %d attempts in %s", drop, result.Attempts, took)
			}
			if !c.Report().OK() {
				t.Errorf("%s", c.Report())
			}
		})
	}
}

// A call that was given up stays given up, also without the retries in between.
func TestDropRetriesKeepsAFailureThatWasFinal(t *testing.T) {
	var lines []string
	for n := 1; n <= 4; n++ {
		lines = append(lines, fmt.Sprintf(`{"n":%d,"kind":"tool","name":"get_order","arguments":{},"status":503,`+
			`"answer":{"detail":{"error_class":"lock_contention"}},"at_ms":0,"latency_ms":1}`, n))
	}
	path := tape(t, append(append([]string{head}, lines...), tail(4))...)
	synctest.Test(t, func(t *testing.T) {
		c := newCassette(t, path, &cassette.Options{DropRetries: true})
		_, err := client(t, c, nil).Do(t.Context(), "get_order", nil)
		if toolwire.CodeOf(err) != toolwire.CodeUnavailable || !c.Report().OK() {
			t.Errorf("%v\n%s", err, c.Report())
		}
	})
}

// DropRetries keeps broken answers, whatever their status.
func TestDropRetriesKeepsBrokenAnswers(t *testing.T) {
	broken := `{"n":1,"kind":"tool","name":"get","arguments":{},"status":429,"broken":"truncate","at_ms":0,"latency_ms":1}`
	c := newCassette(t, tape(t, head, broken, call(2, "get", `{}`, `1`), tail(2)), &cassette.Options{DropRetries: true})
	if _, err := client(t, c, &proxy.Options{MaxAttempts: 1}).Do(t.Context(), "get", nil); err == nil {
		t.Error("the broken answer was dropped")
	}
}

func TestBrokenAnswersAreReplayed(t *testing.T) {
	line := func(more string) string {
		return `{"n":1,"kind":"tool","name":"get_order","arguments":{},` + more + `,"at_ms":0,"latency_ms":1}`
	}
	tests := map[string]struct {
		line string
		want toolwire.Code
	}{
		"reset":     {line(`"broken":"reset"`), toolwire.CodeTransport},
		"abandoned": {line(`"broken":"abandoned"`), toolwire.CodeTransport},
		"truncate":  {line(`"status":200,"broken":"truncate","answer_text":"{\"tool_na"`), toolwire.CodeTransport},
		"oversize":  {line(`"status":200,"broken":"oversize"`), toolwire.CodeResponseTooLarge},
		"html":      {line(`"status":502,"content_type":"text/html","answer_text":"<html>"`), toolwire.CodeServerError},
		"binary":    {line(`"status":200,"answer_base64":"/w=="`), toolwire.CodeBadResponse},
	}
	for name, test := range tests {
		path := tape(t, head, test.line, tail(1))
		c := newCassette(t, path, nil)
		if _, err := client(t, c, nil).Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != test.want {
			t.Errorf("%s through the handler: %v, want %s", name, err, test.want)
		}
		c = newCassette(t, path, nil)
		if _, err := client(t, nil, &proxy.Options{Transport: c.Transport(nil)}).Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != test.want {
			t.Errorf("%s through the transport: %v, want %s", name, err, test.want)
		}
		c = newCassette(t, path, nil)
		p, err := proxy.New(serveHTTP(t, c), token, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != test.want {
			t.Errorf("%s on loopback: %v, want %s", name, err, test.want)
		}
	}
}

func TestTraceEventsAreLoose(t *testing.T) {
	event := `{"n":1,"kind":"trace","name":"thinking","arguments":{"text":"hm","__occurred_at":"2026-01-01T00:00:00Z"},` +
		`"status":200,"answer":{"accepted":true,"sequence":17,"event_type":"thinking"},"at_ms":0,"latency_ms":1}`
	path := tape(t, head, event, tail(1))
	c := newCassette(t, path, nil)
	p := client(t, c, nil)
	sequence, err := p.Trace(t.Context(), proxy.EventThinking, map[string]string{"text": "hm"})
	if err != nil || sequence != 17 {
		t.Errorf("%d, %v, want the sequence of the tape", sequence, err)
	}
	sequence, err = p.Trace(t.Context(), proxy.EventThinking, map[string]string{"text": "hm, hm"})
	if err != nil || sequence == 17 || !c.Report().OK() {
		t.Errorf("%d, %v\n%s", sequence, err, c.Report())
	}
	if r := newCassette(t, path, nil).Report(); !r.OK() {
		t.Errorf("an event that was not sent\n%s", r)
	}
	// The set of types is closed, as on the platform.
	resp := post(t, newCassette(t, path, nil), "/runs/7/traces/shouting", `{}`, token)
	if resp.status != http.StatusBadRequest || !strings.Contains(resp.body, "trace_event_type_invalid") {
		t.Errorf("an unknown type: %+v", resp)
	}
}

func TestOtherPlanes(t *testing.T) {
	path := record(t, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"path":%q,"query":%q}`, r.URL.Path, r.URL.RawQuery)
	}), func(*proxy.Client) {})
	c := newCassette(t, path+"2", &cassette.Options{Mode: cassette.Record})
	behind := c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	paths := []string{"/telemetry", "/data", "/context/orders?slice=true", "/tools/data"}
	for _, p := range paths {
		post(t, behind, "/api/odyssey-proxy/runs/abc"+p, `{"kind":"sql","occurred_at":"09:00"}`, token)
	}
	finish(t, c)
	mustContain(t, readFile(t, path+"2"), `"name":"telemetry"`, `"name":"data"`, `"name":"context/orders?slice=true"`,
		`"kind":"tool","name":"data"`)
	replay := newCassette(t, path+"2", nil)
	at := func(path string) string { // the time of a span does not matter, a member of arguments does
		if path == "/telemetry" {
			return `{"occurred_at":"10:00","kind":"sql"}`
		}
		return `{"kind":"sql","occurred_at":"09:00"}`
	}
	for _, p := range paths {
		if got := post(t, replay, "/elsewhere"+p, at(p), token); got.status != 200 ||
			!strings.Contains(got.body, "/runs/abc") {
			t.Errorf("%s: %+v", p, got)
		}
	}
	if got := post(t, replay, "/elsewhere/telemetry", `{"kind":"note","occurred_at":"x"}`, token); got.status != 200 {
		t.Errorf("telemetry that is not on the tape: %+v", got)
	}
	if got := post(t, replay, "/elsewhere/data", `{"kind":"sql"}`, token); got.status != http.StatusConflict {
		t.Errorf("data once more: %+v", got)
	}
	wantKinds(t, replay.Report(), "not_on_tape")
}

// Requests of the same name are not the same if their kinds or methods differ.
func TestKindsAndMethodsAreDistinct(t *testing.T) {
	line := func(n int, kind, method string) string {
		return fmt.Sprintf(`{"n":%d,"kind":%q,"name":"data","method":%q,"arguments":{},"status":200,"answer":%d,"at_ms":0,"latency_ms":1}`,
			n, kind, method, n)
	}
	c := newCassette(t, tape(t, head, line(1, "tool", ""), line(2, "other", "PUT"), line(3, "other", "POST"),
		line(4, "trace", ""), tail(4)), nil)
	for _, test := range []struct{ method, path, want string }{
		{"POST", "/data", "3"}, {"PUT", "/data", "2"}, {"POST", "/traces/data", "4"}, {"POST", "/tools/data", "1"},
	} {
		r := request(t, test.method, "http://proxy.test"+test.path, strings.NewReader("{}"))
		if got := do(t, c, r); got.body != test.want {
			t.Errorf("%s %s: %+v, want %s", test.method, test.path, got, test.want)
		}
	}
	if !c.Report().OK() {
		t.Errorf("%s", c.Report())
	}
}

type answer struct {
	status int
	body   string
}

// post sends a request as an agent in any language would.
func post(t *testing.T, handler http.Handler, path, body, token string) answer {
	t.Helper()
	r := request(t, http.MethodPost, "http://proxy.test"+path, strings.NewReader(body))
	r.Header.Del("Authorization")
	r.Header.Set("X-Pipelines-Run-Token", token)
	return do(t, handler, r)
}

func TestRunsDoNotMix(t *testing.T) {
	c := newCassette(t, tape(t, head, call(1, "get_order", `{}`, `1`), call(2, "get_order", `{}`, `2`), tail(2)), nil)
	if got := post(t, c, "/runs/1/tools/get_order", `{}`, "first-run-token-1"); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if got := post(t, c, "/runs/2/tools/other-run-token-2", `{}`, "other-run-token-2"); got.status != 409 ||
		!strings.Contains(got.body, "cassette_other_run") {
		t.Errorf("another run: %+v", got)
	}
	if got := post(t, c, "/runs/1/tools/get_order", `{}`, ""); got.status != 401 ||
		!strings.Contains(got.body, "run_token_invalid") {
		t.Errorf("no token: %+v", got)
	}
	if got := post(t, c, "/runs/1/tools/__reachability_probe__", `{}`, "fake"); got.status != 401 {
		t.Errorf("the probe: %+v", got)
	}
	if got := post(t, c, "/runs/1/tools/get_order", `{}`, "first-run-token-1"); got.status != 200 ||
		!strings.Contains(got.body, `"response":2`) {
		t.Errorf("the first run again: %+v", got)
	}
	wantKinds(t, c.Report(), "failed", "failed")
	if text := c.Report().String(); strings.Contains(text, "run-token") {
		t.Errorf("a token in\n%s", text)
	}
}

func TestTwoRunsAtOnce(t *testing.T) {
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			tape := cassette.Open(t, recorded, &cassette.Options{DropRetries: true})
			dispatchtest.Run(t, dispatchtest.Target{Agent: refund}, replayTask(tape)).AssertFinalResponse(t,
				"Refunded: 4521.")
		})
	}
}

// Requests that are not calls with arguments are in reports too. Long reports are cut.
func TestReportOfUnusualRequests(t *testing.T) {
	many := map[string]int{}
	for n := range 30 {
		many[fmt.Sprintf("m%02d", n)] = n
	}
	c := newCassette(t, tape(t, head,
		`{"n":1,"kind":"other","name":"data","arguments_text":"SELECT 1","status":200,"answer_text":"1","at_ms":0,"latency_ms":1}`,
		`{"n":2,"kind":"other","name":"context/orders","method":"GET","status":200,"answer":[],"at_ms":0,"latency_ms":1}`,
		call(3, "put", `{"text":"`+strings.Repeat("x", 500)+`\u202e"}`, `1`), tail(3)), nil)
	post(t, c, "/data", "SELECT 2", token)
	_, _ = client(t, c, nil).Do(t.Context(), "put", many)
	r := request(t, http.MethodGet, "http://proxy.test/context/orders", nil)
	if got := do(t, c, r); got.status != 200 || got.body != "[]" {
		t.Errorf("%+v", got)
	}
	r.Method = http.MethodDelete
	do(t, c, r)
	report := c.Report()
	wantKinds(t, report, "changed", "changed", "not_on_tape")
	text := report.String()
	mustContain(t, text, `run   data "SELECT 2"`, `the whole: "SELECT 1" on the tape, "SELECT 2" in the run`,
		"/m11: nothing on the tape, 11 in the run\n       and 19 differences more", "run   DELETE context/orders", "…")
	if strings.Contains(text, "\u202e") || len(text) > 4000 {
		t.Errorf("not fit for a terminal:\n%s", text)
	}
	if encoded, err := json.Marshal(report); err != nil || !strings.Contains(string(encoded), `"code":"not_on_tape"`) {
		t.Errorf("%v %s", err, encoded)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := cassette.New("", &cassette.Options{
		Mode: "play", Upstream: "https://user:secret@proxy.test", Ignore: []string{"id", "/a~b", ""},
		Task: cassette.Task{Input: json.RawMessage(`{`)},
	})
	if e, ok := errors.AsType[*cassette.Error](err); !ok || e.Code != toolwire.CodeInvalidOptions || len(e.Problems) != 7 ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	_, err = cassette.New(filepath.Join(t.TempDir(), "none.jsonl"), nil)
	if toolwire.CodeOf(err) != "no_tape" || !strings.Contains(err.Error(), "Record") {
		t.Errorf("%v", err)
	}
}
