package postgresstore

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
)

// Codes of failures.
const (
	codeSchema  toolwire.Code = "schema"  // the tables are missing, of another program, or of a newer version of this package
	codeUnknown toolwire.Code = "unknown" // the connection was lost during a commit: the write may have happened
	codeFailed  toolwire.Code = "failed"  // anything else that Postgres reports, such as a missing right or a full disk
)

// failure returns an error with its cause, which may be nil. The cause contains nothing of a stored tool
// and no password.
func failure(code toolwire.Code, message string, cause error) error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &toolwire.Error{Package: "postgresstore", Code: code, Message: message, Err: cause}
}

// quiet hides the password, which a server may repeat, in the text of an error of pgx.
func (s *Store) quiet(err error) error { return problem.Quiet(s.secrets.Redact(err.Error()), err) }

// explain converts an error of pgx.
func (s *Store) explain(ctx context.Context, tool string, err error) error {
	switch e, ok := errors.AsType[*toolwire.Error](err); {
	case err == nil || ok && e.Code != codeUnknown:
		return err
	case ctx.Err() != nil: // pgx wraps it, or reports the connection that it closed
		return ctx.Err()
	case ok:
		return err
	}
	if l, is := err.(lost); is && state(err, 2) != "40" {
		return failure(toolwire.CodeTransport, "the database cannot be reached; nothing was written", s.quiet(l.error))
	}
	switch state(err, 5) {
	case "23505": // ids and names are the only constraints
		return &toolwire.Error{Package: "postgresstore", Code: toolwire.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case "42P01", "42P07", "42703": // a table is missing or there, or a column is missing
		return failure(codeSchema, "the tables were not made by this package; use another schema", s.quiet(err))
	case "42501":
		return failure(codeFailed, "the role lacks a right; schema.sql names those that it needs, and makes the tables beforehand", s.quiet(err))
	}
	return failure(codeFailed, "Postgres failed", s.quiet(err))
}
