package cassette

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// value is a JSON value that keeps the order of members, so that the rest of a text stays unchanged
// when one member is redacted.
type value struct {
	kind  byte     // as rawjson.Reader.Kind returns it
	text  string   // the content of a string, or a number, true, false or null as written
	names []string // of an object's members
	items []*value // the members' values, or an array's elements
}

// parseValue reads one strict JSON value. Bodies that are not strict are kept as text.
func parseValue(doc []byte) (*value, error) {
	if err := rawjson.Read(doc, rawjson.Limits{}, func(r *rawjson.Reader) error {
		_, err := r.Value()
		return err
	}); err != nil {
		return nil, err
	}
	return build(jsontext.NewDecoder(bytes.NewBuffer(doc)))
}

// build reads one value. The text is valid JSON.
func build(decoder *jsontext.Decoder) (*value, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &value{kind: byte(token.Kind())}
	if v.kind != '{' && v.kind != '[' {
		v.text = token.String()
		return v, nil
	}
	for {
		switch decoder.PeekKind() {
		case '}', ']':
			_, err := decoder.ReadToken()
			return v, err
		case 0:
			_, err := decoder.ReadToken()
			return nil, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		if v.kind == '{' {
			name, err := decoder.ReadToken()
			if err != nil {
				return nil, err
			}
			v.names = append(v.names, name.String())
		}
		item, err := build(decoder)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
}

// encode returns the value without white space, with its own order and digits.
func (v *value) encode() json.RawMessage { return v.append(nil, false) }

// canonical returns one text for all equal values: members are sorted, and numbers have one
// spelling.
func (v *value) canonical() string { return string(v.append(nil, true)) }

func (v *value) append(to []byte, canonical bool) []byte {
	switch v.kind {
	case '{':
		to = append(to, '{')
		for n, i := range v.order(canonical) {
			if n > 0 {
				to = append(to, ',')
			}
			to = append(rawjson.AppendQuote(to, v.names[i]), ':')
			to = v.items[i].append(to, canonical)
		}
		return append(to, '}')
	case '[':
		to = append(to, '[')
		for i, item := range v.items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.append(to, canonical)
		}
		return append(to, ']')
	case '"':
		return rawjson.AppendQuote(to, v.text)
	case '0':
		if canonical {
			return append(to, rawjson.ParseNumber(v.text).Canonical(64)...)
		}
	}
	return append(to, v.text...)
}

// order returns the order in which the members of an object are written.
func (v *value) order(sorted bool) []int {
	order := make([]int, len(v.names))
	for i := range order {
		order[i] = i
	}
	if sorted {
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(v.names[a], v.names[b]) })
	}
	return order
}

// pointer has the segments of a JSON Pointer. The segment * stands for any member or element.
type pointer []string

// parsePointer reports whether text is a JSON Pointer (RFC 6901) to something inside a document.
func parsePointer(text string) (pointer, bool) {
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	p := strings.Split(text[1:], "/")
	for i, segment := range p {
		if bare := strings.NewReplacer("~0", "", "~1", "").Replace(segment); strings.Contains(bare, "~") {
			return nil, false
		}
		p[i] = rawjson.Name(segment)
	}
	return p, true
}

// without removes the values at the pointers. Elements of arrays become null, so that the other
// elements keep their indexes.
func (v *value) without(pointers []pointer) {
	for _, p := range pointers {
		v.remove(p)
	}
}

func (v *value) remove(p pointer) {
	for i := len(v.items) - 1; i >= 0; i-- {
		segment := strconv.Itoa(i)
		if v.kind == '{' {
			segment = v.names[i]
		}
		switch {
		case p[0] != "*" && p[0] != segment:
		case len(p) > 1:
			v.items[i].remove(p[1:])
		case v.kind == '{':
			v.names, v.items = slices.Delete(v.names, i, i+1), slices.Delete(v.items, i, i+1)
		default:
			v.items[i] = &value{kind: 'n', text: "null"}
		}
	}
}

// A Difference is one place where two JSON values differ.
type Difference struct {
	Pointer string          `json:"pointer"`        // JSON Pointer; "" is the whole
	Tape    json.RawMessage `json:"tape,omitempty"` // what the tape has there; nil if nothing
	Run     json.RawMessage `json:"run,omitempty"`  // what the run has there; nil if nothing
}

// diff lists where tape and run differ, in the order of the member names. Either may be nil if it
// does not exist.
func diff(tape, run json.RawMessage) []Difference {
	var list []Difference
	for _, d := range rawjson.Diff(tape, run) {
		list = append(list, Difference{Pointer: d.Pointer, Tape: d.Before, Run: d.After})
	}
	return list
}
