package jsonpath

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	library "github.com/PaesslerAG/jsonpath"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// The errors of Find.
var (
	ErrNotFound = errors.New("matched nothing")
	ErrTooMuch  = errors.New("would visit too many values")
	ErrTooLarge = errors.New("matched too much text")
	ErrFailed   = errors.New("could not be evaluated")
)

// A Path is a compiled path. It is immutable and safe for concurrent use.
type Path struct {
	Syntax
	eval func(ctx context.Context, tree any) (any, error)
}

// Compile compiles a path that Parse accepts. The error is the end of a sentence about the path.
func Compile(text string) (*Path, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	eval, err := library.New(s.projected())
	if err != nil {
		return nil, errors.New("is refused by the path library")
	}
	return &Path{Syntax: s, eval: eval}, nil
}

// projected is the path in the projection: names are quoted, the one element that [n] selects is
// the first there, and what a wildcard or a descent matched is a list.
func (s Syntax) projected() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, seg := range s.segs {
		switch seg.kind {
		case member:
			b.WriteString("[" + strconv.Quote(seg.name) + "]")
		case index:
			b.WriteString("[0]")
		case wildcard, descendant:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// A Match is the result of a path.
type Match struct {
	Value json.RawMessage // a sub-slice of the document, or a new array of all matches if the path is [Syntax.Many]
	Count int             // how many values it consists of
}

// Find evaluates the path. A path that is [Syntax.Many] finds the array of all its matches, even of
// one. Elements are in array order, members are sorted by name, and a descent finds a member before
// what is inside it. The error is one of those above. maxBytes bounds the array.
func (p *Path) Find(d *Document, maxBytes int) (m Match, err error) {
	defer func() {
		if recover() != nil {
			m, err = Match{}, ErrFailed
		}
	}()
	proj := projection{doc: d, memo: true}
	tree, ok := proj.value(0, len(d.text), p.segs)
	if proj.exhausted {
		return Match{}, ErrTooMuch
	}
	if !ok {
		return Match{}, ErrNotFound
	}
	found, err := p.eval(context.Background(), tree)
	if err != nil {
		return Match{}, ErrFailed // a missing value was reported above
	}
	if !p.Many() {
		return Match{Value: found.(json.RawMessage), Count: 1}, nil
	}
	return join(found.([]any), maxBytes)
}

func join(found []any, maxBytes int) (Match, error) {
	if len(found) == 0 {
		return Match{}, ErrNotFound
	}
	size := 1 + len(found)
	for _, v := range found {
		if size += len(v.(json.RawMessage)); size > maxBytes {
			return Match{}, ErrTooLarge
		}
	}
	list := append(make([]byte, 0, size), '[')
	for i, v := range found {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, v.(json.RawMessage)...)
	}
	return Match{Value: append(list, ']'), Count: len(found)}, nil
}

// projection builds the tree for the library.
type projection struct {
	doc       *Document
	memo      bool // inside objects and arrays that other paths may pass through
	exhausted bool
}

// value projects the value at text[start:end]. ok is false if the path finds nothing in it. The end
// is used only if no segments are left.
func (p *projection) value(start, end int, segs []segment) (tree any, ok bool) {
	text := p.doc.text
	if len(segs) == 0 {
		return json.RawMessage(text[start:end:end]), true
	}
	seg, rest := segs[0], segs[1:]
	switch seg.kind {
	case member:
		if text[start] != '{' {
			return nil, false
		}
		at, end, ok := p.member(start, seg.name)
		if !ok {
			return nil, false
		}
		inner, ok := p.value(at, end, rest)
		return p.doc.object(start, seg.name, inner), ok
	case index:
		if text[start] != '[' {
			return nil, false
		}
		if start, end, ok = p.element(start, seg.index); !ok {
			return nil, false
		}
		inner, ok := p.value(start, end, rest)
		return []any{inner}, ok
	case wildcard:
		p.memo = false
		list := p.children(start, rest)
		return list, len(list) > 0
	default:
		p.memo = false
		list, _ := p.descend(nil, start, seg.name, rest)
		return list, len(list) > 0
	}
}

func (p *projection) member(pos int, name string) (start, end int, ok bool) {
	if p.memo {
		return p.doc.member(pos, name)
	}
	for e := range p.entries(pos) {
		if string(e.name) == name {
			return e.start, e.end, true
		}
	}
	return 0, 0, false
}

func (p *projection) element(pos, index int) (start, end int, ok bool) {
	if p.memo {
		return p.doc.element(pos, index)
	}
	for e := range p.entries(pos) {
		if index--; index < 0 {
			return e.start, e.end, true
		}
	}
	return 0, 0, false
}

// bytesPerValue is how many bytes of text cost as much as a value. Text is passed over to find the
// end of a value, and inside a descent once per level.
const bytesPerValue = 256

// entries visits the entries of the object or array at pos, as long as the budget lasts.
func (p *projection) entries(pos int) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		from := pos + 1
		e, ok := entry(p.doc.text, from)
		for ok && p.spend(1+(e.end-from)/bytesPerValue) && yield(e) {
			from = e.end
			e, ok = entry(p.doc.text, from)
		}
	}
}

