package schema_test

import (
	"encoding/json"
	"sort"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

// limited reports whether the validation of a document needs more steps.
func limited(t *testing.T, raw, document string, o *schema.CompileOptions, steps int) bool {
	t.Helper()
	v, err := schema.CompileWithSteps(json.RawMessage(raw), o, steps)
	if err != nil {
		t.Fatal(err)
	}
	return toolwire.CodeOf(v.Validate([]byte(document))) == toolwire.CodeLimit
}

// price returns the least number of steps with which a document is validated.
func price(t *testing.T, raw, document string, o *schema.CompileOptions) int {
	t.Helper()
	enough := 1
	for limited(t, raw, document, o, enough) {
		if enough *= 2; enough > 1<<30 {
			t.Fatalf("%.100s: no number of steps is enough", raw)
		}
	}
	return enough/2 + 1 + sort.Search((enough-1)/2, func(steps int) bool { return !limited(t, raw, document, o, enough/2+1+steps) })
}

// Four times the work has four times the price, whatever the work is, and whether or not the document matches.
func TestPriceGrowsWithTheWork(t *testing.T) {
	const draft7, draft2019 = `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"https://json-schema.org/draft/2019-09/schema",`
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	text := func(n int) string { return `"` + strings.Repeat("a", 1280*n) + `"` }
	fixed := func(s string) func(int) string { return func(int) string { return s } }
	items := func(item string) func(int) string { return func(n int) string { return list(8*n, item) } }
	many := func(keyword, inner string) func(int) string {
		return func(n int) string { return `{` + keyword + list(8*n, inner) + `}` }
	}
	for _, test := range []struct {
		name             string
		schema, document func(n int) string
	}{
		{"items of the wrong type", fixed(`{"items":{"type":"string"}}`), items(`1`)},
		{"items", fixed(`{"items":{}}`), items(`1`)},
		{"items of a false schema", fixed(`{"items":false}`), items(`1`)},
		{"first items", func(n int) string { return `{"prefixItems":` + list(8*n, `{"type":"string"}`) + `}` }, items(`1`)},
		{"items after the first", fixed(`{"prefixItems":[{}],"items":{"type":"string"}}`), items(`1`)},
		{"a tuple", func(n int) string { return `{` + draft7 + `"items":` + list(8*n, `{"type":"string"}`) + `}` }, items(`1`)},
		{"items after a tuple", fixed(`{` + draft7 + `"items":[{}],"additionalItems":{"type":"string"}}`), items(`1`)},
		{"contains", fixed(`{"contains":{"type":"string"}}`), items(`1`)},
		{"unevaluated items", fixed(`{"unevaluatedItems":{"type":"string"}}`), items(`1`)},
		{"sets of unevaluated items", func(n int) string { return `{"allOf":` + list(40, `{"type":"string"}`) + `,"unevaluatedItems":true}` },
			func(n int) string { return list(400*n, `1`) }},
		{"sets of unevaluated items behind a dynamic reference", fixed(`{"$dynamicRef":"#n","unevaluatedItems":true,"$defs":{"n":{"$dynamicAnchor":"n","allOf":` +
			list(40, `{"type":"string"}`) + `}}}`), func(n int) string { return list(400*n, `1`) }},
		{"sets of unevaluated properties", fixed(`{"allOf":` + list(40, `{"type":"string"}`) + `,"unevaluatedProperties":true}`),
			func(n int) string { return manyProperties(400 * n) }},
		{"properties", fixed(`{"properties":{"a":{"properties":{"p1":true,"p2":true}}},"additionalProperties":{"type":"string"}}`), func(n int) string { return manyProperties(8 * n) }},
		{"unevaluated properties", fixed(`{"unevaluatedProperties":{"type":"string"}}`), func(n int) string { return manyProperties(8 * n) }},
		{"property names", fixed(`{"propertyNames":{"enum":["a"]}}`), func(n int) string { return manyProperties(8 * n) }},
		{"names that match", fixed(`{"patternProperties":{"^p":{"type":"string"}}}`), func(n int) string { return manyProperties(8 * n) }},
		{"long names", fixed(`{"patternProperties":{"a{300}":{}}}`), func(n int) string { return `{` + text(n) + `:1}` }},
		{"required names", func(n int) string { return `{"required":` + names(8*n) + `}` }, fixed(`{}`)},
		{"dependent names", func(n int) string { return `{"dependentRequired":{"a":` + names(8*n) + `}}` }, fixed(`{"a":1}`)},
		{"dependencies", func(n int) string { return `{` + draft7 + `"dependencies":{"a":` + names(8*n) + `}}` }, fixed(`{"a":1}`)},
		{"dependent names that nothing has", func(n int) string { return `{"dependentRequired":` + namesOfNothing(200*n) + `}` }, fixed(`{}`)},
		{"dependencies that nothing has", func(n int) string { return `{` + draft7 + `"dependencies":` + namesOfNothing(200*n) + `}` }, fixed(`{}`)},
		{"allOf", many(`"allOf":`, `{"type":"string"}`), fixed(`1`)},
		{"anyOf", many(`"anyOf":`, `{"type":"string"}`), fixed(`1`)},
		{"oneOf", many(`"oneOf":`, `{"type":"string"}`), fixed(`1`)},
		{"not", fixed(`{"items":{"not":{"type":"number"}}}`), items(`1`)},
		{"conditions", fixed(`{"items":{"if":{"type":"string"},"then":{},"else":{"type":"number"}}}`), items(`1`)},
		{"dependent schemas", fixed(`{"items":{"dependentSchemas":{"a":{"type":"string"}}}}`), items(`{"a":1}`)},
		{"dependencies that are schemas", fixed(`{` + draft7 + `"items":{"dependencies":{"a":{"type":"string"}}}}`), items(`{"a":1}`)},
		{"a chain of references", func(n int) string { return chain(60 * n) }, fixed(`["a"]`)},
		{"an enumeration of texts", func(n int) string { return `{"enum":` + list(200*n, `"a"`) + `}` }, fixed(`"b"`)},
		{"an enumeration of numbers", func(n int) string { return `{"enum":` + list(8*n, `1`) + `}` }, fixed(`5`)},
		{"an enumeration of lists", func(n int) string { return `{"enum":` + list(8*n, `[1]`) + `}` }, fixed(`[5]`)},
		{"a constant list", func(n int) string { return `{"const":` + list(8*n, `1`) + `}` }, func(n int) string { return list(8*n, `1`) }},
		{"a constant object", func(n int) string { return `{"const":` + manyProperties(8*n) + `}` }, func(n int) string { return manyProperties(8 * n) }},
		{"the least length", fixed(`{"minLength":1}`), text},
		{"the greatest length", fixed(`{"maxLength":1}`), text},
		{"a pattern", fixed(`{"pattern":"b$"}`), text},
		{"a format", fixed(`{"format":"email"}`), text},
		{"the format regex", fixed(`{"format":"regex"}`), func(n int) string { return `"` + strings.Repeat("a", 80*n) + `"` }},
		{"classes in the format regex", fixed(`{"format":"regex"}`), func(n int) string { return `"` + strings.Repeat(`\\pL`, 8*n) + `"` }},
		{"multiples", fixed(`{"items":{"multipleOf":2}}`), items(`3`)},
		{"exponents", fixed(`{"items":{"type":"integer"}}`), items(`3e1`)},
		{"many equal items", fixed(`{"uniqueItems":true}`), func(n int) string { return list(24*n, `1`) }},
		{"a few long equal items", fixed(`{"uniqueItems":true}`), func(n int) string { return list(8, list(8*n, `1`)) }},
		{"many long texts", fixed(`{"uniqueItems":true}`), func(n int) string { return list(24, text(n)) }},
		{"many objects", fixed(`{"uniqueItems":true}`), func(n int) string { return list(24, manyProperties(8*n)) }},
		{"a recursive schema", fixed(`{"items":{"$ref":"#"}}`), items(`[[1]]`)},
		{"a dynamic reference", fixed(`{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`), items(`[[1]]`)},
		{"a dynamic reference to the wrong type", fixed(`{"items":{"$dynamicRef":"#n"},"$defs":{"n":{"$dynamicAnchor":"n","enum":` + list(50, `1`) + `}}}`), items(`2`)},
		{"a recursive reference", fixed(`{` + draft2019 + `"$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`), items(`[[1]]`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &schema.CompileOptions{AssertFormats: true}
			few := price(t, test.schema(3), test.document(3), o)
			if !limited(t, test.schema(12), test.document(12), o, 3*few-1) {
				t.Errorf("costs %d steps, and less than three times as many for four times as much", few)
			}
		})
	}
}

// Work that takes the library longer has a higher price.
func TestPriceIsWeighted(t *testing.T) {
	list := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	items := func(keyword string) string { return `{"items":{` + keyword + `}}` }
	anywhere := func(values string) string {
		return `{"items":{"$dynamicRef":"#n"},"$defs":{"n":{"$dynamicAnchor":"n","enum":` + values + `}}}`
	}
	for _, test := range []struct {
		name               string
		cheapSchema, cheap string
		dearSchema, dear   string
		least              int // times
	}{
		{"exponents", items(`"type":"integer"`), list(80, `3`), items(`"type":"integer"`), list(80, `3e1`), 4},
		{"multiples", items(`"minimum":2`), list(80, `3`), items(`"multipleOf":2`), list(80, `3`), 4},
		{"numbers in an enumeration", items(`"enum":` + list(8, `"1"`)), list(80, `3`), items(`"enum":` + list(8, `1`)), list(80, `3`), 10},
		{"a constant object", items(`"const":1`), list(80, manyProperties(8)), items(`"const":` + manyProperties(8)), list(80, manyProperties(8)), 10},
		{"numbers behind a dynamic reference", anywhere(list(8, `"1"`)), list(80, `3`), anywhere(list(8, `1`)), list(80, `3`), 3},
		{"names of properties", `{"type":"object"}`, manyProperties(80), `{"propertyNames":{"type":"object"}}`, manyProperties(80), 6},
		{"other properties", `{"type":"object"}`, manyProperties(80), `{"additionalProperties":{"type":"object"}}`, manyProperties(80), 6},
		{"unevaluated properties", `{"type":"object"}`, manyProperties(80), `{"unevaluatedProperties":{"type":"object"}}`, manyProperties(80), 6},
		{"unevaluated items", `{"type":"array"}`, list(80, `1`), `{"unevaluatedItems":{"type":"object"}}`, list(80, `1`), 50},
		{"sets of properties", `{"allOf":` + list(40, `{"type":"string"}`) + `}`, manyProperties(400),
			`{"allOf":` + list(40, `{"type":"string"}`) + `,"unevaluatedProperties":true}`, manyProperties(400), 15},
		{"sets of items", `{"allOf":` + list(40, `{"type":"string"}`) + `}`, list(400, `1`),
			`{"allOf":` + list(40, `{"type":"string"}`) + `,"unevaluatedItems":true}`, list(400, `1`), 40},
		{"sets of items behind a dynamic reference", setsBehind(``), list(400, `1`), setsBehind(`,"unevaluatedItems":true`), list(400, `1`), 20},
		{"a look-ahead", `{"pattern":"^b"}`, `"` + strings.Repeat("a", 1280) + `"`, `{"pattern":"^(?=.*[0-9]{300})b"}`, `"` + strings.Repeat("a", 1280) + `"`, 20},
		{"a long chain", chain(60), list(2, `"a"`), chain(600), list(2, `"a"`), 25},
		{"a path of many schemas", chain(100), list(2, `"a"`), dynamicChain(100, 2), list(2, `"a"`), 1},
		{"a deep document", `{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`, list(40, `[]`), `{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`,
			strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40), 2},
	} {
		o := &schema.CompileOptions{}
		cheap := price(t, test.cheapSchema, test.cheap, o)
		least := test.least * cheap
		if test.least == 1 {
			least = cheap + 80
		}
		if !limited(t, test.dearSchema, test.dear, o, least-1) {
			t.Errorf("%s: %d steps, and less than %d for what is dear", test.name, cheap, least)
		}
	}
}

