package manifest

import (
	"errors"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/schema"
)

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
	if place := jsonschema.NotObject(t.parameters); place != "" {
		reject(place, `JSON Schema for an object: %s must be "object"`, place)
	}
	validator, err := schema.Compile(t.parameters, &schema.CompileOptions{AllowUnchecked: c.options.AllowUnchecked})
	if err == nil {
		t.validate = validator.Validate
		return
	}
	invalid, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		reject("", "valid JSON Schema for an object")
		return
	}
	for _, p := range invalid.Problems {
		if invalid.Code == toolwire.CodeUnchecked {
			c.reject("/schema"+p.Pointer, "unchecked_schema",
				"schema cannot be checked completely: %s; Options.AllowUnchecked accepts it without this check",
				strings.TrimSpace(p.Pointer+" "+p.Message))
			continue
		}
		reject(p.Pointer, "valid JSON Schema for an object: %s", strings.TrimSpace(p.Pointer+" "+p.Message))
	}
}
