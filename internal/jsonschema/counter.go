package jsonschema

import (
	"encoding/json"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// counter counts the steps of a validation while the library spends them. A step is about the time in which the
// library applies an empty schema to a value: a quarter of a microsecond. If none is left, the counter panics,
// which stops the library. [Schema.Validate] recovers it.
type counter struct {
	left, most int
	depth      int // how deep the document is nested; 0 if the schema has no dynamic references
}

// What can be done in the time of a step.
const (
	bytesPerStep        = 128 // bytes of a string that are looked at
	instructionsPerStep = 32  // instructions of a regular expression on one byte
	namesPerStep        = 8   // members or items that are visited
	schemasPerStep      = 128 // schemas on the path that are compared
	anchorsPerStep      = 4   // schemas on the path whose anchors are looked up
	valuesPerStep       = 16  // values of an enumeration that are compared
)

// Steps beyond the first.
const (
	numberSteps   = 2 // comparing two numbers as fractions
	multipleSteps = 4 // dividing a number
	exponentSteps = 8 // expanding an exponent
	formatPasses  = 2 // the most expensive format reads a string so often
)

func (c *counter) spend(n int) {
	if n > c.left {
		panic(limitError("takes more than %d steps to check against its schema; send less at once", c.most))
	}
	c.left -= n
}

// price is what one compiled schema costs. The library calls the format of a schema for every value that has the
// schema's types and is in its "enum" and "const". There the value is charged, with the schemas that are applied to
// it and to its parts. So a schema that rejects a value before its format is called has been paid for, too.
type price struct {
	counter    *counter
	schema     *lib.Schema
	format     *lib.Format       // the schema's own, or nil
	enter      [kinds]int        // steps before the format is called, by the kind of the value
	own        []*price          // applied to the value itself
	properties map[string]*price // applied to the member of that name
	members    []*price          // perhaps applied to any member
	names      []*price          // applied to the names of members
	first      []*price          // applied to the first items
	rest       []*price          // applied to the items after them
	items      []*price          // applied to all items
	dynamic    bool              // a reference depends on the schemas on the path, of which there are at most chain
	chain      int               // on the path for each level of the document
	anywhere   *[kinds]int       // steps of entering the most expensive schema
	sets       bool              // the library makes sets of the members or items
}

// kinds is how many kinds of values have prices of their own.
const kinds = 5

func kindOf(v any) int {
	switch v.(type) {
	case string:
		return 1
	case json.Number:
		return 2
	case []any:
		return 3
	case map[string]any:
		return 4
	}
	return 0
}

// charge gives each schema a format that spends its price. It returns the price of the root.
func (l *links) charge(c *counter) *price {
	prices := make(map[*lib.Schema]*price, len(l.all))
	for _, s := range l.all {
		prices[s] = &price{counter: c, schema: s, format: s.Format}
	}
	of := func(schemas ...*lib.Schema) (list []*price) {
		for _, s := range schemas {
			if s != nil {
				list = append(list, prices[s])
			}
		}
		return list
	}
	var anywhere [kinds]int
	chain := l.chain()
	for s, p := range prices {
		first, rest := itemsOf(s)
		more, _ := s.AdditionalProperties.(*lib.Schema)
		p.own, p.names = of(l.same[s]...), of(namesOf(s))
		p.first, p.rest, p.items = of(first...), of(rest), of(s.Contains, s.UnevaluatedItems)
		p.members = of(more, s.UnevaluatedProperties)
		for _, one := range s.PatternProperties {
			p.members = append(p.members, prices[one])
		}
		p.properties = make(map[string]*price, len(s.Properties))
		for name, one := range s.Properties {
			p.properties[name] = prices[one]
		}
		p.dynamic, p.chain, p.anywhere = s.DynamicRef != nil || s.RecursiveRef != nil, chain, &anywhere
		for k := range p.enter {
			p.enter[k] = 1 + chain/schemasPerStep
		}
		p.compares(s)
		for k, n := range p.enter {
			anywhere[k] = max(anywhere[k], n)
		}
		if s.Bool == nil {
			s.Format = &lib.Format{Validate: p.pay}
			if p.format != nil {
				s.Format.Name = p.format.Name
			}
		}
	}
	l.markSets(prices)
	return prices[l.all[0]]
}

// compares adds the steps of comparing a value with those of "enum" and "const".
func (p *price) compares(s *lib.Schema) {
	var all []any
	if s.Enum != nil {
		all = s.Enum.Values
	}
	if s.Const != nil {
		all = append(slices.Clone(all), *s.Const)
	}
	for k := range p.enter {
		p.enter[k] += len(all) / valuesPerStep
	}
	for _, v := range all {
		p.enter[kindOf(v)] += size(v)
	}
}

// size returns the steps of comparing a value with an equal one.
func size(v any) (steps int) {
	switch v := v.(type) {
	case json.Number:
		return numberSteps
	case []any:
		for _, item := range v {
			steps += 1 + size(item)
		}
	case map[string]any:
		for _, value := range v {
			steps += 1 + size(value)
		}
	}
	return steps
}

// markSets marks the schemas for which the library makes sets of what is not evaluated: those with "unevaluatedItems"
// or "unevaluatedProperties", and those that they apply to the same value.
func (l *links) markSets(prices map[*lib.Schema]*price) {
	var mark func(p *price)
	mark = func(p *price) {
		if p.sets {
			return
		}
		p.sets = true
		for _, next := range p.own {
			mark(next)
		}
		if p.dynamic {
			for _, other := range prices {
				mark(other)
			}
		}
	}
	for s, p := range prices {
		if s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil {
			mark(p)
		}
	}
}

// entered spends the steps of applying the schema to v before its format is called.
func (p *price) entered(v any) {
	p.counter.spend(p.enter[kindOf(v)])
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(string(v), "eE") {
			p.counter.spend(exponentSteps)
		}
	case []any:
		if p.sets {
			p.counter.spend(len(v) / namesPerStep)
		}
	case map[string]any:
		if p.sets {
			p.counter.spend(len(v) / namesPerStep)
		}
	}
}

