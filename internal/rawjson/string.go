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
			if i, ok = runesEnd(doc, i); !ok {
				return i, false
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

// runesEnd returns the index of the quote, backslash or control character before which the text
// ends that begins at doc[i] with a rune, the index of the last bytes of the document, or the index
// of a rune that is not valid UTF-8. It checks the runes of two and three bytes of eight bytes at a
// time, because their lengths vary and the processor guesses branches on them wrong.
func runesEnd(doc []byte, i int) (end int, ok bool) {
	open := uint64(0) // the high bits of the bytes that continue a rune of the eight bytes before
	for len(doc)-i >= 8 {
		v := binary.LittleEndian.Uint64(doc[i:])
		stop := ((v - ones*' ') | ((v ^ ones*'"') - ones) | ((v ^ ones*'\\') - ones)) &^ v & highs
		n := 8
		if stop != 0 {
			v &= stop&-stop>>7 - 1 // the bytes below
			n = bits.TrailingZeros64(stop) / 8
		}
		first := v << 1 & v & highs // 11xxxxxx
		three := v << 2 & first     // 111xxxxx
		low := v & (ones * 0x0F)
		short := first &^ three &^ (v&(ones*0x1E) + ones*0x7F) // would fit one byte
		// Runes that begin with E0 or ED have more rules, and those that begin with F are longer.
		rare := three & (v<<3 | ^(low + ones*0x7F) | ^(low ^ ones*0x0D + ones*0x7F))
		next := first<<8 | three<<16 | open
		if next^v&highs&^first|short|rare == 0 {
			i, open = i+n, first>>56|three>>48
			if n < 8 {
				return i, true
			}
			continue
		}
		at := i
		if open != 0 { // back to the rune's first byte
			for at--; doc[at] < 0xC0; at-- {
			}
		}
		for open = 0; at < i+n; {
			size := 1
			if doc[at] >= utf8.RuneSelf {
				if size = runeLen(doc[at:]); size == 0 {
					return at, false
				}
			}
			at += size
		}
		if i = at; n < 8 {
			return i, true
		}
	}
	if open != 0 {
		for i--; doc[i] < 0xC0; i-- {
		}
	}
	for uint(i) < uint(len(doc)) && doc[i] >= utf8.RuneSelf {
		size := runeLen(doc[i:])
		if size == 0 {
			return i, false
		}
		i += size
	}
	return i, true
}

// runeLen returns the length of the rune of two to four bytes that b begins with, 0 if it is not
// valid UTF-8.
func runeLen(b []byte) int {
	if len(b) < 4 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			return 0
		}
		return size
	}
	v := binary.LittleEndian.Uint32(b)
	switch {
	case v&0xC0C0F0 == 0x8080E0: // 1110xxxx 10xxxxxx 10xxxxxx
		// The four top bits and the next one: 0 and 0 would fit two bytes, 1101 and 1 is a
		// surrogate.
		if top := v & 0x200F; top != 0 && top != 0x200D {
			return 3
		}
	case v&0xC0E0 == 0x80C0: // 110xxxxx 10xxxxxx
		if v&0x1E != 0 { // else it would fit one byte
			return 2
		}
	case v&0xC0C0C0F8 == 0x808080F0: // 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
		if plane := v&7<<2 | v>>12&3; plane-1 < 16 {
			return 4
		}
	}
	return 0
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
