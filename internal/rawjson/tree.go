package rawjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// A Node is a value with what it contains.
type Node struct {
	Name  string          // of a member
	Text  json.RawMessage // as it was written, without white space around it; a sub-slice
	Nodes []*Node         // members or elements, in their order
}

// Parse reads a value into a tree, in one pass. A text without a value is a node without a text.
func Parse(value json.RawMessage) *Node {
	if Kind(value) == 0 {
		return &Node{}
	}
	n, _ := parse(value, Space(value, 0))
	return n
}

// parse reads the value that begins at doc[start].
func parse(doc json.RawMessage, start int) (n *Node, end int) {
	n = &Node{}
	switch doc[start] {
	case '{', '[':
		at := next(doc, start+1)
		for doc[at] != '}' && doc[at] != ']' {
			name := ""
			if doc[start] == '{' {
				nameEnd := End(doc, at)
				name, at = unquote(doc[at:nameEnd]), next(doc, nameEnd)
			}
			var inner *Node
			inner, at = parse(doc, at)
			inner.Name = name
			n.Nodes = append(n.Nodes, inner)
			at = next(doc, at)
		}
		end = at + 1
	default:
		end = End(doc, start)
	}
	n.Text = doc[start:end:end]
	return n, end
}

// Append appends the node as it is now: its members or elements without white space, its strings
// without unnecessary escapes, and all else as it was written.
func (n *Node) Append(dst []byte) []byte {
	kind := Kind(n.Text)
	switch kind {
	case '"':
		return AppendQuote(dst, unquote(n.Text))
	case '{', '[':
	default:
		return append(dst, n.Text...)
	}
	dst = append(dst, kind)
	for i, inner := range n.Nodes {
		if i > 0 {
			dst = append(dst, ',')
		}
		if kind == '{' {
			dst = append(AppendQuote(dst, inner.Name), ':')
		}
		dst = inner.Append(dst)
	}
	return append(dst, kind+2) // the ASCII code of ']' is 2 more than of '[', and so with braces
}

// A Difference is one place where two values differ.
type Difference struct {
	Pointer       string          // JSON Pointer; "" is the whole
	Before, After json.RawMessage // sub-slices; nil if there is no value
}

// Diff lists the places where two values differ, in time in proportion to their length and to the
// length of the list. A value of length 0 stands for no value. Objects are compared member by member
// in the order of the names, and arrays element by element; all else is compared like [Equal].
func Diff(before, after json.RawMessage) []Difference {
	return new(comparison).list(before, after)
}

// Equal reports whether two values are equal: members in any order, of one name the last, strings
// with any escapes, numbers by exact value.
func Equal(a, b json.RawMessage) bool {
	c := comparison{first: true}
	return bytes.Equal(a, b) || len(c.list(a, b)) == 0
}

// Contains reports whether got has everything that want has: its objects may have more members, all
// else is equal.
func Contains(got, want json.RawMessage) bool {
	c := comparison{first: true, more: true}
	return bytes.Equal(got, want) || len(c.list(got, want)) == 0
}

// comparison collects differences.
type comparison struct {
	first bool   // only whether there is one is asked for
	more  bool   // objects may have more members before than after
	at    []byte // the pointer of the values that are compared
	found []Difference
}

func (c *comparison) list(before, after json.RawMessage) []Difference {
	c.compare(Parse(before), Parse(after))
	return c.found
}

// inside compares two values in those at the pointer.
func (c *comparison) inside(token string, before, after *Node) {
	outer := len(c.at)
	c.at = append(c.at, token...)
	c.compare(before, after)
	c.at = c.at[:outer]
}

// compare adds the differences of two values. One that does not exist has no text.
func (c *comparison) compare(before, after *Node) {
	switch kind := Kind(before.Text); {
	case c.first && len(c.found) > 0:
		return
	case kind != Kind(after.Text):
	case kind == '{':
		c.members(before.members(), after.members())
		return
	case kind == '[':
		for i := range max(len(before.Nodes), len(after.Nodes)) {
			c.inside("/"+strconv.Itoa(i), before.element(i), after.element(i))
		}
		return
	case equalScalars(kind, before.Text, after.Text):
		return
	}
	c.found = append(c.found, Difference{string(c.at), before.Text, after.Text})
}

func equalScalars(kind byte, a, b json.RawMessage) bool {
	switch {
	case bytes.Equal(a, b):
		return true
	case kind == '"':
		return unquote(a) == unquote(b)
	case kind == '0':
		return ParseNumber(string(a)) == ParseNumber(string(b))
	}
	return false
}

// members compares members in the order of their names.
func (c *comparison) members(before, after []*Node) {
	for len(before) > 0 || len(after) > 0 {
		b, a := &Node{}, &Node{}
		switch order := compareFirst(before, after); {
		case order <= 0:
			b, before = before[0], before[1:]
			if order == 0 {
				a, after = after[0], after[1:]
			}
		default:
			a, after = after[0], after[1:]
		}
		if a.Text != nil || !c.more {
			c.inside(Token(cmp.Or(b.Name, a.Name)), b, a)
		}
	}
}

// compareFirst orders the names of the first members of two lists, of which one may be empty.
func compareFirst(before, after []*Node) int {
	switch {
	case len(after) == 0:
		return -1
	case len(before) == 0:
		return 1
	}
	return cmp.Compare(before[0].Name, after[0].Name)
}

// members returns the members of an object sorted by name. Of those with one name the last counts.
func (n *Node) members() []*Node {
	slices.SortStableFunc(n.Nodes, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	last := n.Nodes[:0]
	for i, m := range n.Nodes {
		if i+1 == len(n.Nodes) || n.Nodes[i+1].Name != m.Name {
			last = append(last, m)
		}
	}
	return last
}

func (n *Node) element(i int) *Node {
	if i < len(n.Nodes) {
		return n.Nodes[i]
	}
	return &Node{}
}
