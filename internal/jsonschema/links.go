package jsonschema

import (
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// links are the schemas that a compiled schema consists of.
type links struct {
	all     []*lib.Schema                 // as found, from the root
	same    map[*lib.Schema][]*lib.Schema // the schemas that each of them applies to its own value
	dynamic bool                          // some reference leads to a place that depends on the path
	targets []*lib.Schema                 // to which it may lead, as far as they have values to compare
	sets    map[*lib.Schema]bool          // for which the library makes sets of what is not evaluated
	chain   int                           // at most how many are applied to one value, each by the one before
}

// sameValue returns the schemas that s applies to its own value, except the targets of dynamic references.
// Maps are visited in order, so that a schema is always judged in the same way.
func sameValue(s *lib.Schema) (list []*lib.Schema) {
	list = slices.Concat([]*lib.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, name := range sortedKeys(s.DependentSchemas) {
		list = append(list, s.DependentSchemas[name])
	}
	for _, name := range sortedKeys(s.Dependencies) {
		one, _ := s.Dependencies[name].(*lib.Schema)
		list = append(list, one)
	}
	return withoutNil(list)
}

func withoutNil(list []*lib.Schema) []*lib.Schema {
	return slices.DeleteFunc(list, func(s *lib.Schema) bool { return s == nil })
}

// partsOf returns the schemas that s applies to parts of its value.
func partsOf(s *lib.Schema) (list []*lib.Schema) {
	for _, name := range sortedKeys(s.Properties) {
		list = append(list, s.Properties[name])
	}
	patterns := make(map[string]*lib.Schema, len(s.PatternProperties))
	for re, one := range s.PatternProperties {
		patterns[re.String()] = one
	}
	for _, text := range sortedKeys(patterns) {
		list = append(list, patterns[text])
	}
	first, rest := itemsOf(s)
	more, _ := s.AdditionalProperties.(*lib.Schema)
	list = append(list, first...)
	return withoutNil(append(list, rest, more, namesOf(s), s.UnevaluatedProperties, s.Contains, s.UnevaluatedItems))
}

// itemsOf returns the schemas of the first items, and the one of the others, in every draft.
func itemsOf(s *lib.Schema) (first []*lib.Schema, rest *lib.Schema) {
	switch items := s.Items.(type) {
	case *lib.Schema:
		return nil, items
	case []*lib.Schema:
		rest, _ = s.AdditionalItems.(*lib.Schema)
		return items, rest
	}
	return s.PrefixItems, s.Items2020
}

// add adds everything that can be reached from s.
func (l *links) add(s *lib.Schema) {
	if _, known := l.same[s]; known || s == nil {
		return
	}
	l.same[s] = sameValue(s)
	l.all = append(l.all, s)
	for _, next := range l.same[s] {
		l.add(next)
	}
	for _, next := range partsOf(s) {
		l.add(next)
	}
	if s.DynamicRef != nil {
		l.add(s.DynamicRef.Ref)
	}
	l.add(s.RecursiveRef)
}

// cycle returns a schema that applies itself to the same value without end, or nil. It ignores
// dynamic references, whose target depends on the path.
func (l *links) cycle() *lib.Schema {
	open := map[*lib.Schema]bool{} // false after all that a schema leads to was visited
	var visit func(s *lib.Schema) *lib.Schema
	visit = func(s *lib.Schema) *lib.Schema {
		if isOpen, ok := open[s]; isOpen {
			return s
		} else if ok {
			return nil
		}
		open[s] = true
		for _, next := range l.same[s] {
			if found := visit(next); found != nil {
				return found
			}
		}
		open[s] = false
		return nil
	}
	for _, s := range l.all {
		if found := visit(s); found != nil {
			return found
		}
	}
	return nil
}

// expandedRefs counts the references if every reference is written out, until a schema contains
// itself. It stops counting at most.
func (l *links) expandedRefs(most int) int {
	counts := map[*lib.Schema]int{}
	var visit func(s *lib.Schema) int
	visit = func(s *lib.Schema) int {
		if n, ok := counts[s]; ok {
			return n
		}
		counts[s] = 0
		n := 0
		if s.Ref != nil {
			n++
		}
		for _, next := range l.same[s] {
			n = min(n+visit(next), most)
		}
		for _, next := range partsOf(s) {
			n = min(n+visit(next), most)
		}
		counts[s] = n
		return n
	}
	return visit(l.all[0])
}

// measure finds out what the price of a schema depends on beside the schema itself.
func (l *links) measure() {
	longest, depths := 0, make(map[*lib.Schema]int, len(l.all))
	var depth func(s *lib.Schema) int
	depth = func(s *lib.Schema) int {
		if depths[s] == 0 {
			n := 0
			for _, next := range l.same[s] {
				n = max(n, depth(next))
			}
			depths[s] = n + 1
		}
		return depths[s]
	}
	references := 0
	for _, s := range l.all {
		longest = max(longest, depth(s))
		if isDynamic(s) {
			references++
		}
	}
	// Each dynamic reference may begin another row of schemas.
	l.chain = min(longest*(references+1), len(l.all))
	l.dynamic = references > 0
	for _, s := range l.all {
		if l.dynamic && (s.Enum != nil || s.Const != nil) {
			l.targets = append(l.targets, s)
		}
	}
	l.sets = map[*lib.Schema]bool{}
	for _, s := range l.all {
		if s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil {
			l.markSets(s)
		}
	}
}

// markSets marks a schema with "unevaluatedItems" or "unevaluatedProperties", and those that it applies
// to the same value.
func (l *links) markSets(s *lib.Schema) {
	if l.sets[s] {
		return
	}
	l.sets[s] = true
	applied := l.same[s]
	if isDynamic(s) {
		applied = l.all
	}
	for _, one := range applied {
		l.markSets(one)
	}
}

// isDynamic reports whether a reference of s leads to a place that depends on the path.
func isDynamic(s *lib.Schema) bool { return s.DynamicRef != nil || s.RecursiveRef != nil }

// adapt changes the compiled schemas. Formats are assertions only on request, in every draft. The
// format "regex" does not use the engine of the compilation, which is not safe for concurrent use.
// Property names are checked by [nameCheck]. Locations are as the author wrote them.
func (l *links) adapt(c *compiler) {
	for _, s := range l.all {
		document, _, _ := strings.Cut(s.Location, "#")
		if r := c.loaded[document]; r != nil && len(r.moved) > 0 {
			s.Location = located(document, c.written(s.Location))
		}
		if !c.opts.AssertFormats {
			s.Format = nil
		}
		if s.Format != nil && s.Format.Name == "regex" {
			s.Format = regexFormat
		}
		if s.PropertyNames != nil {
			s.Extensions = append(s.Extensions, nameCheck{s.PropertyNames})
			s.PropertyNames = nil
		}
	}
}

// nameCheck replaces the library's check of property names, which reports the wrong place in nested
// objects.
type nameCheck struct{ names *lib.Schema }

// namesOf returns the schema of property names, or nil.
func namesOf(s *lib.Schema) *lib.Schema {
	for _, e := range s.Extensions {
		if check, ok := e.(nameCheck); ok {
			return check.names
		}
	}
	return s.PropertyNames
}

// Validate implements the library's interface.
func (c nameCheck) Validate(ctx *lib.ValidatorContext, v any) {
	obj, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, name := range sortedKeys(obj) {
		err := ctx.Validate(c.names, name, []string{name})
		if verr, ok := err.(*lib.ValidationError); ok {
			ctx.AddErrors([]*lib.ValidationError{verr}, &kind.PropertyNames{Property: name})
		}
	}
}
