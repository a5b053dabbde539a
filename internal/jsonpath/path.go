package jsonpath

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"

	library "github.com/PaesslerAG/jsonpath"
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

// projected is the path in the projection: names are quoted, the one element that an index selects
// is the first there, and what other segments select is a list.
func (s Syntax) projected() string {
	var b strings.Builder
	b.WriteByte('$')
	for i := range s.segs {
		switch first := s.segs[i].selectors[0]; {
		case !s.segs[i].single():
			b.WriteString("[*]")
		case first.kind == index:
			b.WriteString("[0]")
		default:
			b.WriteString("[" + strconv.Quote(first.name) + "]")
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
// one, in the order of RFC 9535; members that a wildcard or a descent selects are sorted by name.
// The error is one of those above. maxBytes bounds the array.
func (p *Path) Find(d *Document, maxBytes int) (m Match, err error) {
	defer func() {
		if recover() != nil {
			m, err = Match{}, ErrFailed
		}
	}()
	if d.budget < 0 { // of an earlier path
		return Match{}, ErrTooMuch
	}
	tree, ok := d.project(&d.root, p.segs)
	if d.budget < 0 {
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

// project builds the tree of what segs can reach in a value. ok is false if they select nothing.
func (d *Document) project(n *node, segs []segment) (tree any, ok bool) {
	if len(segs) == 0 {
		return d.raw(n), true
	}
	seg, rest := &segs[0], segs[1:]
	if !seg.single() {
		var list []any
		if seg.descend {
			if d.holds(n) && (n.inner == nil || !n.inner.deep) {
				n.inner, n.end = d.scanDeep(n.start, n.inner)
				d.spend((n.end - n.start) / bytesPerValue)
			}
			list = d.descend(nil, n, seg, rest)
		} else {
			list = d.selectAll(nil, n, seg, rest)
		}
		return list, len(list) > 0
	}
	first := &seg.selectors[0]
	e := d.find(n, first)
	if e == nil || !d.spend(1) {
		return nil, false
	}
	inner, ok := d.project(e, rest)
	switch {
	case !ok:
		return nil, false
	case first.kind == index:
		return []any{inner}, true
	}
	return d.object(n, first.name, inner), true
}

// find returns the child that a name or an index selects; nil if there is none.
func (d *Document) find(n *node, sel *selector) *node {
	if sel.kind == index {
		return d.element(n, *sel.start)
	}
	return d.member(n, sel.name)
}

// selectAll appends what the rest of the path finds in each child that the segment selects. It stops
// when the budget is used up.
func (d *Document) selectAll(list []any, n *node, seg *segment, rest []segment) []any {
	children := d.children(n)
	add := func(e *node) (more bool) {
		if !d.spend(1) {
			return false
		}
		if e != nil {
			if tree, ok := d.project(e, rest); ok {
				list = append(list, tree)
			}
		}
		return true
	}
	for i := range seg.selectors {
		switch sel := &seg.selectors[i]; sel.kind {
		case member, index:
			if !add(d.find(n, sel)) {
				return list
			}
		case slice:
			if d.kind(n) == '[' {
				for j := range sel.indexes(len(children)) {
					if !add(&children[j]) {
						return list
					}
				}
			}
		case wildcard:
			for j := range children {
				if !add(&children[j]) {
					return list
				}
			}
		}
	}
	return list
}

// indexes returns the indexes that a slice selects in an array, as RFC 9535 defines them in section
// 2.3.4.2.2.
func (sel *selector) indexes(length int) iter.Seq[int] {
	n, step := int64(length), sel.step
	bound := func(i *int64, omitted, lowest, highest int64) int64 {
		switch {
		case i == nil:
			return omitted
		case *i < 0:
			return min(max(n+*i, lowest), highest)
		}
		return min(max(*i, lowest), highest)
	}
	return func(yield func(int) bool) {
		switch {
		case step > 0:
			for i, end := bound(sel.start, 0, 0, n), bound(sel.end, n, 0, n); i < end && yield(int(i)); i += step {
			}
		case step < 0:
			for i, end := bound(sel.start, n-1, -1, n-1), bound(sel.end, -1, -1, n-1); i > end && yield(int(i)); i += step {
			}
		}
	}
}

// descend is selectAll for a value and everything in it: first for the value itself, then for its
// children in their order.
func (d *Document) descend(list []any, n *node, seg *segment, rest []segment) []any {
	c := d.enter(n)
	if c == nil || !d.spend(1+len(c.entries)/childrenPerValue) {
		return list
	}
	list = d.selectAll(list, n, seg, rest)
	for i := range c.entries {
		list = d.descend(list, &c.entries[i], seg, rest)
	}
	return list
}
