package eval_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
)

// scripted is an experiment in which trial k of a case ends as letter k of its script says: "."
// passed, "x" failed, "!" was a fault of the infrastructure, "c" was cancelled, "s" skipped.
func scripted(scripts ...string) *eval.Experiment {
	e := &eval.Experiment{Name: "scripted"}
	for i, script := range scripts {
		for k, letter := range script {
			t := eval.Trial{Case: &eval.Case{ID: fmt.Sprintf("c%d", i+1), Name: fmt.Sprintf("case %d", i+1)}, Number: k + 1}
			switch letter {
			case '.':
				t.Verdict = eval.Passed
			case 'x':
				t.Verdict, t.Cause = eval.Failed, "grader"
			case '!':
				t.Verdict, t.Cause = eval.Errored, "panic"
			case 'c':
				t.Verdict = eval.Cancelled
			case 's':
				t.Verdict = eval.Skipped
			}
			e.Trials = append(e.Trials, t)
		}
	}
	return e
}

func compare(t *testing.T, baseline, candidate *eval.Experiment) *eval.Comparisons {
	t.Helper()
	c, err := eval.Compare(baseline, candidate)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// without returns the comparison of the rates with faults dropped.
func without(c *eval.Comparisons) *eval.Comparison {
	rates := compared(c, "rates")
	for i := range rates {
		if r := &rates[i]; len(rates) == 1 || r.Difference.Faults == "dropped" {
			return r
		}
	}
	return nil
}

// compared returns the comparisons of the rates or scores of the whole, of its slices, or of its cases.
func compared(c *eval.Comparisons, kind string) (list []eval.Comparison) {
	for _, one := range c.Figures() {
		is := "cases"
		switch d := one.Difference; {
		case strings.Contains(d.Slice, "="):
			is = "slices"
		case d.Slice == "" && d.Name == "rate":
			is = "rates"
		case d.Slice == "":
			is = "scores"
		}
		if is == kind {
			list = append(list, one)
		}
	}
	return list
}

func TestCompare(t *testing.T) {
	same := strings.Fields("..x. .... x..x .... xxxx .x.x ..... ....")
	worse := strings.Fields("xxx. xx.. xxxx x... xxxx xxxx x.x.x x...")
	better := strings.Fields(".... .... .... .... .xxx ...x ..... ....")
	for _, tt := range []struct {
		name       string
		candidate  []string
		want       eval.Verdict
		pass, fail float64 // margins
	}{
		{"the same", slices.Concat(same, same, same), eval.CannotTell, 0.5, 0},
		{"worse", slices.Concat(worse, worse, worse), eval.Regressed, 0.9, 0.2},
		{"better, a little", slices.Concat(better[:3], same[3:], better[:3], same[3:], same), eval.CannotTell, 0.3, 0},
	} {
		before := slices.Concat(same, same, same)
		c := compare(t, scripted(before...), scripted(tt.candidate...))
		if c.Figures()[0].Verdict != tt.want || c.Bound("", tt.pass).Verdict != eval.Passed || tt.fail > 0 && c.Bound("", tt.fail).Verdict != eval.Failed {
			t.Errorf("%s: %s, %s", tt.name, c.Figures()[0].Verdict, c.Figures()[0])
		}
		if cases := compared(c, "cases"); !slices.IsSortedFunc(cases, func(a, b eval.Comparison) int { return cmp.Compare(a.Difference.Value, b.Difference.Value) }) {
			t.Errorf("%s: the cases are not sorted by regression: %+v", tt.name, cases)
		}
		back := compare(t, scripted(tt.candidate...), scripted(before...))
		if math.Abs(back.Figures()[0].Difference.Value+c.Figures()[0].Difference.Value) > 1e-12 || math.Abs(back.Figures()[0].P-c.Figures()[0].P) > 1e-12 || math.Abs(back.Figures()[0].Difference.Low+c.Figures()[0].Difference.High) > 1e-12 {
			t.Errorf("%s: %s one way, %s the other", tt.name, c.Figures()[0], back.Figures()[0])
		}
	}
	c := compare(t, scripted(same...), scripted(worse...))
	if first := compared(c, "cases")[0]; first.Difference.Slice != "c7" || first.Verdict != eval.Regressed {
		t.Errorf("%+v", first)
	}
	one := compare(t, scripted("..........", "xxxxxxxxxx"), scripted("xxxxxxxxxx", ".........."))
	if compared(one, "cases")[0].Verdict != eval.Regressed || compared(one, "cases")[0].Difference.Slice != "c1" || compared(one, "cases")[1].Verdict != eval.Improved || one.Figures()[0].Verdict != eval.CannotTell || one.Figures()[0].Difference.Value != 0 {
		t.Errorf("%+v", one)
	}
}

// repeated returns n cases with the same trials.
func repeated(n int, script string) []string { return slices.Repeat([]string{script}, n) }

// One trial of each case is compared with McNemar's test, in both directions.
func TestCompareOneTrial(t *testing.T) {
	good, bad := scripted(repeated(20, ".")...), scripted(slices.Concat(repeated(7, "x"), repeated(13, "."))...)
	for _, tt := range []struct {
		baseline, candidate *eval.Experiment
		want                eval.Verdict
		value               float64
	}{{good, bad, eval.Regressed, -0.35}, {bad, good, eval.Improved, 0.35}, {good, good, eval.CannotTell, 0}} {
		c := compare(t, tt.baseline, tt.candidate)
		p := map[bool]float64{true: 1.0 / 128, false: 1}[tt.value != 0]
		if math.Abs(c.Figures()[0].P-p) > 1e-9 || c.Figures()[0].Verdict != tt.want || c.Figures()[0].Difference.Value != tt.value || c.Figures()[0].Difference.Cases != 20 {
			t.Errorf("%s, %s, want %s", c.Figures()[0].Verdict, c.Figures()[0], tt.want)
		}
	}
}

// A verdict is about the cases that ran: five that break outright have changed, whatever others do.
// The interval, and so the gate, is about cases like these.
func TestChangeInTheseCases(t *testing.T) {
	good := scripted(repeated(30, "........")...)
	broken := scripted(slices.Concat(repeated(5, "xxxxxxxx"), repeated(25, "........"))...)
	c := compare(t, good, broken)
	if c.Figures()[0].Verdict != eval.Regressed || c.Figures()[0].P > 1e-9 || c.Bound("", 0.1).Verdict != eval.Undecided || c.Bound("", 0.4).Verdict != eval.Passed {
		t.Errorf("%s: %s, %s, %s", c.Figures()[0].Verdict, c.Figures()[0], c.Bound("", 0.1).Verdict, c.Bound("", 0.4).Verdict)
	}
	one := compare(t, scripted("........"), scripted("xxxxxxxx")) // no sample of anything, but it has changed
	if one.Figures()[0].Verdict != eval.Regressed || one.Bound("", 1).Verdict != eval.Undecided {
		t.Errorf("%s: %s, %s", one.Figures()[0].Verdict, one.Figures()[0], one.Bound("", 1).Verdict)
	}
}

// An outage says nothing about the agent: the test must find the change without the faults too, and the gate is
// undecided.
func TestOutageIsNoVerdict(t *testing.T) {
	good, outage := repeated(30, "....."), slices.Concat(repeated(10, "!!!!."), repeated(20, "....."))
	after := scripted(outage...)
	after.SliceBy = []string{"kind"} // all cases are in the slice without a kind
	c := compare(t, scripted(good...), after)
	if part := compared(c, "slices")[0]; part.Verdict != eval.CannotTell || part.Reason == "" || part.Reason != c.Figures()[0].Reason {
		t.Errorf("slice %s: %s (%s)", part.Difference.Slice, part.Verdict, part.Reason)
	}
	if c.Figures()[0].Verdict != eval.CannotTell || c.Figures()[0].P > 1e-6 || without(c).P != 1 || c.Bound("", 0.05).Verdict != eval.Undecided {
		t.Errorf("%s: %s, %s, %s", c.Figures()[0].Verdict, c.Figures()[0], without(c), c.Bound("", 0.05).Verdict)
	}
	worse := compare(t, scripted(good...), scripted(slices.Concat(repeated(10, "!!xxx"), repeated(20, "....."))...))
	if worse.Figures()[0].Verdict != eval.Regressed {
		t.Errorf("%s: %s, %s", worse.Figures()[0].Verdict, worse.Figures()[0], without(worse))
	}
	// Where trials are missing, the mean over cases and the sum over trials may differ in direction.
	a := scripted(slices.Concat(repeated(2, ".........."), repeated(3, "x"))...)
	b := scripted(slices.Concat(repeated(2, ".....xxxxx"), repeated(3, "."))...)
	for _, mixed := range []*eval.Comparisons{compare(t, a, b), compare(t, b, a)} {
		if mixed.Figures()[0].Verdict != eval.CannotTell || mixed.Figures()[0].P >= 0.05 || math.Abs(mixed.Figures()[0].Difference.Value) < 0.1 {
			t.Errorf("%s: %s", mixed.Figures()[0].Verdict, mixed.Figures()[0])
		}
	}
}

// Whether a fault is the agent's is not known in either experiment: the gate decides if all four combinations do.
func TestGateOfFourCombinations(t *testing.T) {
	const depends = "it depends on whether faults are failures of the agent"
	for _, tt := range []struct {
		baseline, candidate string
		want                eval.Verdict
		reason              string
	}{
		{"!!!!.", ".....", eval.Undecided, depends + " (160 faults in the baseline, 0 in the candidate): run them again"},
		{".....", "!!!!.", eval.Undecided, depends + " (0 faults in the baseline, 160 in the candidate)"}, // an outage of the candidate alone
		{"!!!!.", "!!!!.", eval.Undecided, depends},                                                       // of both, or the outage of one and the crashes of the other
		{"!!!!.", ".xxxx", eval.Undecided, depends},                                                       // the same if the baseline's faults count
		{"!!!!......", "!!!!....xx", eval.Undecided, depends},                                             // worse, unless the faults of the candidate alone are dropped
		{"!....", "!xxxx", eval.Failed, ""},
		{".xxxx", "!....", eval.Undecided, ""}, // a margin of 5 points takes more cases
		{".....", ".....", eval.Undecided, "the interval contains the margin: run more cases"},
		{"!!!!!", ".....", eval.Undecided, "without faults no case has trials in both experiments (200 faults in the baseline, 0 in the candidate)"},
		{"!!!!!", "!!!!!", eval.Undecided, "without faults no case has trials in both experiments"},
	} {
		c := compare(t, scripted(repeated(40, tt.baseline)...), scripted(repeated(40, tt.candidate)...))
		if tt.reason == "" && tt.want == eval.Undecided {
			if got := c.Bound("", 0.05).Verdict; got == eval.Failed {
				t.Errorf("%s, then %s: %s", tt.baseline, tt.candidate, got)
			}
			continue
		}
		if got := c.Bound("", 0.05); got.Verdict != tt.want || !strings.HasPrefix(got.Reason, tt.reason) {
			t.Errorf("%s, then %s: %+v, want %s: %s; %s, %s", tt.baseline, tt.candidate, got, tt.want, tt.reason, c.Figures()[0], without(c))
		}
	}
	apart := compare(t, scripted(append(repeated(20, "."), repeated(20, "!")...)...), scripted(append(repeated(20, "!"), repeated(20, ".")...)...))
	if got := apart.Bound("", 0.05); got.Verdict != eval.Undecided || !strings.HasPrefix(got.Reason, "without faults no case") {
		t.Errorf("faults of either in the cases without faults of the other: %+v", got)
	}
	few := scripted(slices.Concat(repeated(10, "!!!!."), repeated(140, "....."))...)
	if c := compare(t, scripted(repeated(150, ".....")...), few); c.Bound("", 0.06).Verdict != eval.Undecided || without(c).Difference.Low <= -0.06 {
		t.Errorf("a few faults, which may be the candidate's: %s, %s, %s", c.Bound("", 0.06).Verdict, c.Figures()[0], without(c))
	}
	c := compare(t, scripted(repeated(40, ".....")...), scripted(repeated(40, ".....")...))
	if low := -c.Figures()[0].Difference.Low; c.Bound("", low).Verdict != eval.Undecided || c.Bound("", low+1e-9).Verdict != eval.Passed {
		t.Errorf("the margin %v is where the gate begins to pass", low)
	}
	more := compare(t, scripted(repeated(40, ".....")...), scripted(repeated(40, ".")...))
	if more.Figures()[0].Detectable() <= c.Figures()[0].Detectable() {
		t.Errorf("fewer trials of one experiment find %v, and more %v", more.Figures()[0].Detectable(), c.Figures()[0].Detectable())
	}
}

// drawn is an experiment whose trials pass with the probability that rate gives for a case.
func drawn(random *rand.Rand, cases, trials int, rate func() float64) *eval.Experiment {
	var scripts []string
	for range cases {
		p, script := rate(), make([]byte, trials)
		for k := range script {
			script[k] = 'x'
			if random.Float64() < p {
				script[k] = '.'
			}
		}
		scripts = append(scripts, string(script))
	}
	return scripted(scripts...)
}

// Each case of a candidate breaks with a probability of the margin. At most 2.5 % of such candidates
// may pass the gate, and 1 % more by chance. The agents always pass otherwise, or 99 times in 100.
func TestGateWhereFewCasesDiffer(t *testing.T) {
	const margin = 0.05
	candidates := testkit.Size(120, 2000)
	for i, tt := range []struct {
		cases, trials int
		rate          float64
	}{{41, 1, 1}, {61, 1, 1}, {97, 1, 1}, {41, 5, 0.99}, {61, 5, 0.99}} {
		random := rand.New(rand.NewPCG(5, uint64(i)))
		passed := 0
		for range candidates {
			before := drawn(random, tt.cases, tt.trials, func() float64 { return tt.rate })
			after := drawn(random, tt.cases, tt.trials, func() float64 {
				if random.Float64() < margin/tt.rate {
					return 0
				}
				return tt.rate
			})
			if compare(t, before, after).Bound("", margin).Verdict == eval.Passed {
				passed++
			}
		}
		if float64(passed) > 0.035*float64(candidates) {
			t.Errorf("%d cases, %d trials, rate %v: %d of %d candidates at the margin pass", tt.cases, tt.trials, tt.rate, passed, candidates)
		}
	}
	if c := compare(t, scripted(repeated(41, ".")...), scripted(repeated(41, ".")...)); c.Bound("", margin).Verdict != eval.Undecided {
		t.Errorf("41 cases and no difference: %s, %s", c.Bound("", margin).Verdict, c.Figures()[0])
	}
	if c := compare(t, scripted(repeated(80, ".")...), scripted(repeated(80, ".")...)); c.Bound("", margin).Verdict != eval.Passed {
		t.Errorf("80 cases and no difference: %s, %s", c.Bound("", margin).Verdict, c.Figures()[0])
	}
}

// An outage hits trials of the baseline at random, and the candidate itself breaks in some rows, which looks the
// same. At most 2.5 % of candidates at the margin may pass the gate, and 1 % more by chance; and of agents that
// are the same and had an outage each, at most as many may fail it.
func TestGateOfUnlikeFaults(t *testing.T) {
	if testkit.Race && !testkit.Nightly {
		t.Skip("the simulation is too slow under the race detector, which checks this code in other tests")
	}
	type setting struct {
		cases, trials int
		outage, crash float64
	}
	settings, suites := []setting{{60, 1, 0.1, 0.1}, {100, 3, 0.05, 0.05}}, testkit.Size(80, 1000)
	if testkit.Full {
		settings = nil
		for _, cases := range []int{60, 100, 200, 400} {
			for _, trials := range []int{1, 3} {
				for _, share := range []float64{0.05, 0.1} {
					settings = append(settings, setting{cases, trials, share, share}, setting{cases, trials, share, 0.15 - share})
				}
			}
		}
	}
	const rate = 0.95
	for i, s := range settings {
		random := rand.New(rand.NewPCG(8, uint64(i)))
		trial := func() byte {
			if random.Float64() < rate {
				return '.'
			}
			return 'x'
		}
		experiment := func(outage, crash float64) *eval.Experiment {
			scripts := make([]string, s.cases)
			for n := range scripts {
				crashes, script := random.Float64() < crash, make([]byte, s.trials)
				for k := range script {
					if script[k] = trial(); crashes || random.Float64() < outage {
						script[k] = '!'
					}
				}
				scripts[n] = string(script)
			}
			return scripted(scripts...)
		}
		passed, failed := 0, 0
		for range suites {
			before := experiment(s.outage, 0)
			if compare(t, before, experiment(0, s.crash)).Bound("", rate*s.crash).Verdict == eval.Passed {
				passed++
			}
			if compare(t, before, experiment(s.outage, 0)).Bound("", 0.05).Verdict == eval.Failed {
				failed++
			}
		}
		t.Logf("%+v: of %d, %d pass at the margin, %d fail without a difference", s, suites, passed, failed)
		if most := 0.035 * float64(suites); float64(passed) > most || float64(failed) > most {
			t.Errorf("%+v: of %d, %d pass at the margin, %d fail without a difference", s, suites, passed, failed)
		}
	}
}

// The difference that a plan names is found in about four of five comparisons of its size.
func TestPlannedDifferenceIsFound(t *testing.T) {
	if testkit.Race && !testkit.Nightly {
		t.Skip("verdicts are counted; other tests run this code with the race detector")
	}
	comparisons := testkit.Size(400, 2000)
	for i, tt := range []struct{ cases, trials int }{{20, 1}, {20, 5}, {50, 5}} {
		plan, err := (&eval.Options{Trials: tt.trials}).Plan(make([]eval.Case, tt.cases))
		if err != nil {
			t.Fatal(err)
		}
		part, err := (&eval.Options{Trials: tt.trials, Shard: "2/3"}).Plan(make([]eval.Case, tt.cases))
		if err != nil || part.Detectable() != plan.Detectable() {
			t.Errorf("a shard finds %v and all find %v, error %v", part.Detectable(), plan.Detectable(), err)
		}
		random, found := rand.New(rand.NewPCG(6, uint64(i))), 0
		for range comparisons {
			before := drawn(random, tt.cases, tt.trials, func() float64 { return 0.5 + plan.Detectable()/2 })
			after := drawn(random, tt.cases, tt.trials, func() float64 { return 0.5 - plan.Detectable()/2 })
			if compare(t, before, after).Figures()[0].Verdict == eval.Regressed {
				found++
			}
		}
		if share := float64(found) / float64(comparisons); share < 0.77 || share > 0.87 {
			t.Errorf("%d cases, %d trials: %.1f points are found in %.1f %%", tt.cases, tt.trials, 100*plan.Detectable(), 100*share)
		}
	}
}

// A plan counts groups, and says from which margin on a gate passes if nothing differs. That margin is the one of
// Compare.
func TestPlannedMargin(t *testing.T) {
	for n := range 100 {
		cases := make([]eval.Case, 2*n)
		for i := range cases {
			cases[i] = eval.Case{ID: fmt.Sprint("c", i), Group: fmt.Sprint("g", i/2)}
		}
		plan, err := (&eval.Options{}).Plan(cases)
		if err != nil {
			t.Fatal(err)
		}
		if n < 6 {
			if plan.Margin != 1 || n > 0 && !strings.HasSuffix(plan.String(), "; a gate needs at least 6 groups") {
				t.Errorf("%d groups: %v, %s", n, plan.Margin, plan)
			}
			continue
		}
		same := scripted(repeated(n, ".")...)
		c := compare(t, same, same)
		if c.Bound("", plan.Margin-1e-6).Verdict != eval.Undecided || c.Bound("", plan.Margin+1e-6).Verdict != eval.Passed {
			t.Errorf("%d groups: %v is not the smallest margin of %+v", n, plan.Margin, c.Figures()[0].Difference)
		}
		if got := plan.String(); !strings.Contains(got, fmt.Sprintf("%d cases in %d groups; ", 2*n, n)) || !strings.Contains(got, "; if nothing differs, a gate passes from a margin of ") {
			t.Error(got)
		}
	}
}

// The verdict takes the trials of a case as independent. It says so where they do not look it: an agent whose
// trials of a case are all alike, as with a cache, seems to change when it is compared with itself.
func TestTrialsThatAreNotIndependent(t *testing.T) {
	const doubted = "if trials are independent: those of a case agree far more in each version than between the two"
	random := rand.New(rand.NewPCG(9, 9))
	agent := func(cached bool) *eval.Experiment {
		scripts := make([]string, 30)
		for i := range scripts {
			script := make([]byte, 5)
			for k := range script {
				if script[k] = 'x'; random.Float64() < 0.7 {
					script[k] = '.'
				}
				if cached {
					script[k] = script[0]
				}
			}
			scripts[i] = string(script)
		}
		return scripted(scripts...)
	}
	changed, warned := 0, 0
	for range testkit.Size(100, 2000) {
		if c := compare(t, agent(true), agent(true)); c.Figures()[0].Verdict != eval.CannotTell {
			changed++
			if strings.HasPrefix(c.Figures()[0].Reason, doubted) {
				warned++
			}
		}
		if c := compare(t, agent(false), agent(false)); c.Figures()[0].Reason != "" {
			t.Errorf("independent trials: %s: %s", c.Figures()[0].Verdict, c.Figures()[0].Reason)
		}
	}
	if changed < 20 || warned < changed*8/10 {
		t.Errorf("of %d false verdicts %d are doubted", changed, warned)
	}
	// What one trial of each case would show too is not doubted.
	better := slices.Concat(repeated(8, "....."), repeated(22, "xxxxx"))
	if c := compare(t, scripted(repeated(30, "xxxxx")...), scripted(better...)); c.Figures()[0].Verdict != eval.Improved || c.Figures()[0].Reason != "" {
		t.Errorf("%s: %s", c.Figures()[0].Verdict, c.Figures()[0].Reason)
	}
	few := compare(t, scripted(slices.Concat(repeated(4, "xxxxx"), repeated(26, "....."))...), scripted(repeated(30, ".....")...))
	var b bytes.Buffer
	if err := few.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "\nimproved ("+doubted+", as with a cache; one trial of each would give p = 0.062): +13.3 points") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// Both treatments of faults are reported.
func TestCompareFaults(t *testing.T) {
	good := strings.Fields("..... ..... ..... ..... ..... ..... ..... .....")
	faulty := strings.Fields("!!!!! ..!!! !!!!! ..... ..!!! .!!!! !!!!! ...!!")
	c := compare(t, scripted(good...), scripted(faulty...))
	if without(c) == nil || without(c).Difference.Value != 0 || without(c).Difference.Cases != 5 || c.Figures()[0].Difference.Value > -0.5 || c.Figures()[0].Verdict != eval.CannotTell {
		t.Errorf("%+v, %+v", c.Figures()[0], without(c))
	}
	if got := c.Bound("", 0.1).Verdict; got != eval.Undecided {
		t.Errorf("candidate with faults: %s", got)
	}
	c = compare(t, scripted(faulty...), scripted(good...)) // faults of the baseline do not excuse the candidate
	if c.Figures()[0].Verdict != eval.CannotTell || c.Bound("", 0.1).Verdict != eval.Undecided {
		t.Errorf("baseline with faults: %s, %s, %s", c.Figures()[0], without(c), c.Bound("", 0.1).Verdict)
	}
	c = compare(t, scripted("!."), scripted(".!"))
	want := [][3]string{{"counted", "counted", "counted"}, {"dropped", "dropped", "dropped"}, {"dropped", "counted", ""}, {"counted", "dropped", ""}}
	for i, f := range c.Figures()[:len(want)] {
		if got := [3]string{f.Baseline.Faults, f.Candidate.Faults, f.Difference.Faults}; f.Difference.Name != "rate" || got != want[i] {
			t.Errorf("figure %d is %s with faults %q, want %q", i, f.Difference.Name, got, want[i])
		}
	}
	c = compare(t, scripted("!!"), scripted(".."))
	if without(c) != nil || c.Bound("", 1).Verdict != eval.Undecided {
		t.Errorf("%+v", c)
	}
}

// The rates of a comparison are over the same cases and groups as its difference, and each is as sure as its
// own trials.
func TestRatesOfAComparison(t *testing.T) {
	baseline, candidate := scripted("..", "..", "..", "xx", "x."), scripted("....", "xxxx", "....", "...x", ".xxx", "....")
	for _, e := range []*eval.Experiment{baseline, candidate} {
		for i := range e.Trials {
			if id := e.Trials[i].ID; id <= "c3" {
				e.Trials[i].Group = "three"
			}
		}
	}
	c := compare(t, baseline, candidate).Figures()[0]
	if d := c.Difference; math.Abs(c.Candidate.Value-c.Baseline.Value-d.Value) > 1e-9 || d.Groups() != 3 || math.Abs(c.Baseline.Value-0.5) > 1e-9 {
		t.Errorf("%s to %s is %+v", c.Baseline, c.Candidate, d)
	}
	if c := compare(t, scripted(".x", ".x"), scripted("..xx", "..xx")).Figures()[0]; c.Baseline.Low >= c.Candidate.Low || c.Baseline.High <= c.Candidate.High {
		t.Errorf("the rate of fewer trials, %s, is as sure as %s", c.Baseline, c.Candidate)
	}
	if text := compare(t, scripted("."), scripted("x")).Figures()[0].String(); strings.Contains(text, "finds a difference") || !strings.HasSuffix(text, "; a gate needs at least 6 cases") {
		t.Error(text)
	}
	if text := compare(t, scripted(repeated(6, ".x.")...), scripted(repeated(6, "x..")...)).Figures()[0].String(); !strings.Contains(text, "finds a difference of about ") || strings.Contains(text, "needs") {
		t.Error(text)
	}
}

// Trials that say nothing about the agent do not pass the gate, however many they are.
func TestGateNeedsTrials(t *testing.T) {
	down, up := make([]string, 100), make([]string, 100)
	for i := range down {
		down[i], up[i] = "!!", "x."
	}
	for name, c := range map[string]*eval.Comparisons{
		"both down":          compare(t, scripted(down...), scripted(down...)),
		"the baseline down":  compare(t, scripted(down...), scripted(up...)),
		"the candidate down": compare(t, scripted(up...), scripted(down...)),
		"five cases left":    compare(t, scripted(slices.Concat(down[5:], up[:5])...), scripted(slices.Concat(down[5:], up[:5])...)),
	} {
		if c.Bound("", 0.9).Verdict == eval.Passed {
			t.Errorf("%s: %+v, %+v", name, c.Figures()[0], without(c))
		}
	}
	for n, want := range map[int]eval.Verdict{5: eval.Undecided, 6: eval.Passed} {
		if got := compare(t, scripted(up[:n]...), scripted(up[:n]...)).Bound("", 0.9).Verdict; got != want {
			t.Errorf("%d cases: %s, want %s", n, got, want)
		}
	}
}

func TestCompareUnlike(t *testing.T) {
	c := compare(t, scripted("..", "..", "s", "cc", "..", "..", "..", "..", ".."), scripted("..", "cc", "s", "..", "..", "..", "..", "..", ".."))
	if fmt.Sprint(*c.Missing()) != "[c2 c4]" || c.Figures()[0].Difference.Cases != 6 || c.Bound("", 1).Verdict != eval.Undecided {
		t.Errorf("%+v, %s", c, c.Bound("", 1).Verdict)
	}
	stopped := scripted("..")
	stopped.StopEarly()
	for _, tt := range []struct {
		a, b *eval.Experiment
		want string
	}{
		{scripted("."), scripted("c"), "candidate: no case ran in the baseline"},
		{&eval.Experiment{}, &eval.Experiment{}, "candidate: no case ran in the baseline"},
		{stopped, scripted(".."), "baseline: it was stopped at first failures"},
		{stopped, stopped, "2 problems"},
	} {
		c, err := eval.Compare(tt.a, tt.b)
		if c != nil || toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

func TestReportsOfAComparison(t *testing.T) {
	var many, none []string
	for range 25 {
		many, none = append(many, "...."), append(none, "xxxx")
	}
	many, none = append(many, "..x."), append(none, "..x.")
	c := compare(t, scripted(many...), scripted(none...))
	var b bytes.Buffer
	doc, err := json.Marshal(c.Figures())
	if err := errors.Join(c.WriteSummary(&b, false), err); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"case 1   100 %     0 %        -100 [-100, -30.7]     regressed\n", "\nand 5 more\n", "26 cases: 0 improved, 25 regressed, 1 the same, 0 undecided\n",
		"regressed: -96.2 points in 26 cases, p = 0.000; in cases like these [-99.4, -74.4]; a comparison of this size finds a difference of about 21 points in these cases\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in\n%s", part, b.String())
		}
	}
	for _, tt := range []struct {
		before, after []string
		margin        float64
		want          string
	}{
		{many, none, 0.05, "in these 26 cases the candidate is worse; in cases like these it is worse by at least 74.4 points, and the margin allows only 5 points"},
		{none, many, 0.05, "in these 26 cases the candidate is better; in cases like these it is not worse, and the margin allows 5 points"},
		{slices.Repeat([]string{"..."}, 100), slices.Repeat([]string{"..."}, 100), 0.05, "in these 100 cases no difference is shown; in cases like these it may be worse by up to 3.8 points, and the margin allows 5 points"},
		{slices.Repeat([]string{"..."}, 10), slices.Repeat([]string{"..."}, 10), 0.05, "by up to 33.9 points, and the margin allows only 5 points; about 80 cases that change as these do would decide it"},
		{append(slices.Repeat([]string{"..."}, 7), "xxx", "xxx", "xxx"), slices.Repeat([]string{"..."}, 10), 0.05, "in these 10 cases the candidate is better, if trials are independent; in cases like these it may be worse by up to 10 points, and the margin allows only 5 points; about 20 cases that change as these do would decide it"},
		{[]string{"..", ".."}, []string{"..", ".."}, 0.5, ", and the gate is undecided because a gate needs at least 6 cases, and 2 have trials in both experiments"},
		{[]string{"..", ".."}, []string{"..", ".."}, 0, "in these 2 cases no difference is shown; in cases like these it may be worse by up to 98.8 points\n"},
	} {
		var b strings.Builder
		candidate := scripted(tt.after...)
		if tt.margin > 0 {
			candidate.GateBy = map[string]float64{"": tt.margin}
		}
		if err := compare(t, scripted(tt.before...), candidate).WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%q is missing in\n%s", tt.want, b.String())
		}
	}
	var parsed []struct {
		Verdict    string
		Difference struct {
			Value float64
			Cases int
		}
	}
	if err := json.Unmarshal(doc, &parsed); err != nil || len(parsed) != 1+26 || parsed[0].Verdict != "regressed" || parsed[0].Difference.Cases != 26 || parsed[0].Difference.Value > -0.9 {
		t.Errorf("%+v, error %v", parsed, err)
	}
	b.Reset()
	few := compare(t, scripted("..", "!."), scripted("x.", ".."))
	*few.Missing() = []string{"z"}
	if err := few.WriteSummary(&b, true); err != nil || !strings.Contains(b.String(), "1 case ran in one experiment only: z\n") ||
		!strings.Contains(b.String(), "faults dropped: ") || !strings.Contains(b.String(), "; a gate needs at least 6 cases\n") {
		t.Errorf("error %v\n%s", err, b.String())
	}
	if err := few.WriteSummary(failingWriter{errors.ErrUnsupported}, false); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// randomAgent passes a trial with the probability of its case, which its instruction begins with,
