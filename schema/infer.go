package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	invopop "github.com/invopop/jsonschema"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// maxTypeNodes is how many values a type may expand to. Types that contain each other several times
// double at every level.
const maxTypeNodes = 5000

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
	zeroer        = reflect.TypeFor[interface{ IsZero() bool }]()
	ownSchema     = reflect.TypeFor[ownSchemer]()
	typeAlias     = reflect.TypeFor[interface{ JSONSchemaAlias() any }]()
	propertyAlias = reflect.TypeFor[interface{ JSONSchemaProperty(string) any }]()
)

// An ownSchemer knows its schema.
type ownSchemer interface{ JSONSchema() *invopop.Schema }

// An inferrer infers the schema of one type in three passes: check, the library, refine. The library
// infers; check keeps from it what would end the process, and refine adds what it does not know.
type inferrer struct {
	types     map[reflect.Type]json.RawMessage
	reflector invopop.Reflector
	way       []reflect.Type // types from the root to here; a repeated one is recursion
	path      []string       // Go names from the root to here
	nodes     int
	found     problem.List[toolwire.Problem]
}

// infer returns the schema of what encoding/json writes for a type.
func infer(t reflect.Type, types map[reflect.Type]json.RawMessage) (json.RawMessage, problem.List[toolwire.Problem]) {
	in := &inferrer{types: make(map[reflect.Type]json.RawMessage, len(types))}
	in.reflector = invopop.Reflector{DoNotReference: true, Anonymous: true, Mapper: in.mapped}
	for by, raw := range types {
		doc, err := readDocument(raw)
		if err != nil || rawjson.Kind(doc) != '{' {
			in.fail("schema_invalid", "the schema of %s in InferOptions.Types is not a JSON object", by)
		}
		in.types[deref(by)] = doc
	}
	slices.SortFunc(in.found.Found, func(a, b toolwire.Problem) int { return strings.Compare(a.Message, b.Message) })
	if in.found.Len() == 0 {
		in.check(t)
	}
	if in.found.Len() > 0 {
		return nil, in.found
	}
	s := in.schemaOf(t)
	if in.found.Len() > 0 {
		return nil, in.found
	}
	raw, err := s.MarshalJSON()
	if err != nil {
		in.fail("type_unsupported", "has a schema that cannot be written: %v", err)
		return nil, in.found
	}
	_, found := jsonschema.Compile(raw, &jsonschema.Options{AllowUnchecked: true})
	if found.Found = slices.DeleteFunc(found.Found, jsonschema.Fault.Unchecked); len(found.Found) > 0 { // Validate lists those
		return nil, schemaProblems(found)
	}
	return raw, in.found
}

func (in *inferrer) fail(code, format string, args ...any) {
	p := toolwire.Problem{Code: code, Message: fmt.Sprintf(format, args...)}
	for _, name := range in.path {
		p.Pointer += pointerTo(name)
	}
	if !slices.Contains(in.found.Found, p) {
		in.found.Put(p)
	}
}

// fields calls visit for each field of a struct. It keeps the path.
func (in *inferrer) fields(t reflect.Type, visit func(f field)) {
	root := len(in.path)
	if name, _, _ := strings.Cut(t.Name(), "["); name != "" && root == 0 {
		in.path = append(in.path, name)
	}
	list, ok := fieldsOf(t, false)
	list, _ = dominant(list)
	if !ok {
		in.fail("type_recursive", "has the type %s, which embeds itself; set its schema in InferOptions.Types", t)
	}
	for _, f := range list {
		in.path = append(in.path, f.Name)
		visit(f)
		in.path = in.path[:len(in.path)-1]
	}
	in.path = in.path[:root]
}

