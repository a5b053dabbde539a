package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

const (
	draft4 = `"$schema":"http://json-schema.org/draft-04/schema#"`
	draft7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
	newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
)

// oldForm is a schema as older drafts, or careless generators, write it.
type oldForm struct {
	name, schema  string
	note          string // code and place
	valid         string // a value that every reader accepts
	invalid       string // a value that the author excludes
	draft         string // a draft in which the schema means the same, or ""
	everywhere    bool   // the note stands in every draft
	draft3        bool   // later drafts ignore the keyword
	behindPointer bool   // a reference to the schema needs no name
}

var oldForms = []oldForm{
	{name: "exclusiveMinimum", schema: `{"type":"number","minimum":0,"exclusiveMinimum":true}`, note: "old_form /exclusiveMinimum", valid: `1`, invalid: `0`, draft: draft4},
	{name: "exclusiveMaximum", schema: `{"maximum":1e1,"exclusiveMaximum":true}`, note: "old_form /exclusiveMaximum", valid: `9`, invalid: `10`, draft: draft4},
	{name: "not exclusive", schema: `{"minimum":0,"exclusiveMinimum":false}`, note: "old_form /exclusiveMinimum", valid: `0`, invalid: `-1`, draft: draft4},
	{name: "exclusive without a bound", schema: `{"type":"number","exclusiveMinimum":true}`, note: "old_form /exclusiveMinimum", valid: `-1`, invalid: `"1"`},
	{name: "a tuple", schema: `{"type":"array","items":[{"type":"integer"},{"type":"string"}]}`, note: "old_form /items", valid: `[1,"a",null]`, invalid: `["a"]`, draft: draft7},
	{name: "a closed tuple", schema: `{"items":[{"type":"integer"}],"additionalItems":false}`, note: "old_form /items", valid: `[1]`, invalid: `[1,2]`, draft: draft7},
	{name: "an open tuple", schema: `{"items":[true],"additionalItems":{"type":"string"}}`, note: "old_form /items", valid: `[1,"2"]`, invalid: `[1,2]`, draft: draft7},
	{name: "a tuple in a tuple", schema: `{"items":[{"items":[{"const":1}]}],"additionalItems":{"items":[{"const":2}]}}`, note: "old_form /items/0/items", valid: `[[1],[2]]`, invalid: `[[1],[1]]`, draft: draft7},
	{name: "a tuple beside prefixItems", schema: `{"prefixItems":[{"type":"integer"}],"items":[{"minimum":3}],"additionalItems":{"type":"null"},"allOf":[{}]}`, note: "old_form /items", valid: `[3,null]`, invalid: `[2]`},
	{name: "both kinds in a tuple beside prefixItems", schema: `{"prefixItems":[true],"items":[{"maximum":3,"exclusiveMaximum":true}]}`, note: "old_form /items/0/exclusiveMaximum", valid: `[2]`, invalid: `[3]`},
	{name: "a required property", schema: `{"properties":{"n":{"type":"string","required":true},"m":{"required":false}}}`, note: "old_form /properties/n/required", valid: `{"n":""}`, invalid: `{"m":1}`},
	{name: "a required property beside a list", schema: `{"required":["m"],"properties":{"n":{"required":true},"m":{"required":true}}}`, note: "old_form /properties/n/required", valid: `{"n":1,"m":1}`, invalid: `{"m":1}`},
	{name: "a required property behind a reference", schema: `{"properties":{"n":{"$ref":"#/properties/v/x"}},"x":{"required":true}}`, note: "old_form /x/required", valid: `{"n":1}`, invalid: `{}`, behindPointer: true},
	{name: "type any", schema: `{"type":"any","enum":[1,"a"]}`, note: "old_form /type", valid: `"a"`, invalid: `2`},
	{name: "type any among others", schema: `{"type":["string","any"],"not":{"const":3}}`, note: "old_form /type", valid: `2`, invalid: `3`},
	{name: "a dependency", schema: `{"dependencies":{"a":"b"}}`, note: "old_form /dependencies/a", valid: `{"b":1}`, invalid: `{"a":1}`},
	{name: "divisibleBy", schema: `{"divisibleBy":3,"multipleOf":2}`, note: "old_form /divisibleBy", valid: `6`, invalid: `2`, draft3: true},
	{name: "extends", schema: `{"extends":{"minimum":1,"exclusiveMinimum":true},"allOf":[{"maximum":9}]}`, note: "old_form /extends", valid: `2`, invalid: `1`, draft3: true},
	{name: "extends several", schema: `{"extends":[{"type":"string"},{"items":[{}],"minLength":2}]}`, note: "old_form /extends/1/items", valid: `"ab"`, invalid: `"a"`, draft3: true},
	{name: "disallow", schema: `{"disallow":"string"}`, note: "old_form /disallow", valid: `1`, invalid: `"a"`, draft3: true},
	{name: "disallow several", schema: `{"disallow":["string",{"minimum":5}],"not":{"const":1}}`, note: "old_form /disallow", valid: `2`, invalid: `6`, draft3: true},
	{name: "disallow all", schema: `{"anyOf":[{"disallow":"any"},{"const":1}]}`, note: "old_form /anyOf/0/disallow", valid: `1`, invalid: `2`, draft3: true},
	{name: "$id that is a name", schema: `{"$id":"#name","type":"string"}`, note: "old_form /$id", valid: `"a"`, invalid: `1`, draft: draft7},
	{name: "id that is a name", schema: `{"id":"#name","type":"string"}`, note: "old_form /id", valid: `"a"`, invalid: `1`, draft: draft4},
	{name: "$id that is a pointer", schema: `{"$id":"#/properties/v","type":"string"}`, note: "old_form /$id", valid: `"a"`, invalid: `1`, draft: draft7},
	{name: "$id with a fragment", schema: `{"$id":"https://x.test/v#name","type":"string"}`, note: "old_form /$id", valid: `"a"`, invalid: `1`, draft: draft7},
	{name: "$id that is no URI", schema: `{"$id":"100%","type":"string"}`, note: "old_form /$id", valid: `"a"`, invalid: `1`, draft: draft4},
	{name: "$id that is a number", schema: `{"$id":5,"type":"string"}`, note: "old_form /$id", valid: `"a"`, invalid: `1`, draft: draft4},
	{name: "the same $id twice", schema: `{"items":{"$id":"a","type":"string"},"contains":{"$id":"a"}}`, note: "old_form /items/$id", valid: `["a"]`, invalid: `[1]`},
	{name: "$anchor that is no name", schema: `{"$anchor":"#a","type":"string"}`, note: "old_form /$anchor", valid: `"a"`, invalid: `1`, draft: draft7},
	{name: "the same $anchor twice", schema: `{"items":{"$anchor":"a","type":"string"},"contains":{"$anchor":"a"}}`, note: "old_form /items/$anchor", valid: `["a"]`, invalid: `[1]`, draft: draft7},
	{name: "a draft beside a name", schema: `{"$id":"#name",` + draft4 + `,"minimum":1,"exclusiveMinimum":true}`, note: "old_form /exclusiveMinimum", valid: `2`, invalid: `1`},
	{name: "$recursiveAnchor", schema: `{"$recursiveAnchor":false,"type":"string"}`, note: "old_form /$recursiveAnchor", valid: `"a"`, invalid: `1`},
	{name: "null", schema: `{"type":"string","minLength":null,"maxLength":2,"$ref":null,"enum":null}`, note: "member_null /minLength", valid: `"ab"`, invalid: `"abc"`},
	{name: "null where schemas stand", schema: `{"properties":null,"required":["a"],"additionalProperties":null,"anyOf":null}`, note: "member_null /properties", valid: `{"a":1}`, invalid: `{}`},
	{name: "null beside a tuple", schema: `{"items":[{"type":"string"}],"additionalItems":null}`, note: "old_form /items", valid: `["a",1]`, invalid: `[1]`},
	{name: "a description", schema: `{"description":5,"type":"string"}`, note: "annotation_invalid /description", valid: `"a"`, invalid: `1`, draft: draft7, everywhere: true},
	{name: "a title", schema: `{"title":["a"],"const":"a"}`, note: "annotation_invalid /title", valid: `"a"`, invalid: `"b"`, draft: draft7, everywhere: true},
	{name: "examples", schema: `{"examples":{"one":{"value":1}},"contains":{"const":1}}`, note: "annotation_invalid /examples", valid: `[1]`, invalid: `[2]`, draft: draft7, everywhere: true},
	{name: "deprecated", schema: `{"deprecated":"yes","dependentRequired":{"a":["b"]}}`, note: "annotation_invalid /deprecated", valid: `{"b":1}`, invalid: `{"a":1}`, draft: newest, everywhere: true},
	{name: "readOnly", schema: `{"readOnly":"false","if":{"type":"string"},"then":{"minLength":1}}`, note: "annotation_invalid /readOnly", valid: `"a"`, invalid: `""`, draft: newest, everywhere: true},
	{name: "format", schema: `{"format":{"type":"date"},"propertyNames":{"maxLength":1}}`, note: "annotation_invalid /format", valid: `{"a":1}`, invalid: `{"ab":1}`, draft: newest, everywhere: true},
	{name: "comment and media type", schema: `{"$comment":1,"contentMediaType":2,"contentEncoding":false,"type":"string"}`, note: "annotation_invalid /$comment", valid: `"a"`, invalid: `1`, draft: draft7, everywhere: true},
}

