package jsonschema

import (
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// links are the schemas that a compiled schema consists of.
type links struct {
	all     []*lib.Schema                 // as found, from the root
	same    map[*lib.Schema][]*lib.Schema // the schemas that each of them applies to its own value
	dynamic int                           // how many have a dynamic reference or may be the target of one
}

func newLinks(root *lib.Schema) *links {
	l := &links{same: map[*lib.Schema][]*lib.Schema{}}
	l.add(root)
	return l
}

// same returns the schemas that s applies to its own value, except the targets of dynamic references. Maps are
// visited in order, so that a schema is always judged in the same way.
func same(s *lib.Schema) (list []*lib.Schema) {
	for _, one := range [...]*lib.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		list = appendSome(list, one)
	}
	list = append(append(append(list, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, name := range sortedKeys(s.DependentSchemas) {
		list = append(list, s.DependentSchemas[name])
	}
	for _, name := range sortedKeys(s.Dependencies) {
		one, _ := s.Dependencies[name].(*lib.Schema)
		list = appendSome(list, one)
	}
	return list
}

func appendSome(list []*lib.Schema, one *lib.Schema) []*lib.Schema {
	if one == nil {
		return list
	}
	return append(list, one)
}

// parts returns the schemas that s applies to parts of its value.
func parts(s *lib.Schema) (list []*lib.Schema) {
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
	for _, one := range [...]*lib.Schema{rest, more, namesOf(s), s.UnevaluatedProperties, s.Contains, s.UnevaluatedItems} {
		list = appendSome(list, one)
	}
	return list
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
	l.same[s] = same(s)
	l.all = append(l.all, s)
	if s.DynamicAnchor != "" || s.RecursiveAnchor || s.DynamicRef != nil || s.RecursiveRef != nil {
		l.dynamic++
	}
	for _, next := range l.same[s] {
		l.add(next)
	}
	for _, next := range parts(s) {
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
		for _, next := range parts(s) {
			n = min(n+visit(next), most)
		}
		counts[s] = n
		return n
	}
	return visit(l.all[0])
}

// chain returns how many schemas may be applied to one value, each by the one before. A dynamic reference may begin
// another row of them at each place that it may lead to.
func (l *links) chain() int {
	longest, counts := 0, make(map[*lib.Schema]int, len(l.all))
	var visit func(s *lib.Schema) int
	visit = func(s *lib.Schema) int {
		if counts[s] == 0 {
			n := 0
			for _, next := range l.same[s] {
				n = max(n, visit(next))
			}
			counts[s] = n + 1
		}
		return counts[s]
	}
	for _, s := range l.all {
		longest = max(longest, visit(s))
	}
	return min(longest*(l.dynamic+1), len(l.all))
}

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
		if isRegexFormat(s) {
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
