package jsonschema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// ignored notes keywords that limit nothing here although their author wrote them to limit something.
func (r *reading) ignored(obj map[string]any, s spot) {
	_, ref := obj["$ref"].(string)
	_, tuple := obj["items"].([]any)
	for _, name := range sortedKeys(obj) {
		k, at := keywords[name], s.at+rawjson.Token(name)
		switch {
		case s.draft == custom, !k.limits():
		case ref && name != "$ref" && s.draft > 0 && s.draft < 2019:
			r.note(at, "keyword_ignored", fmt.Sprintf(`is ignored beside "$ref" in draft %d; move "$ref" into "allOf"`, s.draft))
		case s.draft > 0 && k.since > s.draft:
			r.note(at, "keyword_ignored", fmt.Sprintf(`is not a keyword of draft %d and is ignored; name a draft in "$schema" that has it`,
				s.draft))
		case name == "additionalItems" && !tuple && !acceptsAll(obj[name]):
			r.note(at, "keyword_ignored", `is ignored without a list in "items"; describe the items in "items"`)
		}
	}
	if obj["nullable"] == true && !acceptsNull(obj) {
		r.note(s.at+"/nullable", "keyword_ignored", `is not a keyword of JSON Schema, so null is rejected; write "anyOf": [{...}, `+
			`{"type": "null"}]`)
	}
	for name, now := range map[string]string{"divisibleBy": "multipleOf", "disallow": "not", "extends": "allOf"} {
		if obj[name] != nil && s.draft == 0 {
			r.note(s.at+"/"+name, "keyword_ignored", `has no value that draft 3 allows and is ignored; write "`+now+`"`)
		}
	}
}

func acceptsAll(schema any) bool {
	obj, ok := schema.(map[string]any)
	return schema == nil || schema == true || ok && len(obj) == 0
}

// acceptsNull reports whether a schema accepts null without "nullable", as far as one can see.
func acceptsNull(obj map[string]any) bool {
	if obj["$ref"] != nil || obj["allOf"] != nil || obj["const"] != nil {
		return false
	}
	if t := obj["type"]; t != nil && !hasType(t, "null") {
		return false
	}
	if list, ok := obj["enum"].([]any); ok && !slices.Contains(list, nil) {
		return false
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		list, ok := obj[keyword].([]any)
		if ok && !slices.ContainsFunc(list, func(one any) bool {
			inner, _ := one.(map[string]any)
			return hasType(inner["type"], "null")
		}) {
			return false
		}
	}
	return true
}

// hasType reports whether the value of "type" is a name, or a list with it.
func hasType(t any, name string) bool {
	list, _ := t.([]any)
	return t == name || slices.Contains(list, any(name))
}

// unknown remembers a schema in which no keyword says anything: a schema inside a wrapper, or a bare
// list of properties. Below the root, what looks like neither may be there for another reader. At the
// root, "type" may stand beside the description of an object, as in what zod 4 prints of its objects.
func (r *reading) unknown(obj map[string]any, s spot) {
	if s.draft == custom {
		return
	}
	hasText, typed, other, inner := false, false, "", ""
	for _, name := range sortedKeys(obj) {
		k, known := keywords[name]
		_, isObject := obj[name].(map[string]any)
		switch {
		case known && !k.fits(obj[name]), known && k.shape == identity, strings.HasPrefix(name, "x-"), name == "nullable",
			name == "example", name == "discriminator", name == "externalDocs", name == "xml":
		case known && k.shape == words:
			hasText = true
		case name == "type" && s.at == "":
			typed = true
		case known:
			return
		case isObject:
			inner = name
		default:
			other = name
		}
	}
	part, _ := obj[inner].(map[string]any)
	describes := part["properties"] != nil || part["type"] == "object"
	if typed && !describes || inner == "" && (other == "" || hasText) || s.at != "" && !hasLimit(part) {
		return
	}
	advice := `write a JSON Schema, such as {"type": "object", "properties": {...}}`
	if part["properties"] != nil || part["type"] == "object" && part["title"] == nil {
		advice = `declare what is under ` + text.Quote(inner, maxText)
	} else if inner != "" {
		advice = `if these are properties, write them under "properties" of {"type": "object"}`
	}
	r.wrappers = append(r.wrappers, Fault{Code: "no_keyword", Pointer: s.at,
		Message: "has no keyword of JSON Schema that limits it, so every value is valid; " + advice})
}

func hasLimit(schema map[string]any) bool {
	for name := range schema {
		if keywords[name].limits() {
			return true
		}
	}
	return false
}

// noteWrappers notes the schemas that are remembered, except those that only contain what a reference leads to.
func (r *reading) noteWrappers() {
	around := map[string]bool{} // pointers of what is around the targets of references
	for _, ref := range r.refs {
		if s, ok := r.local(ref); ok && r.seen[s.at] {
			for at := s.at; at != ""; {
				at = at[:strings.LastIndexByte(at, '/')]
				around[at] = true
			}
		}
	}
	for _, f := range r.wrappers {
		if !around[f.Pointer] {
			r.note(f.Pointer, f.Code, f.Message)
		}
	}
}