// setsBehind returns a schema that leads to 40 others by a dynamic reference.
func setsBehind(keyword string) string {
	return `{"$dynamicRef":"#n"` + keyword + `,"$defs":{"n":{"$dynamicAnchor":"n","allOf":[` + strings.Repeat(`{"type":"string"},`, 39) + `{"type":"string"}]}}}`
}

// What is cheap stays cheap: the price of usual work is about the schemas that are applied.
func TestPriceOfUsualWork(t *testing.T) {
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for _, test := range []struct {
		name, schema, document string
		most                   int
	}{
		{"true", `true`, `1`, 1},
		{"arguments", argumentsSchema, arguments, 6},
		{"required names of another kind of value", `{"required":["a","b","c"]}`, `1`, 1},
		{"many dependencies and no object", `{` + draft7 + `"dependencies":` + namesOfNothing(800) + `}`, `1`, 1},
		{"numbers in an enumeration and a text", `{"enum":[1,2,3]}`, `"5"`, 1},
		{"items that nothing describes", `{"minItems":1}`, `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]`, 1},
		{"a member with many values beside others", `{"additionalProperties":{},"properties":{"a":{"enum":` + names(320) + `}}}`, manyProperties(10), 12},
		{"a few items that differ at once", `{"uniqueItems":true}`, `[[1,1,1,1,1,1,1,1,1,1],[2,1,1,1,1,1,1,1,1,1],[3]]`, 10},
		{"a tree of dynamic references", `{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}`, `[[],[],[],[],[],[],[],[],[],[]]`, 60},
	} {
		if got := price(t, test.schema, test.document, &schema.CompileOptions{}); got > test.most {
			t.Errorf("%s: costs %d steps, want at most %d", test.name, got, test.most)
		}
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
	if err := v.Validate([]byte(document)); toolwire.CodeOf(err) != toolwire.CodeLimit {
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
