package catalog

import (
	"fmt"
	"strings"
	"time"
)

// Code says what went wrong, in a form that a program can compare. The values are stable.
type Code string

// The codes. Those with a status are what that status means, whether a [Client] was answered so or a [Store] or
// validation is about to.
const (
	CodeOptions      Code = "invalid_options" // a constructor was given something unusable; Problems says what
	CodeInvalid      Code = "validation"      // 422, or refused before sending: Problems lists fields
	CodePlugin       Code = "invalid_plugin"  // 400, or success false: the uploaded source
	CodeBadRequest   Code = "bad_request"     // 400, or success false: any other reason
	CodeUnauthorized Code = "unauthorized"    // 401
	CodeForbidden    Code = "forbidden"       // 403
	CodeNotFound     Code = "not_found"       // 404: unknown, deleted, or of another account
	CodeConflict     Code = "conflict"        // 409: the name is taken
	CodeTooLarge     Code = "too_large"       // 413, or beyond a limit of the options
	CodeRateLimited  Code = "rate_limited"    // 429
	CodeTimeout      Code = "timeout"         // 408, 504, or no answer in time
	CodeServer       Code = "server"          // any other 5xx
	CodeUnreachable  Code = "unreachable"     // no connection
	CodeBadAnswer    Code = "bad_answer"      // the answer is none that a catalog gives
	CodeCanceled     Code = "canceled"        // the caller's context was cancelled
)

// Error is the error of this package; find it with errors.As. It holds no key, no source code and no value of a field but a
// tool's name. A [Store] returns it with CodeNotFound or CodeConflict; these need no more than the code.
type Error struct {
	Code    Code
	Status  int    // HTTP status; 0 if there was none
	Message string // what is wrong and what to do. From a server it is the server's word; "" is the code in words
	Tool    string // the tool's name or id, "" where there is none

	// Problems lists everything that is wrong with fields, in the order of the documented tables.
	Problems []Problem

	RetryAfter time.Duration // what the server asked for, mostly with CodeRateLimited or 503; 0 if it did not
	RequestID  string        // the server's id of the request, from the header X-Request-Id; "" if it gave none

	err error
}

// Problem is one field that breaks a rule.
type Problem struct {
	Field   string // the JSON member's name; with a server's word its whole location, joined by dots: "body.name"
	Type    string // a stable word for the rule: "missing", "enum", "uuid", "too_long", "type", …
	Message string // says what to do, without the value
}

func (p Problem) String() string { return p.Field + ": " + p.Message }

// Error says what is wrong, with all problems, one per line when there are several.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("catalog: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", e.Tool)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d: ", e.Status)
	}
	if e.Message != "" {
		b.WriteString(e.Message)
	} else {
		b.WriteString(strings.ReplaceAll(string(e.Code), "_", " "))
	}
	for i, p := range e.Problems {
		if i == 0 && len(e.Problems) == 1 {
			b.WriteString(": " + p.String())
		} else {
			b.WriteString("\n\t" + p.String())
		}
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Unwrap returns the cause, if there is one: the context's error, or the transport's.
func (e *Error) Unwrap() error { return e.err }
