package toolcall_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/schema"
)

const property = `"reasoning":{"type":"string","description":"The reasoning for the tool call."}`

func TestInject(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"nil", ``, `{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"null", `null`, `{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"empty", `{}`, `{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"no type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{` + property + `,"a":{}},"required":["reasoning"]}`},
		{"empty properties", `{"type":"object","properties":{ },"required":[ ]}`,
			`{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"order and digits kept", `{ "type":"object", "properties": { "b":{"maximum":1.00}, "a":{} }, "required": ["b"], "x-more":1 }`,
			`{"type":"object","properties":{` + property + `,"b":{"maximum":1.00}, "a":{}},"required":["reasoning","b"],"x-more":1}`},
		{"closed", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`,
			`{"type":"object","properties":{` + property + `,"a":{}},"additionalProperties":false,"required":["reasoning"]}`},
		{"own", `{"type":"object", "properties":{"reasoning":{"type":"array"}}}`, `{"type":"object", "properties":{"reasoning":{"type":"array"}}}`},
		{"own by escape", `{"properties":{"\u0072easoning":{}}}`, `{"properties":{"\u0072easoning":{}}}`},
		{"own, forbidden", `{"properties":{"reasoning":false}}`, `{"properties":{"reasoning":false}}`},
		{"own, required only", `{"type":"object","required":["reasoning"]}`, `{"type":"object","required":["reasoning"]}`},
		{"own in a branch", `{"anyOf":[{"properties":{"reasoning":{}}}]}`, `{"anyOf":[{"properties":{"reasoning":{}}}]}`},
		{"own behind a reference", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"properties":{"reasoning":{}}}}}`,
			`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"properties":{"reasoning":{}}}}}`},
		{"own behind an escaped reference", `{"$ref":"#/$defs/a%20b","$defs":{"a b":{"properties":{"reasoning":{}}}}}`,
			`{"$ref":"#/$defs/a%20b","$defs":{"a b":{"properties":{"reasoning":{}}}}}`},
		{"own in a condition", `{"if":{"required":["reasoning"]},"then":{}}`, `{"if":{"required":["reasoning"]},"then":{}}`},
		{"own when another is there", `{"dependentSchemas":{"a":{"properties":{"reasoning":{}}}}}`, `{"dependentSchemas":{"a":{"properties":{"reasoning":{}}}}}`},
		{"own behind a reference into a list", `{"$ref":"#/x/1","x":[{},{"properties":{"reasoning":{}}}]}`, `{"$ref":"#/x/1","x":[{},{"properties":{"reasoning":{}}}]}`},
		{"reference that is in the way of others", `{"$ref":"#/$defs/A","properties":{"b":{}},"$defs":{"A":{"properties":{"a":{}}}}}`,
			`{"type":"object","$ref":"#/$defs/A","properties":{` + property + `,"b":{}},"$defs":{"A":{"properties":{"a":{}}}},"required":["reasoning"]}`},
		{"reference to a named schema", `{"$ref":"#/$defs/A","$defs":{"A":{"$anchor":"a"}}}`,
			`{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"$anchor":"a"}},"properties":{` + property + `},"required":["reasoning"]}`},
		{"reference by anchor", `{"$ref":"#a","$defs":{"A":{"$anchor":"a"}}}`, `{"$ref":"#a","$defs":{"A":{"$anchor":"a"}}}`},
		{"reference to a reference", `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"description":"b"}}}`,
			`{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"description":"b"}},"properties":{` + property + `},"required":["reasoning"]}`},
		{"not own further down", `{"properties":{"a":{"properties":{"reasoning":{}}}}}`,
			`{"type":"object","properties":{` + property + `,"a":{"properties":{"reasoning":{}}}},"required":["reasoning"]}`},
		{"null keywords", `{"type":"object","properties":null,"required":null}`, `{"type":"object","properties":{` + property + `},"required":["reasoning"]}`},
		{"open branches", `{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":true},{"required":["a"]}]}`,
			`{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":true},{"required":["a"]}],"properties":{` + property + `},"required":["reasoning"]}`},
		{"closed further down", `{"type":"object","properties":{"a":{"additionalProperties":false,"maxProperties":0}}}`,
			`{"type":"object","properties":{` + property + `,"a":{"additionalProperties":false,"maxProperties":0}},"required":["reasoning"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := strings.Clone(tt.schema)
			in := json.RawMessage(tt.schema)
			got := toolcall.WithReasoning(in)
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if string(in) != before {
				t.Error("the schema was modified")
			}
			if len(in) > 0 && len(got) > 0 && &in[0] == &got[0] {
				t.Error("the result is not a copy")
			}
		})
	}
}

// A schema that may reject the property is left alone.
func TestClosedElsewhere(t *testing.T) {
	for _, raw := range []string{
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{}},"additionalProperties":false}}}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"unevaluatedProperties":false}}}`,
		`{"type":"object","allOf":[{"properties":{"a":{}},"additionalProperties":false},{"required":["a"]}]}`,
		`{"type":"object","anyOf":[{"allOf":[{"additionalProperties":{"type":"integer"}}]},{}]}`,
		`{"type":"object","oneOf":[{"unevaluatedProperties":false}]}`,
		`{"type":"object","not":{"additionalProperties":false}}`,
		`{"type":"object","if":{"maxProperties":1}}`, `{"type":"object","then":{"propertyNames":{"maxLength":1}}}`,
		`{"type":"object","else":{"$ref":"#/$defs/A"},"$defs":{"A":{"maxProperties":1}}}`,
		`{"type":"object","dependentSchemas":{"a":{"maxProperties":1}}}`, `{"type":"object","dependencies":{"a":{"maxProperties":1}}}`,
		`{"type":"object","maxProperties":1}`, `{"type":"object","propertyNames":{"maxLength":1}}`,
		`{"type":"object","$ref":"https://example.com/a"}`, `{"type":"object","allOf":[{"$ref":"#a"}],"$defs":{"A":{"$anchor":"a"}}}`,
		`{"type":"object","properties":{"children":{"items":{"$ref":"#"}}}}`,
		`{"type":"object","properties":{"children":{"items":{"$recursiveRef":"#"}}},"additionalProperties":false}`,
	} {
		if got := toolcall.WithReasoning(json.RawMessage(raw)); string(got) != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
}

