package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

// TestSpellingsOfTheDraft: what names no known draft is read as the newest one, old forms included.
func TestSpellingsOfTheDraft(t *testing.T) {
	for _, name := range []string{`"http://json-schema.org/draft-7/schema#"`, `"http://json-schema.org/draft-07/schema#/properties"`, `"draft-07"`, `"2020-12"`,
		`"http://json-schema.org/draft-03/schema#"`, `"https://spec.openapis.org/oas/3.1/dialect/base"`, `"https://json-schema.org/draft/2020-12"`,
		`"https://example.com/%zz"`, `" "`, `"#"`, `7`, `["a"]`, `{"$ref":"#"}`} {
		raw := `{"$schema":` + name + `,"type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true},"m":{"const":1}}}`
		tools := []schema.Tool{{Name: "t", Description: "d", InputSchema: json.RawMessage(raw)}}
		if got, want := verdict(t, tools, nil), "? schema_draft_unknown /0/input_schema/$schema"; got != want {
			t.Errorf("%s: problems:\n%s\nwant %s", name, got, want)
		}
		v, err := schema.Compile(tools[0].InputSchema, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for document, valid := range map[string]bool{`{"n":1,"m":1}`: true, `{"n":0}`: false, `{"m":2}`: false} {
			if err := v.Validate([]byte(document)); (err == nil) != valid {
				t.Errorf("%s: %s: %v", name, document, err)
			}
		}
	}
}

// TestReading has schemas with what Validate says about them: rejected, or listed as unchecked (?), or nothing.
func TestReading(t *testing.T) {
	const tuple = `"properties":{"a":{"items":[{}]}}`
	for _, test := range []struct{ name, schema, want string }{
		{"definitions", `{"properties":{"a":{"$ref":"#/definitions/d"}},"definitions":{"d":{"type":"string"}}}`, ""},
		{"an example", `{"properties":{"a":{"type":"string","example":null,"x-order":null}}}`, ""},
		{"null that is a value", `{"properties":{"a":{"const":null,"default":null,"enum":[null]},"type":{"type":"null"}}}`, ""},
		{"null under keywords of older drafts", `{"id":null,"properties":{"a":{"additionalItems":null}}}`, ""},
		{"null in data", `{"default":{"required":null},"properties":{"a":{"examples":[{"type":null}]}},"x-b":{"type":null}}`, ""},
		{"null and the draft is named", `{` + draft7 + `,"required":null}`, "schema_invalid /0/input_schema/required"},
		{"a property is null", `{"properties":{"a":null}}`, "schema_invalid /0/input_schema/properties/a"},
		{"the newest draft is named", `{` + newest + `,` + tuple + `}`, "schema_invalid /0/input_schema/properties/a/items"},
		{"its own draft is named", `{` + draft7 + `,` + tuple + `}`, ""},
		{"an old form beside what is not valid", `{` + tuple + `,"required":"a","title":null}`, "schema_invalid /0/input_schema/required"},
		{"what is not valid inside an old form", `{"properties":{"a":{"items":[{"type":"text"}],"additionalItems":{"minimum":"1"}}}}`,
			"schema_invalid /0/input_schema/properties/a/additionalItems/minimum\nschema_invalid /0/input_schema/properties/a/items/0/type"},
		{"what is not valid in a second list of items", `{"properties":{"a":{"prefixItems":[{}],"items":[{"items":[{"type":"text"}]}]}}}`,
			"schema_invalid /0/input_schema/properties/a/items/0/items/0/type"},
		{"what is noted in a second list of items", `{"properties":{"a":{"prefixItems":[{}],"items":[{"type":"string","nullable":true}]}}}`,
			"? schema_keyword_ignored /0/input_schema/properties/a/items/0/nullable"},
		{"an expression inside an old form", `{"properties":{"a":{"items":[{"pattern":` + lookAhead + `}]}}}`,
			"? schema_pattern_unsupported /0/input_schema/properties/a/items/0/pattern"},
		{"a broken reference inside an old form", `{"properties":{"a":{"items":[{"$ref":"#/none"}]}}}`,
			"schema_ref_broken /0/input_schema/properties/a/items/0/$ref"},
		{"a broken reference into an old form", `{"properties":{"a":{"items":[{}]},"b":{"$ref":"#/properties/a/items/1"}}}`,
			"schema_ref_broken /0/input_schema/properties/b/$ref"},
		{"a cycle through an old form", `{"properties":{"a":{"items":[{"$ref":"#/properties/a/items/0"}]}}}`,
			"schema_ref_cycle /0/input_schema/properties/a/items/0"},
		{"a list of no items", `{"properties":{"a":{"items":[]}}}`, "schema_invalid /0/input_schema/properties/a/items"},
		{"elsewhere", `{"properties":{"a":{"items":[{}]},"b":{"$ref":"https://schemas.example.com/b.json"}}}`,
			"? schema_ref_remote /0/input_schema/properties/b/$ref"},
		{"elsewhere, twice, and broken", `{"properties":{"a":{"$ref":"https://schemas.example.com/a"},"b":{"$ref":"b.json"},"c":{"$ref":"#/c"}}}`,
			"schema_ref_broken /0/input_schema/properties/c/$ref\n? schema_ref_remote /0/input_schema/properties/a/$ref\n? schema_ref_remote /0/input_schema/properties/b/$ref"},
		{"a broken reference in a second list of items", `{"properties":{"a":{"prefixItems":[{}],"items":[{"$ref":"#/none"}]}}}`,
			"schema_ref_broken /0/input_schema/properties/a/items/0/$ref"},
		{"beside a reference under the newest draft", `{` + newest + `,"properties":{"a":{"$ref":"#/$defs/d","minLength":3}},"$defs":{"d":{}}}`, ""},
		{"an old form in data that a reference leads to", `{"properties":{"a":{"$ref":"#/properties/b/const"},"b":{"const":{"items":[{}]}}}}`,
			"schema_invalid /0/input_schema/properties/b/const/items"},
		{"elsewhere where nothing leads", `{"definitions":{"a":{"$ref":"https://schemas.example.com/a"}}}`, ""},
		{"beside a reference elsewhere, under a draft", `{` + draft7 + `,"properties":{"a":{"$ref":"https://schemas.example.com/a","minLength":3}}}`,
			"? schema_ref_remote /0/input_schema/properties/a/$ref\n? schema_keyword_ignored /0/input_schema/properties/a/minLength"},
		{"beside a reference", `{"properties":{"t":{"items":[{}]},"a":{"$ref":"#/definitions/a","not":{"$ref":"#/none"}}},"definitions":{"a":{}}}`,
			"schema_ref_broken /0/input_schema/properties/a/not/$ref"},
		{"too complex", strings.Replace(doubledProperties(24), `"24":{}`, `"24":{"items":[{}]}`, 1), "? schema_too_complex /0/input_schema"},
		{"$schema in the middle", `{"properties":{"a":{` + draft7 + `,"type":"string"},"b":{"$schema":"draft-07","items":[{}]}}}`, ""},

		{"nullable", `{"properties":{"a":{"type":"string","nullable":true}}}`, "? schema_keyword_ignored /0/input_schema/properties/a/nullable"},
		{"nullable under a draft", `{` + draft7 + `,"properties":{"a":{"enum":["x"],"nullable":true}}}`, "? schema_keyword_ignored /0/input_schema/properties/a/nullable"},
		{"nullable beside alternatives", `{"properties":{"a":{"anyOf":[{"type":"string"}],"nullable":true}}}`, "? schema_keyword_ignored /0/input_schema/properties/a/nullable"},
		{"nullable beside a reference", `{"properties":{"a":{"$ref":"#/$defs/d","nullable":true}},"$defs":{"d":{}}}`, "? schema_keyword_ignored /0/input_schema/properties/a/nullable"},
		{"nullable that is not needed", `{"properties":{"a":{"type":["string","null"],"nullable":true},"b":{"nullable":true},"c":{"type":"string","nullable":false},
			"d":{"anyOf":[{"type":"string"},{"type":"null"}],"nullable":true},"e":{"enum":["x",null],"nullable":true}}}`, ""},
		{"keywords that came later", `{` + draft4 + `,"const":1,"if":{},"then":{},"contains":{},"propertyNames":{},"examples":5,"$comment":"x","readOnly":true}`,
			"? schema_keyword_ignored /0/input_schema/const\n? schema_keyword_ignored /0/input_schema/contains\n? schema_keyword_ignored /0/input_schema/if\n" +
				"? schema_keyword_ignored /0/input_schema/propertyNames\n? schema_keyword_ignored /0/input_schema/then"},
		{"keywords that came after draft 7", `{` + draft7 + `,"dependentRequired":{},"prefixItems":[{}],"unevaluatedProperties":false,"minContains":1,"$defs":{},"deprecated":true}`,
			"? schema_keyword_ignored /0/input_schema/dependentRequired\n? schema_keyword_ignored /0/input_schema/minContains\n" +
				"? schema_keyword_ignored /0/input_schema/prefixItems\n? schema_keyword_ignored /0/input_schema/unevaluatedProperties"},
		{"keywords that came after draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","prefixItems":[{}],"minContains":1}`,
			"? schema_keyword_ignored /0/input_schema/prefixItems"},
		{"keywords that came after draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#","if":{},"const":1}`,
			"? schema_keyword_ignored /0/input_schema/if"},
		{"beside a reference under a draft", `{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/d","description":"d","minLength":3}},"definitions":{"d":{}}}`,
			"? schema_keyword_ignored /0/input_schema/properties/a/minLength"},
		{"additionalItems without a list", `{"properties":{"a":{"additionalItems":false},"b":{"items":{},"additionalItems":true}}}`,
			"? schema_keyword_ignored /0/input_schema/properties/a/additionalItems"},
		{"keywords of draft 3", `{"properties":{"a":{"divisibleBy":"5","extends":"base","disallow":["text"],"type":"integer"}}}`, "? schema_keyword_ignored /0/input_schema/properties/a/disallow\n? schema_keyword_ignored /0/input_schema/properties/a/divisibleBy\n? schema_keyword_ignored /0/input_schema/properties/a/extends"},

		{"a wrapper", `{"jsonSchema":{"type":"object","properties":{}}}`, "? schema_no_keyword /0/input_schema"},
		{"a wrapper with its draft", `{` + draft7 + `,"schema":{"type":"object"}}`, "? schema_no_keyword /0/input_schema"},
		{"an object of a library", `{"_def":{"typeName":"ZodObject"},"_cached":null}`, "? schema_no_keyword /0/input_schema"},
		{"an object of a newer library", `{"def":{"type":"object","shape":{"a":{"type":"string"}}},"type":"object"}`, "? schema_no_keyword /0/input_schema"},
		{"a typed wrapper", `{"type":"object","title":"T","jsonSchema":{"properties":{"a":{}}}}`, "? schema_no_keyword /0/input_schema"},
		{"a type beside words of another reader", `{"type":"object","ui":{"widget":"x"},"order":["a"],"form":{"type":"wizard"}}`, ""},
		{"a list of properties", `{"title":{"type":"string"},"sides":{"type":"integer"},"format":{"enum":["a"]}}`, "? schema_no_keyword /0/input_schema"},
		{"a list of properties in a property", `{"properties":{"p":{"sides":{"type":"integer"}}}}`, "? schema_no_keyword /0/input_schema/properties/p"},
		{"what a reference leads to", `{"properties":{"a":{"$ref":"#/properties/b/inner"},"b":{"inner":{"type":"string"}}}}`, ""},
		{"words of another reader in a part", `{"properties":{"a":{"label":"A"},"b":{"ui":{"widget":"x"}}}}`, ""},
		{"nothing", `{"properties":{"a":{},"b":{"description":"anything"},"c":{"x-kind":{"type":"string"}},"d":{"description":"d","label":"D"}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tools := []schema.Tool{{Name: "t", InputSchema: json.RawMessage(test.schema)}}
			if got := verdict(t, tools, nil); got != test.want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.want)
			}
			for _, p := range schema.Lint(tools, nil) {
				if strings.HasPrefix(p.Code, "schema_") && !strings.Contains(p.Message, ";") && strings.Contains(test.want, "keyword") {
					t.Errorf("the message does not say what to do: %s", p)
				}
			}
		})
	}
}

// TestReferencesOfOlderDrafts: references lead where they led before the schema was rewritten.
func TestReferencesOfOlderDrafts(t *testing.T) {
	const old = `"x":{"items":[{}]}`
	for _, test := range []struct{ name, schema, valid, invalid string }{
		{"Pydantic 1", pydantic, `{"point":[1,2],"owner":{"name":"x"}}`, `{"point":[1,"2"]}`},
		{"Pydantic 1, behind the reference", pydantic, `{"point":[1,2]}`, `{"point":[1,2],"owner":{}}`},
		{"to an item", `{"properties":{` + old + `,"a":{"$ref":"#/properties/t/items/1"},"t":{"items":[{"type":"string"},{"type":"number"}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to what follows the items", `{"properties":{"a":{"$ref":"#/properties/t/additionalItems"},"t":{"items":[{}],"additionalItems":{"type":"number"}}}}`, `{"a":1}`, `{"a":"1"}`},
		{"from a place that is visited first", `{"$ref":"#/x/t/items/0","x":{"t":{"items":[{"properties":{"a":{"items":[{"type":"number"}]}}}]},"u":{"allOf":[{"$ref":"#/x/t"}]}},
			"properties":{"z":{"$ref":"#/x/u"}}}`, `{"a":[1]}`, `{"a":["1"]}`},
		{"under the id of the whole", `{"$id":"https://x.test/root","properties":{"a":{"$ref":"https://x.test/root#/properties/t/items/0"},"t":{"items":[{"type":"number"}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"inside a part with an id", `{"properties":{"p":{"$id":"p","properties":{"a":{"$ref":"#/definitions/t/items/0"}},"definitions":{"t":{"items":[{"type":"number"}]}}}}}`, `{"p":{"a":1}}`, `{"p":{"a":"1"}}`},
		{"by $id", `{"properties":{"a":{"$ref":"#n"}},"definitions":{"d":{"$id":"#n","type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"by id", `{"properties":{"a":{"$ref":"#n/1"}},"definitions":{"d":{"id":"#n/1","type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"by the id of an item", `{"properties":{"a":{"$ref":"#n"},"t":{"items":[{"$id":"#n","type":"number"}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"by $id with a fragment", `{"properties":{"p":{"$id":"https://x.test/p#n","properties":{"a":{"$ref":"#n"}},"type":"object"}}}`, `{"p":{"a":{}}}`, `{"p":{"a":1}}`},
		{"by an anchor", `{"properties":{"a":{"$ref":"#n"},` + old + `},"definitions":{"d":{"$anchor":"n","type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to a part with an id", `{"properties":{"a":{"$ref":"d"},` + old + `},"definitions":{"d":{"$id":"d","type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"id of draft 4 is nothing", `{"id":"https://x.test/","properties":{"a":{"id":"a","$ref":"#/definitions/d"},` + old + `},"definitions":{"d":{"id":5,"type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to an item of a part with an id", `{"properties":{"a":{"$ref":"d#/items/0"}},"definitions":{"d":{"$id":"d","items":[{"type":"number"}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to a part with an id inside an item", `{"$id":"https://x.test/","properties":{"a":{"$ref":"d#/items/0"},"t":{"items":[{"$id":"d","items":[{"type":"number"}]}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to a name in a part with an id", `{"properties":{"a":{"$ref":"d#n"}},"definitions":{"d":{"$id":"d","not":{"$id":"#n","type":"number"}}}}`, `{"a":1}`, `{"a":"1"}`},
		{"out of a part with an id", `{"$id":"https://x.test/r","properties":{"a":{"$id":"d","allOf":[{"$ref":"r#/x/t/items/0"}]}},"x":{"t":{"items":[{"maximum":3,"exclusiveMaximum":true}]}}}`, `{"a":2}`, `{"a":3}`},
		{"to an unknown name in a part with an id", `{"properties":{"a":{"$ref":"d#/x"}},"definitions":{"d":{"$id":"d","x":{"maximum":3,"exclusiveMaximum":true}}}}`, `{"a":2}`, `{"a":3}`},
		{"to an item of a part with its own draft", `{"properties":{"a":{"$ref":"d#/items/0"}},"definitions":{"d":{"$id":"d",` + draft7 + `,"items":[{"type":"number"}]}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to a required property, before its object", `{"properties":{"a":{"$ref":"#/x/o/properties/n"},"b":{"$ref":"#/x/o"}},"x":{"o":{"properties":{"n":{"required":true}}}}}`, `{"a":1,"b":{"n":1}}`, `{"a":1,"b":{}}`},
		{"to a name that two parts with an id have", `{"properties":{"a":{"$ref":"q#n"},"p":{"$id":"p","$anchor":"n"},"q":{"$id":"q","$anchor":"n","type":"number"}}}`, `{"a":1}`, `{"a":"1"}`},
		{"to what is required, in a part with an id", `{"properties":{"a":{"$ref":"d#/x"},"p":{"$id":"d","x":{"required":true}}}}`, `{"a":1}`, `{"p":1}`},
		{"into a constant", `{"properties":{"a":{"$ref":"#/properties/b/const/d"},"b":{"const":{"d":{"id":"#n","type":"number"}}}}}`, `{"a":1,"b":{"d":{"type":"number","id":"#n"}}}`, `{"b":{"d":{"type":"number"}}}`},
		{"recursive", `{"properties":{"a":{"items":[{"$ref":"#"},{"type":"number"}]}}}`, `{"a":[{"a":[{},1]},2]}`, `{"a":[{"a":[{},"1"]}]}`},
		{"siblings", `{"properties":{"a":{"$ref":"#/definitions/d","maximum":3,"exclusiveMaximum":true}},"definitions":{"d":{"type":"number"}}}`, `{"a":2}`, `{"a":3}`},
		{"siblings under draft 7", `{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/d","maximum":3}},"definitions":{"d":{"type":"number"}}}`, `{"a":4}`, `{"a":"4"}`},
		{"into data", `{"properties":{"a":{"$ref":"#/default/d"}},"default":{"d":{"type":"number"}}}`, `{"a":4}`, `{"a":"4"}`},
	} {
		v, err := schema.Compile(json.RawMessage(test.schema), nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err := v.Validate([]byte(test.valid)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := v.Validate([]byte(test.invalid)); toolwire.CodeOf(err) != toolwire.CodeMismatch {
			t.Errorf("%s: %v, want a mismatch", test.name, err)
		}
	}
}

// The keyword of a problem is the author's.
func TestKeywordsOfRewrittenSchemas(t *testing.T) {
	v := mustCompile(t, `{"properties":{"a":{"items":[{"minimum":1,"exclusiveMinimum":true}],"additionalItems":false}}}`)
	const want = "/a/0|exclusiveMinimum|must be more than 1\n/a/1|additionalItems|is not allowed here"
	if got := issues(t, v.Validate([]byte(`{"a":[0,2]}`))); got != want {
		t.Errorf("issues:\n%s\nwant:\n%s", got, want)
	}
}

// What a draft ignores beside a reference is ignored when the reference leads elsewhere, too.
func TestIgnoredBesideAReferenceElsewhere(t *testing.T) {
	v, err := schema.Compile(json.RawMessage(`{`+draft7+`,"properties":{"a":{"$ref":"https://schemas.example.com/a","minLength":3},"b":{"minLength":3}}}`),
		&schema.CompileOptions{AllowUnchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	if v.Validate([]byte(`{"a":"x"}`)) != nil || v.Validate([]byte(`{"b":"x"}`)) == nil {
		t.Error("the length is asked for beside the reference, or not elsewhere")
	}
}

// Each resource is read by the draft that it names itself.
func TestDraftsOfResources(t *testing.T) {
	var properties strings.Builder
	for i := range 600 {
		fmt.Fprintf(&properties, `,"p%d":{}`, i)
	}
	const ref = `"properties":{"a":{"$ref":"https://schemas.example.com/a"}}`
	for _, test := range []struct {
		name, schema, resource string
		want                   toolwire.Code
	}{
		{"no draft", `{` + ref + `}`, `{"items":[{"type":"string"}]}`, ""},
		{"the schema names the newest", `{` + newest + `,` + ref + `}`, `{"items":[{"type":"string"}]}`, ""},
		{"the resource refers to itself", `{` + ref + `}`, `{"items":[{"type":"string"}],"additionalItems":{"$ref":"https://schemas.example.com/a#/items/0"}}`, ""},
		{"the resource names its own", `{` + ref + `}`, `{` + draft7 + `,"items":[{"type":"string"}]}`, ""},
		{"the resource names another", `{` + ref + `}`, `{` + newest + `,"items":[{}]}`, toolwire.CodeInvalid},
		{"many properties", `{` + ref + `}`, `{"items":[{"type":"string"}],"properties":{` + properties.String()[1:] + `}}`, ""},
		{"an expression", `{` + ref + `}`, `{"items":[{"pattern":` + lookAhead + `}]}`, toolwire.CodeUnchecked},
	} {
		o := &schema.CompileOptions{Resources: map[string]json.RawMessage{"https://schemas.example.com/a": json.RawMessage(test.resource)}}
		v, err := schema.Compile(json.RawMessage(test.schema), o)
		if toolwire.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if e, ok := errors.AsType[*toolwire.Error](err); ok && e.Code == toolwire.CodeUnchecked && e.Problems[0].Pointer != "/items/0/pattern" {
			t.Errorf("%s: %v", test.name, err)
		}
		if err == nil && (v.Validate([]byte(`{"a":["b"]}`)) != nil || v.Validate([]byte(`{"a":[1]}`)) == nil) {
			t.Errorf("%s: the list is not applied", test.name)
		}
	}
}

// A resource may be the draft of a schema. Its keywords are those of its vocabularies.
func TestDraftOfAnAuthor(t *testing.T) {
	const draft, vocabulary = "https://schemas.example.com/draft", "https://json-schema.org/draft/2020-12/vocab/"
	o := &schema.CompileOptions{Resources: map[string]json.RawMessage{draft: json.RawMessage(`{` + newest + `,"$id":"` + draft +
		`","$vocabulary":{"` + vocabulary + `core":true,"` + vocabulary + `applicator":true},"$dynamicAnchor":"meta"}`)}}
	v, err := schema.Compile(json.RawMessage(`{"$schema":"`+draft+`","properties":{"a":{"not":{}},"b":{"type":"string"}}}`), o)
	if err != nil || len(v.Unchecked()) > 0 {
		t.Fatalf("%v, %v", v, err)
	}
	if v.Validate([]byte(`{"a":1}`)) == nil || v.Validate([]byte(`{"b":1}`)) != nil {
		t.Error("the keywords are not those of the vocabularies")
	}
}

// TestPatternsOfJavaScript has expressions that Go writes otherwise, with texts that JavaScript accepts or rejects.
func TestPatternsOfJavaScript(t *testing.T) {
	const email = `^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`
	for _, test := range []struct {
		pattern        string
		valid, invalid []string
	}{
		{email, []string{"a@example.com", "a.b+c@x.example.org"}, []string{".a@example.com", "a..b@example.com", "a@b", "a@example.com ", ""}},
		{`^(?=.*[0-9]).{8,}$`, []string{"abcdefg1"}, []string{"abcdefgh", "abc1"}},
		{`^(?=.*[a-z])(?=.*[0-9])(?!.* )`, []string{"a1", "1xa"}, []string{"a", "1", "a 1"}},
		{`^(?!(a|b)$)[a-c]+$`, []string{"c", "ab"}, []string{"a", "b", "d"}},
		{`^(?!a|b)(c|d|a)`, []string{"cx", "d", "cb"}, []string{"a", "b", "x"}},
		{`^(?![)|(]).`, []string{"a"}, []string{")", "(", "|", ""}},
		{`^(?!\))(?=\(\|)`, []string{"(|"}, []string{")", "x"}},
		{`^(?!)`, nil, []string{"", "a"}},
		{`^[\u4e00-\u9fa5]+$`, []string{"中文"}, []string{"a", ""}},
		{`^\u{1F600}$`, []string{"😀"}, []string{"😁"}},
		{`^\uD83D\uDE00$`, []string{"😀"}, []string{"😁"}},
		{`^\\u0061$`, []string{`\u0061`}, []string{"a"}},
		{`^\\\u0061$`, []string{`\a`}, []string{"a"}},
		{`^\p{Letter}+\P{L}$`, []string{"é1"}, []string{"11"}},
		{`^[\p{Script=Greek}\p{sc=Cyrillic}]+$`, []string{"αя"}, []string{"a"}},
		{`^\p{General_Category=Uppercase_Letter}\P{gc=Lu}$`, []string{"Aa"}, []string{"aa", "AA"}},
		{`a=b`, []string{"xa=b"}, []string{"ab"}},
		{`^\s\S$`, []string{"\u00a0a", "\ufeffa", "\va", "\u2003\u200b"}, []string{"aa", "a ", "\u200ba", "a\u00a0"}},
		{`^[\s\d]+[\S]$`, []string{"1\u3000x", "\u1680\ufefe"}, []string{"1\u3000", "1\u2028", "x"}},
		{`^[^\s]$`, []string{"a"}, []string{"\u202f"}},
		{`^[\w\s-.]+[\S-_]$`, []string{"a -._", " .-"}, []string{"+a", ". "}},
		{`(?s)^.$`, []string{"\n", "\u2028"}, []string{""}},
		{`^(?i)(?<s>.)$`, []string{"a"}, []string{"\n", "\r"}},
		{`^.$`, []string{"a", "\u0085"}, []string{"\n", "\r", "\u2028"}},
		{`^[.]\.$`, []string{".."}, []string{"a."}},
		{`^\cA\cz\0[\b]$`, []string{"\x01\x1a\x00\b"}, []string{"A"}},
		{`^\01$`, []string{"\x01"}, []string{"\x001"}},
		{`^[^]a[]?$`, []string{"\na"}, []string{"a"}},
		{`^(?![])b`, []string{"b"}, []string{"a"}},
		{`^[[]\]$`, []string{"[]"}, []string{"[["}},
	} {
		v, err := schema.Compile(json.RawMessage(fmt.Sprintf(`{"pattern":%s,"patternProperties":{%[1]s:{"type":"null"}}}`, quote(test.pattern))), nil)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for _, text := range test.valid {
			if err := v.Validate(quote(text)); err != nil {
				t.Errorf("%s: %q: %v", test.pattern, text, err)
			}
			if v.Validate([]byte(`{`+string(quote(text))+`:1}`)) == nil {
				t.Errorf("%s does not match the name %q", test.pattern, text)
			}
		}
		for _, text := range test.invalid {
			if err := v.Validate(quote(text)); err == nil || !strings.Contains(err.Error(), "must match the pattern "+test.pattern[:min(len(test.pattern), 20)]) {
				t.Errorf("%s: %q: %v", test.pattern, text, err)
			}
			if err := v.Validate([]byte(`{` + string(quote(text)) + `:1}`)); err != nil {
				t.Errorf("%s matches the name %q: %v", test.pattern, text, err)
			}
		}
	}
	for _, pattern := range []string{`^(?!a)b|c`, `a(?=b)`, `^(?!a)*b`, `^(?!a){0}b`, `^(?<!a)b`, `^(?!a(?=b))c`, `^(?!a`, `^(?!a))`, `^((?!a)b)`, `^(?!(a)\1)b`, `a\`, `\c1`, `^\p{Emoji}`, `^(?!a)(?=b`} {
		_, err := schema.Compile([]byte(`{"pattern":`+string(quote(pattern))+`}`), nil)
		if toolwire.CodeOf(err) != toolwire.CodeUnchecked {
			t.Errorf("%s: %v, want unchecked", pattern, err)
		}
	}
}

func quote(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return b
}
