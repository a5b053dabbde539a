package proxytest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// draft is a result while it is made from an output_schema, as the platform's simulator does it, without a
// model. Equal seeds, tools and arguments give equal results. A property that has the name of an argument
// has its value, so that get_order answers with the order that was asked for. Properties of entities have
// the values of the ledger. A value that is made up for an entity stays the same for the rest of the run.
// The results are validated like any other.
type draft struct {
	request  *Request
	root     any // the schema, decoded, with numbers as json.Number
	random   *rand.Rand
	echo     map[string]any // the arguments
	first    bool           // take the first of several alternatives, not any
	made     int            // values so far
	parts    int            // schemas that were resolved so far
	patterns map[string]*jsonschema.Regexp
	invented map[string]any // values that were made up for properties of entities

	scope
	path    []string // of the value that is being made
	taken   int      // values and lists of the ledger so far
	origins []origin
	notes   []string
}

// scope is what the object that is being made describes.
type scope struct {
	about     *subjects // nil if there are none
	around    *subjects // of the object around it
	describes bool      // the object has a property of its subjects
}

// origin is where a value of a result comes from.
type origin struct {
	source        string
	of            *subject // nil if the value is not of the ledger
	name, pointer string
}

// The sources of values that are not of the ledger.
const (
	fromArguments = "from the arguments"
	madeUp        = "generated"
)

// newDraft begins a result about the subjects, which may be nil.
func newDraft(r *Request, schema any, about *subjects) *draft {
	arguments := rawjson.Any(r.Arguments)
	s := &draft{
		request: r, root: schema, scope: scope{about: about}, first: r.Attempt < 2,
		patterns: map[string]*jsonschema.Regexp{}, invented: map[string]any{},
	}
	s.random = s.randomOf(r.Tool + string(marshal(arguments))) // with sorted names
	// The last attempt ignores the arguments, in case they are what does not match.
	if r.Attempt < maxAttempts {
		s.echo, _ = arguments.(map[string]any)
	}
	return s
}

// randomOf returns a source of random numbers that depends on the seed, the attempt and text.
func (s *draft) randomOf(text string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(text))
	return rand.New(rand.NewPCG(s.request.world.seed, h.Sum64()+uint64(s.request.Attempt)))
}

