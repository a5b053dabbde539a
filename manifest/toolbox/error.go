package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Codes of errors that no other package has, or that few programs branch on.
const (
	codeInvalid        toolwire.Code = "invalid_toolbox"
	codeUnknownAdapter toolwire.Code = "unknown_adapter"
	codeAgent          toolwire.Code = "no_agent"
	codePanicked       toolwire.Code = "tool_panicked"
	codePrivate        toolwire.Code = "address_not_public"
)

// Error is the error type of this package. Its text names the tool and the code and says what to
// do. The text contains no secret, argument, result or URL, and nothing that a server sent. With
// toolwire.CodeToolFailed it ends with the text of the handler's own error.
type Error struct {
	Code    toolwire.Code
	Tool    string // the tool concerned; "" if there is none
	Status  int    // the HTTP status of the response; 0 if there was none
	Message string // what to do; written for a model too

	// Detail is the JSON of a response whose status is not 2xx, at most 2 KiB. A webhook's response
	// may repeat arguments. The model reads Detail; the text of the error leaves it out.
	Detail string

	// Problems lists the problems: first of the options, then in the order of the document, at most 100.
	// It is set for invalid_toolbox and toolwire.CodeInvalidOptions.
	Problems []toolwire.Problem
	More     int // problems that are not listed

	// Err is the cause. It may be nil.
	Err error `json:"-"`

	tools    []string        // all names of tools, for toolwire.CodeUnknownTool
	response json.RawMessage // of a webhook that reports a failure
}

// Errorf makes an error of a [Handler] whose text the model reads. The text says what went wrong
// and what to do instead. It must not contain a secret. The handler may wrap the error. errors.Is
// and errors.As find an operand of %w.
func Errorf(format string, args ...any) error {
	err := toolresult.Errorf(format, args...)
	return &Error{Code: toolwire.CodeToolFailed, Message: err.Error(), Err: err}
}

// Error returns the text, with one line per problem.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("toolbox: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", text.Cut(e.Tool, 128))
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil && (e.Message == toolresult.TextFailed || e.Code == toolwire.CodeTransport || e.Code == toolwire.CodeBadResponse) {
		b.WriteString(": " + text.Cut(e.Err.Error(), maxDetail))
	}
	if len(e.Problems) > 0 {
		b.WriteString(": " + problem.Lines(e.Problems, e.More))
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns Code. [toolwire.CodeOf] calls it.
func (e *Error) ErrorCode() toolwire.Code { return e.Code }

// ToolResult returns the result that a model reads if the call failed: the response of a webhook if
// the response reports the failure, and otherwise {"error": code, "detail": text}. If the model
// called a tool that does not exist, the member "tools" lists existing names. The detail says what
// the model can do. It may repeat the webhook's response. For a code that is not about a call, such
// as invalid_toolbox, the result only says that the tool failed.
func (e *Error) ToolResult() json.RawMessage {
	switch e.Code {
	case toolwire.CodeUnknownTool:
		return toolresult.Failure(string(e.Code), toolresult.NoTool(e.Tool), e.tools)
	case toolwire.CodeInvalidArguments, toolwire.CodeToolFailed, codePanicked, toolwire.CodeBusy, toolwire.CodeCanceled, toolwire.CodeDeadline, toolwire.CodeTimeout, toolwire.CodeTransport,
		toolwire.CodeResponseTooLarge, toolwire.CodeBadResponse, toolwire.CodeUnauthorized, toolwire.CodeForbidden, toolwire.CodeNotFound, toolwire.CodeConflict, toolwire.CodeRequestTooLarge,
		toolwire.CodeRejected, toolwire.CodeRateLimited, toolwire.CodeRefused, toolwire.CodeServerError, toolwire.CodeUnexpectedStatus:
		if e.response != nil {
			return e.response
		}
		detail := e.Message
		if e.Detail != "" {
			detail += ": " + e.Detail
		}
		return toolresult.Failure(string(e.Code), detail, nil)
	}
	return toolresult.Failure(string(toolwire.CodeToolFailed), toolresult.TextFailed, nil) // the rest is for the operator
}

const maxDetail = 2 << 10 // bytes

func errorf(code toolwire.Code, tool, format string, args ...any) *Error {
	return &Error{Code: code, Tool: tool, Message: fmt.Sprintf(format, args...)}
}
