package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// MinCases is the smallest number of cases that differ at which [SignFlip] can return less than
// 0.05: two of 2⁶ assignments of signs are as extreme as all differences in one direction.
const MinCases = 6

// exactCases is up to how many differences all assignments of signs are counted. Beyond it, draws
// of them are.
const (
	exactCases = 20
	draws      = 20_000
)

// SignFlip tests whether paired differences have the mean 0. It returns the share of assignments of
// signs whose sum is at least as far from 0 as the sum of the differences. Up to 20 differences that
// are not 0 it counts all assignments, and beyond that 20,000 that seed chooses.
func SignFlip(differences []float64, seed uint64) (p float64) {
	var d []float64
	sum, scale := 0.0, 0.0
	for _, v := range differences {
		if v != 0 { // its sign changes nothing
			d = append(d, v)
			sum += v
			scale += math.Abs(v)
		}
	}
	if len(d) == 0 {
		return 1
	}
	limit := math.Abs(sum) - 1e-9*scale // sums in another order differ in their last bits
	extreme := 0
	if len(d) <= exactCases {
		// Successive Gray codes differ in one bit, so each sum takes one step. The sign of the last
		// difference stays: the other half of the assignments has the same sums, negated.
		free := len(d) - 1
		for i := range 1 << free {
			if i > 0 {
				flip := bits.TrailingZeros(uint(i))
				d[flip] = -d[flip]
				sum += 2 * d[flip]
			}
			if math.Abs(sum) >= limit {
				extreme++
			}
		}
		return float64(extreme) / float64(int(1)<<free)
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(d))))
	for range draws {
		sum, word := 0.0, uint64(0)
		for i, v := range d {
			if i%64 == 0 {
				word = random.Uint64()
			}
			if word>>(i%64)&1 == 0 {
				v = -v
			}
			sum += v
		}
		if math.Abs(sum) >= limit {
			extreme++
		}
	}
	return float64(extreme+1) / (draws + 1) // the assignment that was seen is one of them
}

// McNemar tests one trial per case: up cases changed from failure to success, down cases from
// success to failure. It returns the mid-p value, Fagerland, Lydersen and Laake, BMC Medical
// Research Methodology 13:91, 2013.
func McNemar(up, down int) (p float64) {
	n := up + down
	if n == 0 {
		return 1
	}
	low := min(up, down)
	tail := 0.0
	for i := range low + 1 {
		term := math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
		if i == low {
			term /= 2
		}
		tail += term
	}
	return min(1, 2*tail)
}

func logChoose(n, k int) float64 {
	log := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return log(n) - log(k) - log(n-k)
}

// Difference returns the mean of paired differences and its t interval. One difference says nothing
// about others: its interval is [-1, 1]. Differences that are all equal would have an interval
// without width, which claims a certainty that they do not give. They get the variance that n
// values have of which one lies 1 apart; the interval is then about 3/n to both sides, as in the
// rule of three.
func Difference(differences []float64) (mean float64, interval Interval) {
	n := float64(len(differences))
	if n < 2 {
		for _, mean = range differences {
		}
		return mean, Interval{-1, 1}
	}
	mean, _ = moments(differences)
	half := Quantile(0.975, len(differences)-1) * Deviation(differences) / math.Sqrt(n)
	return mean, Interval{max(-1, mean-half), min(1, mean+half)}
}

// Deviation returns the standard deviation of two differences or more. If they are all equal, it is
// that of [Difference].
func Deviation(differences []float64) float64 {
	_, variance := moments(differences)
	if variance < 1e-18 {
		variance = 1 / float64(len(differences))
	}
	return math.Sqrt(variance)
}

// Detectable returns the smallest mean difference that a test of n pairs finds with a probability
// of 80 %, if the differences have the standard deviation sd. It is at most 1, which is also the
// answer for fewer than two pairs.
func Detectable(sd float64, n int) float64 {
	if n < 2 {
		return 1
	}
	return min(1, (Quantile(0.975, n-1)+Quantile(0.8, n-1))*sd/math.Sqrt(float64(n)))
}
