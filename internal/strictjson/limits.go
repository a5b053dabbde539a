package strictjson

import "bytes"

// Limits bounds what a document may cost whoever works with it later. The zero value of a field means its default.
type Limits struct {
	Depth     int // nesting of objects and arrays; default 256
	Values    int // values and names in all; default 500,000
	NumberLen int // characters of one number; default 64
}

const (
	defaultDepth     = 256
	defaultValues    = 500_000
	defaultNumberLen = 64
)

// check runs before anything parses doc, so it must not assume that doc is valid JSON: of a broken document it may
// count wrong, but the parser then refuses it anyway. Most documents pass on bounds that need no look at the structure.
func (l Limits) check(doc []byte) error {
	depth, values, numberLen := orDefault(l.Depth, defaultDepth), orDefault(l.Values, defaultValues), orDefault(l.NumberLen, defaultNumberLen)
	opens := bytes.Count(doc, []byte{'{'}) + bytes.Count(doc, []byte{'['})
	if opens > depth {
		if err := checkDepth(doc, depth); err != nil {
			return err
		}
	}
	mayHold := 1 + opens + bytes.Count(doc, []byte{','}) + bytes.Count(doc, []byte{':'})
	if mayHold > values || longNumber(doc, numberLen) {
		return checkTokens(doc, values, numberLen)
	}
	return nil
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// checkDepth is the one pass that every large document pays, so it does nothing but follow brackets and skip strings.
func checkDepth(doc []byte, most int) error {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch class[doc[i]] {
		case quote:
			i = endOfString(doc, i)
		case open:
			depth++
			if depth > most {
				return errorf(int64(i), "", "is nested more than %d levels deep", most)
			}
		case closing:
			depth--
		}
	}
	return nil
}

// endOfString returns the index of the quote that ends the string that begins at doc[i], or len(doc).
func endOfString(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return i
}

// longNumber reports whether doc has a run of number characters longer than most, inside strings or not. Such a run
// covers a position divisible by most+1, so only those are looked at.
func longNumber(doc []byte, most int) bool {
	for i := most; i < len(doc); i += most + 1 {
		if class[doc[i]] != number {
			continue
		}
		start, end := i, i+1
		for start > 0 && class[doc[start-1]] == number {
			start--
		}
		for end < len(doc) && class[doc[end]] == number {
			end++
		}
		if end-start > most {
			return true
		}
	}
	return false
}

// checkTokens counts values and measures numbers exactly.
func checkTokens(doc []byte, maxValues, maxNumber int) error {
	values := 1
	for i := 0; i < len(doc); i++ {
		switch class[doc[i]] {
		case quote:
			i = endOfString(doc, i)
		case open, separator:
			values++
			if values > maxValues {
				return errorf(int64(i), "", "has more than %d values", maxValues)
			}
		case number:
			start := i
			for i+1 < len(doc) && class[doc[i+1]] == number {
				i++
			}
			if i+1-start > maxNumber {
				return errorf(int64(start), "", "has a number of more than %d characters", maxNumber)
			}
		}
	}
	return nil
}

const (
	quote = iota + 1
	open
	closing
	separator
	number
)

var class = [256]byte{
	'"': quote, '{': open, '[': open, '}': closing, ']': closing, ',': separator, ':': separator,
	'0': number, '1': number, '2': number, '3': number, '4': number, '5': number, '6': number, '7': number,
	'8': number, '9': number, '-': number, '+': number, '.': number, 'e': number, 'E': number,
}
