package schema

import (
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
)

// invalid returns the error for problems of declarations. It returns nil if there are none.
func invalid(found problem.List[toolwire.Problem], causes ...error) error {
	if found.Len() == 0 {
		return nil
	}
	code := toolwire.CodeInvalid
	if found.Found[0].Code == "limits_invalid" {
		code = toolwire.CodeInvalidOptions
	}
	return &toolwire.Error{Package: "schema", Code: code, Problems: found.Found, More: found.More,
		Err: errors.Join(causes...)}
}

// oneProblem returns the error for one problem that is not about one tool.
func oneProblem(code, pointer, message string) error {
	return &toolwire.Error{Package: "schema", Code: toolwire.CodeInvalid,
		Problems: []toolwire.Problem{{Code: code, Pointer: pointer, Message: message}}}
}

// documentError returns the error for a document that a compiled schema rejects.
func documentError(err error) *toolwire.Error {
	rejected, ok := errors.AsType[*jsonschema.InvalidError](err)
	if !ok {
		return notDocument(toolwire.CodeInvalidJSON, "not_json", "is not valid JSON")
	}
	e := &toolwire.Error{Package: "schema", Code: toolwire.Code(rejected.Code), More: rejected.More,
		Problems: make([]toolwire.Problem, len(rejected.Issues))}
	if e.Code == "not_json" {
		e.Code = toolwire.CodeInvalidJSON
	}
	for i, issue := range rejected.Issues {
		code := issue.Keyword
		if code == "" {
			code = rejected.Code
		}
		e.Problems[i] = toolwire.Problem{Code: code, Pointer: issue.Pointer, Message: issue.Message}
	}
	return e
}

// notDocument returns the error for a document that no schema was applied to.
func notDocument(code toolwire.Code, problem, message string) *toolwire.Error {
	return &toolwire.Error{Package: "schema", Code: code, Problems: []toolwire.Problem{{Code: problem, Message: message}}}
}
