package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/schema"
)

// hostile is a schema and a document that must be rejected or validated at a small cost.
type hostile struct {
	name     string
	schema   string
	document string
	want     string // "" is valid
}

func hostileCases() []hostile {
	doubled := func(keyword string, levels int, leaf string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
		for i := range levels {
			fmt.Fprintf(&b, `"l%d":{%q:[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, keyword, i+1, i+1)
		}
		fmt.Fprintf(&b, `"l%d":%s}}`, levels, leaf)
		return b.String()
	}
	listOf := func(n int, item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	nested := func(n int, open, leaf, end string) string {
		return strings.Repeat(open, n) + leaf + strings.Repeat(end, n)
	}
	properties := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"p%d":{},`, i)
		}
		return `{"properties":{` + strings.TrimSuffix(b.String(), ",") + `}}`
	}
	longEnum := strings.TrimSuffix(strings.Repeat("1234567,", 7_000), ",")
	const repeats = `([a-z]{1,500}[0-9]){1,2}x`
	const recursive = `{"$defs":{"n":{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["y"]},` +
		`{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["z"]}]}},"$ref":"#/$defs/n"}`
	return []hostile{
		{"ref to itself", `{"$ref":"#"}`, `1`, "schema_ref_cycle"},
		{"ref cycle of two", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, "schema_ref_cycle"},
		{"ref cycle through allOf", `{"allOf":[{"$ref":"#"}]}`, `1`, "schema_ref_cycle"},
		{"ref cycle through not", `{"not":{"$ref":"#"}}`, `1`, "schema_ref_cycle"},
		{"ref cycle in a property", `{"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"}}}`, `1`, "schema_ref_cycle"},
		{"dynamic ref cycle", `{"$dynamicAnchor":"a","$dynamicRef":"#a"}`, `1`, "mismatch"},
		{"doubled anyOf", doubled("anyOf", 24, `{"type":"string"}`), `1`, "schema_too_complex"},
		{"doubled allOf", doubled("allOf", 24, `{"type":"string"}`), `"a"`, "schema_too_complex"},
		{"doubled oneOf", doubled("oneOf", 60, `{"type":"string"}`), `"a"`, "schema_too_complex"},
		{"doubled properties", doubledProperties(24), `{}`, "schema_too_complex"},
		{"recursive and doubled", recursive, nested(40, `{"x":`, `{}`, `}`), "limit"},
		{"dynamic and doubled", strings.ReplaceAll(strings.Replace(recursive, `{"anyOf"`, `{"$dynamicAnchor":"n","anyOf"`, 1), `{"$ref":"#/$defs/n"}}`, `{"$dynamicRef":"#n"}}`),
			nested(40, `{"x":`, `{}`, `}`), "limit"},
		{"deep schema", nested(3000, `{"not":`, `{}`, `}`), `1`, "schema_too_deep"},
		{"large schema", `{"description":"` + strings.Repeat("x", 70_000) + `"}`, `1`, "schema_too_large"},
		{"20,000 properties", properties(20_000), `{}`, "schema_too_large"},
		{"1,500 properties", properties(1_500), `{}`, "schema_too_complex"},
		{"1,000 properties", properties(1_000), `{}`, ""},
		{"20,000 subschemas", `{"allOf":` + listOf(20_000, `{}`) + `}`, `1`, "schema_too_complex"},
		{"2,900 subschemas", `{"allOf":` + listOf(2_900, `{}`) + `}`, `1`, ""},
		{"more than a few refs to strange places", `{"x":` + listOf(400, `{}`) + `,"allOf":[` + refs(200) + `]}`, `1`, "schema_too_complex"},
		{"refs to strange places", `{"x":` + listOf(1_400, `{}`) + `,"allOf":[` + refs(1_400) + `]}`, `1`, "schema_too_complex"},
		{"a few refs to strange places", `{"x":` + listOf(400, `{}`) + `,"allOf":[` + refs(100) + `]}`, `1`, ""},
		{"2,900 subschemas under a long name", `{"properties":{"` + strings.Repeat("x", 30_000) + `":{"allOf":` + listOf(2_900, `{}`) + `}}}`, `1`, "schema_too_complex"},
		{"2,900 boolean subschemas under a long name", `{"properties":{"` + strings.Repeat("x", 30_000) + `":{"allOf":` + listOf(2_900, `true`) + `}}}`, `1`, "schema_too_complex"},
		{"1,000 references under a long id", `{"$id":"https://x.test/` + strings.Repeat("x", 30_000) + `/","allOf":` + listOf(1_000, `{"$ref":"#/$defs/a"}`) +
			`,"$defs":{"a":{}}}`, `1`, "schema_too_complex"},
		{"2,900 subschemas under a name of usual length", `{"properties":{"` + strings.Repeat("x", 200) + `":{"allOf":` + listOf(2_900, `{}`) + `}}}`, `1`, ""},
		{"2,900 subschemas under a name of 320 bytes", `{"properties":{"` + strings.Repeat("x", 320) + `":{"allOf":` + listOf(2_900, `{}`) + `}}}`, `1`, ""},
		{"2,900 subschemas under a name of 350 bytes", `{"properties":{"` + strings.Repeat("x", 350) + `":{"allOf":` + listOf(2_900, `{}`) + `}}}`, `1`, "schema_too_complex"},
		{"10,000 values under a long name", `{"x-` + strings.Repeat("x", 30_000) + `":{"default":` + listOf(10_000, `1`) + `}}`, `1`, ""},
		{"20,000 subschemas in data", `{"default":` + listOf(20_000, `{}`) + `}`, `1`, "schema_too_complex"},
		{"long pattern", `{"pattern":"` + strings.Repeat("a", 1025) + `"}`, `"a"`, "schema_pattern_unsupported"},
		{"long pattern in data", `{"$ref":"#/default","default":{"pattern":"` + strings.Repeat("a", 1025) + `"}}`, `"a"`, "schema_pattern_unsupported"},
		{"many large patterns", `{"allOf":` + listOf(60, `{"pattern":"(.{1,1000})"}`) + `}`, `"a"`, ""},
		{"many different large patterns", `{"allOf":[` + patternList(100) + `]}`, `"a"`, "schema_pattern_unsupported"},
		{"schema number with a huge exponent", `{"maximum":1e99999999}`, `1`, "schema_too_complex"},
		{"schema count beyond 64 bits", `{"maxLength":1e300,"minLength":0}`, `"a"`, ""},

		{"50,000 values", `{"type":"array"}`, listOf(49_999, `1`), ""},
		{"50,001 values", `{"type":"array"}`, listOf(50_000, `1`), "limit"},
		{"number with a huge exponent", `{"maximum":5}`, `1e99999999`, "limit"},
		{"200 numbers with large exponents and multipleOf", `{"items":{"multipleOf":0.7}}`, listOf(200, `1e999999`), "limit"},
		{"5,000 numbers at the largest exponent and multipleOf", `{"items":{"multipleOf":0.7}}`, listOf(5_000, `1e400`), "mismatch"},
		{"long integer", `{"multipleOf":3}`, strings.Repeat("7", 1<<20), "limit"},
		{"repeats on 1 MiB", `{"pattern":"` + repeats + `"}`, `"` + strings.Repeat("a", 1<<20-2) + `"`, "limit"},
		{"repeats on the longest string", `{"pattern":"` + repeats + `"}`, `"` + strings.Repeat("a", 16<<10) + `"`, "limit"},
		{"repeats on many strings", `{"items":{"pattern":"` + repeats + `"}}`, listOf(1000, `"`+strings.Repeat("a", 1000)+`"`), "limit"},
		{"pattern under not", `{"not":{"pattern":"^(a+)+$"}}`, `"` + strings.Repeat("a", 1<<20-2) + `"`, "limit"},
		{"cheap pattern on a long string", `{"pattern":"^a"}`, `"` + strings.Repeat("a", 16<<10+1) + `"`, "limit"},
		{"cheap pattern on the longest string", `{"pattern":"^a"}`, `"` + strings.Repeat("a", 16<<10) + `"`, ""},
		{"backtracking", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 16_000) + `b"`, "mismatch"},
		{"many lengths of a long string", `{"allOf":` + listOf(2_800, `{"minLength":1}`) + `}`, `"` + strings.Repeat("a", 1<<20-2) + `"`, "limit"},
		{"some lengths of a long string", `{"allOf":` + listOf(10, `{"maxLength":2000000}`) + `}`, `"` + strings.Repeat("a", 1<<20-2) + `"`, ""},
		{"500,000 wrong items", `{"items":{"type":"string"}}`, listOf(500_000, `1`), "limit"},
		{"25,000 wrong items", `{"items":{"type":"string"}}`, listOf(25_000, `1`), "mismatch"},
		{"25,000 items wrong ten times", `{"items":{"allOf":` + listOf(10, `{"type":"string"}`) + `}}`, listOf(24_000, `1`), "limit"},
		{"as much wrong as the steps allow", `{"items":{"allOf":` + listOf(9, `{"type":"string"}`) + `}}`, listOf(9_900, `1`), "mismatch"},
		{"deep document", `{}`, nested(100_000, `[`, ``, `]`), "limit"},
		{"deep document of objects", `{}`, nested(65, `{"a":`, `1`, `}`), "limit"},
		{"unevaluatedItems and many alternatives", `{"allOf":` + listOf(900, `{"minItems":1}`) + `,"unevaluatedItems":{}}`, listOf(48_000, `1`), "limit"},
		{"unevaluatedItems and any of many", `{"anyOf":` + listOf(900, `{"type":"array"}`) + `,"unevaluatedItems":{}}`, listOf(48_000, `1`), "limit"},
		{"as much unevaluated as the steps allow", `{"allOf":` + listOf(6, `{"minItems":1}`) + `,"unevaluatedItems":{}}`, listOf(48_000, `1`), ""},
		{"nothing unevaluated", `{"allOf":` + listOf(900, `{"minItems":1}`) + `}`, listOf(48_000, `1`), ""},
		{"long enum and many values", `{"items":{"enum":[` + longEnum + `]}}`, listOf(20_000, `7654321`), "limit"},
		{"enum and values", `{"items":{"enum":` + listOf(1_000, `1234567`) + `}}`, listOf(1_500, `7654321`), "limit"},
		{"uniqueItems in every level", `{"$defs":{"u":{"uniqueItems":true,"items":{"$ref":"#/$defs/u"}}},"$ref":"#/$defs/u"}`,
			nested(60, `[`+strings.Repeat(`0,`, 20), listOf(20_000, `1.5`), `]`), "limit"},
		{"uniqueItems of a few large items", `{"uniqueItems":true}`, `[` + strings.TrimSuffix(strings.Repeat(listOf(2_300, `1.5`)+",", 20), ",") + `]`, "limit"},
		{"uniqueItems of a few items", `{"uniqueItems":true}`, `[` + likeOrders(20, 60) + `]`, ""},
		{"uniqueItems of many items", `{"uniqueItems":true}`, `[` + likeOrders(400, 60) + `]`, ""},
		{"recursive and doubled inside a part with its own id", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$ref":"a#/$defs/in",` +
			`"$defs":{"a":{"$id":"a","$recursiveAnchor":true,"$defs":{"in":{"anyOf":[{"properties":{"x":{"$recursiveRef":"#"}},"required":["y"]},` +
			`{"properties":{"x":{"$recursiveRef":"#"}},"required":["z"]}]}}}}}`, nested(40, `{"x":`, `{}`, `}`), "limit"},
		{"chain of references", chain(1_000), listOf(60, `"a"`), "limit"},
		{"shorter chain of references", chain(100), listOf(500, `"a"`), ""},
		{"large document", `{}`, `"` + strings.Repeat("a", 1<<20) + `"`, "limit"},
		{"many unwanted properties", `{"additionalProperties":false}`, manyProperties(24_000), "mismatch"},
		{"many unwanted properties many times", `{"allOf":` + listOf(30, `{"additionalProperties":false}`) + `}`, manyProperties(24_000), "mismatch"},
		{"many required names", `{"required":` + names(5_000) + `}`, `{}`, "mismatch"},
		{"many required names many times", `{"items":{"required":` + names(5_000) + `}}`, listOf(300, `{}`), "limit"},
		{"as many required names as the steps allow", `{"items":{"required":` + names(5_000) + `}}`, listOf(19, `{}`), "mismatch"},
		{"some required names many times", `{"items":{"required":` + names(80) + `}}`, listOf(1_200, `{}`), "mismatch"},
		{"many dependent names many times", `{"items":{"dependentRequired":{"a":` + names(5_000) + `}}}`, listOf(600, `{"a":1}`), "limit"},
		{"many names that nothing has many times", `{"items":{"dependentRequired":` + namesOfNothing(5_000) + `}}`, listOf(2_000, `{}`), "limit"},
		{"many dependencies that nothing has many times", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"dependencies":` +
			namesOfNothing(5_000) + `}}`, listOf(2_000, `{}`), "limit"},
		{"many dependencies and no object", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"dependencies":` +
			namesOfNothing(5_000) + `}}`, listOf(2_000, `1`), ""},
		{"a chain of references to many dynamic anchors", dynamicChain(400, 600), listOf(25, `1`), ""},
		{"many dependencies many times", `{"$schema":"http://json-schema.org/draft-07/schema#","items":{"dependencies":{"a":` + names(5_000) + `}}}`,
			listOf(600, `{"a":1}`), "limit"},
	}
}

