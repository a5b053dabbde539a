package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// A Code classifies an [Error]. Codes are stable, messages are not.
type Code string

const (
	CodeOptions      Code = "invalid_options"    // an argument of [New] is not valid
	CodeMethod       Code = "method_not_allowed" // 405
	CodeUnauthorized Code = "unauthorized"       // 401
	CodeTooLarge     Code = "request_too_large"  // 413
	CodeBody         Code = "unreadable_body"    // 400: it is incomplete or arrives too slowly
	CodeJSON         Code = "invalid_json"       // 400: not one JSON object with unambiguous members
	CodeEnvelope     Code = "invalid_envelope"   // 400: a member is missing, of the wrong kind or not allowed
	CodeBusy         Code = "busy"               // 503: over [Options.MaxRuns] or MaxBytesInFlight, or draining
	CodeAgent        Code = "agent_failed"       // 500: the agent returned an error
	CodePanicked     Code = "agent_panicked"     // 500
	CodeClientGone   Code = "client_gone"        // the platform closed the connection before the 500 was sent
	CodeDeadline     Code = "deadline"           // 500: the context of the request ended before [Options.RunTimeout]
	CodeResult       Code = "unwritable_result"  // [Main] cannot write the response
	CodeInput        Code = "invalid_input"      // [Run.DecodeInput]: 500 if an agent returns it
)

// statuses maps codes to the status of their response. Any other code has 500.
var statuses = map[Code]int{
	CodeMethod: http.StatusMethodNotAllowed, CodeUnauthorized: http.StatusUnauthorized,
	CodeTooLarge: http.StatusRequestEntityTooLarge, CodeBody: http.StatusBadRequest, CodeJSON: http.StatusBadRequest,
	CodeEnvelope: http.StatusBadRequest, CodeBusy: http.StatusServiceUnavailable,
}

// Error is the error type of this package. The platform receives it as {"error": code, "message":
// text}. Messages name members, never their values.
type Error struct {
	Code    Code
	Message string // sent to the platform, so it must not contain a secret
	Err     error  // the cause; not sent
}

// Error implements error.
func (e *Error) Error() string {
	s := "dispatch: " + string(e.Code)
	if e.Message != "" {
		s += ": " + e.Message
	}
	if _, said := errors.AsType[*Error](e.Err); e.Err != nil && !said && (e.Message == "" || e.Code == CodeAgent || e.Code == CodeDeadline) {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// status returns the HTTP status of the answer.
func (e *Error) status() int {
	return cmp.Or(statuses[e.Code], http.StatusInternalServerError)
}

// body returns the body of the answer.
func (e *Error) body() []byte {
	body, _ := json.Marshal(struct { // two strings: cannot fail
		Error   Code   `json:"error"`
		Message string `json:"message"`
	}{e.Code, text.Cut(e.Message, maxErrorMessage)})
	return body
}

// maxErrorMessage leaves room for the rest of the body in the 500 characters that the platform
// keeps.
const maxErrorMessage = 400

// writeError answers a request that failed, with Retry-After beside a 503.
func writeError(w http.ResponseWriter, err error) {
	e := asError(err)
	if e.Code == CodeBusy && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	httpserve.WriteError(w, e.status(), e.body())
}

// asError returns the *Error in err's chain, or a general one that does not describe err.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeAgent, Message: "internal error", Err: err}
}

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

func envelopeError(format string, args ...any) error {
	return &Error{Code: CodeEnvelope, Message: fmt.Sprintf(format, args...)}
}
