package rawjson

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// Decode reads a value, which must be valid JSON, into a T as encoding/json does. Integers of Go may
// also be written with a fraction of zeros or with an exponent: 3.0 and 1e1. If one is, all whole
// numbers are written plainly, also those in a json.RawMessage or json.Number. The error names types,
// bounds and members but never values. what names the value, such as "the arguments".
func Decode[T any](raw json.RawMessage, what string) (T, error) {
	var v, zero T
	err := json.Unmarshal(raw, &v)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && isInteger(t.Type) {
		v = zero
		err = json.Unmarshal(plainIntegers(raw), &v)
	}
	if err != nil {
		return zero, decodeError(err, reflect.TypeFor[T](), what)
	}
	return v, nil
}

// DecodeOwn reads a document that this module has written, perhaps an older version of it, into what
// into points to. Names are exact and occur once, so that no other reader can take the document for
// another one. Members without a field are ignored. Every error but those of encoding/json is an
// [*Error].
func DecodeOwn(doc []byte, into any) error {
	if err := Check(doc, Limits{Mode: Liberal}); err != nil {
		return err
	}
	if err := CheckNames(doc, into); err != nil {
		return err
	}
	return json.Unmarshal(doc, into)
}

// CheckNames returns an error if encoding/json would take a name in a value, which must be valid
// JSON, for the name of a field in another case, or if a member of a struct or a map occurs twice.
// sample has the type that the value would be read into. A json.Unmarshaler reads its own names.
func CheckNames(value json.RawMessage, sample any) *Error {
	err := checkNames(reflect.TypeOf(sample), value)
	if err != nil {
		err.Pointer = text.Cut(err.Pointer, maxShown)
	}
	return err
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func checkNames(t reflect.Type, value json.RawMessage) *Error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		i := 0
		for inner := range Elements(value) {
			if err := checkNames(t.Elem(), inner); err != nil {
				return err.below(strconv.Itoa(i))
			}
			i++
		}
	case reflect.Struct, reflect.Map:
		seen := map[string]bool{}
		for name, inner := range Members(value) {
			of, known := fieldNamed(t, name)
			switch {
			case of == nil && known == "": // no field is read from it
				continue
			case of == nil:
				return &Error{Problem: fmt.Sprintf("%q must be spelled %q; names are case-sensitive", name, known)}
			case seen[name]:
				return &Error{Pointer: Token(name), Problem: "occurs twice", Ambiguous: true}
			}
			seen[name] = true
			if err := checkNames(of, inner); err != nil {
				return err.below(name)
			}
		}
	}
	return nil
}

// below places an error of a member or element.
func (e *Error) below(name string) *Error {
	e.Pointer = Token(name) + e.Pointer
	return e
}

var fieldNames sync.Map // of a struct's reflect.Type: its []field

type field struct {
	name string
	of   reflect.Type
}

// fieldNamed returns the type of the field of a struct that has the name in JSON, or of the elements of a map. If no
// field has the name, it is nil, and known is the name of one that differs only by case.
func fieldNamed(t reflect.Type, name string) (of reflect.Type, known string) {
	if t.Kind() == reflect.Map {
		return t.Elem(), name
	}
	cached, is := fieldNames.Load(t)
	if !is {
		var list []field
		for _, f := range reflect.VisibleFields(t) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && tag != "-" && (!f.Anonymous || tag != "" || !isStruct(f.Type)) {
				list = append(list, field{cmp.Or(tag, f.Name), f.Type})
			}
		}
		cached, _ = fieldNames.LoadOrStore(t, list)
	}
	for _, f := range cached.([]field) {
		if f.name == name {
			return f.of, name
		}
		if strings.EqualFold(f.name, name) {
			known = f.name
		}
	}
	return nil, known
}

// decodeError words an error of encoding/json for a value that was to become a t.
func decodeError(err error, t reflect.Type, what string) error {
	text := fmt.Sprintf("%s cannot be decoded into a Go %s", what, t)
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := what
		if t.Field != "" {
			at = "/" + strings.ReplaceAll(t.Field, ".", "/")
		}
		kind, _, _ := strings.Cut(t.Value, " ") // "number 300" holds the number
		text = fmt.Sprintf("%s cannot be decoded from a JSON %s into a Go %s", at, kind, t.Type)
		if isInteger(t.Type) {
			text = at + " must be a whole number " + integerBounds(t.Type)
		}
	}
	return problem.Quiet(text, err)
}

func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr }

// integerBounds returns the range of an integer type in words.
func integerBounds(t reflect.Type) string {
	if t.Kind() >= reflect.Uint {
		return fmt.Sprintf("between 0 and %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	}
	highest := int64(math.MaxInt64) >> (64 - t.Bits())
	return fmt.Sprintf("between %d and %d", -highest-1, highest)
}

// longestInteger is the length of the smallest int64.
const longestInteger = 20

// plainIntegers writes the whole numbers of a document that a Go integer can hold without fraction
// and exponent.
func plainIntegers(doc json.RawMessage) json.RawMessage {
	var out []byte
	done := 0
	for at, end := 0, 0; at < len(doc); at = end {
		if end = tokenEnd(doc, at); kinds[doc[at]] != '0' {
			continue
		}
		if n := ParseNumber(string(doc[at:end])); n.Integer() {
			if text, ok := n.Plain(longestInteger); ok {
				out = append(append(out, doc[done:at]...), text...)
				done = end
			}
		}
	}
	return append(out, doc[done:]...)
}
