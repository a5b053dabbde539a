package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// spender calls get_order as often as its instruction has letters, and reports ten tokens in and one
// out for each. A question mark hides the tokens out, an exclamation mark is a failure.
func spender(factor int) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		n := len(strings.TrimRight(run.Instruction, "?!")) * factor
		for range n {
			if _, err := proxy.Call[any](ctx, run.Proxy, "get_order", nil); err != nil {
				return nil, err
			}
		}
		if strings.HasSuffix(run.Instruction, "!") {
			return nil, fmt.Errorf("told to")
		}
		m := &dispatch.Metadata{Model: "small", TotalInputTokens: int64(10 * n), TotalOutputTokens: int64(n)}
		if strings.HasSuffix(run.Instruction, "?") {
			m.TotalOutputTokens = 0
		}
		return &dispatch.Response{FinalResponse: "done", Metadata: m}, nil
	}
}

func spenderCases(t *testing.T, csv string) []eval.Case {
	return casesOf(t, csv, dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}})
}

// polite records a score that depends on the row.
func polite(_ context.Context, c eval.Case, _ *dispatchtest.Result) error {
	c.Score("polite", float64(len(c.Task.Instruction))/10)
	return nil
}

func scoreOf(e *eval.Experiment, name string) eval.Figure { return e.Figure(name) }

// scoresOf returns the names of the scores that an experiment has.
func scoresOf(e *eval.Experiment) (names []string) {
	for _, f := range e.Figures() {
		if f.Faults == "" && f.Slice == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// Scores of graders and measures have a mean and an interval by case. What a response does not report
// is unknown, in memory, in a file, loaded and graded again.
func TestScores(t *testing.T) {
	cases := spenderCases(t, csvOf("a", "bbb", "cc?", "d!"))
	file := filepath.Join(t.TempDir(), "results.jsonl")
	opts := &eval.Options{Trials: 2, Grader: polite, ResultsFile: file}
	inFile := run(t, spender(1), cases, opts)
	opts.ResultsFile = ""
	inMemory := run(t, spender(1), cases, opts)
	graded, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: polite}, file)
	if err != nil {
		t.Fatal(err)
	}
	regraded, err := eval.Grade(t.Context(), cases, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*eval.Experiment{"memory": inMemory, "file": inFile, "loaded": load(t, file), "graded": graded} {
		e.SetPrices(pricesOf(t, `{"small":{"input":1e6,"output":1e7}}`))
		for _, want := range []struct {
			score          string
			mean           float64
			known, unknown int
		}{
			{"polite", 0.2333333, 6, 2}, {"calls", 1.75, 8, 0}, {"tokens_in", 20, 6, 2}, {"tokens_out", 2, 4, 4}, {"cost", 40, 4, 4},
		} {
			got := scoreOf(e, want.score)
			if math.Abs(got.Value-want.mean) > 1e-6 || got.Trials != want.known || got.Unknown != want.unknown || !(got.Low < got.Value && got.Value < got.High) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		if s := e.Trials[6].Scores; len(s) != 2 || s["calls"] != 1 || s["seconds"] <= 0 {
			t.Errorf("%s: a run that failed has the scores %v", name, s)
		}
		text := reports(t, e)
		for _, part := range []string{
			"\npolite      0.233 [", "  6, unknown in 2\n", "\ncost        40 [", `"cost": 20`, `<property name="score_calls" value="1.75 [`, `"name": "tokens_out",`, `"value": 2,`,
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, text)
			}
		}
		if page := written(t, e, nil); !strings.Contains(page, `<th scope="row">tokens_out</th><td class="number" data-head="mean, 95 % interval">2 [`) ||
			!strings.Contains(page, "Scores: polite 0.1, calls 1, tokens_in 10, tokens_out 1, seconds ") || !strings.Contains(page, ", model small. ") {
			t.Errorf("%s: the page has no scores", name)
		}
	}
	if got := scoreOf(regraded, "polite"); got.Trials != 0 || scoreOf(regraded, "calls").Trials != 8 {
		t.Errorf("a grader that records nothing leaves %+v", got)
	}
}

