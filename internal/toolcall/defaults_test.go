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
		{"items", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}}}}`, `{"l":[{},7,{"a":2}]}`,
			`{"l":[{"a":1},7,{"a":2}]}`},
		{"items of two schemas", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}},"allOf":[{"items":{"properties":{"a":{"default":2}}}}]}}}`,
			`{"l":[{}]}`, `{"l":[{"a":1}]}`},
		{"items after others", `{"properties":{"l":{"prefixItems":[{"type":"object"}],"items":{"properties":{"a":{"default":1}}}}}}`,
			`{"l":[{},{}]}`, `{"l":[{},{}]}`},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"default":1}}}`, `{}`, `{"a":1}`},
		{"percent-encoded reference", `{"properties":{"a":{"$ref":"#/%24defs/a%20b"}},"$defs":{"a b":{"default":1}}}`, `{}`, `{"a":1}`},
		{"beside a reference", `{"properties":{"a":{"$ref":"#/$defs/a","default":2}},"$defs":{"a":{"default":1}}}`, `{}`,
			`{"a":2}`},
		{"root reference", `{"$ref":"#/$defs/r","$defs":{"r":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`},
		{"allOf",
			`{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2},"b":{"allOf":[{"default":3}]}}}]}`,
			`{}`, `{"a":1,"b":3}`},
		{"a schema in itself", `{"properties":{"a":{"default":1},"next":{"$ref":"#"}},"allOf":[{"$ref":"#"}]}`,
			`{"next":{"next":{}}}`, `{"next":{"next":{"a":1},"a":1},"a":1}`},
		{"a default in a default", `{"properties":{"o":{"default":{},"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{}}`},
		{"a condition", `{"anyOf":[{"properties":{"a":{"default":1}}}],"if":{},"then":{"properties":{"b":{"default":1}}}}`,
			`{}`, `{}`},
		{"elsewhere", `{"properties":{"a":{"$ref":"https://example.com/a"},"b":{"$ref":"#/nowhere"},"c":{"default":1}}}`,
			`{}`, `{"c":1}`},
		{"a wrong default", `{"properties":{"a":{"type":"string","default":1},"b":{"default":2}}}`, `{}`, `{}`},
		{"too many members", `{"maxProperties":1,"properties":{"a":{"default":1}}}`, `{"b":1}`, `{"b":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			matches := valid
			if tt.name == "a wrong default" || tt.name == "too many members" {
				validator, err := schema.Compile(json.RawMessage(tt.schema), nil)
				if err != nil {
					t.Fatal(err)
				}
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

// A schema whose references double at every level costs as much as it has places.
func TestManyReferences(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/0","$defs":{`)
	for i := range 100 {
		fmt.Fprintf(&b,
			`"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}],"properties":{"p":{"$ref":"#/$defs/%d"},"q":{"$ref":"#/$defs/%d"}}},`,
			i, i+1, i+1, i+1, i+1)
	}
	b.WriteString(`"100":{"properties":{"a":{"default":1}}}}}`)
	got := filled(b.String(), `{"p":{}}`, valid)
	if string(got) != `{"p":{"a":1},"a":1}` {
		t.Errorf("got %s", got)
	}
}

// The work for one schema is bounded: this one combines each of its 4,000 properties with all others.
func TestTheWorkIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties":{"first":{"default":1}`)
	for i := range 4000 {
		fmt.Fprintf(&b, `,"p%d":{"$ref":"#","default":%d}`, i, i)
	}
	b.WriteString(`}}`)
	schema := json.RawMessage(b.String())
	allocated := testing.AllocsPerRun(1, func() { toolcall.New("t", schema, valid) })
	if allocated > 300_000 {
		t.Errorf("%g allocations", allocated)
	}
	got := string(filled(b.String(), `{}`, valid))
	if !strings.HasPrefix(got, `{"first":1,"p0":0,`) {
		t.Errorf("got %.100s", got)
	}
}

// So is the work for nested schemas that each combine the same 30,000. What is beyond has no defaults.
func TestTheWorkForCombinationsIsBounded(t *testing.T) {
	nested := strings.Repeat(`{"$ref":"#/$defs/many","items":`, 200) + "true" + strings.Repeat("}", 200)
	schema := `{"properties":{"l":` + nested + `},"$defs":{"many":{"allOf":[` +
		strings.Repeat(`{},`, 30_000) + `{"properties":{"a":{"default":1}}}]}}}`
	if got := string(filled(schema, `{"l":[{},[{}]]}`, valid)); got != `{"l":[{"a":1},[{}]]}` {
		t.Errorf("got %s", got)
	}
	if allocated := testing.AllocsPerRun(1, func() { toolcall.New("t", json.RawMessage(schema), valid) }); allocated > 50_000 {
		t.Errorf("%g allocations", allocated)
	}
}

// Short arguments do not become long: the defaults of all objects together are bounded.
func TestLongDefaults(t *testing.T) {
	tool := toolcall.New("t", json.RawMessage(`{"properties":{"l":{"items":{"properties":{"a":{"default":"`+
		strings.Repeat("x", 1<<10)+`"}}}}}}`), valid)
	list := func(n int) json.RawMessage {
		return json.RawMessage(`{"l":[` + strings.Repeat("{},", n) + `{}]}`)
	}
	if got := tool.Arguments(list(1000)).Filled(); len(got) < 1000<<10 {
		t.Errorf("%d bytes for 1000 objects", len(got))
	}
	if got := tool.Arguments(list(1100)).Filled(); string(got) != string(list(1100)) {
		t.Errorf("%d bytes for 1100 objects", len(got))
	}
	allocated := testing.AllocsPerRun(1, func() { tool.Arguments(list(100_000)).Filled() })
	if allocated > 20_000 {
		t.Errorf("%g allocations for 100,000 objects", allocated)
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
