package schema

import (
	"encoding/json"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
)

// CompileOptions configures [Compile]. The zero value is the default.
type CompileOptions struct {
	// AssertFormats makes "format" a rule. By default it is an annotation, in every draft. The
	// known formats are date-time, date, time, duration, email, hostname, ipv4, ipv6, uri,
	// uri-reference, uri-template, uuid, regex, json-pointer, relative-json-pointer, iri,
	// iri-reference, period and semver. Others are ignored.
	AssertFormats bool
	// Resources contains schemas that "$ref" and "$schema" may name, by absolute URL without a
	// fragment. Other schemas are not loaded, neither from the network nor from files. Each is
	// bounded like the schema itself.
	Resources map[string]json.RawMessage
	// AllowUnchecked accepts a schema of which some part lets documents through that its author may
	// have excluded. Validation ignores that part; see [Validator.Unchecked].
	AllowUnchecked bool
	// Limits bounds the schema and the documents.
	Limits Limits
}

// Limits bounds what a schema and a document may cost. A zero field means its default; a negative
// field is reported as a [*toolwire.Error].
//
// Other bounds follow from these: the properties and references of a schema (by default 1,000 and
// 10,000), and the values of a document and the steps of its validation (by default 50,000 and
// 100,000). They grow in proportion if SchemaBytes or Bytes is above its default. With the
// defaults, compiling a schema and validating a document each take at most about 100 ms. A regular
// expression may take at most 1 KiB, and a string that it is applied to at most 16 KiB.
type Limits struct {
	SchemaBytes int // size of one schema; defaults to 64 KiB
	Bytes       int // size of a document; defaults to 1 MiB
	Depth       int // nesting of a schema and of a document; defaults to 64
}

// inner returns the limits of the validator.
func (l Limits) inner() jsonschema.Limits {
	return jsonschema.Limits{SchemaBytes: l.SchemaBytes, Bytes: l.Bytes, Depth: l.Depth}
}

func (l Limits) problems() (list problem.List[toolwire.Problem]) {
	reject := func(name, rule string) { list.Add("limits_invalid", "", "Limits.%s %s", name, rule) }
	problem.Limit(reject, "SchemaBytes", &l.SchemaBytes, jsonschema.DefaultSchemaBytes)
	problem.Limit(reject, "Bytes", &l.Bytes, jsonschema.DefaultBytes)
	problem.Limit(reject, "Depth", &l.Depth, jsonschema.DefaultDepth)
	return list
}

// A Validator validates JSON documents against one schema. It is immutable and safe for concurrent
// use.
type Validator struct {
	compiled *jsonschema.Schema
}

// Compile compiles a JSON Schema of draft 2020-12 (the default), 2019-09, 7, 6 or 4. The root need
// not describe an object; only a [Tool] requires that. If o is nil, the defaults apply.
//
// A schema that names a known draft in "$schema" is read by that draft. Any other schema is read as
// draft 2020-12, and so are these forms of older drafts in it: a boolean exclusiveMinimum or
// exclusiveMaximum, a list in items with additionalItems, and references through them, an id that is
// only a fragment, a boolean required, the type "any", a name in dependencies, the keywords extends,
// disallow and divisibleBy, and keywords that are null. In every schema an annotation of the wrong type,
// such as a title that is a number, is left out. [Lint] reports each of these places.
//
// A regular expression has the meaning that it has in JavaScript. Package regexp (RE2) limits what is
// supported: \s, \uXXXX and \p{Script=Greek} are, and so are look-aheads directly after ^, as in
// ^(?=.*[0-9]).{8,}$. Other look-arounds and back-references are not.
//
// The error is a [*toolwire.Error]. Its code is toolwire.CodeInvalid if the schema or o is not valid. It is
// toolwire.CodeUnchecked if some part of the schema would let documents through that its author may have
// excluded. Such a schema exceeds the limits, refers to an external schema, contains a regular
// expression that Go does not support, or contains a schema without any keyword of JSON Schema. The
// pointers start at the schema, as its author wrote it. The codes begin with "schema_" unless they
// are about o.
func Compile(schema json.RawMessage, o *CompileOptions) (*Validator, error) {
	var opts CompileOptions
	if o != nil {
		opts = *o
	}
	if err := invalid(opts.Limits.problems()); err != nil {
		return nil, err
	}
	return compileWithin(schema, &opts, opts.Limits.inner())
}

func compileWithin(schema json.RawMessage, o *CompileOptions, limits jsonschema.Limits) (*Validator, error) {
	options := jsonschema.Options{Limits: limits, AssertFormats: o.AssertFormats, AllowUnchecked: o.AllowUnchecked}
	if len(o.Resources) > 0 {
		options.Resources = make(map[string][]byte, len(o.Resources))
		for at, raw := range o.Resources {
			options.Resources[at] = raw
		}
	}
	compiled, faults := jsonschema.Compile(schema, &options)
	if faults.Len() > 0 {
		list := schemaProblems(faults)
		if jsonschema.Invalid(faults.Found) {
			return nil, invalid(list)
		}
		return nil, &toolwire.Error{Package: "schema", Code: toolwire.CodeUnchecked, Problems: list.Found, More: list.More}
	}
	return &Validator{compiled}, nil
}

// schemaProblems returns the problems of a schema. Their pointers start at the schema.
func schemaProblems(faults jsonschema.Faults) (list problem.List[toolwire.Problem]) {
	for _, f := range faults.Found {
		list.Add("schema_"+f.Code, f.Pointer, "%s", f.Message)
	}
	list.More = faults.More
	return list
}

// Unchecked returns what the validator ignores although it may limit which documents are valid:
// keywords that the named draft does not have, "nullable", and with CompileOptions.AllowUnchecked
// the parts for which Compile returns toolwire.CodeUnchecked otherwise. An unknown "$schema" is listed too.
//
// A regular expression that Go does not support and a reference to an external schema are ignored, and
// everything else is checked. Every document that is strict JSON within the limits is valid if the
// schema exceeds the limits, if patternProperties contains such an expression, or if the schema has
// such a part and one of the keywords not, if, oneOf and maxContains. No answer would be safe there.
func (v *Validator) Unchecked() []toolwire.Problem {
	return schemaProblems(v.compiled.Unchecked()).All()
}

// Validate validates one JSON document. Numbers keep all their digits. The error is a [*toolwire.Error]
// with toolwire.CodeMismatch, not_json or toolwire.CodeLimit.
func (v *Validator) Validate(document []byte) error {
	if err := v.compiled.Validate(document); err != nil {
		return documentError(err)
	}
	return nil
}
