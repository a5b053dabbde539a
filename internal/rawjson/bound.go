package rawjson

// Bound returns an [*Error] if doc, which [Read] has accepted in any mode, has more than the given
// number of values and names, or a number of more than numberLen characters. 0 means no bound. It
// is for packages whose cost depends on these.
func Bound(doc []byte, values, numberLen int) error {
	count := 0
	for at, end := 0, 0; at < len(doc); at = end {
		kind := kinds[doc[at]]
		if end = tokenEnd(doc, at); kind == 0 { // white space and punctuation
			continue
		}
		if kind == '0' && numberLen > 0 && end-at > numberLen {
			e := errorf(doc, at, at, "has a number of more than %d characters", numberLen)
			e.Limit = LimitNumberLen
			return e
		}
		if count++; values > 0 && count > values {
			e := errorf(doc, at, 0, "has more than %d values", values)
			e.Limit = LimitValues
			return e
		}
	}
	return nil
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
