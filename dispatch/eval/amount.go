package eval

import "math"

// meanAmount returns the mean of amounts that have no upper bound, such as numbers of calls and costs, and
// its interval. Each value belongs to a case; the cases are a sample of others like them. ok
// is false if there are fewer than two, which say nothing about others.
//
// Amounts are skewed: a few cases need much more than the others. Student's interval then is too low.
// Hall's transformation of it (J R Stat Soc B 54:221, 1992) corrects that, and is too short where the
// skewness of the sample is by chance. The interval covers both.
func meanAmount(values []float64) (mean float64, bounds interval, ok bool) {
	mean, variance := moments(values)
	n := float64(len(values))
	if n < 2 {
		return mean, interval{}, false
	}
	third := 0.0
	for _, v := range values {
		third += (v - mean) * (v - mean) * (v - mean) / n
	}
	s := math.Sqrt(variance)
	t := studentQuantile(0.975, len(values)-1) / math.Sqrt(n)
	low, high := -t, t
	if deviation := math.Sqrt(variance * (n - 1) / n); deviation > 0 {
		if g := third / (deviation * deviation * deviation); math.Abs(g) > 1e-6 {
			inverse := func(y float64) float64 { return 3 / g * (math.Cbrt(1+g*(y-g/(6*n))) - 1) }
			low, high = min(low, -inverse(t)), max(high, -inverse(-t))
		}
	}
	return mean, interval{mean + s*low, mean + s*high}, true
}

// ratioOfAmounts returns the mean of b divided by the mean of a, for the values of the same cases, and
// its interval: the ratios r around it for which the interval of b - r·a contains 0, which is Fieller's
// idea. ok is false if a has no positive mean, or if the cases do not bound the ratio.
//
// A few cases of b that run away may be missing in a sample, and a sample says nothing about them. If no value of b
// exceeds the limit, the upper bound allows for cases at the limit that were not seen, see [outright]. An infinite
// limit allows for none.
func ratioOfAmounts(a, b []float64, limit float64) (ratio float64, bounds interval, ok bool) {
	meanA, _ := moments(a)
	meanB, _ := moments(b)
	if len(a) < 2 || !(meanA > 0) {
		return 0, interval{}, false
	}
	ratio = meanB / meanA
	contrast := make([]float64, len(a))
	at := func(r float64) interval {
		for i := range a {
			contrast[i] = b[i] - r*a[i]
		}
		mean, i, _ := meanAmount(contrast)
		if room := limit - meanB; room > 0 && !math.IsInf(limit, 1) {
			_, variance := moments(contrast)
			i.High = max(i.High, mean+outright(variance, room, len(a)))
		}
		return i
	}
	bound := func(inside, outside float64, is func(interval) bool) float64 {
		for range 40 {
			if middle := (inside + outside) / 2; is(at(middle)) {
				outside = middle
			} else {
				inside = middle
			}
		}
		return inside
	}
	below := func(i interval) bool { return i.High < 0 }
	above := func(i interval) bool { return i.Low > 0 }
	far := 2*ratio + 1
	for !below(at(far)) {
		if far *= 2; far > 1e6*(ratio+1) {
			return ratio, interval{}, false
		}
	}
	bounds.High = bound(ratio, far, below)
	if above(at(0)) {
		bounds.Low = bound(ratio, 0, above)
	}
	return ratio, bounds, true
}
