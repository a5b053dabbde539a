package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/schema"
)

func mustCompile(t testing.TB, raw string) *schema.Validator {
	t.Helper()
	v, err := schema.Compile(json.RawMessage(raw), nil)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return v
}

// issues returns the problems of a document, one per line.
func issues(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		t.Fatalf("error is a %T, want *toolwire.Error", err)
	}
	var lines []string
	for _, i := range e.Problems {
		lines = append(lines, fmt.Sprintf("%s|%s|%s", i.Pointer, i.Code, i.Message))
	}
	return strings.Join(lines, "\n")
}

func TestValidateReportsEveryIssue(t *testing.T) {
	for _, test := range []struct{ name, schema, document, want string }{
		{"type", `{"type":"object"}`, `[]`, `|type|must be an object, not an array`},
		{"types", `{"type":["string","null"]}`, `1`, `|type|must be null or a string, not a number`},
		{"integer", `{"type":"integer"}`, `1.5`, `|type|must be an integer, not a number with a fraction`},
		{"required", `{"required":["a","b"]}`, `{}`,
			"|required|is missing the required property \"a\"\n|required|is missing the required property \"b\""},
		{"additional", `{"properties":{"a":{}},"additionalProperties":false}`, `{"z":1,"a":1,"b/c":1}`,
			"/b~1c|additionalProperties|is not allowed here\n/z|additionalProperties|is not allowed here"},
		{"enum", `{"enum":["open","closed",1,null]}`, `"x"`, `|enum|must be one of "open", "closed", 1, null`},
		{"enum of one value", `{"enum":["a"]}`, `"b"`, `|enum|must be "a"`},
		{"enum of two values", `{"enum":["a","b"]}`, `"c"`, `|enum|must be one of "a", "b"`},
		{"const", `{"const":"a"}`, `"b"`, `|const|must be "a"`},
		{"lengths", `{"items":{"minLength":2,"maxLength":3}}`, `["a","ääää","äb"]`,
			"/0|minLength|must have at least 2 characters, not 1\n/1|maxLength|must have at most 3 characters, not 4"},
		{"counts", `{"minItems":2,"properties":{"a":{}},"minProperties":1}`, `{}`,
			`|minProperties|must have at least 1 property, not 0`},
		{"pattern", `{"pattern":"^[a-z]+$"}`, `"A"`, `|pattern|must match the pattern ^[a-z]+$`},
		{"range", `{"items":{"minimum":1,"exclusiveMaximum":2.5}}`, `[0,2.5,2]`,
			"/0|minimum|must be at least 1\n/1|exclusiveMaximum|must be less than 2.5"},
		{"multiple", `{"multipleOf":0.01}`, `0.015`, `|multipleOf|must be a multiple of 0.01`},
		{"unique", `{"uniqueItems":true}`, `[1,2,1.0]`, `|uniqueItems|must not repeat an item: items 0 and 2 are equal`},
		{"nullable", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `3`, `|anyOf|must be a string or null, not a number`},
		{"closest alternative", `{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}`, `{}`,
			`|required|is missing the required property "a"`},
		{"several of another type", `{"anyOf":[{"type":"string"},{"required":["a","b"]},{"required":["c"]}]}`, `{}`,
			"|anyOf|matches none of the 3 alternatives; compared with the nearest one\n|required|is missing the required property \"c\""},
		{"discriminated", `{"oneOf":[
			{"properties":{"kind":{"const":"a"},"x":{"type":"string"}}},
			{"properties":{"kind":{"const":"b"},"y":{"type":"string"}}}]}`, `{"kind":"b","y":1}`,
			"|oneOf|matches none of the 2 alternatives; compared with the nearest one\n/y|type|must be a string, not a number"},
		{"discriminated by an enum", `{"oneOf":[
			{"properties":{"kind":{"enum":["a"]}}},{"properties":{"kind":{"enum":["b"]}},"required":["x","y"]}]}`, `{"kind":"b"}`,
			"|oneOf|matches none of the 2 alternatives; compared with the nearest one\n|required|is missing the required property \"x\"\n" +
				"|required|is missing the required property \"y\""},
		{"alternatives before the parts of one that is elsewhere", `{"$defs":{"x":{"required":["b"]}},"properties":{"a":{"anyOf":[
			{"$ref":"#/$defs/x"},{"required":["c","d"]}]}}}`, `{"a":{}}`,
			"/a|anyOf|matches none of the 2 alternatives; compared with the nearest one\n/a|required|is missing the required property \"b\""},
		{"another issue after 79 that read the same", `{"allOf":[` + strings.Repeat(`{"properties":{"a":{"type":"string"}}},`, 79) +
			`{}],"properties":{"b":{"type":"string"}}}`, `{"a":1,"b":1}`,
			"/a|type|must be a string, not a number\n/b|type|must be a string, not a number"},
		{"several unwanted in an object 17 levels deep", strings.Repeat(`{"properties":{"a":`, 17) + `{"additionalProperties":false}` + strings.Repeat(`}}`, 17),
			strings.Repeat(`{"a":`, 17) + `{"y":1,"z":1}` + strings.Repeat(`}`, 17),
			strings.Repeat("/a", 17) + "/y|additionalProperties|is not allowed here\n" + strings.Repeat("/a", 17) + "/z|additionalProperties|is not allowed here"},
		{"several names in a nested object", `{"properties":{"a":{"propertyNames":{"maxLength":1}}}}`, `{"a":{"yy":1,"zz":1}}`,
			"/a/yy|propertyNames|has a name that is not allowed here: it must have at most 1 character, not 2\n" +
				"/a/zz|propertyNames|has a name that is not allowed here: it must have at most 1 character, not 2"},
		{"both", `{"oneOf":[{},{}]}`, `1`, `|oneOf|must match exactly one of the alternatives, not both 0 and 1 (counted from 0)`},
		{"not", `{"not":{"type":"string"}}`, `"x"`, `|not|must not be what "not" describes`},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `|dependentRequired|must have the property "b" when it has "a"`},
		{"names", `{"additionalProperties":{"propertyNames":{"pattern":"^a"}}}`, `{"p":{"b":1},"q":{"c":1,"a":1},"r":{"d":1}}`,
			"/p/b|propertyNames|has a name that is not allowed here: it must match the pattern ^a\n" +
				"/q/c|propertyNames|has a name that is not allowed here: it must match the pattern ^a\n" +
				"/r/d|propertyNames|has a name that is not allowed here: it must match the pattern ^a"},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, `|contains|must have an item that matches "contains"`},
		{"min contains", `{"contains":{"type":"string"},"minContains":2}`, `["a"]`,
			`|minContains|must have at least 2 matching items, not 1`},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, `/a|a|is not allowed here`},
		{"unevaluated", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`,
			`/b|unevaluatedProperties|is not allowed here`},
		{"escaped", `{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, `/a~1b~0c|type|must be a string, not a number`},
		{"order", `{"items":{"type":"string"}}`, `["","",1,"","","","","","","",2]`,
			"/2|type|must be a string, not a number\n/10|type|must be a string, not a number"},
		{"same issue once", `{"allOf":[{"type":"string"},{"type":"string"}]}`, `1`, `|type|must be a string, not a number`},
		{"precision", `{"maximum":9007199254740992}`, `9007199254740993`, `|maximum|must be at most 9007199254740992`},
		{"precision, valid", `{"maximum":9007199254740993}`, `9007199254740993`, ``},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]},"items":[{"type":"string"}]}`,
			`{"a":1}`, `|dependencies|must have the property "b" when it has "a"`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"id":"x"}`, `1`,
			`|exclusiveMinimum|must be more than 1`},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#","items":[{"const":1}],"additionalItems":false}`, `[1,2,3]`,
			`|additionalItems|has 2 items too many`},
		{"draft 2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,
			"properties":{"next":{"$recursiveRef":"#"},"v":{"type":"string"}},"unevaluatedProperties":false}`, `{"next":{"v":1,"next":{"w":1}}}`,
			"/next/next/w|unevaluatedProperties|is not allowed here\n/next/v|type|must be a string, not a number"},
		{"long enum", `{"enum":["` + strings.Repeat("a", 90) + `","b","` + strings.Repeat("c", 300) + `","` + strings.Repeat("d", 70) +
			`","` + strings.Repeat("e", 70) + `","f","g"]}`, `1`, `|enum|must be one of "` + strings.Repeat("a", 80) + `"… (90 bytes), "b", "` +
			strings.Repeat("c", 80) + `"… (300 bytes), "` + strings.Repeat("d", 70) + `", "` + strings.Repeat("e", 70) + `" and 2 more`},
		{"fractions", `{"items":{"multipleOf":0.25,"maximum":1e-90}}`, `[0.1]`,
			"/0|maximum|must be at most 1e-90\n/0|multipleOf|must be a multiple of 0.25"},
		{"true", `true`, `1`, ``},
		{"escapes and spaces", `{"properties":{"é\n":{"const":"\u00e9\"\\"}},"required":["é\n"]}`,
			" { \"\\u00e9\\n\" : \"é\\u0022\\\\\" } ", ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := mustCompile(t, test.schema)
			for range 20 { // the library's order is random
				if got := issues(t, v.Validate([]byte(test.document))); got != test.want {
					t.Fatalf("issues:\n%s\nwant:\n%s", got, test.want)
				}
			}
		})
	}
}

