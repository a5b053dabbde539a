package ledger

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// A Code names a rule that a declaration or a document breaks. Codes are stable: programs may branch on them.
type Code string

// Codes of declaration problems.
const (
	CodeWrongType       Code = "wrong_type"       // a member has another JSON type than documented
	CodeWrongCase       Code = "wrong_case"       // a member's name differs from a known one only by case
	CodeMissing         Code = "missing"          // a required member is absent or empty
	CodeInvalidName     Code = "invalid_name"     // an entity type or field name is not ^[a-z][a-z0-9_]*$
	CodeInvalidValue    Code = "invalid_value"    // a value is none of the documented ones
	CodeDuplicate       Code = "duplicate"        // a name that must be unique stands twice
	CodeTooMany         Code = "too_many"         // a list is longer than its limit
	CodeNotInEnum       Code = "not_in_enum"      // a value is none of those that a field's enum lists
	CodeUndeclared      Code = "undeclared"       // an entity type, field or flag is not in the ledger schema
	CodeForbidden       Code = "forbidden"        // a member must be left out with this op
	CodeInvalidPath     Code = "invalid_path"     // a path is none that adapters may use
	CodeInvalidTemplate Code = "invalid_template" // a flag template has a stray brace or is empty
	CodeUnsupported     Code = "unsupported"      // a member of a later release that is kept but cannot be evaluated here
	CodeInvalidJSON     Code = "invalid_json"     // a document is not one strict JSON value within its limits
)

// A Problem is one thing wrong with a declaration or a document.
type Problem struct {
	Code    Code   `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the declaration; "" is the whole of it
	Message string `json:"message"` // a sentence that says what is wrong and what to do; never quotes values of calls
}

// String returns "pointer: message".
func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// Error is the error type of this package. It lists every problem found, in the order of the document and then of the
// documented members, so equal input gives an equal error. Its Code is that of the first problem.
type Error struct {
	Code     Code      `json:"code"`
	Subject  string    `json:"subject"` // what was looked at: "ledger schema", "ledger adapter", "initial state"
	Problems []Problem `json:"problems"`
}

// Error lists all problems, one per line when there are several.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("invalid %s: %s", e.Subject, e.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "invalid %s: %d problems", e.Subject, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// problems collects what is wrong under one place of a document.
type problems []Problem

func (ps *problems) add(code Code, pointer, format string, args ...any) {
	*ps = append(*ps, Problem{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// under adds the problems of a part, whose pointers start at the part, below prefix.
func (ps *problems) under(prefix string, part problems) {
	for _, p := range part {
		p.Pointer = prefix + p.Pointer
		*ps = append(*ps, p)
	}
}

// unreadable adds an error of the strict reader.
func (ps *problems) unreadable(pointer string, err error) {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		ps.add(CodeInvalidJSON, pointer+e.Pointer, "is not strict JSON: %s", e.Problem)
		return
	}
	ps.add(CodeInvalidJSON, pointer, "is not strict JSON")
}

// documentError is the error of a document that the strict reader refused.
func documentError(subject string, err error) error {
	var ps problems
	ps.unreadable("", err)
	return ps.err(subject)
}

// err returns nil when there are no problems; a nil *Error in an error would not be nil.
func (ps problems) err(subject string) error {
	if len(ps) == 0 {
		return nil
	}
	return &Error{Code: ps[0].Code, Subject: subject, Problems: ps}
}

// token returns "/" and name as a reference token of a JSON Pointer.
func token(name string) string { return rawjson.Token(name) }
