package toolcall

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// The parameter reasoning is described by the page Bedrock tools. It is added to the schemas of tools and
// removed from the arguments of calls. A tool whose own schema declares reasoning keeps both its
// schema and its arguments.
const (
	reasoningName = "reasoning"
	reasoning     = `"` + reasoningName + `":{"type":"string","description":"The reasoning for the tool call."}`
	whitespace    = " \t\r\n"
)

// declared reports whether a schema declares a property reasoning: at its root, or in a schema that
// applies to the same object ("allOf" and similar keywords, local "$ref"). The schema must be valid
// JSON. nil and null declare nothing.
func declared(schema json.RawMessage) bool {
	w := &walker{root: schema, left: maxFollowed}
	return w.declares(schema, 0)
}

// WithReasoning returns the schema for the model. The property is the first one and the first in
// "required", so the model writes it before the arguments. If schema is nil or null, the result
// describes an object with this property only. A schema that declares reasoning is returned
// unchanged.
//
// Keywords that would reject the property are changed to allow it: "additionalProperties" in a
// branch of "allOf" and similar keywords, "maxProperties", "propertyNames". Only the root gets the
// property: a reference to "#" keeps its meaning. The schema must be valid and describe an object.
// It is not modified; the result is a copy.
//
// A pattern of "patternProperties" that matches the name is not changed.
func WithReasoning(schema json.RawMessage) json.RawMessage {
	switch {
	case rawjson.Kind(schema) != '{':
		schema = json.RawMessage("{}")
	case declared(schema):
		return slices.Clone(schema)
	}
	self, schema := detached(schema)
	w := &walker{root: schema, left: maxInlined}
	root := w.opened(w.merged(members(schema), 0), 0)
	if self != nil {
		root = prepend(root, "$defs", '{', string(self))
	}
	root = prepend(root, "properties", '{', reasoning)
	root = prepend(root, "required", '[', `"`+reasoningName+`"`)
	if !slices.ContainsFunc(root, func(m member) bool { return m.name == "type" }) {
		root = slices.Insert(root, 0, member{"type", json.RawMessage(`"object"`)})
	}
	return object(root)
}

// take removes the member reasoning from arguments, which must be a valid JSON object, and returns
// its text: the value of a string, "" for null, the JSON of anything else. The other members keep
// their order and their bytes.
func take(arguments json.RawMessage) (rest json.RawMessage, text string) {
	from, to, value := find(arguments)
	if value == nil {
		return arguments, ""
	}
	switch rawjson.Kind(value) {
	case '"':
		text = rawjson.Unquote(value)
	case 'n':
	default:
		text = string(value)
	}
	return append(append(make(json.RawMessage, 0, len(arguments)), arguments[:from]...), arguments[to:]...), text
}

// member is one member of an object, in the order of the document.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object. Other values have none.
func members(doc json.RawMessage) []member {
	list := make([]member, 0, 8)
	for name, value := range rawjson.Members(doc) {
		list = append(list, member{name, value})
	}
	return list
}

func object(list []member) json.RawMessage {
	var o rawjson.Object
	for _, m := range list {
		o.Put(m.name, m.value)
	}
	return o.Bytes()
}

// prepend puts text first into the object or array in a member. It adds the member if there is
// none.
func prepend(list []member, name string, open byte, text string) []member {
	closing := open + 2 // of both { and [ in ASCII
	i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
	if i < 0 {
		return append(list, member{name, json.RawMessage(string(open) + text + string(closing))})
	}
	inner := bytes.Trim(list[i].value, whitespace)
	if len(inner) < 2 || inner[0] != open { // not valid in any draft
		return list
	}
	out := append([]byte{open}, text...)
	if rest := bytes.Trim(inner[1:len(inner)-1], whitespace); len(rest) > 0 {
		out = append(append(out, ','), rest...)
	}
	list[i].value = append(out, closing)
	return list
}

// plusOne adds one to a count. It does not change what is not a plain integer.
func plusOne(value json.RawMessage) json.RawMessage {
	if n, err := strconv.ParseInt(string(value), 10, 32); err == nil {
		return strconv.AppendInt(nil, n+1, 10)
	}
	return value
}
