package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/clip"
)

// SetOptions says how to compile a set. The zero value is the default.
type SetOptions struct {
	// Validate adds to what [Validate] checks; its Limits hold for documents too.
	Validate ValidateOptions
	// AssertFormats makes "format" a rule; see [CompileOptions].
	AssertFormats bool
}

// A Set is a list of valid tools with their schemas compiled, to check calls by tool name. It is immutable and safe for
// concurrent use.
type Set struct {
	tools  []Tool
	byName map[string]compiledTool
}

type compiledTool struct {
	input, output *Validator
}

// NewSet validates the tools as [Validate] does and compiles their schemas. Options may be nil. The tools must not be
// changed afterwards.
func NewSet(tools []Tool, o *SetOptions) (*Set, error) {
	var opts SetOptions
	if o != nil {
		opts = *o
	}
	if err := Validate(tools, &opts.Validate); err != nil {
		return nil, err
	}
	s := &Set{tools: slices.Clone(tools), byName: make(map[string]compiledTool, len(tools))}
	compileOpts := &CompileOptions{AssertFormats: opts.AssertFormats, Limits: opts.Validate.Limits}
	for i, t := range tools {
		c := compiledTool{}
		for _, part := range []struct {
			raw     json.RawMessage
			into    **Validator
			pointer string
		}{{t.InputSchema, &c.input, "/input_schema"}, {t.OutputSchema, &c.output, "/output_schema"}} {
			if len(part.raw) == 0 {
				continue
			}
			compiled, err := compile(part.raw, compileOpts)
			if err != nil {
				ps := &problems{index: i, tool: t.Name}
				ps.under(part.pointer, schemaProblems(err))
				return nil, &ValidationError{Problems: ps.list}
			}
			*part.into = &Validator{compiled}
		}
		s.byName[t.Name] = c
	}
	return s, nil
}

// Tools returns the tools in their order. The slice is the caller's own.
func (s *Set) Tools() []Tool { return slices.Clone(s.tools) }

// Has tells whether the set has a tool. Names are case-sensitive.
func (s *Set) Has(name string) bool {
	_, ok := s.byName[name]
	return ok
}

// ValidateArguments checks the arguments of a call against the tool's input schema. The error is an [*InstanceError]
// that names the tool; its code is unknown_tool when there is none of that name. Empty arguments count as {}.
func (s *Set) ValidateArguments(name string, arguments []byte) error {
	if len(arguments) == 0 {
		arguments = []byte(`{}`)
	}
	return s.validate(name, Arguments, arguments)
}

// ValidateResult checks a tool's response against its output schema; without one any JSON will do. The error is as for
// ValidateArguments.
func (s *Set) ValidateResult(name string, result []byte) error {
	return s.validate(name, Result, result)
}

func (s *Set) validate(name string, part Part, document []byte) error {
	tool, ok := s.byName[name]
	if !ok {
		return &InstanceError{Code: CodeUnknownTool, Tool: clip.Text(name, 128), Part: part,
			Issues: []Issue{{Message: "there is no such tool"}}}
	}
	v := tool.input
	if part == Result {
		v = tool.output
	}
	if v == nil {
		if _, err := readDocument(document); err != nil {
			return &InstanceError{Code: CodeNotJSON, Tool: name, Part: part, Issues: []Issue{{Message: "is not strict JSON"}}}
		}
		return nil
	}
	if err := v.compiled.Validate(document); err != nil {
		e := instanceError(err)
		e.Tool, e.Part = name, part
		return e
	}
	return nil
}
