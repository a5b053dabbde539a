package webhook

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/schema"
)

// A Code classifies an [Error]. Codes are stable, messages are not.
type Code string

const (
	CodeOptions      Code = "invalid_options"    // a tool or an option for [New] is not valid; see [Error.Problems]
	codeMethod       Code = "method_not_allowed" // 405
	codeUnauthorized Code = "unauthorized"       // 401
	codeIdentity     Code = "invalid_identity"   // 400: X-Agent-Identity is missing or not a UUID
	codeTooLarge     Code = "request_too_large"  // 413
	codeBody         Code = "unreadable_body"    // 400: the body is incomplete or too slow
	codeJSON         Code = "invalid_json"       // 400: not one JSON object with unambiguous members
	codeEnvelope     Code = "invalid_envelope"   // 400: no arguments object, or two names of a tool
	codeUnknownTool  Code = "unknown_tool"       // 404
	CodeArguments    Code = "invalid_arguments"  // 200: they do not match the schema or the Go type of the tool
	CodeToolFailed   Code = "tool_failed"        // 200: the tool returned an error
	CodeTimeout      Code = "timeout"            // 200: the tool exceeded [Options.Timeout]
	CodeBusy         Code = "busy"               // 503: too many tools run; the tool did not run
	CodeClientGone   Code = "client_gone"        // the caller closed the connection, so the response is lost
	CodeInternal     Code = "internal"           // 500: a panic, or a result that cannot be JSON
)

// statuses maps codes to the status of their response. Any other code has 500. The model of the caller can
// correct the last three.
var statuses = map[Code]int{
	codeMethod: http.StatusMethodNotAllowed, codeUnauthorized: http.StatusUnauthorized, codeIdentity: http.StatusBadRequest,
	codeTooLarge: http.StatusRequestEntityTooLarge, codeBody: http.StatusBadRequest, codeJSON: http.StatusBadRequest,
	codeEnvelope: http.StatusBadRequest, codeUnknownTool: http.StatusNotFound,
	CodeBusy: http.StatusServiceUnavailable, CodeArguments: http.StatusOK, CodeToolFailed: http.StatusOK, CodeTimeout: http.StatusOK,
}

// Error is the error type of this package. An error of a call is sent as {"error": Code, "message":
// Message}, with at most 2 KiB of Message.
//
// The agent reads Message. Err stays in the process and is logged. If a function returns an error of
// [Errorf], alone or wrapped, Message is its text. The text of any other error may contain anything,
// so Message then says only that the tool failed.
type Error struct {
	Code    Code
	Tool    string // the tool concerned, if any
	Message string
	Err     error `json:"-"` // the cause; it may contain anything

	// Problems lists the mistakes for [CodeOptions], at most 100: first of the options, then of the tools in
	// order. Pointer begins with the place of the tool in the list, such as /0/parameters, and is
	// "" for an option. Code is a code of package schema, or one of invalid_option, tools_missing,
	// func_missing and url_invalid.
	Problems []schema.Problem
	More     int // problems that are not listed
}

// Errorf makes an error of a [Tool.Func] whose text the agent reads. The text says what went wrong
// and what to do instead. It must not contain a secret. The function may wrap the error. errors.Is
// and errors.As find an operand of %w.
func Errorf(format string, args ...any) error {
	err := toolresult.Errorf(format, args...)
	return &Error{Code: CodeToolFailed, Message: err.Error(), Err: err}
}

// Error returns one line, and one more line per problem if there are several.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("webhook: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "%s: ", e.Tool)
	}
	b.WriteString(string(e.Code))
	switch {
	case len(e.Problems) > 0:
		b.WriteString(": " + problem.Lines(e.Problems, e.More))
	case e.Message != "":
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil && (e.Message == "" || e.private() || e.Message == toolresult.TextBroken) {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) status() int {
	return cmp.Or(statuses[e.Code], http.StatusInternalServerError)
}

// write sends the error. With harness the body has a text too.
func (e *Error) write(w http.ResponseWriter, harness bool) {
	body := struct {
		Error   Code   `json:"error"`
		Message string `json:"message"`
		Text    string `json:"text,omitempty"`
	}{Error: e.Code, Message: text.Cut(e.Message, maxMessage)}
	if harness {
		body.Text = "Error: " + body.Message
	}
	if e.Code == CodeBusy {
		w.Header().Set("Retry-After", "1")
	}
	raw, _ := rawjson.Encode(body) // strings cannot fail
	httpserve.WriteError(w, e.status(), raw)
}

const maxMessage = 2 << 10

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// private reports whether the tool failed without a text for the agent.
func (e *Error) private() bool { return e != nil && e.Message == toolresult.TextFailed }
