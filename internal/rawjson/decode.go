package rawjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
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

// DecodeExact reads a value, which must be valid JSON, into what into points to, as encoding/json
// does. But a member without a field is an error, even if its name differs only by case from the
// name of a field. Errors are as in [Decode].
func DecodeExact(raw json.RawMessage, into any, what string) error {
	t := reflect.TypeOf(into)
	if err := checkNames(t, Parse(raw)); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodeError(err, t, what)
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// checkNames refuses names that encoding/json would take for names of fields in another case.
func checkNames(t reflect.Type, n *Node) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	for _, inner := range n.Nodes {
		var of reflect.Type
		var err error
		switch t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			of = t.Elem()
		case reflect.Struct:
			of, err = fieldNamed(t, inner.Name)
		}
		if of != nil {
			err = checkNames(of, inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fieldNamed returns the type of the field of a struct that has the name in JSON. It returns nil if
// there is none, with an error if a name differs only by case.
func fieldNamed(t reflect.Type, name string) (of reflect.Type, err error) {
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous && tag == "" && isStruct(field.Type) {
			continue // no member has its name
		}
		switch known := cmp.Or(tag, field.Name); {
		case known == name:
			return field.Type, nil
		case strings.EqualFold(known, name):
			err = fmt.Errorf("%q must be spelled %q; names are case-sensitive", name, known)
		}
	}
	return nil, err
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
	return &quietError{text, err}
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
