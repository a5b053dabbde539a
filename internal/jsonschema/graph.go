package jsonschema

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// graph is a compiled schema as a graph: what it applies to the same value, and what it applies to
// the value's children. The graph gives the cost of a validation before it starts, because the
// library cannot be stopped.
type graph struct {
	nodes   map[*lib.Schema]*node
	order   []*node // as found, from the root
	anchors map[string][]*node

	unevaluated bool // there is an "unevaluatedItems"
}

type node struct {
	schema *lib.Schema
	own    cost
	same   []*node            // applied to the same value
	refs   int                // how many of same are references
	late   [][]*node          // dynamic references: one of each is applied to the same value
	props  map[string]*node   // applied to the property of that name
	match  []patternNode      // applied to properties whose name matches
	rest   *node              // applied to the other properties
	names  *node              // applied to property names
	items  []*node            // applied to leading items
	more   *node              // applied to items after those
	every  []*node            // applied to every item
	uneval [2]*node           // applied to properties and items that nothing else evaluated
	kids   []*node            // all of the above that are applied to children
	mark   map[string]visited // results of the walks below
}

type patternNode struct {
	re *pattern
	to *node
}

type visited struct {
	open bool // on the path to here; visiting it again is a cycle
	cost cost
}

// cost counts constant steps, and steps in proportion to other measures of the document.
type cost struct {
	steps   int64 // per value
	unique  int64 // per value and level of nesting: "uniqueItems" hashes all below it
	pattern int64 // instructions of regular expressions, per byte
	text    int64 // passes over strings that count or look at characters, per byte
}

func (c cost) plus(d cost) cost {
	return cost{add(c.steps, d.steps), add(c.unique, d.unique), add(c.pattern, d.pattern), add(c.text, d.text)}
}

func (c cost) most(d cost) cost {
	return cost{max(c.steps, d.steps), max(c.unique, d.unique), max(c.pattern, d.pattern), max(c.text, d.text)}
}

// add saturates, so the cost of a doubling schema cannot overflow to a small one.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func mul(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func newGraph(root *lib.Schema) *graph {
	g := &graph{nodes: map[*lib.Schema]*node{}, anchors: map[string][]*node{}}
	g.add(root)
	return g
}

// add adds everything that can be reached from s. It visits maps in order, so the graph is the same
// each time.
func (g *graph) add(s *lib.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := g.nodes[s]; ok {
		return n
	}
	n := &node{schema: s, own: ownCost(s), mark: map[string]visited{}}
	g.nodes[s] = n
	g.order = append(g.order, n)
	if s.DynamicAnchor != "" {
		g.anchors[s.DynamicAnchor] = append(g.anchors[s.DynamicAnchor], n)
	}
	if ref := g.add(s.Ref); ref != nil {
		n.same, n.refs = append(n.same, ref), 1
	}
	for _, one := range []*lib.Schema{s.Not, s.If, s.Then, s.Else} {
		n.same = appendNode(n.same, g.add(one))
	}
	for _, many := range [][]*lib.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, one := range many {
			n.same = appendNode(n.same, g.add(one))
		}
	}
	for _, name := range sortedKeys(s.DependentSchemas) {
		n.same = appendNode(n.same, g.add(s.DependentSchemas[name]))
	}
	for _, name := range sortedKeys(s.Dependencies) {
		if dep, ok := s.Dependencies[name].(*lib.Schema); ok {
			n.same = appendNode(n.same, g.add(dep))
		}
	}
	g.addProperties(n)
	g.addItems(n)
	if s.DynamicRef != nil {
		g.add(s.DynamicRef.Ref)
	}
	g.add(s.RecursiveRef)
	return n
}

func (g *graph) addProperties(n *node) {
	s := n.schema
	if len(s.Properties) > 0 {
		n.props = make(map[string]*node, len(s.Properties))
		for _, name := range sortedKeys(s.Properties) {
			n.props[name] = g.add(s.Properties[name])
			n.kids = append(n.kids, n.props[name])
		}
	}
	for re := range s.PatternProperties {
		n.match = append(n.match, patternNode{re: re.(*pattern)}) // every expression comes from our engine
	}
	slices.SortFunc(n.match, func(a, b patternNode) int { return strings.Compare(a.re.String(), b.re.String()) })
	for i, m := range n.match {
		n.match[i].to = g.add(s.PatternProperties[m.re])
		n.kids = append(n.kids, n.match[i].to)
	}
	if rest, ok := s.AdditionalProperties.(*lib.Schema); ok {
		n.rest = g.add(rest)
		n.kids = append(n.kids, n.rest)
	}
	if n.names = g.add(s.PropertyNames); n.names != nil {
		n.kids = append(n.kids, n.names)
	}
	if n.uneval[0] = g.add(s.UnevaluatedProperties); n.uneval[0] != nil {
		n.kids = append(n.kids, n.uneval[0])
	}
}

