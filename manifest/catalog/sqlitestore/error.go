package sqlitestore

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire"
)

// Codes of failures.
const (
	codeOpen   toolwire.Code = "open"   // the file or its folder is missing, not writable, or not on a local disk
	codeSchema toolwire.Code = "schema" // another program, or another version of this package, wrote the file
	codeFailed toolwire.Code = "failed" // anything else that SQLite reports, such as a full disk
)

// failure returns an error with its cause, which may be nil. The cause contains nothing of a stored tool.
func failure(code toolwire.Code, message string, cause error) error {
	if cause != nil {
		message += ": " + cause.Error()
	}
	return &toolwire.Error{Package: "sqlitestore", Code: code, Message: message, Err: cause}
}

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
	if _, ok := errors.AsType[*toolwire.Error](err); ok || err == nil {
		return err
	}
	if ctx.Err() != nil { // SQLite says "interrupted"
		return ctx.Err()
	}
	switch code(err) {
	case codeConstraint: // ids and names are the only constraints
		return &toolwire.Error{Package: "sqlitestore", Code: toolwire.CodeConflict, Tool: tool, Message: "the id or the name is taken"}
	case codeReadOnly, codeCannotOpen:
		return failure(codeOpen, "the file cannot be used; it and its folder must be writable", err)
	case codeBusy:
		return failure(toolwire.CodeBusy, "another process holds the lock of the file; try again", err)
	}
	return failure(codeFailed, "SQLite failed", err)
}
