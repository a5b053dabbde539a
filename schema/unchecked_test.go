package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

const lookAhead = `"^.(?=.*[0-9]).{7,}$"`

// tooLarge is a valid schema of more than 64 KiB.
var tooLarge = `{"type":"object","required":["a"],"description":"` + strings.Repeat("x", 65<<10) + `"}`

// pydantic is what args_schema.schema() of Pydantic 1 returns.
const pydantic = `{"title":"Args","type":"object","properties":{
	"point":{"title":"Point","type":"array","minItems":2,"maxItems":2,"items":[{"type":"number"},{"type":"number"}]},
	"owner":{"$ref":"#/definitions/Owner"}},"required":["point"],"definitions":{
	"Owner":{"title":"Owner","type":"object","properties":{"name":{"title":"Name","type":"string"}},"required":["name"]}}}`

// openAPI is a schema object of OpenAPI 3.0.
const openAPI = `{"type":"object","properties":{
	"amount":{"type":"number","minimum":0,"exclusiveMinimum":true,"example":1.5},
	"note":{"type":"string","nullable":true}},"required":["amount"]}`

// TestUnchecked has schemas that are valid and that this package cannot check in full, with
// documents that every validator accepts or rejects.
func TestUnchecked(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70)
	many := `{"type":"object","properties":{"p":{"type":"string"}` + strings.Repeat(`,"%d":{}`, 1_500) + `}}`
	many = fmt.Sprintf(many, numbers(1_500)...)
	for _, test := range []struct {
		name, schema string
		code, at     string
		valid        []string
		invalid      []string // found by the parts that are checked
	}{
		{"look-ahead", `{"properties":{"pin":{"type":"string","minLength":2,"pattern":` + lookAhead + `}},"required":["pin"]}`,
			"schema_pattern_unsupported", "/properties/pin/pattern",
			[]string{`{"pin":"abcdefg1"}`, `{"pin":"short"}`}, []string{`{}`, `{"pin":1}`, `{"pin":"x"}`}},
		{"back-reference", `{"properties":{"a":{"pattern":"^(a)\\1$"}},"additionalProperties":false}`,
			"schema_pattern_unsupported", "/properties/a/pattern", []string{`{"a":"aa"}`}, []string{`{"b":1}`}},
		{"look-behind", `{"properties":{"a":{"type":"string","pattern":"(?<!a)$"}}}`,
			"schema_pattern_unsupported", "/properties/a/pattern", []string{`{"a":"a"}`}, []string{`{"a":1}`}},
		{"in an alternative", `{"anyOf":[{"required":["a"]},{"properties":{"b":{"pattern":` + lookAhead + `}},"required":["b"]}]}`,
			"schema_pattern_unsupported", "/anyOf/1/properties/b/pattern", []string{`{"b":"abcdefg1"}`, `{"a":1}`}, []string{`{}`}},
		{"under not", `{"not":{"properties":{"a":{"pattern":` + lookAhead + `}}}}`,
			"schema_pattern_unsupported", "/not/properties/a/pattern", []string{`{"a":"short"}`}, nil},
		{"under oneOf", `{"properties":{"a":{"oneOf":[{"pattern":` + lookAhead + `},{"const":"short"}]}}}`,
			"schema_pattern_unsupported", "/properties/a/oneOf/0/pattern", []string{`{"a":"short"}`, `{"a":"abcdefg1"}`}, nil},
		{"in a condition", `{"if":{"properties":{"a":{"pattern":` + lookAhead + `}}},"then":false}`,
			"schema_pattern_unsupported", "/if/properties/a/pattern", []string{`{"a":"short"}`}, nil},
		{"at most so many", `{"properties":{"a":{"contains":{"pattern":` + lookAhead + `},"maxContains":1}}}`,
			"schema_pattern_unsupported", "/properties/a/contains/pattern", []string{`{"a":["abcdefg1","b"]}`}, nil},
		{"referred to from not", `{"$defs":{"p":{"pattern":` + lookAhead + `}},"properties":{"a":{"not":{"$ref":"#/$defs/p"}}}}`,
			"schema_pattern_unsupported", "/$defs/p/pattern", []string{`{"a":"short"}`}, nil},
		{"names", `{"patternProperties":{` + lookAhead + `:{"type":"string"}},"additionalProperties":false}`,
			"schema_pattern_unsupported", "/patternProperties/^.(?=.*[0-9]).{7,}$", []string{`{"abcdefg1":"x"}`}, nil},
		{"large", tooLarge, "schema_too_large", "", []string{`{"a":1}`, `{}`}, nil},
		{"deep", `{"anyOf":[` + deep + `,{}]}`, "schema_too_deep", "", []string{`{}`}, nil},
		{"many properties", many, "schema_too_complex", "/properties", []string{`{"p":"x"}`, `{"p":1}`}, nil},
		{"elsewhere", `{"properties":{"a":{"$ref":"https://schemas.example.com/a.json"},"b":{"type":"string"}},"required":["b"]}`, "schema_ref_remote",
			"/properties/a/$ref", []string{`{"a":1,"b":"x"}`}, []string{`{"a":1}`, `{"b":1}`}},
		{"elsewhere in a part with an id", `{"properties":{"a":{"$id":"https://x.test/a","items":{"$ref":"b#/$defs/c"}},"b":{"$ref":"https://x.test/a"}}}`, "schema_ref_remote",
			"/properties/a/items/$ref", []string{`{"a":[1]}`}, nil},
		{"elsewhere under not", `{"properties":{"a":{"not":{"$ref":"https://schemas.example.com/a.json"}},"b":{"type":"string"}}}`, "schema_ref_remote",
			"/properties/a/not/$ref", []string{`{"a":1}`, `{"b":1}`}, nil},
		{"elsewhere beside what is checked", `{"properties":{"a":{"$ref":"https://schemas.example.com/a.json","minLength":3}}}`,
			"schema_ref_remote", "/properties/a/$ref", []string{`{"a":"abc"}`}, []string{`{"a":"x"}`}},
		{"elsewhere beside what no other schema looks at", `{"properties":{"a":{"$ref":"https://schemas.example.com/a.json","unevaluatedProperties":false}}}`,
			"schema_ref_remote", "/properties/a/$ref", []string{`{"a":{"b":1}}`}, nil},
		{"a look-ahead beside what no other schema looks at", `{"properties":{"a":{"pattern":` + lookAhead + `}},"unevaluatedProperties":false}`,
			"schema_pattern_unsupported", "/properties/a/pattern", []string{`{"a":"short"}`}, []string{`{"b":1}`}},
		{"elsewhere beside what is ignored", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"https://schemas.example.com/a.json","description":"d"},"b":{"type":"string"}}}`,
			"schema_ref_remote", "/properties/a/$ref", []string{`{"a":1}`}, []string{`{"b":1}`}},
		{"nullable", openAPI, "schema_keyword_ignored", "/properties/note/nullable",
			[]string{`{"amount":0.5}`, `{"amount":1,"note":"x"}`}, []string{`{"amount":0}`, `{}`, `{"amount":1,"note":null}`}},
		{"a wrapper", `{"jsonSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, "schema_no_keyword", "", []string{`{"a":1}`}, nil},
		{"a list of properties", `{"properties":{"a":{"b":{"type":"string"}}}}`, "schema_no_keyword", "/properties/a", []string{`{"a":{"b":1}}`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			tools := []schema.Tool{{Name: "t", InputSchema: json.RawMessage(test.schema)}}
			unchecked, err := schema.Validate(t.Context(), tools, nil)
			if err != nil || len(unchecked) != 1 || unchecked[0].Code != test.code || unchecked[0].Pointer != "/0/input_schema"+test.at {
				t.Fatalf("Validate = %.300v, %v; want %s %s", unchecked, err, test.code, test.at)
			}
			set, err := schema.NewSet(t.Context(), tools, nil)
			if err != nil || len(set.Unchecked()) != 1 || set.Unchecked()[0] != unchecked[0] {
				t.Fatalf("NewSet: %v, %.300v", err, set.Unchecked())
			}
			for _, document := range test.valid {
				if err := set.ValidateArguments("t", []byte(document)); err != nil {
					t.Errorf("%s is refused: %v", document, err)
				}
			}
			for _, document := range test.invalid {
				if err := set.ValidateArguments("t", []byte(document)); toolwire.CodeOf(err) != toolwire.CodeMismatch {
					t.Errorf("%s: %v, want a mismatch", document, err)
				}
			}
			if err := set.ValidateArguments("t", []byte(`{"a":1,"a":2}`)); toolwire.CodeOf(err) != toolwire.CodeInvalidJSON {
				t.Errorf("repeated names: %v", err)
			}
			if err := set.ValidateArguments("t", []byte(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`)); toolwire.CodeOf(err) != toolwire.CodeLimit {
				t.Errorf("a large document: %v", err)
			}
			_, losses, err := schema.Export(tools, schema.Anthropic)
			if err != nil || !slices.Contains(losses, unchecked[0]) {
				t.Errorf("Export: %v, %.300v", err, losses)
			}
		})
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Compile refuses what it cannot check unless it is told to ignore it.
func TestCompileUnchecked(t *testing.T) {
	raw := json.RawMessage(`{"required":["a"],"properties":{"a":{"pattern":` + lookAhead + `}}}`)
	_, err := schema.Compile(raw, nil)
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != toolwire.CodeUnchecked || len(e.Problems) != 1 || e.Problems[0].Pointer != "/properties/a/pattern" {
		t.Fatalf("error = %v, want the code unchecked", err)
	}
	v, err := schema.Compile(raw, &schema.CompileOptions{AllowUnchecked: true})
	if err != nil || len(v.Unchecked()) != 1 || v.Unchecked()[0] != e.Problems[0] {
		t.Fatalf("%v, %v", v, err)
	}
	if err := v.Validate([]byte(`{"a":"x"}`)); err != nil {
		t.Error(err)
	}
	if err := v.Validate([]byte(`{}`)); toolwire.CodeOf(err) != toolwire.CodeMismatch {
		t.Errorf("error = %v, want a mismatch", err)
	}
	// A schema that accepts every document reads each as other schemas do.
	v, err = schema.Compile(json.RawMessage(`{"not":{"pattern":`+lookAhead+`}}`), &schema.CompileOptions{AllowUnchecked: true})
	if err != nil || v.Validate([]byte(`"\ud800"`)) != nil || toolwire.CodeOf(v.Validate([]byte(`{"a":1,"a":2}`))) != toolwire.CodeInvalidJSON {
		t.Error(err)
	}
}

// A schema that is not valid is an error, whatever else of it cannot be checked.
func TestUncheckedAndInvalid(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"beside a pattern", `{"type":"object","properties":{"a":{"pattern":` + lookAhead + `},"b":{"type":"text"}}}`,
			"schema_invalid /0/input_schema/properties/b/type\n? schema_pattern_unsupported /0/input_schema/properties/a/pattern"},
		{"broken reference", `{"properties":{"a":{"pattern":` + lookAhead + `},"b":{"$ref":"#/$defs/b"}}}`,
			"schema_ref_broken /0/input_schema/properties/b/$ref\n? schema_pattern_unsupported /0/input_schema/properties/a/pattern"},
		{"large and not JSON", tooLarge + `}`, "schema_not_json /0/input_schema"},
		{"deeper than parsers read", strings.Repeat(`{"not":`, 10_001) + `{}` + strings.Repeat(`}`, 10_001),
			"schema_not_json /0/input_schema"},
		{"large and not an object", `[` + tooLarge + `]`, "schema_not_object /0/input_schema"},
		{"large and of an array", strings.Replace(tooLarge, "object", "array", 1),
			"schema_not_object /0/input_schema/type\n? schema_too_large /0/input_schema"},
	} {
		tools := []schema.Tool{{Name: "t", InputSchema: json.RawMessage(test.schema)}}
		if got := verdict(t, tools, nil); got != test.want {
			t.Errorf("%s: problems:\n%s\nwant:\n%s", test.name, got, test.want)
		}
		if _, err := schema.Compile(tools[0].InputSchema, &schema.CompileOptions{AllowUnchecked: true}); (err == nil) != strings.Contains(test.want, "not_object") {
			t.Errorf("%s: Compile: %v", test.name, err)
		}
	}
}

// A schema of InferOptions.Types may have what this package cannot check.
func TestDefineUnchecked(t *testing.T) {
	type pin string
	type arguments struct {
		Pin pin `json:"pin"`
	}
	tool, err := schema.Define[arguments, any]("unlock", "Unlock.", &schema.InferOptions{Types: map[reflect.Type]json.RawMessage{
		reflect.TypeFor[pin](): json.RawMessage(`{"type":"string","pattern":` + lookAhead + `}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := verdict(t, []schema.Tool{tool}, nil), "? schema_pattern_unsupported /0/input_schema/properties/pin/pattern"; got != want {
		t.Errorf("problems = %q, want %q", got, want)
	}
}

// The count of problems of a schema is bounded. What cannot be checked does not displace what is not
// valid.
func TestInvalidBeforeUnchecked(t *testing.T) {
	var properties strings.Builder
	for i := range 110 {
		fmt.Fprintf(&properties, `"a%03d":{"pattern":%s},`, i, lookAhead)
	}
	tools := []schema.Tool{{Name: "t", InputSchema: json.RawMessage(`{"properties":{` + properties.String() + `"b":{"type":"text"}}}`)}}
	if got := verdict(t, tools, nil); !strings.Contains(got, "schema_invalid /0/input_schema/properties/b/type") {
		t.Errorf("problems:\n%s", got)
	}
	for patterns, at := range map[int]int{98: 98, 99: 99, 100: 0, 101: 0} { // they are in the order of the schema unless some are left out
		list := properties.String()[:patterns*strings.Index(properties.String(), `"a001"`)]
		_, err := schema.Compile(json.RawMessage(`{"properties":{`+list+`"b":{"type":"text"}}}`), nil)
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || len(e.Problems) != min(patterns+1, 100) || e.Problems[at].Code != "schema_invalid" {
			t.Errorf("%d expressions: %v, want problem %d to be invalid", patterns, err, at)
		}
	}
	tools[0].InputSchema = json.RawMessage(`{"x-note":{"pattern":` + lookAhead + `},"examples":[{"pattern":` + lookAhead + `}]}`)
	if got := verdict(t, tools, nil); got != "" {
		t.Errorf("expressions that are not part of the schema:\n%s", got)
	}
}

// A schema and a resource that have the same problem in the same place report it once.
func TestSameProblemInAResource(t *testing.T) {
	const url = "https://schemas.example.com/a"
	o := &schema.CompileOptions{Resources: map[string]json.RawMessage{url: json.RawMessage(`{"pattern":` + lookAhead + `}`)}}
	_, err := schema.Compile(json.RawMessage(`{"$ref":"`+url+`","pattern":`+lookAhead+`}`), o)
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || len(e.Problems) != 1 || e.Problems[0].Pointer != "/pattern" {
		t.Errorf("error = %v, want one problem", err)
	}
}