// At depths greater than plainDepth, optional properties are left out. maxDepth and maxValues end recursive
// schemas. maxParts ends the work for schemas whose references multiply. maxFill is how many members or
// elements are made to reach a bound.
const (
	plainDepth = 6
	maxDepth   = 24
	maxValues  = 10_000
	maxParts   = 50_000
	maxFill    = 1000
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

// in makes a value at the member or element of this name.
func (s *draft) in(name string, value func() any) any {
	s.path = append(s.path, name)
	v := value()
	s.path = s.path[:len(s.path)-1]
	return v
}

// member makes a member of an object: of the ledger, of the arguments, or by chance.
func (s *draft) member(name string, schema any, depth int) any {
	owner, field := s.about.of(name), ""
	if owner != nil {
		field = owner.field(name)
	}
	isID := owner != nil && (field == owner.of.IDField && field != "" || isID(name))
	if owner != nil && !isID {
		if value, ok := owner.fields[field]; ok && (rawjson.Kind(value) == '{' || !s.asks(schema, "object")) {
			s.take(owner, name)
			return value
		}
	}
	argument := fitting(name, maps.Keys(s.echo))
	value, echoed := s.echo[argument]
	if id, _ := idOf(s.request.Arguments, argument); echoed && (!isID || id == owner.id) {
		s.origins = append(s.origins, origin{source: fromArguments, pointer: s.pointer()})
		return s.spelled(value, schema)
	}
	if isID {
		s.take(owner, name)
		return s.spelled(owner.id, schema)
	}
	if owner == nil {
		owner = s.about.only()
	}
	return s.invent(owner, name, schema, depth)
}

// take notes that the ledger has the value that is being made.
func (s *draft) take(of *subject, name string) {
	s.taken++
	s.origins = append(s.origins, origin{fmt.Sprintf("from %s in the ledger", of.path()), of, name, s.pointer()})
}

// invent makes a member that neither the ledger nor the arguments have. A value of an entity stays the
// same for the rest of the run, unless it does not suit the schema of another tool.
func (s *draft) invent(owner *subject, name string, schema any, depth int) any {
	outer, random, taken := s.scope, s.random, s.taken
	defer func() { s.scope, s.random = outer, random }()
	if e := s.about.named(name); e != nil {
		s.about = s.request.describe([]*subject{e})
	} else if s.describes {
		s.about, s.around = nil, s.about
	}
	if s.about != nil && s.asks(schema, "object") { // its members belong to the entity, not it
		return s.value(schema, depth+1)
	}
	var value any
	remembered, key := false, ""
	if owner != nil {
		key = owner.path() + rawjson.Token(plain(name))
		s.random = s.randomOf(owner.path() + rawjson.Token(name))
		value, remembered = s.request.run.invented[key]
	}
	if !remembered || !s.first || !s.suits(value, schema) {
		value = s.value(schema, depth+1)
	}
	if s.taken > taken {
		return value
	}
	if key != "" {
		s.invented[key] = value
	}
	if len(s.path) == 1 || outer.about != nil {
		s.origins = append(s.origins, origin{source: madeUp, pointer: s.pointer()})
	}
	return value
}

// suits reports whether a value that was made for another tool has the type that the schema asks for.
func (s *draft) suits(value, schema any) bool {
	raw := marshal(value)
	kind := map[byte]string{
		'{': "object", '[': "array", '"': "string", '0': "number", 't': "boolean", 'f': "boolean", 'n': "null",
	}[rawjson.Kind(raw)]
	return s.asks(schema, kind) ||
		kind == "number" && s.asks(schema, "integer") && rawjson.ParseNumber(string(raw)).Integer()
}

// asks reports whether the schema asks for a value of the type.
func (s *draft) asks(schema any, kind string) bool {
	object, ok := schema.(map[string]any)
	return ok && s.typeOf(s.resolve(object), 0) == kind
}

// spelled returns a number as a string, or a string as a number, if the schema asks for that: ids are
// written in both ways.
func (s *draft) spelled(value, schema any) any {
	switch v := value.(type) {
	case json.Number:
		if text, plain := rawjson.ParseNumber(v.String()).Plain(maxID); plain && s.asks(schema, "string") {
			return text
		}
	case string:
		isNumber := json.Valid([]byte(v)) && rawjson.Kind([]byte(v)) == '0'
		if isNumber && (s.asks(schema, "integer") || s.asks(schema, "number")) {
			return json.Number(strings.TrimSpace(v))
		}
	}
	return value
}

func (s *draft) pointer() string {
	var b strings.Builder
	for _, name := range s.path {
		b.WriteString(rawjson.Token(name))
	}
	return b.String()
}

// maxOrigins is how many JSON Pointers a note has, and how many entities have a note.
const maxOrigins = 20

// explain returns notes that say where the parts of the result come from.
func (s *draft) explain(result any) (notes []string) {
	var sources []string
	pointers := map[string][]string{}
	for _, o := range s.origins {
		if o.of != nil && pointers[o.source] == nil {
			sources = append(sources, o.source)
		}
		pointers[o.source] = append(pointers[o.source], o.pointer)
	}
	for _, source := range append(slices.Clone(sources[:min(len(sources), maxOrigins)]), fromArguments, madeUp) {
		if list := pointers[source]; len(list) > 0 {
			note := source + ": " + strings.Join(list[:min(len(list), maxOrigins)], ", ")
			if more := len(list) - maxOrigins; more > 0 {
				note += fmt.Sprintf(" and %d more", more)
			}
			notes = append(notes, note)
		}
	}
	if more := len(sources) - maxOrigins; more > 0 {
		notes = append(notes, fmt.Sprintf("from %d more entities in the ledger", more))
	}
	if _, isObject := result.(map[string]any); !isObject && s.taken == 0 {
		notes = append(notes, "generated: the whole result")
	}
	return append(notes, s.notes...)
}