// What the agent did not cause has no measures: an endpoint that refuses. A price that is not listed
// makes the cost unknown, and "*" is for all models.
func TestUnknownScores(t *testing.T) {
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: refuses}, spenderCases(t, csvOf("a", "b")), nil)
	if err != nil || len(scoresOf(e)) != 0 {
		t.Errorf("%+v, %v", scoresOf(e), err)
	}
	// Neither an endpoint that refuses after its ping, nor a user that fails, says what the agent needs.
	later := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"ping":true`)) {
			_, _ = w.Write([]byte(`{"ok":true}`))
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	e, err = eval.Run(t.Context(), dispatchtest.Target{Handler: later}, spenderCases(t, csvOf("a")), nil)
	if err != nil || e.Trials[0].Cause != string(dispatchtest.AuthFailed) || len(e.Trials[0].Scores) != 0 {
		t.Errorf("%s: %v, %v", e.Trials[0].Cause, e.Trials[0].Scores, err)
	}
	e = run(t, echo, personaCases(t, "user,turn_mode,user_simulator_persona\na,model_as_user,A customer.\n"), &eval.Options{
		User: func(context.Context, eval.Trial, []dispatchtest.Turn) (string, error) { return "", errors.New("busy") },
	})
	if e.Trials[0].Cause != "user" || len(e.Trials[0].Scores) != 0 {
		t.Errorf("%s: %v", e.Trials[0].Cause, e.Trials[0].Scores)
	}
	e = run(t, spender(1), spenderCases(t, csvOf("a", "b")), nil)
	for _, tt := range []struct {
		prices string
		known  int
	}{{`{"large":{"input":0,"output":0}}`, 0}, {`{"*":{"input":0,"output":0}}`, 2}, {`{"small":{"input":0,"output":0},"*":{"input":1,"output":1}}`, 2}, {`{"*":{"input":0,"output":1e60}}`, 0}} {
		if e.SetPrices(pricesOf(t, tt.prices)); scoreOf(e, "cost").Trials != tt.known || scoreOf(e, "cost").Value != 0 {
			t.Errorf("%v: %+v", tt.prices, scoreOf(e, "cost"))
		}
	}
	if e.SetPrices(eval.Prices{}); scoreOf(e, "cost").Trials != 0 {
		t.Error("there is a cost without prices")
	}
	// The name of a model is kept with each trial, so it is cut. A line with tokens and no scores has no cost.
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Metadata: &dispatch.Metadata{Model: strings.Repeat("m", 5000), TotalInputTokens: 1, TotalOutputTokens: 1}}, nil
	}, casesOf(t, csvOf("a"), dispatchtest.Task{}), &eval.Options{ResultsFile: file})
	stored := read(t, file)
	if names := regexp.MustCompile(`"usage":\[\{"model":"(m+)…",`).FindSubmatch(stored); names == nil || len(names[1]) != 197 {
		t.Errorf("%.3000s", stored)
	}
	write(t, file, regexp.MustCompile(`"scores":\{[^}]*\},`).ReplaceAll(stored, nil))
	e = load(t, file)
	if e.SetPrices(pricesOf(t, `{"*":{"input":1,"output":0}}`)); len(scoresOf(e)) != 0 {
		t.Errorf("%+v", scoresOf(e))
	}
	first := run(t, obedient, casesOf(t, csvOf("a"), dispatchtest.Task{}), &eval.Options{FirstFailure: true})
	if got := scoresOf(first); got != nil {
		t.Errorf("an experiment with FirstFailure has %+v", got)
	}
}

func pricesOf(t *testing.T, text string) eval.Prices {
	t.Helper()
	prices, err := eval.ParsePrices([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return prices
}

func TestParsePrices(t *testing.T) {
	got, err := eval.ParsePrices([]byte(`{"small-2": {"input": 0.25, "output": 2}, "*": {"output": 15, "input": 0}}`))
	if err != nil || fmt.Sprint(got) != "{map[*:{0 15} small-2:{0.25 2}]}" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", "[]", "null", `{"a":1}`, `{"a":{"input":1}}`, `{"a":{"output":1}}`, `{"a":{"input":1,"output":-1}}`, `{"a":{"input":"1","output":1}}`, `{"a":{"input":1,"output":1},"a":{"input":1,"output":1}}`} {
		if got, err := eval.ParsePrices([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "eval: the price") {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// A score that cannot be recorded makes a trial that is not graded, and does not touch other trials.
func TestBadScores(t *testing.T) {
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{})
	for want, record := range map[string]func(eval.Case){
		`the score "s" is 1.1 and not from 0 to 1`:         func(c eval.Case) { c.Score("s", 1.1) },
		`the score "s" is NaN and not from 0 to 1`:         func(c eval.Case) { c.Score("s", math.NaN()) },
		`a score cannot have the name "\xff"`:              func(c eval.Case) { c.Score("\xff", 1) },
		`a score cannot have the name ""`:                  func(c eval.Case) { c.Score("", 1) },
		`a score cannot have the name "cost"`:              func(c eval.Case) { c.Score("cost", 1) },
		`a score cannot have the name "` + "xxxxxxxxxxxxx": func(c eval.Case) { c.Score(strings.Repeat("x", 61), 1) },
	} {
		e := run(t, obedient, cases, &eval.Options{Grader: func(_ context.Context, c eval.Case, _ *dispatchtest.Result) error {
			record(c)
			c.Score("good", 1)
			return nil
		}})
		if got := e.Trials[0]; got.Verdict != eval.Errored || got.Cause != "not_graded" || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %s", got.Cause, got.Reason)
		}
	}
	cases[0].Score("s", 1) // no trial is graded: nothing happens
	e := run(t, obedient, cases, &eval.Options{Trials: 3, Parallel: 3, Grader: func(_ context.Context, c eval.Case, _ *dispatchtest.Result) error {
		var group sync.WaitGroup
		for i := range 10 {
			group.Go(func() { c.Score(fmt.Sprint("s", i), 0.5) })
		}
		group.Wait()
		c.Score("s1", 1)
		return fmt.Errorf("not good")
	}})
	if s := e.Trials[2].Scores; len(s) != 12 || s["s1"] != 1 || s["s2"] != 0.5 {
		t.Errorf("%v", s)
	}
}

