package jsonpath

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Document is one valid JSON text that several paths are evaluated against. It remembers the parts
// of the text that paths pass through, so a hundred paths into one object scan it once. It is not
// safe for concurrent use.
type Document struct {
	text   []byte
	root   node
	budget int            // what paths may still visit
	outer  map[string]any // see object

	// For scanDeep, which fills many small containers: children of containers that are not complete,
	// and memory for those that are.
	stack      []node
	nodes      []node
	containers []container
}

// NewDocument makes a Document of a valid JSON text without duplicate names and without white space
// around it. Other texts cause panics or wrong results. The text is not copied. All paths together
// visit at most maxValues values: those that a selector selects or looks for, and the objects and
// arrays that a descent enters. Each 256 bytes of text that they pass over, each 16 names that they
// compare and each 16 children that a descent passes count as one more.
func NewDocument(text []byte, maxValues int) *Document {
	return &Document{text: text, root: node{end: len(text)}, budget: maxValues}
}

const (
	bytesPerValue    = 256
	childrenPerValue = 16
)

// spend takes values off the budget and reports whether there were as many left.
func (d *Document) spend(values int) bool {
	d.budget -= values
	return d.budget >= 0
}

// A node is a value of the document.
type node struct {
	name       []byte // of a member, without quotes and escapes
	start, end int    // of the value
	inner      *container
}

// A container is what is known of an object or array: its first entries, or all.
type container struct {
	entries []node // in the order of the text, members by name once all are known
	next    int    // where the scan continues
	all     bool   // all entries are known
	deep    bool   // and all of theirs
}

func (d *Document) kind(n *node) byte { return d.text[n.start] }

// holds reports whether a value is an object or array.
func (d *Document) holds(n *node) bool { return d.kind(n) == '{' || d.kind(n) == '[' }

// enter returns the container of a value; nil if the value is not an object or array.
func (d *Document) enter(n *node) *container {
	if n.inner == nil {
		if !d.holds(n) {
			return nil
		}
		n.inner = &container{next: n.start + 1}
	}
	return n.inner
}

// scan reads the next entry of a container. It reports false if there are no more, or if the budget
// is used up.
func (d *Document) scan(c *container) bool {
	if c.all || d.budget < 0 {
		return false
	}
	e, ok := d.entry(c.next)
	if !ok {
		c.finish()
		return false
	}
	e.end = rawjson.End(d.text, e.start)
	if !d.spend((e.end - c.next) / bytesPerValue) {
		return false
	}
	c.next = e.end
	c.entries = push(c.entries, e)
	return true
}

// empty is the container of all empty objects and arrays that scanDeep finds. It never changes.
var empty = &container{all: true, deep: true}

// scanDeep reads all entries of the value at start, and theirs, in one pass, and returns the end of
// the value. c is what is known of the value; it may be nil.
func (d *Document) scanDeep(start int, c *container) (_ *container, end int) {
	if kind := d.text[start]; kind != '{' && kind != '[' {
		return nil, rawjson.End(d.text, start)
	}
	base, at := len(d.stack), start+1
	if c != nil {
		for _, e := range c.entries {
			if e.inner == nil || !e.inner.deep {
				e.inner, e.end = d.scanDeep(e.start, e.inner)
			}
			d.stack = push(d.stack, e)
		}
		at = c.next
	}
	for {
		e, ok := d.entry(at)
		if !ok {
			at = e.end
			break
		}
		e.inner, e.end = d.scanDeep(e.start, nil)
		d.stack = push(d.stack, e)
		at = e.end
	}
	if c == nil {
		if len(d.stack) == base {
			return empty, at
		}
		c = &carve(&d.containers, 1, len(d.text))[0]
	}
	*c = container{entries: d.pop(base), next: at, deep: true}
	c.finish()
	return c, at
}

// pop takes the nodes above base off the stack. It copies them to where they stay; many stay where
// they are, and the stack moves.
func (d *Document) pop(base int) []node {
	top := d.stack[base:len(d.stack):len(d.stack)]
	if len(top) >= 1024 && len(top) > base {
		d.stack = slices.Clone(d.stack[:base])
		return top
	}
	entries := carve(&d.nodes, len(top), len(d.text))
	copy(entries, top)
	d.stack = d.stack[:base]
	return entries
}

