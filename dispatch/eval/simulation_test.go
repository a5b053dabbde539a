package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// A model draws the rate of a row. mean is the mean of all rows.
type model struct {
	name string
	mean float64
	draw func(*rand.Rand) float64
}

var rateModels = []model{
	{"coin", 0.5, func(*rand.Rand) float64 { return 0.5 }},
	{"easy", 0.95, func(*rand.Rand) float64 { return 0.95 }},
	{"spread", 0.7, func(r *rand.Rand) float64 { return beta(r, 0.7*7/3, 0.3*7/3) }}, // correlation 0.3
	{"wide", 0.9, func(r *rand.Rand) float64 { return beta(r, 0.9, 0.1) }},           // correlation 0.5
	{"split", 0.68, func(r *rand.Rand) float64 { return either(r, 0.7, 0.95, 0.05) }},
	{"fixed", 0.8, func(r *rand.Rand) float64 { return either(r, 0.8, 1, 0) }},
}

func either(r *rand.Rand, share, first, second float64) float64 {
	if r.Float64() < share {
		return first
	}
	return second
}

// A change makes the candidate's rate of a row from the baseline's. truth is the mean difference.
type change struct {
	name  string
	truth func(m model) float64
	apply func(r *rand.Rand, m model, p float64) float64
}

var changes = []change{
	{"none", func(model) float64 { return 0 }, func(_ *rand.Rand, _ model, p float64) float64 { return p }},
	{"worse by a tenth", func(m model) float64 { return -0.1 * m.mean },
		func(_ *rand.Rand, _ model, p float64) float64 { return 0.9 * p }},
	{"1 in 10 breaks", func(m model) float64 { return -0.1 * m.mean },
		func(r *rand.Rand, _ model, p float64) float64 { return p * either(r, 0.1, 0, 1) }},
	{"1 in 10 is mended", func(m model) float64 { return 0.1 * (1 - m.mean) },
		func(r *rand.Rand, _ model, p float64) float64 { return max(p, either(r, 0.1, 1, 0)) }},
	{"1 in 5 is another row", func(model) float64 { return 0 },
		func(r *rand.Rand, m model, p float64) float64 {
			if r.Float64() < 0.2 {
				return m.draw(r)
			}
			return p
		}},
}

// faults are how trials are lost to the infrastructure, in 5 % of both experiments.
var faults = []string{"none", "5 %", "clustered"}

type setting struct {
	model        model
	change       change
	faults       string
	rows, trials int
}

func (s setting) String() string {
	return fmt.Sprintf("%s, %s, faults %s, %d rows x %d", s.model.name, s.change.name, s.faults, s.rows, s.trials)
}

// A tally counts suites of one way to compare.
type tally struct {
	passes   int    // that pass the gate although the candidate is worse by the margin
	missed   [2]int // whose interval does not hold the true difference: faults counted, faults dropped
	up, down int    // verdicts
}

func (t *tally) add(o tally) {
	t.passes, t.up, t.down = t.passes+o.passes, t.up+o.up, t.down+o.down
	t.missed[0], t.missed[1] = t.missed[0]+o.missed[0], t.missed[1]+o.missed[1]
}

// judge counts a suite. The intervals and verdicts are those with faults counted and dropped.
func (t *tally) judge(truth, lost float64, intervals [2]interval, verdicts [2]int) {
	truths := [2]float64{truth * (1 - lost), truth}
	if min(intervals[0].Low, intervals[1].Low) > min(truths[0], truths[1]) {
		t.passes++
	}
	for i, interval := range intervals {
		if interval.Low > truths[i] || interval.High < truths[i] {
			t.missed[i]++
		}
	}
	switch {
	case verdicts[0] != verdicts[1]:
	case verdicts[0] > 0:
		t.up++
	case verdicts[0] < 0:
		t.down++
	}
}

// differenceOf is [meanDifference] of the rates of pairs.
func differenceOf(pairs []pairedTrials) (mean float64, i interval) {
	differences, trials := make([]float64, len(pairs)), 0
	for k, p := range pairs {
		differences[k] = float64(p.PassedB)/float64(p.TrialsB) - float64(p.PassedA)/float64(p.TrialsA)
		trials += min(p.TrialsA, p.TrialsB)
	}
	return meanDifference(differences, trials)
}

// simulate compares suites: now as package eval does, and usual by the t interval of the differences.
func (s setting) simulate(r *rand.Rand, suites int) (now, usual tally) {
	lost := 0.0
	if s.faults != "none" {
		lost = 0.05
	}
	for range suites {
		var intervals, usuals [2]interval
		var verdicts, usualVerdicts [2]int
		counted, dropped := s.suite(r)
		for i, pairs := range [][]pairedTrials{counted, dropped} {
			_, intervals[i] = differenceOf(pairs)
			if p, excess, _ := changeTest(pairs); p < 0.05 {
				verdicts[i] = sign(excess, excess)
			}
			usuals[i] = tInterval(pairs)
			usualVerdicts[i] = sign(usuals[i].Low, usuals[i].High)
		}
		truth := s.change.truth(s.model)
		now.judge(truth, lost, intervals, verdicts)
		usual.judge(truth, lost, usuals, usualVerdicts)
	}
	return now, usual
}

// sign is 0 for an interval that contains 0.
func sign(low, high float64) int {
	switch {
	case low > 0:
		return 1
	case high < 0:
		return -1
	}
	return 0
}

