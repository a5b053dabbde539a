package redact

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
)

// unescape undoes the escapes of ASCII characters: backslashes, \u0041, %41, and ~0 and ~1 of a JSON Pointer. A character
// that an escape stands for may complete another escape, which is undone, too. No escape begins within another, so their
// order does not matter. starts has the offset in the text of each byte that is left, and at its end where the last one
// ended.
func unescape(text string, steps *int) (bare string, starts []int) {
	left := make([]byte, 0, len(text))
	starts = make([]int, 0, len(text)+1)
	start := 0
	for i := range len(text) {
		for c := text[i]; c != '\\'; {
			*steps++
			left, starts = append(left, c), append(starts, start)
			meant, size := lastEscape(left)
			if size == 0 {
				start = i + 1
				break
			}
			n := len(left) - size
			c, start = meant, starts[n]
			left, starts = left[:n], starts[:n]
		}
	}
	return string(left), append(starts, start)
}

// lastEscape reads the escape at the end of a text without backslashes. If there is none, size is 0.
func lastEscape(text []byte) (meant byte, size int) {
	n := len(text)
	switch {
	case bytes.HasSuffix(text, []byte("~0")):
		return '~', 2
	case bytes.HasSuffix(text, []byte("~1")):
		return '/', 2
	case n >= 3 && text[n-3] == '%':
		size = 3
	case n >= 5 && bytes.EqualFold(text[n-5:n-2], []byte("u00")):
		size = 5
	default:
		return 0, 0
	}
	var code [1]byte
	if _, err := hex.Decode(code[:], text[n-2:]); err != nil || code[0] >= utf8.RuneSelf {
		return 0, 0
	}
	return code[0], size
}