// check reports what would end the process in the library, or what it would read differently from
// encoding/json.
func (in *inferrer) check(t reflect.Type) {
	if in.nodes++; in.nodes > maxTypeNodes {
		if in.nodes == maxTypeNodes+1 {
			in.fail("type_too_large", "expands to more than %d values; set the schemas of the types that it repeats "+
				"in InferOptions.Types", maxTypeNodes)
		}
		return
	}
	switch self, value := succeeds(t); {
	case self == t:
		in.check(value)
		return
	case self != nil:
		in.fail("type_unsupported", "has the type %s, which embeds %s, whose MarshalJSON writes nothing else of it; use a "+
			"field with a name", t, self)
		return
	case t.Kind() != reflect.Pointer && (t.Implements(typeAlias) || t.Implements(propertyAlias) && !in.opaque(t)):
		in.fail("type_unsupported", "has the type %s with a method JSONSchemaAlias or JSONSchemaProperty; write the method "+
			"JSONSchema instead", t)
		return
	case in.opaque(t):
		return
	case slices.Contains(in.way, t):
		in.fail("type_recursive", "has the recursive type %s, which a schema without references cannot describe; set its "+
			"schema in InferOptions.Types", t)
		return
	}
	in.way = append(in.way, t)
	defer func() { in.way = in.way[:len(in.way)-1] }()
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		in.check(t.Elem())
	case reflect.Map:
		if kind := t.Key().Kind(); kind != reflect.String && !isInteger(kind) && !t.Key().Implements(textMarshaler) {
			in.fail("type_unsupported", "has keys of the type %s; JSON has only strings for names", t.Key())
			return
		}
		in.check(t.Elem())
	case reflect.Struct:
		in.checkStruct(t)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		in.fail("type_unsupported", "has the type %s, which JSON cannot carry; omit the field with json:\"-\" or set its "+
			"schema in InferOptions.Types", t)
	}
}

func (in *inferrer) checkStruct(t reflect.Type) {
	if t == reflect.TypeFor[url.URL]() {
		in.fail("type_unsupported", "has the type url.URL, which encoding/json writes field by field; use a string")
		return
	}
	in.fields(t, func(f field) {
		if f.hidden() || f.name == "-" || slices.Contains(f.options, "inline") {
			in.fail("tag_invalid", "has a tag that the schema library does not read as encoding/json does; leave out "+
				"jsonschema:\"-\", json:\"-,\" or the option inline")
			return
		}
		in.check(f.Type)
	})
}

// opaque reports whether the schema of a type does not depend on its parts.
func (in *inferrer) opaque(t reflect.Type) bool {
	_, byHand := in.types[t]
	return byHand || t.Kind() != reflect.Pointer && (t.Implements(ownSchema) || marshals(reflect.PointerTo(t)))
}

func marshals(t reflect.Type) bool { return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) }