// valued is an experiment of passed trials with these scores, a case for each list.
func valued(name string, values ...[]float64) *eval.Experiment {
	e := scripted(slices.Repeat([]string{strings.Repeat(".", len(values[0]))}, len(values))...)
	for i := range e.Trials {
		e.Trials[i].Scores = map[string]float64{}
		if v := values[i/len(values[0])][i%len(values[0])]; v >= 0 {
			e.Trials[i].Scores[name] = v
		}
	}
	return e
}

// A candidate that passes as often with twice the calls does not look equal, and fails the gate.
func TestCompareScores(t *testing.T) {
	instructions := csvOf("a", "bb", "ccc", "dd", "e", "ff", "ggg", "hhhh")
	before, after := run(t, spender(1), spenderCases(t, instructions), nil), run(t, spender(2), spenderCases(t, instructions), nil)
	*after.TrialBudget() = eval.Budget{Calls: 8}
	c := compare(t, before, after)
	calls := compared(c, "scores")[slices.IndexFunc(compared(c, "scores"), func(s eval.Comparison) bool { return s.Difference.Name == "calls" })]
	if c.Figures()[0].Verdict != eval.CannotTell || calls.Verdict != eval.Regressed || calls.Baseline.Value != 2.25 || calls.Candidate.Value != 4.5 ||
		math.Abs(calls.Difference.Low-1) > 1e-6 || math.Abs(calls.Difference.High-1) > 1e-6 || calls.Difference.Cases != 8 {
		t.Errorf("%+v", calls)
	}
	var b bytes.Buffer
	if err := c.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "\ncalls       2.25 to 4.5: +100 % [+100, +100]") ||
		!strings.Contains(b.String(), "  8      regressed\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	for margin, want := range map[float64]eval.Verdict{0.1: eval.Failed, 3: eval.Passed} {
		if g := c.Bound("calls", margin); g.Verdict != want || g.Reason != "" {
			t.Errorf("%+v", g)
		}
	}
	if g := c.Bound("charm", 1); g.Verdict != eval.Failed || g.Reason != "the score charm is not known in any case of both experiments" {
		t.Errorf("%+v", g)
	}
	if back := compare(t, after, before); compared(back, "scores")[0].Verdict != eval.Improved {
		t.Errorf("%+v", compared(back, "scores"))
	}
	page := written(t, after, before)
	if !strings.Contains(page, "<caption>Scores</caption>") || !strings.Contains(page, ">+100 % [+100, +100]</td>") && !strings.Contains(page, "2.25 to 4.5: &#43;100 % [&#43;100, &#43;100]") {
		t.Error("the page does not compare the scores")
	}
	var doc []struct {
		Verdict    string
		Difference struct{ Name string }
	}
	if text, err := json.Marshal(compared(c, "scores")); err != nil || json.Unmarshal(text, &doc) != nil || doc[0].Verdict != "regressed" {
		t.Errorf("%v: %s", err, text)
	}
}

