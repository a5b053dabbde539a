package stats_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/toolwire/toolwire/internal/stats"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// The estimators are the shares of all subsets of k trials in which all, or any, succeeded.
func TestEstimatorsEqualEnumeration(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for c := 0; c <= n; c++ {
			successes := uint(1)<<c - 1
			for k := 1; k <= n; k++ {
				subsets, all, anySuccess := 0, 0, 0
				for subset := range uint(1) << n {
					if bits.OnesCount(subset) != k {
						continue
					}
					subsets++
					if subset&^successes == 0 {
						all++
					}
					if subset&successes != 0 {
						anySuccess++
					}
				}
				name := fmt.Sprintf("n=%d c=%d k=%d", n, c, k)
				p, ok := stats.PassAll(n, c, k)
				near(t, "PassAll "+name, p, float64(all)/float64(subsets), 1e-12)
				q, ok2 := stats.PassAny(n, c, k)
				near(t, "PassAny "+name, q, float64(anySuccess)/float64(subsets), 1e-12)
				if !ok || !ok2 {
					t.Errorf("%s is not defined", name)
				}
			}
		}
	}
	for _, k := range []int{-1, 0, 4} {
		if _, ok := stats.PassAll(3, 3, k); ok {
			t.Errorf("PassAll(3, 3, %d) is defined", k)
		}
		if _, ok := stats.PassAny(3, 3, k); ok {
			t.Errorf("PassAny(3, 3, %d) is defined", k)
		}
	}
}

// The values are those of printed tables of the t distribution.
func TestQuantile(t *testing.T) {
	for _, row := range []struct {
		p    float64
		df   int
		want float64
	}{
		{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 3, 3.182}, {0.975, 4, 2.776}, {0.975, 5, 2.571}, {0.975, 9, 2.262},
		{0.975, 10, 2.228}, {0.975, 30, 2.042}, {0.975, 60, 2.000}, {0.975, 120, 1.980}, {0.975, 1000, 1.962}, {0.975, 1001, 1.962},
		{0.975, 100_000, 1.960}, {0.8, 1, 1.376}, {0.8, 10, 0.879}, {0.95, 20, 1.725}, {0.995, 5, 4.032}, {0.5, 7, 0},
	} {
		near(t, fmt.Sprintf("Quantile(%v, %d)", row.p, row.df), stats.Quantile(row.p, row.df), row.want, 0.0006)
	}
	near(t, "where the expansion begins", stats.Quantile(0.975, 1001), stats.Quantile(0.975, 1000), 1e-5)
}

