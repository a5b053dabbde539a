package toolbox

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Code is the stable name of a failure, for programs to compare.
type Code string

const (
	CodeOptions        Code = "invalid_options"    // only options are not valid; see Problems
	CodeJSON           Code = "invalid_json"       // not strict JSON of the documented shape
	CodeInvalid        Code = "invalid_toolbox"    // the document breaks rules, and options may too; see Problems
	CodeUnknownTool    Code = "unknown_tool"       // the toolbox has no tool of that name
	CodeUnknownAdapter Code = "unknown_adapter"    // the toolbox has no adapter of that name or id
	CodeArguments      Code = "invalid_arguments"  // not valid by the parameters; the tool did not run
	CodeAgent          Code = "no_agent"           // the agent is not valid, or has no UUID
	CodeToolFailed     Code = "tool_failed"        // the tool reported a failure
	CodePanicked       Code = "tool_panicked"      // the handler panicked
	CodeBusy           Code = "busy"               // Options.MaxParallel other tools run; the tool did not run
	CodePrivate        Code = "address_not_public" // the detail_url is not on the public internet

	// There is no complete response.
	CodeCanceled         Code = "canceled"           // the caller's context was canceled
	CodeDeadline         Code = "deadline"           // the deadline of the caller's context passed
	CodeTimeout          Code = "timeout"            // Options.Timeout passed, 3 s for a detail, or 30 s for a page
	CodeTransport        Code = "transport"          // the connection to the webhook or the platform failed
	CodeResponseTooLarge Code = "response_too_large" // over 1 MiB, 64 KiB for a detail, 4 MiB for a page

	// The webhook or the platform responded, but not with a result.
	CodeBadResponse  Code = "bad_response"      // the response does not have the documented form
	CodeUnauthorized Code = "unauthorized"      // 401
	CodeForbidden    Code = "forbidden"         // 403
	CodeNotFound     Code = "not_found"         // 404
	CodeConflict     Code = "conflict"          // 409
	CodeTooLarge     Code = "request_too_large" // 413, or the body exceeds 1 MiB and was not sent
	CodeRejected     Code = "rejected"          // 422
	CodeRateLimited  Code = "rate_limited"      // 429
	CodeRefused      Code = "refused"           // any other 4xx
	CodeServer       Code = "server_error"      // 5xx
	CodeStatus       Code = "unexpected_status" // any other status that is not 2xx, and of a page any but 200
)

// Error is the error type of this package. Its text names the tool and the code and says what to
// do. The text contains no secret, argument, result or URL, and nothing that a server sent. With
// CodeToolFailed it ends with the text of the handler's own error.
type Error struct {
	Code    Code
	Tool    string // the tool concerned; "" if there is none
	Status  int    // the HTTP status of the response; 0 if there was none
	Message string // what to do; written for a model too

	// Detail is the JSON of a response whose status is not 2xx, at most 2 KiB. A webhook's response
	// may repeat arguments. The model reads Detail; the text of the error leaves it out.
	Detail string

	// Problems lists the problems: first of the options, then in the order of the document, at most 100.
	// It is set for CodeInvalid and CodeOptions.
	Problems []Problem
	More     int // problems that are not listed

	// Err is the cause. It may be nil.
	Err error

	tools    []string        // all names of tools, for CodeUnknownTool
	response json.RawMessage // of a webhook that reports a failure
}

// Errorf makes an error of a [Handler] whose text the model reads. The text says what went wrong
// and what to do instead. It must not contain a secret. The handler may wrap the error. errors.Is
// and errors.As find an operand of %w.
func Errorf(format string, args ...any) error {
	err := toolresult.Errorf(format, args...)
	return &Error{Code: CodeToolFailed, Message: err.Error(), Err: err}
}

// Problem is one rule that a document or the options break. Codes, beside the codes of package schema:
//
//	wrong_type             a member has the wrong JSON type
//	wrong_case             the name of a member has the wrong case
//	adapter_missing        an adapter has no name
//	adapter_duplicate      an earlier adapter has the name or id
//	adapter_unknown        a tool names an adapter that does not exist, or another one than contains it
//	handler_and_url        a tool has both
//	handler_or_url_missing a tool has neither
//	handler_invalid        handler is not a dotted name
//	handler_unregistered   Options.Handlers does not contain the handler
//	tools_missing          the document has none of the documented forms
//	too_many               the document has more than 10,000 adapters and tools; the others are not read
//	listing_incomplete     the document is one page of a listing that has more
//	url_invalid            url or detail_url is not an absolute http or https URL
//	invalid_option         an option is not valid
type Problem struct {
	Tool    string `json:"tool,omitempty"` // the name of the tool; "" if it has none or the problem is not about a tool
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer (RFC 6901) into the document; "" for an option
	Message string `json:"message"` // what is wrong and what to do, without the tool and the place
}

// String returns tool, pointer, message and code on one line.
func (p Problem) String() string { return problem.Problem(p).String() }

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
	if e.Err != nil && (e.Message == toolresult.TextFailed || e.Code == CodeTransport || e.Code == CodeBadResponse) {
		b.WriteString(": " + text.Cut(e.Err.Error(), maxDetail))
	}
	if len(e.Problems) > 0 {
		b.WriteString(": " + problem.Lines(e.Problems, e.More))
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ToolResult returns the result that a model reads if the call failed: the response of a webhook if
// the response reports the failure, and otherwise {"error": code, "detail": text}. If the model
// called a tool that does not exist, the member "tools" lists existing names. The detail says what
// the model can do. It may repeat the webhook's response. For a code that is not about a call, such
// as [CodeInvalid], the result only says that the tool failed.
func (e *Error) ToolResult() json.RawMessage {
	switch e.Code {
	case CodeUnknownTool:
		return toolresult.Failure(string(e.Code), toolresult.NoTool(e.Tool), e.tools)
	case CodeArguments, CodeToolFailed, CodePanicked, CodeBusy, CodeCanceled, CodeDeadline, CodeTimeout, CodeTransport,
		CodeResponseTooLarge, CodeBadResponse, CodeUnauthorized, CodeForbidden, CodeNotFound, CodeConflict, CodeTooLarge,
		CodeRejected, CodeRateLimited, CodeRefused, CodeServer, CodeStatus:
		if e.response != nil {
			return e.response
		}
		detail := e.Message
		if e.Detail != "" {
			detail += ": " + e.Detail
		}
		return toolresult.Failure(string(e.Code), detail, nil)
	}
	return toolresult.Failure(string(CodeToolFailed), toolresult.TextFailed, nil) // the rest is for the operator
}

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

const maxDetail = 2 << 10 // bytes

func errorf(code Code, tool, format string, args ...any) *Error {
	return &Error{Code: code, Tool: tool, Message: fmt.Sprintf(format, args...)}
}