// The gate of a score passes only if the candidate is shown to be within the margin.
func TestGateOfScores(t *testing.T) {
	same := slices.Repeat([][]float64{{1}, {0.5}}, 50)
	lower := slices.Repeat([][]float64{{0.8}, {0.3}}, 50)
	unknown := slices.Concat(same[:99], [][]float64{{-1}})
	dear, cheap := slices.Repeat([][]float64{{30}, {10}, {20}}, 4), slices.Repeat([][]float64{{10}, {20}, {30}}, 4)
	free := slices.Repeat([][]float64{{0}}, 7)
	for _, tt := range []struct {
		name, score   string
		before, after [][]float64
		margin        float64
		limit         float64 // of the cost
		want          eval.Verdict
		reason        string
	}{
		{"no difference", "s", same, same, 0.05, 0, eval.Passed, ""},
		{"too few cases", "s", same[:40], same[:40], 0.05, 0, eval.Undecided, "the interval contains the margin: run more cases"},
		{"lower by more", "s", same, lower, 0.05, 0, eval.Failed, ""},
		{"higher", "s", lower, same, 0, 0, eval.Passed, ""},
		{"unknown in one", "s", same, unknown, 0.5, 0, eval.Failed, "the score s is unknown in 1 trial"},
		{"unknown before", "s", unknown, same, 0.5, 0, eval.Failed, "the score s is unknown in 1 trial"},
		{"the same cost", "cost", cheap, cheap, 0.2, 30, eval.Passed, ""},
		{"more than the limit", "cost", cheap, slices.Repeat([][]float64{{10}, {20}, {900}}, 4), 0.2, 30, eval.Passed, ""},
		{"few cases for the limit", "cost", cheap, cheap, 0.2, 300, eval.Undecided, "so few cases may not show those that reach the limit of 300: run more cases, or lower the limit"},
		{"no limit", "cost", cheap, cheap, 0.2, 0, eval.Undecided, "a trial has no limit of cost, and a sample does not show how many cases run away"},
		{"dearer, no limit", "cost", cheap, slices.Repeat([][]float64{{20}, {40}, {60}}, 4), 0.2, 0, eval.Failed, ""},
		{"another order", "cost", dear, cheap, 0.1, 30, eval.Undecided, "the interval contains the margin: run more cases"},
		{"five cases", "cost", cheap[:5], cheap[:5], 0.1, 30, eval.Undecided, "a gate needs at least 6 cases, and 5 have trials in both experiments"},
		{"free before", "cost", free, cheap[:7], 0.1, 30, eval.Undecided, "the cases do not bound the difference of cost"},
		{"free in both", "cost", free, free, 0.1, 30, eval.Passed, ""},
	} {
		candidate := valued(tt.score, tt.after...)
		candidate.TrialBudget().Cost = tt.limit
		g := compare(t, valued(tt.score, tt.before...), candidate).Bound(tt.score, tt.margin)
		if g.Verdict != tt.want || g.Reason != tt.reason {
			t.Errorf("%s: %+v, want %s %q", tt.name, g, tt.want, tt.reason)
		}
	}
}

