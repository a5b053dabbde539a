package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

// lognormal draws an amount whose mean is 1.
func lognormal(r *rand.Rand, sigma float64) float64 {
	return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
}

// An amounts draws what a case needs. mean is the mean of all cases.
type amounts struct {
	name string
	mean float64
	draw func(*rand.Rand) float64
}

var amountModels = []amounts{
	{"even", 2, func(r *rand.Rand) float64 { return 1 + 2*r.Float64() }},
	{"spread", 1, func(r *rand.Rand) float64 { return lognormal(r, 0.5) }},
	{"wide", 1, func(r *rand.Rand) float64 { return lognormal(r, 1) }},
	{"until it works", 3, func(r *rand.Rand) float64 {
		n := 1.0
		for r.Float64() < 2.0/3 {
			n++
		}
		return n
	}},
	{"one in ten needs ten times as much", 1.9, func(r *rand.Rand) float64 { return either(r, 0.1, 10, 1) * lognormal(r, 0.3) }},
	{"one in ten needs three times as much", 1.2, func(r *rand.Rand) float64 { return either(r, 0.1, 3, 1) * lognormal(r, 0.3) }},
}

// The intervals of amounts and of their ratios hold the truth in at least 93 % of
// suites, from 30 cases on.
func TestIntervalsOfAmounts(t *testing.T) {
	suites := testkit.Size(100, 3000)
	least := 0.93 - 3*math.Sqrt(0.93*0.07/float64(suites))
	if testkit.Full {
		least = 0.93
	}
	for i, m := range amountModels {
		for k, n := range []int{30, 100} {
			r := rand.New(rand.NewPCG(11, uint64(10*i+k)))
			var held [2]int
			for range suites {
				const change = 1.2 // of the candidate
				a, b := make([]float64, n), make([]float64, n)
				for i := range a {
					size := m.draw(r)
					a[i], b[i] = size*lognormal(r, 0.3), change*size*lognormal(r, 0.3)
				}
				_, mean, ok := meanAmount(a)
				_, ratio, ok2 := ratioOfAmounts(a, b, math.Inf(1))
				for i, in := range []bool{
					ok && mean.Low <= m.mean && m.mean <= mean.High,
					ok2 && ratio.Low <= change && change <= ratio.High,
				} {
					if in {
						held[i]++
					}
				}
			}
			for i, what := range []string{"mean", "ratio"} {
				share := float64(held[i]) / float64(suites)
				t.Logf("%s, %d cases, %s: %.1f %%", m.name, n, what, 100*share)
				if share < least {
					t.Errorf("%s, %d cases: the interval of the %s holds the truth in %.1f %%", m.name, n, what, 100*share)
				}
			}
		}
	}
}

func TestAmounts(t *testing.T) {
	for _, few := range [][]float64{nil, {3}} {
		if _, _, ok := meanAmount(few); ok {
			t.Errorf("%v has an interval", few)
		}
	}
	if mean, i, ok := meanAmount([]float64{2, 2, 2}); !ok || mean != 2 || i != (interval{Low: 2, High: 2}) {
		t.Error(mean, i, ok)
	}
	// Without skewness it is Student's: 2 ± 4.303·1/√3.
	if _, i, _ := meanAmount([]float64{1, 2, 3}); math.Abs(i.High-4.484) > 0.001 || math.Abs(i.Low+0.484) > 0.001 {
		t.Error(i)
	}
	// An independent program computed the bounds of skewed amounts. It solves Hall's equation by bisection.
	for _, tt := range []struct {
		values    []float64
		low, high float64
	}{
		{[]float64{1, 1, 1, 2, 10}, -1.888436, 18.877371}, {[]float64{10, 10, 10, 9, 1}, -7.877371, 12.888436},
		{[]float64{1, 2, 3, 4, 50, 6, 7, 8}, -3.498642, 54.542204},
	} {
		_, i, _ := meanAmount(tt.values)
		near(t, fmt.Sprint("low of ", tt.values), i.Low, tt.low, 2e-6)
		near(t, fmt.Sprint("high of ", tt.values), i.High, tt.high, 2e-6)
	}
	if ratio, i, ok := ratioOfAmounts([]float64{5, 6, 5, 6}, []float64{10, 12, 10, 12}, math.Inf(1)); !ok || ratio != 2 || math.Abs(i.Low-2) > 1e-6 || math.Abs(i.High-2) > 1e-6 {
		t.Error(ratio, i, ok)
	}
	if ratio, i, ok := ratioOfAmounts([]float64{5, 6, 5, 6}, []float64{0, 0, 1, 0}, math.Inf(1)); !ok || i.Low != 0 || i.High < ratio {
		t.Error(ratio, i, ok)
	}
	for _, unbounded := range [][2][]float64{{{0, 0}, {1, 2}}, {{1}, {1}}, {{0, 0, 9}, {1, 2, 3}}} {
		if _, i, ok := ratioOfAmounts(unbounded[0], unbounded[1], math.Inf(1)); ok {
			t.Errorf("%v has the bounds %v", unbounded, i)
		}
	}
}
