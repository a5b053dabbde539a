package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
)

// Equal reports whether two values are equal: members in any order, strings with any escapes,
// numbers by exact value.
func Equal(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || match(a, b, false)
}

// Contains reports whether got has everything that want has: its objects may have more members, all
// else is equal.
func Contains(got, want json.RawMessage) bool {
	return bytes.Equal(got, want) || match(got, want, true)
}

// match is Equal or, if more is true, Contains. Of members with one name the last counts, as with
// encoding/json.
func match(got, want json.RawMessage, more bool) bool {
	got, want = bytes.Trim(got, whitespace), bytes.Trim(want, whitespace)
	kind := Kind(want)
	if Kind(got) != kind {
		return false
	}
	switch kind {
	case '{':
		has, wants := maps.Collect(Members(got)), maps.Collect(Members(want))
		if !more && len(has) != len(wants) {
			return false
		}
		for name, value := range wants {
			if v, ok := has[name]; !ok || !match(v, value, more) {
				return false
			}
		}
		return true
	case '[':
		return matchElements(got, want, more)
	case '"':
		return Text(got) == Text(want)
	case '0':
		return ParseNumber(string(got)) == ParseNumber(string(want))
	}
	return bytes.Equal(got, want)
}

func matchElements(got, want json.RawMessage, more bool) bool {
	var rest []json.RawMessage
	for value := range Elements(want) {
		rest = append(rest, value)
	}
	for value := range Elements(got) {
		if len(rest) == 0 || !match(value, rest[0], more) {
			return false
		}
		rest = rest[1:]
	}
	return len(rest) == 0
}
