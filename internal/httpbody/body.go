// Package httpbody reads bodies of responses whole, within limits that do not depend on what the headers say.
package httpbody

import (
	"errors"
	"io"
	"net/http"
)

// ErrTooLarge is the error of a body beyond the limit.
var ErrTooLarge = errors.New("the body is too large")

// Response reads the body of a response, of at most limit bytes, and closes it. What was read is returned with the
// error, at most limit bytes of it. After [ErrTooLarge] the connection is not used again.
func Response(r *http.Response, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	if r.ContentLength > limit {
		return nil, ErrTooLarge
	}
	return read(r.Body, r.ContentLength, limit)
}

// read allocates once if the body matches Content-Length.
func read(from io.Reader, length, limit int64) ([]byte, error) {
	size := int64(512)
	if length >= 0 {
		size = length + 1 // one more, so that the end is seen without growing
	}
	body := make([]byte, 0, size)
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], ErrTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}
