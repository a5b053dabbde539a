package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func run(t *testing.T, agent dispatch.Agent, cases []eval.Case, opts *eval.Options) *eval.Experiment {
	t.Helper()
	e, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unsteady fails some trials: the instruction of a case lists how its trials end, one letter each.
// It counts the trials of each case.
func unsteady() dispatch.Agent {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		n := seen[run.Instruction]
		seen[run.Instruction]++
		if run.Instruction[n%len(run.Instruction)] == 'x' {
			return nil, errors.New("not this time")
		}
		return &dispatch.Response{FinalResponse: string(run.Instruction[n%len(run.Instruction)])}, nil
	}
}

// ended shows the trials of each case: "." passed, "x" failed, "!" an error.
func ended(e *eval.Experiment) string {
	var b strings.Builder
	for i, trial := range e.Trials {
		if trial.Number == 1 && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(map[eval.Verdict]string{eval.Passed: ".", eval.Failed: "x", eval.Errored: "!", eval.Skipped: "s", eval.Cancelled: "c"}[trial.Verdict])
	}
	return b.String()
}

func TestTrials(t *testing.T) {
	cases := casesOf(t, csvOf("....", "x.x.", "xxxx"), dispatchtest.Task{})
	e := run(t, unsteady(), cases, &eval.Options{Trials: 4, Parallel: 1})
	if got := ended(e); got != ".... x.x. xxxx" || e.PerCase() != 4 {
		t.Fatal(got)
	}
	results := e.Results()
	for i, want := range []string{"passed 4 of 4 100 % [51, 100]", "failed 2 of 4 50 % [15, 85]", "failed 0 of 4 0 % [0, 49]"} {
		c := results[i]
		if got := fmt.Sprintf("%s %d of %d %s", c.Verdict, c.Passed, c.Trials, c.Rate); got != want || c.Stopped || c.ID != cases[i].ID {
			t.Errorf("case %d: %s, want %s", i+1, got, want)
		}
	}
	s := e.Stats()
	// 2 of 4: pass^2 = C(2,2)/C(4,2) = 1/6, pass@2 = 1 - 1/6; pass^3 = 0, pass@3 = 1
	for i, want := range []float64{1.5 / 3, (1 + 1.0/6) / 3, 1.0 / 3, 1.0 / 3} {
		if got := together(e, "all_of", i+1, "counted").Value; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("all of %d: %v, want %v", i+1, got, want)
		}
	}
	for i, want := range []float64{1.5 / 3, (1 + 5.0/6) / 3, 2.0 / 3, 2.0 / 3} {
		if got := together(e, "any_of", i+1, "counted").Value; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("any of %d: %v, want %v", i+1, got, want)
		}
	}
	if s.Cases != 3 || s.Trials != 12 || s.Faults != 0 || e.Figure("all_of_5").Cases != 0 || figure(e, "rate", "dropped").Cases != 0 || e.Figure("always").Value != 1.0/3 {
		t.Errorf("%+v", s)
	}
}

// figure returns a figure of the whole experiment.
func figure(e *eval.Experiment, name, faults string) eval.Figure {
	for _, f := range e.Figures() {
		if f.Name == name && f.Faults == faults && f.Slice == "" {
			return f
		}
	}
	return eval.Figure{}
}

// together returns what k trials of a case do together.
func together(e *eval.Experiment, name string, k int, faults string) eval.Figure {
	if k == 1 {
		return figure(e, "rate", faults)
	}
	return figure(e, fmt.Sprintf("%s_%d", name, k), faults)
}