// Of many missing or unwanted names the first are shown and all are counted.
func TestManyNamesAreCounted(t *testing.T) {
	for _, test := range []struct {
		name, schema, document, first, last string
		more                                int
	}{
		{"required", `{"required":` + names(1_000) + `}`, `{}`, `"n0"`, `"n115"`, 980},
		{"dependentRequired", `{"dependentRequired":{"a":` + names(1_000) + `}}`, `{"a":1}`, `"n0"`, `"n115"`, 980},
		{"additional", `{"additionalProperties":false}`, manyProperties(1_000), "/p0", "/p115", 980},
		{"in an alternative", `{"anyOf":[{"type":"string"},{"required":` + names(1_000) + `}]}`, `{}`, `"n0"`, `"n115"`, 980},
		{"in the closest alternative", `{"anyOf":[{"required":` + names(1_000) + `},{"required":` + names(90) + `}]}`, `{}`,
			"matches none", `"n25"`, 71},
		{"in the alternative that a constant selects", `{"anyOf":[{"properties":{"kind":{"const":"a"}}},{"properties":{"kind":{"const":"b"}},` +
			`"required":` + names(900) + `}]}`, `{"kind":"b"}`, "matches none", `"n114"`, 881},
	} {
		err := mustCompile(t, test.schema).Validate([]byte(test.document))
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || len(e.Problems) != 20 || e.More != test.more {
			t.Errorf("%s: %v, want 20 issues and %d more", test.name, err, test.more)
			continue
		}
		if first, last := e.Problems[0].Pointer+e.Problems[0].Message, e.Problems[19].Pointer+e.Problems[19].Message; !strings.Contains(first, test.first) ||
			!strings.Contains(last, test.last) {
			t.Errorf("%s: from %s to %s, want %s to %s", test.name, first, last, test.first, test.last)
		}
	}
}

