package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// unadmitted is the number of bytes of a body that are read before the dispatch has a place in the
// gate. It is enough for a ping, which is always answered.
const unadmitted = 64 << 10

// receive reads the body of an authenticated request and takes a place in the gate for its run. The
// visit is nil if the body is a ping.
func (h *Handler) receive(
	w http.ResponseWriter, r *http.Request, arrived time.Time,
) (v *visit, body []byte, err error) {
	in := httpserve.OpenBody(w, r, h.opts.MaxBodyBytes, arrived.Add(h.opts.BodyTimeout))
	if body, err = in.Head(unadmitted); err != nil {
		return nil, nil, h.bodyError(err)
	}
	if in.Done() && isPing(body) {
		return nil, nil, nil
	}
	size := max(int64(len(body)), r.ContentLength)
	if refused := h.gate.enter(size); refused != nil {
		if !in.Done() {
			httpserve.LeaveBody(w, r)
		}
		return nil, nil, refused
	}
	v = newVisit(&h.gate)
	v.bytes = size
	if in.Done() {
		return v, body, nil
	}
	if body, err = v.read(&in, body); err != nil {
		return nil, nil, h.bodyError(err)
	}
	if isPing(body) {
		v.release()
		return nil, nil, nil
	}
	return v, body, nil
}

// read reads the rest of the body. If that fails or panics, the visit is released.
func (v *visit) read(in *httpserve.Body, head []byte) (body []byte, err error) {
	whole := false
	defer func() {
		if !whole {
			v.release()
		}
	}()
	body, err = in.Rest(head, v.room)
	whole = err == nil
	return body, err
}

func (h *Handler) bodyError(err error) error {
	switch err {
	case httpserve.ErrNoRoom:
		return errBytes
	case httpserve.ErrTooLarge:
		message := fmt.Sprintf("the body has more than %d bytes", h.opts.MaxBodyBytes)
		return &Error{Code: CodeBodyTooLarge, Message: message}
	case httpserve.ErrTimeout:
		return &Error{Code: CodeBody, Message: fmt.Sprintf("the body did not arrive within %s", h.opts.BodyTimeout)}
	}
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok { // of middleware in front of the handler
		message := fmt.Sprintf("the body has more than %d bytes, the limit of an http.MaxBytesReader", limit.Limit)
		return &Error{Code: CodeBodyTooLarge, Message: message}
	}
	return &Error{Code: CodeBody, Message: "the body could not be read to its end", Err: err}
}

// isPing reports whether body is {"ping":true} with any white space and nothing else. It is called
// for every request before the body is parsed.
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
