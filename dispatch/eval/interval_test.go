package eval

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
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
			all, some := repeatedTrials(n, c)
			if len(all) != n || len(some) != n {
				t.Fatalf("%d and %d probabilities of %d trials", len(all), len(some), n)
			}
			for k := 1; k <= n; k++ {
				subsets, every, anySuccess := 0, 0, 0
				for subset := range uint(1) << n {
					if bits.OnesCount(subset) != k {
						continue
					}
					subsets++
					if subset&^successes == 0 {
						every++
					}
					if subset&successes != 0 {
						anySuccess++
					}
				}
				name := fmt.Sprintf("n=%d c=%d k=%d", n, c, k)
				near(t, "all of "+name, all[k-1], float64(every)/float64(subsets), 1e-12)
				near(t, "any of "+name, some[k-1], float64(anySuccess)/float64(subsets), 1e-12)
			}
		}
	}
}

// The values come from printed tables of the t distribution.
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
		near(t, fmt.Sprintf("Quantile(%v, %d)", row.p, row.df), studentQuantile(row.p, row.df), row.want, 0.0006)
	}
	near(t, "where the expansion begins", studentQuantile(0.975, 1001), studentQuantile(0.975, 1000), 1e-5)
}

func TestWilson(t *testing.T) {
	for _, row := range []struct{ successes, n, low, high float64 }{
		{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {81, 263, 0.2553, 0.3662}, // the last: Newcombe 1998
	} {
		i := wilson(row.successes, row.n)
		near(t, fmt.Sprintf("lower bound of %v of %v", row.successes, row.n), i.Low, row.low, 5e-5)
		near(t, fmt.Sprintf("upper bound of %v of %v", row.successes, row.n), i.High, row.high, 5e-5)
	}
}

func TestMean(t *testing.T) {
	if _, i := meanRate(nil, 0); i != (interval{0, 1}) {
		t.Errorf("the interval of no cases is %v", i)
	}
	for name, row := range map[string]struct {
		rates  []float64
		trials int
		mean   float64
		want   interval
	}{
		"one case":                         {[]float64{0.6}, 5, 0.6, wilson(0.6, 1)},
		"all pass":                         {[]float64{1, 1, 1, 1}, 20, 1, wilson(4, 4)},
		"none passes":                      {[]float64{0, 0}, 20, 0, wilson(0, 2)},
		"equal rates are all trials":       {[]float64{0.5, 0.5, 0.5}, 12, 0.5, wilson(6, 12)},
		"cases without noise count a case": {[]float64{1, 0, 1, 0}, 400, 0.5, wilson(0.5*3*ratio2(3), 3*ratio2(3))},
	} {
		mean, got := meanRate(row.rates, row.trials)
		near(t, name+": mean", mean, row.mean, 1e-12)
		near(t, name+": low", got.Low, row.want.Low, 1e-9)
		near(t, name+": high", got.High, row.want.High, 1e-9)
	}
}

func ratio2(df int) float64 { r := 1.959963984540054 / studentQuantile(0.975, df); return r * r }

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
		if _, i := meanRate(rates, cases*trials); i.Low <= mean && mean <= i.High {
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

// alike returns n pairs of the same trials.
func alike(n int, pair pairedTrials) (pairs []pairedTrials) {
	for range n {
		pairs = append(pairs, pair)
	}
	return pairs
}

var (
	stays = pairedTrials{TrialsA: 1, PassedA: 1, TrialsB: 1, PassedB: 1}
	up    = pairedTrials{TrialsA: 1, TrialsB: 1, PassedB: 1}
	down  = pairedTrials{TrialsA: 1, PassedA: 1, TrialsB: 1}
)

// An independent program computed the bounds. It solves the equations by bisection.
func TestDifference(t *testing.T) {
	fractions := []pairedTrials{{4, 4, 4, 1}, {4, 2, 4, 3}, {4, 4, 4, 4}, {4, 0, 4, 0}, {2, 1, 4, 4}, {4, 3, 3, 0}, {4, 4, 4, 2}, {4, 1, 4, 2}}
	for name, row := range map[string]struct {
		pairs           []pairedTrials
		mean, low, high float64
	}{
		"no pairs":                     {nil, 0, -1, 1},
		"no change is not certainty":   {alike(20, stays), 0, -0.179681, 0.179681},
		"7 of 20 lost":                 {slices.Concat(alike(7, down), alike(13, stays)), -0.35, -0.584268, -0.095484},
		"9 against 3 of 40":            {slices.Concat(alike(9, up), alike(3, down), alike(28, stays)), 0.15, -0.029027, 0.321591},
		"several trials":               {slices.Concat(fractions, fractions, fractions), -0.125, -0.345552, 0.113540},
		"the same loss of each":        {alike(10, pairedTrials{5, 5, 5, 4}), -0.2, -0.470807, 0.149650},
		"equal losses of fewer trials": {alike(10, pairedTrials{5, 5, 3, 2}), -1.0 / 3, -0.559006, 0.033378},
		"one pair says little":         {alike(1, down), -1, -1, 0.122109},
		"everything lost":              {alike(30, down), -1, -1, -0.833088},
		"a loss in each of two cases":  {alike(2, pairedTrials{2, 2, 2, 1}), -0.5, -0.993882, 0.547926},
	} {
		mean, i := differenceOf(row.pairs)
		near(t, name+": mean", mean, row.mean, 1e-12)
		near(t, name+": low", i.Low, row.low, 2e-6)
		near(t, name+": high", i.High, row.high, 2e-6)
		back := slices.Clone(row.pairs)
		for k, p := range back {
			back[k] = pairedTrials{TrialsA: p.TrialsB, PassedA: p.PassedB, TrialsB: p.TrialsA, PassedB: p.PassedA}
		}
		_, j := differenceOf(back)
		near(t, name+": the other way", j.Low, -i.High, 1e-12)
	}
}

// p is the share of all ways to deal the successes of each case to its trials. Ways that give what was
// seen count half.
func TestChangedEqualsEnumeration(t *testing.T) {
	for _, pairs := range [][]pairedTrials{
		{{2, 2, 2, 0}}, {{2, 2, 2, 0}, {2, 1, 2, 1}, {1, 0, 1, 1}}, {{3, 3, 2, 0}, {1, 1, 4, 2}}, {{3, 0, 3, 3}, {3, 1, 3, 2}}, {{4, 4, 1, 0}, {1, 1, 1, 1}},
		{{1, 0, 1, 0}}, {{4, 0, 4, 4}},
	} {
		below, same, above := 0, 0, 0
		sums, seen := []int{0}, 0 // of the successes that fall on B, one for each way to deal them
		for _, p := range pairs {
			var next []int
			for way := range 1 << (p.TrialsA + p.TrialsB) {
				if bits.OnesCount(uint(way)) == p.PassedA+p.PassedB {
					for _, sum := range sums {
						next = append(next, sum+bits.OnesCount(uint(way>>p.TrialsA)))
					}
				}
			}
			sums, seen = next, seen+p.PassedB
		}
		mean, square := 0.0, 0.0
		for _, sum := range sums {
			mean += float64(sum) / float64(len(sums))
			square += float64(sum*sum) / float64(len(sums))
			switch {
			case sum < seen:
				below++
			case sum > seen:
				above++
			default:
				same++
			}
		}
		p, excess, variance := changeTest(pairs)
		near(t, fmt.Sprint("p of ", pairs), p, min(1, float64(2*min(below, above)+same)/float64(len(sums))), 1e-9)
		near(t, fmt.Sprint("excess of ", pairs), excess, float64(seen)-mean, 1e-9)
		near(t, fmt.Sprint("variance of ", pairs), variance, square-mean*mean, 1e-9)
	}
}

// With one trial per case the test is McNemar's, with the mid-p value.
func TestChangedOneTrial(t *testing.T) {
	for _, row := range []struct {
		up, down int
		want     float64
	}{
		{0, 0, 1}, {1, 0, 0.5}, {5, 5, 1}, {0, 6, 0.015625}, {1, 7, 0.0390625}, {5, 0, 0.03125},
		{16, 9, 0.16863754}, // 2·(P(X<9)+P(X=9)/2) of 25
		{228, 192, 0.0791},  // 420 changes: beyond what is counted exactly, and equal to two digits
	} {
		for _, pairs := range [][]pairedTrials{
			slices.Concat(alike(row.up, up), alike(row.down, down), alike(9, stays)), slices.Concat(alike(row.down, up), alike(row.up, down)),
		} {
			p, excess, variance := changeTest(pairs)
			near(t, fmt.Sprintf("p of %d and %d", row.up, row.down), p, row.want, max(1e-8, row.want/200*float64((row.up+row.down)/400)))
			near(t, "excess", math.Abs(excess), math.Abs(float64(row.up-row.down))/2, 1e-9)
			near(t, "variance", variance, float64(row.up+row.down)/4, 1e-9)
		}
	}
	if p, _, _ := changeTest(slices.Concat(alike(3000, up), alike(2000, down))); !(p >= 0 && p < 1e-10) {
		t.Errorf("3000 against 2000: p = %v", p)
	}
	if p, _, _ := changeTest([]pairedTrials{{10_000, 10_000, 10_000, 9_000}}); !(p >= 0 && p < 1e-10) {
		t.Errorf("one case of 10,000 trials: p = %v", p)
	}
}

// A p of 0.05 on paper is not below 0.05: three of three trials of one case in place of none.
func TestChangedAtTheLevel(t *testing.T) {
	if p, _, _ := changeTest([]pairedTrials{{3, 0, 3, 3}}); p != 0.05 {
		t.Errorf("p = %.17f", p)
	}
}

func TestDetectable(t *testing.T) {
	const c = 1.959964 + 0.841621
	near(t, "50 trials of a variance of 6.25", detectableDifference(6.25, 50), 2*c*2.5/50, 1e-6)
	near(t, "nothing varies but what changes", detectableDifference(0, 100), c*c/100, 1e-6)
	near(t, "too few trials", detectableDifference(0, 7), 1, 0)
	near(t, "no trial", detectableDifference(0, 0), 1, 0)
	near(t, "planned", detectableDifference(25, 200), c*math.Sqrt(0.5/200), 1e-6)
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
