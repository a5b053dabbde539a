package toolcall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/schema"
)

func valid([]byte) error { return nil }

// filled returns arguments with the defaults of a schema.
func filled(schema, arguments string, matches func([]byte) error) json.RawMessage {
	a := toolcall.New("t", json.RawMessage(schema), matches).Arguments(json.RawMessage(arguments))
	return a.Filled()
}

func TestFill(t *testing.T) {
	const limit = `{"type":"object","properties":{"limit":{"type":"integer","default":50}}}`
	for _, tt := range []struct{ name, schema, arguments, want string }{
		{"absent", limit, `{}`, `{"limit":50}`},
		{"present", limit, `{"limit":5}`, `{"limit":5}`},
		{"order and digits", limit, ` {"b": 1.50, "a\u0062":[]}`, `{"b":1.50,"ab":[],"limit":50}`},
		{"no defaults", `{"properties":{"a":{}}}`, `{"b": 1}`, `{"b": 1}`},
		{"not a schema with keywords", `true`, `{ }`, `{ }`},
		{"all kinds",
			`{"properties":{"s":{"default":"x"},"f":{"default":false},"l":{"default":[]},"o":{"default":{"a":1}},"n":{"default":null}}}`,
			`{}`, `{"s":"x","f":false,"l":[],"o":{"a":1}}`},
		{"null is present", `{"properties":{"a":{"default":1}}}`, `{"a":null}`, `{"a":null}`},
		{"nested", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"a":1}}`},
		{"nested and absent", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		{"not an object", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":[{}]}`, `{"o":[{}]}`},
		{"nested twice", `{"properties":{"o":{"properties":{"p":{"properties":{"a":{"default":1}}}}},"b":{"default":2}}}`, `{"o":{"p":{}}}`,
			`{"o":{"p":{"a":1}},"b":2}`},
		{"what is not in properties", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}},"r":{"$ref":"#/$defs/r"},"b":{"default":2}},` +
			`"allOf":[{"properties":{"c":{"default":1}}}],"$defs":{"r":{"default":1}}}`, `{"l":[{}]}`, `{"l":[{}],"b":2}`},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/a","default":2}},"$defs":{"a":{"default":1}}}`, `{}`,
			`{"a":2}`},
		{"a default in a default", `{"properties":{"o":{"default":{},"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{}}`},
		{"a condition", `{"anyOf":[{"properties":{"a":{"default":1}}}],"if":{},"then":{"properties":{"b":{"default":1}}}}`,
			`{}`, `{}`},
		{"elsewhere", `{"properties":{"a":{"$ref":"https://example.com/a"},"b":{"$ref":"#/nowhere"},"c":{"default":1}}}`,
			`{}`, `{"c":1}`},
		{"a wrong default", `{"properties":{"a":{"type":"string","default":1},"b":{"default":2}}}`, `{}`, `{"b":2}`},
		{"wrong defaults", `{"properties":{"a":{"enum":["x"],"default":""},"b":{"default":2},"c":{"minimum":1,"default":0},"d":{"default":4}}}`,
			`{"x":1}`, `{"x":1,"b":2,"d":4}`},
		{"a wrong default in an object", `{"properties":{"o":{"properties":{"a":{"type":"array","default":"[]"},"b":{"default":2}}},"c":{"default":3}}}`,
			`{"o":{}}`, `{"o":{"b":2},"c":3}`},
		{"too many members", `{"maxProperties":1,"properties":{"a":{"default":1}}}`, `{"b":1}`, `{"b":1}`},
		{"too many defaults", `{"maxProperties":2,"properties":{"a":{"default":1},"c":{"default":1}}}`, `{"b":1}`, `{"b":1,"a":1}`},
		{"a default that excludes another", `{"properties":{"a":{"default":1},"c":{"default":1}},"not":{"required":["a","c"]}}`, `{}`, `{"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			validator, err := schema.Compile(json.RawMessage(tt.schema), nil)
			if err != nil && tt.name != "elsewhere" {
				t.Fatal(err)
			}
			matches := valid
			if err == nil {
				matches = validator.Validate
			}
			if got := filled(tt.schema, tt.arguments, matches); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Arguments without a default to add are not validated again, and are not copied.
func TestNothingToFill(t *testing.T) {
	arguments := json.RawMessage(`{"a":2}`)
	tool := toolcall.New("t", json.RawMessage(`{"properties":{"a":{"default":1}}}`), func([]byte) error {
		t.Error("validated again")
		return errors.New("no")
	})
	got := tool.Arguments(arguments).Filled()
	if &got[0] != &arguments[0] {
		t.Error("copied")
	}
}

// Of many defaults that are not valid together, a bounded number is tried.
func TestTriesAreBounded(t *testing.T) {
	for _, n := range []int{50, 1000} {
		properties := make([]string, n)
		for i := range properties {
			properties[i] = fmt.Sprintf(`"p%d":{"default":%d}`, i, i)
		}
		tries := 0
		got := filled(`{"properties":{`+strings.Join(properties, ",")+`}}`, `{}`, func(arguments []byte) error {
			tries++
			if strings.Contains(string(arguments), `"p7"`) {
				return errors.New("no")
			}
			return nil
		})
		if want := min(n, 100) - 1; tries > 101 || strings.Count(string(got), ":") != want {
			t.Errorf("%d defaults: %d tries, %d members, want %d", n, tries, strings.Count(string(got), ":"), want)
		}
	}
}

func TestRefused(t *testing.T) {
	wrong := toolcall.Refused(schema.Lint([]schema.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{
		"page":{"type":"integer","minimum":1,"default":0},"limit":{"type":"integer","default":50},"none":{"type":"string","default":null},
		"sort":{"$ref":"#/$defs/sort"},"at":{"items":[{"nullable":true,"type":"string"}]},"pin":{"pattern":"a(?=b)"}},"$defs":{"sort":{"enum":["asc","desc"],"default":""}}}`)}}, nil))
	var got []string
	for _, p := range wrong {
		got = append(got, p.Code+" "+p.Pointer)
	}
	if want := "schema_pattern_unsupported /0/input_schema/properties/pin/pattern, default_invalid /0/input_schema/$defs/sort/default, default_invalid /0/input_schema/properties/page/default"; strings.Join(got, ", ") != want {
		t.Errorf("got %v", wrong)
	}
}