func tInterval(pairs []pairedTrials) interval {
	n, mean, square := float64(len(pairs)), 0.0, 0.0
	for _, p := range pairs {
		d := float64(p.PassedB)/float64(p.TrialsB) - float64(p.PassedA)/float64(p.TrialsA)
		mean += d / n
		square += d * d / n
	}
	variance := max(square-mean*mean, 0) * n / (n - 1)
	if variance < 1e-12 {
		variance = 1 / n
	}
	half := studentQuantile(0.975, len(pairs)-1) * math.Sqrt(variance/n)
	return interval{Low: mean - half, High: mean + half}
}

// suite draws the trials of two experiments. dropped are the pairs without faults.
func (s setting) suite(r *rand.Rand) (counted, dropped []pairedTrials) {
	for range s.rows {
		before := s.model.draw(r)
		passedA, leftA := s.draw(r, before)
		passedB, leftB := s.draw(r, s.change.apply(r, s.model, before))
		counted = append(counted, pairedTrials{TrialsA: s.trials, PassedA: passedA, TrialsB: s.trials, PassedB: passedB})
		if leftA > 0 && leftB > 0 {
			dropped = append(dropped, pairedTrials{TrialsA: leftA, PassedA: passedA, TrialsB: leftB, PassedB: passedB})
		}
	}
	return counted, dropped
}

// draw runs the trials of a row: left of them have no fault.
func (s setting) draw(r *rand.Rand, p float64) (passed, left int) {
	fault := 0.0
	switch s.faults {
	case "5 %":
		fault = 0.05
	case "clustered": // an outage meets a row in ten, and half of its trials
		fault = either(r, 0.1, 0.5, 0)
	}
	for range s.trials {
		if fault > 0 && r.Float64() < fault {
			continue
		}
		left++
		if r.Float64() < p {
			passed++
		}
	}
	return passed, left
}

// settings are two grids: agents that nearly always pass, of which a row in 20 breaks, and all models.
func settings(sparse, rows []int) (all []setting) {
	for _, rate := range []float64{1, 0.99} {
		m := model{fmt.Sprintf("%g", rate), rate, func(*rand.Rand) float64 { return rate }}
		breaks := change{"1 in 20 breaks", func(m model) float64 { return -0.05 * m.mean },
			func(r *rand.Rand, _ model, p float64) float64 { return p * either(r, 0.05, 0, 1) }}
		for _, n := range sparse {
			all = append(all, setting{m, breaks, "none", n, 1}, setting{m, breaks, "none", n, 5})
		}
	}
	for _, c := range changes {
		for _, n := range rows {
			for _, trials := range []int{1, 3, 8} {
				for _, m := range rateModels {
					for _, f := range faults {
						all = append(all, setting{m, c, f, n, trials})
					}
				}
			}
		}
	}
	return all
}

// TestSimulation compares experiments whose true difference is known. At most 3.5 % may pass the gate
// at a margin of that difference, 2.5 % and chance, and at least 93 % of the intervals hold it. An agent
// that is compared with itself differs in at most 7 %: a mid-p value may exceed its level of 5 % where
// few totals are possible. Every night this holds in each setting, and in each run for the settings of
// one size together. The seeds are fixed.
func TestSimulation(t *testing.T) {
	if testkit.Race {
		t.Skip("the simulation has no goroutines for the race detector to look at, and takes many times as long with it")
	}
	suites := testkit.Size(6, 2000)
	type size struct {
		change       string
		rows, trials int
	}
	var sizes []size
	now, usual, simulated := map[size]*tally{}, map[size]*tally{}, map[size]int{}
	for i, s := range settings(testkit.Size([]int{41, 61, 200}, []int{20, 41, 45, 61, 97, 200}), testkit.Size([]int{30, 100}, []int{30, 100, 300})) {
		n := suites
		if s.change.name == "1 in 20 breaks" {
			n = max(n, 200)
		}
		key := size{s.change.name, s.rows, s.trials}
		if now[key] == nil {
			sizes = append(sizes, key)
			now[key], usual[key] = &tally{}, &tally{}
		}
		one, other := s.simulate(rand.New(rand.NewPCG(19, uint64(i))), n)
		now[key].add(one)
		usual[key].add(other)
		simulated[key] += n
		if testkit.Nightly {
			one.check(t, s.String(), s.change.name, n)
		}
	}
	t.Logf("%-22s %4s %6s  %-23s %-23s %-23s %-23s", "now / t interval, in %", "rows", "trials", "false passes", "coverage", "improved", "regressed")
	for _, key := range sizes {
		a, b, n := now[key], usual[key], simulated[key]
		a.check(t, fmt.Sprint(key), key.change, n)
		pair := func(x, y int) string {
			return fmt.Sprintf("%.1f / %.1f", 100*float64(x)/float64(n), 100*float64(y)/float64(n))
		}
		t.Logf("%-22s %4d %6d  %-23s %-23s %-23s %-23s", key.change, key.rows, key.trials, pair(a.passes, b.passes),
			pair(n-max(a.missed[0], a.missed[1]), n-max(b.missed[0], b.missed[1])), pair(a.up, b.up), pair(a.down, b.down))
	}
}

func (t tally) check(test *testing.T, name, change string, suites int) {
	test.Helper()
	n := float64(suites) / 100
	if float64(t.passes) > 3.5*n || float64(max(t.missed[0], t.missed[1])) > 7*n || change == "none" && float64(t.up+t.down) > 7*n {
		test.Errorf("%s: %+v of %d suites", name, t, suites)
	}
}
