package rawjson

import (
	"bytes"
	"strconv"
)

// BoundNumbers returns an [*Error] if doc, which [Read] has accepted in any mode, has a number of more than
// length characters, or with an exponent that is greater than exponent or smaller than its negative.
func BoundNumbers(doc []byte, length, exponent int) error {
	for at, end := 0, 0; at < len(doc); at = end {
		if end = tokenEnd(doc, at); kinds[doc[at]] != '0' {
			continue
		}
		if end-at > length {
			return beyond(doc, at, LimitNumberLen, "has a number of more than %d characters", length)
		}
		if e := bytes.IndexAny(doc[at:end], "eE"); e >= 0 {
			if n, err := strconv.Atoi(string(doc[at+e+1 : end])); err != nil || n > exponent || n < -exponent {
				return beyond(doc, at, LimitExponent, "has a number with an exponent beyond %d", exponent)
			}
		}
	}
	return nil
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
