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
	"github.com/toolwire/toolwire/internal/strictjson"
)

// value is a JSON value whose members are in the order of the text, so that redacting one member
// leaves the rest as it was.
type value struct {
	kind  byte     // as strictjson.Reader.Kind has it
	text  string   // the content of a string, or a number, true, false or null as written
	names []string // of an object's members
	items []*value // the members' values, or an array's elements
}

// parseValue reads one strict JSON value. Bodies that are not strict are kept as text.
func parseValue(doc []byte) (*value, error) {
	if err := strictjson.Read(doc, strictjson.Limits{}, func(r *strictjson.Reader) error {
		_, err := r.Value()
		return err
	}); err != nil {
		return nil, err
	}
	return build(jsontext.NewDecoder(bytes.NewBuffer(doc)))
}

// build makes a value of text that was checked before.
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

// encode writes the value compactly, in its own order and with its own digits.
func (v *value) encode() json.RawMessage { return v.append(nil, false) }

// canonical writes the value so that equal values are equal texts: members sorted, numbers in one
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

// order is the order in which an object's members are written.
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

// pointer is a JSON Pointer, cut up, in which the segment * stands for any member or element.
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

// below is the pointer to a member or element of what at points to.
func below(at, segment string) string { return at + rawjson.Token(segment) }

// without takes out what the pointers point to. Elements of arrays become null, so that the others
// stay where they are.
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

// diff lists where tape and run differ, members in the order of their names. Either may be nil, for
// nothing at all.
func diff(at string, tape, run *value) []Difference {
	if tape != nil && run != nil && tape.kind == run.kind {
		switch tape.kind {
		case '{':
			return diffObjects(at, tape, run)
		case '[':
			var changes []Difference
			for i := range max(len(tape.items), len(run.items)) {
				changes = append(changes, diff(below(at, strconv.Itoa(i)), element(tape, i), element(run, i))...)
			}
			return changes
		}
		if tape.canonical() == run.canonical() {
			return nil
		}
	}
	if tape == nil && run == nil {
		return nil
	}
	change := Difference{Pointer: at}
	if tape != nil {
		change.Tape = tape.encode()
	}
	if run != nil {
		change.Run = run.encode()
	}
	return []Difference{change}
}

func diffObjects(at string, tape, run *value) []Difference {
	var changes []Difference
	a, b := tape.order(true), run.order(true)
	for len(a) > 0 || len(b) > 0 {
		var name string
		var of, other *value
		switch {
		case len(b) == 0 || len(a) > 0 && tape.names[a[0]] < run.names[b[0]]:
			name, of, a = tape.names[a[0]], tape.items[a[0]], a[1:]
		case len(a) == 0 || run.names[b[0]] < tape.names[a[0]]:
			name, other, b = run.names[b[0]], run.items[b[0]], b[1:]
		default:
			name, of, other, a, b = tape.names[a[0]], tape.items[a[0]], run.items[b[0]], a[1:], b[1:]
		}
		changes = append(changes, diff(below(at, name), of, other)...)
	}
	return changes
}

func element(array *value, i int) *value {
	if i < len(array.items) {
		return array.items[i]
	}
	return nil
}
