package schema_test

import (
	"errors"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

func TestSet(t *testing.T) {
	tools := parse(t, `[{"name":"get","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},
		"output_schema":{"type":"object","properties":{"at":{"format":"date"}}}},{"name":"ping","input_schema":{"type":"object"}}]`)
	set, err := schema.NewSet(t.Context(), tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	shallow, err := schema.NewSet(t.Context(), tools, &schema.ValidateOptions{Limits: schema.Limits{Depth: 3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		err  error
		code toolwire.Code
		text string
	}{
		{"arguments", set.ValidateArguments("get", []byte(`{"id":"1"}`)), "", ""},
		{"wrong arguments", set.ValidateArguments("get", []byte(`{"id":1}`)), toolwire.CodeMismatch,
			`tool "get": arguments: /id must be a string, not a number`},
		{"no arguments", set.ValidateArguments("ping", nil), "", ""},
		{"no arguments where some are needed", set.ValidateArguments("get", nil), toolwire.CodeMismatch,
			`tool "get": arguments: is missing the required property "id"`},
		{"result", set.ValidateResult("get", []byte(`{"at":"nope"}`)), "", ""},
		{"wrong result", set.ValidateResult("get", []byte(`[]`)), toolwire.CodeMismatch, `tool "get": result: must be an object, not an array`},
		{"limit", shallow.ValidateArguments("ping", []byte(`{"a":{"b":{"c":{}}}}`)), toolwire.CodeLimit,
			`tool "ping": arguments: is nested more than 3 levels deep`},
		{"result without schema", set.ValidateResult("ping", []byte(`"pong"`)), "", ""},
		{"result without schema, half of a surrogate pair", set.ValidateResult("ping", []byte(`"cut \ud83d"`)), "", ""},
		{"result without schema that repeats a name", set.ValidateResult("ping", []byte(`{"a":1,"a":2}`)), toolwire.CodeInvalidJSON,
			`tool "ping": result: is not strict JSON`},
		{"result that is not JSON", set.ValidateResult("ping", []byte(`pong`)), toolwire.CodeInvalidJSON, `tool "ping": result: is not strict JSON`},
		{"unknown tool", set.ValidateArguments("Get", nil), toolwire.CodeUnknownTool, `tool "Get": no tool has this name; names are case-sensitive`},
	} {
		if test.code == "" {
			if test.err != nil {
				t.Errorf("%s: %v", test.name, test.err)
			}
			continue
		}
		e, ok := errors.AsType[*toolwire.Error](test.err)
		if !ok || e.Code != test.code || e.Error() != test.text {
			t.Errorf("%s: %v, want code %s and %q", test.name, test.err, test.code, test.text)
		}
	}
	if _, err := schema.NewSet(t.Context(), parse(t, `[{"name":"a"}]`), nil); found(t, err) != "input_schema_missing /0/input_schema" {
		t.Errorf("problems = %v", err)
	}
}
