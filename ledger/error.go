package ledger

import (
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Codes of errors.
const (
	codeAdapter toolwire.Code = "invalid_adapter" // a ledger adapter
	codeSchema  toolwire.Code = "invalid_schema"  // a ledger schema
	codeState   toolwire.Code = "invalid_state"   // an initial state
)

// problems collects what is wrong under one place of a document.
type problems = problem.List[toolwire.Problem]

// addUnreadable adds an error of the strict reader.
func addUnreadable(ps *problems, pointer string, err error) {
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		ps.Add("invalid_json", pointer+e.Pointer, "is not strict JSON: %s", e.Problem)
		return
	}
	ps.Add("invalid_json", pointer, "is not strict JSON")
}

// errorOf returns nil if there are no problems. A nil *Error in an error would not be nil.
func errorOf(code toolwire.Code, ps problems) error {
	if ps.Len() == 0 {
		return nil
	}
	return &toolwire.Error{Package: "ledger", Code: code, Problems: ps.Found, More: ps.More}
}

// unreadable returns the error for a document that the strict reader rejects.
func unreadable(code toolwire.Code, err error) error {
	var ps problems
	addUnreadable(&ps, "", err)
	return &toolwire.Error{Package: "ledger", Code: code, Problems: ps.Found, Err: err}
}

// token returns "/" and name as a reference token of a JSON Pointer.
func token(name string) string { return rawjson.Token(name) }
