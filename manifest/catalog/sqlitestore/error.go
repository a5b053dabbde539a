package sqlitestore

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Code classifies an [Error]. The values are stable.
type Code string

// The codes.
const (
	CodeOptions Code = "invalid_options" // the options are not valid
	CodeOpen    Code = "open"            // the file or its folder is missing, not writable, or not on a local disk
	CodeSchema  Code = "schema"          // another program, or another version of this package, wrote the file
	CodeBusy    Code = "busy"            // another process wrote for longer than Options.BusyTimeout
	CodeFailed  Code = "failed"          // anything else that SQLite reports, such as a full disk
)

// Error is the error type of this package. It contains nothing of a stored tool. Errors that
// [catalog.Store] defines are [*catalog.Error] instead; if a context ends, the error is the
// context's.
type Error struct {
	Code    Code
	Message string // what is wrong and what to do
	Err     error  // the cause: an error of SQLite or of the operating system; nil if there is none
}

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return "sqlitestore: " + e.Message
	}
	return "sqlitestore: " + e.Message + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Result codes of SQLite.
const (
	codeBusy         = 5
	codeReadOnly     = 8
	codeCannotOpen   = 14
	codeConstraint   = 19
	codeNotADatabase = 26
)

// explain converts an error of SQLite.
func (s *Store) explain(ctx context.Context, tool string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*catalog.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if ctx.Err() != nil { // SQLite says "interrupted"
		return ctx.Err()
	}
	switch code(err) {
	case codeConstraint: // ids and names are the only constraints
		return &catalog.Error{Code: catalog.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case codeReadOnly, codeCannotOpen:
		return &Error{Code: CodeOpen, Message: "the file cannot be used; it and its folder must be writable", Err: err}
	case codeBusy:
		return &Error{Code: CodeBusy,
			Message: "another process holds the lock of the file; try again, or raise Options.BusyTimeout",
			Err:     err}
	}
	return &Error{Code: CodeFailed, Message: "SQLite failed", Err: err}
}
