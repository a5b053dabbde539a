package schema

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// InferOptions configures [For] and [Define]. The zero value is the default.
type InferOptions struct {
	// Types contains the schemas of types that cannot be inferred, wherever they occur: recursive
	// types, and types with their own MarshalJSON, whose schema is {} otherwise. A pointer to such a
	// type may also be null.
	Types map[reflect.Type]json.RawMessage
}

// Define declares a tool with arguments of type In and a response of type Out, in sandbox mode. In
// must be a struct or a map with string keys, or a pointer to one. If Out is any, the tool has no
// output schema. If it is an [OrFailure], the schema also allows failures. If o is nil, the
// defaults apply.
//
// The error is a [*toolwire.Error] with toolwire.CodeInvalid and everything that is wrong with the types, their tags
// and the name; see [For] and [Validate].
func Define[In, Out any](name, description string, o *InferOptions) (Tool, error) {
	tool := Tool{Name: name, Description: description}
	ps := problemsAt("", name)
	tool.InputSchema = ps.infer("/input_schema", reflect.TypeFor[In](), o)
	if out := reflect.TypeFor[Out](); out != reflect.TypeFor[any]() {
		tool.OutputSchema = ps.infer("/output_schema", out, o)
	}
	c := newChecker(context.Background(), &ValidateOptions{})
	c.name(ps, name)
	if tool.InputSchema != nil {
		if own := member(membersOf(tool.InputSchema), "type"); own == nil || jsonschema.NotObject(tool.InputSchema) == "/type" {
			ps.add("schema_not_object", "/input_schema", "must describe an object; use a struct or a map for the arguments, not %s",
				reflect.TypeFor[In]())
			tool.InputSchema = json.RawMessage(toolresult.NoArguments) // its own is reported already
		}
		c.schemas(ps, &tool)
	}
	if err := invalid(ps.list); err != nil {
		return Tool{}, err
	}
	return tool, nil
}

// MustDefine is [Define] for package variables and tests. It panics if Define fails.
func MustDefine[In, Out any](name, description string, o *InferOptions) Tool {
	tool, err := Define[In, Out](name, description, o)
	if err != nil {
		panic(err)
	}
	return tool
}

// infer returns the schema of a type, or nil if it has problems.
func (ps *problems) infer(at string, t reflect.Type, o *InferOptions) json.RawMessage {
	raw, found := inferWith(t, o)
	for _, p := range found.Found {
		ps.add(p.Code, at+p.Pointer, "%s", p.Message)
	}
	ps.list.More += found.More
	return raw
}

// For infers the JSON Schema of what encoding/json writes for a T. The schema is self-contained, of
// draft 2020-12, without "$schema", "$id" or references, in a form that the providers of models
// accept. If o is nil, the defaults apply.
//
// The library github.com/invopop/jsonschema infers it. The properties are those that encoding/json
// writes, with their JSON names, in the order of the fields. Of fields of one name, encoding/json
// decides which one counts. Embedding, "omitempty", "omitzero", "-" and "string" have the same meaning
// as there. A property is required unless its field has omitempty or omitzero or comes from an embedded
// pointer. Objects from structs do not allow other properties.
//
// A value may be null if encoding/json can write it as null. This concerns pointers, slices and
// maps, unless omitempty or omitzero omits them when they are nil. A pointer that is not nil may
// still point at a nil value, and a slice or a map with a method IsZero may make omitzero keep it.
// The schema of such a value is {"anyOf": [..., {"type": "null"}]}, not a list of types. The root
// is never null.
//
// The tag jsonschema is a description of several words, as in the MCP SDK:
//
//	jsonschema:"the order's id, as shown to the customer"
//
// Or it sets keywords, separated by commas. The MCP SDK panics if a tag begins with a keyword. A
// comma in a value is written \\, as here:
//
//	title=, description=        any field; a description with commas is easier in the tag jsonschema_description
//	default=, example=, enum=   strings and numbers; enum and example may be repeated; booleans have default only
//	minLength=, maxLength=, pattern=, format=, readOnly=, writeOnly=    strings
//	minimum=, maximum=, exclusiveMinimum=, exclusiveMaximum=, multipleOf=    numbers
//	minItems=, maxItems=, uniqueItems=true    slices and arrays; the keywords of the items may stand beside them
//	required    the property is required in spite of omitempty
//	nullable    the property may be null
//
// time.Time is a string of format date-time, time.Duration an integer (nanoseconds), []byte a
// base64 string, and json.Number a number. json.RawMessage and interfaces may be anything. Unsigned
// integers have the minimum 0. An [OrFailure] is its T or a failure. A type with the method
// MarshalText, such as netip.Addr, is a string. A type with the method MarshalJSON may be anything,
// unless Types or its own method JSONSchema, as the library has it, provides the schema. The same
// holds for a type of which only the pointer has such a method, where encoding/json may have a
// plain value. A struct that embeds a type with the method JSONSchema has that method too, and with
// it a schema of the embedded type alone; give it its own.
//
// The error is a [*toolwire.Error] with toolwire.CodeInvalid. Its pointers are Go paths, such as /Order/Items. It reports
// recursive types, types that encoding/json cannot write, the option "string" where encoding/json
// ignores it, and tags with unknown keys or invalid values. It also reports what the library reads
// differently from encoding/json: the JSON name "-", the option inline, jsonschema:"-", the methods
// JSONSchemaAlias and JSONSchemaProperty, and an embedded type that is neither exported nor a struct, if
// its schema cannot be inferred or its name is also a property's name. Tags are checked once the types
// are valid. Provide the schemas of such types in InferOptions.Types or in the [Tool].
//
// The caller owns the result.
func For[T any](o *InferOptions) (json.RawMessage, error) {
	raw, found := inferWith(reflect.TypeFor[T](), o)
	if err := invalid(found); err != nil {
		return nil, err
	}
	return raw, nil
}

func inferWith(t reflect.Type, o *InferOptions) (json.RawMessage, problem.List[toolwire.Problem]) {
	if o == nil {
		o = &InferOptions{}
	}
	return infer(t, o.Types)
}
