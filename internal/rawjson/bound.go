package rawjson

import (
	"bytes"
	"strconv"
)

// Bounds are for packages whose cost depends on these. 0 means no bound.
type Bounds struct {
	Values    int // most values and names of a document
	NumberLen int // most characters of a number
	Exponent  int // greatest exponent of a number, and with a minus the smallest
}

// Bound returns an [*Error] if doc, which [Read] has accepted in any mode, exceeds bounds.
func Bound(doc []byte, bounds Bounds) error {
	count := 0
	if few := len(doc)/2 < bounds.Values; few && bounds.NumberLen == 0 && bounds.Exponent == 0 {
		return nil // a value and what separates it from the next take two bytes
	}
	for at, end := 0, 0; at < len(doc); at = end {
		kind := kinds[doc[at]]
		if end = tokenEnd(doc, at); kind == 0 { // white space and punctuation
			continue
		}
		if count++; bounds.Values > 0 && count > bounds.Values {
			return beyond(doc, 0, LimitValues, "has more than %d values", bounds.Values)
		}
		if kind != '0' {
			continue
		}
		if bounds.NumberLen > 0 && end-at > bounds.NumberLen {
			return beyond(doc, at, LimitNumberLen, "has a number of more than %d characters", bounds.NumberLen)
		}
		if e := bytes.IndexAny(doc[at:end], "eE"); e >= 0 && bounds.Exponent > 0 {
			n, err := strconv.Atoi(string(doc[at+e+1 : end]))
			if err != nil || n > bounds.Exponent || n < -bounds.Exponent {
				return beyond(doc, at, LimitExponent, "has a number with an exponent beyond %d", bounds.Exponent)
			}
		}
	}
	return nil
}

// Values returns how many values and names doc has, which [Read] has accepted in any mode.
func Values(doc []byte) (n int) {
	for at := 0; at < len(doc); at = tokenEnd(doc, at) {
		if kinds[doc[at]] != 0 {
			n++
		}
	}
	return n
}

func beyond(doc []byte, at int, limit Limit, format string, bound int) error {
	e := errorf(doc, at, at, format, bound)
	e.Limit = limit
	return e
}

// tokenEnd returns where the token ends that begins at doc[at]: a string, a number, a literal, or any
// other single character. Of one that is not valid, it returns an end beyond the first wrong
// character.
func tokenEnd(doc []byte, at int) (end int) {
	switch kinds[doc[at]] {
	case '"':
		end, _ = stringEnd(doc, at+1, true)
		return end + 1
	case '0':
		end, _ = numberEnd(doc, at)
		return end
	case 't', 'n':
		return at + len("true")
	case 'f':
		return at + len("false")
	}
	return at + 1
}
