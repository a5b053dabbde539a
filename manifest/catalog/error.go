package catalog

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Code classifies an [Error]. The values are stable.
type Code string

// The codes. A code with a status means what that status means, for a [Client] that received it and
// for a [Store] or a check that causes it.
const (
	CodeOptions      Code = "invalid_options"   // the arguments of a constructor are not valid: see Problems
	CodeInvalid      Code = "invalid_tool"      // a tool, a patch or an argument is not valid, nothing was sent: see Problems
	CodeRejected     Code = "rejected"          // 422: see Problems
	CodePlugin       Code = "invalid_plugin"    // 400, or success false: the uploaded source is not valid
	CodeRefused      Code = "refused"           // any other 4xx, or success false
	CodeUnauthorized Code = "unauthorized"      // 401
	CodeForbidden    Code = "forbidden"         // 403
	CodeNotFound     Code = "not_found"         // 404: unknown, deleted, or of another account
	CodeConflict     Code = "conflict"          // 409: the name is taken
	CodeAmbiguous    Code = "ambiguous"         // [Client.Find]: several tools have the name
	CodeTooLarge     Code = "request_too_large" // 413, or over a limit of the options
	CodeRateLimited  Code = "rate_limited"      // 429
	CodeServer       Code = "server_error"      // 5xx
	CodeStatus       Code = "unexpected_status" // any other status that is not 2xx; redirects are not followed

	CodeTransport        Code = "transport"          // no connection, or it broke
	CodeTimeout          Code = "timeout"            // no response within ClientOptions.Timeout
	CodeBadResponse      Code = "bad_response"       // the response is not one that a catalog sends
	CodeResponseTooLarge Code = "response_too_large" // it exceeds ClientOptions.MaxResponseBytes
	CodeCanceled         Code = "canceled"           // the caller's context was canceled
	CodeDeadline         Code = "deadline"           // the deadline of the caller's context passed

	codeBusy Code = "busy" // of a handler whose store cannot be reached
)

// Error is the error type of this package and of the stores in modules sqlitestore and postgresstore,
// which have more codes. It contains no key, no source code, and no value of a field except a tool's
// name. A [Store] returns it with CodeNotFound or CodeConflict; Code is the only field that a store has
// to set.
type Error struct {
	Code    Code
	Status  int    // HTTP status; 0 if no response arrived
	Message string // what is wrong and what to do; the server's text if it sent one; may be ""
	Tool    string // the tool's name or id; "" if the error does not concern one tool

	// Problems lists every invalid field, in the order of the documented tables.
	Problems []Problem

	RetryAfter time.Duration // the wait that the server asked for; 0 if it asked for none
	RequestID  string        // the header X-Request-Id of the response; "" if it had none

	Err error // the cause: the error of the context or of the transport; nil if there is none
}

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// Problem is one violation of a rule.
//
// The rules of this package, which a [Handler] also sends, are:
//
//	missing      a required field is absent
//	type         the field has another JSON type
//	enum         the value is not one of the documented values
//	uuid         the value is not a UUID
//	text         the text is blank, not UTF-8, or has control characters
//	too_long     the description is longer than HandlerOptions.MaxDescription
//	clash        two fields contradict each other
//	repeated     the field occurs more than once
//	account      the account is not the account of the key
//	fixed        the field must have, or keep, another value
//	json         the document is not strict JSON
//	form         the multipart form is malformed, or cannot carry the value
//	too_large    the content is larger than a limit
//	filename     the file name is not valid
//	encoding     the file is not UTF-8 text
//	syntax       the file is not Python
//	entry_point  the file has no entry point
//	tool_class   the file has no tool class
//	url, header, version, negative   the value of an option or argument is not valid
type Problem struct {
	Tool string `json:"tool,omitempty"` // "": Error.Tool names the tool
	Code string `json:"code"`           // the rule, from the table above; from another server, its own word, or ""

	// Pointer is a JSON Pointer (RFC 6901) to the field: "/name". Fields of a form have the same
	// pointers as members. A location that a server reports begins with its part of the request:
	// "/body/name". Options and arguments have their Go names: "/Plugin/MaxBytes", "/baseURL".
	// "" is the whole document.
	Pointer string `json:"pointer"`

	Message string `json:"message"` // what to do, without the value
}

// String returns pointer, message and code on one line.
func (p Problem) String() string { return problem.Problem(p).String() }

// at makes a problem with a field.
func at(field, rule, message string) Problem {
	p := Problem{Code: rule, Message: message}
	if field != "" {
		p.Pointer = rawjson.Token(field)
	}
	return p
}

// field returns the name of the field in a pointer that at has made.
func (p Problem) field() string { return rawjson.Name(strings.TrimPrefix(p.Pointer, "/")) }

// Error returns the message, and one more line per problem if there are several.
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
	if len(e.Problems) > 0 {
		b.WriteString(": " + problem.Lines(e.Problems, 0))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
