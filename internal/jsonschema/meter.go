package jsonschema

import (
	"encoding/json"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// meter counts the steps of a validation before the library begins it, because the library cannot
// be stopped. It applies the same schemas to the same values without asking whether they match, so
// it never counts too few. A step is about the time in which the library applies an empty schema to
// a value: a quarter of a microsecond. Counting is cheaper than validating, and ends when no step is
// left.
type meter struct {
	schema *Schema
	left   int
	path   []*lib.Schema // the schemas that led to the present one, from the root
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

// spend panics if fewer than n steps are left. [Schema.Validate] recovers it.
func (m *meter) spend(n int) {
	if n > m.left {
		panic(limitError("would take more than %d steps to check against its schema; send less at once", m.schema.bounds.Steps))
	}
	m.left -= n
}

// apply counts the steps of applying s, and everything that it leads to, to v. The schemas on the
// path from from on have been applied to v before.
func (m *meter) apply(s *lib.Schema, v any, from int) {
	m.spend(1)
	if s.Bool != nil {
		return
	}
	m.spend((len(m.path) - from) / schemasPerStep)
	if slices.Contains(m.path[from:], s) {
		return // a dynamic reference led back; the library stops here too
	}
	m.path = append(m.path, s)
	m.equal(s, v)
	switch v := v.(type) {
	case string:
		m.text(s, v)
	case json.Number:
		m.number(s, v)
	case map[string]any:
		m.object(s, v)
	case []any:
		m.array(s, v, from)
	}
	for _, next := range m.schema.links.same[s] {
		m.apply(next, v, from)
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		m.spend(len(m.path) / anchorsPerStep)
		for _, next := range m.schema.links.targets(s, m.path) {
			m.apply(next, v, from)
		}
	}
	m.path = m.path[:len(m.path)-1]
}

// below applies a schema to a part of the value. It may be nil.
func (m *meter) below(s *lib.Schema, part any) {
	if s != nil {
		m.apply(s, part, len(m.path))
	}
}

func (m *meter) equal(s *lib.Schema, v any) {
	if s.Enum != nil {
		m.spend(len(s.Enum.Values) / valuesPerStep)
		for _, value := range s.Enum.Values {
			m.compare(value, v)
		}
	}
	if s.Const != nil {
		m.spend(1)
		m.compare(*s.Const, v)
	}
}

// compare counts the steps of comparing two values, and reports whether they may be equal. The
// library stops at the first difference. Members of objects have no order, so all of them count.
func (m *meter) compare(a, b any) (equal bool) {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		m.spend(numberSteps)
		x, _ := a.Float64()
		y, _ := b.Float64()
		return x == y
	case []any:
		b, ok := b.([]any)
		equal = ok && len(a) == len(b)
		for i := 0; equal && i < len(a); i++ {
			m.spend(1)
			equal = m.compare(a[i], b[i])
		}
		return equal
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		m.spend(len(a))
		equal = true
		for name := range a {
			value, ok := b[name]
			equal = m.compare(a[name], value) && ok && equal
		}
		return equal
	}
	return a == b // null, a boolean or a string, if a is
}

func (m *meter) text(s *lib.Schema, v string) {
	passes := 0
	for _, length := range []*int{s.MinLength, s.MaxLength} {
		if length != nil {
			passes++
		}
	}
	if s.Format != nil {
		passes += formatPasses
		m.spend(1)
	}
	m.spend(len(v) * passes / bytesPerStep)
	if re, ok := s.Pattern.(*pattern); ok {
		m.spend(re.steps(v))
	}
	if isRegexFormat(s) {
		m.spend(regexSteps(v))
	}
}

func (m *meter) number(s *lib.Schema, v json.Number) {
	if s.MultipleOf != nil {
		m.spend(multipleSteps)
	}
	if strings.ContainsAny(string(v), "eE") {
		m.spend(exponentSteps)
	}
}

func (m *meter) object(s *lib.Schema, v map[string]any) {
	m.spend(len(s.Required)) // each may be missing, and is reported then
	m.spend((len(v) + len(s.DependentRequired) + len(s.Dependencies)) / namesPerStep)
	for name, value := range v {
		required, _ := s.Dependencies[name].([]string)
		m.spend(len(required) + len(s.DependentRequired[name]))
		to := s.Properties[name]
		known := to != nil
		m.below(to, value)
		for re, to := range s.PatternProperties {
			p := re.(*pattern) // every expression comes from our engine
			m.spend(1 + p.steps(name))
			if len(name) <= maxPatternInput && p.MatchString(name) {
				known = true
				m.below(to, value)
			}
		}
		if rest, ok := s.AdditionalProperties.(*lib.Schema); ok && !known {
			m.below(rest, value)
		}
		m.below(s.UnevaluatedProperties, value)
		if names := namesOf(s); names != nil { // a text in an interface costs an allocation
			m.below(names, name)
		}
	}
}

func (m *meter) array(s *lib.Schema, v []any, from int) {
	if slices.ContainsFunc(m.path[from:], func(s *lib.Schema) bool { return s.UnevaluatedItems != nil }) {
		m.spend(len(v) / namesPerStep) // each schema gets a set of the items
	}
	if s.UniqueItems {
		m.unique(v)
	}
	first, rest := itemsOf(s)
	if len(first) == 0 && rest == nil && s.Contains == nil && s.UnevaluatedItems == nil {
		return // the library does not visit the items either
	}
	for i, item := range v {
		if i < len(first) {
			m.below(first[i], item)
		} else {
			m.below(rest, item)
		}
		m.below(s.Contains, item)
		m.below(s.UnevaluatedItems, item)
	}
}

// unique counts the steps of finding equal items. The library compares a few with each other and
// hashes many.
func (m *meter) unique(items []any) {
	if len(items) > 20 {
		m.hash(items)
		return
	}
	for i, a := range items {
		for _, b := range items[:i] {
			m.compare(a, b)
		}
	}
}

func (m *meter) hash(v any) {
	m.spend(1)
	switch v := v.(type) {
	case string:
		m.spend(len(v) / bytesPerStep)
	case json.Number:
		m.spend(1)
	case []any:
		for _, item := range v {
			m.hash(item)
		}
	case map[string]any:
		m.spend(len(v) / namesPerStep)
		for name, value := range v {
			m.spend(len(name) / bytesPerStep)
			m.hash(value)
		}
	}
}
