package sqlitestore

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire/manifest/catalog"
)

// Code says what went wrong, in a form that a program can compare. The values are stable.
type Code string

// The codes.
const (
	CodeOptions Code = "invalid_options"
	CodeOpen    Code = "open"   // the file or its folder is missing, not writable, or not on a local disk
	CodeSchema  Code = "schema" // the file is not of this package, or of another version of it
	CodeBusy    Code = "busy"   // another process wrote for longer than Options.BusyTimeout
	CodeFailed  Code = "failed" // anything else that SQLite reports, such as a full disk
)

// Error is the error of this package; find it with errors.As. It holds nothing of a record. What a [catalog.Store] promises
// to report as a [*catalog.Error], and the end of a context, are reported as that.
type Error struct {
	Code    Code
	Message string // what is wrong and what to do

	err error
}

// Error is the message, and what SQLite says.
func (e *Error) Error() string {
	if e.err == nil {
		return "sqlitestore: " + e.Message
	}
	return "sqlitestore: " + e.Message + ": " + e.err.Error()
}

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Result codes of SQLite.
const (
	codeBusy         = 5
	codeReadOnly     = 8
	codeCannotOpen   = 14
	codeConstraint   = 19
	codeNotADatabase = 26
)

// explain makes an error of this package of one of SQLite's.
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
	case codeConstraint: // the only ones are those of ids and names
		return &catalog.Error{Code: catalog.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case codeReadOnly, codeCannotOpen:
		return &Error{Code: CodeOpen, Message: "the file cannot be used; it and its folder must be writable", err: err}
	case codeBusy:
		return &Error{Code: CodeBusy, Message: "another process keeps the file locked; try again, or raise Options.BusyTimeout",
			err: err}
	}
	return &Error{Code: CodeFailed, Message: "SQLite failed", err: err}
}
