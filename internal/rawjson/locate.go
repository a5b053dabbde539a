package rawjson

import (
	"strconv"
	"strings"
)

// level is an object or array that is open at a place of a document.
type level struct {
	array bool
	index int    // of the next or last element
	name  string // of the next or last member
	next  expected
}

// expected is what may come next in an open object or array.
type expected int

const (
	aName expected = iota
	aValue
	aComma // or the end
)

// pointerAt finds the value or name that begins at offset, or else the innermost one around it. It
// reads the document a second time, for errors only. What is before offset is valid.
func pointerAt(doc []byte, offset int) string {
	levels := []level{{next: aValue}} // around the document
	at, end := Space(doc, 0), 0
	for ; at < len(doc); at = Space(doc, end) {
		if end = tokenEnd(doc, at); end > offset {
			break
		}
		levels = pass(levels, doc[at:end])
	}
	last := len(levels) - 1
	switch top := &levels[last]; {
	case top.next == aName && at < len(doc) && doc[at] == '"' && end <= len(doc) && doc[end-1] == '"':
		top.name = unquote(doc[at:end])
	case top.next != aValue || top.array && (at == len(doc) || strings.IndexByte("}],:", doc[at]) >= 0):
		levels = levels[:last] // nothing begins in it here
	}
	return pointer(levels[min(1, len(levels)):])
}

// pass moves over a token.
func pass(levels []level, token []byte) []level {
	top := &levels[len(levels)-1]
	switch c := token[0]; {
	case c == ':': // after a name, behind which a value is expected
	case c == ',' && top.array:
		top.index++
		top.next = aValue
	case c == ',':
		top.next = aName
	case c == '}' || c == ']':
		return levels[:max(1, len(levels)-1)]
	case top.next == aName:
		top.name, top.next = unquote(token), aValue
	default:
		top.next = aComma
		if c == '{' {
			return append(levels, level{next: aName})
		} else if c == '[' {
			return append(levels, level{array: true, next: aValue})
		}
	}
	return levels
}

// pointer returns the JSON Pointer of the value or name where the innermost level stands.
func pointer(levels []level) string {
	var b strings.Builder
	for _, l := range levels {
		b.WriteByte('/')
		if l.array {
			b.WriteString(strconv.Itoa(l.index))
		} else {
			_, _ = escaper.WriteString(&b, l.name)
		}
	}
	return b.String()
}
