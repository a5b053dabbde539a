package eval_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
)

// outage is a grader that cannot decide while down is set: each trial then is a fault.
func outage(down *atomic.Bool) eval.Grader {
	return func(context.Context, eval.Case, *dispatchtest.Result) error {
		if down.Load() {
			return eval.ErrNotGraded
		}
		return nil
	}
}

// Trials that an outage has made faults run again with RetryFaults, and only these. Their number is
// kept by the file, by a merge and by new grades.
func TestRetryFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, csvOf("a", "b", "c"), dispatchtest.Task{})
	var down atomic.Bool
	opts := &eval.Options{Trials: 2, ResultsFile: file, Grader: outage(&down), Parallel: 1}
	down.Store(true)
	if got := ended(run(t, obedient, cases, opts)); got != "!! !! !!" {
		t.Fatal(got)
	}
	down.Store(false)
	plan, err := opts.Plan(cases)
	if got := ended(run(t, obedient, cases, opts)); got != "!! !! !!" || err != nil || plan.Faults != 6 || plan.Trials != 0 ||
		!strings.Contains(plan.String(), ", 6 stored already, 6 faults stored") {
		t.Errorf("without RetryFaults: %s; %s, %v", got, plan, err)
	}
	opts.RetryFaults = true
	if plan, err = opts.Plan(cases); err != nil || plan.Trials != 6 || plan.Stored != 0 || plan.Faults != 6 {
		t.Errorf("%+v, %v", plan, err)
	}
	opts.Budget.Time = 1 // nothing begins: what is stored stays
	if e := run(t, obedient, cases, opts); ended(e) != "!! !! !!" || e.Stats().Retries != 0 || strings.Contains(e.Trials[0].Reason, "budget") {
		t.Errorf("with a budget that is spent: %s", ended(e))
	}
	opts.Budget.Time = 0
	ran := 0
	opts.OnTrial = func(eval.Trial) { ran++ }
	e := run(t, obedient, cases, opts)
	if ended(e) != ".. .. .." || e.Stats().Retries != 6 || e.Trials[3].Retries != 1 || ran != 6 {
		t.Errorf("%s, %+v, %d trials ran", ended(e), e.Stats(), ran)
	}
	whole := read(t, file)
	if n := bytes.Count(whole, []byte("\n")); n != 13 {
		t.Errorf("%d lines", n)
	}
	if run(t, obedient, cases, opts); ran != 6 || !bytes.Equal(read(t, file), whole) {
		t.Errorf("trials that passed ran again: %d", ran)
	}
	merged := new(bytes.Buffer)
	if err := eval.Merge(merged, file); err != nil || bytes.Count(merged.Bytes(), []byte("\n")) != 7 {
		t.Errorf("%v, %d lines", err, bytes.Count(merged.Bytes(), []byte("\n")))
	}
	write(t, filepath.Join(dir, "merged.jsonl"), merged.Bytes())
	graded, err := eval.Grade(t.Context(), cases, &eval.Options{ResultsFile: filepath.Join(dir, "graded.jsonl"), Grader: eval.Says("")}, file)
	if err != nil {
		t.Fatal(err)
	}
	want := reports(t, e)
	if !strings.Contains(want, "\n6 runs that ended in a fault ran again\n") || !strings.Contains(want, `<property name="retries" value="6">`) ||
		strings.Count(want, `"retries": 1,`) != 6 || !strings.Contains(written(t, e, nil), "6 runs that ended in a fault ran again<") {
		t.Error(want)
	}
	for name, other := range map[string]*eval.Experiment{
		"file": load(t, file), "merged": load(t, filepath.Join(dir, "merged.jsonl")), "graded": graded, "graded file": load(t, filepath.Join(dir, "graded.jsonl")),
	} {
		if got := reports(t, other); got != want {
			t.Errorf("%s: %s", name, firstDifference(got, want))
		}
	}
	// A program that is killed while it runs faults again has the old verdicts, and goes on.
	down.Store(true)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for cut := range lines[7] {
		write(t, file, append(bytes.Join(lines[:7], nil), lines[7][:cut]...))
		if got := ended(load(t, file)); got != "!! !! !!" {
			t.Fatalf("cut in byte %d: %s", cut, got)
		}
	}
	down.Store(false)
	if e := run(t, obedient, cases, opts); ended(e) != ".. .. .." || e.Stats().Retries != 6 {
		t.Errorf("after a cut: %s, %d", ended(e), e.Stats().Retries)
	}
	// A line that does not count on is there twice, as before.
	write(t, file, append(whole, lines[7]...))
	if _, err := eval.Load(file); err == nil || !strings.Contains(err.Error(), " is in line 8 too") {
		t.Errorf("Load: %v", err)
	}
	if _, err := opts.Plan(cases); err == nil || !strings.Contains(err.Error(), "is in line 8 too") {
		t.Errorf("Plan: %v", err)
	}
}

// A case that a fault has stopped goes on with its other trials.
func TestRetryFaultsAfterFirstFailure(t *testing.T) {
	var down atomic.Bool
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{})
	opts := &eval.Options{
		Trials: 3, FirstFailure: true, RetryFaults: true, ResultsFile: filepath.Join(t.TempDir(), "results.jsonl"), Grader: outage(&down),
	}
	down.Store(true)
	if got := ended(run(t, obedient, cases, opts)); got != "!" {
		t.Fatal(got)
	}
	down.Store(false)
	if got := ended(run(t, obedient, cases, opts)); got != "..." {
		t.Error(got)
	}
}

