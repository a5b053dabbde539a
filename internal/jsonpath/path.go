// Package jsonpath evaluates what ledger adapters consist of: paths into JSON documents, and
// templates of flags. The comment of package ledger lists the paths.
//
// github.com/PaesslerAG/jsonpath selects. This package adds four things. The gate, [Parse], accepts
// the paths that the library evaluates as RFC 9535 says, and writes them as the library reads them.
// Every path has a price, which is known before the library begins. Matches are put in a fixed
// order by the keys that the library reports. Values are decoded with the digits of their numbers.
package jsonpath

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	library "github.com/PaesslerAG/jsonpath"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// The errors of Find.
var (
	ErrNotFound = errors.New("matched nothing")
	ErrTooMuch  = errors.New("would visit too many values")
	ErrTooLarge = errors.New("matched too much text")
)

// A Path is a compiled path. It is immutable and safe for concurrent use.
type Path struct {
	*Syntax
	parts []part
}

// A part of a path is evaluated by the library. A name behind it that the library would take for an
// index in an array is taken from its matches that are objects.
type part struct {
	*Syntax
	eval func(ctx context.Context, document any) (any, error)
	name string
	more bool // there is a name and a further part
}

// Compile compiles a path that Parse accepts. The error is the end of a sentence about the path.
func Compile(text string) (*Path, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	p := &Path{Syntax: s}
	one := &Syntax{lookups: 1}
	for i := 0; i <= len(s.segs); i++ {
		if i < len(s.segs) && !s.segs[i].byName {
			_ = one.add(s.segs[i]) // the whole path was accepted
			continue
		}
		piece := part{Syntax: one, more: i < len(s.segs)}
		if piece.more {
			piece.name = s.segs[i].step.Name
		}
		if one.ordered {
			piece.eval, err = language.NewEvaluable("{#: " + one.spelling("$") + "}")
		} else {
			piece.eval, err = library.New(one.spelling("$"))
		}
		if err != nil {
			return nil, errors.New("is refused by the path library")
		}
		p.parts = append(p.parts, piece)
		one = &Syntax{lookups: 1}
	}
	return p, nil
}

// find appends what a part of a path matches in a value.
func (p *part) find(value any, matches []any) []any {
	found, err := p.eval(context.Background(), value)
	if err != nil { // a name is missing
		return matches
	}
	list := []any{found}
	switch {
	case p.ordered:
		list = p.inOrder(found.(map[string]any))
	case p.keys > 0:
		list = found.([]any)
	}
	if !p.more {
		return append(matches, list...)
	}
	for _, match := range list {
		object, _ := match.(map[string]any)
		if member, ok := object[p.name]; ok {
			matches = append(matches, member)
		}
	}
	return matches
}

// A Document is a decoded JSON value that several paths are evaluated against. It is not safe for
// concurrent use.
type Document struct {
	value  any
	depths []int64 // how many values there are at each depth; one with long names counts as several
	budget int64   // how many steps paths may still take
}

// NewDocument decodes a valid JSON text. All paths together take at most maxSteps steps in it: see
// [Path.Find].
func NewDocument(text []byte, maxSteps int64) *Document {
	d := &Document{value: rawjson.Any(text), budget: maxSteps}
	d.count(d.value, 0, 0)
	return d
}

// count counts a value at a depth, to which names of so many bytes lead, and all that is in it.
func (d *Document) count(value any, depth, names int) {
	if depth == len(d.depths) {
		d.depths = append(d.depths, 0)
	}
	d.depths[depth] += int64(1 + names/namesPerStep)
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			d.count(e, depth+1, names)
		}
	case map[string]any:
		for name, e := range v {
			d.count(e, depth+1, names+len(name))
		}
	}
}

// Member finds a member of the document.
func (d *Document) Member(name string) (value json.RawMessage, ok bool) {
	object, _ := d.value.(map[string]any)
	v, ok := object[name]
	if !ok {
		return nil, false
	}
	return encoded(v), true
}

