package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

const (
	CodeRead           Code = "unreadable"         // [Load]: the file cannot be read
	CodeJSON           Code = "invalid_json"       // the document is not strict JSON of the documented form
	CodeInvalid        Code = "invalid_toolbox"    // the tools, adapters or options break rules: see Problems
	CodeUnknownTool    Code = "unknown_tool"       // nothing ran
	CodeUnknownAdapter Code = "unknown_adapter"    //
	CodeConfig         Code = "invalid_config"     // [Toolbox.ValidateConfig]
	CodeArguments      Code = "invalid_arguments"  // nothing ran
	CodeAgent          Code = "no_agent"           // an external tool needs an agent with a UUID, or the agent is unusable
	CodeSecret         Code = "no_secret"          // [Options.SecretFunc] returned nothing usable; nothing was sent
	CodeRequestSize    Code = "request_too_large"  // over [Options.MaxRequestBytes]; nothing was sent
	CodeTool           Code = "tool_failed"        // the handler returned an error
	CodePanicked       Code = "tool_panicked"      // the handler panicked
	CodeTimeout        Code = "timeout"            // the tool took longer than [Options.Timeout]
	CodeCanceled       Code = "canceled"           // the caller's context ended
	CodeTransport      Code = "transport"          // no connection to the webhook, or it broke
	CodeStatus         Code = "http_status"        // the webhook answered with another status than 2xx
	CodeAnswer         Code = "invalid_answer"     // the webhook's answer, or a detail, is not what is documented
	CodeAnswerSize     Code = "answer_too_large"   // over [Options.MaxAnswerBytes] or MaxDetailBytes
	CodePrivate        Code = "address_not_public" // a detail_url leads to an address that is not public
)

// Error is the one error type of this package. Its text names the tool, the code and what to do. It contains no secret,
// argument, result or URL, nor what a server said. There is one exception: for CodeTool it ends with the text of the
// handler's own error, which is for the log.
type Error struct {
	Code    Code
	Tool    string // "" when no tool is concerned
	Status  int    // the webhook's HTTP status; 0 if there was none
	Message string // says what to do, also to a model

	// Detail is the webhook's answer with another status than 2xx, if it is JSON; at most 2 KiB. It may quote arguments.
	// A model sees it, and Error's text leaves it out.
	Detail string

	// Problems lists everything that is wrong, in the order of the document, for CodeInvalid.
	Problems []Problem

	Err error // the cause

	tools []string // the names that there are, for CodeUnknownTool
}

// Errorf makes an error whose text is for the model: it says what went wrong and what to do instead. It must not contain a
// secret. A [Handler] returns it, alone or wrapped. Of any other error the model learns only that the tool failed. An
// operand of %w stays findable.
func Errorf(format string, args ...any) error {
	err := runner.Errorf(format, args...)
	return &Error{Code: CodeTool, Message: err.Error(), Err: err}
}

const textStopped = "the call was stopped"

// private reports whether a tool failed without a text for the model, or only because its context ended.
func (e *Error) private() bool {
	return e != nil && (e.Message == runner.TextFailed || e.Message == textStopped)
}

// A Problem is one thing that is wrong with a document or the options.
type Problem struct {
	Place string // "tools[2]", "adapters[0]", "adapters[0].tools[1]" or "options"
	Name  string // of the tool or adapter, if it has one; at most 128 bytes
	Field string // the member or option concerned, with a JSON Pointer after it for a place in a schema
	// Rule is stable: wrong_type, wrong_case, handler_and_url, handler_or_url_missing, handler_invalid,
	// handler_unregistered, url_invalid, adapter_missing, adapter_unknown, adapter_duplicate, option_invalid, or a code of
	// package schema.
	Rule    string
	Message string // says what is wrong and what to do, without naming the place
}

// String names place, name, field and problem in one line.
func (p Problem) String() string {
	s := p.Place
	if p.Name != "" {
		s += fmt.Sprintf(" %q", p.Name)
	}
	return strings.TrimSuffix(s+": "+p.Field, " ") + " " + p.Message
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("toolbox: ")
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", clip.Text(e.Tool, 128))
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil && (e.private() || e.Code == CodeTransport || e.Code == CodeAnswer) {
		b.WriteString(": " + clip.Text(e.Err.Error(), maxDetail))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  - " + p.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ToolResult returns what a model should see in place of the result of a failed call: {"error": code, "detail": text}, with
// a member tools, the names that there are, when the model called a tool that does not exist. It is valid JSON for any
// Error. The detail says what the model can do; it may quote the webhook's answer.
func (e *Error) ToolResult() json.RawMessage {
	code, detail := e.Code, e.Message
	switch code {
	case CodeUnknownTool:
		detail = toolresult.NoTool(e.Tool)
	case CodeArguments, CodePanicked, CodeTimeout, CodeCanceled, CodeTransport, CodeStatus, CodeAnswer, CodeAnswerSize, CodeRequestSize:
	default: // the operator's mistakes are not the model's business
		code = CodeTool
		if e.Code != CodeTool {
			detail = runner.TextFailed
		}
	}
	if e.Detail != "" {
		detail += ": " + e.Detail
	}
	return toolresult.Failure(string(code), detail, e.tools)
}

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

const maxDetail = 2 << 10

func errorf(code Code, tool, format string, args ...any) *Error {
	return &Error{Code: code, Tool: tool, Message: fmt.Sprintf(format, args...)}
}
