package eval

import "math"

// A case is tried n times and succeeds c times. The trials of one case are not independent, so the
// case is the unit of everything that is said about a set of cases: Miller, arXiv 2411.00640, and
// Bowyer et al., arXiv 2503.01747. All intervals and tests are two-sided with a level of 95 %.

// z is the 0.975 quantile of the normal distribution.
const z = 1.959963984540054

// An interval is a 95 % confidence interval.
type interval struct{ Low, High float64 }

// repeatedTrials estimates what k trials of a case do together, from c successes in n trials, for each k
// from 1 to n. all[k-1] is the probability that all succeed, C(c,k)/C(n,k), which is pass^k of arXiv
// 2406.12045. any[k-1] is the probability that at least one does, 1 - C(n-c,k)/C(n,k), which is pass@k
// of arXiv 2107.03374.
func repeatedTrials(n, c int) (all, any []float64) {
	all, any = make([]float64, n), make([]float64, n)
	whole, none := 1.0, 1.0 // products of k quotients, so that nothing overflows
	for i := range n {
		whole *= float64(max(0, c-i)) / float64(n-i)
		none *= float64(max(0, n-c-i)) / float64(n-i)
		all[i], any[i] = whole, 1-none
	}
	return all, any
}

// wilson returns the score interval of a rate of successes in n trials. Neither has to be whole. It
// returns [0, 1] for n <= 0.
func wilson(successes, n float64) interval {
	if n <= 0 {
		return interval{0, 1}
	}
	p := successes / n
	centre := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return interval{max(0, (centre-half)/scale), min(1, (centre+half)/scale)}
}

// meanRate returns the mean of the rates of cases and its interval. trials is the number of trials of
// all cases together.
//
// The interval is Wilson's on an effective number of trials, (m(1-m)/s²)·(z/t)², where s² is the
// variance of the rates divided by their number and t the quantile with one degree of freedom fewer
// than there are cases. It is at most trials. Where the variance says nothing (one case, or rates
// that are all 0 or all 1), it is the number of cases.
func meanRate(rates []float64, trials int) (mean float64, bounds interval) {
	mean, n := effective(rates, trials)
	return mean, wilson(mean*n, n)
}

// meanPower returns the mean of the pass^k or pass@k of cases and its interval. trials is the number of
// groups of k trials of all cases together.
//
// These values are often near 0 or 1, where Wilson's interval is too short. meanPower takes the one of
// Agresti and Coull (The American Statistician 52:119, 1998), on the same effective number of trials. It
// has the same centre, and contains Wilson's.
func meanPower(values []float64, trials int) (mean float64, bounds interval) {
	mean, n := effective(values, trials)
	if n == 0 {
		return mean, interval{0, 1}
	}
	centre := (mean*n + z*z/2) / (n + z*z)
	half := z * math.Sqrt(centre*(1-centre)/(n+z*z))
	return mean, interval{max(0, centre-half), min(1, centre+half)}
}

// effective returns the mean of the rates of cases and the effective number of trials.
func effective(rates []float64, trials int) (mean, n float64) {
	cases := len(rates)
	if cases == 0 {
		return 0, 0
	}
	mean, variance := moments(rates)
	n = float64(cases)
	if cases > 1 && mean > 0 && mean < 1 {
		t := z / studentQuantile(0.975, cases-1)
		n = min(mean*(1-mean)/(variance/n)*t*t, float64(trials))
	}
	return mean, n
}

// moments returns the mean and the variance of a sample. The variance of one value is 0.
func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	if len(values) < 2 {
		return mean, 0
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(values)-1)
}
