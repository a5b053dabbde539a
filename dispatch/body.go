package dispatch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// readBody reads the whole body within its limits. A body that keeps its word costs one allocation.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := h.opts.MaxBodyBytes
	if r.ContentLength > limit {
		return nil, h.tooLarge(w)
	}
	if r.Body == nil { // a request that no server made
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.opts.BodyTimeout)) // not every ResponseWriter can
	size := int64(512)
	if r.ContentLength >= 0 {
		size = r.ContentLength + 1 // one more, so that the end is seen without growing
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, h.tooLarge(w)
		case err == io.EOF:
			// Left in place, the deadline would later look as if the platform had hung up. After a failure it stays: the
			// server reads on before it answers.
			_ = control.SetReadDeadline(time.Time{})
			return body, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &Error{Code: CodeBody, Message: fmt.Sprintf("the body did not arrive within %s", h.opts.BodyTimeout)}
		case err != nil:
			return nil, &Error{Code: CodeBody, Message: "the body could not be read to its end", Err: err}
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

// tooLarge also gives the connection up, so that the server does not read the rest.
func (h *Handler) tooLarge(w http.ResponseWriter) error {
	w.Header().Set("Connection", "close")
	return &Error{Code: CodeBodyTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", h.opts.MaxBodyBytes)}
}

// skipBody lets the server answer although nobody has read the body: otherwise it first waits for the rest of it, which
// somebody without a token could withhold. The price is the connection.
func skipBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
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