// likeOrders returns objects with numbers that differ in one member.
func likeOrders(n, members int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"o%d"`, i)
		for m := range members {
			fmt.Fprintf(&b, `,"n%d":%d`, m, m)
		}
		b.WriteByte('}')
	}
	return b.String()
}

// doubledProperties returns a schema that has 2^n properties when its references are written out.
func doubledProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"properties":{"a":{"$ref":"#/$defs/%d"},"b":{"$ref":"#/$defs/%d"}}},`, i, i+1, i+1)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/0","$defs":{%s"%d":{}}}`, b.String(), n)
}

// chain returns a schema whose items meet n references in a row.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
	}
	return fmt.Sprintf(`{"items":{"$ref":"#/$defs/0"},"$defs":{%s"%d":{"type":"string"}}}`, b.String(), n)
}

func refs(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"$ref":"#/x/%d"}`, i)
	}
	return b.String()
}

// namesOfNothing returns n names that require nothing.
func namesOfNothing(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":[]`, i)
	}
	return `{` + b.String()[1:] + `}`
}

// dynamicChain returns a schema whose items meet n references in a row, and then a dynamic one that
// may lead to many places.
func dynamicChain(n, places int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"r%d":{"$ref":"#/$defs/r%d"}`, i, i+1)
	}
	for i := range places {
		fmt.Fprintf(&b, `,"%d":{"$id":"%d","$dynamicAnchor":"x"}`, i, i)
	}
	return fmt.Sprintf(`{"$id":"https://x.test/","items":{"$ref":"#/$defs/r0"},"$defs":{"t":{"$dynamicAnchor":"x"},"r%d":{"$dynamicRef":"#x"}%s}}`,
		n, b.String())
}

func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d"`, i)
	}
	return `[` + b.String()[1:] + `]`
}