func FuzzFill(f *testing.F) {
	f.Add(`{"properties":{"a":{"default":1,"items":{"$ref":"#"}}},"allOf":[{"$ref":"#/properties/a"}]}`, `{"b":[{}]}`)
	f.Fuzz(func(t *testing.T, schema, arguments string) {
		if !json.Valid([]byte(schema)) || !json.Valid([]byte(arguments)) || !strings.HasPrefix(arguments, "{") {
			t.Skip("not JSON")
		}
		got := filled(schema, arguments, valid)
		if !json.Valid(got) {
			t.Errorf("%s with %s gives %s", arguments, schema, got)
		}
		again := filled(schema, string(got), valid)
		if len(got) > len(again) {
			t.Errorf("filled again: %s from %s", again, got)
		}
	})
}

// Arguments that match a schema and not the Go type are invalid arguments, not a failure of the tool.
func TestDecode(t *testing.T) {
	in, err := toolcall.Decode[struct{ N int8 }](json.RawMessage(`{"N":5}`))
	if err != nil || in.N != 5 || toolcall.FailureOf(err) != nil {
		t.Errorf("%v, %v", in, err)
	}
	_, err = toolcall.Decode[struct{ N int8 }](json.RawMessage(`{"N":500}`))
	if f := toolcall.FailureOf(err); f == nil || f.Code != toolcall.Invalid {
		t.Errorf("%+v, %v", f, err)
	}
}
