package jsonpath

import (
	"strconv"
	"strings"
)

// quoted reads a string literal of RFC 9535. It may have the escapes of JSON, and an escaped quote
// of its own kind.
func (p *parser) quoted() (string, *Error) {
	quote := p.rest[0]
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case c < 0x20:
			return "", p.malformed("has a control character in a name; escape it")
		case c != '\\':
			b.WriteByte(c)
		default:
			r, n := escape(p.rest[i+1:], quote)
			if n == 0 {
				return "", p.malformed("has an escape in a name that JSON does not know")
			}
			b.WriteRune(r)
			i += n
		}
	}
	return "", p.malformed("has a name that is not closed with " + string(quote))
}

// escape reads what follows a backslash. It returns the character and its length in bytes, which is
// 0 if the escape is not valid.
func escape(text string, quote byte) (r rune, n int) {
	if text == "" {
		return 0, 0
	}
	switch c := text[0]; c {
	case quote, '\\', '/':
		return rune(c), 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'u':
		high, ok := hex4(text[1:])
		if !ok || high >= 0xDC00 && high < 0xE000 {
			return 0, 0
		}
		if high < 0xD800 || high >= 0xE000 {
			return high, 5
		}
		if !strings.HasPrefix(text[5:], `\u`) {
			return 0, 0
		}
		low, ok := hex4(text[7:])
		if !ok || low < 0xDC00 || low >= 0xE000 {
			return 0, 0
		}
		return (high-0xD800)<<10 + (low - 0xDC00) + 0x10000, 11
	}
	return 0, 0
}

func hex4(text string) (rune, bool) {
	if len(text) < 4 || strings.Trim(text[:4], "0123456789abcdefABCDEF") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(text[:4], 16, 32)
	return rune(v), err == nil
}