// A fault of the infrastructure is neither hidden nor taken for certain.
func TestFaultsHaveTwoBounds(t *testing.T) {
	cases := casesOf(t, csvOf("aaaa", "a!a!", "!!!!", "xa!x"), dispatchtest.Task{})
	e := run(t, unsteady(), cases, &eval.Options{Trials: 4, Parallel: 1, Grader: func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
		if r.FinalResponse == "!" {
			panic("the grader's server is down")
		}
		return nil
	}})
	if got := ended(e); got != ".... .!.! !!!! x.!x" {
		t.Fatal(got)
	}
	s := e.Stats()
	if s.Faults != 7 || e.Figure("rate").Value != (1+0.5+0+0.25)/4 || figure(e, "rate", "dropped").Value != (1+1+1.0/3)/3 {
		t.Errorf("%+v, %+v", s, e.Figures())
	}
	// Of the four cases one has four trials without a fault, one two, and one three.
	for k, want := range []struct{ cases, all float64 }{{3, (1 + 1 + 1.0/3) / 3}, {3, 2.0 / 3}, {2, 1.0 / 2}, {1, 1}} {
		if got := together(e, "all_of", k+1, "dropped"); float64(got.Cases) != want.cases || math.Abs(got.Value-want.all) > 1e-12 || got.Low >= got.Value || got.High < got.Value {
			t.Errorf("all of %d, faults dropped: %+v, want %v", k+1, got, want)
		}
		if got := together(e, "all_of", k+1, "counted"); got.Cases != 4 || together(e, "any_of", k+1, "counted").Cases != 4 {
			t.Errorf("all of %d, faults counted: %+v", k+1, got)
		}
	}
	if c := e.Results()[2]; c.Verdict != eval.Errored || c.Faults != 4 {
		t.Errorf("%+v", c)
	}
	down := run(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("never") }, nil, nil)
	if got := down.Figures(); got != nil {
		t.Errorf("%+v", got)
	}
}

// A case that is stopped has a verdict and no rate, whatever runs at the same time.
func TestFirstFailure(t *testing.T) {
	for _, parallel := range []int{1, 8} {
		cases := casesOf(t, "user,turn_mode,user_simulator_persona\n....,,\n.x..,,\nx...,,\n...x,,\na,model_as_user,a clerk\n", dispatchtest.Task{})
		e := run(t, unsteady(), cases, &eval.Options{Trials: 4, Parallel: parallel, FirstFailure: true})
		if got := ended(e); got != ".... .x x ...x s" {
			t.Fatal(got)
		}
		for i, stopped := range []bool{false, true, true, false, false} {
			if c := e.Results()[i]; c.Stopped != stopped || c.Rate != nil {
				t.Errorf("case %d: %+v", i+1, c)
			}
		}
		if got := e.Figures(); len(got) != 1 || got[0].Name != "always" || got[0].Value != 0.25 || e.Stats().Cases != 4 {
			t.Errorf("%+v", got)
		}
		var b strings.Builder
		if err := e.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "stopped at the first failure") || strings.Contains(b.String(), "trials that passed") {
			t.Errorf("error %v\n%s", err, b.String())
		}
	}
	quitting := run(t, unsteady(), casesOf(t, csvOf("aaa"), dispatchtest.Task{}), &eval.Options{Trials: 3, FirstFailure: true,
		Grader: func(context.Context, eval.Case, *dispatchtest.Result) error { panic("no") }})
	if got := ended(quitting); got != "!" {
		t.Error(got)
	}
}

// The worlds of trials do not share state, and their seeds differ and are reproducible: from one
// experiment to the next, alone or in parallel, and by running a trial's task again.
func TestTrialsApart(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var b strings.Builder
		for range 12 {
			_, err := run.Proxy.Do(ctx, "create_order", map[string]string{"total": "1"})
			if toolwire.CodeOf(err) == toolwire.CodeToolFailed {
				b.WriteByte('x')
			} else if err != nil {
				return nil, err
			} else {
				b.WriteByte('.')
			}
		}
		return &dispatch.Response{FinalResponse: b.String()}, nil
	}
	world := proxytest.World{
		Behaviors:    map[string]proxytest.Behavior{"create_order": proxytest.Add("order", "", nil)},
		FailureRules: []proxytest.FailureRule{{Probability: 0.5, Response: json.RawMessage(`{"error":"busy"}`)}},
	}
	base := dispatchtest.Task{World: world}
	cases := append(casesOf(t, csvOf("a", "b"), base), eval.Case{Name: "by hand", Task: base})
	patterns := func(e *eval.Experiment) (list []string) {
		for _, trial := range e.Trials {
			if trial.Verdict != eval.Passed {
				t.Fatal(trial.Reason)
			}
			calls := trial.Result.Calls
			pattern := ""
			for _, call := range calls {
				pattern += map[bool]string{true: "x", false: "."}[bytes.Contains(call.Response, []byte("busy"))]
			}
			if n := len(trial.Result.State.Entities["order"]); n != strings.Count(pattern, ".") {
				t.Errorf("%d orders after %s: the world is not the trial's own", n, pattern)
			}
			list = append(list, pattern)
		}
		return list
	}
	first := run(t, agent, cases, &eval.Options{Trials: 3, Parallel: 1})
	one, two := patterns(first), patterns(run(t, agent, cases, &eval.Options{Trials: 3, Parallel: 9}))
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Errorf("not reproducible:\n%v\n%v", one, two)
	}
	for i, a := range one {
		for _, b := range one[:i] {
			if a == b {
				t.Errorf("two trials have one seed: %v", one)
			}
		}
	}
	again := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, first.Trials[4].Task)
	var e eval.Experiment
	e.Trials = []eval.Trial{{Case: first.Trials[4].Case, Verdict: eval.Passed, Result: again}}
	if got := patterns(&e); got[0] != one[4] {
		t.Errorf("the task of the trial gives %s, the trial had %s", got[0], one[4])
	}
}