func TestWilson(t *testing.T) {
	for _, row := range []struct{ successes, n, low, high float64 }{
		{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {81, 263, 0.2553, 0.3662}, // the last: Newcombe 1998
	} {
		i := stats.Wilson(row.successes, row.n)
		near(t, fmt.Sprintf("lower bound of %v of %v", row.successes, row.n), i.Low, row.low, 5e-5)
		near(t, fmt.Sprintf("upper bound of %v of %v", row.successes, row.n), i.High, row.high, 5e-5)
	}
}

func TestMean(t *testing.T) {
	if _, i := stats.Mean(nil, 0); i != (stats.Interval{0, 1}) {
		t.Errorf("the interval of no cases is %v", i)
	}
	for name, row := range map[string]struct {
		rates  []float64
		trials int
		mean   float64
		want   stats.Interval
	}{
		"one case":                         {[]float64{0.6}, 5, 0.6, stats.Wilson(0.6, 1)},
		"all pass":                         {[]float64{1, 1, 1, 1}, 20, 1, stats.Wilson(4, 4)},
		"none passes":                      {[]float64{0, 0}, 20, 0, stats.Wilson(0, 2)},
		"equal rates are all trials":       {[]float64{0.5, 0.5, 0.5}, 12, 0.5, stats.Wilson(6, 12)},
		"cases without noise count a case": {[]float64{1, 0, 1, 0}, 400, 0.5, stats.Wilson(0.5*3*ratio2(3), 3*ratio2(3))},
	} {
		mean, got := stats.Mean(row.rates, row.trials)
		near(t, name+": mean", mean, row.mean, 1e-12)
		near(t, name+": low", got.Low, row.want.Low, 1e-9)
		near(t, name+": high", got.High, row.want.High, 1e-9)
	}
}

func ratio2(df int) float64 { r := 1.959963984540054 / stats.Quantile(0.975, df); return r * r }

// coverage returns the share of simulated sets whose interval holds the true mean of the rates of
// all cases. The rate of a case has a beta distribution of the mean and intraclass correlation.
func coverage(r *rand.Rand, mean, correlation float64, cases, trials, sets int) float64 {
	within := 0
	for range sets {
		rates := make([]float64, cases)
		for i := range rates {
			p := beta(r, mean*(1/correlation-1), (1-mean)*(1/correlation-1))
			for range trials {
				if r.Float64() < p {
					rates[i] += 1 / float64(trials)
				}
			}
		}
		if _, i := stats.Mean(rates, cases*trials); i.Low <= mean && mean <= i.High {
			within++
		}
	}
	return float64(within) / float64(sets)
}

// TestCoverage simulates a seeded grid of settings. Its seeds are fixed, so its result is too.
func TestCoverage(t *testing.T) {
	total, settings := 0.0, 0
	for _, mean := range []float64{0.5, 0.7, 0.9} {
		for _, correlation := range []float64{0.3, 0.5} {
			for _, cases := range []int{10, 20, 50} {
				for _, trials := range []int{1, 5} {
					r := rand.New(rand.NewPCG(1, uint64(settings)))
					c := coverage(r, mean, correlation, cases, trials, 2000)
					total, settings = total+c, settings+1
					if c < 0.92 {
						t.Errorf("mean %v, correlation %v, %d cases, %d trials: coverage %.3f", mean, correlation, cases, trials, c)
					}
				}
			}
		}
	}
	if mean := total / float64(settings); mean < 0.93 {
		t.Errorf("coverage of the grid is %.3f, want at least 0.93", mean)
	} else {
		t.Logf("coverage of the grid: %.3f in %d settings", mean, settings)
	}
}

func TestSignFlip(t *testing.T) {
	same := func(n int, v float64) []float64 {
		d := make([]float64, n)
		for i := range d {
			d[i] = v
		}
		return d
	}
	for name, row := range map[string]struct {
		d    []float64
		want float64
	}{
		"none":                      {nil, 1},
		"zeros":                     {make([]float64, 30), 1},
		"one":                       {[]float64{0.5}, 1},
		"five in one direction":     {same(5, 0.2), 2.0 / 32},
		"six in one direction":      {same(6, -0.1), 2.0 / 64},
		"zeros change nothing":      {append(same(6, -0.1), 0, 0, 0), 2.0 / 64},
		"one against three":         {[]float64{0.1, 0.1, 0.1, -0.1}, 10.0 / 16},
		"the largest decides alone": {[]float64{1, 0.1, 0.1}, 2.0 / 8},
		"twenty":                    {same(20, 0.05), 2.0 / (1 << 20)},
	} {
		near(t, name, stats.SignFlip(row.d, 1), row.want, 1e-12)
	}
	if p := stats.SignFlip(same(stats.MinCases-1, 1), 1); p < 0.05 {
		t.Errorf("%d cases can be significant: %v", stats.MinCases-1, p)
	}
	if p := stats.SignFlip(same(stats.MinCases, 1), 1); p >= 0.05 {
		t.Errorf("%d cases cannot be significant: %v", stats.MinCases, p)
	}
	mixed := append(same(70, 0.1), same(50, -0.1)...)
	p := stats.SignFlip(mixed, 7)
	near(t, "drawn: 70 against 50", p, 0.0825, 0.012) // two-sided binomial: 2·P(X >= 70 of 120) = 0.0825
	if stats.SignFlip(mixed, 7) != p {
		t.Error("one seed gave two results")
	}
}

func TestMcNemar(t *testing.T) {
	for _, row := range []struct {
		up, down int
		want     float64
	}{
		{0, 0, 1}, {1, 0, 0.5}, {5, 5, 1}, {0, 6, 0.015625}, {1, 7, 0.0390625},
		{16, 9, 0.16863754}, // 2·(P(X<9)+P(X=9)/2) of 25
	} {
		near(t, fmt.Sprintf("McNemar(%d, %d)", row.up, row.down), stats.McNemar(row.up, row.down), row.want, 1e-8)
		near(t, fmt.Sprintf("McNemar(%d, %d)", row.down, row.up), stats.McNemar(row.down, row.up), stats.McNemar(row.up, row.down), 1e-12)
	}
	if p := stats.McNemar(3000, 2000); !(p >= 0 && p < 1e-10) {
		t.Errorf("McNemar(3000, 2000) = %v", p)
	}
}

func TestDifference(t *testing.T) {
	if mean, i := stats.Difference([]float64{0.3}); mean != 0.3 || i != (stats.Interval{-1, 1}) {
		t.Errorf("one difference: %v %v", mean, i)
	}
	if mean, i := stats.Difference(nil); mean != 0 || i != (stats.Interval{-1, 1}) {
		t.Errorf("no difference: %v %v", mean, i)
	}
	mean, i := stats.Difference(make([]float64, 20))
	near(t, "mean of no change", mean, 0, 0)
	near(t, "no change is not certainty", i.High, 2.093/20, 1e-3)
	mean, i = stats.Difference([]float64{0.1, 0.3, -0.1, 0.5})
	near(t, "mean", mean, 0.2, 1e-12)
	near(t, "low", i.Low, 0.2-3.182*0.258199/2, 1e-3)
	near(t, "high", i.High, 0.2+3.182*0.258199/2, 1e-3)
}

// TestFalseAlarms compares an agent with itself: at most 6 of 100 comparisons may find a
// difference, and the interval must hold 0 in at least 93. The seeds are fixed.
func TestFalseAlarms(t *testing.T) {
	for _, row := range []struct{ cases, trials int }{{10, 3}, {15, 5}, {40, 1}, {40, 3}} {
		const experiments = 600
		r := rand.New(rand.NewPCG(2, uint64(row.cases*100+row.trials)))
		alarms, missed := 0, 0
		for e := range experiments {
			d := make([]float64, row.cases)
			up, down := 0, 0
			for i := range d {
				p := beta(r, 0.7*1.5, 0.3*1.5)
				for range row.trials {
					a, b := r.Float64() < p, r.Float64() < p
					if b && !a {
						d[i] += 1 / float64(row.trials)
						up++
					}
					if a && !b {
						d[i] -= 1 / float64(row.trials)
						down++
					}
				}
			}
			p := 1.0
			if row.trials == 1 {
				p = stats.McNemar(up, down)
			} else {
				p = stats.SignFlip(d, uint64(e))
			}
			if p < 0.05 {
				alarms++
			}
			if _, i := stats.Difference(d); i.Low > 0 || i.High < 0 {
				missed++
			}
		}
		if alarms > experiments*6/100 || missed > experiments*7/100 {
			t.Errorf("%d cases, %d trials: %d false alarms and %d intervals without 0 in %d", row.cases, row.trials, alarms, missed, experiments)
		}
		t.Logf("%d cases, %d trials: %.1f %% false alarms, %.1f %% intervals without 0", row.cases, row.trials,
			100*float64(alarms)/experiments, 100*float64(missed)/experiments)
	}
}

func TestDeviation(t *testing.T) {
	near(t, "of four", stats.Deviation([]float64{0.1, 0.3, -0.1, 0.5}), 0.258199, 1e-6)
	near(t, "of equal differences", stats.Deviation(make([]float64, 16)), 0.25, 1e-12)
}

func TestDetectable(t *testing.T) {
	near(t, "50 pairs", stats.Detectable(0.3, 50), (2.0096+0.8490)*0.3/math.Sqrt(50), 1e-3)
	near(t, "two pairs", stats.Detectable(0.5, 2), 1, 0)
	near(t, "one pair", stats.Detectable(0.1, 1), 1, 0)
}

// beta draws from a beta distribution as the quotient of two gamma variables.
func beta(r *rand.Rand, a, b float64) float64 {
	x, y := gamma(r, a), gamma(r, b)
	if x+y == 0 {
		return 0.5
	}
	return x / (x + y)
}

// gamma draws by the method of Marsaglia and Tsang, ACM TOMS 26:363, 2000.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
