package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Encode is json.Marshal without the escapes of <, > and &, which would cost a model tokens.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// Compact returns a text without the white space of JSON; nil if the text is no JSON.
func Compact(text []byte) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}

// AppendQuote appends s as a JSON string, with U+FFFD for each run of bytes that are not UTF-8.
func AppendQuote(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\ufffd")
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		if escape := strings.IndexByte("\"\\\b\f\n\r\t", c); escape >= 0 {
			dst = append(dst, '\\', `"\bfnrt`[escape])
		} else {
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// Quote returns s as a JSON string, like [AppendQuote].
func Quote(s string) json.RawMessage { return AppendQuote(nil, s) }

// An Object writes an object member by member, in the order given. The zero value is empty.
type Object struct {
	out   []byte
	names []string
}

// Has reports whether a member of the name has been written.
func (o *Object) Has(name string) bool { return slices.Contains(o.names, name) }

// Empty reports whether no member has been written.
func (o *Object) Empty() bool { return len(o.names) == 0 }

// Put writes a member. A value of length 0 is left out.
func (o *Object) Put(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	if len(o.out) == 0 {
		o.out = append(o.out, '{')
	} else {
		o.out = append(o.out, ',')
	}
	o.out = append(append(AppendQuote(o.out, name), ':'), value...)
	o.names = append(o.names, name)
}

// PutText writes a member that is a string, unless it is empty.
func (o *Object) PutText(name, text string) {
	if text != "" {
		o.Put(name, Quote(text))
	}
}

// Bytes returns the object.
func (o *Object) Bytes() json.RawMessage {
	if len(o.out) == 0 {
		return json.RawMessage("{}")
	}
	return append(o.out, '}')
}

// ObjectOf returns an object of names and values in turn. A value is nil, a string, an int, a bool, JSON or
// a list of JSON; anything else panics. JSON of length 0 is left out.
func ObjectOf(pairs ...any) json.RawMessage {
	var o Object
	for i := 0; i < len(pairs); i += 2 {
		var value json.RawMessage
		switch v := pairs[i+1].(type) {
		case nil:
			value = json.RawMessage("null")
		case string:
			value = Quote(v)
		case int:
			value = strconv.AppendInt(nil, int64(v), 10)
		case bool:
			value = strconv.AppendBool(nil, v)
		case []json.RawMessage:
			value = Array(v)
		default:
			value = v.(json.RawMessage)
		}
		o.Put(pairs[i].(string), value)
	}
	return o.Bytes()
}

// Array returns an array of values.
func Array[V ~[]byte](values []V) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
