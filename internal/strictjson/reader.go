// Package strictjson reads JSON documents that come from outside: exactly one value, exact member names, no duplicate
// names, valid UTF-8, and bounds on nesting, on the number of values and on the length of numbers. It validates a
// document once and hands parts of it out as sub-slices, so nothing is copied and numbers keep their digits.
package strictjson

import (
	"encoding/json"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Reader walks one document from front to back. It is valid only inside the function given to [Read].
type Reader struct {
	doc  []byte
	dec  *jsontext.Decoder
	walk func(*Reader) error
	own  error // what walk returned, as it was before the decoder wrapped it
}

// Read checks doc against the limits and calls walk, which must consume exactly one value. Whatever walk leaves
// unread after that value is an error. Every error is an [*Error], except those that walk makes itself, which are
// returned as they are.
func Read(doc []byte, limits Limits, walk func(*Reader) error) error {
	if err := limits.check(doc); err != nil {
		return err
	}
	r := &Reader{doc: doc, walk: walk}
	if err := jsonv2.Unmarshal(doc, r); err != nil {
		if r.own != nil {
			return r.own
		}
		return wrap(err)
	}
	return nil
}

// UnmarshalJSONFrom lets the decoder, which is pooled, hand itself to the walk.
func (r *Reader) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	r.dec = dec
	r.own = r.walk(r)
	return r.own
}

// Kind tells what comes next: '{', '[', '"', '0' for a number, 't', 'f', 'n', or 0 when the document is broken there.
func (r *Reader) Kind() byte { return byte(r.dec.PeekKind()) }

// Value reads the next value whole and returns it as a sub-slice of the document.
func (r *Reader) Value() (json.RawMessage, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, wrap(err)
	}
	end := r.dec.InputOffset()
	start := end - int64(len(v))
	return json.RawMessage(r.doc[start:end:end]), nil
}

// Object reads the next value, which must be an object, and calls member for each of its members; member must read
// the member's value. A name that equals one of known but for its case is an error: a decoder that folds case and one
// that does not would read such a document differently.
func (r *Reader) Object(known []string, member func(name string) error) error {
	if kind := r.Kind(); kind != '{' && kind != 0 {
		return r.Errorf("must be an object, not %s", KindName(kind))
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return wrap(err)
	}
	for r.Kind() != '}' {
		name, err := r.name(known)
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return wrap(err)
}

// name reads a member's name and returns the known string it equals, so that the usual case allocates nothing.
func (r *Reader) name(known []string) (string, error) {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return "", wrap(err)
	}
	raw := quoted[1 : len(quoted)-1]
	for _, k := range known {
		if string(raw) == k {
			return k, nil
		}
	}
	var name string
	if err := jsonv2.Unmarshal(quoted, &name); err != nil {
		return "", wrap(err)
	}
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
	kind := r.Kind()
	v, err := r.Value()
	if err != nil {
		return "", err
	}
	switch kind {
	case 'n':
		return "", nil
	case '"':
		return unquote(v)
	}
	return "", r.Errorf("must be a string, not %s", KindName(kind))
}

func unquote(v []byte) (string, error) {
	var s string
	if err := jsonv2.Unmarshal(v, &s); err != nil {
		return "", wrap(err)
	}
	return s, nil
}

// Int reads an integer that fits an int64; null reads as nil.
func (r *Reader) Int() (*int64, error) {
	kind := r.Kind()
	v, err := r.Value()
	if err != nil || kind == 'n' {
		return nil, err
	}
	var n int64
	if kind != '0' || jsonv2.Unmarshal(v, &n) != nil {
		return nil, r.Errorf("must be an integer of at most 64 bits")
	}
	return &n, nil
}

// Float reads a number; null reads as 0.
func (r *Reader) Float() (float64, error) {
	kind := r.Kind()
	v, err := r.Value()
	if err != nil || kind == 'n' {
		return 0, err
	}
	var f float64
	if kind != '0' || jsonv2.Unmarshal(v, &f) != nil {
		return 0, r.Errorf("must be a number in the range of a float64")
	}
	return f, nil
}

// Errorf makes an [*Error] located at the value last read.
func (r *Reader) Errorf(format string, args ...any) error {
	return errorf(r.dec.InputOffset(), string(r.dec.StackPointer()), format, args...)
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
