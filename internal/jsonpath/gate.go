package jsonpath

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
)

const (
	maxLen     = 256     // bytes of a path
	maxLookups = 64      // the product of the lengths of its unions
	maxIndex   = 1 << 30 // stands for larger indexes: no document has as many elements
)

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

const notHere = ", which is not evaluated here; the platform may evaluate it"

func unsupported(what string) error { return &Error{Unsupported: true, problem: what + notHere} }

type kind uint8

const (
	member   kind = iota // a name
	index                // n or -n
	slice                // start:end:step
	wildcard             // *
	filter               // ?condition
	union                // names and indexes
)

// A segment is .name, .* or a bracket. With descend it selects children of the value and of
// everything in it.
type segment struct {
	kind      kind
	descend   bool
	backwards bool     // a slice, or an index from the end
	byName    bool     // a member whose name the library takes for an index where it meets an array
	step      Step     // of a member or an index
	selectors []string // as the library reads them
	work      int      // of a filter: what a test of one value costs: its operands, and their segments
	wholes    int      // of a filter: how many comparisons of two queries it has
}

// A Syntax is a path that passed the gate.
type Syntax struct {
	Root     Root
	segs     []segment
	lookups  int // the product of the lengths of its unions
	work     int // the sums of its filters
	wholes   int
	keys     int  // how many segments choose among several keys; a descent counts as one
	tail     int  // how many of them are not before the descent
	descend  bool // it has ..
	ordered  bool // it has *, a filter or .., so its matches are sorted
	disorder bool // it has a segment whose matches are not in the order of their keys
}

// Many reports whether the path can select several values, so that its result is a list. A path of
// names and indexes selects one value.
func (s *Syntax) Many() bool { return len(s.Steps()) < len(s.segs) }

// A Step leads from a value to a part of it.
type Step struct {
	Name    string // of a member
	Element bool   // an element of an array; Name is ""
}

// Steps returns the names and indexes with which the path begins, up to the first segment that can
// select several values.
func (s *Syntax) Steps() []Step {
	var steps []Step
	for _, seg := range s.segs {
		if seg.descend || seg.kind > index {
			break
		}
		steps = append(steps, seg.step)
	}
	return steps
}

// The parts of a path. A name after a dot follows RFC 9535, or contains hyphens, which are not
// operators here.
var (
	spaceForm    = regexp.MustCompile(`^[ \t\r\n]*`)
	dottedForm   = regexp.MustCompile(`^[A-Za-z_\x{80}-\x{10FFFF}][-\w\x{80}-\x{10FFFF}]*`)
	quotedForm   = regexp.MustCompile(`^("(\\.|[^"\\])*"|'(\\.|[^'\\])*')`)
	numbersForm  = regexp.MustCompile(`^(-?\d*)([ \t\r\n]*:[ \t\r\n]*(-?\d*))?([ \t\r\n]*:[ \t\r\n]*(-?\d*))?`)
	integralForm = regexp.MustCompile(`^(0|-?[1-9]\d{0,15})$`)
)

