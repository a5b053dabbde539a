package rawjson

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// DecodeOwn reads a document that this module has written, perhaps an older version of it, into what into
// points to. doc is JSON in UTF-8. The names of fields are exact and occur once, so that no other reader can
// take the document for another one; a name that differs by case only is an error. Members without a field
// are ignored. Every error but those of encoding/json is an [*Error].
func DecodeOwn(doc []byte, into any) error {
	if err := Check(doc, Limits{Mode: Liberal}); err != nil {
		return err
	}
	if err := CheckOwn(doc, into); err != nil {
		return err
	}
	return json.Unmarshal(doc, into)
}

// CheckOwn checks the names of a value, which must be valid JSON, as [DecodeOwn] does for values like sample.
func CheckOwn(value json.RawMessage, sample any) error {
	return checkOwn(reflect.TypeOf(sample), value)
}

// checkOwn checks the names of objects that encoding/json reads into structs and maps. A json.Unmarshaler reads
// its own.
func checkOwn(t reflect.Type, value json.RawMessage) error {
	for t.Kind() == reflect.Pointer && !t.Implements(unmarshaler) {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
	case t.Kind() == reflect.Struct:
		known, seen := membersOf(t), map[string]bool{}
		for name, inner := range Members(value) {
			of := known[name]
			if of == nil {
				for other := range known {
					if strings.EqualFold(other, name) {
						return &Error{Pointer: Token(name), Problem: "must be spelled " + other + "; names are case-sensitive"}
					}
				}
				continue
			}
			if seen[name] {
				return &Error{Pointer: Token(name), Problem: "occurs twice", Ambiguous: true}
			}
			seen[name] = true
			if err := below(name, checkOwn(of, inner)); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Map:
		seen := map[string]bool{}
		for name, inner := range Members(value) {
			if seen[name] {
				return &Error{Pointer: Token(name), Problem: "occurs twice", Ambiguous: true}
			}
			seen[name] = true
			if err := below(name, checkOwn(t.Elem(), inner)); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		i := 0
		for inner := range Elements(value) {
			if err := checkOwn(t.Elem(), inner); err != nil {
				return below(strconv.Itoa(i), err)
			}
			i++
		}
	}
	return nil
}

// below places an error of a member.
func below(name string, err error) error {
	if bad, is := errors.AsType[*Error](err); is {
		bad.Pointer = Token(name) + bad.Pointer
	}
	return err
}

var memberTypes sync.Map // of a reflect.Type: map[string]reflect.Type

// membersOf returns the types of the fields of a struct by their names in JSON.
func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, is := memberTypes.Load(t); is {
		return known.(map[string]reflect.Type)
	}
	members := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && tag != "-" && (!field.Anonymous || tag != "" || !isStruct(field.Type)) {
			members[cmp.Or(tag, field.Name)] = field.Type
		}
	}
	memberTypes.Store(t, members)
	return members
}
