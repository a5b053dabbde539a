package proxytest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/toolwire/toolwire/internal/jsonschema"
)

// resolve follows references inside the schema and joins allOf.
func (s *draft) resolve(object map[string]any) map[string]any {
	if s.parts++; s.parts > maxParts {
		return object
	}
	for range maxDepth {
		ref, ok := object["$ref"].(string)
		if !ok {
			break
		}
		target, _ := jsonschema.Resolve(s.root, ref)
		object = merge(without(object, "$ref"), target)
	}
	if list, ok := object["allOf"].([]any); ok {
		object = without(object, "allOf")
		for _, part := range list {
			if part, ok := part.(map[string]any); ok {
				object = merge(object, s.resolve(part))
			}
		}
	}
	return object
}

// merge lays b over a. Members of properties and such are joined, and so is required; of everything else
// b's is taken. If b is not an object, a is returned.
func merge(a map[string]any, b any) map[string]any {
	over, ok := b.(map[string]any)
	if !ok {
		return a
	}
	both := maps.Clone(a)
	if both == nil {
		both = map[string]any{}
	}
	for name, value := range over {
		switch name {
		case "properties", "patternProperties", "dependentRequired":
			old, isOld := both[name].(map[string]any)
			if more, ok := value.(map[string]any); ok && isOld {
				all := maps.Clone(old)
				maps.Copy(all, more)
				value = all
			}
		case "required":
			old, _ := both[name].([]any)
			if more, ok := value.([]any); ok {
				value = slices.Concat(old, more)
			}
		}
		both[name] = value
	}
	return both
}

func without(object map[string]any, name string) map[string]any {
	rest := maps.Clone(object)
	delete(rest, name)
	return rest
}

func (s *draft) choose(list []any, depth int) any {
	if depth > plainDepth { // a null ends a recursion
		for _, alternative := range list {
			if object, ok := alternative.(map[string]any); ok && object["type"] == "null" {
				return alternative
			}
		}
	}
	if s.first {
		return list[0]
	}
	return list[s.random.IntN(len(list))]
}

// typeOf returns the JSON type of a value that matches the schema, or "" for any.
func (s *draft) typeOf(object map[string]any, depth int) string {
	switch t := object["type"].(type) {
	case string:
		return t
	case []any:
		some := slices.IndexFunc(t, func(name any) bool { return name != "null" })
		if some < 0 || depth > plainDepth && slices.Contains(t, any("null")) {
			return "null"
		}
		name, _ := t[some].(string)
		return name
	}
	for _, of := range keywords {
		for _, keyword := range of.keywords {
			if _, ok := object[keyword]; ok {
				return of.name
			}
		}
	}
	return ""
}

// keywords tell the type of a value where a schema does not name it.
var keywords = []struct {
	name     string
	keywords []string
}{
	{"object", []string{
		"properties", "required", "additionalProperties", "patternProperties", "minProperties", "dependentRequired",
		"dependencies",
	}},
	{"array", []string{"items", "prefixItems", "minItems", "contains"}},
	{"string", []string{"pattern", "format", "minLength"}},
	{"number", []string{"minimum", "maximum", "multipleOf"}},
}

// regexp returns a compiled pattern, or nil if it does not compile.
func (s *draft) regexp(pattern string) *jsonschema.Regexp {
	compiled, ok := s.patterns[pattern]
	if !ok {
		compiled = jsonschema.CompileRegexp(pattern)
		s.patterns[pattern] = compiled
	}
	return compiled
}

// matches reports whether a name matches a pattern, as far as this package can tell.
func (s *draft) matches(pattern, name string) bool {
	compiled := s.regexp(pattern)
	return compiled != nil && compiled.MatchString(name)
}

// texts returns the strings of a list.
func texts(list any) (names []string) {
	all, _ := list.([]any)
	for _, name := range all {
		if name, ok := name.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// limit returns a keyword that is a number.
func limit(object map[string]any, name string) (float64, bool) {
	number, ok := object[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}

// bound returns a keyword that is a count.
func bound(object map[string]any, name string, otherwise int) int {
	f, ok := limit(object, name)
	if !ok || f < 0 || f > math.MaxInt32 {
		return otherwise
	}
	return int(f)
}