// A gate that bounds cost passes a candidate that is dearer by the margin in at most 3.5 % of
// comparisons, from 30 cases with 1 or 3 trials on, and its interval holds the truth in 93 %.
func TestGateOfCostAtItsMargin(t *testing.T) {
	const margin = 0.1
	comparisons := testkit.Size(80, 3000)
	for i, tt := range []struct{ cases, trials int }{{30, 1}, {30, 3}, {100, 1}} {
		random := rand.New(rand.NewPCG(13, uint64(i)))
		passed, held := 0, 0
		for range comparisons {
			before, after := make([][]float64, tt.cases), make([][]float64, tt.cases)
			for i := range before {
				size := math.Exp(0.8 * random.NormFloat64())
				for range tt.trials {
					before[i] = append(before[i], size*math.Exp(0.4*random.NormFloat64()))
					after[i] = append(after[i], (1+margin)*size*math.Exp(0.4*random.NormFloat64()))
				}
			}
			candidate := valued("cost", after...)
			candidate.TrialBudget().Cost = 3 // little is above it
			c := compare(t, valued("cost", before...), candidate)
			if gate := c.Bound("cost", margin).Verdict; gate == eval.Passed {
				passed++
			}
			if r := compared(c, "scores")[0].Difference; r.Low <= margin && margin <= r.High {
				held++
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(comparisons) }
		t.Logf("%d cases x %d: %.1f %% pass, %.1f %% of the intervals hold the truth", tt.cases, tt.trials, share(passed), share(held))
		slack := testkit.Size(3.0, 0.0)
		if share(passed) > 3.5+slack || share(held) < 93-slack {
			t.Errorf("%d cases x %d: %.1f %% pass, %.1f %% of the intervals hold the truth", tt.cases, tt.trials, share(passed), share(held))
		}
	}
}

// Each value of a column has the rates, scores and differences of its rows, in memory and loaded.
func TestSlices(t *testing.T) {
	const csv = "user,topic,expected_outcome,long\na,refund,,\nbb!,refund,,\nccc,order,refusal," + "LONG" + "\nd,,,\nee,\u202eodd,,\n"
	cases := spenderCases(t, strings.ReplaceAll(csv, "LONG", strings.Repeat("x", 101)))
	file := filepath.Join(t.TempDir(), "results.jsonl")
	inFile := run(t, spender(1), cases, &eval.Options{Trials: 2, ResultsFile: file})
	worse := run(t, spender(2), cases, &eval.Options{Trials: 2})
	for name, e := range map[string]*eval.Experiment{"run": inFile, "loaded": load(t, file)} {
		e.SliceBy = []string{"topic", "expected_outcome"}
		var got []string
		for _, column := range []string{"topic", "expected_outcome", "long", "user", "nope"} {
			part := *e
			part.SliceBy = []string{column}
			for _, f := range part.Figures() {
				switch {
				case f.Slice != "" && f.Name == "rate":
					got = append(got, fmt.Sprintf("%s %d %.2f", f.Slice, f.Cases, f.Value))
				case f.Slice != "" && f.Name == "calls":
					got[len(got)-1] += fmt.Sprintf(" %.1f", f.Value)
				}
			}
		}
		if want := []string{
			"topic=refund 2 0.50 1.5", "topic= 1 1.00 1.0", "topic=order 1 1.00 3.0", "topic=\u202eodd 1 1.00 2.0",
			"expected_outcome=completion 4 0.75 1.5", "expected_outcome=refusal 1 1.00 3.0", "long= 5 0.80 1.8", "user= 5 0.80 1.8", "nope= 5 0.80 1.8",
		}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		text := reports(t, e)
		for _, part := range []string{
			"\nrefund  2      50 % [", "\n(none)  1      100 % [", "\n4 values: one interval in 20 misses the truth", `"slice": "expected_outcome=refusal",`,
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, text)
			}
		}
		worse.SliceBy = e.SliceBy
		c := compare(t, e, worse)
		if !slicesAre(compared(c, "slices")) {
			t.Errorf("%s: %+v", name, compared(c, "slices"))
		}
		var b bytes.Buffer
		if err := c.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "\nrefund  2      50 %      50 %       0 [") || strings.Contains(b.String(), "\u202e") {
			t.Errorf("%v\n%s", err, b.String())
		}
		page := written(t, worse, e)
		if strings.Contains(page, "\u202e") || !strings.Contains(page, "<caption>By topic</caption>") || !strings.Contains(page, "<a href=\"#cases\" data-by=\"topic:\trefund\">refund</a>") {
			t.Error("the page has no slices, or a character that cannot be seen")
		}
	}
	many := scripted(slices.Repeat([]string{"."}, 50)...)
	for i := range many.Trials {
		many.Trials[i].Columns = map[string]string{"n": fmt.Sprint(i)}
	}
	many.SliceBy = []string{"n"}
	if text := reports(t, many); !strings.Contains(text, "\nand 30 more\n50 values: ") {
		t.Error(text)
	}
}

// slicesAre reports whether the parts of two experiments of TestSlices are these: the rate of each, and its scores.
func slicesAre(list []eval.Comparison) bool {
	var rates []eval.Comparison
	for _, c := range list {
		if c.Difference.Name == "rate" {
			rates = append(rates, c)
		} else if c.Difference.Slice == "topic=order" && c.Difference.Name == "calls" && c.Candidate.Value-c.Baseline.Value != 3 {
			return false
		}
	}
	return len(rates) == 6 && rates[2].Difference.Slice == "topic=order" && rates[2].Difference.Cases == 1
}

