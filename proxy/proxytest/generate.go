package proxytest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// generator makes results that match an output_schema, as the platform's simulator does, without a
// model. Equal seeds, tools and arguments have equal results. A property that has the name of an
// argument has its value, so that get_order answers with the order that was asked for. The results
// are validated like any other.
type generator struct {
	schema any // decoded, numbers as json.Number; nil if there is none
}

func newGenerator(schema json.RawMessage) *generator { return &generator{schema: decoded(schema)} }

// sample begins a result. If from is nil, the result is not filled from the ledger.
func (g *generator) sample(r *Request, from *source) *sample {
	arguments := decoded(r.Arguments)
	h := fnv.New64a()
	h.Write([]byte(r.Tool))
	h.Write(marshal(arguments)) // with sorted names
	s := &sample{root: g.schema, random: rand.New(rand.NewPCG(r.world.seed, h.Sum64()+uint64(r.Attempt))), from: from}
	if r.Attempt < maxAttempts { // the last attempt ignores the arguments, in case they are what does not match
		s.echo, _ = arguments.(map[string]any)
	}
	s.first = r.Attempt < 2
	return s
}

// sample is one result while it is made.
type sample struct {
	root     any
	random   *rand.Rand
	echo     map[string]any // the arguments
	from     *source        // nil if there is none
	first    bool           // take the first of several alternatives, not any
	made     int            // values so far
	parts    int            // schemas that were resolved so far
	patterns map[string]*regexp.Regexp

	path                                 []string // of the value that is being made
	fromLedger, fromArguments, generated []string // JSON Pointers
}

// Below plainDepth a result has no optional properties. maxDepth and maxValues end recursive
// schemas. maxParts ends the work for schemas whose references multiply.
const (
	plainDepth = 6
	maxDepth   = 24
	maxValues  = 10_000
	maxParts   = 50_000
)

func (s *sample) value(schema any, depth int) any {
	object, ok := schema.(map[string]any)
	if s.made++; !ok || depth > maxDepth || s.made > maxValues {
		return map[string]any{} // the schema true, or a recursion without end
	}
	object = s.resolve(object)
	if value, ok := object["const"]; ok {
		return value
	}
	for _, name := range []string{"enum", "examples"} {
		if list, ok := object[name].([]any); ok && len(list) > 0 {
			return list[s.random.IntN(len(list))]
		}
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if list, ok := object[name].([]any); ok && len(list) > 0 {
			return s.value(merge(without(object, name), s.choose(list, depth)), depth+1)
		}
	}
	switch s.typeOf(object, depth) {
	case "object":
		return s.object(object, depth)
	case "array":
		return s.array(object, depth)
	case "string":
		return s.text(object)
	case "integer":
		return s.number(object, true)
	case "number":
		return s.number(object, false)
	case "boolean":
		return s.random.IntN(2) == 0
	case "null":
		return nil
	}
	return map[string]any{}
}

// known returns the value that the ledger has for the property at the path.
func (s *sample) known(name string) (json.RawMessage, bool) {
	if s.from == nil || len(s.path) != 1 && !(len(s.path) == 2 && s.path[0] == s.from.entityType) {
		return nil, false
	}
	value, ok := s.from.fields[name]
	return value, ok
}

// member makes a member of an object: of the ledger, of the arguments, or by chance.
func (s *sample) member(name string, schema any, depth int) any {
	s.path = append(s.path, name)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	value, echoed := s.argument(name, schema)
	if !echoed {
		value = s.value(schema, depth+1) // also if the ledger has it, so that the rest stays what it is
	}
	known, isKnown := s.known(name)
	_, isObject := value.(map[string]any)
	switch {
	case isKnown:
		s.fromLedger = append(s.fromLedger, s.pointer())
		return known
	case echoed:
		s.fromArguments = append(s.fromArguments, s.pointer())
	case len(s.path) == 1 && !(s.from != nil && name == s.from.entityType && isObject),
		len(s.path) == 2 && s.from != nil && s.path[0] == s.from.entityType:
		s.generated = append(s.generated, s.pointer())
	}
	return value
}

// argument returns the value of an argument. If the schema asks for a string where the argument is a
// number, or for a number where it is a string with one, the value has that type: ids are written
// in both ways.
func (s *sample) argument(name string, schema any) (value any, ok bool) {
	value, ok = s.echo[name]
	object, isObject := schema.(map[string]any)
	if !ok || !isObject {
		return value, ok
	}
	switch v := value.(type) {
	case json.Number:
		if text, plain := rawjson.ParseNumber(v.String()).Plain(maxID); plain && s.typeOf(s.resolve(object), 0) == "string" {
			return text, true
		}
	case string:
		if !json.Valid([]byte(v)) || rawjson.Kind([]byte(v)) != '0' {
			break
		}
		if t := s.typeOf(s.resolve(object), 0); t == "integer" || t == "number" {
			return json.Number(strings.TrimSpace(v)), true
		}
	}
	return value, ok
}

func (s *sample) pointer() string {
	var b strings.Builder
	for _, name := range s.path {
		b.WriteString(rawjson.Token(name))
	}
	return b.String()
}

// origins returns where the parts of a result come from.
func (s *sample) origins(result any) (notes []string) {
	add := func(what string, pointers []string) {
		if len(pointers) == 0 {
			return
		}
		text := strings.Join(pointers[:min(len(pointers), maxOrigins)], ", ")
		if more := len(pointers) - maxOrigins; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, what+": "+text)
	}
	if s.from != nil {
		add(fmt.Sprintf("from %s in the ledger", s.from.path()), s.fromLedger)
	}
	add("from the arguments", s.fromArguments)
	add("generated", s.generated)
	if _, isObject := result.(map[string]any); !isObject {
		notes = append(notes, "generated: the whole result")
	}
	return notes
}

// maxOrigins is how many JSON Pointers a note has.
const maxOrigins = 20

// resolve follows references inside the schema and joins allOf.
func (s *sample) resolve(object map[string]any) map[string]any {
	if s.parts++; s.parts > maxParts {
		return object
	}
	for range maxDepth {
		ref, ok := object["$ref"].(string)
		if !ok {
			break
		}
		target, _ := s.find(ref).(map[string]any)
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

// find returns the target of a reference such as #/$defs/order, or nil for any other reference.
func (s *sample) find(ref string) any {
	pointer, ok := rawjson.Local(ref)
	if !ok {
		return nil
	}
	at := s.root
	if pointer == "" {
		return at
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = rawjson.Name(token)
		switch here := at.(type) {
		case map[string]any:
			at = here[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(here) {
				return nil
			}
			at = here[n]
		default:
			return nil
		}
	}
	return at
}

func (s *sample) choose(list []any, depth int) any {
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
func (s *sample) typeOf(object map[string]any, depth int) string {
	switch t := object["type"].(type) {
	case string:
		return t
	case []any:
		if depth > plainDepth && slices.Contains(t, any("null")) {
			return "null"
		}
		for _, name := range t {
			if name, ok := name.(string); ok && name != "null" {
				return name
			}
		}
		return "null"
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
func (s *sample) regexp(pattern string) *regexp.Regexp {
	compiled, ok := s.patterns[pattern]
	if !ok {
		compiled, _ = regexp.Compile(pattern)
		if s.patterns == nil {
			s.patterns = map[string]*regexp.Regexp{}
		}
		s.patterns[pattern] = compiled
	}
	return compiled
}
