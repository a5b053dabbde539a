package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Key returns a JSON text that two values have in common if they are equal, see [Equal], and only
// then. To find equal values among many, compare keys: each value is read once.
func Key(value json.RawMessage) string { return string(canonical(value, true)) }

// Tidy returns a value in the form of [Key], but its numbers keep their digits: there is no white
// space, members are sorted by name, and strings have no unnecessary escapes.
func Tidy(value json.RawMessage) json.RawMessage { return canonical(value, false) }

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
	numbers  bool // numbers have one form, too
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
	case text[0] == '"':
		w.out = AppendQuote(w.out, unquote(text))
	case w.numbers && kinds[text[0]] == '0':
		w.out = append(w.out, ParseNumber(string(text)).canonical()...)
	default:
		w.out = append(w.out, text...)
	}
	return end
}

// written is a member in out, with the comma after it.
type written struct {
	name       string
	start, end int
}

func (w *canonicalWriter) object(at int) (end int) {
	w.out = append(w.out, '{')
	var list []written
	sorted, start := true, len(w.out)
	for at = next(w.doc, at+1); w.doc[at] != '}'; at = next(w.doc, at) {
		nameEnd := End(w.doc, at)
		m := written{name: unquote(w.doc[at:nameEnd]), start: len(w.out)}
		w.out = append(AppendQuote(w.out, m.name), ':')
		at = w.value(next(w.doc, nameEnd))
		w.out = append(w.out, ',')
		m.end = len(w.out)
		sorted = sorted && (len(list) == 0 || list[len(list)-1].name < m.name)
		list = append(list, m)
	}
	if !sorted {
		slices.SortStableFunc(list, func(a, b written) int { return strings.Compare(a.name, b.name) })
		before := bytes.Clone(w.out[start:])
		w.out = w.out[:start]
		for i, m := range list {
			if i+1 == len(list) || list[i+1].name != m.name { // of members with one name the last counts
				w.out = append(w.out, before[m.start-start:m.end-start]...)
			}
		}
	}
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
