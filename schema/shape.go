package schema

import (
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
)

// A shape describes what encoding/json writes for a Go type. The library that infers schemas gets a
// type made from the shape. That type has nothing that the library treats differently from
// encoding/json, and nothing that makes it panic.
type shape struct {
	plain    reflect.Type // the type to infer from
	null     bool         // may be null
	innerNil bool         // of a pointer: its target may be null
	fields   []shapeField // of an object from a struct
	elem     *shape       // of a list, or of a map's values
	isMap    bool
	integers bool            // the map's keys are integers
	unsigned bool            // the number is not negative
	failable bool            // may be a failure instead
	byHand   json.RawMessage // the schema from InferOptions.Types
}

// shapeField is a property. It has another name in the plain type, because the library treats some
// names specially.
type shapeField struct {
	name, plainName string
	required        bool
	*shape
}

// maxTypeNodes is how many values a type may expand to. Types that contain each other several times
// double at every level.
const maxTypeNodes = 5000

var (
	jsonMarshaler  = reflect.TypeFor[json.Marshaler]()
	textMarshaler  = reflect.TypeFor[encoding.TextMarshaler]()
	timeType       = reflect.TypeFor[time.Time]()
	numberType     = reflect.TypeFor[json.Number]()
	rawMessageType = reflect.TypeFor[json.RawMessage]()
	bigIntType     = reflect.TypeFor[*big.Int]()
	urlType        = reflect.TypeFor[url.URL]()
	anyType        = reflect.TypeFor[any]()
	stringType     = reflect.TypeFor[string]()
	bytesType      = reflect.TypeFor[[]byte]()
)

// typeError is the reason why a type has no shape.
type typeError struct {
	code    string
	message string
}

func (e *typeError) Error() string { return e.message }

// walker turns types into shapes and collects every problem.
type walker struct {
	types map[reflect.Type]json.RawMessage
	way   []reflect.Type // types from the root to here; a repeated one is recursion
	path  []string       // Go names from the root to here
	nodes int
	found []Problem
}

func (w *walker) fail(code, format string, args ...any) *shape {
	p := Problem{Index: noTool, Code: code, Message: fmt.Sprintf(format, args...)}
	for _, name := range w.path {
		p.Pointer += pointerTo(name)
	}
	if !slices.Contains(w.found, p) {
		w.found = append(w.found, p)
	}
	return &shape{plain: anyType}
}

// shape returns the shape of t. Where there is a problem it returns a shape for any value.
func (w *walker) shape(t reflect.Type) *shape {
	if w.nodes++; w.nodes > maxTypeNodes {
		if w.nodes == maxTypeNodes+1 {
			return w.fail("type_too_large", "expands to more than %d values; set the schemas of the types that it repeats "+
				"in InferOptions.Types", maxTypeNodes)
		}
		return &shape{plain: anyType}
	}
	if raw, ok := w.types[t]; ok {
		return &shape{plain: anyType, byHand: raw}
	}
	if s, ok := w.special(t); ok {
		return s
	}
	if slices.Contains(w.way, t) {
		return w.fail("type_recursive",
			"has the recursive type %s, which a schema without references cannot describe; set its schema in "+
				"InferOptions.Types", t)
	}
	w.way = append(w.way, t)
	defer func() { w.way = w.way[:len(w.way)-1] }()
	switch t.Kind() {
	case reflect.Pointer:
		s := w.shape(t.Elem())
		s.innerNil, s.null = s.null, true
		return s
	case reflect.Struct:
		return w.structShape(t)
	case reflect.Slice:
		return &shape{elem: w.shape(t.Elem()), null: true}
	case reflect.Array:
		return &shape{elem: w.shape(t.Elem()), plain: t}
	case reflect.Map:
		return w.mapShape(t)
	}
	return w.fail("type_unsupported",
		"has the type %s, which JSON cannot carry; omit the field with json:\"-\" or set its schema in InferOptions.Types", t)
}