// Parse accepts the paths that the comment of package ledger lists. The error is an [*Error].
func Parse(text string) (*Syntax, error) {
	s := &Syntax{lookups: 1}
	switch {
	case text == "":
		return nil, &Error{problem: "is empty; write a path such as $.order_id"}
	case len(text) > maxLen:
		return nil, unsupported(fmt.Sprintf("has %d bytes, more than %d", len(text), maxLen))
	case !utf8.ValidString(text):
		return nil, &Error{problem: "is not valid UTF-8"}
	}
	p := parser{text: text, rest: text}
	if !p.take("$") {
		name := p.next(dottedForm)
		if name == "" || p.rest != "" {
			return nil, &Error{problem: "does not start with $; write a path such as $.order_id"}
		}
		p.rest = "." + name
	}
	if after, ok := strings.CutPrefix(p.rest, "args"); ok && (after == "" || strings.Contains(".[ \t\r\n", after[:1])) {
		s.Root, p.rest = Args, after
	}
	for p.rest != "" {
		seg, err := p.segment()
		if err == nil {
			err = s.add(seg)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add adds a segment. It refuses one with which the library would select other values than RFC
// 9535 says, or in no fixed order, or at any cost.
func (s *Syntax) add(seg segment) error {
	s.segs = append(s.segs, seg)
	if s.lookups *= len(seg.selectors); s.lookups > maxLookups {
		return unsupported(fmt.Sprintf("has more than %d combinations of listed names and indexes", maxLookups))
	}
	s.disorder = s.disorder || seg.kind == union || seg.kind == slice && seg.backwards
	s.ordered = s.ordered || seg.kind == wildcard || seg.kind == filter || seg.descend
	s.work, s.wholes = s.work+seg.work, s.wholes+seg.wholes
	switch {
	case seg.descend && s.descend:
		return unsupported("has more than one .. segment")
	case seg.descend && (seg.kind == slice || seg.backwards):
		return unsupported("has a slice or a negative index directly after ..")
	case s.ordered && s.disorder:
		return unsupported("has [a, b] or a slice backwards together with *, a filter or ..")
	}
	if s.descend = s.descend || seg.descend; seg.descend || seg.kind != member {
		s.keys++
		if s.descend {
			s.tail++
		}
	}
	return nil
}

type parser struct{ text, rest string }

func (p *parser) malformed(problem string) error {
	return &Error{problem: fmt.Sprintf("%s (at byte %d)", problem, len(p.text)-len(p.rest)+1)}
}

// take removes a prefix of the rest and reports whether it was there.
func (p *parser) take(prefix string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, prefix)
	return ok
}

// next removes what the rest begins with and returns it.
func (p *parser) next(form *regexp.Regexp) string {
	text := form.FindString(p.rest)
	p.rest = p.rest[len(text):]
	return text
}

func (p *parser) segment() (seg segment, err error) {
	p.next(spaceForm)
	problem := `has a . without a plain name or * after it; write other names as ["name"]`
	descend := p.take("..")
	switch {
	case p.take("["):
		seg, err = p.bracket()
	case !descend && !p.take("."):
		err = p.malformed("has something that is neither .name nor [...]; operators and functions are not part of a path")
	case p.take("*"):
		seg = segment{kind: wildcard, selectors: []string{"*"}}
	default:
		if descend {
			problem = "has .. without a name, * or [ after it"
		}
		name := p.next(dottedForm)
		if name == "" {
			return seg, p.malformed(problem)
		}
		seg = named(name)
	}
	if seg.descend = descend; descend && seg.byName {
		err = unsupported("has a name that looks like a number directly after ..")
	}
	return seg, err
}

// bracket reads the selectors between [ and ].
func (p *parser) bracket() (seg segment, err error) {
	for {
		p.next(spaceForm)
		sel, err := p.selector()
		if err == nil {
			err = seg.join(sel)
		}
		if err != nil {
			return seg, err
		}
		p.next(spaceForm)
		if p.take("]") {
			return seg, nil
		}
		if !p.take(",") {
			return seg, p.malformed("has a bracket that is not closed after a selector; " +
				"write [selector] or [selector, selector]")
		}
	}
}

// join adds a selector to a bracket.
func (seg *segment) join(sel segment) error {
	if seg.selectors == nil {
		*seg = sel
		return nil
	}
	for _, one := range []*segment{seg, &sel} {
		if one.kind == slice || one.kind == wildcard || one.kind == filter || one.backwards {
			return unsupported("lists *, a filter, a slice or a negative index with others in one bracket")
		}
		if one.byName {
			return unsupported("lists a name that looks like a number with others in one bracket")
		}
	}
	if slices.Contains(seg.selectors, sel.selectors[0]) {
		return unsupported("repeats a name or an index in a bracket")
	}
	*seg = segment{kind: union, selectors: append(seg.selectors, sel.selectors[0])}
	return nil
}

func (p *parser) selector() (segment, error) {
	if p.rest == "" {
		return segment{}, p.malformed("has a [ that is not closed")
	}
	switch c := p.rest[0]; {
	case c == '"' || c == '\'':
		name, err := p.quoted()
		return named(name), err
	case p.take("*"):
		return segment{kind: wildcard, selectors: []string{"*"}}, nil
	case p.take("?"):
		return p.filter()
	case c == '(':
		return segment{}, unsupported("has a script expression")
	case c == ':' || c == '-' || c >= '0' && c <= '9':
		return p.numbers()
	}
	return segment{}, p.malformed(`has a bracket with something that is not a "name", an index, a slice or *`)
}

// quoted reads a string literal of RFC 9535: one of JSON, or one in single quotes, in which single
// quotes are escaped and double quotes are not.
func (p *parser) quoted() (string, error) {
	literal := quotedForm.FindString(p.rest)
	if literal == "" {
		return "", p.malformed("has a name or a text that is not closed with " + p.rest[:1])
	}
	text := []byte(literal)
	if literal[0] == '\'' {
		text = []byte(`"` + singleQuoted.Replace(literal[1:len(literal)-1]) + `"`)
	}
	if rawjson.Check(text, rawjson.Limits{}) != nil {
		return "", p.malformed("has a name or a text with a control character or with an escape that JSON does not know")
	}
	p.rest = p.rest[len(literal):]
	return rawjson.Unquote(text), nil
}

// singleQuoted rewrites what stands in single quotes. An escaped double quote stays an error.
var singleQuoted = strings.NewReplacer(`\\`, `\\`, `\'`, `'`, `\"`, `\?`, `"`, `\"`)

// named makes the segment of a member.
func named(name string) segment {
	_, err := strconv.ParseFloat(name, 64)
	return segment{byName: err == nil, step: Step{Name: name}, selectors: []string{strconv.QuoteToASCII(name)}}
}

// numbers reads an index or a slice.
func (p *parser) numbers() (segment, error) {
	parts := numbersForm.FindStringSubmatch(p.rest)
	n := [3]int64{0, maxIndex, 1} // start, end and step
	for i := range n {
		if text := parts[1+2*i]; text != "" {
			v, _ := strconv.ParseInt(text, 10, 64)
			if !integralForm.MatchString(text) || max(v, -v) >= 1<<53 {
				return segment{}, p.malformed("has an index that is not a plain number between -(2^53-1) and 2^53-1")
			}
			n[i] = min(max(v, -maxIndex), maxIndex)
		}
	}
	p.rest = p.rest[len(parts[0]):]
	switch start, end, step := n[0], n[1], n[2]; {
	case parts[2] == "":
		seg := segment{kind: index, backwards: start < 0, step: Step{Element: true}}
		seg.selectors = []string{fmt.Sprint(start)}
		return seg, nil
	case step == 0:
		return segment{}, unsupported("has a slice with the step 0")
	case step < 0 && parts[1]+parts[3] != "":
		return segment{}, unsupported("has a slice backwards with a start or an end")
	case end < 0 && parts[1] == "":
		n[0] = -maxIndex // the library selects nothing if the end is less than the start
	case end < 0 && start >= 0:
		return segment{}, unsupported("has a slice from an index to a negative index")
	}
	return segment{kind: slice, backwards: n[2] < 0, selectors: []string{fmt.Sprintf("%d:%d:%d", n[0], n[1], n[2])}}, nil
}

// spelling is the path as the library reads it, from root on. An index is a slice of one element, because the
// library does not know negative indexes, and takes an index for a name where it meets an object.
func (s *Syntax) spelling(root string) string {
	text := root
	for _, seg := range s.segs {
		selectors := strings.Join(seg.selectors, ",")
		if seg.descend {
			text += ".."
		} else if seg.kind == index {
			n, _ := strconv.Atoi(selectors)
			selectors = fmt.Sprintf("%d:%d", n, cmp.Or(n+1, maxIndex))
		}
		text += "[" + selectors + "]"
	}
	return text
}