func TestValidateRefusesWhatIsNoStrictJSON(t *testing.T) {
	v := mustCompile(t, `{}`)
	for name, document := range map[string]string{
		"empty": ``, "cut": `{"a":`, "two": `{} {}`, "text": `hello`, "duplicate": `{"a":1,"a":2}`, "UTF-8": "\"\xff\"", "comma": `[1,]`,
	} {
		err := v.Validate([]byte(document))
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != toolwire.CodeInvalidJSON {
			t.Errorf("%s: error = %v, want code invalid_json", name, err)
		}
	}
}

func TestProblemsContainNoValues(t *testing.T) {
	const document = `{"text":"sk-canary","number":4.123456,"list":["sk-canary","sk-canary",4.123456],"object":{"member":"sk-canary"}}`
	for _, keyword := range []string{
		`"type":"boolean"`, `"enum":["x"]`, `"enum":["x",1,[2]]`, `"const":"x"`, `"const":5`, `"const":{"member":"x"}`, `"not":{}`,
		`"oneOf":[{},{}]`, `"anyOf":[{"const":1},{"type":"null"}]`, `"maxLength":3`, `"minLength":500`, `"pattern":"^x"`, `"format":"uuid"`,
		`"minimum":5`, `"maximum":4`, `"exclusiveMinimum":5`, `"exclusiveMaximum":4`, `"multipleOf":2`,
		`"uniqueItems":true`, `"contains":{"const":1}`, `"maxItems":1`, `"minItems":9`, `"items":{"type":"null"}`,
		`"required":["other"]`, `"minProperties":2`, `"maxProperties":0`, `"dependentRequired":{"member":["other"]}`, `"propertyNames":{"maxLength":1}`,
	} {
		v, err := schema.Compile([]byte(`{"additionalProperties":{`+keyword+`}}`), &schema.CompileOptions{AssertFormats: true})
		if err != nil {
			t.Fatalf("%s: %v", keyword, err)
		}
		err = v.Validate([]byte(document))
		if toolwire.CodeOf(err) != toolwire.CodeMismatch {
			t.Errorf("%s: %v", keyword, err)
		}
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "sk-") || strings.Contains(text, "4.123456") {
			t.Errorf("%s: the error contains a value: %v", keyword, text)
		}
	}
}