func (g *graph) addItems(n *node) {
	s := n.schema
	for _, one := range s.PrefixItems {
		n.items = append(n.items, g.add(one))
	}
	n.more = g.add(s.Items2020)
	switch items := s.Items.(type) {
	case *lib.Schema:
		n.more = g.add(items)
	case []*lib.Schema:
		for _, one := range items {
			n.items = append(n.items, g.add(one))
		}
		if more, ok := s.AdditionalItems.(*lib.Schema); ok {
			n.more = g.add(more)
		}
	}
	n.every = appendNode(n.every, g.add(s.Contains))
	if n.uneval[1] = g.add(s.UnevaluatedItems); n.uneval[1] != nil {
		n.kids = append(n.kids, n.uneval[1])
		g.unevaluated = true
	}
	n.kids = append(n.kids, n.items...)
	n.kids = append(n.kids, n.every...)
	if n.more != nil {
		n.kids = append(n.kids, n.more)
	}
}

func appendNode(to []*node, n *node) []*node {
	if n == nil {
		return to
	}
	return append(to, n)
}

// finish resolves what requires all nodes, and adapts the schema itself. Formats are assertions
// only on request, in every draft. The format "regex" does not use the engine of the compilation,
// which is not safe for concurrent use. Property names are checked by [nameCheck].
func (g *graph) finish(o *Options) {
	for _, n := range g.order {
		s := n.schema
		if !o.AssertFormats {
			s.Format = nil
		}
		if isRegexFormat(s) {
			s.Format = regexFormat(o.Limits.Pattern)
			n.own.pattern = add(n.own.pattern, regexInstructions)
		}
		if s.Format != nil {
			n.own.text = add(n.own.text, formatPasses)
		}
		if s.DynamicRef != nil {
			targets := []*node{g.nodes[s.DynamicRef.Ref]}
			for _, t := range g.anchors[s.DynamicRef.Anchor] {
				if t != targets[0] {
					targets = append(targets, t)
				}
			}
			n.late = append(n.late, targets)
		}
		if s.RecursiveRef != nil {
			targets := []*node{g.nodes[s.RecursiveRef]}
			for _, t := range g.order {
				if t.schema.RecursiveAnchor && t != targets[0] {
					targets = append(targets, t)
				}
			}
			n.late = append(n.late, targets)
		}
		if s.PropertyNames != nil {
			s.Extensions = append(s.Extensions, nameCheck{s.PropertyNames})
			s.PropertyNames = nil
		}
	}
}

// ownCost is the cost of one schema without those that it applies. The unit, a step, is about the
// time in which the library applies an empty schema to a value: a quarter of a microsecond.
func ownCost(s *lib.Schema) cost {
	c := cost{steps: 1 + int64(len(s.DependentRequired)+len(s.Dependencies)+len(s.DependentSchemas))/16}
	c.steps = add(c.steps, int64(len(s.Required))) // each may be missing, and is reported then
	for _, names := range s.DependentRequired {
		c.steps = add(c.steps, int64(len(names)))
	}
	for _, dep := range s.Dependencies {
		if names, ok := dep.([]string); ok {
			c.steps = add(c.steps, int64(len(names)))
		}
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			c.steps = add(c.steps, equalCost(v))
		}
		c.steps = add(c.steps, int64(len(s.Enum.Values))/16)
	}
	if s.Const != nil {
		c.steps = add(c.steps, 1+equalCost(*s.Const))
	}
	if s.MultipleOf != nil {
		c.steps += 4
	}
	if s.Format != nil {
		c.steps++
	}
	if s.UniqueItems {
		c.unique = 1
	}
	for _, length := range []*int{s.MinLength, s.MaxLength} {
		if length != nil {
			c.text++
		}
	}
	if p, ok := s.Pattern.(*pattern); ok {
		c.pattern = p.instructions
	}
	for re := range s.PatternProperties {
		if p, ok := re.(*pattern); ok {
			c.pattern = add(c.pattern, p.instructions)
		}
	}
	return c
}

// equalCost is the cost of comparing a value with v. Numbers are compared as fractions, which is
// slow.
func equalCost(v any) int64 {
	n := int64(0)
	switch v := v.(type) {
	case json.Number:
		n = 2
	case []any:
		for _, item := range v {
			n += 1 + equalCost(item)
		}
	case map[string]any:
		for _, item := range v {
			n += 1 + equalCost(item)
		}
	}
	return n
}

// nameCheck replaces the library's check of property names, which reports the wrong place in nested
// objects.
type nameCheck struct{ names *lib.Schema }

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
