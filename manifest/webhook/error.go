package webhook

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Codes that only the callers of a handler see, and codeInternal.
const (
	codeMethod   toolwire.Code = "method_not_allowed" // 405
	codeIdentity toolwire.Code = "invalid_identity"   // 400: X-Agent-Identity is missing or not a UUID
	codeBody     toolwire.Code = "unreadable_body"    // 400: the body is incomplete or too slow
	codeEnvelope toolwire.Code = "invalid_envelope"   // 400: no arguments object, or two names of a tool
	codeInternal toolwire.Code = "internal"
)

// statuses maps codes to the status of their response. Any other code has 500. The model of the caller can
// correct the last three.
var statuses = map[toolwire.Code]int{
	codeMethod: http.StatusMethodNotAllowed, toolwire.CodeUnauthorized: http.StatusUnauthorized,
	codeIdentity: http.StatusBadRequest, toolwire.CodeRequestTooLarge: http.StatusRequestEntityTooLarge,
	codeBody: http.StatusBadRequest, toolwire.CodeInvalidJSON: http.StatusBadRequest, codeEnvelope: http.StatusBadRequest,
	toolwire.CodeUnknownTool: http.StatusNotFound, toolwire.CodeBusy: http.StatusServiceUnavailable,
	toolwire.CodeInvalidArguments: http.StatusOK, toolwire.CodeToolFailed: http.StatusOK, toolwire.CodeTimeout: http.StatusOK,
}

// Errorf makes an error of a [Tool.Func] whose text the agent reads. The text says what went wrong
// and what to do instead. It must not contain a secret. The function may wrap the error. errors.Is
// and errors.As find an operand of %w.
func Errorf(format string, args ...any) error {
	err := toolresult.Errorf(format, args...)
	return &toolwire.Error{Package: "webhook", Code: toolwire.CodeToolFailed, Message: err.Error(), Err: err}
}

// write sends an error. With harness the body has a text too.
func write(w http.ResponseWriter, e *toolwire.Error, harness bool) {
	body := struct {
		Error   toolwire.Code `json:"error"`
		Message string        `json:"message"`
		Text    string        `json:"text,omitempty"`
	}{Error: e.Code, Message: text.Cut(e.Message, maxMessage)}
	switch {
	case private(e):
		body.Message = toolresult.TextFailed
	case e.Code == codeInternal && e.Message == "":
		body.Message = toolresult.TextBroken
	}
	if harness {
		body.Text = "Error: " + body.Message
	}
	if e.Code == toolwire.CodeBusy {
		w.Header().Set("Retry-After", "1")
	}
	raw, _ := rawjson.Encode(body) // strings cannot fail
	httpserve.WriteError(w, cmp.Or(statuses[e.Code], http.StatusInternalServerError), raw)
}

const maxMessage = 2 << 10

func errorf(code toolwire.Code, format string, args ...any) *toolwire.Error {
	return &toolwire.Error{Package: "webhook", Code: code, Message: fmt.Sprintf(format, args...)}
}

// private reports whether the tool failed without a text for the agent.
func private(e *toolwire.Error) bool {
	return e != nil && e.Code == toolwire.CodeToolFailed && e.Message == ""
}
