package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
)

// readDocument checks that data is one strict JSON value and returns a copy of it, whose parts the functions below take
// without looking at the syntax again.
func readDocument(data []byte) (json.RawMessage, error) {
	var doc json.RawMessage
	err := strictjson.Read(bytes.Clone(data), strictjson.Limits{}, func(r *strictjson.Reader) (err error) {
		doc, err = r.Value()
		return err
	})
	if err == nil {
		return doc, nil
	}
	problem := Problem{Index: noTool, Code: CodeNotJSON, Message: "is not strict JSON"}
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		problem.Pointer, problem.Message = e.Pointer, fmt.Sprintf("is not strict JSON at byte %d: %s", e.Offset, e.Problem)
	}
	return nil, &ValidationError{Problems: []Problem{problem}}
}

// kind is the first byte of a value, '0' for every number.
func kind(value json.RawMessage) byte {
	if len(value) == 0 {
		return 0
	}
	if c := value[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

func kindName(value json.RawMessage) string { return strictjson.KindName(kind(value)) }

// members takes an object apart. The value must be valid JSON; anything but an object has no members.
func members(value json.RawMessage) []ledger.Member {
	if kind(value) != '{' {
		return nil
	}
	var list []ledger.Member
	for at := skip(value, 1); value[at] != '}'; at = skip(value, at) {
		name := value[at:valueEnd(value, at)]
		at = skip(value, at+len(name))
		end := valueEnd(value, at)
		list = append(list, ledger.Member{Name: text(name), Value: value[at:end:end]})
		at = end
	}
	return list
}

// elements takes an array apart. The value must be valid JSON; anything but an array has no elements.
func elements(value json.RawMessage) []json.RawMessage {
	if kind(value) != '[' {
		return nil
	}
	var list []json.RawMessage
	for at := skip(value, 1); value[at] != ']'; at = skip(value, at) {
		end := valueEnd(value, at)
		list = append(list, value[at:end:end])
		at = end
	}
	return list
}

// text is the string that a JSON string stands for; "" for other values.
func text(value json.RawMessage) string {
	if kind(value) != '"' {
		return ""
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	_ = jsonv2.Unmarshal(value, &s) // valid JSON: the whole document was read strictly
	return s
}

// member returns the value of a member, nil when there is none or it is null.
func member(list []ledger.Member, name string) json.RawMessage {
	for _, m := range list {
		if m.Name == name && kind(m.Value) != 'n' {
			return m.Value
		}
	}
	return nil
}

// skip moves over white space and separators.
func skip(value []byte, at int) int {
	for {
		switch value[at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			at++
		default:
			return at
		}
	}
}

// valueEnd returns where the value that begins at value[at] ends.
func valueEnd(value []byte, at int) int {
	switch value[at] {
	case '"':
		return stringEnd(value, at)
	case '{', '[':
		depth := 0
		for ; ; at++ {
			switch value[at] {
			case '"':
				at = stringEnd(value, at) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
		}
	}
	for at < len(value) && bytes.IndexByte([]byte(" \t\n\r,]}"), value[at]) < 0 {
		at++
	}
	return at
}

func stringEnd(value []byte, at int) int {
	for at++; value[at] != '"'; at++ {
		if value[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// objectWriter writes an object member by member, in the order given.
type objectWriter struct {
	out   []byte
	names []string
}

func newObject() *objectWriter { return &objectWriter{out: []byte{'{'}} }

func (w *objectWriter) has(name string) bool { return slices.Contains(w.names, name) }

// raw writes a member unless its value is empty.
func (w *objectWriter) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	if len(w.out) > 1 {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, quote(name)...), ':'), value...)
	w.names = append(w.names, name)
}

// text writes a string member unless it is empty.
func (w *objectWriter) text(name, value string) {
	if value != "" {
		w.raw(name, quote(value))
	}
}

func (w *objectWriter) end() json.RawMessage { return append(w.out, '}') }

// quote writes a string as JSON, without the escapes for HTML. Invalid UTF-8 is replaced.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

func array(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
