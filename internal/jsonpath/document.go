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
}

func (d *Document) kind(n *node) byte { return d.text[n.start] }

// enter returns the container of a value; nil if the value is not an object or array.
func (d *Document) enter(n *node) *container {
	if n.inner == nil {
		if kind := d.kind(n); kind != '{' && kind != '[' {
			return nil
		}
		n.inner = &container{next: n.start + 1}
	}
	return n.inner
}

// scan reads the next entry of a container. It reports false if there are no more, or if the budget
// is used up.
func (d *Document) scan(c *container) bool {
	if c.all {
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
	c.add(e)
	return true
}

// scanDeep reads all entries of a value, and theirs, in one pass. It sets the end of the value.
func (d *Document) scanDeep(n *node) {
	c := d.enter(n)
	if c == nil {
		n.end = rawjson.End(d.text, n.start)
		return
	}
	for i := range c.entries {
		d.scanDeep(&c.entries[i])
	}
	for !c.all {
		e, ok := d.entry(c.next)
		if !ok {
			n.end = e.end
			c.finish()
			return
		}
		last := c.add(e)
		d.scanDeep(last)
		c.next = last.end
	}
}

// add appends an entry. It doubles the list, where append would copy it more often.
func (c *container) add(e node) *node {
	if n := len(c.entries); n == cap(c.entries) {
		c.entries = slices.Grow(c.entries, max(n, 4))
	}
	c.entries = append(c.entries, e)
	return &c.entries[len(c.entries)-1]
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
