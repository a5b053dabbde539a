package registration

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
)

// A Code classifies an [Error]. Codes are stable, messages are not.
type Code string

const (
	CodeInvalid  Code = "invalid_registration" // not sent; see [Error.Problems]
	CodeOptions  Code = "invalid_options"      // an argument of [NewClient] or the id for [Client.Update] is not valid
	CodeCanceled Code = "canceled"             // the context was canceled; the error unwraps to its cause
	CodeDeadline Code = "deadline"             // the deadline of the context passed; the error unwraps to its cause

	CodeTransport Code = "transport" // the connection failed
	CodeTimeout   Code = "timeout"   // the context has no deadline and the call took more than 30 s

	CodeRejected     Code = "rejected"          // 422; see [Error.Problems]
	CodeUnauthorized Code = "unauthorized"      // 401
	CodeForbidden    Code = "forbidden"         // 403
	CodeNotFound     Code = "not_found"         // 404
	CodeConflict     Code = "conflict"          // 409
	CodeTooLarge     Code = "request_too_large" // 413
	CodeRateLimited  Code = "rate_limited"      // 429; see [Error.RetryAfter]
	CodeRefused      Code = "refused"           // any other 4xx
	CodeServer       Code = "server_error"      // 5xx
	CodeStatus       Code = "unexpected_status" // any other status; redirects are not followed

	// A 2xx: the change has been made.
	CodeBadResponse      Code = "bad_response"       // it cannot be read
	CodeResponseTooLarge Code = "response_too_large" // it has more than 1 MiB beside what the request sent
)

// A Problem is one thing that is wrong with a registration, found by [Registration.Validate] or by
// the platform.
//
// Code is one of these, or a code of package schema or ledger for a problem in tools_schema or
// ledger_schema:
//
//	missing               a required value is absent
//	too_long              more characters than allowed
//	not_utf8              a text is not valid UTF-8
//	endpoint_url_invalid  not an absolute https URL, or it has credentials or a fragment
//	endpoint_not_public   a host that is not public, such as a loopback or private address
//	auth_header_invalid   not a header name
//	auth_value_invalid    not a header value
//	auth_scheme_missing   a value of Authorization without a scheme such as Bearer
//	run_timeout_invalid   not whole seconds from 1 to 1800
//	actor_id_invalid      a label that the header X-Pipelines-Actor-Id cannot carry
//	undeclared            the name of a tool or sub-agent that does not exist
//	duplicate             given twice
//	wrong_case            differs from a known name in case only
//	not_json              not strict JSON
//	rejected_by_platform  reported by the platform without a code
//
// A problem that the platform reports with a code has that code.
type Problem struct {
	Tool    string `json:"tool,omitempty"` // the tool that the problem belongs to, if any
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the body; "" if unknown
	Message string `json:"message"`
}

// String returns tool, pointer, message and code on one line.
func (p Problem) String() string { return problem.Problem(p).String() }

// Error is the error type of this package. It does not contain the API key, the value of the auth
// header, or the query of the endpoint URL, even if the platform repeats them.
type Error struct {
	Code Code

	// Problems are in the order of the body for [CodeInvalid]. For [CodeRejected] they
	// are what the platform reports. There are at most 100.
	Problems []Problem
	More     int // problems that are not listed

	Status     int           // HTTP status of the response; 0 if there was no response
	Class      string        // error_class of the response, if any
	Detail     string        // the platform's message about the whole request; at most 1 KiB
	RetryAfter time.Duration // from the response; 0 if it has none. Calls are never repeated
	Err        error         // the cause

	unsure bool // a POST may have taken effect
}

// Error returns one line, and one more line per problem if there are several.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "registration: %s", e.Code)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d", e.Status)
		if e.Class != "" {
			b.WriteString(", " + e.Class)
		}
		b.WriteString(")")
	}
	switch {
	case len(e.Problems) > 0:
		b.WriteString(": " + problem.Lines(e.Problems, e.More))
	case e.Detail != "":
		fmt.Fprintf(&b, ": the platform says %q", e.Detail)
	}
	if e.Err != nil && len(e.Problems) == 0 {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

func (e *Error) advice() string {
	advice := e.whatToDo()
	switch {
	case !e.unsure:
		return advice
	case advice != "":
		advice += "; "
	}
	return advice + "the agent may have been registered: check before you repeat the call"
}

func (e *Error) whatToDo() string {
	switch e.Code {
	case CodeUnauthorized:
		return "check the API key"
	case CodeForbidden:
		return "only organisation admins and project admin owners can register agents; " +
			"a key has the rights of its creator"
	case CodeRejected:
		return "correct what the platform names; " +
			"if it does not know a member, rename or remove it with Registration.Extra"
	case CodeNotFound:
		return "check the agent's id and the base URL"
	case CodeRateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.RetryAfter.Round(time.Second))
		}
	case CodeStatus:
		return "check the base URL; redirects are not followed, to keep the API key on its host"
	}
	return ""
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// invalid returns the error for the problems, or nil if there are none. It unwraps to the causes.
func invalid(ps problems, causes ...error) error {
	if ps.Len() == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Problems: ps.Found, More: ps.More, Err: errors.Join(causes...)}
}

// problems are the problems of the members that are sent.
type problems struct {
	problem.List[Problem]
	others replacements
}

// Add adds a problem, unless another member replaces the one that it is about.
func (ps *problems) Add(code, pointer, format string, args ...any) {
	if !ps.others.include(pointer) {
		ps.List.Add(code, pointer, format, args...)
	}
}
