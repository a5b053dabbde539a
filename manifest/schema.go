package manifest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/schema"
)

// schema compiles the tool's parameters and gives the tool its check of arguments.
func (c *checker) schema(t *tool) {
	if t.parameters == nil {
		return
	}
	if kind := kindOf(t.parameters); kind != '{' {
		c.refuse("schema", RuleSchema, "schema must be a JSON Schema for an object, not %s", strictjson.KindName(kind))
		return
	}
	if !describesObject(t.parameters) {
		c.refuse("schema/type", RuleSchema, `schema must be a JSON Schema for an object: /type must be "object"`)
	}
	validator, err := schema.Compile(t.parameters, nil)
	if err != nil {
		c.schemaProblems(err)
		return
	}
	t.arguments = func(arguments json.RawMessage) error { return validator.Validate(arguments) }
}

func (c *checker) schemaProblems(err error) {
	invalid, ok := errors.AsType[*schema.ValidationError](err)
	if !ok {
		c.refuse("schema", RuleSchema, "schema must be a valid JSON Schema for an object")
		return
	}
	for _, p := range invalid.Problems {
		c.refuse("schema"+p.Pointer, RuleSchema, "schema must be a valid JSON Schema for an object: %s",
			strings.TrimSpace(p.Pointer+" "+p.Message))
	}
}

// describesObject reports whether the root of a schema admits nothing but objects, as far as its "type" says: "object",
// ["object"], or no type at all. What is no type is for the compiler to refuse.
func describesObject(parameters json.RawMessage) bool {
	var root map[string]json.RawMessage // a struct would also take "Type"
	if json.Unmarshal(parameters, &root) != nil {
		return true
	}
	switch t := root["type"]; kindOf(t) {
	case '"':
		return unquote(t) == "object"
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(t, &list) // known to be valid
		return len(list) == 1 && unquote(list[0]) == "object"
	}
	return true
}
