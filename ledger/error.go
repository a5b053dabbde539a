package ledger

import (
	"errors"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Code names what is not valid. Codes are stable.
type Code string

// Codes of an [Error].
const (
	CodeAdapter Code = "invalid_adapter" // a ledger adapter
	CodeSchema  Code = "invalid_schema"  // a ledger schema
	CodeState   Code = "invalid_state"   // an initial state
)

// An Error is the error type of this package. It contains the problems that were found, in the
// order of the document and then of the documented members, so equal input gives an equal error.
type Error struct {
	Code     Code
	Problems []Problem // at most 100
	More     int       // problems that are not listed
	Err      error     // the error of a document that is not strict JSON; may be nil
}

// A Problem is one thing that is wrong with a declaration, a document or an [Update].
//
// Code is one of these stable words:
//
//	wrong_type        a member has another JSON type than documented
//	wrong_case        a member's name differs from a known one by case only
//	missing           a required member is absent or empty
//	invalid_name      an entity type or field name is not ^[a-z][a-z0-9_]*$
//	invalid_value     a value is not one of the documented values
//	duplicate         a name that must be unique repeats
//	too_many          a list is longer than its limit
//	not_in_enum       a value is not one of those that the field's enum lists
//	undeclared        an entity type, field or flag is not in the ledger schema
//	forbidden         a member must be left out with this op
//	invalid_path      a path is not a JSONPath, or the path of an id selects a list
//	invalid_template  a flag template has a stray brace or is empty
//	unsupported       a path, or a member or op of a later release, is kept and not evaluated
//	invalid_json      a document is not one strict JSON value within its limits
//	more_problems     the last of a list: the number of problems beyond the first 100
type Problem struct {
	Tool    string `json:"tool,omitempty"` // "": a declaration of a ledger belongs to no single tool
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the declaration; "" for the whole declaration
	Message string `json:"message"` // what is wrong and what to do; contains no value of a call
}

// String returns pointer, message and code on one line.
func (p Problem) String() string { return problem.Problem(p).String() }

// Error returns all problems, one per line if there are several.
func (e *Error) Error() string {
	subject := "ledger schema"
	switch e.Code {
	case CodeAdapter:
		subject = "ledger adapter"
	case CodeState:
		subject = "initial state"
	}
	return "invalid " + subject + ": " + problem.Lines(e.Problems, e.More)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// problems collects what is wrong under one place of a document.
type problems = problem.List[Problem]

// addUnreadable adds an error of the strict reader.
func addUnreadable(ps *problems, pointer string, err error) {
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		ps.Add("invalid_json", pointer+e.Pointer, "is not strict JSON: %s", e.Problem)
		return
	}
	ps.Add("invalid_json", pointer, "is not strict JSON")
}

// errorOf returns nil if there are no problems. A nil *Error in an error would not be nil.
func errorOf(code Code, ps problems) error {
	if ps.Len() == 0 {
		return nil
	}
	return &Error{Code: code, Problems: ps.Found, More: ps.More}
}

// unreadable returns the error for a document that the strict reader rejects.
func unreadable(code Code, err error) error {
	var ps problems
	addUnreadable(&ps, "", err)
	return &Error{Code: code, Problems: ps.Found, Err: err}
}

// token returns "/" and name as a reference token of a JSON Pointer.
func token(name string) string { return rawjson.Token(name) }
