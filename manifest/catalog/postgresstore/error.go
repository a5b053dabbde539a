package postgresstore

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire/manifest/catalog"
)

// The codes of failures, beside those that [catalog.Store] defines and [catalog.CodeOptions]. If the
// database could not be reached within Options.RetryTimeout, and nothing was written, the code is
// [catalog.CodeTransport].
const (
	CodeSchema  catalog.Code = "schema"  // the tables are missing, of another program, or of a newer version of this package
	CodeUnknown catalog.Code = "unknown" // the connection was lost during a commit: the write may have happened
	CodeFailed  catalog.Code = "failed"  // anything else that Postgres reports, such as a missing right or a full disk
)

// failure returns an error with its cause, which may be nil. The cause contains nothing of a stored tool
// and no password.
func failure(code catalog.Code, message string, cause error) error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &catalog.Error{Code: code, Message: message, Err: cause}
}

// explain converts an error of pgx.
func explain(ctx context.Context, tool string, err error) error {
	switch e, ok := errors.AsType[*catalog.Error](err); {
	case err == nil || ok && e.Code != CodeUnknown:
		return err
	case ctx.Err() != nil: // pgx wraps it, or reports the connection that it closed
		return ctx.Err()
	case ok:
		return err
	}
	if l, is := err.(lost); is && state(err, 2) != "40" {
		return failure(catalog.CodeTransport, "the database cannot be reached; nothing was written", l.error)
	}
	switch state(err, 5) {
	case "23505": // ids and names are the only constraints
		return &catalog.Error{Code: catalog.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case "42P01", "42P07", "42703": // a table is missing or there, or a column is missing
		return failure(CodeSchema, "the tables were not made by this package; use another schema", err)
	}
	return failure(CodeFailed, "Postgres failed", err)
}
