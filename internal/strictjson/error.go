package strictjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says where a document is wrong and why. It names members and positions, never values.
type Error struct {
	Offset  int64  // bytes from the start of the document
	Pointer string // JSON Pointer (RFC 6901) of the value concerned; "" is the document itself
	Problem string
	Limit   Limit // the limit that the document is beyond, if that is what is wrong
}

// A Limit names one of [Limits].
type Limit string

const (
	LimitDepth     Limit = "depth"
	LimitValues    Limit = "values"
	LimitNumberLen Limit = "number_len"
)

func (e *Error) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return fmt.Sprintf("invalid JSON at byte %d: %s %s", e.Offset, e.Pointer, e.Problem)
}

func errorf(offset int, pointer, format string, args ...any) *Error {
	return &Error{Offset: int64(offset), Pointer: cut(pointer), Problem: fmt.Sprintf(format, args...)}
}

// fail makes an error at pos.
func (s *scanner) fail(format string, args ...any) error { return s.failIn(s.pos, format, args...) }

// beyond makes an error about a limit.
func (s *scanner) beyond(limit Limit, pointer, format string, most int) error {
	e := errorf(s.pos, pointer, format, most)
	e.Limit = limit
	return e
}

// failIn makes an error at pos about the value that begins at start.
func (s *scanner) failIn(start int, format string, args ...any) error {
	return errorf(s.pos, pointerAt(s.doc, start), format, args...)
}

// found names the one character at pos. More of the document is never shown.
func (s *scanner) found() string {
	if s.pos >= len(s.doc) {
		return "the end"
	}
	r, size := utf8.DecodeRune(s.doc[s.pos:])
	if r == utf8.RuneError && size == 1 {
		return "invalid UTF-8"
	}
	return "invalid character " + strconv.QuoteRune(r)
}

// pointerAt finds the value or name that begins at offset, or else the innermost one around it. The document is valid up
// to there. It is called for errors only, so it may walk the document a second time.
func pointerAt(doc []byte, offset int) string {
	type level struct {
		object bool
		index  int    // of the element of an array
		name   string // of the member of an object; "" before the first
		named  bool
	}
	var levels []level
	pointer := func() string {
		var b strings.Builder
		for _, l := range levels {
			switch {
			case !l.object:
				b.WriteString("/" + strconv.Itoa(l.index))
			case l.named:
				b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(l.name))
			default:
				return b.String()
			}
		}
		return b.String()
	}
	expectName, afterValue := false, false
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		isSpace := c == ' ' || c == '\n' || c == '\t' || c == '\r'
		if i >= offset && (!expectName || c != '"') {
			break
		}
		if isSpace {
			continue
		}
		top := len(levels) - 1
		switch c {
		case '{', '[':
			levels = append(levels, level{object: c == '{'})
			expectName, afterValue = c == '{', false
		case '}', ']':
			if top < 0 {
				return ""
			}
			levels = levels[:top]
			expectName, afterValue = false, true
		case ',':
			if top >= 0 {
				levels[top].index++
				levels[top].named = false
				expectName = levels[top].object
			}
			afterValue = false
		case ':':
		case '"':
			end, escaped, problem := scanString(doc, i+1)
			if problem != "" {
				return pointer()
			}
			if expectName {
				levels[top].name, levels[top].named, expectName = text(doc, span{i + 1, end, escaped}), true, false
				if i >= offset {
					return pointer()
				}
			} else {
				if offset <= end {
					return pointer()
				}
				afterValue = true
			}
			i = end
		default:
			end := i
			for end < len(doc) && strings.IndexByte(" \n\t\r,:]}[{\"", doc[end]) < 0 {
				end++
			}
			if offset < end {
				return pointer()
			}
			i, afterValue = end-1, true
		}
	}
	if afterValue && len(levels) > 0 { // between members: the object or array itself
		levels = levels[:len(levels)-1]
	}
	return pointer()
}

// cut bounds a text that the peer chose before it goes into a message.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
