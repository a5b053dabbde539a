package eval

import "math"

// studentQuantile returns the p quantile of Student's t distribution with df degrees of freedom. p is at
// least 0.5 and below 1.
func studentQuantile(p float64, df int) float64 {
	low, high := 0.0, 2.0
	for cumulative(high, df) < p {
		low, high = high, 2*high
	}
	for range 100 { // more halvings than a float64 has bits
		middle := (low + high) / 2
		if middle == low || middle == high {
			break
		}
		if cumulative(middle, df) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// cumulative is the distribution function for t >= 0. For a whole number of degrees of freedom it is
// a finite sum: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
// Beyond 1,000 degrees the expansion 26.7.8 is exact to ten digits.
func cumulative(t float64, df int) float64 {
	n := float64(df)
	if df > 1000 {
		x := t * (1 - 1/(4*n)) / math.Sqrt(1+t*t/(2*n))
		return (1 + math.Erf(x/math.Sqrt2)) / 2
	}
	theta := math.Atan2(t, math.Sqrt(n))
	sin, cos := math.Sincos(theta)
	term, sum, first := 1.0, 0.0, 2
	if df%2 == 1 {
		term, first = cos, 3
	}
	if df > 1 {
		sum = term
	}
	for k := first; k <= df-2; k += 2 {
		term *= float64(k-1) / float64(k) * cos * cos
		sum += term
	}
	area := sin * sum
	if df%2 == 1 {
		area = 2 / math.Pi * (theta + area)
	}
	return (1 + area) / 2
}
