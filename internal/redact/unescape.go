package redact

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"
)

// unescape undoes the escapes of ASCII characters: backslashes, \u0041, %41, and ~0 and ~1 of a
// JSON Pointer. A character that an escape stands for may complete another escape, which is undone,
// too. No escape begins within another, so their order does not matter. origin has, for each byte that is
// left, the number of bytes of the text that it comes from.
func unescape(text string) (bare string, origin sizes) {
	left := make([]byte, 0, len(text))
	origin.small = make([]byte, 0, len(text))
	size := 0 // of the text behind the last byte that is left
	for i := range len(text) {
		size++
		for c := text[i]; c != '\\'; {
			left = append(left, c)
			meant, escape := lastEscape(left)
			if escape == 0 {
				origin.push(size)
				size = 0
				break
			}
			c, left = meant, left[:len(left)-escape]
			for range escape - 1 {
				size += origin.pop()
			}
		}
	}
	return string(left), origin
}

// sizes is a list of numbers, most of them small: it takes a byte for each.
type sizes struct {
	small []byte // 255 stands for the next of large
	large []int
}

func (s *sizes) push(size int) {
	if size >= 255 {
		s.large = append(s.large, size)
	}
	s.small = append(s.small, byte(min(size, 255)))
}

// pop removes the last size.
func (s *sizes) pop() int {
	size := int(s.small[len(s.small)-1])
	s.small = s.small[:len(s.small)-1]
	if size == 255 {
		size = s.large[len(s.large)-1]
		s.large = s.large[:len(s.large)-1]
	}
	return size
}

// next removes the first size.
func (s *sizes) next() int {
	size := int(s.small[0])
	s.small = s.small[1:]
	if size == 255 {
		size, s.large = s.large[0], s.large[1:]
	}
	return size
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
