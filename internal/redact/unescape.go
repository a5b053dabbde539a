package redact

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
)

// unescape undoes the escapes of ASCII characters: backslashes, \u0041, %41, and ~0 and ~1 of a
// JSON Pointer. A character that an escape stands for may complete another escape, which is undone,
// too. No escape begins within another, so their order does not matter. origin has the offset in
// the text of each byte that is left, and at its end where the last one ended.
func unescape(text string) (bare string, origin offsets) {
	left := make([]byte, 0, len(text))
	start := 0
	for i := range len(text) {
		for c := text[i]; c != '\\'; {
			origin.set(len(left), start)
			left = append(left, c)
			meant, size := lastEscape(left)
			if size == 0 {
				start = i + 1
				break
			}
			left = left[:len(left)-size]
			c, start = meant, origin.cut(len(left))
		}
	}
	origin.set(len(left), start)
	return string(left), origin
}

// offsets maps each index of a text without escapes to an offset in the text with them. It has an
// entry only where the difference of the two changes, since texts may be long and escapes few. The
// first entry is for index 0.
type offsets []struct{ index, offset int }

// set sets the offset of an index behind all others.
func (o *offsets) set(index, offset int) {
	if n := len(*o); n == 0 || (*o)[n-1].offset-(*o)[n-1].index != offset-index {
		*o = append(*o, struct{ index, offset int }{index, offset})
	}
}

// cut forgets the index and what is behind it. It returns the offset that the index had.
func (o *offsets) cut(index int) int {
	n := len(*o) - 1
	for (*o)[n].index > index {
		n--
	}
	offset := (*o)[n].offset + index - (*o)[n].index
	if (*o)[n].index < index {
		n++
	}
	*o = (*o)[:n]
	return offset
}

// offset returns the offset of an index, and forgets what is before it.
func (o *offsets) offset(index int) int {
	for len(*o) > 1 && (*o)[1].index <= index {
		*o = (*o)[1:]
	}
	return (*o)[0].offset + index - (*o)[0].index
}

// lastEscape reads the escape at the end of a text without backslashes. If there is none, size is
// 0.
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
