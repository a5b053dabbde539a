package toolresult_test

import (
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/internal/toolresult"
)

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