func TestIDs(t *testing.T) {
	ids := func(csv string) (list []string) {
		for _, c := range casesOf(t, csv, dispatchtest.Task{}) {
			list = append(list, c.ID)
		}
		return list
	}
	before := ids("user,state,id\na,,\nb,,own\na,,\na,{},\n")
	after := ids("user,state,id\nnew,,\na,{},\na,,\nb,,own\na,,\n")
	if before[1] != "own" || before[2] != before[0]+"-2" || before[3] == before[0] || after[1] != before[3] || after[2] != before[0] || after[4] != before[2] {
		t.Errorf("%v\n%v", before, after)
	}
	_, err := readDataset(t, "user,id\na,1\nb,1\nc,1\n").Cases(dispatchtest.Task{}, nil)
	wrong, ok := errors.AsType[*eval.Error](err)
	if !ok || wrong.Code != "invalid_dataset" || len(wrong.Problems) != 2 || wrong.Problems[0].String() != "row 3, column id: row 2 has the same id \"1\": ids are unique" {
		t.Error(err)
	}
	e := run(t, obedient, []eval.Case{{Name: "a"}, {Name: "a"}, {}, {ID: "a-2"}, {}}, nil)
	var got []string
	for _, trial := range e.Trials {
		got = append(got, trial.ID)
	}
	if want := "[a a-3 case 3 a-2 case 5]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	for _, opts := range []*eval.Options{nil, {Trials: -1}, {Trials: 10_001}} {
		e, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, []eval.Case{{ID: "a"}, {ID: "a"}}, opts)
		if e != nil || toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), `cases[1].ID: cases[0] has the same ID "a"`) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestPlan(t *testing.T) {
	sessions := "user,turn_mode,simulator_mode,scripted_user_turns,user_simulator_persona,max_turns\n" +
		"a,,,,,\nb,,,,,\nc,,,,,\nd,,,,,\ne,model_as_user,scripted,\"[\"\"x\"\",\"\"y\"\"]\",,\nf,model_as_user,scripted,\"[\"\"x\"\",\"\"y\"\"]\",,2\ng,model_as_user,,,a clerk,\n"
	for _, tt := range []struct {
		csv    string
		trials int
		want   string
	}{
		{csvOf("a"), 0, "at most 1 trial of 1 case; a gate needs at least 6 cases"},
		{sessions, 5, "at most 30 trials of 6 cases with 45 turns, 1 skipped; a comparison of this size finds a difference of about 36 points in these cases; if nothing differs, a gate passes from a margin of 52.5 points on"},
	} {
		plan, err := (&eval.Options{Trials: tt.trials}).Plan(casesOf(t, tt.csv, dispatchtest.Task{}))
		if err != nil || plan.String() != tt.want {
			t.Errorf("%s, want %s; error %v", plan, tt.want, err)
		}
	}
	if _, err := (&eval.Options{Trials: -1}).Plan(nil); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
		t.Error(err)
	}
}