// mapped is the library's Mapper. The library asks for no pointers.
func (in *inferrer) mapped(t reflect.Type) *invopop.Schema {
	if raw, ok := in.types[t]; ok {
		return byHand(raw)
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return nil
	case t.Implements(ownSchema): // the library would go on if it were nil, and might never end
		s := *cmp.Or(reflect.Zero(t).Interface().(ownSchemer).JSONSchema(), new(invopop.Schema))
		if s.Items != nil { // the library writes a field's tag into the items
			s.Items = new(*s.Items)
		}
		return &s
	case t == reflect.TypeFor[json.Number]():
		return &invopop.Schema{Type: "number"}
	case t == reflect.TypeFor[big.Int](), t.Kind() == reflect.Uintptr:
		return &invopop.Schema{Type: "integer"}
	case pointer.Implements(jsonMarshaler):
		return new(invopop.Schema)
	case pointer.Implements(textMarshaler):
		return &invopop.Schema{Type: "string"}
	case t.Kind() == reflect.Struct && t != timeType:
		if flat := flattened(t); flat != nil {
			return in.reflector.ReflectFromType(flat)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !marshals(reflect.PointerTo(t.Elem())):
		return &invopop.Schema{Type: "string", ContentEncoding: "base64"}
	}
	return nil
}

// byHand returns a schema that is written as it is given.
func byHand(raw json.RawMessage) *invopop.Schema {
	s := &invopop.Schema{Extras: map[string]any{}}
	for name, value := range rawjson.Members(raw) {
		s.Extras[name] = value
	}
	return s
}

// schemaOf returns the schema of a type that was checked.
func (in *inferrer) schemaOf(t reflect.Type) (s *invopop.Schema) {
	defer func() {
		if p := recover(); p != nil { // of a method of the type that the library calls
			in.fail("type_unsupported", "has a method for the schema library that panics or deletes a property")
			s = new(invopop.Schema)
		}
	}()
	s = in.reflector.ReflectFromType(t)
	s.Version = ""
	return in.refine(s, t)
}

// refine adds to the library's schema of a type what encoding/json does and the library does not
// know: null, integer keys, the lower bound of unsigned numbers, and which properties an embedded
// pointer may omit. A schema that allows everything becomes {}; some providers reject true.
func (in *inferrer) refine(s *invopop.Schema, t reflect.Type) *invopop.Schema {
	byPointer := t.Kind() == reflect.Pointer
	t = deref(t)
	self, value := succeeds(t)
	switch kind := t.Kind(); {
	case self != nil:
		inner := in.orNull(in.schemaOf(value), value)
		inner.Title, inner.Description = cmp.Or(s.Title, inner.Title), cmp.Or(s.Description, inner.Description)
		s = orElse(inner, byHand(json.RawMessage(failureSchema)))
	case in.types[t] != nil:
		s.Title, s.Description = lifted(s, "title", s.Title), lifted(s, "description", s.Description)
	case in.opaque(t):
		// encoding/json calls a method of the pointer only where it has a pointer.
		if !byPointer && !marshals(t) && !t.Implements(ownSchema) {
			*s = invopop.Schema{Title: s.Title, Description: s.Description}
		}
	case kind == reflect.Struct:
		in.refineStruct(s, t)
	case s.Items != nil:
		s.Items = in.orNull(in.refine(s.Items, t.Elem()), t.Elem())
	case kind == reflect.Map:
		in.refineMap(s, t)
	case kind >= reflect.Uint && kind <= reflect.Uintptr && s.Type == "integer" && s.ExclusiveMinimum == "":
		s.Minimum = cmp.Or(s.Minimum, "0")
	}
	if open(s) {
		s.Extras = map[string]any{}
	}
	return s
}

func (in *inferrer) refineStruct(s *invopop.Schema, t reflect.Type) {
	inferred := s.Properties
	s.Properties, s.Required = invopop.NewProperties(), nil
	in.fields(t, func(f field) {
		if f.ignored() {
			return
		}
		p, _ := inferred.Get(f.name)
		nullable := slices.Contains(f.words, "nullable")
		if nullable {
			p = p.OneOf[0] // the library's form of what orElse makes
		}
		if slices.Contains(f.options, "string") && p.Type != "" {
			p.Type = "string" // v0.13 of the library, which some programs need, does not know this option and omitzero
		}
		in.tags(f, p)
		p = in.refine(p, f.Type)
		inside := f.Type.Kind() == reflect.Pointer && in.nullable(f.Type.Elem())
		if nullable || inside || in.nullable(f.Type) && !f.nilGone() {
			p = orElse(p, &invopop.Schema{Type: "null"})
		}
		s.Properties.Set(f.name, p)
		if f.required() {
			s.Required = append(s.Required, f.name)
		}
	})
}

func (in *inferrer) refineMap(s *invopop.Schema, t reflect.Type) {
	element := s.AdditionalProperties
	for _, p := range s.PatternProperties {
		element = p
	}
	element = in.orNull(in.refine(cmp.Or(element, new(invopop.Schema)), t.Elem()), t.Elem())
	s.PatternProperties, s.AdditionalProperties = nil, nil
	if isInteger(t.Key().Kind()) && !t.Key().Implements(textMarshaler) {
		s.PatternProperties = map[string]*invopop.Schema{"^-?[0-9]+$": element}
		s.AdditionalProperties = invopop.FalseSchema
	} else if !open(element) {
		s.AdditionalProperties = element
	}
}

// nullable reports whether encoding/json writes a nil value of a type as null.
func (in *inferrer) nullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && !in.opaque(t)
}

func (in *inferrer) orNull(s *invopop.Schema, t reflect.Type) *invopop.Schema {
	if in.nullable(t) {
		return orElse(s, &invopop.Schema{Type: "null"})
	}
	return s
}

// orElse allows what another schema describes beside a schema. Descriptions stay outside of "anyOf".
func orElse(s, other *invopop.Schema) *invopop.Schema {
	if open(s) {
		return s
	}
	both := &invopop.Schema{Title: s.Title, Description: s.Description, Default: s.Default, Examples: s.Examples}
	s.Title, s.Description, s.Default, s.Examples = "", "", nil, nil
	both.AnyOf = []*invopop.Schema{s, other}
	return both
}

// open reports whether a schema allows everything.
func open(s *invopop.Schema) bool {
	c := *s
	c.Title, c.Description = "", ""
	if len(c.Extras) == 0 {
		c.Extras = nil
	}
	return reflect.DeepEqual(c, invopop.Schema{})
}

// lifted returns what a tag says, or else takes it out of a schema that was given by hand.
func lifted(s *invopop.Schema, name, tag string) string {
	raw, _ := s.Extras[name].(json.RawMessage)
	if tag == "" && rawjson.Kind(raw) != '"' {
		return ""
	}
	delete(s.Extras, name)
	return cmp.Or(tag, rawjson.Unquote(raw))
}

