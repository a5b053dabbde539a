package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Key returns a JSON text that two values have in common if they are equal, see [Equal], and only
// then. To find equal values among many, compare keys: each value is read once.
func Key(value json.RawMessage) string { return string(canonical(value, true)) }

// Tidy returns a value in the form of [Key], but its numbers keep their digits: there is no white
// space, members are sorted by name, and strings have no unnecessary escapes.
func Tidy(value json.RawMessage) json.RawMessage { return canonical(value, false) }

// Equal reports whether two values are equal: members in any order, of one name the last, strings
// with any escapes, numbers by exact value.
func Equal(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || bytes.Equal(canonical(a, true), canonical(b, true))
}

func canonical(value json.RawMessage, numbers bool) []byte {
	if Kind(value) == 0 {
		return nil
	}
	w := canonicalWriter{doc: value, out: make([]byte, 0, len(value)), numbers: numbers}
	w.value(Space(value, 0))
	return w.out
}

// canonicalWriter writes a value in one form, in one pass.
type canonicalWriter struct {
	doc, out []byte
	numbers  bool     // numbers have one form, too
	members  []member // of the objects around what is written, outermost first
	unsorted []byte   // of one object after the other
}

// member is a member in out, with the comma after it.
type member struct {
	name       []byte
	start, end int
}

// value writes the value that begins at doc[at] and returns where it ends.
func (w *canonicalWriter) value(at int) (end int) {
	switch kinds[w.doc[at]] {
	case '{':
		return w.object(at)
	case '[':
		w.out = append(w.out, '[')
		for at = next(w.doc, at+1); w.doc[at] != ']'; at = next(w.doc, at) {
			at = w.value(at)
			w.out = append(w.out, ',')
		}
		w.close(']')
		return at + 1
	}
	end = End(w.doc, at)
	switch text := w.doc[at:end]; {
	case bytes.IndexByte(text, '\\') >= 0:
		w.out = AppendQuote(w.out, unquote(text))
	case w.numbers && kinds[text[0]] == '0':
		w.out = append(w.out, ParseNumber(string(text)).canonical()...)
	default:
		w.out = append(w.out, text...)
	}
	return end
}

func (w *canonicalWriter) object(at int) (end int) {
	w.out = append(w.out, '{')
	first, start, sorted := len(w.members), len(w.out), true
	for at = next(w.doc, at+1); w.doc[at] != '}'; at = next(w.doc, at) {
		m := member{start: len(w.out)}
		nameEnd := w.value(at)
		if m.name = w.doc[at+1 : nameEnd-1]; bytes.IndexByte(m.name, '\\') >= 0 {
			m.name = appendText(nil, m.name)
		}
		w.out = append(w.out, ':')
		at = w.value(next(w.doc, nameEnd))
		w.out = append(w.out, ',')
		m.end = len(w.out)
		sorted = sorted && (len(w.members) == first || bytes.Compare(w.members[len(w.members)-1].name, m.name) < 0)
		w.members = append(w.members, m)
	}
	if members := w.members[first:]; !sorted {
		slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
		w.unsorted = append(w.unsorted[:0], w.out[start:]...)
		w.out = w.out[:start]
		for i, m := range members {
			if i+1 == len(members) || !bytes.Equal(members[i+1].name, m.name) { // of members with one name the last counts
				w.out = append(w.out, w.unsorted[m.start-start:m.end-start]...)
			}
		}
	}
	w.members = w.members[:first]
	w.close('}')
	return at + 1
}

// close ends an object or array in place of the comma after its last member or element.
func (w *canonicalWriter) close(c byte) {
	if last := len(w.out) - 1; w.out[last] == ',' {
		w.out[last] = c
	} else {
		w.out = append(w.out, c)
	}
}
