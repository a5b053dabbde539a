package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/text"
)

// Codes of errors that few programs branch on.
const (
	codeMethod   toolwire.Code = "method_not_allowed"
	codeBody     toolwire.Code = "unreadable_body"
	codeEnvelope toolwire.Code = "invalid_envelope"
	codeResult   toolwire.Code = "unwritable"
	codeInput    toolwire.Code = "invalid_input"
)

// statuses maps codes to the status of their response. Any other code has 500.
var statuses = map[toolwire.Code]int{
	codeMethod: http.StatusMethodNotAllowed, toolwire.CodeUnauthorized: http.StatusUnauthorized,
	toolwire.CodeRequestTooLarge: http.StatusRequestEntityTooLarge, codeBody: http.StatusBadRequest,
	toolwire.CodeInvalidJSON: http.StatusBadRequest,
	codeEnvelope:             http.StatusBadRequest, toolwire.CodeBusy: http.StatusServiceUnavailable,
}

// statusOf returns the HTTP status of the answer with an error.
func statusOf(e *toolwire.Error) int {
	return cmp.Or(statuses[e.Code], http.StatusInternalServerError)
}

// errorBody returns the body of the answer with an error.
func errorBody(e *toolwire.Error) []byte {
	body, _ := json.Marshal(struct { // two strings: cannot fail
		Error   toolwire.Code `json:"error"`
		Message string        `json:"message"`
	}{e.Code, text.Cut(e.Message, maxErrorMessage)})
	return body
}

// maxErrorMessage leaves room for the rest of the body in the 500 characters that the platform
// keeps.
const maxErrorMessage = 400

// writeError answers a request that failed, with Retry-After beside a 503.
func writeError(w http.ResponseWriter, err error) {
	e := asError(err)
	if e.Code == toolwire.CodeBusy && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	httpserve.WriteError(w, statusOf(e), errorBody(e))
}

// asError returns the error of this package in err's chain, or a general one that does not describe err.
func asError(err error) *toolwire.Error {
	if e := ownError(err); e != nil {
		return e
	}
	return &toolwire.Error{Package: "dispatch", Code: toolwire.CodeAgentFailed, Message: "internal error", Err: err}
}

// ownError returns the first error in err's chain that this package or the agent's author made, or nil.
// Messages of other packages are not for the platform.
func ownError(err error) *toolwire.Error {
	for {
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || e.Package == "dispatch" || e.Package == "" {
			return e
		}
		err = e.Err
	}
}

func envelopeError(format string, args ...any) error {
	return &toolwire.Error{Package: "dispatch", Code: codeEnvelope, Message: fmt.Sprintf(format, args...)}
}
