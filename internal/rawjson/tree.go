package rawjson

import (
	"encoding/json"
	"maps"
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
	return append(dst, Closing(kind))
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
	var c comparison
	c.compare(Parse(before), Parse(after))
	return c.found
}

// Contains reports whether got has everything that want has: its objects may have more members, all
// else is equal.
func Contains(got, want json.RawMessage) bool {
	c := comparison{contains: true}
	c.compare(Parse(got), Parse(want))
	return len(c.found) == 0
}

// comparison collects differences.
type comparison struct {
	contains bool   // only whether there is one is asked for, and objects may have more members before
	at       []byte // the pointer of the values that are compared
	found    []Difference
}

// inside compares two values in those at the pointer.
func (c *comparison) inside(token string, before, after *Node) {
	outer := len(c.at)
	c.at = append(c.at, token...)
	c.compare(before, after)
	c.at = c.at[:outer]
}

// compare adds the differences of two values. One that does not exist is nil.
func (c *comparison) compare(before, after *Node) {
	b, a := before.text(), after.text()
	switch kind := Kind(b); {
	case c.contains && len(c.found) > 0:
	case kind == '{' && Kind(a) == '{':
		c.members(before.byName(), after.byName())
	case kind == '[' && Kind(a) == '[':
		for i := range max(len(before.Nodes), len(after.Nodes)) {
			c.inside("/"+strconv.Itoa(i), before.element(i), after.element(i))
		}
	case !Equal(b, a):
		c.found = append(c.found, Difference{string(c.at), b, a})
	}
}

// members compares members in the order of their names.
func (c *comparison) members(before, after map[string]*Node) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if a := after[name]; a != nil || !c.contains {
			c.inside(Token(name), before[name], a)
		}
	}
}

// byName returns the members of an object. Of those with one name the last counts.
func (n *Node) byName() map[string]*Node {
	members := make(map[string]*Node, len(n.Nodes))
	for _, m := range n.Nodes {
		members[m.Name] = m
	}
	return members
}

func (n *Node) element(i int) *Node {
	if i < len(n.Nodes) {
		return n.Nodes[i]
	}
	return nil
}

func (n *Node) text() json.RawMessage {
	if n == nil {
		return nil
	}
	return n.Text
}
