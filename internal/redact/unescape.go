package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// Has reports whether text contains a secret of ASCII characters as it is, with escapes or in base64, as Redact
// finds it. It costs less than making a [Set].
func Has(text []byte, secret string) bool {
	if bytes.Contains(text, []byte(secret)) || hasBase64(text, secret) {
		return true
	}
	if bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text, '~') < 0 {
		return false
	}
	bare, _ := unescape(text)
	plain, _ := unescape(secret)
	return strings.Contains(bare, plain) || hasBase64([]byte(bare), secret)
}

// hasBase64 looks for the forms of inBase64, without allocating for a secret of usual length.
func hasBase64(text []byte, secret string) bool {
	if len(secret) < minBase64 {
		return false
	}
	var plain, coded [1 << 10]byte
	for shift := range 3 {
		shifted := append(append(plain[:0], "\x00\x00"[:shift]...), secret...)
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			form := encoding.AppendEncode(coded[:0], shifted)[(shift*8+5)/6 : (shift+len(secret))*8/6]
			if bytes.Contains(text, form) {
				return true
			}
			if !bytes.ContainsAny(form, "+/") {
				break // the forms differ in these characters only
			}
		}
	}
	return false
}

// unescape undoes the escapes of ASCII characters: backslashes, \u0041, %41, and ~0 and ~1 of a
// JSON Pointer. A character that an escape stands for may complete another escape, which is undone,
// too. No escape begins within another, so their order does not matter. origin has, for each byte that is
// left, the number of bytes of the text that it comes from.
func unescape[T []byte | string](text T) (bare string, origin sizes) {
	left, sizes := make([]byte, len(text)), sizes{small: make([]byte, len(text))}
	n, size := 0, 0 // how many bytes are left, and how many of the text are behind the last one
	for i := range len(text) {
		size++
		for c := text[i]; c != '\\'; {
			left[n] = c
			escape := 0
			if hexValue(c) >= 0 { // no escape ends in another character
				c, escape = lastEscape(left[:n+1])
			}
			if escape == 0 {
				sizes.set(n, size)
				n, size = n+1, 0
				break
			}
			for range escape - 1 {
				n--
				size += sizes.take(n)
			}
		}
	}
	sizes.small = sizes.small[:n]
	return string(left[:n]), sizes
}

// sizes is a list of numbers, most of them small: it takes a byte for each.
type sizes struct {
	small []byte // 255 stands for the next of large
	large []int
}

// set sets the number at an index, behind all others.
func (s *sizes) set(at, size int) {
	if s.small[at] = byte(size); size >= 255 {
		s.small[at], s.large = 255, append(s.large, size)
	}
}

// take returns the last number, whose index is at, and forgets it.
func (s *sizes) take(at int) int {
	size := int(s.small[at])
	if last := len(s.large) - 1; size == 255 {
		size, s.large = s.large[last], s.large[:last]
	}
	return size
}

// next removes the first number.
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
	low := hexValue(text[n-1])
	switch {
	case low < 0:
		return 0, 0
	case low < 2 && n >= 2 && text[n-2] == '~':
		return "~/"[low], 2
	case n >= 3 && text[n-3] == '%':
		size = 3
	case n >= 5 && text[n-3] == '0' && text[n-4] == '0' && text[n-5]|0x20 == 'u':
		size = 5
	default:
		return 0, 0
	}
	high := hexValue(text[n-2])
	if high < 0 || high > 7 { // not ASCII
		return 0, 0
	}
	return byte(high<<4 | low), size
}

// hexValue returns the value of a hexadecimal digit, or -1.
func hexValue(c byte) int {
	switch {
	case c-'0' <= 9:
		return int(c - '0')
	case c|0x20-'a' <= 5:
		return int(c|0x20-'a') + 10
	}
	return -1
}
