package eval

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
)

func TestKappa(t *testing.T) {
	// 20 of 50 grants by both, 15 by neither: kappa 0.4, the textbook's example.
	kappa, i, ok := cohensKappa(raters{BothPass: 20, FirstPasses: 5, SecondPasses: 10, BothFail: 15})
	if !ok || math.Abs(kappa-0.4) > 1e-9 || !(i.Low > 0.05 && i.Low < 0.2 && i.High > 0.55 && i.High < 0.7) {
		t.Error(kappa, i, ok)
	}
	near(t, "low", i.Low, 0.120743, 2e-6) // by a program of its own
	near(t, "high", i.High, 0.619997, 2e-6)
	_, i, _ = cohensKappa(raters{BothPass: 8, FirstPasses: 2, SecondPasses: 1, BothFail: 4})
	near(t, "low of few", i.Low, 0.005200, 2e-6)
	near(t, "high of few", i.High, 0.896534, 2e-6)
	if kappa, i, ok := cohensKappa(raters{BothPass: 15, BothFail: 15}); !ok || kappa != 1 || i.High != 1 || i.Low > 0.8 {
		t.Error(kappa, i, ok)
	}
	// Shares of several trials may add up to a number that is not whole.
	third := 1.0 / 3
	thirds := raters{BothPass: third + third + third - 1e-16, BothFail: third + third + third - 1e-16}
	if kappa, _, ok := cohensKappa(thirds); !ok || math.Abs(kappa-1) > 1e-9 {
		t.Error(kappa, ok)
	}
	_, i, _ = cohensKappa(raters{BothPass: 5, FirstPasses: 1, SecondPasses: 1, BothFail: 3 - 1e-12})
	if _, whole, _ := cohensKappa(raters{BothPass: 5, FirstPasses: 1, SecondPasses: 1, BothFail: 3}); math.Abs(i.Low-whole.Low) > 1e-6 || math.Abs(i.High-whole.High) > 1e-6 {
		t.Error(i, whole)
	}
	for _, one := range []raters{{}, {BothPass: 1}, {BothPass: 9, FirstPasses: 1}, {SecondPasses: 1, BothPass: 9}, {BothFail: 9}} {
		if _, _, ok := cohensKappa(one); ok {
			t.Errorf("%+v has a kappa", one)
		}
	}
}

// The interval holds the kappa of the cases in at least 93 % of suites of 30 cases, even where nearly
// all pass and where the raters nearly always agree.
func TestIntervalOfKappa(t *testing.T) {
	suites := testkit.Size(200, 6000)
	for i, m := range []struct{ passing, kappa, bias float64 }{
		{0.5, 0.4, 0}, {0.5, 0.7, 0}, {0.5, 0.9, 0}, {0.8, 0.4, 0}, {0.8, 0.7, 0}, {0.8, 0.9, 0}, {0.9, 0.5, 0}, {0.9, 0.8, 0}, {0.7, 0.6, 0.5}, {0.8, 0.3, 0.8},
	} {
		unlike := m.passing * (1 - m.passing) * (1 - m.kappa)
		both, first, second := m.passing-unlike, unlike*(1+m.bias), unlike*(1-m.bias)
		a, b := both+first, both+second
		chance := a*b + (1-a)*(1-b)
		truth := (1 - first - second - chance) / (1 - chance)
		r := rand.New(rand.NewPCG(14, uint64(i)))
		held, defined := 0, 0
		for range suites {
			var table raters
			for range 30 {
				switch u := r.Float64(); {
				case u < both:
					table.BothPass++
				case u < both+first:
					table.FirstPasses++
				case u < both+first+second:
					table.SecondPasses++
				default:
					table.BothFail++
				}
			}
			if _, i, ok := cohensKappa(table); ok {
				if defined++; i.Low <= truth && truth <= i.High {
					held++
				}
			}
		}
		share := float64(held) / float64(defined)
		t.Logf("%+v: %.1f %%", m, 100*share)
		if share < 0.93 {
			t.Errorf("%+v: the interval holds the truth in %.1f %%", m, 100*share)
		}
	}
}
