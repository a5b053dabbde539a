package rawjson

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/text"
)

// Error says where a document is wrong and why. It names members and positions, never values.
type Error struct {
	Offset    int64  // bytes from the start of the document
	Pointer   string // JSON Pointer (RFC 6901) of the value concerned; "" is the document itself
	Problem   string
	Limit     Limit // the limit that the document exceeds, if that is what is wrong
	Ambiguous bool  // an object repeats a name
}

// A Limit names a limit of [Read] or [BoundNumbers].
type Limit string

const (
	LimitDepth     Limit = "depth"
	LimitValues    Limit = "values"
	LimitNumberLen Limit = "number_len"
	LimitExponent  Limit = "exponent"
)

func (e *Error) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return fmt.Sprintf("invalid JSON at byte %d: %s %s", e.Offset, text.Clean(strings.ReplaceAll(e.Pointer, "\n", " ")), e.Problem)
}

const problemEnd = "ends before the JSON value is complete"

// maxShown is the most bytes of a name or pointer, which the peer chose, in a message.
const maxShown = 200

// errorf makes an error at offset about the value or name at place.
func errorf(doc []byte, offset, place int, format string, args ...any) *Error {
	return &Error{Offset: int64(offset), Pointer: text.Cut(pointerAt(doc, place), maxShown),
		Problem: fmt.Sprintf(format, args...)}
}

// fail makes a syntax error at i. The reader returns it from then on.
func (s *scanner) fail(i int, format string, args ...any) error {
	return s.failIn(i, i, format, args...)
}

// failIn is fail for an error inside the value that begins at start.
func (s *scanner) failIn(i, start int, format string, args ...any) error {
	s.pos, s.err = i, errorf(s.doc, i, start, format, args...)
	return s.err
}

// failAt makes an error about the character at i, or about the end.
func (s *scanner) failAt(i int, where string) error { return s.failAtIn(i, i, where) }

func (s *scanner) failAtIn(i, start int, where string) error {
	if i >= len(s.doc) {
		return s.failIn(len(s.doc), start, problemEnd)
	}
	r, size := utf8.DecodeRune(s.doc[i:]) // more of the document is never shown
	if r == utf8.RuneError && size == 1 {
		return s.failIn(i, start, "invalid UTF-8 %s", where)
	}
	return s.failIn(i, start, "invalid character %s %s", strconv.QuoteRune(r), where)
}

func (s *scanner) failDeep(i int) error {
	e := &Error{Offset: int64(i), Problem: fmt.Sprintf("is nested more than %d levels deep", s.depth), Limit: LimitDepth}
	s.pos, s.err = i, e
	return e
}

func (s *scanner) failNext(i int, object bool) error {
	if object {
		return s.failAt(i, "where a comma or '}' should be")
	}
	return s.failAt(i, "where a comma or ']' should be")
}

// failName says why no name begins at start; scanning it ended at i.
func (s *scanner) failName(start, i int) error {
	switch {
	case start >= len(s.doc) || s.doc[start] != '"':
		return s.failAt(start, "where a member's name should begin")
	case i > start:
		return s.failString(i)
	}
	return s.failTwice(start)
}

// failTwice makes an error about the name at start.
func (s *scanner) failTwice(start int) error {
	e := errorf(s.doc, start, start, "occurs twice in its object")
	e.Ambiguous = true
	s.pos, s.err = start, e
	return e
}

// failString says what is wrong at i, inside a string.
func (s *scanner) failString(i int) error {
	switch b := s.doc[i:]; {
	case len(b) == 0 || len(b) == 1 && b[0] == '\\':
		return s.failIn(len(s.doc), i, problemEnd)
	case b[0] == '\\' && hex4(b) >= 0:
		return s.fail(i, "has half of a surrogate pair")
	case b[0] == '\\':
		return s.fail(i, "has an invalid escape sequence")
	case b[0] < ' ':
		return s.failAt(i, "in a string, where it must be escaped")
	}
	return s.fail(i, "has invalid UTF-8")
}

func (s *scanner) failLiteral(start int, word string) error {
	i := start
	for k := 0; i < len(s.doc) && s.doc[i] == word[k]; k++ {
		i++
	}
	return s.failAtIn(i, start, "in the literal "+word)
}
