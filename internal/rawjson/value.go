package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
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

// Any returns a value as encoding/json decodes it, with numbers as json.Number; nil if the text is no
// JSON.
func Any(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
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
		for at := next(value, Space(value, 0)+1); value[at] != closing(kind); at = next(value, at) {
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

// closing returns the bracket that ends what kind begins, whose ASCII code is 2 more.
func closing(kind byte) byte { return kind + 2 }

// Member returns the first member of an object that has the name; nil if there is none.
func Member(object json.RawMessage, name string) json.RawMessage {
	for n, value := range Members(object) {
		if n == name {
			return value
		}
	}
	return nil
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
