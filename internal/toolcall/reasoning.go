package toolcall

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// The parameter reasoning is described by the page Bedrock tools. It is added to the schemas of tools and
// removed from the arguments of calls. A tool whose own schema declares reasoning keeps both its
// schema and its arguments.
const (
	reasoningName = toolresult.Reasoning
	reasoning     = `"` + reasoningName + `":` + toolresult.ReasoningSchema
)

// applied returns the schemas that a schema applies to the same object, itself first. complete is false if a
// reference leads out of its document, or to an anchor.
func applied(root any) (list []map[string]any, complete bool) {
	complete = true
	known := map[uintptr]bool{}
	add := func(schema any) {
		if s, ok := schema.(map[string]any); ok && !known[reflect.ValueOf(s).Pointer()] {
			known[reflect.ValueOf(s).Pointer()] = true
			list = append(list, s)
		}
	}
	add(root)
	for i := 0; i < len(list); i++ {
		for keyword, value := range list[i] {
			switch keyword {
			case "$ref", "$dynamicRef", "$recursiveRef":
				ref, _ := value.(string)
				target, ok := jsonschema.Resolve(root, ref)
				complete = complete && ok
				add(target)
			case "allOf", "anyOf", "oneOf":
				several, _ := value.([]any)
				for _, one := range several {
					add(one)
				}
			case "if", "then", "else", "not":
				add(value)
			case "dependentSchemas", "dependencies":
				several, _ := value.(map[string]any)
				for _, one := range several {
					add(one)
				}
			}
		}
	}
	return list, complete
}

// declared reports whether a schema declares a property reasoning: at its root, or in a schema that
// applies to the same object ("allOf" and similar keywords, local "$ref"). The schema must be valid
// JSON. nil and null declare nothing.
func declared(schema json.RawMessage) bool {
	list, _ := applied(rawjson.Any(schema))
	return slices.ContainsFunc(list, func(s map[string]any) bool {
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		_, named := properties[reasoningName]
		return named || slices.Contains(required, any(reasoningName))
	})
}

// closed reports whether a schema may reject a property reasoning that is declared at its root: it bounds the
// names or the number of members, or a schema that applies to the same object is closed or not known, or the
// root applies to other objects too.
func closed(schema json.RawMessage) bool {
	list, complete := applied(rawjson.Any(schema))
	for i, s := range list {
		for _, keyword := range []string{"maxProperties", "propertyNames", "additionalProperties", "unevaluatedProperties"} {
			atRoot := i == 0 && (keyword == "additionalProperties" || keyword == "unevaluatedProperties")
			if s[keyword] != nil && s[keyword] != true && !atRoot {
				return true
			}
		}
	}
	return !complete || bytes.Contains(schema, []byte(`"#"`)) // a reference to the root
}

// WithReasoning returns the schema for the model. The property is the first one and the first in
// "required", so the model writes it before the arguments. If schema is nil or null, the result
// describes an object with this property only. The schema must be valid and describe an object. It is not
// modified; the result is a copy.
//
// A schema is returned unchanged if it declares reasoning, or if it might reject the property although its root
// declares it.
func WithReasoning(schema json.RawMessage) json.RawMessage {
	if declared(schema) || closed(schema) {
		return slices.Clone(schema)
	}
	var w rawjson.Object
	list := []struct {
		name, first string
		open        byte
	}{{"properties", reasoning, '{'}, {"required", `"` + reasoningName + `"`, '['}}
	if rawjson.Member(schema, "type") == nil {
		w.PutText("type", "object")
	}
	for name, value := range rawjson.Members(schema) {
		for _, m := range list {
			if m.name == name {
				value = with(value, m.open, m.first)
			}
		}
		w.Put(name, value)
	}
	for _, m := range list {
		if !w.Has(m.name) {
			w.Put(m.name, with(nil, m.open, m.first))
		}
	}
	return w.Bytes()
}

// with puts text first into an object or an array, which open begins. Another value counts as empty.
func with(list json.RawMessage, open byte, text string) json.RawMessage {
	out := append(json.RawMessage{open}, text...)
	list = bytes.TrimSpace(list)
	if rawjson.Kind(list) == open {
		if rest := bytes.TrimSpace(list[1 : len(list)-1]); len(rest) > 0 {
			out = append(append(out, ','), rest...)
		}
	}
	return append(out, rawjson.Closing(open))
}

// take removes the member reasoning from arguments, which must be a valid JSON object, and returns
// its text: the value of a string, "" for null, the JSON of anything else. The other members keep
// their order and their bytes.
func take(arguments json.RawMessage) (rest json.RawMessage, text string) {
	rest, value := rawjson.Without(arguments, reasoningName)
	switch rawjson.Kind(value) {
	case '"':
		text = rawjson.Unquote(value)
	case 0, 'n':
	default:
		text = string(value)
	}
	return rest, text
}
