package main

import (
	"fmt"
	"math"
	"slices"
)

// library is the way that is compared with all others.
const library = "toolwire"

// A spread is the median of a quantity over the rounds, and its extremes. It is not a number if
// nothing was measured.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	return spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]}
}

// ratio returns the library's cost divided by that of another way in the same round. It has no
// value where the other way cost nothing that could be measured, as with -quick.
func (r *results) ratio(s series, other string) spread {
	s.way = library
	ours := r.values[s]
	s.way = other
	theirs := r.values[s]
	var ratios []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] > 0 {
			ratios = append(ratios, ours[i]/theirs[i])
		}
	}
	return spreadOf(ratios)
}

// String returns the median with its extremes, unless they are equal.
func (s spread) String() string {
	if math.IsNaN(s.median) {
		return "–"
	}
	if s.low == s.high {
		return digits(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", digits(s.median), digits(s.low), digits(s.high))
}

// digits returns a whole number, or one with two digits after the point or with two significant ones.
func digits(x float64) string {
	switch {
	case x == math.Trunc(x) && x > 1:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.095 || x == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// quantity returns a value with its unit.
func quantity(x float64, unit string) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case unit == "ns/op" && x < 1e3:
		return fmt.Sprintf("%.0f ns", x)
	case unit == "ns/op" && x < 1e6:
		return fmt.Sprintf("%.3g µs", x/1e3)
	case unit == "ns/op" && x < 1e9:
		return fmt.Sprintf("%.3g ms", x/1e6)
	case unit == "ns/op":
		return fmt.Sprintf("%.3g s", x/1e9)
	case unit == "allocs/op":
		return fmt.Sprintf("%.0f", x)
	case x < 1000:
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.0f", x)
}
