package eval_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
)

// The bar of the rate is passed or missed only if the whole interval says so, whatever the faults are.
func TestBar(t *testing.T) {
	many := func(patterns ...string) []string { return patterns }
	repeated := func(n int, pattern string) (list []string) {
		for range n {
			list = append(list, pattern)
		}
		return list
	}
	for name, tt := range map[string]struct {
		trials []string
		min    float64
		point  bool
		want   eval.Verdict
		reason string
	}{
		"above":                    {repeated(40, "."), 0.9, false, eval.Passed, ""},
		"few":                      {repeated(10, "."), 0.9, false, eval.Undecided, "the interval contains the bar: run more cases or more trials"},
		"few, by the rate":         {repeated(10, "."), 0.9, true, eval.Passed, ""},
		"below":                    {append(repeated(20, "."), repeated(20, "x")...), 0.9, false, eval.Failed, ""},
		"few, and the rate below":  {append(repeated(9, "."), "x"), 0.95, false, eval.Undecided, "the interval contains the bar: run more cases or more trials"},
		"below, by the rate":       {append(repeated(9, "."), "x"), 0.95, true, eval.Failed, ""},
		"at it, by the rate":       {append(repeated(9, "."), "x"), 0.9, true, eval.Passed, ""},
		"faults decide":            {append(repeated(60, "."), repeated(60, "!")...), 0.9, false, eval.Undecided, "it depends on whether faults are failures of the agent: run them again"},
		"faults do not matter":     {append(repeated(200, "."), "!"), 0.9, false, eval.Passed, ""},
		"faults only":              {repeated(40, "!"), 0.9, false, eval.Undecided, "all trials ended in a fault: run them again"},
		"faults only, by the rate": {repeated(40, "!"), 0.9, true, eval.Undecided, "all trials ended in a fault: run them again"},
		"nothing ended":            {many("c"), 0.1, true, eval.Undecided, "there is no rate"},
	} {
		e := scripted(tt.trials...)
		e.MinRate = tt.min
		e.ByPoint(tt.point)
		if got, reason := e.Bar(); got != tt.want || reason != tt.reason {
			t.Errorf("%s: %s %q, want %s %q", name, got, reason, tt.want, tt.reason)
		}
		text, line := reports(t, e)+written(t, e), "rate of at least "
		if !strings.Contains(text, line) || !strings.Contains(text, `"bar": "`+string(tt.want)+`"`) || !strings.Contains(text, string(tt.want)) {
			t.Errorf("%s: the reports do not have the bar", name)
		}
	}
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{})
	for name, opts := range map[string]*eval.Options{"the rows were not graded": {Ungraded: true}, "there is no rate": {FirstFailure: true}} {
		e := run(t, obedient, cases, opts)
		e.MinRate = 0.1
		if got, reason := e.Bar(); got != eval.Undecided || reason != name {
			t.Errorf("%s: %s %q", name, got, reason)
		}
	}
}

// All gates and the bar decide together, and the text of each comparison names what it is about.
func TestOneDecision(t *testing.T) {
	same := func() *eval.Experiment {
		e := scripted(append(repeated(79, "."), "x")...)
		for i := range e.Trials {
			e.Trials[i].Scores = map[string]float64{"polite": 0.5}
		}
		return e
	}
	for name, tt := range map[string]struct {
		margins map[string]float64
		min     float64
		want    eval.Verdict
		gates   []string
	}{
		"none":                         {nil, 0, "", nil},
		"the bar alone":                {nil, 0.9, eval.Passed, nil},
		"both pass":                    {map[string]float64{"": 0.1, "polite": 0.1}, 0.9, eval.Passed, []string{"margin 10 points: passed", "polite, margin 0.1: passed"}},
		"the bar fails":                {map[string]float64{"": 0.1}, 1, eval.Failed, []string{"margin 10 points: passed"}},
		"the bar is undecided":         {map[string]float64{"": 0.1}, 0.98, eval.Undecided, []string{"margin 10 points: passed"}},
		"a gate is undecided":          {map[string]float64{"": 0}, 0.9, eval.Undecided, []string{"margin 0 points: undecided: the interval contains the margin: run more cases"}},
		"a score of the baseline only": {map[string]float64{"polite": 0.1, "kind": 0.1}, 0.9, eval.Failed, []string{"kind, margin 0.1: failed: the score kind is not known in any case of both experiments", "polite, margin 0.1: passed"}},
	} {
		before, after := same(), same()
		before.Trials[0].Scores["kind"] = 1
		if after.GateBy, after.MinRate = tt.margins, tt.min; tt.min == 1 {
			after.ByPoint(true)
		}
		c := compare(t, before, after)
		var gates []string
		for _, g := range c.Gates {
			gates = append(gates, g.String())
		}
		if c.Gate != tt.want || !slices.Equal(gates, tt.gates) {
			t.Errorf("%s: %q, %q", name, c.Gate, gates)
		}
	}
	c := compare(t, same(), same())
	if got := compared(c, "scores")[0].String(); got != "polite: 0.5 to 0.5: 0 [-0.0472, 0.0472]" {
		t.Error(got)
	}
	if got := compared(c, "cases")[0].String(); got != "0 [-79.3, +79.3] points in 1 trial" {
		t.Error(got)
	}
}