// Reports of several trials show the trials apart and together.
func TestReportsOfTrials(t *testing.T) {
	e := run(t, unsteady(), casesOf(t, csvOf("aaa", "axa", "a!a"), dispatchtest.Task{}), &eval.Options{Trials: 3, Parallel: 1,
		Grader: func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
			if r.FinalResponse == "!" {
				panic("down")
			}
			return nil
		}})
	var text, doc, junit bytes.Buffer
	if err := errors.Join(e.WriteSummary(&text, false), e.WriteJSON(&doc), e.WriteJUnit(&junit)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"row 3: axa (trial 2 of 3)", "\n2 of 3  66.7 % [20.8, 93.9]  row 3: axa\n2 of 3  66.7 % [20.8, 93.9]  row 4: a!a\n",
		"cases that always passed: 33.3 % [", "trials that passed, 1 fault counted as failed: 77.8 % [", "; all of 3: 33.3 % [0.9, 95.8], any of 3: 100 % [38.3, 100]\n",
		"trials that passed, faults dropped: 88.9 % [", "; all of 3: 50 % [", " in 2 cases with 3 trials\n", "3 cases, 9 trials in ",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is missing in\n%s", part, text.String())
		}
	}
	var parsed struct {
		TrialsPerCase int `json:"trials_per_case"`
		Counts        struct{ Cases, Trials, Passed int }
		Cases         []struct {
			ID    string
			Trial int
		}
		Stats   struct{ Faults int }
		Figures []eval.Figure
		Results []struct {
			ID             string
			Passed, Trials int
			Rate           *struct{ Low float64 }
		} `json:"case_results"`
	}
	if err := json.Unmarshal(doc.Bytes(), &parsed); err != nil || parsed.TrialsPerCase != 3 || parsed.Counts.Cases != 3 || parsed.Counts.Trials != 9 || parsed.Counts.Passed != 7 ||
		len(parsed.Cases) != 9 || parsed.Cases[5].Trial != 3 || parsed.Stats.Faults != 1 || !slices.ContainsFunc(parsed.Figures, func(f eval.Figure) bool { return f.Name == "all_of_3" && f.Faults == "dropped" && f.Cases == 2 }) ||
		len(parsed.Results) != 3 || parsed.Results[1].ID != parsed.Cases[5].ID || parsed.Results[1].Passed != 2 || parsed.Results[1].Rate.Low == 0 {
		t.Errorf("%+v, error %v", parsed, err)
	}
	var suites struct {
		Tests int `xml:"tests,attr"`
		Suite struct {
			Properties []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"properties>property"`
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &suites); err != nil || suites.Tests != 9 || suites.Suite.Cases[4].Name != "row 3: axa (trial 2 of 3)" {
		t.Errorf("%+v, error %v", suites, err)
	}
	if got := fmt.Sprint(suites.Suite.Properties); !strings.Contains(got, "{all_of_3 33.3 % [") || !strings.Contains(got, "{pass_rate_faults_dropped 88.9 % [") {
		t.Error(got)
	}
}

// Trials are in memory together. Very many are divided into shards, and refused before they are there.
func TestVeryManyTrials(t *testing.T) {
	cases := make([]eval.Case, 201)
	for i := range cases {
		cases[i].Name = fmt.Sprint(i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing runs
	for _, tt := range []struct {
		name  string
		opts  eval.Options
		cases int
		want  string
	}{
		{"whole", eval.Options{Trials: 10_000}, 101, "Options.Trials: 1010000 trials of 101 cases are more than 1000000 together: divide the cases by Options.Shard"},
		{"in shards", eval.Options{Trials: 10_000, Shard: "2/201"}, 201, ""},
		{"in too few shards", eval.Options{Trials: 10_000, Shard: "1/2"}, 201, "of 101 cases"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := eval.Run(ctx, dispatchtest.Target{Agent: obedient}, cases[:tt.cases], &tt.opts)
			switch {
			case tt.want != "" && (e != nil || toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, want %s", err, tt.want)
			case tt.want == "" && (err != nil || e.Count(eval.Cancelled) != len(e.Trials)):
				t.Error(err)
			}
		})
	}
}

// Three trials are one pair of trials and not two: the interval of pass^2 of four equal cases equals
// the interval of four pairs.
func TestPairsOfTrials(t *testing.T) {
	e := scripted("..x", "..x", ".x.", "x..")
	if got := e.Figure("all_of_2"); got.String() != "33.3 % [7, 76]" {
		t.Errorf("pass^2 is %s", got)
	}
}

// Trials begin one Delay after the other, however many run at once. Those that a file has, and rows that are skipped, do
// not wait, and an interrupt does not wait for the others.
func TestDelay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, "user,turn_mode,user_simulator_persona\na,,\nb,,\np,model_as_user,A customer.\nc,,\n", dispatchtest.Task{})
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var mu sync.Mutex
		var began []time.Duration
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			mu.Lock()
			began = append(began, time.Since(begin))
			mu.Unlock()
			return &dispatch.Response{FinalResponse: "x"}, nil
		}
		opts := &eval.Options{Trials: 2, Parallel: 4, Delay: time.Minute, ResultsFile: file}
		if e := run(t, agent, cases, opts); ended(e) != ".. .. s .." {
			t.Error(ended(e))
		}
		for i, at := range began {
			if at != time.Duration(i)*time.Minute {
				t.Errorf("trial %d began after %s", i, at)
			}
		}
		begin = time.Now()
		if run(t, agent, cases, opts); len(began) != 6 || time.Since(begin) != 0 {
			t.Errorf("%d trials ran, after %s", len(began), time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		e, err := eval.Run(ctx, dispatchtest.Target{Agent: agent}, cases, &eval.Options{Parallel: 1, Delay: time.Minute})
		if err != nil || ended(e) != ". . s c" && ended(e) != ". . c c" || time.Since(begin) != 90*time.Second {
			t.Errorf("%v: %s after %s", err, ended(e), time.Since(begin))
		}
	})
	if _, err := (&eval.Options{Delay: -1}).Plan(cases); err == nil || !strings.Contains(err.Error(), "Options.Delay: must not be negative") {
		t.Error(err)
	}
}

// A row says in its column trials how often it runs, in a run, in a file, in shards, and with more trials for the others.
func TestTrialsOfARow(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, "id,user,trials\na,say a,\nb,fail,3\nc,say c, 1 \n", dispatchtest.Task{})
	opts := &eval.Options{Trials: 2, ResultsFile: file}
	plan, err := opts.Plan(cases)
	if err != nil || plan.Trials != 6 || !strings.HasPrefix(plan.String(), "at most 6 trials of 3 cases") {
		t.Errorf("%s, %v", plan, err)
	}
	e := run(t, obedient, cases, opts)
	graded, err := eval.Grade(t.Context(), cases, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file), "graded": graded} {
		text := reports(t, e)
		if ended(e) != ".. xxx ." || e.PerCase() != 3 || e.Figure("rate").Trials != 6 || !strings.Contains(text, "b: fail (trial 2 of 3)") || !strings.Contains(text, "a: say a (trial 2 of 2)") {
			t.Errorf("%s: %s\n%s", name, ended(e), text)
		}
	}
	opts.Trials = 4
	if e := run(t, obedient, cases, opts); ended(e) != ".... xxx ." {
		t.Errorf("more trials: %s", ended(e))
	}
	var shards []string
	for i := range 2 {
		shards = append(shards, filepath.Join(dir, fmt.Sprint(i)))
		run(t, obedient, cases, &eval.Options{Trials: 2, Shard: fmt.Sprintf("%d/2", i+1), ResultsFile: shards[i]})
	}
	var merged bytes.Buffer
	if err := eval.Merge(&merged, shards...); err != nil {
		t.Fatal(err)
	}
	write(t, file, merged.Bytes())
	if e := load(t, file); ended(e) != ".. xxx ." {
		t.Errorf("merged: %s", ended(e))
	}
	early := run(t, obedient, cases, &eval.Options{Trials: 2, FirstFailure: true})
	if ended(early) != ".. x ." || !early.Results()[1].Stopped || early.Results()[2].Stopped {
		t.Errorf("%s, %+v", ended(early), early.Results())
	}
	mine := append([]eval.Case(nil), cases...)
	mine[0].Trials = 5
	if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, mine, &eval.Options{Trials: 2, ResultsFile: file}); err == nil || !strings.Contains(err.Error(), "some cases have another number of trials of their own") {
		t.Error(err)
	}
	mine[0].Trials = -1
	if _, err := (&eval.Options{}).Plan(mine); err == nil || !strings.Contains(err.Error(), "cases[0].Trials: -1 is not from 1 to 10000") {
		t.Error(err)
	}
	for cell, want := range map[string]string{"0": `"0" is not a number of trials, from 1 to 10000`, "10001": `"10001" is`, "1.5": `"1.5" is`, "three": `"three" is`} {
		dataset, err := eval.Read(strings.NewReader("user,trials\na," + cell + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dataset.Cases(dispatchtest.Task{}, nil); err == nil || !strings.Contains(err.Error(), "row 2, column trials: "+want) {
			t.Errorf("%s: %v", cell, err)
		}
	}
	whole := merged.Bytes()
	for _, bad := range []string{`"case_trials":{"b":0,`, `"case_trials":{"b":10001,`, `"case_trials":{"x":3,`} {
		write(t, file, bytes.Replace(whole, []byte(`"case_trials":{"b":3,`), []byte(bad), 1))
		if _, err := eval.Load(file); err == nil || !strings.Contains(err.Error(), "line 1: the line is not the header") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
