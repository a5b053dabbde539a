// Package rawjson reads, writes and compares JSON as text. Parts of a document are sub-slices of it:
// nothing is copied, members keep their order and numbers their digits.
//
// [Read] is for documents from outside. It validates a document in one pass. Every mode accepts
// exactly one value of RFC 8259 in valid UTF-8, within the [Limits]. The caller bounds the bytes. A package
// whose cost depends on the length of numbers calls [BoundNumbers].
//
// All other functions take values that are known to be valid, such as those that Read has accepted
// in any mode; with others they may panic.
package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/internal/text"
)

// A Mode says what a document may contain although two readers could disagree about it.
type Mode uint8

const (
	// Strict is for what this module writes, sends or judges: the names of an object are unique,
	// and the escaped halves of a surrogate pair come together.
	Strict Mode = iota
	// Unique is for what a peer sends to a reader that relies on unique names. Half of a surrogate
	// pair may stand alone, as \ud83d; it decodes to U+FFFD. Two names are equal if they decode to
	// the same text.
	Unique
	// Liberal is for what a peer sends. Half of a surrogate pair may stand alone, and an object may
	// repeat a name, except one that the caller of [Reader.Object] knows.
	Liberal
)

// Limits says what Read accepts. The zero value is Strict with the default depth.
type Limits struct {
	Depth  int // most nesting of objects and arrays; defaults to 256
	Values int // most values and names; 0 means no limit
	Mode   Mode
}

const defaultDepth = 256

// A Reader walks one document from front to back. It is valid only inside the function given to
// [Read].
type Reader struct {
	scanner
	last int // where the value or name last read begins, for [Reader.Errorf]
}

// Read calls walk, which reads the one value of doc. Read then validates what walk left unread,
// also where walk ignored an error. So when Read returns nil, the whole document is valid. Every
// error is an [*Error], except those that walk makes itself; Read returns these unchanged.
func Read(doc []byte, limits Limits, walk func(*Reader) error) error {
	r := readers.Get().(*Reader)
	r.reset(doc, limits)
	err := r.document(walk)
	r.forget()
	readers.Put(r) // not if walk has panicked
	return err
}

// Check reads a document whole, as [Read] does.
func Check(doc []byte, limits Limits) error {
	return Read(doc, limits, func(*Reader) error { return nil })
}

// readers saves most documents the allocation of a Reader.
var readers = sync.Pool{New: func() any { return new(Reader) }}

// document reads the document whole.
func (r *Reader) document(walk func(*Reader) error) error {
	doc := r.doc
	if len(doc) > math.MaxInt32 {
		return r.fail(0, "is longer than 2 GiB")
	}
	r.pos = Space(doc, 0)
	r.last = r.pos
	start := r.pos
	if err := walk(r); err != nil {
		return err
	}
	if err := r.finish(start, 0, 0); err != nil {
		return err
	}
	if r.pos = Space(doc, r.pos); r.pos < len(doc) {
		return r.failAt(r.pos, "after top-level value")
	}
	if r.most > 0 && r.values > r.most {
		return beyond(doc, 0, LimitValues, "has more than %d values", r.most)
	}
	return nil
}

// Values returns how many values and names have been read. In the walk that has read the value of the
// document whole, these are all.
func (r *Reader) Values() int { return r.values }

// finish makes sure that the value that begins at start has been read whole. depth is the nesting
// around it, and values is how many were read before it.
func (r *Reader) finish(start, depth, values int) error {
	switch {
	case r.err != nil: // and the caller ignored it
		return r.err
	case r.pos > start && len(r.frames) == depth:
		return nil
	}
	for len(r.frames) > depth { // the caller stopped inside the value
		r.leave()
	}
	r.pos, r.values = start, values
	return r.skip()
}

