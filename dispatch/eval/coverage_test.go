package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// A setting of intervals draws a suite of 30 cases and returns an interval that should hold the truth.
type coverageOf struct {
	name  string
	truth float64
	suite func(*rand.Rand) interval
}

// check fails if fewer than 93 % of the intervals hold the truth. The seed is fixed.
func (c coverageOf) check(t *testing.T, seed uint64) {
	t.Helper()
	r, suites, held := rand.New(rand.NewPCG(12, seed)), testkit.Size(600, 6000), 0
	for range suites {
		if i := c.suite(r); i.Low <= c.truth && c.truth <= i.High {
			held++
		}
	}
	share := float64(held) / float64(suites)
	t.Logf("%s: %.1f %%", c.name, 100*share)
	if share < 0.93 {
		t.Errorf("%s: the interval holds the truth in %.1f %%", c.name, 100*share)
	}
}

// The scores of a case in its trials are about what the model draws for the case, with noise that keeps
// them from 0 to 1.
func scoresOf(r *rand.Rand, score float64, trials int) (mean float64) {
	for range trials {
		value := 0.0
		for range 4 { // a judge of four criteria
			value += either(r, score, 0.25, 0)
		}
		mean += value / float64(trials)
	}
	return mean
}

// The intervals of the mean of a score, and of its paired difference, hold the truth.
func TestIntervalsOfScores(t *testing.T) {
	scores := append([]model{
		{"narrow", 0.7, func(r *rand.Rand) float64 { return 0.6 + 0.2*r.Float64() }},
		{"steps", 0.6, func(r *rand.Rand) float64 { return []float64{0, 0.25, 0.75, 1, 1}[r.IntN(5)] }},
		{"nearly always 1", 0.95, func(r *rand.Rand) float64 { return either(r, 0.9, 1, 0.5) }},
	}, rateModels...)
	seed := uint64(0)
	for _, m := range scores {
		for _, trials := range []int{1, 3} {
			name := fmt.Sprintf("%s x %d", m.name, trials)
			coverageOf{name + ", mean", m.mean, func(r *rand.Rand) interval {
				values := make([]float64, 30)
				for k := range values {
					values[k] = scoresOf(r, m.draw(r), trials)
				}
				_, i := meanRate(values, 30*trials)
				return i
			}}.check(t, seed)
			for n, c := range changes {
				coverageOf{name + ", difference, " + c.name, c.truth(m), func(r *rand.Rand) interval {
					values := make([]float64, 30)
					for k := range values {
						before := m.draw(r)
						values[k] = scoresOf(r, c.apply(r, m, before), trials) - scoresOf(r, before, trials)
					}
					_, i := meanDifference(values, 30*trials)
					return i
				}}.check(t, seed+uint64(n)+1)
			}
			seed += 10
		}
	}
}

// The intervals of pass^k and pass@k hold the truth, even where nearly no case, or nearly every case,
// passes all k trials.
func TestIntervalsOfPowers(t *testing.T) {
	for i, m := range rateModels {
		for n, of := range [][2]int{{3, 2}, {3, 3}, {5, 3}, {5, 5}, {8, 8}} {
			trials, k := of[0], of[1]
			var truth [2]float64 // by many draws
			r := rand.New(rand.NewPCG(13, uint64(i)))
			const draws = 200_000
			for range draws {
				p := m.draw(r)
				truth[0] += math.Pow(p, float64(k)) / draws
				truth[1] += (1 - math.Pow(1-p, float64(k))) / draws
			}
			for which := range truth {
				name := fmt.Sprintf("%s, %s of %d trials, %.3f", m.name, []string{"pass^", "pass@"}[which]+fmt.Sprint(k), trials, truth[which])
				coverageOf{name, truth[which], func(r *rand.Rand) interval {
					values := make([]float64, 30)
					for c := range values {
						p, passed := m.draw(r), 0
						for range trials {
							if r.Float64() < p {
								passed++
							}
						}
						all, some := repeatedTrials(trials, passed)
						values[c] = [][]float64{all, some}[which][k-1]
					}
					_, i := meanPower(values, 30*(trials/k))
					return i
				}}.check(t, uint64(1000+100*i+10*n+which))
			}
		}
	}
}

// An experiment of the planned size finds the smallest difference that a plan promises in about four of
// five times, with one trial of each case and with several.
func TestPlannedDifferenceIsFound(t *testing.T) {
	suites := testkit.Size(600, 6000)
	for _, cases := range []int{20, 50, 200} {
		for _, trials := range []int{1, 3, 5} {
			d := detectableDifference(float64(cases*trials)/8, cases*trials)
			r, found := rand.New(rand.NewPCG(15, uint64(10*cases+trials))), 0
			for range suites {
				pairs := make([]pairedTrials, cases)
				for i := range pairs {
					pairs[i] = pairedTrials{TrialsA: trials, TrialsB: trials}
					for range trials {
						if r.Float64() < 0.5-d/2 {
							pairs[i].PassedA++
						}
						if r.Float64() < 0.5+d/2 {
							pairs[i].PassedB++
						}
					}
				}
				if p, excess, _ := changeTest(pairs); p < 0.05 && excess > 0 {
					found++
				}
			}
			share := float64(found) / float64(suites)
			t.Logf("%d x %d, %.1f points: %.1f %%", cases, trials, 100*d, 100*share)
			if share < 0.75 || share > 0.85 {
				t.Errorf("%d cases x %d: a difference of %.1f points is found in %.1f %%", cases, trials, 100*d, 100*share)
			}
		}
	}
}
