package llm

import "github.com/toolwire/toolwire"

// Codes of errors.
const (
	codeFormat       toolwire.Code = "unknown_format"
	codeConversation toolwire.Code = "invalid_conversation"
)

func unknownFormat() error {
	return &toolwire.Error{Package: "llm", Code: codeFormat,
		Message: "use OpenAIChat, OpenAIResponses, Anthropic, Gemini, Converse or Ollama"}
}

func malformed(pointer, message string) error {
	return &toolwire.Error{Package: "llm", Code: codeConversation,
		Problems: []toolwire.Problem{{Code: "malformed", Pointer: pointer, Message: message}}}
}
