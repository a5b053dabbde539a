package eval

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// A runaway is a candidate of which a share of the rows needs a multiple of what it needed. Amounts are cut at a limit.
type runaway struct {
	share, times, limit float64 // limit is a multiple of the mean
	noise               float64
}

func (m runaway) draw(r *rand.Rand) (before, now float64) {
	size := lognormal(r, 0.5)
	before, now = size*lognormal(r, m.noise), size*lognormal(r, m.noise)*either(r, m.share, m.times, 1)
	return min(before, m.limit), min(now, m.limit)
}

// truth is how much more the candidate needs, as a share of the baseline.
func (m runaway) truth() float64 {
	r := rand.New(rand.NewPCG(7, 7))
	a, b := 0.0, 0.0
	for range testkit.Size(30_000, 2_000_000) {
		before, now := m.draw(r)
		a, b = a+before, b+now
	}
	return b/a - 1
}

// At most 3.5 % of candidates of which a few rows run away pass the gate of an amount, if its margin is how much more they
// need: in each setting every night, and in all settings together in each run. The seeds are fixed.
func TestRunaways(t *testing.T) {
	if testkit.Race {
		t.Skip("the simulation has no goroutines for the race detector to look at, and takes many times as long with it")
	}
	suites := testkit.Size(8, 1000)
	all, settings := 0, 0
	t.Logf("%-34s %6s %8s  %-28s %s", "share x times, limit, noise", "rows", "truth", "false passes, in %", "without a limit")
	for i, share := range []float64{0.1, 0.05, 0.02, 0.01} {
		for k, times := range []float64{2, 6, 11, 31} {
			for j, limit := range []float64{4, 40} {
				m := runaway{share, times, limit, []float64{0.1, 0.3}[(i+k+j)%2]}
				truth := m.truth()
				for n, rows := range testkit.Size([]int{30, 200}, []int{10, 30, 100, 400}) {
					r := rand.New(rand.NewPCG(23, uint64(1000*i+100*k+10*j+n)))
					passes, unlimited := 0, 0
					some := min(suites, 100)
					for suite := range suites {
						a, b := make([]float64, rows), make([]float64, rows)
						for row := range a {
							a[row], b[row] = m.draw(r)
						}
						if _, bounds, ok := ratioOfAmounts(a, b, limit); ok && bounds.High-1 < truth {
							passes++
						}
						if suite >= some {
							continue
						}
						if _, bounds, ok := ratioOfAmounts(a, b, math.Inf(1)); ok && bounds.High-1 < truth {
							unlimited++
						}
					}
					in := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
					t.Logf("%4.0f %% x %2.0f, limit %2.0f, noise %.1f %14d %7.1f %%  %-28.1f %.1f", 100*share, times, limit, m.noise, rows, 100*truth, in(passes, suites), in(unlimited, some))
					if all, settings = all+passes, settings+1; testkit.Nightly && in(passes, suites) > 3.5 {
						t.Errorf("%+v, %d rows: %.1f %% pass", m, rows, in(passes, suites))
					}
				}
			}
		}
	}
	if share := float64(all) / float64(settings*suites); share > 0.035 {
		t.Errorf("%.1f %% pass", 100*share)
	}
}

// If nothing differs, a gate of an amount passes from about 3.7·(limit/mean-1)/margin rows on, as its documentation says.
func TestRowsForALimit(t *testing.T) {
	for _, tt := range []struct{ limit, margin float64 }{{1, 0.1}, {2, 0.3}, {4, 0.3}, {3, 0.1}, {11, 0.1}} {
		needed := 3.7 * (tt.limit - 1) / tt.margin
		for _, share := range []float64{0.8, 1.25} {
			rows := max(6, int(share*needed))
			same := make([]float64, rows)
			for i := range same {
				same[i] = 1
			}
			_, bounds, ok := ratioOfAmounts(same, same, tt.limit)
			if passes := ok && bounds.High-1 < tt.margin; passes != (share > 1 || tt.limit == 1) {
				t.Errorf("limit %g, margin %g, %d rows: passes %t, up to %.3f", tt.limit, tt.margin, rows, passes, bounds.High)
			}
		}
	}
}
