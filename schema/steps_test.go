package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/schema"
)

// A step is a schema that is applied to a value. What costs more than that counts as several. Whether
// something matches does not matter.
func TestSteps(t *testing.T) {
	long := `"` + strings.Repeat("a", 1280) + `"`
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	inItems := func(keyword string) string { return `{"items":{` + keyword + `}}` }
	for _, test := range []struct {
		name, schema, document string
		want                   int
	}{
		{"true", `true`, `1`, 1},
		{"a type", `{"type":"string"}`, `1`, 1},
		{"properties that are there", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":1,"c":1}`, 2},
		{"other properties", `{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"a":1,"c":1,"d":1}`, 4},
		{"required names", `{"required":["a","b","c"]}`, `{"a":1}`, 4},
		{"required names of another kind of value", `{"required":["a","b","c"]}`, `1`, 1},
		{"dependent names", `{"dependentRequired":{"a":["b","c"],"d":["e"]}}`, `{"a":1}`, 3},
		{"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b","c"],"d":["e"]}}`, `{"a":null}`, 3},
		{"dependent names that nothing has", `{"dependentRequired":` + namesOfNothing(80) + `}`, `{}`, 11},
		{"dependencies that nothing has", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":` + namesOfNothing(80) + `}`, `{}`, 11},
		{"dependent schemas", `{"dependentSchemas":{"a":{"type":"object"}}}`, `{"a":1}`, 2},
		{"dependencies that are schemas", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"type":"object"}}}`, `{"a":1}`, 2},
		{"many members", `{"type":"object"}`, manyProperties(80), 11},
		{"property names", `{"propertyNames":{"minLength":1}}`, `{"a":1,"b":1}`, 3},
		{"several schemas of property names", `{"propertyNames":{"allOf":[{"minLength":1},{"maxLength":3}]}}`, `{"a":1}`, 4},
		{"names that match", `{"patternProperties":{"^a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"a":1,"b":1}`, 5},
		{"long names are matched", `{"patternProperties":{"^a{300}":{}}}`, `{"` + strings.Repeat("a", 320) + `":1}`, 3033},
		{"unevaluated properties", `{"unevaluatedProperties":{"type":"string"}}`, `{"a":1,"b":1}`, 3},
		{"alternatives", `{"anyOf":[{"type":"string"},{"type":"number"}],"oneOf":[{"type":"null"}],"allOf":[{"type":"null"}],"not":{"type":"null"}}`, `1`, 6},
		{"conditions", `{"if":{"type":"string"},"then":{"type":"number"},"else":{"type":"number"}}`, `1`, 4},
		{"a reference", `{"$defs":{"a":{"type":"string"}},"$ref":"#/$defs/a"}`, `1`, 2},
		{"items", inItems(`"type":"string"`), `[1,2,3]`, 4},
		{"first items", `{"prefixItems":[{"type":"string"},{"type":"string"}],"items":{"type":"string"}}`, `[1,2,3,4]`, 5},
		{"first items only", `{"prefixItems":[{"type":"string"},{"type":"string"}]}`, `[1,2,3,4]`, 3},
		{"a tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":{"type":"string"}}`, `[1,2,3]`, 4},
		{"contains", `{"contains":{"type":"string"}}`, `[1,2]`, 3},
		{"unevaluated items", `{"unevaluatedItems":{"type":"string"}}`, `[1,2]`, 3},
		{"sets of unevaluated items", `{"allOf":[{"minItems":1}],"unevaluatedItems":{"type":"string"}}`, list(16, `1`), 22},
		{"no sets", `{"allOf":[{"minItems":1}]}`, list(16, `1`), 2},
		{"an enumeration", `{"enum":` + list(32, `"a"`) + `}`, `"b"`, 3},
		{"numbers in an enumeration", `{"enum":[1,2,3]}`, `5`, 7},
		{"numbers in an enumeration and a string", `{"enum":[1,2,3]}`, `"5"`, 1},
		{"a constant", `{"const":"a"}`, `"a"`, 2},
		{"a constant list", `{"const":[1,2,[3]]}`, `[1,2,[3]]`, 12},
		{"a constant list of another length", `{"const":[1,2,3]}`, `[1,2]`, 2},
		{"a constant list and a difference", `{"const":[1,2,3]}`, `[2,2,3]`, 5},
		{"a constant object", `{"const":{"a":1,"b":2}}`, `{"a":3,"b":4}`, 8},
		{"a constant object with other names", `{"const":{"a":1,"b":2}}`, `{"c":3,"b":4}`, 6},
		{"lengths", `{"minLength":1,"maxLength":2}`, long, 21},
		{"a pattern", `{"pattern":"^a"}`, long, 161},
		{"a multiple", `{"multipleOf":2}`, `3`, 5},
		{"an exponent", `{"minimum":2}`, `3e1`, 9},
		{"a few equal items", `{"uniqueItems":true}`, `["a",1,2]`, 3},
		{"many equal items", `{"uniqueItems":true}`, list(21, `1`), 44},
		{"many long items", `{"uniqueItems":true}`, list(21, long), 233},
		{"many objects", `{"uniqueItems":true}`, list(21, manyProperties(8)), 380},
		{"20 items are compared", `{"uniqueItems":true}`, list(20, `1`), 381},
		{"a chain of references", chain(300), `["a"]`, 523},
		{"a recursive schema", `{"properties":{"a":{"$ref":"#"}}}`, `{"a":{"a":{}}}`, 5},
		{"a dynamic reference", `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}`, `{"a":{"a":{}}}`, 6},
		{"a dynamic reference with an anchor outside", `{"$ref":"tree","$defs":{"n":{"$dynamicAnchor":"n","type":"null"},
			"tree":{"$id":"tree","$defs":{"f":{"$dynamicAnchor":"n","type":"null"}},"items":{"$dynamicRef":"#n"}}}}`, `[1,2]`, 8},
		{"a dynamic reference with an anchor in a place without keyword", `{"$ref":"#/x/a","x":{"a":{"$dynamicAnchor":"n","properties":{"k":{"$ref":"in"}}}},
			"$defs":{"in":{"$id":"in","$dynamicAnchor":"n","properties":{"k":{"$dynamicRef":"#n"}}}}}`, `{"k":{"k":1}}`, 8},
		{"a recursive reference inside a part with its own id", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$ref":"a#/$defs/in","$defs":{
			"a":{"$id":"a","$recursiveAnchor":true,"$defs":{"in":{"items":{"$recursiveRef":"#"}}}}}}`, `[1]`, 8},
		{"a recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}}}`, `{"a":{"a":{}}}`, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			limited := func(steps int) bool {
				v, err := schema.CompileWithSteps(json.RawMessage(test.schema), &schema.CompileOptions{}, steps)
				if err != nil {
					t.Fatal(err)
				}
				return schema.CodeOf(v.Validate([]byte(test.document))) == schema.CodeLimit
			}
			if limited(test.want) || !limited(test.want-1) && test.want > 1 {
				least := 1
				for limited(least) {
					least++
				}
				t.Errorf("takes %d steps, want %d", least, test.want)
			}
		})
	}
}

