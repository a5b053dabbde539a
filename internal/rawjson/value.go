package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Kind tells what a value is by its first character: '{', '[', '"', '0' for a number, 't', 'f',
// 'n'; 0 for an empty text. White space may stand before the value.
func Kind(value []byte) byte {
	at := Space(value, 0)
	if at == len(value) {
		return 0
	}
	if c := value[at]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// IsNull reports whether a value is null or there is none.
func IsNull(value json.RawMessage) bool {
	kind := Kind(value)
	return kind == 0 || kind == 'n'
}

// Any returns a value as encoding/json decodes it, with numbers as json.Number; nil if there is none.
// Strings and numbers share one copy of the text.
func Any(value json.RawMessage) any {
	if Kind(value) == 0 {
		return nil
	}
	d := anyDecoder{value, string(value)}
	v, _ := d.value(Space(value, 0))
	return v
}

type anyDecoder struct {
	doc  []byte
	text string // the same
}

// value decodes the value that begins at doc[at], and returns where it ends.
func (d anyDecoder) value(at int) (v any, end int) {
	switch d.doc[at] {
	case '{':
		object := map[string]any{}
		for at = next(d.doc, at+1); d.doc[at] != '}'; at = next(d.doc, at) {
			nameEnd := End(d.doc, at)
			name := d.string(at, nameEnd)
			object[name], at = d.value(next(d.doc, nameEnd))
		}
		return object, at + 1
	case '[':
		array := []any{}
		for at = next(d.doc, at+1); d.doc[at] != ']'; at = next(d.doc, at) {
			var element any
			element, at = d.value(at)
			array = append(array, element)
		}
		return array, at + 1
	}
	end = End(d.doc, at)
	switch d.doc[at] {
	case '"':
		return d.string(at, end), end
	case 't', 'f':
		return d.doc[at] == 't', end
	case 'n':
		return nil, end
	}
	return json.Number(d.text[at:end]), end
}

func (d anyDecoder) string(at, end int) string {
	if inner := d.text[at+1 : end-1]; strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return unquote(d.doc[at:end])
}

// Members returns the members of an object in their order. Other values have none. The values are
// sub-slices.
func Members(value json.RawMessage) iter.Seq2[string, json.RawMessage] { return parts(value, '{') }

// Elements returns the elements of an array. Other values have none. The elements are sub-slices.
func Elements(value json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		parts(value, '[')(func(_ string, element json.RawMessage) bool { return yield(element) })
	}
}

// parts returns the names and values in a value of a kind.
func parts(value json.RawMessage, kind byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		if Kind(value) != kind {
			return
		}
		for at := next(value, Space(value, 0)+1); value[at] != Closing(kind); at = next(value, at) {
			name := ""
			if kind == '{' {
				end := End(value, at)
				name, at = unquote(value[at:end]), next(value, end)
			}
			end := End(value, at)
			if !yield(name, value[at:end:end]) {
				return
			}
			at = end
		}
	}
}

// Closing returns the bracket that ends what kind, '{' or '[', begins. Its ASCII code is 2 more.
func Closing(kind byte) byte { return kind + 2 }

// Member returns the first member of an object that has the name; nil if there is none.
func Member(object json.RawMessage, name string) json.RawMessage {
	if Kind(object) != '{' {
		return nil
	}
	for at := next(object, Space(object, 0)+1); object[at] != '}'; at = next(object, at) {
		end := End(object, at)
		quoted := object[at:end]
		at = next(object, end)
		end = End(object, at)
		inner := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(inner, '\\') >= 0 {
			inner = appendText(nil, inner)
		}
		if string(inner) == name { // without a copy
			return object[at:end:end]
		}
		at = end
	}
	return nil
}

// With returns a valid object with a member, unless it has one of that name.
func With(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if Member(object, name) != nil {
		return object
	}
	w := new(Object)
	for n, v := range Members(object) {
		w.Put(n, v)
	}
	w.Put(name, value)
	return w.Bytes()
}

// Without returns a valid object without its first member of a name, and the value of that member. The other
// members keep their order and their bytes. If there is no such member, it returns the object and nil.
func Without(object json.RawMessage, name string) (rest, value json.RawMessage) {
	start := Space(object, 0) + 1 // behind the brace, and then behind each value
	for first := true; ; first = false {
		at := next(object, start)
		if object[at] == '}' {
			return object, nil
		}
		begin := End(object, at)
		quoted := object[at:begin]
		begin = next(object, begin)
		end := End(object, begin)
		if Unquote(quoted) != name {
			start = end
			continue
		}
		value = object[begin:end:end]
		if first {
			if end = Space(object, end); object[end] == ',' {
				end++
			}
		}
		rest = make(json.RawMessage, 0, len(object)-(end-start))
		return append(append(rest, object[:start]...), object[end:]...), value
	}
}

// Unquote returns what a string stands for, with U+FFFD for half of a surrogate pair; "" for other
// values.
func Unquote(value json.RawMessage) string {
	value = bytes.Trim(value, whitespace)
	if Kind(value) != '"' {
		return ""
	}
	return unquote(value)
}

// Scalar returns the content of a string, the digits of a number, and "" for anything else.
func Scalar(value json.RawMessage) string {
	if Kind(value) == '0' {
		return string(value)
	}
	return Unquote(value)
}

const whitespace = " \t\r\n"

// next moves over white space and one separator to what follows.
func next(value []byte, at int) int {
	at = Space(value, at)
	if value[at] == ',' || value[at] == ':' {
		at = Space(value, at+1)
	}
	return at
}

// End returns where the value ends that begins at doc[at].
func End(doc []byte, at int) int {
	switch kinds[doc[at]] {
	case '"':
		return quotedEnd(doc, at)
	case '{', '[':
		for depth := 0; ; at++ {
			switch doc[at] {
			case '"':
				at = quotedEnd(doc, at) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
		}
	}
	return tokenEnd(doc, at)
}

// Strings calls f for each string of a valid document, in its order. The string is written between the
// quotation marks as doc[from:to]; name reports whether it is the name of a member.
func Strings(doc []byte, f func(from, to int, name bool)) {
	for at := 0; at < len(doc); at++ {
		if doc[at] != '"' {
			continue
		}
		from := at + 1
		at = quotedEnd(doc, at)
		after := Space(doc, at)
		f(from, at-1, after < len(doc) && doc[after] == ':')
		at--
	}
}

// quotedEnd returns where the string ends that begins at doc[at]. It is valid, so only its quotes
// and escapes are looked for.
func quotedEnd(doc []byte, at int) int {
	at++
	if n := bytes.IndexByte(doc[at:], '"'); bytes.IndexByte(doc[at:at+n], '\\') < 0 {
		return at + n + 1
	}
	for ; doc[at] != '"'; at++ {
		if doc[at] == '\\' {
			at++
		}
	}
	return at + 1
}
