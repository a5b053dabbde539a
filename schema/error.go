package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
)

// A Code says why a call of this package failed. Codes are stable.
type Code string

// Codes of an [Error].
const (
	// CodeInvalid means that a declaration is not valid: a tool list, a schema, a Go type or a
	// limit.
	CodeInvalid Code = "invalid"
	// CodeUnchecked means that a schema may be valid, and that this package does not check a part of
	// it that may exclude documents.
	CodeUnchecked Code = "unchecked"
	// CodeMismatch means that a document does not match its schema.
	CodeMismatch Code = "mismatch"
	// CodeNotJSON means that a document is not one strict JSON value: it is malformed, it repeats
	// a member name, or it is not valid UTF-8.
	CodeNotJSON Code = "not_json"
	// CodeLimit means that a document exceeds a limit, so it was not validated.
	CodeLimit Code = "limit"
	// CodeUnknownTool means that the set has no tool of that name.
	CodeUnknownTool Code = "unknown_tool"
)

// An Error is the error type of this package. It contains the problems that were found, in a stable
// order: at most 100 of declarations, and at most 20 of a document.
//
// Problems of a tool list are ordered by tool; members of the wrong type come first. Problems of a
// document are ordered by place, and each occurs once. Neither the error nor a Message contains a
// value of a document. They contain names, kinds, lengths, and what the schema requires, so they
// can be shown to a model.
type Error struct {
	Code     Code
	Tool     string // the tool whose call was validated; "" for anything else
	Part     string // "arguments" or "result", if known; "" for declarations and unknown tools
	Problems []Problem
	More     int   // problems that are not listed
	Err      error // errors of ValidateOptions.Endpoint, and the error of a context that ended; may be nil
}

// A Problem is one rule that a declaration or a document breaks, or a warning of [Lint], or a loss
// of [Export].
//
// A list has at most 100 problems. If there are more, a last one with the code more_problems tells their number.
// Code is one of these stable words:
//
//	tool lists      not_json not_list too_many not_object wrong_type wrong_case name_missing
//	                name_invalid name_duplicate input_schema_missing mode_invalid binding_missing
//	                binding_both_ids binding_no_endpoint binding_endpoint_id binding_tool_name
//	                endpoint_missing endpoint_type endpoint_foreign endpoint_tool
//	                endpoint_lookup later_release
//	                policy_invalid adapter_missing
//	                adapter_undeclared adapter_invalid adapter_unsupported
//	other formats   built_in list_incomplete format_unknown format_mixed member_clash
//	schemas         schema_not_object schema_invalid schema_not_json schema_too_large
//	                schema_too_deep schema_too_complex schema_draft_unknown schema_keyword_ignored
//	                schema_no_keyword schema_ref_broken schema_ref_remote schema_ref_cycle
//	                schema_pattern_unsupported
//	options         limits_invalid
//	every list      more_problems
//	Go types        type_unsupported type_recursive type_too_large tag_invalid
//	documents       the schema keyword that failed, such as type or required; mismatch if there is
//	                none; or not_json, limit or unknown_tool
//	Lint            no_description description_long name_long name_case no_type root_keyword
//	                keyword_misspelt keyword_unused contradiction
//	                default_invalid empty_object type_list required_unknown property_undescribed output_deep
//	                output_no_failure binding_unused policy_unused adapter_unused secret
//	                field_undeclared path_undeclared placeholder_unknown schema_old_form
//	                schema_member_null schema_annotation_invalid, and those that Validate lists
//	Export          left_out required
type Problem struct {
	// Tool is the tool's name, cut to 128 bytes. It is "" if the tool has none or the problem is not
	// about one tool.
	Tool string `json:"tool,omitempty"`
	Code string `json:"code"`
	// Pointer is a JSON Pointer (RFC 6901) into the list of tools, the schema or the document. In a
	// list it begins with the place of the tool, from 0: /2/input_schema. For a Go type it is a path
	// of Go names, such as /Order/Items. Names longer than 80 bytes are cut.
	Pointer string `json:"pointer"`
	Message string `json:"message"` // what is wrong and what to do, without the tool and the place
}

// String returns tool, pointer, message and code on one line.
func (p Problem) String() string { return problem.Problem(p).String() }

// Error returns the problems. For a document it is one line. For a declaration with several
// problems it is one line per problem.
func (e *Error) Error() string {
	if e.Code == CodeInvalid || e.Code == CodeUnchecked {
		return problem.Lines(e.Problems, e.More)
	}
	var b strings.Builder
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", e.Tool)
	}
	if e.Part != "" {
		b.WriteString(e.Part + ": ")
	}
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(problem.Problem(p).Describe())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// invalid returns the error for problems of declarations. It returns nil if there are none.
func invalid(found problem.List[Problem], causes ...error) error {
	if found.Len() == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Problems: found.Found, More: found.More, Err: errors.Join(causes...)}
}

// oneProblem returns the error for one problem that is not about one tool.
func oneProblem(code, pointer, message string) error {
	return &Error{Code: CodeInvalid, Problems: []Problem{{Code: code, Pointer: pointer, Message: message}}}
}

// documentError returns the error for a document that a compiled schema rejects.
func documentError(err error) *Error {
	rejected, ok := errors.AsType[*jsonschema.InvalidError](err)
	if !ok {
		return notDocument(CodeNotJSON, "is not valid JSON")
	}
	e := &Error{Code: Code(rejected.Code), More: rejected.More, Problems: make([]Problem, len(rejected.Issues))}
	for i, issue := range rejected.Issues {
		code := issue.Keyword
		if code == "" {
			code = rejected.Code
		}
		e.Problems[i] = Problem{Code: code, Pointer: issue.Pointer, Message: issue.Message}
	}
	return e
}

// notDocument returns the error for a document that no schema was applied to.
func notDocument(code Code, message string) *Error {
	return &Error{Code: code, Problems: []Problem{{Code: string(code), Message: message}}}
}