// pay is the format: it spends the price of applying the schema to v.
func (p *price) pay(v any) error {
	for _, next := range p.own {
		next.entered(v)
	}
	if p.dynamic {
		p.counter.spend((p.counter.depth+1)*p.chain/anchorsPerStep + p.anywhere[kindOf(v)])
	}
	switch v := v.(type) {
	case string:
		p.text(v)
	case json.Number:
		if p.schema.MultipleOf != nil {
			p.counter.spend(multipleSteps)
		}
	case map[string]any:
		p.object(v)
	case []any:
		p.array(v)
	}
	if p.format != nil {
		return p.format.Validate(v)
	}
	return nil
}

// text spends the steps of reading a string. A regular expression spends its own.
func (p *price) text(v string) {
	passes := 0
	for _, length := range []*int{p.schema.MinLength, p.schema.MaxLength} {
		if length != nil {
			passes++
		}
	}
	if p.format != nil {
		passes += formatPasses
		p.counter.spend(1)
		if p.format == regexFormat {
			p.counter.spend(regexSteps(v))
		}
	}
	p.counter.spend(len(v) * passes / bytesPerStep)
}

func (p *price) object(v map[string]any) {
	s := p.schema
	p.counter.spend(len(s.Required)) // each may be missing, and is reported then
	p.counter.spend((len(v) + len(s.DependentRequired) + len(s.Dependencies)) / namesPerStep)
	if len(p.properties) == 0 && p.members == nil && p.names == nil && s.DependentRequired == nil && s.Dependencies == nil {
		return
	}
	for name, value := range v {
		required, _ := s.Dependencies[name].([]string)
		p.counter.spend(len(required) + len(s.DependentRequired[name]))
		if to := p.properties[name]; to != nil {
			to.entered(value)
		}
		for _, to := range p.members {
			to.entered(value)
		}
		for _, to := range p.names {
			to.entered(name)
		}
	}
}

func (p *price) array(v []any) {
	if p.schema.UniqueItems {
		p.counter.unique(v)
	}
	if p.first == nil && p.rest == nil && p.items == nil {
		return
	}
	for i, item := range v {
		if i < len(p.first) {
			p.first[i].entered(item)
		} else {
			for _, to := range p.rest {
				to.entered(item)
			}
		}
		for _, to := range p.items {
			to.entered(item)
		}
	}
}

// unique spends the steps of finding equal items. The library compares a few with each other and hashes many.
func (c *counter) unique(items []any) {
	if len(items) > 20 {
		c.hash(items)
		return
	}
	for i, a := range items {
		for _, b := range items[:i] {
			c.compare(a, b)
		}
	}
}

func (c *counter) hash(v any) {
	c.spend(1)
	switch v := v.(type) {
	case string:
		c.spend(len(v) / bytesPerStep)
	case json.Number:
		c.spend(1)
	case []any:
		for _, item := range v {
			c.hash(item)
		}
	case map[string]any:
		c.spend(len(v) / namesPerStep)
		for name, value := range v {
			c.spend(len(name) / bytesPerStep)
			c.hash(value)
		}
	}
}

// compare spends the steps of comparing two values, and reports whether they may be equal. The library stops at
// the first difference. Members of objects have no order, so all of them count.
func (c *counter) compare(a, b any) (equal bool) {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		c.spend(numberSteps)
		x, _ := a.Float64()
		y, _ := b.Float64()
		return x == y
	case []any:
		b, ok := b.([]any)
		equal = ok && len(a) == len(b)
		for i := 0; equal && i < len(a); i++ {
			c.spend(1)
			equal = c.compare(a[i], b[i])
		}
		return equal
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		c.spend(len(a))
		equal = true
		for name := range a {
			value, ok := b[name]
			equal = c.compare(a[name], value) && ok && equal
		}
		return equal
	}
	return a == b // null, a boolean or a string, if a is
}

// nesting returns how many arrays and objects are inside each other.
func nesting(v any) (deepest int) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			deepest = max(deepest, nesting(item))
		}
	case map[string]any:
		for _, value := range v {
			deepest = max(deepest, nesting(value))
		}
	default:
		return 0
	}
	return deepest + 1
}
