package toolwire

import "errors"

// A Code says what kind of failure an error reports. One failure has one code in all packages, and
// codes are stable. These are the codes that a program branches on. The comments of the packages list
// further ones.
type Code string

// The caller is at fault. Nothing was sent.
const (
	CodeInvalidOptions   Code = "invalid_options"   // an argument or option of a constructor is not valid
	CodeInvalidArguments Code = "invalid_arguments" // the arguments of a call do not match the tool's schema
	CodeUnknownTool      Code = "unknown_tool"      // no tool has the name
	CodeInvalidJSON      Code = "invalid_json"      // a document is not strict JSON of the documented shape
	CodeUnreadable       Code = "unreadable"        // a file cannot be read
)

// The context of the caller ended, or a limit of the package passed.
const (
	CodeCanceled Code = "canceled" // the context was canceled; the error unwraps to its cause
	CodeDeadline Code = "deadline" // the deadline of the context passed, or a wait would end after it
	CodeTimeout  Code = "timeout"  // a limit of the package passed; the text names the option
)

// There is no usable response.
const (
	CodeTransport        Code = "transport"          // no connection, or it broke
	CodeBadResponse      Code = "bad_response"       // the response does not have the documented form
	CodeResponseTooLarge Code = "response_too_large" // the response exceeds a limit
)

// The server refused the request.
const (
	CodeUnauthorized     Code = "unauthorized"      // 401
	CodeForbidden        Code = "forbidden"         // 403
	CodeNotFound         Code = "not_found"         // 404
	CodeConflict         Code = "conflict"          // 409: the name or the id is taken
	CodeRequestTooLarge  Code = "request_too_large" // 413, or a limit of the package
	CodeRejected         Code = "rejected"          // 422: see Problems
	CodeRateLimited      Code = "rate_limited"      // 429: see Response.RetryAfter
	CodeRefused          Code = "refused"           // any other status from 400 to 499
	CodeUnavailable      Code = "unavailable"       // 503 of the proxy of a run
	CodeServerError      Code = "server_error"      // any other status from 500 to 599
	CodeUnexpectedStatus Code = "unexpected_status" // any other status; redirects are not followed
)

// A run or one of its calls failed.
const (
	CodeRunOver       Code = "run_over"       // the run has ended: stop the agent
	CodeToolFailed    Code = "tool_failed"    // the tool ran and reports a failure
	CodeResultType    Code = "result_type"    // the result of a tool does not fit the Go type
	CodeAgentFailed   Code = "agent_failed"   // the agent returned an error
	CodeAgentPanicked Code = "agent_panicked" // the agent panicked
	CodeClientGone    Code = "client_gone"    // the caller closed the connection before the response was sent
	CodeBusy          Code = "busy"           // as much runs as the options allow, a lock is held, or a handler shuts down
)

// A declaration or a document is not valid. Problems lists what is wrong.
const (
	CodeInvalid   Code = "invalid"   // a tool list, a schema or a Go type of package schema
	CodeUnchecked Code = "unchecked" // a schema has a part that may exclude documents and is not checked
	CodeMismatch  Code = "mismatch"  // a document does not match its schema
	CodeLimit     Code = "limit"     // a document exceeds a limit, so it was not read or not validated
)

// CodeOf returns the code of the first error in err's tree that has one, in the order of errors.As. It
// returns "" if there is none. An error has a code if it has a method ErrorCode() Code.
func CodeOf(err error) Code {
	type coded interface {
		error
		ErrorCode() Code
	}
	if e, ok := errors.AsType[coded](err); ok {
		return e.ErrorCode()
	}
	return ""
}
