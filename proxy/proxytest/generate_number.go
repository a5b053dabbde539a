package proxytest

import (
	"encoding/json"
	"math"
	"strconv"
)

// number returns a number within the bounds, which default to 1 and 1000. Numbers that are not
// integers have two decimals.
func (s *draft) number(object map[string]any, integer bool) any {
	step, fixed := 0.01, integer
	if integer {
		step = 1
	}
	if multiple, ok := limit(object, "multipleOf"); ok && multiple > 0 && (!integer || multiple == math.Trunc(multiple)) {
		step, fixed = multiple, true
	}
	low, first, last := steps(object, step)
	for range 12 { // a number between 0.001 and 0.002 needs more decimals
		if last >= first || fixed {
			break
		}
		step /= 10
		low, first, last = steps(object, step)
	}
	if last < first {
		return rounded(low, integer)
	}
	return rounded((first+math.Floor(s.random.Float64()*(last-first+1)))*step, integer)
}

// steps returns the lowest number that is allowed, and the first and last multiple of step within
// the bounds.
func steps(object map[string]any, step float64) (low, first, last float64) {
	low, hasLow := limit(object, "minimum")
	if above, ok := limit(object, "exclusiveMinimum"); ok && (!hasLow || above >= low) {
		low, hasLow = math.Floor(above/step)*step+step, true
	}
	high, hasHigh := limit(object, "maximum")
	if below, ok := limit(object, "exclusiveMaximum"); ok && (!hasHigh || below <= high) {
		high, hasHigh = math.Ceil(below/step)*step-step, true
	}
	switch {
	case !hasLow && !hasHigh:
		low, high = step, max(1000, step)
	case !hasLow:
		low = high - max(1000, step)
	case !hasHigh:
		high = low + max(1000, step)
	}
	// Some tools declare the bounds of the type.
	if span := high/step - low/step; math.IsInf(span, 0) || math.IsNaN(span) {
		low, high = max(low, -1e6), min(high, 1e6)
	}
	return low, math.Ceil(low / step), math.Floor(high / step)
}

// rounded removes what floating point adds: 12.340000000000002 is 12.34.
func rounded(f float64, integer bool) json.Number {
	if integer {
		return json.Number(strconv.FormatFloat(math.Round(f), 'f', 0, 64))
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64)
	return json.Number(strconv.FormatFloat(short, 'f', -1, 64))
}