// minus drop.
func randomAgent(seed uint64, drop float64) dispatch.Agent {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	return func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var p float64
		_, _ = fmt.Sscan(run.Instruction, &p)
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() < p-drop {
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		return nil, errors.New("not this time")
	}
}

// An agent that is compared with itself may be found to differ, and one that is worse by the margin
// may pass the gate, in at most 6 % of comparisons. A comparison that finds nothing would pass, so
// one that is much worse must be found. The seeds are fixed: the result is the same in every run.
func TestAgainstItself(t *testing.T) {
	if testkit.Race && !testkit.Nightly {
		t.Skip("verdicts are counted; other tests run this code with the race detector")
	}
	const cases, trials, margin = 12, 3, 0.1
	comparisons := testkit.Size(100, 600)
	random := rand.New(rand.NewPCG(3, 3))
	experiment := func(seed uint64, all []eval.Case, drop float64) *eval.Experiment {
		return run(t, randomAgent(seed, drop), all, &eval.Options{Trials: trials, Parallel: 1})
	}
	changes, gates, found := map[eval.Verdict]int{}, 0, 0
	for i := range comparisons {
		instructions := make([]string, cases)
		for n := range instructions {
			instructions[n] = fmt.Sprintf("%.3f case %d", 0.2+0.8*random.Float64(), n)
		}
		all := casesOf(t, csvOf(instructions...), dispatchtest.Task{})
		seed := uint64(10 * i)
		baseline := experiment(seed, all, 0)
		changes[compare(t, baseline, experiment(seed+1, all, 0)).Figures()[0].Verdict]++
		if compare(t, baseline, experiment(seed+2, all, margin)).Bound("", margin).Verdict == eval.Passed {
			gates++
		}
		if i%10 == 0 && compare(t, baseline, experiment(seed+3, all, 0.5)).Figures()[0].Verdict == eval.Regressed {
			found++
		}
	}
	wrong := changes[eval.Improved] + changes[eval.Regressed]
	t.Logf("%d comparisons: %d false verdicts, %d false passes of the gate, %d of %d found", comparisons, wrong, gates, found, comparisons/10)
	if wrong > comparisons*6/100 || gates > comparisons*6/100 || found < comparisons/10*8/10 {
		t.Errorf("%d false verdicts, %d false passes of the gate in %d; %d of %d found", wrong, gates, comparisons, found, comparisons/10)
	}
}
