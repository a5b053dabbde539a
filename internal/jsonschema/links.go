package jsonschema

import (
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// links are the schemas that a compiled schema consists of.
type links struct {
	all       []*lib.Schema                 // as found, from the root
	same      map[*lib.Schema][]*lib.Schema // the schemas that each of them applies to its own value
	anchors   map[anchor][]*lib.Schema      // schemas with a "$dynamicAnchor"
	recursive map[string]bool               // documents that have a "$recursiveAnchor"
}

type anchor struct{ document, name string }

func newLinks(root *lib.Schema) *links {
	l := &links{same: map[*lib.Schema][]*lib.Schema{}, anchors: map[anchor][]*lib.Schema{}, recursive: map[string]bool{}}
	l.add(root)
	return l
}

// same returns the schemas that s applies to its own value, except the targets of dynamic
// references. Maps
// are visited in order, so that a schema is always judged in the same way.
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
	if s.DynamicAnchor != "" {
		at := anchor{documentOf(s), s.DynamicAnchor}
		l.anchors[at] = append(l.anchors[at], s)
	}
	if s.RecursiveAnchor {
		l.recursive[documentOf(s)] = true
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

// adapt changes the compiled schemas. Formats are assertions only on request, in every draft. The
// format "regex" does not use the engine of the compilation, which is not safe for concurrent use.
// Property names are checked by [nameCheck].
func (l *links) adapt(assertFormats bool) {
	for _, s := range l.all {
		if !assertFormats {
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

// targets returns the schemas that the dynamic references of s may lead to. The library takes the
// outermost resource on the path that has the anchor. It does not tell which resource a schema
// belongs to, so all that its document has counts, up to a schema that is surely the target.
func (l *links) targets(s *lib.Schema, path []*lib.Schema) (list []*lib.Schema) {
	if ref := s.DynamicRef; ref != nil {
		to := ref.Ref
		if ref.Anchor != "" && to.DynamicAnchor == ref.Anchor {
			counted := map[string]bool{} // documents
			for _, p := range path {
				if p.DynamicAnchor == ref.Anchor && isResource(p) {
					to = p
					break
				}
				if document := documentOf(p); !counted[document] {
					counted[document] = true
					list = append(list, l.anchors[anchor{document, ref.Anchor}]...)
				}
			}
		}
		list = appendNew(list, to)
	}
	if to := s.RecursiveRef; to != nil {
		if to.RecursiveAnchor {
			for _, p := range path {
				if p.RecursiveAnchor && isResource(p) {
					to = p
					break
				}
				if l.recursive[documentOf(p)] {
					list = appendNew(list, p)
				}
			}
		}
		list = appendNew(list, to)
	}
	return list
}

func appendNew(list []*lib.Schema, s *lib.Schema) []*lib.Schema {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func documentOf(s *lib.Schema) string {
	url, _, _ := strings.Cut(s.Location, "#")
	return url
}

// isResource reports whether s is surely a resource of its own.
func isResource(s *lib.Schema) bool { return s.ID != "" || strings.HasSuffix(s.Location, "#") }

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