// lintedSet returns the tool's validator. It fails if a part of the schema is not checked, or if a
// package that runs functions would refuse it. It returns the notes of Lint.
func lintedSet(t *testing.T, raw string) (validate func(document string) error, notes string) {
	t.Helper()
	before := strings.Clone(raw)
	tools := []schema.Tool{{Name: "t", Description: "d", InputSchema: json.RawMessage(raw)}}
	set, err := schema.NewSet(t.Context(), tools, nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if len(set.Unchecked()) > 0 {
		t.Fatalf("%s: unchecked: %v", raw, set.Unchecked())
	}
	if _, err := schema.Compile(json.RawMessage(raw), nil); err != nil {
		t.Fatalf("%s: Compile: %v", raw, err)
	}
	var b strings.Builder
	for _, p := range schema.Lint(tools, nil) {
		switch p.Code {
		case "schema_old_form", "schema_member_null", "schema_annotation_invalid":
			fmt.Fprintf(&b, "%s %s\n", strings.TrimPrefix(p.Code, "schema_"), strings.TrimPrefix(p.Pointer, "/0/input_schema"))
			if !strings.Contains(p.Message, ";") {
				t.Errorf("the message does not say what to do: %s", p.Message)
			}
		}
	}
	if string(tools[0].InputSchema) != before {
		t.Error("the declaration changed")
	}
	return func(document string) error { return set.ValidateArguments("t", []byte(document)) }, b.String()
}

// note returns a note of a form whose schema stands at a pointer.
func (f oldForm) noteAt(at string) string {
	code, pointer, _ := strings.Cut(f.note, " ")
	return code + " " + at + pointer + "\n"
}

func TestOldForms(t *testing.T) {
	for _, f := range oldForms {
		t.Run(f.name, func(t *testing.T) {
			judge := func(what, raw, at, around string) {
				t.Helper()
				validate, notes := lintedSet(t, raw)
				if at != "" && !strings.Contains(notes, f.noteAt(at)) || at == "" && strings.Contains(notes, " /properties/v") {
					t.Errorf("%s: notes:\n%swant %q", what, notes, f.noteAt(at))
				}
				if err := validate(fmt.Sprintf(around, f.valid)); err != nil {
					t.Errorf("%s: %s is rejected: %v", what, f.valid, err)
				}
				if err := validate(fmt.Sprintf(around, f.invalid)); toolwire.CodeOf(err) != toolwire.CodeMismatch {
					t.Errorf("%s: %s: %v, want a mismatch", what, f.invalid, err)
				}
			}
			judge("alone", `{"properties":{"v":`+f.schema+`}}`, "/properties/v", `{"v":%s}`)
			judge("under a misspelt or an empty draft", `{"$schema":"","properties":{"v":`+f.schema+`}}`, "/properties/v", `{"v":%s}`)
			if !f.behindPointer {
				judge("behind a reference", `{"properties":{"v":{"$ref":"#/definitions/f"}},"definitions":{"f":`+f.schema+`}}`, "/definitions/f", `{"v":%s}`)
				judge("behind an unknown name", `{"properties":{"v":{"$ref":"#/components/schemas/f%20g"}},"components":{"schemas":{"f g":`+f.schema+`}}}`,
					"/components/schemas/f g", `{"v":%s}`)
				judge("behind a reference in a reference", `{"properties":{"v":{"$ref":"#/a/b"}},"a":{"b":{"$ref":"#/a/c"},"c":{"allOf":[`+f.schema+`]}}}`, "/a/c/allOf/0", `{"v":%s}`)
				judge("behind a reference through a tuple", `{"properties":{"v":{"$ref":"#/definitions/t/items/0"}},"definitions":{"t":{"items":[`+f.schema+`]}}}`,
					"/definitions/t/items/0", `{"v":%s}`)
				judge("behind a reference to what follows a tuple", `{"properties":{"v":{"$ref":"#/a/t/additionalItems/properties/x"}},"a":{"t":{"items":[{}],"additionalItems":{"properties":{"x":`+
					f.schema+`}}}}}`, "/a/t/additionalItems/properties/x", `{"v":%s}`)
			}
			if !f.behindPointer {
				judge("in a list of a part", `{"properties":{"v":{"anyOf":[{"not":{}},`+f.schema+`]}}}`, "/properties/v/anyOf/1", `{"v":%s}`)
			}
			if f.draft != "" {
				where := ""
				if f.everywhere {
					where = "/properties/v"
				}
				judge("under its own draft", `{`+f.draft+`,"properties":{"v":`+f.schema+`}}`, where, `{"v":%s}`)
				judge("in a part with its own draft", `{"properties":{"w":{"items":[{}]},"v":{"$id":"v","id":"v",`+f.draft+`,"allOf":[`+f.schema+`]}}}`,
					strings.Replace(where, "/v", "/v/allOf/0", 1), `{"v":%s}`)
			}
			_, err := schema.Compile(json.RawMessage(`{`+newest+`,"properties":{"v":`+f.schema+`}}`), nil)
			if mistake := !f.everywhere && !f.draft3 && !strings.HasPrefix(f.name, "id"); (err != nil) != mistake {
				t.Errorf("under the newest draft: %v", err)
			}

			for _, keyword := range []string{"const", "default", "enum", "examples"} {
				data := f.schema
				if keyword == "enum" || keyword == "examples" {
					data = "[" + f.schema + "]"
				}
				validate, notes := lintedSet(t, `{"properties":{"v":{"`+keyword+`":`+data+`,"title":"x"}}}`)
				if notes != "" {
					t.Errorf("inside %s: notes:\n%s", keyword, notes)
				}
				if err := validate(`{"v":` + f.schema + `}`); err != nil {
					t.Errorf("inside %s: %v", keyword, err)
				}
				if err := validate(`{"v":{"type":"string"}}`); (err != nil) != (keyword == "const" || keyword == "enum") {
					t.Errorf("inside %s: another value: %v", keyword, err)
				}
			}
			for _, g := range oldForms {
				if g.behindPointer || f.behindPointer {
					continue
				}
				validate, notes := lintedSet(t, `{"properties":{"v":`+f.schema+`,"w":`+g.schema+`}}`)
				if !strings.Contains(notes, f.noteAt("/properties/v")) || !strings.Contains(notes, g.noteAt("/properties/w")) && !strings.HasPrefix(g.note, "old_form /$id") && !strings.HasPrefix(g.note, "old_form /items/$") {
					t.Errorf("with %s: notes:\n%s", g.name, notes)
				}
				for document, valid := range map[string]bool{
					`{"v":` + f.valid + `,"w":` + g.valid + `}`:   true,
					`{"v":` + f.invalid + `,"w":` + g.valid + `}`: false,
					`{"v":` + f.valid + `,"w":` + g.invalid + `}`: false,
				} {
					if err := validate(document); (err == nil) != valid {
						t.Errorf("with %s: %s: %v", g.name, document, err)
					}
				}
			}
		})
	}
}

// References into other documents lead to what their authors wrote, through old forms too.
func TestOldFormsInResources(t *testing.T) {
	const other = `{"items":[{"minimum":1,"exclusiveMinimum":true},{"items":[{"const":2}]}],"definitions":{"n":{"id":"#name","type":"string"}},
		"parts":{"b":{"maximum":5,"exclusiveMaximum":true},"c":{"$ref":"third#/items/0"},"d":{"$ref":"third#/more/x"},"r":{"required":true,"type":"number"}}}`
	resources := map[string]json.RawMessage{
		"https://x.test/other": json.RawMessage(other),
		"https://x.test/third": json.RawMessage(`{"items":[{"items":[{"const":3}]}],"more":{"x":{"maximum":5,"exclusiveMaximum":true}},"parts":{"$ref":"other#/items/1"}}`),
	}
	for _, tt := range []struct{ ref, valid, invalid string }{
		{"#/items/0", `2`, `1`},
		{"#/items/1", `[2]`, `[1]`},
		{"#/items/1/items/0", `2`, `1`},
		{"#name", `"a"`, `1`},
		{"#/parts/b", `4`, `5`},
		{"#/parts/c", `[3]`, `[2]`},
		{"#/parts/d", `4`, `5`},
		{"#/parts/c/../x", ``, ``},
	} {
		v, err := schema.Compile(json.RawMessage(`{"$ref":"https://x.test/other`+tt.ref+`"}`), &schema.CompileOptions{Resources: resources})
		if tt.valid == "" {
			if err == nil || !strings.Contains(err.Error(), "schema_ref_broken") {
				t.Errorf("%s: %v", tt.ref, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.ref, err)
			continue
		}
		if err := v.Validate([]byte(tt.valid)); err != nil {
			t.Errorf("%s: %s: %v", tt.ref, tt.valid, err)
		}
		if v.Validate([]byte(tt.invalid)) == nil {
			t.Errorf("%s accepts %s", tt.ref, tt.invalid)
		}
	}
	// A property that is required where a reference leads is required of the object that has the reference.
	v, err := schema.Compile(json.RawMessage(`{"properties":{"a":{"$ref":"https://x.test/other#/parts/r"}}}`), &schema.CompileOptions{Resources: resources})
	if err != nil || v.Validate([]byte(`{}`)) == nil || v.Validate([]byte(`{"a":1}`)) != nil {
		t.Errorf("%v", err)
	}
}
