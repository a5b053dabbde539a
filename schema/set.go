package schema

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Set validates the arguments and results of calls by tool name. It is immutable and safe for
// concurrent use.
type Set struct {
	tools     map[string]compiledTool
	unchecked []toolwire.Problem
}

type compiledTool struct {
	input, output *Validator
}

// NewSet validates the tools as [Validate] does and compiles their schemas. If o is nil, the
// defaults apply. Its Limits apply to documents too. Schemas that this package can check only in
// part are accepted; see [Set.Unchecked]. As on the platform, the parameter reasoning of a toolbox is not
// required.
func NewSet(ctx context.Context, tools []Tool, o *ValidateOptions) (*Set, error) {
	var opts ValidateOptions
	if o != nil {
		opts = *o
	}
	c := newChecker(ctx, &opts)
	unchecked, err := c.list(tools)
	if err != nil {
		return nil, err
	}
	s := &Set{tools: make(map[string]compiledTool, len(tools)), unchecked: unchecked}
	for i := range tools {
		t := &tools[i]
		s.tools[t.Name] = compiledTool{c.validator(toolresult.Registered(t.InputSchema)), c.validator(t.OutputSchema)}
	}
	return s, nil
}

// validator returns the validator of a schema. It returns nil if there is no schema.
func (c *checker) validator(raw json.RawMessage) *Validator {
	if len(raw) == 0 {
		return nil
	}
	return &Validator{c.compile(raw).schema}
}

// Unchecked returns what [Validate] lists as unchecked. ValidateArguments and ValidateResult ignore
// those parts of a schema, or the whole schema, as [Validator.Unchecked] says: arguments that only
// such a part would reject are valid here and are rejected by the platform.
func (s *Set) Unchecked() []toolwire.Problem { return slices.Clone(s.unchecked) }

// ValidateArguments validates the arguments of a call against the tool's input schema. Names are
// case-sensitive. Blank arguments count as {}. What is not an object is not valid, whatever the schema says.
// The error is a [*toolwire.Error] that names the tool. Its code is toolwire.CodeUnknownTool if the set has
// no tool of that name.
func (s *Set) ValidateArguments(name string, arguments []byte) error {
	kind := rawjson.Kind(arguments)
	if kind == 0 {
		arguments, kind = []byte(`{}`), '{'
	}
	tool, ok := s.tools[name]
	err := validatePart(name, "arguments", ok, tool.input, arguments)
	if err == nil && kind != '{' {
		e := notDocument(toolwire.CodeMismatch, "type", "must be an object, not "+rawjson.KindName(kind))
		e.Tool, e.Message = text.Cut(name, 128), "arguments"
		return e
	}
	return err
}

// ValidateResult validates a tool's response against its output schema. Without an output schema
// any JSON is valid. The error is as for ValidateArguments.
func (s *Set) ValidateResult(name string, result []byte) error {
	tool, ok := s.tools[name]
	return validatePart(name, "result", ok, tool.output, result)
}

func validatePart(name, part string, known bool, v *Validator, document []byte) error {
	var e *toolwire.Error
	switch {
	case !known:
		part = "" // the document was not looked at
		e = notDocument(toolwire.CodeUnknownTool, "unknown_tool", "no tool has this name; names are case-sensitive")
	case v != nil:
		err := v.compiled.Validate(document)
		if err == nil {
			return nil
		}
		e = documentError(err)
	default:
		limits := rawjson.Limits{Mode: rawjson.Unique} // as for a document with a schema
		if rawjson.Check(document, limits) == nil {
			return nil
		}
		e = notDocument(toolwire.CodeInvalidJSON, "not_json", "is not strict JSON")
	}
	e.Tool, e.Message = text.Cut(name, 128), part
	return e
}