func isInteger(kind reflect.Kind) bool { return kind >= reflect.Int && kind <= reflect.Uintptr }

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// A field is a struct field that encoding/json writes or the library reads.
type field struct {
	reflect.StructField
	name     string   // its JSON name
	options  []string // of its json tag
	words    []string // of its jsonschema tag
	mayBeNil bool     // of an embedded pointer, which may be nil
	depth    int      // how many structs it is embedded in
	tagged   bool     // its JSON name is from a tag
}

// dominant returns the fields that encoding/json writes: of several with one JSON name, the one that is
// embedded least deeply, then the one with a tag, and none if that leaves several. others reports
// whether there are others.
func dominant(list []field) (written []field, others bool) {
	best := make(map[string][]int, len(list)) // the indices of the best by name
	for i, f := range list {
		if f.ignored() {
			continue
		}
		known := best[f.name]
		rank := 0
		if len(known) > 0 {
			first := list[known[0]]
			if rank = cmp.Compare(f.depth, first.depth); rank == 0 && f.tagged != first.tagged {
				rank = 1
				if f.tagged {
					rank = -1
				}
			}
		}
		switch {
		case rank < 0:
			best[f.name] = []int{i}
		case rank == 0:
			best[f.name] = append(known, i)
		}
	}
	for i, f := range list {
		if f.ignored() || len(best[f.name]) == 1 && best[f.name][0] == i {
			written = append(written, f)
		}
		others = others || len(best[f.name]) > 0 && best[f.name][0] != i || len(best[f.name]) > 1
	}
	return written, others
}

// flattened returns a struct with the fields that encoding/json writes if a struct has others, which the
// library would read. Else it returns nil.
func flattened(t reflect.Type) reflect.Type {
	list, ok := fieldsOf(t, false)
	list, others := dominant(list)
	if !ok || !others {
		return nil
	}
	var flat []reflect.StructField
	for i, f := range list {
		if !f.ignored() {
			tag := "json:" + strconv.Quote(strings.Join(append([]string{f.name}, f.options...), ",")) + " " + string(f.Tag)
			flat = append(flat, reflect.StructField{Name: "F" + strconv.Itoa(i), Type: f.Type, Tag: reflect.StructTag(tag)})
		}
	}
	return reflect.StructOf(flat)
}

// fieldsOf lists the fields of a struct in their order, including the fields of embedded structs. ok is
// false if the struct embeds itself.
func fieldsOf(t reflect.Type, mayBeNil bool, way ...reflect.Type) (list []field, ok bool) {
	if slices.Contains(way, t) {
		return nil, false
	}
	for i := range t.NumField() {
		f := field{StructField: t.Field(i), mayBeNil: mayBeNil, depth: len(way)}
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		f.options = strings.Split(tag, ",")
		f.name, f.options = f.options[0], f.options[1:]
		f.words = strings.Split(f.Tag.Get("jsonschema"), ",")
		inner := f.Type
		if inner.Name() == "" && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		switch {
		case !f.IsExported() && !f.Anonymous && !slices.Contains(f.options, "inline"):
		case embedded && f.name == "" && !f.hidden():
			promoted, ok := fieldsOf(inner, mayBeNil || inner != f.Type, append(way, t)...)
			if !ok {
				return nil, false
			}
			list = append(list, promoted...)
		default:
			f.tagged = f.name != ""
			f.name = cmp.Or(f.name, f.Name)
			list = append(list, f)
		}
	}
	return list, true
}

// hidden reports whether a tag hides the field from the library.
func (f *field) hidden() bool { return f.words[0] == "-" }

// ignored reports whether encoding/json ignores the field: it is embedded, not exported and no struct.
func (f *field) ignored() bool { return !f.IsExported() && deref(f.Type).Kind() != reflect.Struct }

// required reports whether the schema requires the property.
func (f *field) required() bool {
	optional := f.mayBeNil || slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero")
	return !optional || slices.Contains(f.words, "required")
}

// nilGone reports whether a nil value is omitted. "omitzero" calls the method IsZero of a slice or a
// map, which may keep it. It omits a nil pointer without that call; a pointer to a pointer has no methods.
func (f *field) nilGone() bool {
	return slices.Contains(f.options, "omitempty") ||
		slices.Contains(f.options, "omitzero") && !reflect.PointerTo(f.Type).Implements(zeroer)
}