// Kind tells what comes next: '{', '[', '"', '0' for a number, 't', 'f', 'n', or 0 if no value can
// begin there.
func (r *Reader) Kind() byte {
	if r.pos >= len(r.doc) {
		return 0
	}
	return kinds[r.doc[r.pos]]
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

// Object reads the next value, which must be an object, and calls member for each of its members;
// member reads the member's value, or leaves it to be skipped.
//
// A name of known or exact may occur once, in every mode: readers that take the first or the last
// of two members would read different documents. A name that differs by case only from one of known
// is an error too, as readers exist that fold case. Names that are neither may repeat if the mode
// allows it.
func (r *Reader) Object(known []string, member func(name string) error, exact ...string) error {
	r.last = r.pos
	if kind := r.Kind(); kind != '{' {
		if err := r.skip(); err != nil { // a broken document is that before it is of the wrong kind
			return err
		}
		return r.Errorf("must be an object, not %s", KindName(kind))
	}
	var few [64]bool
	seen := few[:] // which names of known and exact the object has had
	if count := len(known) + len(exact); count > len(few) {
		seen = make([]bool, count)
	}
	more, err := r.enter()
	depth := len(r.frames)
	for err == nil && more {
		var name string
		if name, err = r.member(known, exact, seen); err != nil {
			return err
		}
		start, values := r.pos, r.values
		if err = member(name); err != nil {
			return err
		}
		if err = r.finish(start, depth, values); err != nil {
			return err
		}
		more, err = r.next()
	}
	return err
}

// enter enters the object that begins here and reports whether it has members; if not, it is left
// again.
func (r *Reader) enter() (more bool, err error) {
	if r.err != nil {
		return false, r.err
	}
	if len(r.frames) >= r.depth {
		return false, r.failDeep(r.pos)
	}
	r.frames = append(r.frames, frame{first: int32(len(r.names)), text: int32(len(r.texts))})
	r.values++
	r.pos = Space(r.doc, r.pos+1)
	if r.pos < len(r.doc) && r.doc[r.pos] == '}' {
		r.pos++
		r.leave()
		return false, nil
	}
	return true, nil
}

// next follows a member and reports whether there is another; if not, the object is left.
func (r *Reader) next() (more bool, err error) {
	r.pos = Space(r.doc, r.pos)
	if r.pos < len(r.doc) {
		switch r.doc[r.pos] {
		case ',':
			r.pos = Space(r.doc, r.pos+1)
			return true, nil
		case '}':
			r.pos++
			r.leave()
			return false, nil
		}
	}
	return false, r.failNext(r.pos, true)
}

// member reads a member's name and the colon. It returns the string of known or exact that the name
// equals, so that the usual case allocates nothing.
func (r *Reader) member(known, exact []string, seen []bool) (string, error) {
	r.last = r.pos
	start := r.pos
	end, ok := 0, false
	if start < len(r.doc) && r.doc[start] == '"' {
		end, ok = r.longName(start)
	}
	if !ok {
		return "", r.failName(start, end)
	}
	if r.pos = Space(r.doc, end); r.pos >= len(r.doc) || r.doc[r.pos] != ':' {
		return "", r.failAt(r.pos, "where a colon should be")
	}
	r.pos = Space(r.doc, r.pos+1)
	r.values++
	content := r.doc[start+1 : end-1]
	if bytes.IndexByte(content, '\\') >= 0 {
		content = appendText(nil, content)
	}
	i := 0
	for _, names := range [...][]string{known, exact} {
		for _, n := range names {
			if string(content) == n {
				if seen[i] {
					return "", r.failTwice(r.last)
				}
				seen[i] = true
				return n, nil
			}
			i++
		}
	}
	name := string(content)
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return "", r.Errorf("is spelled %q here; names are case-sensitive, it must be %q", text.Cut(name, maxShown), k)
		}
	}
	return name, nil
}

// String reads a string; null reads as "".
func (r *Reader) String() (string, error) { return r.Known("") }

// Known reads a string as [Reader.String] does. If it equals known, Known returns known, which saves
// an allocation.
func (r *Reader) Known(known string) (string, error) {
	kind := r.Kind()
	v, err := r.Value()
	switch {
	case err != nil || kind == 'n':
		return "", err
	case kind == '"' && string(v[1:len(v)-1]) == known && strings.IndexByte(known, '\\') < 0:
		return known, nil
	case kind == '"':
		return unquote(v), nil
	}
	return "", r.Errorf("must be a string, not %s", KindName(kind))
}

// Int reads an integer that fits an int64; null reads as nil.
func (r *Reader) Int() (*int64, error) {
	kind := r.Kind()
	v, err := r.Value()
	if err != nil || kind == 'n' {
		return nil, err
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return &n, nil
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
	if f, err := strconv.ParseFloat(string(v), 64); err == nil {
		return f, nil
	}
	return 0, r.Errorf("must be a number in the range of a float64")
}

// Errorf makes an [*Error] located at the value or name last read.
func (r *Reader) Errorf(format string, args ...any) error {
	return errorf(r.doc, r.last, r.last, format, args...)
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
