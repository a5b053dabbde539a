package jsonpath

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLen is how many bytes a path may have.
const MaxLen = 256

// A Root is the document that a path starts in.
type Root uint8

const (
	Response Root = iota // $ or a bare name: the tool's response
	Args                 // $args: the arguments of the call
)

// An Error tells why a path is not accepted.
type Error struct {
	Unsupported bool // the path may be valid, and this package does not evaluate it
	problem     string
}

// Error returns the end of a sentence about the path, for its author.
func (e *Error) Error() string { return e.problem }

type kind uint8

const (
	member   kind = iota // a name
	index                // n or -n
	slice                // start:end:step
	wildcard             // *
)

// A selector selects children of a value.
type selector struct {
	kind       kind
	name       string
	start, end *int64 // of a slice, nil if omitted; start is also the index
	step       int64  // of a slice
}

// A segment is .name, .* or a bracket. With descend it selects children of the value and of
// everything in it.
type segment struct {
	descend   bool
	selectors []selector
}

// single reports whether the segment selects at most one value.
func (s *segment) single() bool {
	return !s.descend && len(s.selectors) == 1 && s.selectors[0].kind <= index
}

// Syntax is a path that passed the gate.
type Syntax struct {
	Text string // as it was written
	Root Root
	segs []segment
}

// Many reports whether the path can select several values, so that its result is a list. A path of
// names and indexes selects one value.
func (s Syntax) Many() bool {
	for i := range s.segs {
		if !s.segs[i].single() {
			return true
		}
	}
	return false
}

// A Step leads from a value to a part of it.
type Step struct {
	Name    string // of a member
	Element bool   // an element of an array; Name is ""
}

// Steps returns the names and indexes with which the path begins, up to the first segment that can
// select several values.
func (s Syntax) Steps() []Step {
	var steps []Step
	for i := range s.segs {
		if !s.segs[i].single() {
			break
		}
		first := s.segs[i].selectors[0]
		steps = append(steps, Step{first.name, first.kind == index})
	}
	return steps
}

// Parse accepts the paths that the comment of package ledger lists. The error is an [*Error].
func Parse(text string) (Syntax, error) {
	p := parser{text: text, rest: text}
	s, err := p.path()
	if err != nil {
		return Syntax{}, err
	}
	return s, nil
}

type parser struct {
	text, rest string
}

func (p *parser) malformed(problem string) *Error {
	return &Error{problem: fmt.Sprintf("%s (at byte %d)", problem, len(p.text)-len(p.rest)+1)}
}

func unsupported(format string, args ...any) *Error {
	return &Error{Unsupported: true, problem: fmt.Sprintf(format, args...)}
}

// take removes a prefix of the rest and reports whether it was there.
func (p *parser) take(prefix string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, prefix)
	return ok
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *parser) path() (s Syntax, _ *Error) {
	switch {
	case p.text == "":
		return s, &Error{problem: "is empty; write a path such as $.order_id"}
	case len(p.text) > MaxLen:
		return s, unsupported("has %d bytes; paths of more than %d are not evaluated here", len(p.text), MaxLen)
	case !utf8.ValidString(p.text):
		return s, &Error{problem: "is not valid UTF-8"}
	}
	s.Text = p.text
	if !p.take("$") {
		name := p.shorthand()
		if name == "" || p.rest != "" {
			return s, &Error{problem: "does not start with $; write a path such as $.order_id"}
		}
		s.segs = []segment{{selectors: []selector{{kind: member, name: name}}}}
		return s, nil
	}
	if after, ok := strings.CutPrefix(p.rest, "args"); ok && (after == "" || strings.Contains(".[ \t\r\n", after[:1])) {
		s.Root, p.rest = Args, after
	}
	descents := 0
	for p.rest != "" {
		seg, err := p.segment()
		if err != nil {
			return s, err
		}
		if seg.descend {
			descents++
		}
		s.segs = append(s.segs, seg)
	}
	if descents > 1 {
		return s, unsupported("has more than one .. segment, which is not evaluated here; the platform may evaluate it")
	}
	return s, nil
}