// Reports name the command that runs a case again, for each trial that did not pass, whether the
// results are in memory, in a file or loaded. It has no secrets.
func TestReportsRepeat(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	task := dispatchtest.Task{Instruction: "fail"}
	cases := []eval.Case{{ID: "it's", Task: task}, {ID: "good", Task: dispatchtest.Task{Instruction: "a"}}, {ID: "b", Task: task}}
	handler, err := dispatch.New(obedient, &dispatch.Options{Tokens: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	target := dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	var all []*eval.Experiment
	for _, results := range []string{"", file} {
		e, err := eval.Run(t.Context(), target, cases, &eval.Options{ResultsFile: results, Command: "check -token " + secret})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	all = append(all, load(t, file))
	for i, e := range all {
		text := reports(t, e)
		for part, n := range map[string]int{
			`run the first again: check -token [redacted] -case 'it'\''s'` + "\n": 1,
			`"repeat": "check -token [redacted] -case 'b'"`:                       1, `"repeat"`: 2,
			"\n\nrun it again: check -token [redacted] -case 'b'</failure>": 1, secret: 0,
		} {
			if strings.Count(text, part) != n {
				t.Errorf("experiment %d: %q is there %d times:\n%s", i, part, strings.Count(text, part), text)
			}
		}
		if page := written(t, e, nil); strings.Count(page, "Run it again: <code>check -token [redacted] -case ") != 2 {
			t.Errorf("experiment %d: %s", i, page)
		}
	}
}

// drawnInGroups draws groups of five cases each whose rates are alike.
func drawnInGroups(random *rand.Rand, groups int, rate func() float64) *eval.Experiment {
	e := drawn(random, 5*groups, 1, func() func() float64 {
		n, p := 0, 0.0
		return func() float64 {
			if n++; n%5 == 1 {
				p = rate()
			}
			return p
		}
	}())
	for i := range e.Trials {
		e.Trials[i].Group = string(rune('a' + i/5))
	}
	return e
}

// With groups the interval holds the rate of tasks, of which the cases are paraphrases. Without them
// it is too short.
func TestIntervalOfGroups(t *testing.T) {
	suites, random := testkit.Size(300, 4000), rand.New(rand.NewPCG(7, 7))
	rate := func() float64 { return []float64{0, 1, 1, 0.5, 1}[random.IntN(5)] } // mean 0.7
	held, without, differences := 0, 0, 0
	for range suites {
		e := drawnInGroups(random, 30, rate)
		if r := e.Figure("rate"); r.Low <= 0.7 && 0.7 <= r.High {
			held++
		}
		if d := compare(t, e, drawnInGroups(random, 30, rate)).Rates[0].Difference; d.Low <= 0 && 0 <= d.High {
			differences++
		}
		for i := range e.Trials {
			e.Trials[i].Group = ""
		}
		if r := e.Figure("rate"); r.Low <= 0.7 && 0.7 <= r.High {
			without++
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(suites) }
	t.Logf("rates held: %.1f %%, differences: %.1f %%; without groups: %.1f %%", share(held), share(differences), share(without))
	if share(held) < 93 || share(differences) < 93 || share(without) > 85 {
		t.Error("the group is not the unit")
	}
}

// The group is a column. Each group counts the same, and a gate needs enough of them.
func TestGroups(t *testing.T) {
	cases := casesOf(t, "user,group\nfail, one \na,one\nb,one\nc,two\nd,\n", dispatchtest.Task{})
	file := filepath.Join(t.TempDir(), "results.jsonl")
	e := run(t, obedient, cases, &eval.Options{ResultsFile: file})
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file)} {
		s := e.Stats()
		if got := e.Figure("rate").Value; s.Cases != 5 || s.Groups != 3 || got < 0.888 || got > 0.889 || e.Cases()[0].Group != "one" || e.Figure("rate").Cases != 5 {
			t.Errorf("%s: %+v, %+v", name, s, e.Figure("rate"))
		}
	}
	many := drawnInGroups(rand.New(rand.NewPCG(1, 1)), 5, func() float64 { return 1 })
	c := compare(t, many, many)
	if c.Rates[0].Difference.Cases != 25 || c.Rates[0].Difference.Groups != 5 || c.Bound("", 1).Verdict != eval.Undecided ||
		!strings.Contains(c.Rates[0].String(), "in 25 cases of 5 groups, ") || !strings.HasSuffix(c.Rates[0].String(), "a gate needs at least 6 groups") {
		t.Errorf("%s: %s", c.Bound("", 1).Verdict, c.Rates[0])
	}
	_, err := readDataset(t, "user,id,group\na,"+strings.Repeat("x", 201)+","+strings.Repeat("y", 201)+"\n").Cases(dispatchtest.Task{}, nil)
	bad, _ := errors.AsType[*eval.Error](err)
	if bad == nil || len(bad.Problems) != 2 || bad.Problems[0].String() != "row 2, column id: the cell has 201 bytes, at most 200 are allowed in this column" {
		t.Errorf("%v", err)
	}
}
