package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runner"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

const (
	CodeOptions      Code = "invalid_options"    // [New] was given something unusable
	CodeMethod       Code = "method_not_allowed" // 405
	CodeUnauthorized Code = "unauthorized"       // 401
	CodeIdentity     Code = "invalid_identity"   // 400: X-Agent-Identity is missing or no UUID
	CodeBodyTooLarge Code = "body_too_large"     // 413
	CodeBody         Code = "unreadable_body"    // 400: it broke off or took too long
	CodeJSON         Code = "invalid_json"       // 400: not one JSON object with unambiguous members
	CodeEnvelope     Code = "invalid_envelope"   // 400: no arguments, or not an object; or two names of a tool
	CodeUnknownTool  Code = "unknown_tool"       // 404
	CodeArguments    Code = "invalid_arguments"  // 200: they do not match the tool's schema or Go type
	CodeTool         Code = "tool_failed"        // 200: the tool returned an error
	CodeTimeout      Code = "timeout"            // 200: the tool took longer than [Options.Timeout]
	CodeClientGone   Code = "client_gone"        // the caller hung up; nobody reads the answer
	CodeInternal     Code = "internal"           // 500: a panic, or a result that is no JSON
)

// Error is the one error type of this package. It marshals to the body of an error answer, {"error": code, "message":
// text}.
//
// Message is what the agent reads and acts on; Err stays here and in the log. So a [Func] that has something to tell the
// agent returns an error made with [Errorf], alone or wrapped. The text of any other error may contain anything, so the
// agent learns only that the tool failed.
type Error struct {
	Code    Code
	Tool    string // "" when no tool is concerned
	Message string
	Err     error
}

// Errorf makes an error whose text is for the agent: it says what went wrong and what to do instead. It must not contain a
// secret. An operand of %w stays findable.
func Errorf(format string, args ...any) error {
	err := runner.Errorf(format, args...)
	return &Error{Code: CodeTool, Message: err.Error(), Err: err}
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("webhook: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "%s: ", e.Tool)
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil && (e.Message == "" || e.private() || e.Message == runner.TextBroken) {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the HTTP status of the answer.
func (e *Error) Status() int {
	switch e.Code {
	case CodeMethod:
		return http.StatusMethodNotAllowed
	case CodeUnauthorized:
		return http.StatusUnauthorized
	case CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case CodeIdentity, CodeBody, CodeJSON, CodeEnvelope:
		return http.StatusBadRequest
	case CodeUnknownTool:
		return http.StatusNotFound
	case CodeArguments, CodeTool, CodeTimeout:
		return http.StatusOK
	}
	return http.StatusInternalServerError
}

// MarshalJSON writes the body of the answer. A message of more than 2 KiB is cut.
func (e *Error) MarshalJSON() ([]byte, error) { return e.encode(PlainJSON), nil }

func (e *Error) encode(shape Shape) []byte {
	body := struct {
		Error   Code   `json:"error"`
		Message string `json:"message"`
		Text    string `json:"text,omitempty"`
	}{Error: e.Code, Message: clip.Text(e.Message, maxMessage)}
	if shape == TextImages {
		body.Text = "Error: " + body.Message
	}
	raw, _ := rawjson.Encode(body) // three strings: cannot fail
	return raw
}

const maxMessage = 2 << 10

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// sortedJoin joins errors in an order that does not depend on how they were found.
func sortedJoin(errs []error) error {
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

var _ json.Marshaler = (*Error)(nil)