// A run is ended at the first call beyond the limit of a trial, whether its agent stops or answers.
func TestCallsBeyondALimitEndTheRun(t *testing.T) {
	for name, agent := range map[string]dispatch.Agent{
		"stops": spender(1),
		"answers": func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, _ = spender(1)(ctx, run)
			return &dispatch.Response{FinalResponse: "done"}, nil
		},
	} {
		for _, n := range []int{5, 6, 40} {
			e := run(t, agent, spenderCases(t, csvOf(strings.Repeat("a", n))), &eval.Options{Trials: 2, TrialBudget: eval.Budget{Calls: 5}})
			for _, trial := range e.Trials {
				want, calls := eval.Failed, 6.0
				if n == 5 {
					want, calls = eval.Passed, 5.0
				}
				if trial.Verdict != want || (trial.Cause == "limit") != (n > 5) || trial.Scores["calls"] != calls {
					t.Errorf("%s, %d calls: %s %s %s, calls %v", name, n, trial.Verdict, trial.Cause, trial.Reason, trial.Scores["calls"])
				}
			}
		}
	}
}

// A trial that exceeds a limit fails, in memory, stored and graded again; one that failed keeps its cause. A file knows
// its limits, and is not completed with others.
func TestLimitsOfATrial(t *testing.T) {
	agent := spender(1)
	cases := spenderCases(t, csvOf("a", "bb", "ccc!"))
	prices := pricesOf(t, `{"*":{"input":1,"output":10}}`)
	free := run(t, agent, cases, nil)
	calls := free.Trials[1].Scores["calls"]
	file := t.TempDir() + "/results.jsonl"
	opts := &eval.Options{TrialBudget: eval.Budget{Calls: int(calls)}, ResultsFile: file}
	e := run(t, agent, cases, opts)
	again, err := eval.Grade(t.Context(), cases, &eval.Options{}, file)
	if err != nil {
		t.Fatal(err)
	}
	strict, err := eval.Grade(t.Context(), cases, &eval.Options{TrialBudget: eval.Budget{Cost: 1e-9}, Prices: prices}, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file), "graded": again} {
		for i, trial := range e.Trials {
			exceeds := free.Trials[i].Scores["calls"] > calls
			if exceeds != (trial.Cause == "limit") || exceeds && (trial.Verdict != eval.Failed || !strings.Contains(trial.Reason, "it called tools ")) {
				t.Errorf("%s, trial %d of %v calls: %s %s %s", name, i, free.Trials[i].Scores["calls"], trial.Verdict, trial.Cause, trial.Reason)
			}
		}
		if e.TrialBudget().Calls != int(calls) {
			t.Errorf("%s: %+v", name, e.TrialBudget())
		}
	}
	for i, trial := range strict.Trials {
		if free.Trials[i].Verdict == eval.Passed && (trial.Cause != "limit" || !strings.HasPrefix(trial.Reason, "it cost ")) {
			t.Errorf("trial %d: %s %s", i, trial.Cause, trial.Reason)
		}
	}
	costly := t.TempDir() + "/results.jsonl"
	run(t, agent, cases, &eval.Options{TrialBudget: eval.Budget{Cost: 1e-9, Time: time.Hour}, Prices: prices, ResultsFile: costly})
	if _, err := eval.Grade(t.Context(), cases, nil, costly); err == nil || !strings.Contains(err.Error(), "Options.Prices: the results have a limit of the cost") {
		t.Error(err)
	}
	if again, err := eval.Grade(t.Context(), cases, &eval.Options{Prices: prices}, costly); err != nil || again.Trials[0].Cause != "limit" || again.TrialBudget().Time != time.Hour {
		t.Error(err)
	}
	// What a response does not report may exceed its limit.
	silent := spenderCases(t, csvOf("a?", "bb?"))
	for name, opts := range map[string]*eval.Options{
		"tokens": {TrialBudget: eval.Budget{Tokens: 12}}, "cost": {TrialBudget: eval.Budget{Cost: 1}, Prices: prices}, "price": {TrialBudget: eval.Budget{Cost: 1}, Prices: pricesOf(t, `{"large":{"input":1,"output":10}}`)},
	} {
		of := silent
		if name == "price" {
			of = cases
		}
		stored := t.TempDir() + "/results.jsonl"
		opts.ResultsFile = stored
		e := run(t, agent, of, opts)
		again, err := eval.Grade(t.Context(), of, &eval.Options{Prices: opts.Prices}, stored)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*eval.Experiment{e, load(t, stored), again} {
			if got := e.Trials[0]; got.Cause != "not_graded" || !strings.Contains(got.Reason, "unknown, so the limit of ") {
				t.Errorf("%s: %s %s %s", name, got.Verdict, got.Cause, got.Reason)
			}
			if got := e.Trials[1]; name == "tokens" && got.Cause != "limit" { // 20 are known
				t.Errorf("%s: %s %s %s", name, got.Verdict, got.Cause, got.Reason)
			}
		}
	}
	// A limit that is not given anew is the stored one.
	for _, b := range []eval.Budget{{Calls: 1000}, {Tokens: 1000}} {
		if e, err := eval.Grade(t.Context(), cases, &eval.Options{Prices: prices, TrialBudget: b}, costly); err != nil || e.Trials[0].Cause != "limit" || e.TrialBudget().Time != time.Hour || e.TrialBudget().Cost != 1e-9 {
			t.Error(err)
		}
	}
	opts.TrialBudget.Time = time.Minute // the file has none
	if _, err := opts.Plan(cases); err != nil {
		t.Error(err)
	}
	opts.TrialBudget.Calls++
	if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, opts); err == nil || !strings.Contains(err.Error(), "the limits of a trial are others") {
		t.Error(err)
	}
	for _, bad := range []eval.Options{{TrialBudget: eval.Budget{Cost: 1}}, {Budget: eval.Budget{Cost: 1}}, {TrialBudget: eval.Budget{Calls: -1}}, {Budget: eval.Budget{Cost: -1}, Prices: prices}} {
		if _, err := bad.Plan(cases); err == nil || !strings.Contains(err.Error(), "Budget.") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
