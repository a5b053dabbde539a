package jsonschema

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// shape is what the value of a keyword is.
type shape int

const (
	rule        shape = iota // a value that limits what is valid
	schemaOf                 // a schema, or a list of schemas in "items" of older drafts
	described                // a schema that is not applied
	schemas                  // an object whose members are schemas
	listOf                   // a list of schemas
	definitions              // an object whose members are schemas that apply where something refers to them
	data                     // any value that limits what is valid and has no keywords in it
	value                    // any value, which limits nothing
	words                    // a text that limits nothing
	truth                    // a boolean that limits nothing
	values                   // a list that limits nothing
	identity                 // the identity of a schema, or its draft
)

// keyword is what this package knows of a keyword.
type keyword struct {
	shape shape
	since int // the first draft that has it: 4, 6, 7, 2019 or 2020
}

// keywords are all keywords of the drafts 4 to 2020-12.
var keywords = keywordsOf([]struct {
	shape shape
	since int
	names string
}{
	{rule, 4, "type required pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength " +
		"minItems maxItems uniqueItems minProperties maxProperties $ref"},
	{rule, 2019, "dependentRequired minContains maxContains $recursiveRef"},
	{rule, 2020, "$dynamicRef"},
	{schemaOf, 4, "items additionalItems additionalProperties not"},
	{schemaOf, 6, "contains propertyNames"},
	{schemaOf, 7, "if then else"},
	{schemaOf, 2019, "unevaluatedItems unevaluatedProperties"},
	{described, 2019, "contentSchema"},
	{schemas, 4, "properties patternProperties dependencies"},
	{schemas, 2019, "dependentSchemas"},
	{listOf, 4, "allOf anyOf oneOf"},
	{listOf, 2020, "prefixItems"},
	{definitions, 4, "definitions"},
	{definitions, 2019, "$defs"},
	{data, 4, "enum"},
	{data, 6, "const"},
	{value, 4, "default"},
	{words, 4, "title description format"},
	{words, 7, "$comment contentEncoding contentMediaType"},
	{truth, 7, "readOnly writeOnly"},
	{truth, 2019, "deprecated"},
	{values, 6, "examples"},
	{identity, 4, "$schema id"},
	{identity, 6, "$id"},
	{identity, 2019, "$anchor $recursiveAnchor $vocabulary"},
	{identity, 2020, "$dynamicAnchor"},
})

func keywordsOf(rows []struct {
	shape shape
	since int
	names string
}) map[string]keyword {
	all := map[string]keyword{}
	for _, row := range rows {
		for name := range strings.FieldsSeq(row.names) {
			all[name] = keyword{row.shape, row.since}
		}
	}
	return all
}

// others are members of schemas that other specifications define.
var others = strings.Fields("example nullable discriminator xml externalDocs strict order enumNames enumDescriptions " +
	"errorMessage markdownDescription propertyOrder optional")

// Misspelt returns the keyword that a member of a schema is probably meant to be, or "".
func Misspelt(name string) string {
	if _, known := keywords[name]; known || slices.Contains(others, name) || strings.HasPrefix(name, "x-") {
		return ""
	}
	return text.Nearest(name, sortedKeys(keywords))
}

// limits reports whether a keyword limits what is valid.
func (k keyword) limits() bool {
	switch k.shape {
	case rule, schemaOf, schemas, listOf, data:
		return k.since > 0
	}
	return false
}

// Inside yields the schemas that a keyword contains, each with its place below the keyword as a JSON
// Pointer. Names longer than 80 bytes are cut.
func Inside(keyword string, value json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		k := keywords[keyword].shape
		switch {
		case rawjson.Kind(value) == '{' && (k == schemas || k == definitions):
			for name, one := range rawjson.Members(value) {
				if !yield(rawjson.Token(text.Cut(name, maxText)), one) {
					return
				}
			}
		case rawjson.Kind(value) == '[' && (k == schemaOf || k == listOf):
			n := 0
			for one := range rawjson.Elements(value) {
				if !yield("/"+strconv.Itoa(n), one) {
					return
				}
				n++
			}
		case k == schemaOf, k == described:
			yield("", value)
		}
	}
}

// fits reports whether the value of a keyword that limits nothing has the right type.
func (k keyword) fits(v any) (ok bool) {
	switch k.shape {
	case words:
		_, ok = v.(string)
	case truth:
		_, ok = v.(bool)
	case values:
		_, ok = v.([]any)
	default:
		return true
	}
	return ok
}

// neverNull reports whether the value of a keyword is not null in any draft. Encoders of Go structs
// write null for what is not set.
func neverNull(keyword string) bool {
	switch keyword {
	case "const", "default", "id", "additionalItems": // the last two are not keywords of draft 2020-12
		return false
	}
	_, known := keywords[keyword]
	return known
}

// draftOf returns the draft that a "$schema" names: 4, 6, 7, 2019 or 2020. It returns 0 for any other.
func draftOf(schema string) int {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(schema, "#"), "https://")
	if !ok {
		rest, _ = strings.CutPrefix(rest, "http://")
	}
	return drafts[rest]
}

var drafts = map[string]int{
	"json-schema.org/schema": 2020, "json-schema.org/draft/2020-12/schema": 2020, "json-schema.org/draft/2019-09/schema": 2019,
	"json-schema.org/draft-07/schema": 7, "json-schema.org/draft-06/schema": 6, "json-schema.org/draft-04/schema": 4,
}
