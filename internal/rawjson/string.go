package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const ones, highs = 0x0101010101010101, 0x8080808080808080

// special marks the bytes of v that are not plain ASCII text: quotes, backslashes, control
// characters and parts of longer runes. A byte below n sets its high bit in v-n*ones. A borrow can
// set those above it too, so only the lowest mark counts.
func special(v uint64) uint64 {
	return ((v - ones*' ') | ((v ^ ones*'"') - ones) | ((v ^ ones*'\\') - ones) | v) & highs
}

// stringEnd returns the index of the closing quote of the string whose text begins at doc[i], or
// the index of what is wrong with it. It looks at eight bytes at a time. lonely allows escapes of
// half a surrogate pair.
func stringEnd(doc []byte, i int, lonely bool) (end int, ok bool) {
	for {
		if len(doc)-i >= 8 {
			m := special(binary.LittleEndian.Uint64(doc[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
		} else if uint(i) >= uint(len(doc)) {
			return i, false
		}
		switch c := doc[i]; {
		case c == '"':
			return i, true
		case c >= utf8.RuneSelf:
			for uint(i) < uint(len(doc)) && doc[i] >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(doc[i:])
				if r == utf8.RuneError && size == 1 {
					return i, false
				}
				i += size
			}
		case c == '\\':
			if uint(i+1) < uint(len(doc)) && short[doc[i+1]] != 0 {
				i += 2
				continue
			}
			size := escapeLen(doc[i:], lonely)
			if size == 0 {
				return i, false
			}
			i += size
		case c < ' ':
			return i, false
		default: // near the end of the document
			i++
		}
	}
}

// escapeLen returns the length of the escape sequence that b begins with, 0 if it is not valid. The
// two halves of a surrogate pair are one sequence.
func escapeLen(b []byte, lonely bool) int {
	if len(b) < 2 {
		return 0
	}
	if short[b[1]] != 0 {
		return 2
	}
	r := hex4(b)
	if r < 0xD800 || r > 0xDFFF {
		if r < 0 {
			return 0
		}
		return 6
	}
	if isPair(r, b[6:]) {
		return 12
	}
	if lonely {
		return 6
	}
	return 0
}

// isPair reports whether r and the escape sequence that b begins with are a surrogate pair.
func isPair(r rune, b []byte) bool {
	low := hex4(b)
	return r < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF
}

// short has the character for which a backslash and another stand.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hex4 reads the \uXXXX that b begins with; -1 if it does not begin so.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	return hexValue[b[2]]<<12 | hexValue[b[3]]<<8 | hexValue[b[4]]<<4 | hexValue[b[5]]
}

// hexValue is the value of each hexadecimal digit. The value of any other byte is negative, whatever
// it is combined with.
var hexValue = func() (values [256]rune) {
	for c := range values {
		switch {
		case '0' <= c && c <= '9':
			values[c] = rune(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			values[c] = rune(c|0x20-'a') + 10
		default:
			values[c] = -1
		}
	}
	return values
}()

// unquote returns what a valid string, with its quotes, stands for. Half of a surrogate pair stands
// for U+FFFD.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(appendText(nil, inner))
}

// appendText appends what the inside of a valid string stands for. Half of a surrogate pair stands
// for U+FFFD.
func appendText(dst, b []byte) []byte {
	for {
		plain := bytes.IndexByte(b, '\\')
		if plain < 0 {
			return append(dst, b...)
		}
		dst, b = append(dst, b[:plain]...), b[plain:]
		if c := short[b[1]]; c != 0 {
			dst, b = append(dst, c), b[2:]
			continue
		}
		r := hex4(b)
		b = b[6:]
		if r >= 0xD800 && r <= 0xDFFF {
			if isPair(r, b) {
				r = (r-0xD800)<<10 | (hex4(b) - 0xDC00) + 0x10000
				b = b[6:]
			} else {
				r = utf8.RuneError
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}
