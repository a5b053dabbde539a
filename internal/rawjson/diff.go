package rawjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Difference is one place where two values differ.
type Difference struct {
	Pointer       string          // JSON Pointer; "" is the whole
	Before, After json.RawMessage // sub-slices; nil if there is no value
}

// Diff lists the places where two values differ, in time in proportion to their length and that of
// the list. A value of length 0 stands for no value. Objects are compared member by member in the order of the names,
// and arrays element by element; all else is compared like [Equal].
func Diff(before, after json.RawMessage) []Difference {
	var c comparison
	c.compare(parse(before), parse(after))
	return c.list
}

// node is a value with what it contains, found in one pass.
type node struct {
	text     json.RawMessage
	children []child // members sorted by name, or elements
}

type child struct {
	name string // "" in an array
	node *node
}

// parse returns nil for a text without a value.
func parse(text json.RawMessage) *node {
	if Kind(text) == 0 {
		return nil
	}
	n, _ := parseAt(text, space(text, 0))
	return n
}

func parseAt(text json.RawMessage, start int) (n *node, end int) {
	n = &node{}
	switch text[start] {
	case '{':
		at := next(text, start+1)
		for text[at] != '}' {
			nameEnd := End(text, at)
			c := child{name: Text(text[at:nameEnd])}
			c.node, at = parseAt(text, next(text, nameEnd))
			n.children = append(n.children, c)
			at = next(text, at)
		}
		end = at + 1
		slices.SortStableFunc(n.children, func(a, b child) int { return strings.Compare(a.name, b.name) })
	case '[':
		at := next(text, start+1)
		for text[at] != ']' {
			var c child
			c.node, at = parseAt(text, at)
			n.children = append(n.children, c)
			at = next(text, at)
		}
		end = at + 1
	default:
		end = End(text, start)
	}
	n.text = text[start:end:end]
	return n, end
}

// comparison collects differences.
type comparison struct {
	at   []byte // the pointer of the values that are compared
	list []Difference
}

// inside compares two values in those at the pointer.
func (c *comparison) inside(token string, before, after *node) {
	outer := len(c.at)
	c.at = append(c.at, token...)
	c.compare(before, after)
	c.at = c.at[:outer]
}

// compare adds the differences of two values. A value that does not exist is nil.
func (c *comparison) compare(before, after *node) {
	switch {
	case before == nil && after == nil:
	case before == nil:
		c.list = append(c.list, Difference{Pointer: string(c.at), After: after.text})
	case after == nil:
		c.list = append(c.list, Difference{Pointer: string(c.at), Before: before.text})
	case before.text[0] == '{' && after.text[0] == '{':
		c.members(before.children, after.children)
	case before.text[0] == '[' && after.text[0] == '[':
		for i := range max(len(before.children), len(after.children)) {
			c.inside("/"+strconv.Itoa(i), element(before.children, i), element(after.children, i))
		}
	case !Equal(before.text, after.text):
		c.list = append(c.list, Difference{string(c.at), before.text, after.text})
	}
}

// members merges two lists of members that are sorted by name.
func (c *comparison) members(before, after []child) {
	for len(before) > 0 || len(after) > 0 {
		var b, a child
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = strings.Compare(before[0].name, after[0].name)
		}
		if order <= 0 {
			b, before = before[0], before[1:]
		}
		if order >= 0 {
			a, after = after[0], after[1:]
		}
		name := b.name
		if b.node == nil {
			name = a.name
		}
		c.inside(Token(name), b.node, a.node)
	}
}

func element(elements []child, i int) *node {
	if i < len(elements) {
		return elements[i].node
	}
	return nil
}
