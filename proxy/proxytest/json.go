package proxytest

import (
	"encoding/json"
	"fmt"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// members returns the members of an object that is known to be JSON; an empty map for anything
// else.
func members(object json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &m)
	if m == nil {
		m = map[string]json.RawMessage{} // it was null
	}
	return m
}

// member returns a member of an object; nil if there is none.
func member(object json.RawMessage, name string) json.RawMessage { return members(object)[name] }

// marshal is for values that are made here of strings and of JSON that was checked before.
func marshal(v any) json.RawMessage {
	raw, err := rawjson.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("proxytest: %v", err))
	}
	return raw
}
