package rawjson

// Bound returns an [*Error] if doc, which [Read] has accepted in any mode, has more than the given
// number of values and names, or a number of more than numberLen characters. 0 means no bound. It
// is for packages whose cost depends on these.
func Bound(doc []byte, values, numberLen int) error {
	count := 0
	for i := 0; i < len(doc); {
		start := i
		switch kinds[doc[i]] {
		case '{', '[':
			i++
		case '"':
			end, _ := stringEnd(doc, i+1, true)
			i = end + 1
		case '0':
			i, _ = numberEnd(doc, i)
			if numberLen > 0 && i-start > numberLen {
				e := errorf(doc, start, start, "has a number of more than %d characters", numberLen)
				e.Limit = LimitNumberLen
				return e
			}
		case 't', 'n':
			i += len("true")
		case 'f':
			i += len("false")
		default: // white space and punctuation
			i++
			continue
		}
		if count++; values > 0 && count > values {
			e := errorf(doc, start, 0, "has more than %d values", values)
			e.Limit = LimitValues
			return e
		}
	}
	return nil
}
