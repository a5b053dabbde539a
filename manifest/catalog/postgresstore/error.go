package postgresstore

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
	CodeOptions   Code = "invalid_options" // the arguments of Open are not valid
	CodeSchema    Code = "schema"          // the tables are missing, of another program, or of a newer version of this package
	CodeTransport Code = "transport"       // the database could not be reached within Options.RetryTimeout; nothing was written
	CodeUnknown   Code = "unknown"         // the connection was lost during a commit: the write may have happened
	CodeFailed    Code = "failed"          // anything else that Postgres reports, such as a missing right or a full disk
)

// Error is the error type of this package. Its text contains nothing of a stored tool and no
// password. Errors that [catalog.Store] defines are [*catalog.Error] instead; if a context ends, the
// error is the context's.
type Error struct {
	Code    Code
	Message string // what is wrong and what to do
	Err     error  // the cause: an error of pgx; nil if there is none
}

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return "postgresstore: " + e.Message
	}
	return "postgresstore: " + e.Message + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// explain converts an error of pgx.
func explain(ctx context.Context, tool string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*catalog.Error](err); ok {
		return err
	}
	if ctx.Err() != nil { // pgx wraps it, or reports the connection that it closed
		return ctx.Err()
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if l, is := err.(lost); is {
		return &Error{Code: CodeTransport, Message: "the database cannot be reached; nothing was written", Err: l.error}
	}
	switch state(err, 5) {
	case "23505": // ids and names are the only constraints
		return &catalog.Error{Code: catalog.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case "42P01", "42P07", "42703": // a table is missing or there, or a column is missing
		return &Error{Code: CodeSchema, Message: "the tables are not those of this package; use another schema", Err: err}
	}
	return &Error{Code: CodeFailed, Message: "Postgres failed", Err: err}
}
