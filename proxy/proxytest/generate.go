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
// argument has its value, so that get_order answers with the order that was asked for. Properties of
// entities have the values of the ledger. A value that is made up for an entity stays the same for the
// rest of the run. The results are validated like any other.
type generator struct {
	schema any // decoded, numbers as json.Number; nil if there is none
}

func newGenerator(schema json.RawMessage) *generator { return &generator{schema: rawjson.Any(schema)} }

// begin returns the draft of a result about the subjects, which may be nil.
func (g *generator) begin(r *Request, about *subjects) *draft {
	arguments := rawjson.Any(r.Arguments)
	s := &draft{request: r, root: g.schema, about: about, invented: map[string]any{}}
	s.random = s.randomOf(r.Tool + string(marshal(arguments))) // with sorted names
	// The last attempt ignores the arguments, in case they are what does not match.
	if r.Attempt < maxAttempts {
		s.echo, _ = arguments.(map[string]any)
	}
	s.first = r.Attempt < 2
	return s
}

// draft is one result while it is made.
type draft struct {
	request   *Request
	root      any
	random    *rand.Rand
	echo      map[string]any // the arguments
	about     *subjects      // of the object that is being made; nil if there are none
	around    *subjects      // of the object around it
	describes bool           // the object has a property of its subjects
	first     bool           // take the first of several alternatives, not any
	made      int            // values so far
	parts     int            // schemas that were resolved so far
	patterns  map[string]*regexp.Regexp
	invented  map[string]any // values that were made up for properties of entities

	lists                    int      // of entities of the ledger
	path                     []string // of the value that is being made
	known                    []origin
	empty                    []string // notes about lists without elements
	fromArguments, generated []string // JSON Pointers
}

// origin is where the ledger has a value of a result.
type origin struct {
	of            *subject
	name, pointer string
}

// randomOf returns a source of random numbers that depends on the seed, the attempt and text.
func (s *draft) randomOf(text string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(text))
	return rand.New(rand.NewPCG(s.request.world.seed, h.Sum64()+uint64(s.request.Attempt)))
}

// Below plainDepth a result has no optional properties. maxDepth and maxValues end recursive
// schemas. maxParts ends the work for schemas whose references multiply.
const (
	plainDepth = 6
	maxDepth   = 24
	maxValues  = 10_000
	maxParts   = 50_000
)

func (s *draft) value(schema any, depth int) any {
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
		return s.generateString(object)
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

// member makes a member of an object: of the ledger, of the arguments, or by chance.
func (s *draft) member(name string, schema any, depth int) any {
	s.path = append(s.path, name)
	defer func() { s.path = s.path[:len(s.path)-1] }()
	owner := s.about.of(name)
	isID := owner != nil && owner.is(name)
	if owner != nil && !isID {
		if value, ok := owner.fields[name]; ok && (rawjson.Kind(value) == '{' || !s.asks(schema, "object")) {
			s.known = append(s.known, origin{owner, name, s.pointer()})
			return value
		}
	}
	value, echoed := s.argument(name, schema)
	if id, _ := idOf(s.request.Arguments, name); echoed && (!isID || id == owner.id) {
		s.fromArguments = append(s.fromArguments, s.pointer())
		return value
	}
	if isID {
		s.known = append(s.known, origin{owner, name, s.pointer()})
		return s.spell(owner.id, schema)
	}
	if owner == nil {
		owner = s.about.only()
	}
	return s.invent(owner, name, schema, depth)
}

// invent makes a member that neither the ledger nor the arguments have. A value of an entity stays the
// same for the rest of the run, unless it does not suit the schema of another tool.
func (s *draft) invent(owner *subject, name string, schema any, depth int) any {
	before, taken := *s, len(s.known)
	defer func() {
		s.about, s.around, s.describes, s.random = before.about, before.around, before.describes, before.random
	}()
	if e := s.about.named(name); e != nil {
		s.about = s.request.describe([]*subject{e})
	} else if s.describes {
		s.about, s.around = nil, s.about
	}
	inside := s.about != nil && s.asks(schema, "object") // its members belong to the entity, not it
	key := ""
	if owner != nil && !inside {
		key = owner.path() + rawjson.Token(name)
		s.random = s.randomOf(key)
	}
	value, remembered := s.remembered(key)
	if !remembered || !s.suits(value, schema) {
		value = s.value(schema, depth+1)
	}
	if len(s.known) > taken || s.lists > before.lists || inside {
		return value
	}
	if key != "" {
		s.invented[key] = value
	}
	if len(s.path) == 1 || before.about != nil {
		s.generated = append(s.generated, s.pointer())
	}
	return value
}

// remembered returns what an earlier call of the run made up for the property of an entity.
func (s *draft) remembered(key string) (value any, ok bool) {
	if key == "" || !s.first {
		return nil, false
	}
	value, ok = s.request.run.Reveal().invented[key]
	return value, ok
}

// suits reports whether a value that was made for another tool has the type that the schema asks for.
func (s *draft) suits(value, schema any) bool {
	kind := "object"
	switch value := value.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case []any:
		kind = "array"
	case json.Number:
		if kind = "number"; s.asks(schema, "integer") && rawjson.ParseNumber(value.String()).Integer() {
			kind = "integer"
		}
	}
	return s.asks(schema, kind)
}

// asks reports whether the schema asks for a value of the type.
func (s *draft) asks(schema any, kind string) bool {
	object, ok := schema.(map[string]any)
	return ok && s.typeOf(s.resolve(object), 0) == kind
}

// spell returns an id as a number if the schema asks for one, or else as a string.
func (s *draft) spell(id string, schema any) any {
	isNumber := json.Valid([]byte(id)) && rawjson.Kind([]byte(id)) == '0'
	if isNumber && (s.asks(schema, "integer") || s.asks(schema, "number")) {
		return json.Number(id)
	}
	return id
}

// argument returns the value of an argument. If the schema asks for a string where the argument is a
// number, or for a number where it is a string with one, the value has that type: ids are written
// in both ways.
func (s *draft) argument(name string, schema any) (value any, ok bool) {
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

func (s *draft) pointer() string {
	var b strings.Builder
	for _, name := range s.path {
		b.WriteString(rawjson.Token(name))
	}
	return b.String()
}

// origins returns where the parts of a result come from.
func (s *draft) origins(result any) (notes []string) {
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
	var paths []string
	pointers := map[string][]string{}
	for _, k := range s.known {
		path := k.of.path()
		if pointers[path] == nil {
			paths = append(paths, path)
		}
		pointers[path] = append(pointers[path], k.pointer)
	}
	for _, path := range paths[:min(len(paths), maxOrigins)] {
		add(fmt.Sprintf("from %s in the ledger", path), pointers[path])
	}
	if more := len(paths) - maxOrigins; more > 0 {
		notes = append(notes, fmt.Sprintf("from %d more entities in the ledger", more))
	}
	notes = append(notes, s.empty...)
	add("from the arguments", s.fromArguments)
	add("generated", s.generated)
	if _, isObject := result.(map[string]any); !isObject && s.lists == 0 {
		notes = append(notes, "generated: the whole result")
	}
	return notes
}

// maxOrigins is how many JSON Pointers a note has, and how many entities have a note.
const maxOrigins = 20

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
func (s *draft) find(ref string) any {
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
func (s *draft) regexp(pattern string) *regexp.Regexp {
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
