package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// oldForms rewrites the values of keywords that older drafts wrote in another form.
func (r *reading) oldForms(obj map[string]any, s spot) {
	for _, bound := range [...]string{"minimum", "maximum"} {
		exclusive := "exclusiveM" + bound[1:]
		is, ok := obj[exclusive].(bool)
		if !ok {
			continue
		}
		delete(obj, exclusive)
		advice := `; it excludes nothing here, so leave it out`
		if n, ok := obj[bound].(json.Number); ok && is {
			obj[exclusive] = n
			delete(obj, bound)
			advice = `; write the bound in "` + exclusive + `" instead of "` + bound + `"`
		}
		r.note(s.at+"/"+exclusive, "old_form", "is a boolean, as in draft 4"+advice)
	}
	r.tuple(obj, s)
	if is, ok := obj["required"].(bool); ok {
		delete(obj, "required")
		r.note(s.at+"/required", "old_form", `is a boolean, as in draft 3; list the name in "required" of the object`)
		if is {
			r.required[s.at] = true
			r.require(s)
		}
	}
	names, _ := obj["required"].([]any)
	for _, v := range names {
		if name, ok := v.(string); ok {
			r.listed[place{s.at, name}] = true
		}
	}
	if _, ok := obj["$recursiveAnchor"].(bool); ok {
		delete(obj, "$recursiveAnchor")
		r.note(s.at+"/$recursiveAnchor", "old_form", `is a boolean, as in draft 2019-09, and is ignored; use "$dynamicAnchor"`)
	}
	if hasType(obj["type"], "any") {
		delete(obj, "type")
		r.note(s.at+"/type", "old_form", `is "any", as in draft 3; leave "type" out`)
	}
	members, _ := obj["dependencies"].(map[string]any)
	for _, name := range sortedKeys(members) {
		if other, ok := members[name].(string); ok {
			members[name] = []any{other}
			r.note(s.at+"/dependencies"+rawjson.Token(name), "old_form", "is a name, as in draft 3; write a list of names")
		}
	}
}

// enum admits lists that drafts 6 and 7 advise against, and that the library rejects: one without a value, for which
// nothing is valid, and one that repeats a value.
func enum(obj map[string]any) {
	list, ok := obj["enum"].([]any)
	if !ok {
		return
	}
	if all, isList := obj["allOf"].([]any); len(list) == 0 && (isList || obj["allOf"] == nil) {
		delete(obj, "enum")
		obj["allOf"] = append(all, false)
	}
	seen := make(map[string]bool, len(list))
	unique := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		text, _ := rawjson.Encode(v)
		key := rawjson.Key(text)
		again := seen[key]
		seen[key] = true
		return again
	})
	if len(unique) > 0 {
		obj["enum"] = unique
	}
}

// oldNames rewrites the keywords of draft 3 that have another name today.
func (r *reading) oldNames(obj map[string]any, s spot) {
	rewrite := func(name, now, place string, schema map[string]any) {
		v := obj[name]
		at, ok := r.alsoApply(obj, s, schema)
		if !ok {
			return
		}
		delete(obj, name)
		r.note(s.at+"/"+name, "old_form", `is a keyword of draft 3; write "`+now+`"`)
		if place != "" {
			r.moved[s.at] = append(r.moved[s.at], move{name, at + place})
			r.schemas(v, s, name)
		}
	}
	if n, ok := obj["divisibleBy"].(json.Number); ok {
		rewrite("divisibleBy", "multipleOf", "", map[string]any{"multipleOf": n})
	}
	switch v := obj["extends"].(type) {
	case map[string]any:
		rewrite("extends", "allOf", "/allOf/0", map[string]any{"allOf": []any{v}})
	case []any:
		rewrite("extends", "allOf", "/allOf", map[string]any{"allOf": v})
	}
	list, isList := obj["disallow"].([]any)
	if name, ok := obj["disallow"].(string); ok {
		list, isList = []any{name}, true
	}
	if !isList || slices.ContainsFunc(list, func(one any) bool {
		name, isName := one.(string)
		_, isSchema := one.(map[string]any)
		return !isSchema && !(isName && (name == "any" || slices.Contains(Types, name)))
	}) {
		return
	}
	alternatives := slices.Clone(list)
	for i, one := range list {
		if one == "any" {
			alternatives[i] = true
		} else if name, ok := one.(string); ok {
			alternatives[i] = map[string]any{"type": name}
		}
	}
	r.bothWays = true
	rewrite("disallow", "not", "/not/anyOf", map[string]any{"not": map[string]any{"anyOf": alternatives}})
}

// Types are the types of JSON Schema.
var Types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// alsoApply adds a schema to "allOf". Its parts must be visited by the caller, where the author wrote them.
func (r *reading) alsoApply(obj map[string]any, s spot, schema map[string]any) (place string, ok bool) {
	all, isList := obj["allOf"].([]any)
	if obj["allOf"] != nil && !isList {
		return "", false // it is not valid
	}
	obj["allOf"] = append(all, schema)
	place = "allOf/" + strconv.Itoa(len(all))
	r.seen[s.at+"/"+place] = true
	return place, true
}

// tuple moves a list in "items" to "prefixItems", and "additionalItems" to "items".
func (r *reading) tuple(obj map[string]any, s spot) {
	list, ok := obj["items"].([]any)
	if !ok {
		return
	}
	to, prefix := obj, ""
	if obj["prefixItems"] != nil { // both lists apply
		to = map[string]any{}
		place, ok := r.alsoApply(obj, s, to)
		if !ok {
			return
		}
		prefix = place + "/"
	}
	more, others := obj["additionalItems"]
	delete(obj, "items")
	to["prefixItems"] = list
	r.moved[s.at] = append(r.moved[s.at], move{"items", prefix + "prefixItems"})
	if others {
		delete(obj, "additionalItems")
		if more != nil {
			to["items"] = more
		}
		r.moved[s.at] = append(r.moved[s.at], move{"additionalItems", prefix + "items"})
	}
	r.note(s.at+"/items", "old_form", `is a list, as in draft 7; write it in "prefixItems", and "additionalItems" in "items"`)
	if prefix != "" {
		r.schemas(list, s, "items")
		r.schemas(more, s, "additionalItems")
	}
}
