package schema

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// goField is a struct field as encoding/json writes it.
type goField struct {
	name     string // its JSON name
	field    reflect.StructField
	optional bool // may be omitted
	nilGone  bool // omitted if nil
	quoted   bool // the option "string"
	tagged   bool
	index    []int
}

// fieldsOf returns the fields that encoding/json writes for a struct, in its order. Embedded
// structs are flattened. Of several fields with one name the least nested wins, or else the only
// tagged one, or else none.
func fieldsOf(t reflect.Type) ([]goField, error) {
	all, err := collectFields(t, nil, false, []reflect.Type{t})
	if err != nil {
		return nil, err
	}
	byName := map[string][]goField{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var fields []goField
	for _, rivals := range byName {
		if f, ok := dominant(rivals); ok {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b goField) int { return slices.Compare(a.index, b.index) })
	return fields, nil
}

func dominant(rivals []goField) (goField, bool) {
	slices.SortStableFunc(rivals, func(a, b goField) int {
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), compareBools(b.tagged, a.tagged))
	})
	if len(rivals) > 1 && len(rivals[0].index) == len(rivals[1].index) && rivals[0].tagged == rivals[1].tagged {
		return goField{}, false
	}
	return rivals[0], true
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// collectFields returns all fields, whether or not they win. maybe is true if they come from an
// embedded pointer.
func collectFields(t reflect.Type, index []int, maybe bool, way []reflect.Type) ([]goField, error) {
	var fields []goField
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		inner := f.Type
		if inner.Name() == "" && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && !f.IsExported() && inner.Kind() != reflect.Struct || !f.Anonymous && !f.IsExported() {
			continue
		}
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !validName(name) {
			name = ""
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if slices.Contains(way, inner) {
				return nil, &typeError{"type_recursive", "embeds itself"}
			}
			promoted, err := collectFields(inner, at, maybe || inner != f.Type, append(way, inner))
			if err != nil {
				return nil, err
			}
			fields = append(fields, promoted...)
			continue
		}
		fields = append(fields, fieldOf(f, name, options, at, maybe))
	}
	return fields, nil
}

func fieldOf(f reflect.StructField, name, options string, at []int, maybe bool) goField {
	g := goField{name: name, field: f, tagged: name != "", index: at}
	if name == "" {
		g.name = f.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty":
			g.optional, g.nilGone = true, true
		case "omitzero":
			g.optional = true
			g.nilGone = g.nilGone || !decidesZero(f.Type)
		case "string":
			g.quoted = isScalarKind(f.Type)
		}
	}
	g.optional = g.optional || maybe
	return g
}

var zeroer = reflect.TypeFor[interface{ IsZero() bool }]()

// decidesZero reports whether "omitzero" calls a method of the value, which may keep a nil slice or
// map. A nil pointer or interface is omitted without that call.
func decidesZero(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false
	}
	return reflect.PointerTo(t).Implements(zeroer)
}

// isScalarKind reports whether encoding/json supports the option "string".
func isScalarKind(t reflect.Type) bool {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

// validName reports whether encoding/json accepts a name in a tag.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}