// carve returns n zero values of a block, which it replaces when it is used up. The size of a block
// grows with that of the document.
func carve[T any](block *[]T, n, size int) []T {
	if len(*block) < n {
		*block = make([]T, max(n, min(size/32, 1024)))
	}
	list := (*block)[:n:n]
	*block = (*block)[n:]
	return list
}

// push appends to a list. It doubles a full list, where append would copy a long one more often.
func push(list []node, e node) []node {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 4))
	}
	return append(list, e)
}

// finish sorts members by name when all are known. Elements have no names and stay in their order.
func (c *container) finish() {
	c.all = true
	if len(c.entries) > 0 && c.entries[0].name != nil {
		slices.SortFunc(c.entries, func(a, b node) int { return bytes.Compare(a.name, b.name) })
	}
}

// entry finds the entry of an object or array that starts at or after i. i is after the opening
// bracket or the previous entry. The caller determines the end. At the closing bracket ok is false
// and e.end is after it.
func (d *Document) entry(i int) (e node, ok bool) {
	text := d.text
	i = skipSpace(text, i)
	if text[i] == ',' {
		i = skipSpace(text, i+1)
	}
	if text[i] == '}' || text[i] == ']' {
		return node{end: i + 1}, false
	}
	e.start = i
	if text[i] == '"' {
		end := rawjson.End(text, i)
		if i = skipSpace(text, end); text[i] == ':' {
			e.name = unquoted(text[e.start:end])
			e.start = skipSpace(text, i+1)
		}
	}
	return e, true
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// unquoted returns the text of a valid string literal; a sub-slice of it, not nil, when it has no
// escapes.
func unquoted(literal []byte) []byte {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, literal)
	return text
}

// member finds a member of an object; nil if there is none. The result is valid until the next
// entry of n is scanned.
func (d *Document) member(n *node, name string) *node {
	if d.kind(n) != '{' {
		return nil
	}
	c := d.enter(n)
	if c.all {
		i, ok := slices.BinarySearchFunc(c.entries, name, func(e node, name string) int { return compare(e.name, name) })
		if !ok {
			return nil
		}
		return &c.entries[i]
	}
	for i := 0; i < len(c.entries) || d.scan(c); i++ {
		if i%childrenPerValue == childrenPerValue-1 && !d.spend(1) {
			return nil
		}
		if string(c.entries[i].name) == name {
			return &c.entries[i]
		}
	}
	return nil
}

func compare(a []byte, b string) int {
	switch {
	case string(a) < b:
		return -1
	case string(a) > b:
		return 1
	}
	return 0
}

// element finds an element of an array, from its end if i is negative; nil if there is none. The
// result is valid until the next entry of n is scanned.
func (d *Document) element(n *node, i int64) *node {
	if d.kind(n) != '[' {
		return nil
	}
	c := d.enter(n)
	for (i < 0 || int64(len(c.entries)) <= i) && d.scan(c) {
	}
	if i < 0 {
		i += int64(len(c.entries))
	}
	if i < 0 || i >= int64(len(c.entries)) {
		return nil
	}
	return &c.entries[i]
}

// children returns all entries: members by name, elements in their order.
func (d *Document) children(n *node) []node {
	c := d.enter(n)
	if c == nil {
		return nil
	}
	for d.scan(c) {
	}
	return c.entries
}

// Member finds a member of the document, which must be an object.
func (d *Document) Member(name string) (value json.RawMessage, ok bool) {
	e := d.member(&d.root, name)
	if e == nil {
		return nil, false
	}
	return d.raw(e), true
}

// raw returns the text of a value.
func (d *Document) raw(n *node) json.RawMessage { return json.RawMessage(d.text[n.start:n.end:n.end]) }

// object makes the projection of an object. The projection of the document itself is reused by the
// next path: the library no longer uses it, and only its leaves were kept.
func (d *Document) object(n *node, name string, value any) map[string]any {
	if n != &d.root {
		return map[string]any{name: value}
	}
	if d.outer == nil {
		d.outer = make(map[string]any, 1)
	}
	clear(d.outer)
	d.outer[name] = value
	return d.outer
}

// IsObject reports whether the document is an object.
func (d *Document) IsObject() bool { return d.text[0] == '{' }