func TestFormatsAreAssertedOnlyOnRequest(t *testing.T) {
	for _, draft := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		for _, test := range []struct{ format, document string }{{"date-time", `"nope"`}, {"regex", `"("`}, {"uuid", `"1"`}} {
			raw := json.RawMessage(fmt.Sprintf(`{"$schema":%q,"format":%q}`, draft, test.format))
			lenient, err := schema.Compile(raw, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := lenient.Validate([]byte(test.document)); err != nil {
				t.Errorf("%s %s: asserted without being asked: %v", draft, test.format, err)
			}
			strict, err := schema.Compile(raw, &schema.CompileOptions{AssertFormats: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := issues(t, strict.Validate([]byte(test.document))); !strings.HasPrefix(got, "|format|must be a valid "+test.format) {
				t.Errorf("%s %s: issues = %q", draft, test.format, got)
			}
		}
	}
}

// Formats are annotations behind every kind of reference.
func TestFormatsBehindReferences(t *testing.T) {
	for _, raw := range []string{
		`{"$ref":"#/$defs/a","$defs":{"a":{"format":"uuid"}}}`,
		`{"$dynamicRef":"a","$defs":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-07/schema#","format":"uuid"}}}`,
		`{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a","format":"uuid"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"$ref":"#/definitions/a"},"definitions":{"a":{"format":"uuid"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","propertyNames":{"format":"uuid"}}`,
	} {
		v := mustCompile(t, raw)
		for _, document := range []string{`"x"`, `["x"]`, `{"x":"x"}`} {
			if err := v.Validate([]byte(document)); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"text", `"string"`, `schema_invalid||a schema must be an object or a boolean, not a string`},
		{"broken", `{"type":`, `schema_not_json|/type|`},
		{"twice", `{"type":"string","type":"object"}`, `schema_not_json|/type|is not valid JSON at byte 17: occurs twice in its object`},
		{"type", `{"properties":{"a":{"type":"strng"}}}`, `schema_invalid|/properties/a/type|`},
		{"several", `{"properties":{"a":{"minLength":-1},"b":{"required":"x"}}}`,
			`schema_invalid|/properties/a/minLength|must be at least 0` + "\n" + `schema_invalid|/properties/b/required|must be an array, not a string`},
		{"ref", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `schema_ref_broken|/properties/a/$ref|refers to "#/$defs/none", which does not exist`},
		{"anchor", `{"$ref":"#none"}`, `schema_ref_broken|/$ref|`},
		{"http", `{"$ref":"https://user:secret@example.com/x?key=secret"}`,
			`schema_ref_remote|/$ref|refers to "https://example.com/x", and no schema is ever loaded from outside; put the definition under "$defs"`},
		{"file", `{"$ref":"file:///etc/passwd"}`, `schema_ref_remote|/$ref|`},
		{"relative", `{"$ref":"other.json"}`, `schema_ref_remote|/$ref|`},
		{"everything at once", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#y"},"c":{"pattern":"("},"d":{"type":1},"e":{"$ref":"z.json"},
			"f":{"patternProperties":{"[":{}}},"10":{"$ref":"#/properties/9"},"9":{"$anchor":"ok"},"11":{"$ref":"#ok"}}}`,
			"schema_ref_broken|/properties/a/$ref|refers to \"#/$defs/x\", which does not exist\n" +
				"schema_ref_broken|/properties/b/$ref|refers to \"#y\", which does not exist\n" +
				"schema_pattern_unsupported|/properties/c/pattern|is a regular expression that cannot be checked here: missing closing )\n" +
				"schema_invalid|/properties/d/type|must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"\n" +
				"schema_ref_remote|/properties/e/$ref|refers to \"z.json\", and no schema is ever loaded from outside; " +
				"put the definition under \"$defs\"\n" +
				"schema_pattern_unsupported|/properties/f/patternProperties/[|is a regular expression that cannot be checked here: missing closing ]"},
		{"broken in a part with its own id", `{"$defs":{"a":{"$id":"https://x.test/a","$ref":"#/$defs/b"}},"$ref":"#/$defs/a"}`, `schema_ref_broken|/$defs/a/$ref|`},
		{"not broken in a part with its own id", `{"$defs":{"a":{"$id":"https://x.test/a","$ref":"#/$defs/b","$defs":{"b":{}}}},` +
			`"$ref":"#/$defs/a","type":"text"}`, `schema_invalid|/type|`},
		{"several broken under the id of the whole", `{"$id":"https://x.test/","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/y"}}}`,
			"schema_ref_broken|/properties/a/$ref|refers to \"#/$defs/x\", which does not exist\n" +
				"schema_ref_broken|/properties/b/$ref|refers to \"#/$defs/y\", which does not exist"},
		{"regex", `{"properties":{"a":{"pattern":"("}}}`, `schema_pattern_unsupported|/properties/a/pattern|is a regular expression that cannot be checked here: missing closing )`},
		{"look-ahead", `{"pattern":"a(?=a)"}`, `schema_pattern_unsupported|/pattern|is a regular expression that cannot be checked here: look-ahead`},
		{"one subschema in two ways", `{"properties":{"a":{"type":"strng"},"b":{"$ref":"#/properties/a"}}}`, `schema_invalid|/properties/a/type|`},
		{"pattern property", `{"patternProperties":{"[":{}}}`, `schema_pattern_unsupported|/patternProperties`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(test.schema), nil)
			for range 20 { // the library's order is random
				if _, again := schema.Compile(json.RawMessage(test.schema), nil); again == nil || again.Error() != err.Error() {
					t.Fatalf("not the same twice:\n%v\n%v", err, again)
				}
			}
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok {
				t.Fatalf("error is %T (%v), want *toolwire.Error", err, err)
			}
			var lines []string
			for _, p := range e.Problems {
				lines = append(lines, fmt.Sprintf("%s|%s|%s", p.Code, p.Pointer, p.Message))
			}
			if got := strings.Join(lines, "\n"); !strings.HasPrefix(got, test.want) {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.want)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "mem:") {
				t.Errorf("the message leaks: %v", err)
			}
		})
	}
}

// Of the places of a schema that are wrong, not checked or read otherwise than written, the first 100 are listed and
// the others are counted.
func TestManyPlaces(t *testing.T) {
	asError := func(err error) ([]toolwire.Problem, int) {
		if e, ok := errors.AsType[*toolwire.Error](err); ok {
			return e.Problems, e.More
		}
		return nil, 0
	}
	asList := func(list []toolwire.Problem) ([]toolwire.Problem, int) {
		var more int
		if n := len(list); n > 0 && list[n-1].Code == "more_problems" {
			fmt.Sscan(list[n-1].Message, &more)
			list = list[:n-1]
		}
		return list, more
	}
	for _, test := range []struct {
		name, property, code string
		list                 func(raw json.RawMessage, tools []schema.Tool) ([]toolwire.Problem, int)
	}{
		{"Compile", `{"type":"text"}`, "schema_invalid", func(raw json.RawMessage, _ []schema.Tool) ([]toolwire.Problem, int) {
			_, err := schema.Compile(raw, nil)
			return asError(err)
		}},
		{"Compile, unchecked", `{"$ref":"https://example.com/x"}`, "schema_ref_remote", func(raw json.RawMessage, _ []schema.Tool) ([]toolwire.Problem, int) {
			_, err := schema.Compile(raw, nil)
			return asError(err)
		}},
		{"Unchecked", `{"type":"string","nullable":true}`, "schema_keyword_ignored", func(raw json.RawMessage, _ []schema.Tool) ([]toolwire.Problem, int) {
			return asList(mustCompile(t, string(raw)).Unchecked())
		}},
		{"Validate", `{"type":"text"}`, "schema_invalid", func(_ json.RawMessage, tools []schema.Tool) ([]toolwire.Problem, int) {
			_, err := schema.Validate(t.Context(), tools, nil)
			return asError(err)
		}},
		{"Validate, unchecked", `{"type":"string","nullable":true}`, "schema_keyword_ignored", func(_ json.RawMessage, tools []schema.Tool) ([]toolwire.Problem, int) {
			unchecked, _ := schema.Validate(t.Context(), tools, nil)
			return asList(unchecked)
		}},
		{"Lint", `{"type":"string","description":"d","title":1}`, "schema_annotation_invalid", func(_ json.RawMessage, tools []schema.Tool) ([]toolwire.Problem, int) {
			return asList(schema.Lint(tools, nil))
		}},
		{"Export", `{"type":"string","title":1}`, "schema_annotation_invalid", func(_ json.RawMessage, tools []schema.Tool) ([]toolwire.Problem, int) {
			_, lost, _ := schema.Export(tools, schema.MCP)
			return asList(lost)
		}},
	} {
		for _, places := range []int{99, 100, 101, 500} {
			var b strings.Builder
			for i := range places {
				fmt.Fprintf(&b, `,"a%03d":%s`, i, test.property)
			}
			raw := json.RawMessage(`{"type":"object","properties":{` + b.String()[1:] + `}}`)
			found, more := test.list(raw, []schema.Tool{{Name: "t", Description: "d", InputSchema: raw}})
			want := min(places, 100)
			if len(found) != want || more != places-want {
				t.Errorf("%s of %d places: %d problems and %d more", test.name, places, len(found), more)
				continue
			}
			last := fmt.Sprintf("/properties/a%03d", want-1)
			if p := found[want-1]; p.Code != test.code || !strings.Contains(p.Pointer, last) {
				t.Errorf("%s of %d places: the last problem is %v", test.name, places, p)
			}
		}
	}
}

func TestCompileIsSafeForConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				v, err := schema.Compile(json.RawMessage(`{"$defs":{"a":{"pattern":"^a"}},"items":{"$ref":"#/$defs/a"}}`), nil)
				if err != nil {
					t.Error(err)
				} else if got, want := issues(t, v.Validate([]byte(`["b"]`))), "/0|pattern|must match the pattern ^a"; got != want {
					t.Errorf("issues = %q, want %q", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestValidatorIsSafeForConcurrentUse(t *testing.T) {
	v := mustCompile(t, `{"$defs":{"n":{"properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"},{"$ref":"#/$defs/n"}]},
		"v":{"type":"integer","pattern":"^a"}}}},"$ref":"#/$defs/n"}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := v.Validate([]byte(`{"v":1,"next":{"v":2,"next":null}}`)); err != nil {
					t.Error(err)
				}
				if err := v.Validate([]byte(`{"v":1,"next":{"v":"x"}}`)); err == nil {
					t.Error("valid")
				}
			}
		})
	}
	wg.Wait()
}

