package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
)

// bounds are pairs of keywords of which the first must not be above the second.
var bounds = [][2]string{{"minimum", "maximum"}, {"minimum", "exclusiveMaximum"}, {"exclusiveMinimum", "maximum"},
	{"exclusiveMinimum", "exclusiveMaximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"},
	{"minProperties", "maxProperties"}, {"minContains", "maxContains"}}

// concerns names the type that keywords are about. Values of other types ignore them.
var concerns = map[string]string{
	"minLength": "string", "maxLength": "string", "pattern": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"items": "array", "prefixItems": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array", "contains": "array",
	"properties": "object", "required": "object", "additionalProperties": "object", "minProperties": "object",
	"maxProperties": "object", "patternProperties": "object", "propertyNames": "object",
}

// mostMembers is how many members of the schemas of a tool are compared with the names of keywords, which is slow.
const mostMembers = 2000

// keywords adds the warnings about keywords that say something else than was probably meant.
func (l *linter) keywords(at string, list []ledger.Member) {
	for _, m := range list {
		if l.members++; l.members > mostMembers {
			break
		}
		if known := jsonschema.Misspelt(m.Name); known != "" {
			l.add("keyword_misspelt", at+pointerTo(m.Name), "is not a keyword, so it has no effect; write %q", known)
		}
	}
	for _, pair := range bounds {
		least, most := member(list, pair[0]), member(list, pair[1])
		if rawjson.Kind(least) != '0' || rawjson.Kind(most) != '0' {
			continue
		}
		order := rawjson.ParseNumber(string(least)).Compare(rawjson.ParseNumber(string(most)))
		if order > 0 || order == 0 && strings.Contains(pair[0]+pair[1], "exclusive") {
			l.add("contradiction", at+"/"+pair[0], "leaves no value below %q; correct one of them", pair[1])
		}
	}
	if values := member(list, "enum"); rawjson.Kind(values) == '[' && len(slices.Collect(rawjson.Elements(values))) == 0 {
		l.add("contradiction", at+"/enum", "has no value, so nothing is valid; list the values or leave it out")
	}
	types := typesOf(member(list, "type"))
	if len(types) == 0 {
		return
	}
	for i, value := range slices.Collect(rawjson.Elements(member(list, "enum"))) {
		if !isOf(value, types) {
			l.add("contradiction", fmt.Sprintf("%s/enum/%d", at, i), "is %s, which the type %s does not allow",
				rawjson.KindName(rawjson.Kind(value)), text.List(types))
		}
	}
	if value := member(list, "const"); value != nil && !isOf(value, types) {
		l.add("contradiction", at+"/const", "is %s, which the type %s does not allow",
			rawjson.KindName(rawjson.Kind(value)), text.List(types))
	}
	for _, m := range list {
		about := concerns[m.Name]
		if about != "" && !slices.Contains(types, about) && !(about == "number" && slices.Contains(types, "integer")) {
			l.add("keyword_unused", at+pointerTo(m.Name), "concerns the type %s, and the type is %s, so it has no effect", about, text.List(types))
		}
	}
}

// typesOf returns the types of a schema, or nil if it has none or one that is unknown.
func typesOf(value []byte) (types []string) {
	if rawjson.Kind(value) == '"' {
		types = []string{rawjson.Unquote(value)}
	}
	for one := range rawjson.Elements(value) {
		types = append(types, rawjson.Unquote(one))
	}
	for _, one := range types {
		if !slices.Contains(jsonschema.Types, one) {
			return nil
		}
	}
	return types
}

// isOf reports whether a value has one of the types.
func isOf(value []byte, types []string) bool {
	name := map[byte]string{'"': "string", '0': "number", 't': "boolean", 'f': "boolean", 'n': "null", '[': "array", '{': "object"}
	of := name[rawjson.Kind(value)]
	return slices.Contains(types, of) ||
		of == "number" && slices.Contains(types, "integer") && rawjson.ParseNumber(string(value)).Integer()
}
