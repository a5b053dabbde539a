package schema

import (
	"encoding/json"
	"errors"

	"github.com/toolwire/toolwire/internal/jsonschema"
)

// CompileOptions says how to compile a schema. The zero value is the default.
type CompileOptions struct {
	// AssertFormats makes "format" a rule. By default it only informs, in every draft, as draft 2020-12 has it. Known
	// are date-time, date, time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uri-template, uuid, regex,
	// json-pointer, relative-json-pointer, iri, iri-reference, period and semver; others are ignored.
	AssertFormats bool
	// Resources are schemas that "$ref" and "$schema" may name, by absolute URL without fragment. Nothing else is ever
	// loaded, neither from the network nor from files. Each is bounded like the schema itself.
	Resources map[string]json.RawMessage
	// Limits bounds schemas and documents.
	Limits Limits
}

// Limits bounds what a schema and a document may cost. The zero value of a field means its default; a negative one is
// reported as a [*ValidationError] with the code limits_invalid. With the defaults
// no schema takes more than about 100 ms to compile, and no document more than that to validate.
type Limits struct {
	SchemaBytes  int // size of one schema; default 64 KiB
	SchemaDepth  int // nesting of one schema; default 64
	Properties   int // properties in all; default 1,000. There may be three times as many subschemas of any kind
	Pattern      int // bytes of one regular expression, also of a string with the format "regex"; default 1 KiB
	ExpandedRefs int // references met when every "$ref" is written out; default 10,000

	Bytes        int // size of a document; default 1 MiB
	Depth        int // nesting of a document; default 64
	Values       int // values and member names of a document; default 50,000
	Steps        int // schemas applied to values while validating one document; default 100,000
	PatternInput int // bytes of a string that a regular expression is applied to; default 16 KiB
	Issues       int // issues reported for one document; default 20
}

func (l Limits) problems() (list []Problem) {
	for _, message := range jsonschema.Limits(l).Negative() {
		list = append(list, Problem{Index: noTool, Code: CodeLimitsInvalid, Message: message})
	}
	return list
}

// A Validator checks JSON documents against one schema. It is immutable and safe for concurrent use.
type Validator struct {
	compiled *jsonschema.Schema
}

// Compile compiles a JSON Schema of draft 2020-12 (the default), 2019-09, 7, 6 or 4. Any schema will do, also one whose
// root is no object; [Tool] asks for more. Options may be nil.
//
// The error is a [*ValidationError] whose problems have pointers into the schema and codes that begin with "schema_", or
// that is about negative limits.
// Regular expressions are those of Go (RE2 syntax): look-around is not available, and nothing backtracks.
func Compile(schema json.RawMessage, o *CompileOptions) (*Validator, error) {
	if o != nil {
		if negative := o.Limits.problems(); negative != nil {
			return nil, &ValidationError{Problems: negative}
		}
	}
	compiled, err := compile(schema, o)
	if err != nil {
		return nil, &ValidationError{Problems: schemaProblems(err)}
	}
	return &Validator{compiled}, nil
}

func compile(schema json.RawMessage, o *CompileOptions) (*jsonschema.Schema, error) {
	if o == nil {
		o = &CompileOptions{}
	}
	inner := jsonschema.Options{Limits: jsonschema.Limits(o.Limits), AssertFormats: o.AssertFormats}
	if len(o.Resources) > 0 {
		inner.Resources = make(map[string][]byte, len(o.Resources))
		for at, raw := range o.Resources {
			inner.Resources[at] = raw
		}
	}
	return jsonschema.Compile(schema, &inner)
}

// schemaProblems turns what is wrong with a schema into problems whose pointers start at the schema.
func schemaProblems(err error) []Problem {
	faulty, ok := errors.AsType[*jsonschema.CompileError](err)
	if !ok {
		return []Problem{{Index: noTool, Code: CodeSchemaInvalid, Message: "is not a valid JSON Schema"}}
	}
	var problems []Problem
	for _, f := range faulty.Faults {
		problems = append(problems, Problem{Index: noTool, Code: Code("schema_" + f.Code), Pointer: f.Pointer, Message: f.Message})
	}
	return problems
}

// Validate checks one JSON document, given as its bytes. Numbers keep all their digits. The error, if any, is an
// [*InstanceError] with every issue found.
func (v *Validator) Validate(document []byte) error {
	err := v.compiled.Validate(document)
	if err == nil {
		return nil
	}
	return instanceError(err)
}