// The model's schema accepts what the author's schema accepts without the reasoning.
func TestInjectedSchemasMeanTheSame(t *testing.T) {
	schemas := []string{
		`{}`,
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"integer"}},"unevaluatedProperties":false}`,
		`{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}},{"required":["a"]}]}`,
		`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`,
		`{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}`,
	}
	calls := []string{`{}`, `{"a":1}`, `{"a":"x"}`, `{"b":1}`, `{"a":1,"b":2}`, `{"long":1}`, `{"a":{"a":1}}`, `{"a":{"b":1}}`, `{"a":{"a":1,"reasoning":"x"}}`}
	for _, raw := range schemas {
		author, err := schema.Compile(json.RawMessage(raw), nil)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		injected := toolcall.WithReasoning(json.RawMessage(raw))
		model, err := schema.Compile(injected, nil)
		if err != nil {
			t.Fatalf("%s: %v", injected, err)
		}
		for _, call := range calls {
			with := strings.Replace(call, "{", `{"reasoning":"because",`, 1)
			with = strings.Replace(with, ",}", "}", 1)
			want := author.Validate([]byte(call)) == nil
			if got := model.Validate([]byte(with)) == nil; got != want {
				t.Errorf("%s\nbecame %s\n%s is valid: %t; with reasoning: %t", raw, injected, call, want, got)
			}
			if rest, text := take(json.RawMessage(with)); string(rest) != call || text != "because" {
				t.Errorf("%s = %s, %q", with, rest, text)
			}
			if model.Validate([]byte(call)) == nil {
				t.Errorf("%s lets the reasoning out", injected)
			}
		}
	}
}

// take returns arguments without the reasoning, and the reasoning.
func take(arguments json.RawMessage) (rest json.RawMessage, text string) {
	a := toolcall.New("t", nil, valid).Arguments(arguments)
	return a.Bare, a.Reasoning
}

func TestTake(t *testing.T) {
	for _, tt := range []struct{ arguments, rest, text string }{
		{`{}`, `{}`, ``},
		{`{"a": 1.00}`, `{"a": 1.00}`, ``},
		{`{"reasoning":"because"}`, `{}`, `because`},
		{`{"b":1e400,"reasoning":"a \"b\"\n","a":12345678901234567890.10,"c":{"reasoning":1}}`,
			`{"b":1e400,"a":12345678901234567890.10,"c":{"reasoning":1}}`, "a \"b\"\n"},
		{` { "reasoning" : "x" , "a" : 1 } `, ` { "a" : 1 } `, `x`},
		{"{\n\"a\": {\"b\":[\"}\",\"\\\"\"]} ,\n\"reasoning\": -1.5\n}", "{\n\"a\": {\"b\":[\"}\",\"\\\"\"]}\n}", `-1.5`},
		{`{"a":1,"reasoning":true}`, `{"a":1}`, `true`},
		{` { } `, ` { } `, ``},
		{`{"\u0072easoning":"escaped","a":1}`, `{"a":1}`, `escaped`},
		{`{"reasoning":null,"a":1}`, `{"a":1}`, ``},
		{`{"reasoning":["x",1],"a":1}`, `{"a":1}`, `["x",1]`},
		{`{"reasoning":7}`, `{}`, `7`},
		{`{"Reasoning":"x"}`, `{"Reasoning":"x"}`, ``},
		{`{"a\"b":"reasoning"}`, `{"a\"b":"reasoning"}`, ``},
		{`{"a\"b":1,"reasoning":"x"}`, `{"a\"b":1}`, `x`},
	} {
		before := strings.Clone(tt.arguments)
		in := json.RawMessage(tt.arguments)
		rest, text := take(in)
		if string(rest) != tt.rest || text != tt.text {
			t.Errorf("%s = %s, %q; want %s, %q", tt.arguments, rest, text, tt.rest, tt.text)
		}
		if string(in) != before {
			t.Errorf("%s was modified", before)
		}
	}
}

// A schema whose references double at every level must not be expanded.
func TestReferencesAreFollowedOnce(t *testing.T) {
	var defs strings.Builder
	for i := range 40 {
		fmt.Fprintf(&defs, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	raw := `{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + defs.String() + `"d40":{"additionalProperties":false}}}`
	if got := toolcall.WithReasoning(json.RawMessage(raw)); len(got) > 100*len(raw) {
		t.Errorf("%d bytes became %d", len(raw), len(got))
	}
}

func FuzzInject(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"additionalProperties":false}}}`)
	f.Add(`{"$ref":"#/properties/a","properties":{"a":{"type":"object"}},"required":[]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := schema.Compile(json.RawMessage(raw), nil); err != nil {
			return
		}
		injected := toolcall.WithReasoning(json.RawMessage(raw))
		if !json.Valid(injected) {
			t.Fatalf("%s became %s", raw, injected)
		}
		if _, err := schema.Compile(injected, &schema.CompileOptions{Limits: schema.Limits{SchemaBytes: 1 << 24, Depth: 128}}); err != nil {
			t.Fatalf("%s became %s: %v", raw, injected, err)
		}
	})
}

// FuzzTake compares with encoding/json: the reasoning is removed and everything else is unchanged.
func FuzzTake(f *testing.F) {
	for _, s := range []string{`{}`, ` { "reasoning" : "x" , "a" : 1 } `, `{"a":[{"reasoning":1}],"\u0072easoning":{"x":"}"}}`, `{"a":-1e5,"reasoning":null}`, `{"reasoning":false}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := rawjson.Read([]byte(doc), rawjson.Limits{}, func(r *rawjson.Reader) error {
			return r.Object(nil, func(string) error { return nil })
		})
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal([]byte(doc), &before); err != nil {
			t.Fatal(err)
		}
		rest, text := take(json.RawMessage(doc))
		if err := json.Unmarshal(rest, &after); err != nil {
			t.Fatalf("%s became %s: %v", doc, rest, err)
		}
		value, had := before["reasoning"]
		var want string
		if had && json.Unmarshal(value, &want) != nil {
			want = string(value)
		}
		delete(before, "reasoning")
		if text != want || !reflect.DeepEqual(before, after) {
			t.Fatalf("%s became %s, %q", doc, rest, text)
		}
	})
}
