package proxytest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// kindOf tells a JSON value by its first character: '{', '[', '"', 't', 'f', 'n', '0' for a number, 0 for nothing.
func kindOf(value json.RawMessage) byte {
	value = bytes.TrimLeft(value, " \t\r\n")
	switch {
	case len(value) == 0:
		return 0
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return '0'
	}
	return value[0]
}

// members returns the members of an object that is known to be JSON; an empty map for anything else.
func members(object json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &m)
	if m == nil {
		m = map[string]json.RawMessage{} // it was null
	}
	return m
}

// member returns a member of an object; nil if there is none.
func member(object json.RawMessage, name string) json.RawMessage {
	if name == "" {
		return nil
	}
	return members(object)[name]
}

func quoted(s string) json.RawMessage { return marshal(s) }

// marshal is for values that are made here of strings and of JSON that was checked before.
func marshal(v any) json.RawMessage {
	raw, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("proxytest: %v", err))
	}
	return raw
}

// encode is json.Marshal that leaves <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// decoded reads a JSON value with its numbers as json.Number; nil if it is none.
func decoded(value json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil
	}
	return v
}

// equalJSON compares values; numbers are equal by value.
func equalJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return false
	}
	x, y := decoded(a), decoded(b)
	return contains(x, y) && contains(y, x)
}

// containsJSON reports whether got has everything that want has: objects may have more members, anything else is equal.
func containsJSON(got, want json.RawMessage) bool { return contains(decoded(got), decoded(want)) }

func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range want {
			if has, ok := object[name]; !ok || !contains(has, value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !contains(list[i], want[i]) {
				return false
			}
		}
		return true
	case json.Number:
		number, ok := got.(json.Number)
		return ok && compareNumbers(number, want) == 0
	}
	return got == want
}

// compareNumbers is exact for integers of 64 bits, which ids are, and otherwise as exact as a float64.
func compareNumbers(a, b json.Number) int {
	if a == b {
		return 0
	}
	if x, err := a.Int64(); err == nil {
		if y, err := b.Int64(); err == nil {
			return cmp.Compare(x, y)
		}
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil {
		return strings.Compare(string(a), string(b))
	}
	return cmp.Compare(x, y)
}

// compareValues orders two values of a field; nil is last whatever the direction.
func compareValues(a, b json.RawMessage, descending bool) int {
	if a == nil || b == nil {
		return cmp.Compare(kindOf(b), kindOf(a))
	}
	order := 0
	switch x := decoded(a).(type) {
	case json.Number:
		if y, ok := decoded(b).(json.Number); ok {
			order = compareNumbers(x, y)
			break
		}
		order = bytes.Compare(a, b)
	case string:
		if y, ok := decoded(b).(string); ok {
			order = strings.Compare(x, y)
			break
		}
		order = bytes.Compare(a, b)
	default:
		order = bytes.Compare(a, b)
	}
	if descending {
		return -order
	}
	return order
}