// A recursive reference may lead into a document whose root nothing else refers to.
func TestStepsOfRecursiveReferencesAcrossDocuments(t *testing.T) {
	const draft = `"$schema":"https://json-schema.org/draft/2019-09/schema"`
	o := &schema.CompileOptions{Resources: map[string]json.RawMessage{
		"https://x.test/b": json.RawMessage(`{` + draft + `,"$recursiveAnchor":true,"$defs":{"in":{"anyOf":[
			{"properties":{"k":{"$ref":"https://x.test/c"}},"required":["y"]},{"properties":{"k":{"$ref":"https://x.test/c"}},"required":["z"]}]}}}`),
		"https://x.test/c": json.RawMessage(`{` + draft + `,"$recursiveAnchor":true,"properties":{"k":{"$recursiveRef":"#"}}}`),
	}}
	v, err := schema.Compile(json.RawMessage(`{`+draft+`,"$ref":"https://x.test/b#/$defs/in"}`), o)
	if err != nil {
		t.Fatal(err)
	}
	document := strings.Repeat(`{"k":`, 60) + `{}` + strings.Repeat(`}`, 60)
	if err := v.Validate([]byte(document)); schema.CodeOf(err) != schema.CodeLimit {
		t.Errorf("error = %v, want a limit", err)
	}
}

// A string that is too long for any expression is reported as too long, whatever matching it would cost.
func TestLongStringsAndPatterns(t *testing.T) {
	err := mustCompile(t, `{"pattern":"^[a-z]+$"}`).Validate([]byte(`"` + strings.Repeat("a", 1<<20-2) + `"`))
	if err == nil || err.Error() != "has a string of more than 16384 bytes where the schema has a pattern" {
		t.Errorf("error = %v", err)
	}
}

// A format that is asserted reads the string.
func TestStepsOfFormats(t *testing.T) {
	document := []byte(`"` + strings.Repeat("a", 1280) + `"`)
	for _, test := range []struct {
		format string
		steps  int
		want   schema.Code
	}{{"email", 21, schema.CodeLimit}, {"email", 22, schema.CodeMismatch}, {"unknown", 1, ""}} {
		v, err := schema.CompileWithSteps(json.RawMessage(`{"format":"`+test.format+`"}`), &schema.CompileOptions{AssertFormats: true}, test.steps)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(document); schema.CodeOf(err) != test.want {
			t.Errorf("%s with %d steps: %v, want %q", test.format, test.steps, err, test.want)
		}
	}
}
