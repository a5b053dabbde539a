package eval

import "math"

// pairedTrials are the trials of one case in two experiments, A and B. Both have at least one.
type pairedTrials struct{ TrialsA, PassedA, TrialsB, PassedB int }

// meanDifference returns the mean of the differences of cases, each from -1 to 1, and its interval. The
// interval is about cases like these: they are a sample. trials is the number of trials of one
// experiment.
//
// The mean difference is the mean gain minus the mean loss. Each has an interval of its own, and MOVER
// combines them: the square of the distance to the lower bound is x² + y² - 2rxy, where x is the
// distance of the gain to its lower bound, y the distance of the loss to its upper bound, and r their
// correlation, which is negative because no case both gains and loses. Zou and Donner, Statistics in
// Medicine 27:1693, 2008. With one trial per case this is close to Newcombe's method 10, ibid.
// 17:2635, 1998.
func meanDifference(differences []float64, trials int) (mean float64, bounds interval) {
	if len(differences) == 0 {
		return 0, interval{-1, 1}
	}
	gains, losses := make([]float64, len(differences)), make([]float64, len(differences))
	for i, d := range differences {
		gains[i], losses[i] = max(0, d), max(0, -d)
	}
	gain, g := part(gains, trials)
	loss, l := part(losses, trials)
	r := 0.0
	if gain > 0 && loss > 0 {
		n := float64(len(differences))
		_, gainVariance := moments(gains)
		_, lossVariance := moments(losses)
		r = -gain * loss * n / (n - 1) / math.Sqrt(gainVariance*lossVariance)
	}
	distance := func(x, y float64) float64 { return math.Sqrt(x*x + y*y - 2*r*x*y) }
	mean = gain - loss
	return mean, interval{mean - distance(gain-g.Low, l.High-loss), mean + distance(g.High-gain, loss-l.Low)}
}

// part returns the mean of gains or losses and its interval. The lower bound is [meanRate]'s. The upper one
// allows for what so few cases may not show: cases that change outright. meanRate would take the noise of
// trials for all the variance that there is.
//
// For values of 0 and 1 the upper bound is Wilson's, but for t and the variance of a sample.
func part(values []float64, trials int) (mean float64, i interval) {
	mean, i = meanRate(values, trials)
	_, variance := moments(values)
	if len(values) > 1 && mean < 1 {
		i.High = min(1, mean+outright(variance, 1-mean, len(values)))
	}
	return mean, i
}

// outright returns the distance from the mean m of n cases to its upper bound, if a case that was not seen may lie above
// the mean by room, and variance is the variance s² of the cases.
//
// A share e of such cases, beside cases as they were seen, makes the mean u = m + e·room and the variance
// v = (1-e)(s² + (u-m)·room). As in Wilson's interval the bound is the u that solves (u-m)² = t²v/n.
func outright(variance, room float64, n int) float64 {
	t := studentQuantile(0.975, n-1)
	k := t * t / float64(n)
	b := k * (room - variance/room)
	return (b + math.Sqrt(b*b+4*(1+k)*k*variance)) / (2 * (1 + k))
}

// exactVariance is up to which variance [changeTest] counts exactly. Beyond it the normal distribution
// gives the same p to two digits.
const exactVariance = 100

// changeTest tests whether something has changed in these cases. If nothing has, the successes of a
// case fall on its trials in A and B by chance, whatever its rate: their number in B has a
// hypergeometric distribution. The test takes the sum over the cases, as the one of Mantel and
// Haenszel does (J Natl Cancer Inst 22:719, 1959), with the exact distribution of the sum (Birch, J R
// Stat Soc B 26:313, 1964). p is the two-sided mid-p value. With one trial per case this is McNemar's
// mid-p test (Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91, 2013).
//
// excess is how many more trials passed in B than expected, and variance is its variance.
func changeTest(pairs []pairedTrials) (p, excess, variance float64) {
	for _, c := range pairs {
		a, b, passed := float64(c.TrialsA), float64(c.TrialsB), float64(c.PassedA+c.PassedB)
		n := a + b
		excess += float64(c.PassedB) - passed*b/n
		variance += a * b * passed * (n - passed) / (n * n * (n - 1))
	}
	if variance > exactVariance {
		return math.Erfc(math.Abs(excess) / math.Sqrt(2*variance)), excess, variance
	}
	sum, seen := []float64{1}, 0 // the probabilities of the sum from its lowest value, and where the seen one is
	for _, c := range pairs {
		low, chances := c.chances()
		seen += c.PassedB - low
		if len(chances) > 1 {
			sum = convolve(sum, chances)
		}
	}
	below, above := sum[seen]/2, sum[seen]/2
	for _, chance := range sum[:seen] {
		below += chance
	}
	for _, chance := range sum[seen+1:] {
		above += chance
	}
	p = math.Round(2e12*min(below, above)) / 1e12 // so that what is 0.05 on paper is not below it
	return min(1, p), excess, variance
}

// chances returns the probabilities that low, low+1, … successes fall on B.
func (p pairedTrials) chances() (low int, chances []float64) {
	passed := p.PassedA + p.PassedB
	low = max(0, passed-p.TrialsA)
	for k := low; k <= min(passed, p.TrialsB); k++ {
		chances = append(chances, math.Exp(logChoose(p.TrialsB, k)+logChoose(p.TrialsA, passed-k)-logChoose(p.TrialsA+p.TrialsB, passed)))
	}
	return low, chances
}

// convolve returns the probabilities of the sum of two independent numbers.
func convolve(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		for k, q := range b {
			sum[i+k] += p * q
		}
	}
	return sum
}

func logChoose(n, k int) float64 {
	log := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return log(n) - log(k) - log(n-k)
}

// detectableDifference returns the smallest mean difference that [changeTest] finds with a probability
// of about 80 %, for the variance that it returns and the number of trials of one experiment. A change
// brings a variance of its own: each trial that it turns adds 1/4.
func detectableDifference(variance float64, trials int) float64 {
	const c = z + 0.8416212335729143 // the second is the 0.8 quantile of the normal distribution
	return min(1, 2*c*math.Sqrt(max(variance, c*c/4))/float64(trials))
}

// plannedMargin returns the distance from 0 to the bounds of [meanDifference] if none of n cases or groups
// differ. With no value other than 0, [part] sets these bounds.
func plannedMargin(n int) float64 {
	t := studentQuantile(0.975, n-1)
	k := t * t / float64(n)
	return k / (1 + k)
}
