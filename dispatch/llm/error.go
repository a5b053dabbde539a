package llm

import (
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

const (
	CodeFormat       Code = "unknown_format"       // the format is not one of this package
	CodeConversation Code = "invalid_conversation" // the conversation or a message is malformed
	CodeRunOver      Code = "run_over"             // the run is over: the request was not sent
)

// Error is the one error type of this package. Its text names places in a conversation, but does
// not quote it.
type Error struct {
	Code    Code
	Pointer string // JSON Pointer into the conversation or the messages; "" for all of it
	Message string
	Err     error // the cause; it is not part of the text
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("llm: " + string(e.Code) + ": ")
	if e.Pointer != "" {
		b.WriteString(e.Pointer + " ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

func unknownFormat() error {
	return &Error{Code: CodeFormat, Message: "use OpenAIChat, OpenAIResponses, Anthropic, Gemini, Converse or Ollama"}
}

func malformed(pointer, message string) error {
	return &Error{Code: CodeConversation, Pointer: pointer, Message: message}
}
