package schema

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	"github.com/toolwire/toolwire/internal/clip"
)

// InferOptions says how to infer a schema. The zero value is the default.
type InferOptions struct {
	// Types gives by hand the schema of types, wherever they occur: of recursive types, and of those that write their
	// own JSON. A pointer to such a type may be null beside.
	Types map[reflect.Type]json.RawMessage
}

// Define declares a tool whose arguments are an In and whose response is an Out, in sandbox mode. In must be a struct or
// a map with string keys, or a pointer to one. With the type any as Out the tool has no output schema.
//
// The error is a [*ValidationError] with everything that is wrong with the types, their tags and the name: see [For] and
// [Validate]. For types that need InferOptions, and for passthrough, fill in a [Tool] with schemas from [For].
func Define[In, Out any](name, description string) (Tool, error) {
	tool := Tool{Name: name, Description: description}
	var all []Problem
	infer := func(t reflect.Type, member string) json.RawMessage {
		raw, found := inferCached(t)
		for _, p := range found {
			all = append(all, Problem{0, clip.Text(name, 128), p.Code, member + p.Pointer, p.Message})
		}
		return raw
	}
	tool.InputSchema = infer(reflect.TypeFor[In](), "/input_schema")
	if out := reflect.TypeFor[Out](); out != reflect.TypeFor[any]() {
		tool.OutputSchema = infer(out, "/output_schema")
	}
	c := newChecker(context.Background(), ValidateOptions{})
	ps := &problems{index: 0, tool: clip.Text(name, 128)}
	c.name(ps, &tool)
	if tool.InputSchema != nil {
		c.schemas(ps, &tool)
		if member(members(tool.InputSchema), "type") == nil {
			ps.add(CodeSchemaNotObject, "/input_schema", "must describe an object: take a struct or a map for the arguments, not %s",
				reflect.TypeFor[In]())
		}
	}
	if all = append(all, ps.list...); len(all) > 0 {
		return Tool{}, &ValidationError{Problems: all}
	}
	return tool, nil
}

// For infers the JSON Schema of what encoding/json writes for a T: a self-contained schema of draft 2020-12 without
// "$schema", "$id" or references, in a form that the providers of models accept. Options may be nil.
//
// Properties are those that encoding/json writes, under their JSON names and in the order of the fields; embedding,
// "omitempty", "omitzero", "-" and "string" mean what they mean there. A property is required unless its field has
// omitempty or omitzero or comes from an embedded pointer. Objects from structs allow no other properties.
//
// The one rule for null: what encoding/json can write as null may be null. That is a pointer, a slice or a map, unless
// omitempty or omitzero leaves it out when it is nil; a pointer that is not nil may still point at one of them that is,
// and a slice or a map with a method IsZero may tell omitzero to keep it. Such a value is
// {"anyOf": [..., {"type": "null"}]}, never a list of types. The root itself is never null.
//
// The tag jsonschema sets keywords, separated by commas (a comma in a value is written \\,):
//
//	title=, description=        any field; a description with commas is easier in the tag jsonschema_description
//	default=, example=, enum=   strings and numbers; enum and example may be repeated; booleans have default only
//	minLength=, maxLength=, pattern=, format=, readOnly=, writeOnly=    strings
//	minimum=, maximum=, exclusiveMinimum=, exclusiveMaximum=, multipleOf=    numbers
//	minItems=, maxItems=, uniqueItems=true    slices and arrays; the keywords of the items may stand beside them
//	required    the property is required in spite of omitempty
//	nullable    the property may be null
//
// time.Time is a string of format date-time, time.Duration an integer (of nanoseconds), []byte a base64 string,
// json.Number a number, json.RawMessage and interfaces anything, unsigned integers have the minimum 0, and a type with
// the method MarshalText, such as netip.Addr, is a string.
//
// The error is a [*ValidationError] whose pointers are Go paths, such as /Order/Items. Errors are: types that refer to
// themselves in whatever way, channels, functions, complex numbers and other types that encoding/json cannot write;
// types with their own MarshalJSON, since nobody knows what it writes; tags with unknown keys or with values that cannot
// be parsed. For such types give the schema by hand, in InferOptions.Types or in the [Tool].
//
// Results are cached by type, so asking again costs no reflection; with Types they are not cached. The result is the
// caller's own.
func For[T any](o *InferOptions) (json.RawMessage, error) {
	var raw json.RawMessage
	var found []Problem
	if o == nil || len(o.Types) == 0 {
		raw, found = inferCached(reflect.TypeFor[T]())
	} else {
		raw, found = infer(reflect.TypeFor[T](), o.Types)
	}
	if len(found) > 0 {
		return nil, &ValidationError{Problems: found}
	}
	return raw, nil
}

// inferred remembers what infer returned. A program has finitely many types, so it stays small, and as infer has no
// other input nobody can tell that it is there.
var inferred sync.Map // of reflect.Type to inference

type inference struct {
	raw   json.RawMessage
	found []Problem
}

func inferCached(t reflect.Type) (json.RawMessage, []Problem) {
	known, ok := inferred.Load(t)
	if !ok {
		raw, found := infer(t, nil)
		known, _ = inferred.LoadOrStore(t, inference{raw, found})
	}
	i := known.(inference)
	return append(json.RawMessage(nil), i.raw...), append([]Problem(nil), i.found...)
}