// The format is checked while validating, so calls must not share state, and its cost must not
// grow.
func TestFormatRegexKeepsNoState(t *testing.T) {
	v, err := schema.Compile(json.RawMessage(`{"items":{"format":"regex"}}`), &schema.CompileOptions{AssertFormats: true})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2_500 {
				if err := v.Validate(fmt.Appendf(nil, `["abcdef%d_%d",1]`, g, i)); err != nil {
					t.Errorf("call %d of %d: %v", i, g, err)
					return
				}
				if got, want := issues(t, v.Validate(fmt.Appendf(nil, `["(%d_%d"]`, g, i))), "/0|format|must be a valid regex"; got != want {
					t.Errorf("call %d of %d: issues = %q, want %q", i, g, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The format is of JavaScript. What Go does not have may be valid there.
func TestFormatRegexOfJavaScript(t *testing.T) {
	v, err := schema.Compile(json.RawMessage(`{"format":"regex"}`), &schema.CompileOptions{AssertFormats: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		`^(?=.*\\d)[^]{8,}$`: true, `\\u00e9\\u{1F600}`: true, `\\p{Script=Greek}[\\s\\cA\\0]`: true, `a(?!b)`: true, `(?<!a)b`: true,
		`(a)\\1`: true, `(?<n>a)\\k<n>`: true, `a{2000}`: true, `[]`: true,
		`^(abc]`: false, `\\Z`: false, `(?x)a`: false, `^(?=a)(`: false, `*`: false,
	} {
		if err := v.Validate([]byte(`"` + text + `"`)); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A longer expression is not validated, and many costly ones exceed the limit.
func TestFormatRegexIsBounded(t *testing.T) {
	v, err := schema.Compile(json.RawMessage(`{"items":{"format":"regex"}}`), &schema.CompileOptions{AssertFormats: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, document string
		want           toolwire.Code
	}{
		{"the longest", `["` + strings.Repeat("a", 1024) + `"]`, ""},
		{"longer", `["` + strings.Repeat("a", 1025) + `"]`, toolwire.CodeLimit},
		{"some of usual length", `[` + strings.Repeat(`"^[a-z]+(-[0-9]{2,4})?$",`, 1000) + `""]`, ""},
		{"some with classes", `[` + strings.Repeat(`"^\\p{L}+$",`, 100) + `""]`, ""},
		{"many with white space", `[` + strings.Repeat(`"`+strings.Repeat(`\\s\\S`, 200)+`",`, 800) + `""]`, toolwire.CodeLimit},
		{"many with classes", `[` + strings.Repeat(`"`+strings.Repeat(`\\pL|`, 200)+`",`, 800) + `""]`, toolwire.CodeLimit},
	} {
		var err error
		spent := cost.Allocated(func() { err = v.Validate([]byte(test.document)) })
		var code toolwire.Code
		if e, ok := errors.AsType[*toolwire.Error](err); ok {
			code = e.Code
		}
		if code != test.want || spent > 96<<20 {
			t.Errorf("%s: %v and %d MB allocated, want %q", test.name, err, spent>>20, test.want)
		}
	}
}

// Decoding and validating three fields takes fewer allocations than the validator library with its
// own decoder, which takes 39.
func TestValidateAllocatesLittle(t *testing.T) {
	v := mustCompile(t, argumentsSchema)
	document := []byte(arguments)
	if got := testing.AllocsPerRun(100, func() { _ = v.Validate(document) }); got > 34 {
		t.Errorf("%v allocations, want at most 34", got)
	}
}

// The bounds on counts grow with the sizes, so a larger limit is of use.
func TestLimitsGrowTogether(t *testing.T) {
	document := []byte(`[` + strings.Repeat(`{"a":1},`, 100_000) + `{}]`)
	raw := json.RawMessage(`{"items":{"properties":{"a":{"type":"integer"}}}}`)
	for _, test := range []struct {
		limits schema.Limits
		want   toolwire.Code
	}{
		{schema.Limits{}, toolwire.CodeLimit},
		{schema.Limits{Bytes: 2 << 20}, toolwire.CodeLimit},
		{schema.Limits{Bytes: 16 << 20}, ""},
		{schema.Limits{Bytes: 16 << 20, Depth: 1}, toolwire.CodeLimit},
	} {
		v, err := schema.Compile(json.RawMessage(`{}`), &schema.CompileOptions{Limits: test.limits})
		if test.limits.Depth != 1 {
			v, err = schema.Compile(raw, &schema.CompileOptions{Limits: test.limits})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := toolwire.CodeOf(v.Validate(document)); got != test.want {
			t.Errorf("%+v: code %q, want %q", test.limits, got, test.want)
		}
	}

	var properties strings.Builder
	for i := range 1_500 {
		fmt.Fprintf(&properties, `,"p%d":{}`, i)
	}
	many := json.RawMessage(`{"properties":{` + properties.String()[1:] + `}}`)
	if _, err := schema.Compile(many, nil); err == nil {
		t.Error("1,500 properties are within the default limits")
	}
	if _, err := schema.Compile(many, &schema.CompileOptions{Limits: schema.Limits{SchemaBytes: 128 << 10}}); err != nil {
		t.Errorf("1,500 properties exceed twice the default limits: %v", err)
	}
	for size, want := range map[int]toolwire.Code{64 << 10: toolwire.CodeUnchecked, 128 << 10: ""} {
		_, err := schema.Compile(json.RawMessage(doubledProperties(13)), &schema.CompileOptions{Limits: schema.Limits{SchemaBytes: size}})
		if toolwire.CodeOf(err) != want {
			t.Errorf("16,383 references at %d bytes: %v", size, err)
		}
	}
	for items, want := range map[int]toolwire.Code{499_997: "", 499_998: toolwire.CodeUnchecked} {
		raw := json.RawMessage(`{"default":[` + strings.Repeat("0,", items-1) + `0]}`) // three more values and names
		_, err := schema.Compile(raw, &schema.CompileOptions{Limits: schema.Limits{SchemaBytes: 2 << 20}})
		if toolwire.CodeOf(err) != want {
			t.Errorf("%d values and names in a schema: %v", items+3, err)
		}
	}
}
