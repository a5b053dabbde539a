package toolresult_test

import (
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/internal/toolresult"
)

func TestRegistered(t *testing.T) {
	const property = `"reasoning":` + toolresult.ReasoningSchema
	for schema, want := range map[string]string{
		`{"type":"object","properties":{` + property + `},"required":["reasoning"]}`:              `{"type":"object","properties":{` + property + `}}`,
		`{"properties":{` + property + `,"a":{"const":1.0}},"required":["reasoning", "a"],"x":1}`: `{"properties":{` + property + `,"a":{"const":1.0}},"required":["a"],"x":1}`,
		`{ "properties":{` + property + `},"required":["a"]}`:                                     `{ "properties":{` + property + `},"required":["a"]}`,
		`{ "properties":{"reasoning":{"type":"string"}},"required":["reasoning"]}`:                `{ "properties":{"reasoning":{"type":"string"}},"required":["reasoning"]}`,
		` true `: ` true `, ``: ``,
	} {
		if got := string(toolresult.Registered(json.RawMessage(schema))); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

func TestParameters(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`:                                  toolresult.NoArguments,
		` { "type" : "object" } `:                            toolresult.NoArguments,
		`{"type":"object","properties":null}`:                toolresult.NoArguments,
		`{"additionalProperties":false,"type":"object"}`:     `{"additionalProperties":false,"type":"object","properties":{}}`,
		`{"type":"object","additionalProperties":{"a" : 1}}`: `{"type":"object","additionalProperties":{"a" : 1},"properties":{}}`,
		`{"type":"object", "properties": {}}`:                `{"type":"object", "properties": {}}`,
		`{"type":"object", "properties":7}`:                  `{"type":"object", "properties":7}`,
		` {} `:                                               ` {} `,
		`{"$ref":"#/$defs/a"}`:                               `{"$ref":"#/$defs/a"}`,
		`true`:                                               `true`,
		`["object"]`:                                         `["object"]`,
		``:                                                   ``,
	} {
		if got := string(toolresult.Parameters(json.RawMessage(schema))); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
