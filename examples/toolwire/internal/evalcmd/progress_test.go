package evalcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// locked returns what p has written so far.
func locked(p *progress, b *bytes.Buffer) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.String()
}

func passed(n int) eval.Trial { return eval.Trial{Verdict: eval.Passed, Number: n} }

// Off a terminal there is a line a minute, even if no trial ends, and what fails is written at once.
func TestProgressOffTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := newProgress(&b, os.Getenv, 60, 3)
		time.Sleep(90 * time.Second) // no trial ends
		for i := range 7 {
			p.trial(passed(i + 1))
		}
		p.trial(eval.Trial{
			Case: &eval.Case{Name: "Refund\norder \x1b[31m#4521."}, Number: 2, Verdict: eval.Failed, Cause: "grader", Reason: "it does\nnot say so",
		})
		at90 := locked(p, &b)
		time.Sleep(time.Minute)
		p.trial(eval.Trial{Case: &eval.Case{Name: "Hello"}, Number: 1, Verdict: eval.Errored, Cause: "user", Reason: "no model"})
		p.trial(eval.Trial{Case: &eval.Case{Name: "late"}, Verdict: eval.Cancelled, Reason: "it was in progress"})
		time.Sleep(time.Minute)
		p.end()
		time.Sleep(time.Hour)
		const early = "toolwire eval: 0 of 60 done\n" +
			"failed  Refund order �[31m#4521. (trial 2 of 3)  grader: it does not say so\n"
		if at90 != early {
			t.Errorf("after 90 s:\n%s\nwant\n%s", at90, early)
		}
		const want = early + "toolwire eval: 8 of 60 done, 1 failed, about 13 min left\n" +
			"error  Hello (trial 1 of 3)  user: no model\n" +
			"toolwire eval: 9 of 60 done, 1 failed, 1 with errors, about 17 min left\n"
		if b.String() != want {
			t.Errorf("%s\nwant\n%s", b.String(), want)
		}
	})
}

// With -v each trial that ends is shown with the timeline of its run.
func TestProgressWithTimelines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, os.Getenv, 2, 1)
	p.all = true
	result := &dispatchtest.Result{FinalResponse: "done"}
	result.Calls = []proxytest.Call{{Tool: "get_order", Arguments: []byte(`{}`), Response: []byte(`1`), Source: "odyssey", Status: 200, LatencyMS: 12.5}}
	result.ModelRequests = []dispatchtest.ModelRequest{{Model: "large", Status: 200, TookMS: 800, InputTokens: 120, OutputTokens: 30, Order: 1}}
	p.trial(eval.Trial{Case: &eval.Case{Name: "Refund"}, Number: 1, Verdict: eval.Passed, Result: result})
	p.trial(eval.Trial{Case: &eval.Case{Name: "Not staged"}, Number: 1, Verdict: eval.Errored, Cause: "not_staged", Reason: "no world"})
	p.end()
	const want = `passed  Refund
  call       get_order {}
             -> 1  (odyssey, 12.50 ms)
  model      large, 120 tokens in, 30 out  (800.0 ms)
  final      done
  verdict    ok: the run would be graded
error  Not staged  not_staged: no world
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// On a terminal one line is rewritten, and nothing of it is left.
func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &progress{w: &b, total: 200, trials: 1, begun: time.Now(), live: true}
		p.start()
		for range 50 {
			time.Sleep(2 * time.Second)
			p.trial(passed(1))
		}
		time.Sleep(time.Second)
		before := locked(p, &b)
		if !strings.HasSuffix(before, clearLine+"50 of 200 done, about 5 min left") || strings.Contains(before, "\n") {
			t.Errorf("%q", before)
		}
		p.trial(eval.Trial{Case: &eval.Case{Name: "row 1"}, Verdict: eval.Failed, Cause: "fault", Reason: "an undeclared tool"})
		time.Sleep(time.Second)
		after := strings.TrimPrefix(locked(p, &b), before)
		if want := clearLine + "failed  row 1  fault: an undeclared tool\n" + clearLine + "51 of 200 done, 1 failed, about 5 min left"; after != want {
			t.Errorf("%q, want %q", after, want)
		}
		for range 149 {
			p.trial(passed(1))
		}
		time.Sleep(time.Second)
		p.end()
		if !strings.HasSuffix(b.String(), clearLine+"200 of 200 done, 1 failed"+clearLine) {
			t.Errorf("%q", b.String())
		}
	})
}

func TestProgressOnDumbTerminal(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = device.Close() }()
	p := newProgress(device, func(string) string { return "dumb" }, 9, 1)
	p.end()
	if p.live {
		t.Error("a dumb terminal cannot rewrite a line")
	}
}

func TestProgressSeesUndeclaredTools(t *testing.T) {
	for fault, want := range map[string]bool{"the agent called cancel_order": true, "": false} {
		result := &dispatchtest.Result{}
		if fault != "" {
			result.Log = proxytest.Log{Faults: []string{fault}}
		}
		p := newProgress(&bytes.Buffer{}, os.Getenv, 1, 1)
		p.trial(eval.Trial{Verdict: eval.Passed, Result: result})
		p.end()
		if p.undeclared != want {
			t.Errorf("%q: %v", fault, p.undeclared)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond: "0 s", 89 * time.Second: "89 s", 90 * time.Second: "2 min", 89 * time.Minute: "89 min", 200 * time.Minute: "3 h 20 min",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// The command writes what fails before its summary, to standard error.
func TestFailuresAsTheyCome(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := Run(t.Context(), []string{"-dataset", filepath.Join("testdata", "failing.csv"), "-parallel", "1"}, &stdout, &stderr)
	if lines := strings.Split(strings.TrimSpace(withoutProgress(&stderr)), "\n"); status != 1 || len(lines) != 4 ||
		!strings.HasPrefix(lines[0], "failed  ") || !strings.Contains(stderr.String(), "  fault: the agent called cancel_order") {
		t.Errorf("status %d\n%s", status, stderr.String())
	}
}