// The tokens and the cost of a session are known only if each of its turns reports a valid number of
// tokens.
func TestTokensOfSessions(t *testing.T) {
	for _, tt := range []struct {
		first, second string // metadata
		want          string // the tokens in and out, and the cost
	}{
		{`{"total_input_tokens":1,"total_output_tokens":2}`, `{"total_input_tokens":10,"total_output_tokens":20.0}`, "11 22 0.000033"},
		{`{"total_output_tokens":2}`, `{"total_input_tokens":10,"total_output_tokens":20}`, "- 22 -"},
		{`{"total_input_tokens":1}`, `{"total_input_tokens":10,"total_output_tokens":20}`, "11 - -"},
		{`{"total_input_tokens":1,"total_output_tokens":2}`, `{}`, "- - -"},
		{`{"total_input_tokens":-1,"total_output_tokens":null}`, `{"total_input_tokens":10,"total_output_tokens":20}`, "- - -"},
		{`{"total_input_tokens":0,"total_output_tokens":0}`, `{"total_input_tokens":0,"total_output_tokens":0}`, "0 0 0"},
	} {
		turn := 0
		agent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"ping":true`)) {
				_, _ = w.Write([]byte(`{"ok":true}`))
				return
			}
			turn++
			_, _ = fmt.Fprintf(w, `{"final_response":"x","metadata":%s}`, []string{tt.first, tt.second}[turn-1])
		})
		e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: agent}, casesOf(t,
			"user,turn_mode,simulator_mode,scripted_user_turns\na,model_as_user,scripted,\"[\"\"b\"\"]\"\n", dispatchtest.Task{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		e.SetPrices(pricesOf(t, `{"*":{"input":1,"output":1}}`))
		var got []string
		for _, name := range []string{"tokens_in", "tokens_out", "cost"} {
			if v, known := e.Trials[0].Scores[name]; known {
				got = append(got, strconv.FormatFloat(v, 'f', -1, 64))
			} else {
				got = append(got, "-")
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.first, tt.second, got, tt.want)
		}
	}
}

// The unit of a score is the case, or the group of cases, whatever the trials: a gate needs six, each of
// which ran in both experiments.
func TestUnitsOfScores(t *testing.T) {
	same := slices.Repeat([][]float64{{10}}, 12)
	grouped := func(groups int) (list []*eval.Experiment) {
		for range 2 {
			e := valued("cost", same...)
			for i := range e.Trials {
				e.Trials[i].Group = fmt.Sprint("g", i%groups)
			}
			e.TrialBudget().Cost = 10
			list = append(list, e)
		}
		return list
	}
	for groups, want := range map[int]eval.Verdict{5: eval.Undecided, 6: eval.Passed} {
		e := grouped(groups)
		c := compare(t, e[0], e[1])
		if gate := c.Bound("cost", 0.1).Verdict; gate != want || compared(c, "scores")[0].Difference.Groups() != groups || compared(c, "scores")[0].Difference.Cases != 12 {
			t.Errorf("%d groups: %s, %+v", groups, gate, compared(c, "scores")[0])
		}
	}
	fewer := valued("cost", same[:11]...)
	fewer.TrialBudget().Cost = 10
	if gate := compare(t, valued("cost", same...), fewer).Bound("cost", 0.1).Verdict; gate != eval.Undecided {
		t.Errorf("a case is missing: %s", gate)
	}
	// Ten times as many trials of one experiment do not make the other one surer.
	one, ten := slices.Repeat([][]float64{{0.5}}, 30), slices.Repeat([][]float64{slices.Repeat([]float64{0.5}, 10)}, 30)
	lower := valued("s", slices.Repeat([][]float64{{0.25}}, 30)...)
	if a, b := compared(compare(t, valued("s", one...), lower), "scores")[0], compared(compare(t, valued("s", ten...), lower), "scores")[0]; a.Difference.Low != b.Difference.Low || a.Difference.High != b.Difference.High {
		t.Errorf("%+v, %+v", a, b)
	}
}

// A page names each model once, and no model for responses that report tokens only.
func TestModelsOfThePage(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		model := `,"model":"small"`
		if strings.Contains(string(body), "unnamed") {
			model = ""
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"final_response":"x","metadata":{"total_input_tokens":1,"total_output_tokens":1`+model+`}}`)
	})
	for name, want := range map[string]string{"unnamed": "", "named": "small"} {
		e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler}, casesOf(t, csvOf(name, name), dispatchtest.Task{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		text := textOf(written(t, e))
		if got := strings.Contains(text, ", model "); got != (want != "") || want != "" && !strings.Contains(text, "Models "+want+" ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
