// Package strictjson reads JSON documents that come from outside: exactly one value, exact member names, no duplicate
// names, valid UTF-8, and bounds on nesting, on the number of values and on the length of numbers. It validates a
// document in one pass and hands parts of it out as sub-slices, so nothing is copied and numbers keep their digits.
package strictjson

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Limits bounds what a document may cost whoever works with it later. The zero value of a field means its default.
type Limits struct {
	Depth     int // nesting of objects and arrays; default 256
	Values    int // values and names in all; default 500,000
	NumberLen int // characters of one number; default 64
}

const (
	defaultDepth     = 256
	defaultValues    = 500_000
	defaultNumberLen = 64
)

// A Reader walks one document from front to back. It is valid only inside the function given to [Read].
type Reader struct {
	scanner
	last int // where the value or name last read begins, for [Reader.Errorf]
}

// Read calls walk, which must consume exactly one value of doc. Whatever follows that value is an error. Every error is
// an [*Error], except those that walk makes itself, which are returned as they are. When walk returns without an error
// the whole document has been checked.
func Read(doc []byte, limits Limits, walk func(*Reader) error) error {
	r := &Reader{}
	r.reset(doc, Limits{
		Depth: orDefault(limits.Depth, defaultDepth), Values: orDefault(limits.Values, defaultValues),
		NumberLen: orDefault(limits.NumberLen, defaultNumberLen),
	})
	r.space()
	start := r.pos
	if err := walk(r); err != nil {
		return err
	}
	if r.pos == start { // walk was not interested
		if err := r.skip(); err != nil {
			return err
		}
	}
	r.space()
	if r.pos < len(doc) {
		return r.fail("%s after top-level value", r.found())
	}
	return nil
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// Kind tells what comes next: '{', '[', '"', '0' for a number, 't', 'f', 'n', or 0 when no value can begin there.
func (r *Reader) Kind() byte {
	if r.pos >= len(r.doc) {
		return 0
	}
	switch c := r.doc[r.pos]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// Value reads the next value whole and returns it as a sub-slice of the document.
func (r *Reader) Value() (json.RawMessage, error) {
	start := r.pos
	r.last = start
	if err := r.skip(); err != nil {
		return nil, err
	}
	return json.RawMessage(r.doc[start:r.pos:r.pos]), nil
}

// Object reads the next value, which must be an object, and calls member for each of its members; member reads the
// member's value, or leaves it to be skipped. A name that equals one of known but for its case is an error: a decoder
// that folds case and one that does not would read such a document differently.
func (r *Reader) Object(known []string, member func(name string) error) error {
	r.last = r.pos
	if kind := r.Kind(); kind != '{' {
		if err := r.skip(); err != nil { // a broken document is that before it is of the wrong kind
			return err
		}
		return r.Errorf("must be an object, not %s", KindName(kind))
	}
	more, err := r.open(true)
	for err == nil && more {
		var name string
		if name, err = r.member(known); err != nil {
			break
		}
		start := r.pos
		if err = member(name); err != nil {
			return err
		}
		if r.pos == start {
			if err = r.skip(); err != nil {
				break
			}
		}
		more, err = r.next()
	}
	return err
}

// member reads a member's name and returns the known string it equals, so that the usual case allocates nothing.
func (r *Reader) member(known []string) (string, error) {
	r.last = r.pos
	n, err := r.name()
	if err != nil {
		return "", err
	}
	for _, k := range known {
		if !n.escaped && string(r.doc[n.start:n.end]) == k {
			return k, nil
		}
	}
	name := text(r.doc, n)
	if slices.Contains(known, name) {
		return name, nil
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return "", r.Errorf("is spelled %q here; names are case-sensitive, it must be %q", cut(name), k)
		}
	}
	return name, nil
}

// String reads a string; null reads as "".
func (r *Reader) String() (string, error) {
	switch kind := r.Kind(); kind {
	case '"':
		r.last = r.pos
		if err := r.count(); err != nil {
			return "", err
		}
		s, err := r.string()
		if err != nil {
			return "", err
		}
		return text(r.doc, s), nil
	default:
		if _, err := r.Value(); err != nil || kind == 'n' {
			return "", err
		}
		return "", r.Errorf("must be a string, not %s", KindName(kind))
	}
}

// Int reads an integer that fits an int64; null reads as nil.
func (r *Reader) Int() (*int64, error) {
	kind := r.Kind()
	v, err := r.Value()
	if err != nil || kind == 'n' {
		return nil, err
	}
	if kind == '0' {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return &n, nil
		}
	}
	return nil, r.Errorf("must be an integer of at most 64 bits")
}

// Float reads a number; null reads as 0.
func (r *Reader) Float() (float64, error) {
	kind := r.Kind()
	v, err := r.Value()
	if err != nil || kind == 'n' {
		return 0, err
	}
	if kind == '0' {
		if f, err := strconv.ParseFloat(string(v), 64); err == nil {
			return f, nil
		}
	}
	return 0, r.Errorf("must be a number in the range of a float64")
}

// Errorf makes an [*Error] located at the value or name last read.
func (r *Reader) Errorf(format string, args ...any) error {
	return errorf(r.last, pointerAt(r.doc, r.last), format, args...)
}

// KindName is the word for a kind as [Reader.Kind] returns it, for messages.
func KindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "something else"
}
