package jsonpath

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Document is one valid JSON text that several paths are evaluated against. It remembers the
// entries of the objects and arrays that paths pass through, so a hundred paths into one object
// scan it once. It is not safe for concurrent use.
type Document struct {
	text   []byte
	known  []container    // few: paths of an adapter pass through the same ones
	budget int            // values that may still be visited
	outer  map[string]any // see object
}

// NewDocument makes a Document of a valid JSON text without duplicate names and without white space
// around it. Other texts cause panics or wrong results. The text is not copied. The wildcards and
// descents of all paths together visit at most maxValues values; each 256 bytes of text that they
// pass over count as one more.
func NewDocument(text []byte, maxValues int) *Document {
	return &Document{text: text, budget: maxValues}
}

// span is one value in an object or array.
type span struct {
	name       []byte // without quotes and escapes; nil in an array
	start, end int
}

// container is an object or array whose first part was scanned.
type container struct {
	pos     int // of the opening bracket
	entries []span
	next    int // where the scan continues
}

// at returns the object or array that starts at pos. The result is valid until the next call.
func (d *Document) at(pos int) *container {
	for i := range d.known {
		if d.known[i].pos == pos {
			return &d.known[i]
		}
	}
	d.known = append(d.known, container{pos: pos, next: pos + 1, entries: make([]span, 0, 8)})
	return &d.known[len(d.known)-1]
}

// member finds a member of the object at pos.
func (d *Document) member(pos int, name string) (start, end int, ok bool) {
	c := d.at(pos)
	for i := 0; c.has(d, i); i++ {
		if e := &c.entries[i]; string(e.name) == name {
			return e.start, e.end, true
		}
	}
	return 0, 0, false
}

// element finds an element of the array at pos.
func (d *Document) element(pos, index int) (start, end int, ok bool) {
	c := d.at(pos)
	for i := len(c.entries); i <= index; i++ {
		if !c.has(d, i) {
			return 0, 0, false
		}
	}
	return c.entries[index].start, c.entries[index].end, true
}

// has scans until entry i is known. i is at most the number of known entries.
func (c *container) has(d *Document, i int) bool {
	if i < len(c.entries) {
		return true
	}
	e, ok := entry(d.text, c.next)
	if !ok {
		return false
	}
	c.next = e.end
	c.entries = append(c.entries, e)
	return true
}

// entry reads the entry of an object or array that starts at or after i. i is after the opening
// bracket or the previous entry. At the closing bracket ok is false and e.end is after it.
func entry(text []byte, i int) (e span, ok bool) {
	if e, ok = entryStart(text, i); ok {
		e.end = rawjson.End(text, e.start)
	}
	return e, ok
}

// entryStart is entry for a caller that determines the end itself.
func entryStart(text []byte, i int) (e span, ok bool) {
	i = skipSpace(text, i)
	if text[i] == ',' {
		i = skipSpace(text, i+1)
	}
	if text[i] == '}' || text[i] == ']' {
		return span{end: i + 1}, false
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

// Member finds a member of the document, which must be an object.
func (d *Document) Member(name string) (value json.RawMessage, ok bool) {
	start, end, ok := d.member(0, name)
	if !ok {
		return nil, false
	}
	return json.RawMessage(d.text[start:end:end]), true
}

// object makes the projection of the object at pos. The projection of the document itself is reused
// by the next path: the library no longer uses it, and only its leaves were kept.
func (d *Document) object(pos int, name string, value any) map[string]any {
	if pos > 0 {
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
