package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// readBody reads the whole body within its limits.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, arrived time.Time) ([]byte, error) {
	body, err := httpserve.ReadBody(w, r, h.opts.MaxBodyBytes, arrived.Add(h.opts.BodyTimeout))
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, httpserve.ErrTooLarge):
		return nil, &Error{Code: CodeBodyTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", h.opts.MaxBodyBytes)}
	case errors.Is(err, httpserve.ErrTimeout):
		return nil, &Error{Code: CodeBody, Message: fmt.Sprintf("the body did not arrive within %s", h.opts.BodyTimeout)}
	}
	return nil, &Error{Code: CodeBody, Message: "the body could not be read to its end", Err: err}
}

// isPing reports whether body is {"ping":true} with any white space and nothing else. It runs for every request before
// anything is parsed.
func isPing(body []byte) bool {
	rest := body
	for _, part := range [...]string{"{", `"ping"`, ":", "true", "}"} {
		rest = skipSpace(rest)
		if len(rest) < len(part) || string(rest[:len(part)]) != part {
			return false
		}
		rest = rest[len(part):]
	}
	return len(skipSpace(rest)) == 0
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
