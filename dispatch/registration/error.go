package registration

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Code classifies an [Error] or names the rule of a [Problem]. Codes are stable; texts are not.
type Code string

// Codes of errors.
const (
	CodeInvalid  Code = "invalid_registration" // found here: see [Error.Problems]
	CodeOptions  Code = "invalid_options"      // [NewClient], or the id given to [Client.Update], is unusable
	CodeCanceled Code = "canceled"             // the call's context ended; [Error] unwraps to its cause

	CodeTransport Code = "transport" // no connection, or it broke
	CodeTimeout   Code = "timeout"   // the call took longer than [Options.Timeout]

	CodeRejected     Code = "rejected"     // 422: see [Error.Problems]
	CodeUnauthorized Code = "unauthorized" // 401
	CodeForbidden    Code = "forbidden"    // 403
	CodeNotFound     Code = "not_found"    // 404
	CodeConflict     Code = "conflict"     // 409
	CodeTooLarge     Code = "too_large"    // 413, or over [Options.MaxRequestBytes] and not sent
	CodeRateLimited  Code = "rate_limited" // 429: see [Error.RetryAfter]
	CodeRefused      Code = "refused"      // any other 4xx
	CodeServer       Code = "server_error" // 5xx
	CodeStatus       Code = "unexpected_status"
	CodeBadResponse  Code = "bad_response" // a 2xx that cannot be read; the agent has been registered or changed
)

// Codes of problems, beside those of packages schema and ledger for tools_schema and ledger_schema.
const (
	CodeMissing      Code = "missing"              // required and absent
	CodeTooLong      Code = "too_long"             // more characters than allowed
	CodeNotUTF8      Code = "not_utf8"             // a text is not valid UTF-8
	CodeMode         Code = "mode_invalid"         // not external_http
	CodeEndpoint     Code = "endpoint_url_invalid" // not an absolute https URL without credentials and fragment
	CodeEndpointHost Code = "endpoint_not_public"  // loopback, private, link-local, reserved, metadata or no public name
	CodeAuthHeader   Code = "auth_header_invalid"  // no header name
	CodeAuthValue    Code = "auth_value_invalid"   // no header value
	CodeRunTimeout   Code = "run_timeout_invalid"  // not whole seconds from 1 to 1800
	CodeActor        Code = "actor_id_invalid"     // proxy.ValidActor refuses it
	CodeUndeclared   Code = "undeclared"           // names a tool or sub-agent that is not there
	CodeDuplicate    Code = "duplicate"            // stands twice
	CodeWrongType    Code = "wrong_type"           // another JSON type than documented
	CodeWrongCase    Code = "wrong_case"           // differs from a known name by case only
	CodeNotJSON      Code = "not_json"             // is not strict JSON
	CodePlatform     Code = "rejected_by_platform" // the platform says so, and gives no code
)

// A Problem is one thing wrong with a registration, found here or by the platform.
type Problem struct {
	Code    Code   `json:"code"`
	Tool    string `json:"tool,omitempty"` // the tool concerned, if it is one's
	Pointer string `json:"pointer"`        // JSON Pointer (RFC 6901) into the body; "" when the platform does not say
	Message string `json:"message"`
}

// String names tool, place and problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", p.Tool)
	}
	if p.Pointer != "" {
		b.WriteString(p.Pointer + " ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error is the one error type of this package. Nothing in it holds the API key, the auth header's value or the query of
// the endpoint URL, not even where the platform repeats them; Unwrap leads to the causes as they were met.
type Error struct {
	Code Code

	// Problems are all that is wrong, in the order of the body, for [CodeInvalid]; for [CodeRejected] what the platform
	// says, tool by tool where it does, at most 100 and from no more than the answer's first 10,000 values.
	Problems []Problem

	Status     int           // HTTP status of the answer; 0 if there was none
	Class      string        // error_class of the answer; "" if there was none
	Detail     string        // what the platform said of the whole, at most 1 KiB
	RetryAfter time.Duration // what the answer asked for; 0 if nothing. Waiting is the caller's business
	Err        error         // the cause

	unsure bool // a POST may have taken effect
}

// Error is one line, and one more for each problem when there are several.
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
	case len(e.Problems) == 1:
		fmt.Fprintf(&b, ": %s [%s]", e.Problems[0], e.Problems[0].Code)
	case len(e.Problems) > 1:
		fmt.Fprintf(&b, ": %d problems:", len(e.Problems))
		for _, p := range e.Problems {
			fmt.Fprintf(&b, "\n  - %s [%s]", p, p.Code)
		}
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
	if e.unsure {
		return "the agent may have been registered: look before repeating"
	}
	switch e.Code {
	case CodeUnauthorized:
		return "check the API key"
	case CodeForbidden:
		return "registering is for organisation admins and project admin owners, and the key acts with its creator's rights"
	case CodeNotFound:
		return "check the agent's id, and that the base URL leads to the platform's REST API"
	case CodeRateLimited:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.RetryAfter.Round(time.Second))
		}
	case CodeStatus:
		return "a redirect is not followed, because the API key must not travel: check the base URL"
	}
	return ""
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Remote reports whether the platform's answer is what went wrong, rather than something on this side or between.
func (e *Error) Remote() bool {
	return e.Status != 0 && e.Code != CodeTransport && e.Code != CodeTimeout && e.Code != CodeCanceled
}

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// invalid makes the error of a registration; the causes are what [Error] unwraps to.
func invalid(ps problems, causes ...error) error {
	if len(ps) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Problems: ps, Err: errors.Join(causes...)}
}

type problems []Problem

func (ps *problems) add(code Code, pointer, format string, args ...any) {
	*ps = append(*ps, Problem{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}
