package schema

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/jsonschema"
)

// CompileWithSteps is Compile with another bound on the steps of a validation.
func CompileWithSteps(raw json.RawMessage, o *CompileOptions, steps int) (*Validator, error) {
	return compileWithin(raw, o, jsonschema.Limits{Steps: steps})
}