// spend takes values off the budget and reports whether there were as many left.
func (p *projection) spend(values int) bool {
	p.doc.budget -= values
	p.exhausted = p.exhausted || p.doc.budget < 0
	return !p.exhausted
}

// group is the part of a list of matches, list[begin:end], that is inside one member of an object.
type group struct {
	name       []byte
	begin, end int
}

// children returns what the rest of the path finds in each child of the value at pos.
func (p *projection) children(pos int, rest []segment) (list []any) {
	text := p.doc.text
	if text[pos] != '{' && text[pos] != '[' {
		return nil
	}
	var groups []group
	for e := range p.entries(pos) {
		if tree, ok := p.value(e.start, e.end, rest); ok {
			list = append(list, tree)
			if e.name != nil {
				groups = append(groups, group{e.name, len(list) - 1, len(list)})
			}
		}
	}
	return sorted(list, 0, groups)
}

// descend appends what the rest of the path finds in each member called name, at any depth below
// pos. It returns the end of the value at pos, so the document is read once at any depth.
func (p *projection) descend(list []any, pos int, name string, rest []segment) (_ []any, end int) {
	text := p.doc.text
	if text[pos] != '{' && text[pos] != '[' {
		return list, rawjson.End(text, pos)
	}
	base := len(list)
	var groups []group
	e, ok := entryStart(text, pos+1)
	for ok && p.spend(1) {
		begin := len(list)
		matched := e.name != nil && string(e.name) == name
		if matched && len(rest) > 0 {
			if tree, ok := p.value(e.start, 0, rest); ok {
				list = append(list, tree)
			}
		} else if matched {
			list = append(list, nil) // the whole value, once the descent knows its end
		}
		list, end = p.descend(list, e.start, name, rest)
		if p.exhausted { // the end is not known
			return list, end
		}
		if matched && len(rest) == 0 {
			list[begin] = json.RawMessage(text[e.start:end:end])
		}
		if e.name != nil && len(list) > begin {
			groups = append(groups, group{e.name, begin, len(list)})
		}
		e, ok = entryStart(text, end)
	}
	return sorted(list, base, groups), e.end
}

// sorted sorts the groups of list[base:], those of an object's members, by the members' names.
func sorted(list []any, base int, groups []group) []any {
	byName := func(a, b group) int { return bytes.Compare(a.name, b.name) }
	if slices.IsSortedFunc(groups, byName) {
		return list
	}
	slices.SortFunc(groups, byName)
	unordered := slices.Clone(list[base:])
	list = list[:base]
	for _, g := range groups {
		list = append(list, unordered[g.begin-base:g.end-base]...)
	}
	return list
}