func patternList(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"pattern":"(.{1,1000})%d"}`, i)
	}
	return b.String()
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"p%d":1`, i)
	}
	return `{` + b.String()[1:] + `}`
}

// judge compiles and validates, and returns the code of the error.
func judge(t testing.TB, h hostile) string {
	t.Helper()
	v, err := schema.Compile(json.RawMessage(h.schema), nil)
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		return e.Problems[0].Code
	}
	if err != nil {
		t.Fatal(err)
	}
	err = v.Validate([]byte(h.document))
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		if len(e.Error()) > 20_000 {
			t.Errorf("the error is %d bytes long", len(e.Error()))
		}
		return string(e.Code)
	}
	return ""
}

// Each case needs one guard: without the guard the code differs. The true cost is at most 100 ms
// and 64 MB; BenchmarkHostile measures it.
func TestHostileInput(t *testing.T) {
	for _, h := range hostileCases() {
		t.Run(h.name, func(t *testing.T) {
			var got string
			spent := cost.Allocated(func() { got = judge(t, h) })
			if got != h.want {
				t.Errorf("code = %q, want %q", got, h.want)
			}
			if spent > 96<<20 {
				t.Errorf("allocated %d MB", spent>>20)
			}
		})
	}
}

// BenchmarkHostile judges hostile schemas and documents, whose cost TestHostileInput bounds.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostileCases() {
		b.Run(h.name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				judge(b, h)
			}
		})
	}
}
