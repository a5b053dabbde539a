package proxytest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

func (s *draft) object(object map[string]any, depth int) any {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	result := map[string]any{}
	defer s.enter(properties, required)()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if depth > plainDepth && !slices.Contains(required, any(name)) {
			continue
		}
		if name == "error" && !slices.Contains(required, any(name)) {
			continue // a result that goes well has none
		}
		result[name] = s.member(name, s.schemaOf(object, name), depth)
	}
	s.require(result, object, required, depth)
	s.depend(result, object, depth)
	s.fill(result, object, depth)
	return result
}

// enter decides which entities an object with these properties describes. The result ends it.
func (s *draft) enter(properties map[string]any, required []any) (leave func()) {
	about, describes := s.about, s.describes
	s.about = s.request.without(about, properties)
	s.describes = slices.ContainsFunc(required, func(name any) bool { return s.about.of(fmt.Sprint(name)) != nil })
	for name := range properties {
		s.describes = s.describes || s.about.of(name) != nil
	}
	return func() { s.about, s.describes = about, describes }
}

// schemaOf returns the schema of a member: its schema in properties, joined with the schemas of
// patternProperties, or else additionalProperties.
func (s *draft) schemaOf(object map[string]any, name string) any {
	properties, _ := object["properties"].(map[string]any)
	patterns, _ := object["patternProperties"].(map[string]any)
	schema, declared := properties[name]
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if compiled := s.regexp(pattern); compiled == nil || !compiled.MatchString(name) {
			continue
		}
		if own, ok := schema.(map[string]any); ok {
			schema = merge(s.resolve(own), patterns[pattern])
		} else {
			schema = patterns[pattern]
		}
		declared = true
	}
	if !declared {
		return object["additionalProperties"]
	}
	return schema
}

// require adds the members that are required and not declared.
func (s *draft) require(result, object map[string]any, names []any, depth int) {
	for _, name := range names {
		name, ok := name.(string)
		if _, there := result[name]; ok && !there {
			result[name] = s.member(name, s.schemaOf(object, name), depth)
		}
	}
}

// depend adds the members that other members require.
func (s *draft) depend(result, object map[string]any, depth int) {
	for _, keyword := range []string{"dependentRequired", "dependencies"} { // the second is the keyword of draft 7
		dependents, _ := object[keyword].(map[string]any)
		for before := -1; before < len(result); {
			before = len(result)
			for _, name := range slices.Sorted(maps.Keys(dependents)) {
				if names, ok := dependents[name].([]any); ok && result[name] != nil {
					s.require(result, object, names, depth)
				}
			}
		}
	}
}

// fill adds members of any name up to minProperties, if there may be such members.
func (s *draft) fill(result, object map[string]any, depth int) {
	least := min(bound(object, "minProperties", 0), maxFill)
	patterns, _ := object["patternProperties"].(map[string]any)
	names := slices.Sorted(maps.Keys(patterns))
	for try := range 2 * maxFill {
		if len(result) >= least || object["additionalProperties"] == false && len(names) == 0 {
			return
		}
		word := words[s.random.IntN(len(words))] + "_" + strconv.Itoa(len(result))
		name := word
		if only, ok := object["propertyNames"].(map[string]any); ok {
			name = s.generateString(only)
		}
		if object["additionalProperties"] == false {
			name = s.nameOf(names[try%len(names)], result, word)
			if only, ok := object["propertyNames"].(map[string]any); ok && !s.fits(only, name) {
				continue
			}
		}
		if _, there := result[name]; !there {
			result[name] = s.member(name, s.schemaOf(object, name), depth)
		}
	}
}

// nameOf makes a name that matches a pattern, if it finds one. A name that is taken is made longer
// by word, if that matches too.
func (s *draft) nameOf(pattern string, taken map[string]any, word string) string {
	name := s.match(pattern, 1, maxName)
	compiled := s.regexp(pattern)
	if _, there := taken[name]; there && compiled != nil && compiled.MatchString(name+word) {
		name += word
	}
	return name
}

// maxName is how many characters a made-up name has at most.
const maxName = 64

// fits reports whether a name matches the pattern of propertyNames, as far as it has one.
func (s *draft) fits(names map[string]any, name string) bool {
	pattern, ok := names["pattern"].(string)
	if !ok {
		return true
	}
	compiled := s.regexp(pattern)
	return compiled != nil && compiled.MatchString(name)
}

// maxFill is how many members, or elements of an array, are made to reach a bound.
const maxFill = 1000
