package manifest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/schema"
)

// argumentLimits bounds the arguments of a call before their validation.
var argumentLimits = rawjson.Limits{Depth: 64}

// schema compiles the parameters of the tool.
func (c *checker) schema(t *tool) {
	if t.parameters == nil || rawjson.Kind(t.parameters) == 'n' { // null counts as absent
		t.parameters = nil
		return
	}
	reject := func(place, format string, args ...any) {
		c.reject("/schema"+place, "invalid_schema", "schema must be a "+format, args...)
	}
	if rawjson.Kind(t.parameters) != '{' {
		reject("", "JSON Schema for an object, not %s", rawjson.KindName(rawjson.Kind(t.parameters)))
		return
	}
	if !describesObject(t.parameters) {
		reject("/type", `JSON Schema for an object: /type must be "object"`)
	}
	validator, err := schema.Compile(t.parameters, &schema.CompileOptions{AllowUnchecked: c.options.AllowUnchecked})
	if err == nil {
		t.validate = validator.Validate
		return
	}
	invalid, ok := errors.AsType[*schema.Error](err)
	if !ok {
		reject("", "valid JSON Schema for an object")
		return
	}
	for _, p := range invalid.Problems {
		if invalid.Code == schema.CodeUnchecked {
			c.reject("/schema"+p.Pointer, "unchecked_schema",
				"schema cannot be checked completely: %s; Options.AllowUnchecked accepts it without this check",
				strings.TrimSpace(p.Pointer+" "+p.Message))
			continue
		}
		reject(p.Pointer, "valid JSON Schema for an object: %s", strings.TrimSpace(p.Pointer+" "+p.Message))
	}
}

// describesObject reports whether the "type" of a schema allows objects only: it is missing,
// "object" or ["object"]. Other JSON types are left to the compiler.
func describesObject(parameters json.RawMessage) bool {
	switch t := rawjson.Member(parameters, "type"); rawjson.Kind(t) {
	case '"':
		return rawjson.Unquote(t) == "object"
	case '[':
		n, object := 0, false
		for e := range rawjson.Elements(t) {
			n++
			object = rawjson.Unquote(e) == "object"
		}
		return n == 1 && object
	}
	return true
}
