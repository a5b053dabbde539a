package jsonschema

import "strings"

// shape is what the value of a keyword is in the drafts 7 and 2020-12.
type shape int

const (
	unknown  shape = iota // not a keyword: any value
	anything              // any value, which is data
	schemaOf              // a schema
	schemas               // an object whose members are schemas
	listOf                // a list of schemas
	values                // a list of values
	names                 // a list of different names
	typeName              // the name of a type, or a list of them
	textual
	expression // a text that is a regular expression
	number
	count // an integer that is not negative
	truth
	listed // only the library judges it
)

// shapes are all keywords.
var shapes = shapesOf(map[shape]string{
	anything:   "const default",
	schemaOf:   "items additionalProperties not contains propertyNames if then else",
	schemas:    "properties",
	listOf:     "anyOf oneOf allOf",
	values:     "enum examples",
	names:      "required",
	typeName:   "type",
	textual:    "title description format $comment contentEncoding contentMediaType",
	expression: "pattern",
	number:     "minimum maximum exclusiveMinimum exclusiveMaximum",
	count:      "minLength maxLength minItems maxItems minProperties maxProperties",
	truth:      "uniqueItems readOnly writeOnly deprecated",
	listed: "$schema $id id $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $defs " +
		"definitions multipleOf patternProperties dependencies dependentRequired dependentSchemas prefixItems " +
		"additionalItems minContains maxContains unevaluatedItems unevaluatedProperties contentSchema",
})

func shapesOf(lists map[shape]string) map[string]shape {
	all := map[string]shape{}
	for s, list := range lists {
		for name := range strings.FieldsSeq(list) {
			all[name] = s
		}
	}
	return all
}

// neverNull reports whether the value of a keyword is not null in any draft. Encoders of Go structs
// write null for what is not set.
func neverNull(name string) bool {
	switch shapes[name] {
	case unknown, anything:
		return false
	}
	return name != "id" && name != "additionalItems" // not keywords of draft 2020-12
}
