package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// Error is the one error type of this package. Its text names the tool, the code and what to do. It holds no secret,
// argument, result or URL, nor what a server said, except that of CodeTool ends with the text of the handler's own error.
type Error struct {
	Code    Code
	Tool    string // "" when no tool is concerned
	Status  int    // the webhook's HTTP status; 0 if there was none
	Message string

	// Detail is what the tool said: the handler's error, or the webhook's answer of another status than 2xx. At most
	// 2 KiB. It may quote arguments; [Text] shows it to the model.
	Detail string

	// Problems lists everything that is wrong, in the order of the document, for CodeInvalid.
	Problems []Problem

	Err error // the cause
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
		fmt.Fprintf(&b, "tool %q: ", cut(e.Tool, 128))
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.Err != nil && (e.Code == CodeTool || e.Code == CodeTransport || e.Code == CodeAnswer) {
		b.WriteString(": " + cut(e.Err.Error(), maxDetail))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  - " + p.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Text is the tool result that a model should see, made of what [Toolbox.Call] returns: a string as it is, anything else
// as compact JSON, an error as "Error: " and what it says to a model.
func Text(result json.RawMessage, err error) string {
	if err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return "Error: the tool call failed"
		}
		text := "Error: " + e.Message
		if e.Detail != "" {
			text += ": " + e.Detail
		}
		return text
	}
	var text string
	if len(result) > 0 && result[0] == '"' && json.Unmarshal(result, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, result) != nil {
		return string(result)
	}
	return compact.String()
}

const maxDetail = 2 << 10

// cut bounds a text that somebody else chose.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func errorf(code Code, tool, format string, args ...any) *Error {
	return &Error{Code: code, Tool: tool, Message: fmt.Sprintf(format, args...)}
}
