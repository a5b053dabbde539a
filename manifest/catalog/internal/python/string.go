package python

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// string reads a string whose prefix begins at start. It leaves a string with fields open.
func (s *scanner) string(start int) error {
	prefix := strings.ToLower(string(s.src[start:s.pos]))
	quote := s.at(0)
	triple := s.at(1) == quote && s.at(2) == quote
	s.pos++
	if triple {
		s.pos += 2
	}
	if strings.ContainsAny(prefix, "ft") {
		s.emit(token{kind: data, start: start, end: s.pos})
		return s.push(frame{what: '"', pos: start, quote: quote, triple: triple, raw: strings.Contains(prefix, "r")})
	}
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '\\':
			s.pos++
			s.pos += max(1, s.eol())
		case c == quote && !triple:
			s.pos++
			s.emitString(start, prefix)
			return nil
		case c == quote && s.at(1) == quote && s.at(2) == quote:
			s.pos += 3
			s.emitString(start, prefix)
			return nil
		case !triple && s.eol() > 0:
			return s.fail(start, "the string that begins here is not closed on its line")
		default:
			s.pos++
		}
	}
	return s.fail(start, "the string that begins here is not closed")
}

func (s *scanner) emitString(start int, prefix string) {
	k := text
	if strings.Contains(prefix, "b") {
		k = data
	}
	s.emit(token{kind: k, start: start, end: s.pos})
}

// inString reads on in a string with fields, or in a format: one character, an end, or the
// beginning of a field.
func (s *scanner) inString(top *frame) error {
	c := s.at(0)
	format := top.what == ':'
	switch {
	case c == '\\':
		s.escape(top.raw)
	case c == top.quote && (!top.triple || s.at(1) == c && s.at(2) == c):
		if format {
			return s.fail(s.pos, "the f-string ends here, but a field in it is not closed")
		}
		s.pos++
		if top.triple {
			s.pos += 2
		}
		s.pop()
	case !top.triple && s.eol() > 0:
		if !format {
			return s.fail(top.pos, "the f-string that begins here is not closed on its line")
		}
		s.pop() // a line may end in the field
	case c == '{' && s.at(1) == '{' && !format, c == '}' && s.at(1) == '}' && !format:
		s.pos += 2
	case c == '{':
		s.pos++
		return s.push(frame{what: '}', pos: s.pos - 1})
	case c == '}' && format:
		s.pos++
		s.pop()
		s.pop() // the field
	case c == '}':
		return s.fail(s.pos, "a single '}' in an f-string; write it twice")
	default:
		s.pos++
	}
	return nil
}

// escape skips a backslash and the character after it, except for braces, which are fields even
// then.
func (s *scanner) escape(raw bool) {
	s.pos++
	if n := s.eol(); n > 0 {
		s.pos += n
		return
	}
	switch c := s.at(0); {
	case c == '{' || c == '}':
	case c == 'N' && s.at(1) == '{' && !raw: // \N{BULLET}
		for s.pos += 2; s.pos < len(s.src); s.pos++ {
			c := s.src[s.pos]
			if c == '}' {
				s.pos++
				return
			}
			if !isLetter(c) && !isDigit(c) && c != ' ' && c != '-' && c != '(' && c != ')' && c != ',' && c != '_' {
				return
			}
		}
	case s.pos < len(s.src):
		s.pos++
	}
}

// value returns the text of a string literal, if it is known.
func value(literal []byte) (string, bool) {
	body := strings.TrimLeft(string(literal), "rRuU")
	raw := strings.ContainsAny(string(literal[:len(literal)-len(body)]), "rR")
	n := 1
	if len(body) >= 6 && body[1] == body[0] && body[2] == body[0] {
		n = 3
	}
	body = body[n : len(body)-n]
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	if raw || !strings.Contains(body, `\`) {
		return body, true
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			b.WriteByte(body[i])
			continue
		}
		i++
		switch c := body[i]; c { // a literal does not end with a backslash
		case '\n':
		case '\\', '\'', '"':
			b.WriteByte(c)
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			b.WriteByte("\a\b\f\n\r\t\v"[strings.IndexByte("abfnrtv", c)])
		case 'x', 'u', 'U':
			digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+digits >= len(body) {
				return "", false
			}
			r, err := strconv.ParseUint(body[i+1:i+1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(r)) {
				return "", false
			}
			b.WriteRune(rune(r))
			i += digits
		case '0', '1', '2', '3', '4', '5', '6', '7':
			end := i + 1
			for end < len(body) && end < i+3 && '0' <= body[end] && body[end] <= '7' {
				end++
			}
			r, _ := strconv.ParseUint(body[i:end], 8, 32) // octal digits
			b.WriteRune(rune(r))
			i = end - 1
		case 'N': // the names of characters are not known
			return "", false
		default: // Python keeps the backslash of an unknown escape
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