// IsObject reports whether the document is an object.
func (d *Document) IsObject() bool {
	_, ok := d.value.(map[string]any)
	return ok
}

// encoded writes a decoded value: members by name, numbers with the digits that were read.
func encoded(value any) json.RawMessage {
	text, _ := rawjson.Encode(value)
	return text
}

// price bounds the work of a path. The library visits the values that the segments can reach, once
// for each name and index of a union, and collects the keys of each match. In a descent it copies the
// keys of each level again at all levels above. Two queries that are compared may select values of
// any size, so a comparison visits all that is below.
func (p *Path) price(d *Document) (steps int64) {
	if !p.Many() {
		return int64(len(p.segs))
	}
	each := int64(p.keys + p.work)
	if p.ordered {
		each += stepsToSort
	}
	for depth, values := range d.depths {
		level, whole := int64(depth)+1, int64(p.wholes)
		switch {
		case p.descend:
			steps += values * (max(each, level*level) + whole*level)
		case depth <= len(p.segs):
			steps += values * (each + whole)
		default:
			steps += values * whole
		}
	}
	return steps * int64(p.lookups)
}

// A step is about as much work as one value that the library visits.
const (
	bytesPerStep = 4  // of the text that is written
	namesPerStep = 64 // bytes of the names that lead to a value, which the library quotes for each match
	stepsToSort  = 4  // for each match of a path that sorts its matches
)

// Find evaluates the path. A path that is [Syntax.Many] finds the array of all its matches, even of
// one, in the order of RFC 9535; the members that * and .. select are sorted by name, numbers first
// and by number. The error is one of those above. A path that would take more steps than the
// document has left is not evaluated. maxBytes bounds the result.
func (p *Path) Find(d *Document, maxBytes int) (json.RawMessage, error) {
	steps := p.price(d)
	if steps > d.budget {
		return nil, ErrTooMuch
	}
	d.budget -= steps
	matches := []any{d.value}
	for _, part := range p.parts {
		var found []any
		for _, value := range matches {
			found = part.find(value, found)
		}
		matches = found
	}
	if len(matches) == 0 {
		return nil, ErrNotFound
	}
	size, texts := 0, make([]json.RawMessage, len(matches))
	if p.Many() {
		size = len("[") + len(matches)
	}
	for i, match := range matches {
		texts[i] = encoded(match)
		d.budget -= int64(len(texts[i]) / bytesPerStep)
		if size += len(texts[i]); size > maxBytes {
			return nil, ErrTooLarge
		}
	}
	if p.Many() {
		return rawjson.Array(texts), nil
	}
	return texts[0], nil
}

// inOrder sorts matches by the keys that lead to them, which the library reports as $["a"]["0"].
func (s *Syntax) inOrder(found map[string]any) []any {
	type match struct {
		keys  []string
		value any
	}
	matches := make([]match, 0, len(found))
	for text, value := range found {
		m := match{value: value}
		for text = text[1:]; text != ""; {
			quoted, _ := strconv.QuotedPrefix(text[1:])
			key, _ := strconv.Unquote(quoted)
			m.keys = append(m.keys, sortable(key))
			text = text[len(quoted)+2:]
		}
		matches = append(matches, m)
	}
	slices.SortFunc(matches, func(a, b match) int {
		endA, endB := len(a.keys)-s.tail, len(b.keys)-s.tail // what a value selects comes before what is inside it
		return cmp.Or(slices.Compare(a.keys[:endA], b.keys[:endB]), slices.Compare(a.keys[endA:], b.keys[endB:]))
	})
	values := make([]any, len(matches))
	for i, m := range matches {
		values[i] = m.value
	}
	return values
}

// sortable returns a text in whose order keys are sorted: numbers by their length and then by their
// digits, before other keys.
func sortable(key string) string {
	if key == "0" || key != "" && key[0] != '0' && len(key) < 20 && strings.Trim(key, "0123456789") == "" {
		return string(rune(len(key))) + key
	}
	return "a" + key
}
