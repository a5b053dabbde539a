package jsonschema

import (
	"encoding/json"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// counter counts the steps of a validation while the library spends them. A step is about the time in
// which the library applies an empty schema to a value: a quarter of a microsecond. If none is left, the
// counter panics, which stops the library. [Schema.Validate] recovers it.
type counter struct {
	links      *links
	left, most int
	depth      int // how deep the document is nested; 0 if the schema has no dynamic references
}

// begin counts the steps of one validation of v.
func (c *counter) begin(root *lib.Schema, v any, steps int) {
	c.left, c.most, c.depth = steps, steps, 0
	if c.links.dynamic {
		c.depth = nesting(v)
	}
	c.apply(root, v)
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

// charge gives each schema a format that spends the price of the schema. The library calls it for every
// value that has the schema's types and is in its "enum" and "const". There the value is charged, with
// the schemas that are applied to it and to its parts. So a schema that rejects a value before its
// format is called has been paid for, too.
func (c *counter) charge(l *links) {
	c.links = l
	for _, s := range l.all {
		if s.Bool != nil {
			continue // its format is not called
		}
		own := s.Format
		s.Format = &lib.Format{Validate: func(v any) error {
			c.pay(s, own, v)
			if own != nil {
				return own.Validate(v)
			}
			return nil
		}}
		if own != nil {
			s.Format.Name = own.Name
		}
	}
}

// apply spends the steps of applying a schema to v before its format is called. It may be nil.
func (c *counter) apply(s *lib.Schema, v any) {
	if s == nil {
		return
	}
	c.spend(1 + c.links.chain/schemasPerStep)
	c.values(s, v)
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(string(v), "eE") {
			c.spend(exponentSteps)
		}
	case []any:
		if c.links.sets[s] {
			c.spend(len(v) / namesPerStep)
		}
	case map[string]any:
		if c.links.sets[s] {
			c.spend(len(v) / namesPerStep)
		}
	}
}

// values spends the steps of comparing v with the values of "enum" and "const".
func (c *counter) values(s *lib.Schema, v any) {
	if s.Enum != nil {
		c.spend(len(s.Enum.Values) / valuesPerStep)
		for _, value := range s.Enum.Values {
			c.compare(value, v)
		}
	}
	if s.Const != nil {
		c.compare(*s.Const, v)
	}
}

// pay spends the price of what a schema does with v. own is its format, or nil.
func (c *counter) pay(s *lib.Schema, own *lib.Format, v any) {
	for _, next := range c.links.same[s] {
		c.apply(next, v)
	}
	if isDynamic(s) {
		c.spend(1 + c.links.chain/schemasPerStep + (c.depth+1)*c.links.chain/anchorsPerStep)
		for _, target := range c.links.targets {
			c.values(target, v)
		}
	}
	switch v := v.(type) {
	case string:
		c.text(s, own, v)
	case json.Number:
		if s.MultipleOf != nil {
			c.spend(multipleSteps)
		}
	case map[string]any:
		c.object(s, v)
	case []any:
		c.array(s, v)
	}
}

// text spends the steps of reading a string. A regular expression spends its own.
func (c *counter) text(s *lib.Schema, own *lib.Format, v string) {
	passes := 0
	for _, length := range []*int{s.MinLength, s.MaxLength} {
		if length != nil {
			passes++
		}
	}
	if own != nil {
		passes += formatPasses
		c.spend(1)
	}
	if own == regexFormat {
		c.spend(regexSteps(v[:min(len(v), maxPattern)])) // a longer one is not parsed
	}
	c.spend(len(v) * passes / bytesPerStep)
}

func (c *counter) object(s *lib.Schema, v map[string]any) {
	c.spend(len(s.Required)) // each may be missing, and is reported then
	c.spend((len(v) + len(s.DependentRequired) + len(s.Dependencies)) / namesPerStep)
	names := namesOf(s)
	others, _ := s.AdditionalProperties.(*lib.Schema)
	for name, value := range v {
		required, _ := s.Dependencies[name].([]string)
		c.spend(len(required) + len(s.DependentRequired[name]))
		c.apply(s.Properties[name], value)
		for _, one := range s.PatternProperties {
			c.apply(one, value)
		}
		c.apply(others, value)
		c.apply(s.UnevaluatedProperties, value)
		if names != nil { // a text in an interface costs an allocation
			c.apply(names, name)
		}
	}
}

func (c *counter) array(s *lib.Schema, v []any) {
	if s.UniqueItems {
		c.unique(v)
	}
	first, rest := itemsOf(s)
	if len(first) == 0 && rest == nil && s.Contains == nil && s.UnevaluatedItems == nil {
		return // the library does not visit the items either
	}
	for i, item := range v {
		if i < len(first) {
			c.apply(first[i], item)
		} else {
			c.apply(rest, item)
		}
		c.apply(s.Contains, item)
		c.apply(s.UnevaluatedItems, item)
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

// compare spends the steps of comparing two values, and reports whether they may be equal. The library
// stops at the first difference. Members of objects have no order, so all of them count.
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