// special recognizes the types whose shape does not depend on their parts.
func (w *walker) special(t reflect.Type) (*shape, bool) {
	switch t {
	case timeType:
		return &shape{plain: t}, true
	case numberType:
		return &shape{plain: reflect.TypeFor[float64]()}, true
	case rawMessageType:
		return &shape{plain: anyType}, true
	case bigIntType:
		return &shape{plain: reflect.TypeFor[int64](), null: true}, true
	case urlType:
		return w.fail("type_unsupported",
			"has the type url.URL, which encoding/json writes field by field; use a string"), true
	}
	if t.Kind() == reflect.Interface {
		return &shape{plain: anyType}, true
	}
	if s, ok := w.failableShape(t); ok {
		return s, true
	}
	if s, ok := w.marshaler(t); ok {
		return s, true
	}
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return &shape{plain: stringType}, true
	case kind == reflect.Bool:
		return &shape{plain: reflect.TypeFor[bool]()}, true
	case kind >= reflect.Int && kind <= reflect.Int64:
		return &shape{plain: reflect.TypeFor[int64]()}, true
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		return &shape{plain: reflect.TypeFor[int64](), unsigned: true}, true
	case kind == reflect.Float32, kind == reflect.Float64:
		return &shape{plain: reflect.TypeFor[float64]()}, true
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !marshals(reflect.PointerTo(t.Elem())):
		return &shape{plain: bytesType, null: true}, true
	}
	return nil, false
}

func marshals(t reflect.Type) bool { return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) }

// marshaler recognizes types with MarshalText, which are strings, and with MarshalJSON, which may
// write anything. A method of the pointer counts only where encoding/json always has a pointer.
func (w *walker) marshaler(t reflect.Type) (*shape, bool) {
	if t.Kind() == reflect.Pointer {
		if _, ok := w.types[t.Elem()]; ok || t.Elem().Kind() == reflect.Pointer || marshals(t.Elem()) || isSpecial(t.Elem()) {
			return nil, false // the element decides, and nil is null
		}
	}
	pointer := reflect.PointerTo(t)
	switch {
	case t.Implements(jsonMarshaler):
		return w.fail("type_unsupported", "has the type %s, whose MarshalJSON may write anything; set its schema in "+
			"InferOptions.Types", t), true
	case t.Implements(textMarshaler):
		return &shape{plain: stringType, null: t.Kind() == reflect.Pointer}, true
	case t.Kind() != reflect.Pointer && marshals(pointer):
		return w.fail("type_unsupported", "has the type %s, which encoding/json writes in one way where it has a "+
			"pointer and in "+
			"another where not; use %s or set its schema in InferOptions.Types", t, pointer), true
	}
	return nil, false
}

func isSpecial(t reflect.Type) bool { return t == timeType || t == rawMessageType || t == numberType }

func (w *walker) mapShape(t reflect.Type) *shape {
	key := t.Key()
	s := &shape{isMap: true, null: true}
	switch kind := key.Kind(); {
	case key.Implements(textMarshaler), kind == reflect.String:
	case kind >= reflect.Int && kind <= reflect.Uintptr:
		s.integers = true
	default:
		return w.fail("type_unsupported", "has keys of the type %s; JSON has only strings for names", key)
	}
	s.elem = w.shape(t.Elem())
	return s
}

func (w *walker) structShape(t reflect.Type) *shape {
	s := &shape{}
	if name, _, _ := strings.Cut(t.Name(), "["); name != "" && len(w.path) == 0 {
		w.path = append(w.path, name)
		defer func() { w.path = w.path[:0] }()
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return w.fail("type_recursive", "has the type %s, which embeds itself; set its schema in InferOptions.Types", t)
	}
	var plain []reflect.StructField
	for i, f := range fields {
		w.path = append(w.path, f.field.Name)
		inner := w.shape(f.field.Type)
		if f.quoted {
			inner = &shape{plain: stringType, null: inner.null}
		}
		tags := w.tags(f, inner)
		inner.null = inner.null && !f.nilGone || inner.innerNil || tags.nullable
		p := shapeField{f.name, "p" + strconv.Itoa(i), !f.optional || tags.required, inner}
		tag := "json:" + strconv.Quote(p.plainName)
		if tags.keywords != "" {
			tag += " jsonschema:" + strconv.Quote(tags.keywords)
		}
		if tags.description != "" {
			tag += " jsonschema_description:" + strconv.Quote(tags.description)
		}
		s.fields = append(s.fields, p)
		plain = append(plain, reflect.StructField{Name: "P" + strconv.Itoa(i), Type: inner.plainType(),
			Tag: reflect.StructTag(tag)})
		w.path = w.path[:len(w.path)-1]
	}
	if len(w.found) == 0 {
		s.plain = reflect.StructOf(plain)
	}
	return s
}

// plainType is the type that the library infers from.
func (s *shape) plainType() reflect.Type {
	switch {
	case s.isMap:
		return reflect.MapOf(stringType, s.elem.plainType())
	case s.elem != nil && s.plain != nil:
		return reflect.ArrayOf(s.plain.Len(), s.elem.plainType())
	case s.elem != nil:
		return reflect.SliceOf(s.elem.plainType())
	case s.plain != nil:
		return s.plain
	}
	return anyType
}
