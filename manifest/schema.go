package manifest

import (
	"github.com/toolwire/toolwire/internal/strictjson"
)

// schema checks the tool's parameters and gives the tool its check of arguments.
func (c *checker) schema(t *tool) {
	t.arguments = checkObject
	if t.parameters == nil {
		return
	}
	if kind := kindOf(t.parameters); kind != '{' {
		c.refuse("schema", RuleSchema, "schema must be a JSON Schema for an object, not %s", strictjson.KindName(kind))
	}
}
