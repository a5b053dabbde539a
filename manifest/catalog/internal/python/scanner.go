// Package python reads Python source without running it: its strings, brackets and indentation, and
// the classes and functions that they show. It rejects a source only if every CPython since 3.10
// rejects it, and accepts much that is malformed: it knows tokens and no grammar. Older versions of
// Python 3 read backslashes between lines differently.
//
// Time and memory are linear in the source. The bounds of nesting are CPython's.
package python

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error reports where a source is malformed. It quotes only single characters of the source.
type Error struct {
	Line    int // from 1
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// kind classifies a token.
type kind byte

const (
	name kind = iota // identifiers, keywords and numbers
	text             // a string
	data             // bytes, and strings with fields, whose text is not known
	op               // everything else
)

// token is a piece of the source. A bracket has the depth of its surroundings.
type token struct {
	kind       kind
	start, end int
	depth      int
}

// maxTokens bounds the tokens that are kept of a logical line. Facts in later tokens are lost.
const maxTokens = 4096

// The bounds of CPython: MAXLEVEL, MAXFSTRINGLEVEL and MAXINDENT.
const (
	maxBrackets = 200
	maxFStrings = 150
	maxIndents  = 100
)

// frame is an open construct: a bracket, a string with fields ('"'), a field in one ('}'), or the
// format after the colon of a field (':').
type frame struct {
	what   byte // ( [ { " } :
	pos    int
	quote  byte // of a string, and of the formats in it
	triple bool
	raw    bool
}

type scanner struct {
	src      []byte
	pos      int
	open     []frame
	brackets int      // open ones, with fields
	strings  int      // open ones
	indents  []indent // of the open blocks, and of the module
	start    bool     // of a line that may be indented
	block    bool     // the last line ended with a colon, so the next one must be indented

	line []token // the current logical line
	last token   // of it, if there is one
	cut  bool    // tokens of it were dropped
	mod  *structure
}

// fail returns an error at a position.
func (s *scanner) fail(pos int, format string, args ...any) error {
	seen := s.src[:min(pos, len(s.src))]
	line := 1 + bytes.Count(seen, []byte{'\n'})
	for i, c := range seen { // a lone \r ends a line too
		if c == '\r' && (i+1 == len(s.src) || s.src[i+1] != '\n') {
			line++
		}
	}
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// at returns the byte that many places ahead, 0 beyond the end. Sources contain no NUL.
func (s *scanner) at(ahead int) byte {
	if s.pos+ahead < len(s.src) {
		return s.src[s.pos+ahead]
	}
	return 0
}

// eol returns the length of the line end at the position, 0 if there is none.
func (s *scanner) eol() int {
	switch {
	case s.at(0) == '\r' && s.at(1) == '\n':
		return 2
	case s.at(0) == '\r', s.at(0) == '\n':
		return 1
	}
	return 0
}

// word returns the text of one of the tokens, "" beyond the last one.
func (s *scanner) word(tokens []token, i int) string {
	if i < len(tokens) {
		return string(s.src[tokens[i].start:tokens[i].end])
	}
	return ""
}

func (s *scanner) top() *frame {
	if len(s.open) == 0 {
		return nil
	}
	return &s.open[len(s.open)-1]
}

// scan reads the whole source.
func (s *scanner) scan() error {
	for s.pos < len(s.src) {
		var err error
		switch top := s.top(); {
		case top != nil && (top.what == '"' || top.what == ':'):
			err = s.inString(top)
		case top == nil && s.start:
			err = s.indentation()
		default:
			err = s.code()
		}
		if err != nil {
			return err
		}
	}
	if top := s.top(); top != nil {
		switch top.what {
		case '"', ':', '}':
			return s.fail(top.pos, "the f-string that begins here is not closed")
		}
		return s.fail(top.pos, "this %q is not closed", top.what)
	}
	if err := s.endLine(); err != nil {
		return err
	}
	if s.block {
		return s.fail(s.pos, "the file ends where an indented block is needed")
	}
	return nil
}

func (s *scanner) comment() {
	for s.pos < len(s.src) && s.src[s.pos] != '\n' && s.src[s.pos] != '\r' {
		s.pos++
	}
}

// code reads one token, or the space between tokens.
func (s *scanner) code() error {
	c := s.at(0)
	if n := s.eol(); n > 0 {
		s.pos += n
		if len(s.open) > 0 {
			return nil
		}
		s.start = true
		return s.endLine()
	}
	switch {
	case c == ' ' || c == '\t' || c == '\f':
		s.pos++
		return nil
	case c == '#':
		s.comment()
		return nil
	case c == '\\':
		s.pos++
		n := s.eol()
		if n == 0 {
			return s.fail(s.pos, "after a backslash the line must end")
		}
		s.pos += n
		return nil
	case c == '"' || c == '\'':
		return s.string(s.pos)
	case isWord(c):
		return s.name()
	}
	return s.operator(c)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isWord(c byte) bool   { return c == '_' || c >= utf8.RuneSelf || isLetter(c) || isDigit(c) }

// name reads an identifier, a keyword, a number, or the prefix of a string.
func (s *scanner) name() error {
	start := s.pos
	for isWord(s.at(0)) {
		s.pos++
	}
	if c := s.at(0); (c == '"' || c == '\'') && isPrefix(s.src[start:s.pos]) {
		return s.string(start)
	}
	if err := s.checkWord(start); err != nil {
		return err
	}
	s.emit(token{kind: name, start: start, end: s.pos})
	return nil
}

// number matches a number up to its point or sign, which keywords may follow without a space.
// identifiers has the characters of other categories that identifiers may have.
var (
	number = regexp.MustCompile(`^(0[xX](_?[0-9a-fA-F])+|0[oO](_?[0-7])+|0[bB](_?[01])+|` +
		`[0-9](_?[0-9])*([eE]([0-9](_?[0-9])*)?)?[jJ]?)(and|as|else|for|if|in|is|not|or)?$`)
	oldOctal    = regexp.MustCompile(`^0[0-9_]*[1-9][0-9_]*(and|as|else|for|if|in|is|not|or)?$`)
	identifiers = "\u00b7\u0387\u2118\u212e"
)

// checkWord checks the identifier or number that ends at the position.
func (s *scanner) checkWord(start int) error {
	word := s.src[start:s.pos]
	if !isDigit(word[0]) {
		for i, c := range string(word) {
			if c >= utf8.RuneSelf && !unicode.In(c, unicode.L, unicode.N, unicode.M, unicode.Pc) && !strings.ContainsRune(identifiers, c) {
				return s.fail(start+i, "%q begins no token of Python", c)
			}
		}
		return nil
	}
	fraction := start > 0 && s.src[start-1] == '.'
	exponent := word[len(word)-1]|0x20 == 'e' && number.Match(word) && !bytes.HasPrefix(bytes.ToLower(word), []byte("0x")) &&
		!bytes.HasSuffix(word, []byte("else"))
	switch {
	case !number.Match(word), exponent && !(s.at(0) == '+' || s.at(0) == '-') || exponent && !isDigit(s.at(1)),
		oldOctal.Match(word) && !fraction && s.at(0) != '.':
		return s.fail(start, "this number is malformed")
	}
	return nil
}

// isPrefix reports whether a word is a prefix of strings.
func isPrefix(p []byte) bool {
	switch strings.ToLower(string(p)) {
	case "r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt":
		return true
	}
	return false
}

// operator reads an operator or a bracket.
func (s *scanner) operator(c byte) error {
	start, top := s.pos, s.top()
	switch c {
	case '(', '[', '{':
		s.pos++
		s.emit(token{kind: op, start: start, end: s.pos})
		return s.push(frame{what: c, pos: start})
	case ')', ']', '}':
		return s.closing(c)
	}
	if c == ':' && top != nil && top.what == '}' { // what follows is a format
		s.pos++
		outer := s.open[len(s.open)-2]
		return s.push(frame{what: ':', pos: start, quote: outer.quote, triple: outer.triple, raw: outer.raw})
	}
	inField := top != nil && top.what == '}' // which may have a conversion, such as !r
	if strings.IndexByte("+-*/%@&|^~<>=.,:;!", c) < 0 || c == '!' && s.at(1) != '=' && !inField {
		return s.fail(start, "%q begins no token of Python", c)
	}
	s.pos++
	if s.at(0) == '=' && strings.IndexByte("=!<>:+-*/%@&|^", c) >= 0 {
		s.pos++
	}
	s.emit(token{kind: op, start: start, end: s.pos})
	return nil
}

func (s *scanner) push(f frame) error {
	switch f.what {
	case '"':
		s.strings++
	case '(', '[', '{', '}':
		s.brackets++
	}
	if s.strings > maxFStrings || s.brackets > maxBrackets {
		return s.fail(s.pos, "too much is open at the same time: at most %d brackets and %d f-strings", maxBrackets,
			maxFStrings)
	}
	s.open = append(s.open, f)
	return nil
}

func (s *scanner) pop() {
	switch s.top().what {
	case '"':
		s.strings--
	case '(', '[', '{', '}':
		s.brackets--
	}
	s.open = s.open[:len(s.open)-1]
}

// closing reads a closing bracket, or the end of a field.
func (s *scanner) closing(c byte) error {
	start, top := s.pos, s.top()
	if top == nil {
		return s.fail(start, "this %q closes nothing", c)
	}
	want := map[byte]byte{'(': ')', '[': ']', '{': '}', '}': '}'}[top.what]
	if c != want {
		return s.fail(start, "this %q stands where a %q is needed", c, want)
	}
	field := top.what == '}'
	s.pop()
	s.pos++
	if !field {
		s.emit(token{kind: op, start: start, end: s.pos})
	}
	return nil
}

// emit adds a token to the logical line, unless it is inside a string.
func (s *scanner) emit(t token) {
	if s.strings > 0 {
		return
	}
	t.depth = s.brackets
	if s.last = t; len(s.line) < maxTokens {
		s.line = append(s.line, t)
	} else {
		s.cut = true
	}
}

// endLine ends a logical line.
func (s *scanner) endLine() error {
	if len(s.line) == 0 {
		return nil
	}
	s.block = s.last.kind == op && s.last.depth == 0 && string(s.src[s.last.start:s.last.end]) == ":"
	err := s.mod.take(s, s.line, s.block)
	s.line, s.cut = s.line[:0], false
	return err
}
