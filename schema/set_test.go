package schema_test

import (
	"errors"
	"testing"

	"github.com/toolwire/toolwire/schema"
)

func TestSet(t *testing.T) {
	tools := parse(t, `[{"name":"get","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},
		"output_schema":{"type":"object","properties":{"at":{"format":"date"}}}},{"name":"ping","input_schema":{"type":"object"}}]`)
	set, err := schema.NewSet(tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	formal, err := schema.NewSet(tools, &schema.SetOptions{AssertFormats: true, Validate: schema.ValidateOptions{Limits: schema.Limits{Depth: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		err  error
		code schema.Code
		text string
	}{
		{"arguments", set.ValidateArguments("get", []byte(`{"id":"1"}`)), "", ""},
		{"wrong arguments", set.ValidateArguments("get", []byte(`{"id":1}`)), schema.CodeMismatch,
			`tool "get": arguments: /id must be a string, not a number`},
		{"no arguments", set.ValidateArguments("ping", nil), "", ""},
		{"no arguments where some are needed", set.ValidateArguments("get", nil), schema.CodeMismatch,
			`tool "get": arguments: is missing the required property "id"`},
		{"result", set.ValidateResult("get", []byte(`{"at":"nope"}`)), "", ""},
		{"wrong result", set.ValidateResult("get", []byte(`[]`)), schema.CodeMismatch, `tool "get": result: must be an object, not an array`},
		{"wrong format", formal.ValidateResult("get", []byte(`{"at":"nope"}`)), schema.CodeMismatch,
			`tool "get": result: /at must be a valid date, such as 2026-01-31`},
		{"limit", formal.ValidateArguments("ping", []byte(`{"a":{"b":{}}}`)), schema.CodeLimit,
			`tool "ping": arguments: is nested more than 2 levels deep`},
		{"result without schema", set.ValidateResult("ping", []byte(`"pong"`)), "", ""},
		{"result that is no JSON", set.ValidateResult("ping", []byte(`pong`)), schema.CodeNotJSON, `tool "ping": result: is not strict JSON`},
		{"unknown tool", set.ValidateArguments("Get", nil), schema.CodeUnknownTool, `tool "Get": arguments: there is no such tool`},
	} {
		if test.code == "" {
			if test.err != nil {
				t.Errorf("%s: %v", test.name, test.err)
			}
			continue
		}
		e, ok := errors.AsType[*schema.InstanceError](test.err)
		if !ok || e.Code != test.code || e.Error() != test.text {
			t.Errorf("%s: %v, want code %s and %q", test.name, test.err, test.code, test.text)
		}
	}
	if !set.Has("get") || set.Has("Get") || len(set.Tools()) != 2 {
		t.Errorf("set holds %v", set.Tools())
	}
	if _, err := schema.NewSet(parse(t, `[{"name":"a"}]`), nil); found(t, err) != "0 input_schema_missing /input_schema" {
		t.Errorf("problems = %v", err)
	}
}