func (p *parser) segment() (seg segment, err *Error) {
	p.space()
	switch {
	case p.take(".."):
		seg.descend = true
		if p.take("[") {
			seg.selectors, err = p.bracket()
		} else {
			seg.selectors, err = p.dotted("has .. without a name, * or [ after it")
		}
	case p.take("."):
		seg.selectors, err = p.dotted(`has a . without a plain name or * after it; write other names as ["name"]`)
	case p.take("["):
		seg.selectors, err = p.bracket()
	default:
		err = p.malformed("has something that is neither .name nor [...]; operators and functions are not part of a path")
	}
	return seg, err
}

func (p *parser) dotted(problem string) ([]selector, *Error) {
	if p.take("*") {
		return []selector{{kind: wildcard}}, nil
	}
	name := p.shorthand()
	if name == "" {
		return nil, p.malformed(problem)
	}
	return []selector{{kind: member, name: name}}, nil
}

// bracket reads the selectors between [ and ].
func (p *parser) bracket() (selectors []selector, err *Error) {
	for {
		p.space()
		sel, err := p.selector()
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, sel)
		p.space()
		if p.take("]") {
			return selectors, nil
		}
		if !p.take(",") {
			return nil, p.malformed("has a bracket that is not closed after a selector; " +
				"write [selector] or [selector, selector]")
		}
	}
}

func (p *parser) selector() (sel selector, err *Error) {
	if p.rest == "" {
		return sel, p.malformed("has a [ that is not closed")
	}
	switch c := p.rest[0]; {
	case c == '"' || c == '\'':
		sel.name, err = p.quoted()
		return sel, err
	case c == '*':
		p.rest = p.rest[1:]
		return selector{kind: wildcard}, nil
	case c == '?':
		return sel, unsupported("has a filter, which is not evaluated here; the platform may evaluate it")
	case c == '(':
		return sel, unsupported("has a script expression, which is not evaluated here; the platform may evaluate it")
	case c == ':' || c == '-' || c >= '0' && c <= '9':
		return p.numbers()
	}
	return sel, p.malformed(`has a bracket with something that is not a "name", an index, a slice or *`)
}

// numbers reads an index or a slice.
func (p *parser) numbers() (sel selector, err *Error) {
	sel = selector{kind: index, step: 1}
	if sel.start, err = p.number(); err != nil {
		return sel, err
	}
	p.space()
	if !p.take(":") {
		return sel, nil
	}
	sel.kind = slice
	p.space()
	if sel.end, err = p.number(); err != nil {
		return sel, err
	}
	p.space()
	if !p.take(":") {
		return sel, nil
	}
	p.space()
	step, err := p.number()
	if step != nil {
		sel.step = *step
	}
	return sel, err
}

// number reads an integer between -(2^53-1) and 2^53-1; nil if there is none.
func (p *parser) number() (*int64, *Error) {
	digits, negative := strings.CutPrefix(p.rest, "-")
	digits = digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))]
	if digits == "" && !negative {
		return nil, nil
	}
	if digits == "" || digits[0] == '0' && (negative || len(digits) > 1) || len(digits) > 16 {
		return nil, p.malformed("has an index that is not a plain number between -(2^53-1) and 2^53-1")
	}
	var n int64
	for _, c := range []byte(digits) {
		n = n*10 + int64(c-'0')
	}
	if n >= 1<<53 {
		return nil, p.malformed("has an index that is not a plain number between -(2^53-1) and 2^53-1")
	}
	p.rest = p.rest[len(digits):]
	if negative {
		p.rest, n = p.rest[1:], -n
	}
	return &n, nil
}

// shorthand reads the longest name that may follow a dot: one of RFC 9535, or one that also has
// hyphens, which are not operators here.
func (p *parser) shorthand() string {
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return p.split(i)
		}
	}
	return p.split(len(p.rest))
}

// split removes the first n bytes of the rest and returns them.
func (p *parser) split(n int) (text string) {
	text, p.rest = p.rest[:n], p.rest[n:]
	return text
}
