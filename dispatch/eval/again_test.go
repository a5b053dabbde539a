package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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
	if got := ended(run(t, obedient, cases, opts)); got != "!! !! !!" || err != nil || plan.Faults() != 6 || plan.Trials != 0 ||
		!strings.Contains(plan.String(), ", 6 stored already, 6 faults stored, which Options.RetryFaults runs again") {
		t.Errorf("without RetryFaults: %s; %s, %v", got, plan, err)
	}
	opts.RetryFaults = true
	if plan, err = opts.Plan(cases); err != nil || plan.Trials != 6 || plan.Stored() != 0 || plan.Faults() != 6 {
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
	if ended(e) != ".. .. .." || e.Stats().Retries != 6 || e.Trials[3].Retries() != 1 || ran != 6 {
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
	if !strings.Contains(want, "\n6 runs that ended in a fault ran again: with their trials as failed, the rate is 0 % [0, 56.1]; if the agent caused") || !strings.Contains(want, `<property name="retries" value="6">`) ||
		strings.Count(want, `"retries": 1,`) != 6 || !strings.Contains(written(t, e, nil), "6 runs that ended in a fault ran again: ") {
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
		e, err := eval.Run(t.Context(), target, cases, eval.Options{ResultsFile: results}.Repeating("check -case $CASE -token "+secret))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	all = append(all, load(t, file))
	for i, e := range all {
		text := reports(t, e)
		for part, n := range map[string]int{
			`run the first again: $ check -case 'it'\''s' -token [redacted]` + "\n": 1,
			`"repeat": "check -case 'b' -token [redacted]"`:                         1, `"repeat"`: 2,
			"\n\nrun it again: check -case 'b' -token [redacted]</failure>": 1, secret: 0,
		} {
			if strings.Count(text, part) != n {
				t.Errorf("experiment %d: %q is there %d times:\n%s", i, part, strings.Count(text, part), text)
			}
		}
		if page := written(t, e, nil); strings.Count(page, "Run it again: <code>check -case &#39;") != 2 {
			t.Errorf("experiment %d: %s", i, page)
		}
	}
	// The command of the run that completes a file stands before the command in it.
	later, err := eval.Run(t.Context(), target, cases, eval.Options{ResultsFile: file}.Repeating("later -case $CASE"))
	if err != nil || !strings.Contains(reports(t, later), "run the first again: $ later -case 'it'") {
		t.Errorf("%v\n%s", err, reports(t, later))
	}
	// The command of an older file has no place for the case.
	write(t, file, bytes.Replace(read(t, file), []byte("check -case $CASE"), []byte("check"), 1))
	if text := reports(t, load(t, file)); !strings.Contains(text, `"repeat": "check -token [redacted] -case 'b'"`) {
		t.Error(text)
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
		if d := compare(t, e, drawnInGroups(random, 30, rate)).Figures()[0].Difference; d.Low <= 0 && 0 <= d.High {
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
		if got := e.Figure("rate").Value; s.Cases != 5 || s.Groups != 3 || got < 0.888 || got > 0.889 || e.Results()[0].Group != "one" || e.Figure("rate").Cases != 5 {
			t.Errorf("%s: %+v, %+v", name, s, e.Figure("rate"))
		}
	}
	many := drawnInGroups(rand.New(rand.NewPCG(1, 1)), 5, func() float64 { return 1 })
	c := compare(t, many, many)
	if c.Figures()[0].Difference.Cases != 25 || c.Figures()[0].Difference.Groups() != 5 || c.Bound("", 1).Verdict != eval.Undecided ||
		!strings.Contains(c.Figures()[0].String(), "in 25 cases of 5 groups, ") || !strings.HasSuffix(c.Figures()[0].String(), "a gate needs at least 6 groups") {
		t.Errorf("%s: %s", c.Bound("", 1).Verdict, c.Figures()[0])
	}
	_, err := readDataset(t, "user,id,group\na,"+strings.Repeat("x", 201)+","+strings.Repeat("y", 201)+"\n").Cases(dispatchtest.Task{}, nil)
	bad, _ := errors.AsType[*eval.Error](err)
	if bad == nil || len(bad.Problems) != 2 || bad.Problems[0].String() != "row 2, column id: the cell has 201 bytes, at most 200 are allowed in this column" {
		t.Errorf("%v", err)
	}
}

// Statuses that a gateway sends are faults: they are counted by status, run again, and have no measures. Others are the
// agent's failures, and so are all of them if the options say so.
func TestFaultStatuses(t *testing.T) {
	var down atomic.Bool
	statuses := map[string]int{"busy": 429, "gate": 502, "away": 503, "late": 504, "broken": 500, "gone": 404}
	endpoint := func(url string, opts *eval.Options) *eval.Experiment {
		e, err := eval.Run(t.Context(), dispatchtest.Target{URL: url}, casesOf(t, csvOf("busy", "gate", "away", "late", "broken", "gone", "fine"), dispatchtest.Task{}), opts)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	handler, err := dispatch.New(obedient, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		for word, status := range statuses {
			if down.Load() && bytes.Contains(body, []byte(`"`+word+`"`)) {
				w.WriteHeader(status)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	down.Store(true)
	file := filepath.Join(t.TempDir(), "results.jsonl")
	opts := &eval.Options{Trials: 2, ResultsFile: file}
	e := endpoint(server.URL, opts)
	again, err := eval.Grade(t.Context(), casesOf(t, csvOf("busy", "gate", "away", "late", "broken", "gone", "fine"), dispatchtest.Task{}), nil, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file), "graded": again} {
		s := e.Stats()
		if s.Faults != 8 || fmt.Sprint(s.Statuses) != "map[429:2 502:2 503:2 504:2]" || e.Count(eval.Failed) != 12 || len(e.Trials[0].Scores) != 0 || len(e.Trials[8].Scores) == 0 {
			t.Errorf("%s: %+v, %d failed, scores %v", name, s, e.Count(eval.Failed), e.Trials[0].Scores)
		}
		const line = "faults by the status of the endpoint: 429 in 2 trials, 502 in 2 trials, 503 in 2 trials, 504 in 2 trials"
		if got := reports(t, e); !strings.Contains(got, line+"\n") || !strings.Contains(got, `<property name="fault_statuses" value="429 in 2 trials, `) ||
			!strings.Contains(got, `"503": 2,`) || !strings.Contains(got, "trials that passed, faults dropped: 33.3 % [") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	all := endpoint(server.URL, &eval.Options{FaultStatuses: []int{}})
	some := endpoint(server.URL, &eval.Options{FaultStatuses: []int{500, 503}})
	if all.Stats().Faults != 0 || fmt.Sprint(some.Stats().Statuses) != "map[500:1 503:1]" {
		t.Errorf("%+v, %+v", all.Stats(), some.Stats())
	}
	down.Store(false)
	opts.RetryFaults = true
	e = endpoint(server.URL, opts)
	if s := e.Stats(); s.Faults != 0 || s.Retries != 8 || e.Count(eval.Failed) != 4 {
		t.Errorf("ran again: %+v", s)
	}
	if got := reports(t, e); !strings.Contains(got, "8 runs that ended in a fault ran again: with their trials as failed, the rate is 14.3 % [1.6, 62.6]; without them 33.3 % [") ||
		!strings.Contains(got, "; if the agent caused these faults, the rate is too high\n") {
		t.Error(got)
	}
	for _, bad := range []int{0, 200, 399, 600, -1} {
		if _, err := (&eval.Options{FaultStatuses: []int{503, bad}}).Plan(nil); err == nil || !strings.Contains(err.Error(), "Options.FaultStatuses: ") {
			t.Errorf("%d: %v", bad, err)
		}
	}
	stored := read(t, file)
	for _, change := range []string{`"fault_status":200`, `"fault_status":-1`, `"fault_status":"503"`} {
		write(t, file, bytes.Replace(stored, []byte(`"fault_status":429`), []byte(change), 1))
		if _, err := eval.Load(file); err == nil {
			t.Errorf("%s is read", change)
		}
	}
}

// Trials can be added to a file: those that it has are not run again, wherever the file was cut, and reports say that
// somebody has looked before.
func TestAddTrials(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, csvOf("a", "b", "c"), dispatchtest.Task{})
	ran := 0
	opts := func(trials int) *eval.Options {
		return &eval.Options{Trials: trials, ResultsFile: file, Parallel: 1, OnTrial: func(eval.Trial) { ran++ }}
	}
	const line = "trials were added after others had ended: at look "
	e := run(t, obedient, cases, opts(2))
	if text := reports(t, e); strings.Contains(text, line) {
		t.Error(text)
	}
	two := read(t, file)
	plan, err := opts(4).Plan(cases)
	if err != nil || plan.Trials != 6 || plan.Stored() != 6 {
		t.Errorf("%+v, %v", plan, err)
	}
	ran = 0
	e = run(t, obedient, cases, opts(4))
	four := read(t, file)
	if ran != 6 || ended(e) != ".... .... ...." || !bytes.HasPrefix(four, two) || e.PerCase() != 4 {
		t.Errorf("%d ran, %s", ran, ended(e))
	}
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file)} {
		if text := reports(t, e); !strings.Contains(text, line+"2 a gate has passed up to 4 % of ") || e.PerCase() != 4 || e.Figure("rate").Trials != 12 || !strings.Contains(text, `<property name="looks" `) {
			t.Errorf("%s, %d trials of each:\n%s", name, e.PerCase(), text)
		}
	}
	for cut := len(two); cut <= len(four); cut += testkit.Size(397, 1) {
		write(t, file, four[:cut])
		if e := run(t, obedient, cases, opts(4)); ended(e) != ".... .... ...." {
			t.Fatalf("cut at byte %d: %s", cut, ended(e))
		}
		if e := load(t, file); e.PerCase() != 4 || len(e.Trials) != 12 || !strings.Contains(reports(t, e), line+"2 ") {
			t.Fatalf("cut at byte %d: %d trials", cut, len(e.Trials))
		}
	}
	var merged bytes.Buffer
	if err := eval.Merge(&merged, file); err != nil {
		t.Fatal(err)
	}
	write(t, file, merged.Bytes())
	if e := run(t, obedient, cases, opts(7)); len(e.Trials) != 21 || !strings.Contains(reports(t, e), line+"3 a gate has passed up to 4.6 % of ") {
		t.Errorf("%d trials:\n%s", len(e.Trials), reports(t, e))
	}
	for name, o := range map[string]*eval.Options{"the file has results of another experiment: each case has 7 trials and not 6": opts(6), "FirstFailure is false and not true": {Trials: 9, FirstFailure: true, ResultsFile: file}} {
		if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Error(err)
		}
	}
	seven := read(t, file)
	for name, added := range map[string]string{"fewer": `{"format":"toolwire eval results 2","trials":7}`, "many": `{"format":"toolwire eval results 2","trials":100000}`,
		"a header": string(bytes.SplitN(two, []byte("\n"), 2)[0])} {
		write(t, file, append(bytes.Clone(seven), added+"\n"...))
		if _, err := eval.Load(file); err == nil || !strings.Contains(err.Error(), "the line does not add trials") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// All shards have as many trials, or the merge says which do not.
	shards := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	for i, shard := range shards {
		run(t, obedient, cases, &eval.Options{Trials: 1, Shard: []string{"1/2", "2/2"}[i], ResultsFile: shard})
	}
	run(t, obedient, cases, &eval.Options{Trials: 2, Shard: "1/2", ResultsFile: shards[0]})
	if _, err := eval.Load(shards...); err == nil || !strings.Contains(err.Error(), "each case has 1 trial and not 2") {
		t.Error(err)
	}
	run(t, obedient, cases, &eval.Options{Trials: 2, Shard: "2/2", ResultsFile: shards[1]})
	if e, err := eval.Load(shards...); err != nil || len(e.Trials) != 6 {
		t.Error(err)
	}
}
