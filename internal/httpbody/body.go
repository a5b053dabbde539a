// Package httpbody reads bodies of HTTP messages whole, within limits that hold whatever the headers claim.
package httpbody

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// What can go wrong beside the connection.
var (
	ErrTooLarge = errors.New("the body is too large")
	ErrTimeout  = errors.New("the body took too long to arrive")
)

// Request reads the body of a request, of at most limit bytes, which must arrive before the deadline; that needs a
// ResponseWriter that supports read deadlines, as those of net/http do. After [ErrTooLarge] the connection is given up
// once the request is answered, so that the server does not read the rest.
func Request(w http.ResponseWriter, r *http.Request, limit int64, deadline time.Time) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, ErrTooLarge
	}
	if r.Body == nil { // a request that no server made
		return nil, nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(deadline) // not every ResponseWriter can
	body, err := read(r.Body, r.ContentLength, limit)
	switch {
	case err == nil:
		// Left in place, the deadline could end the server's reading ahead, which looks as if the peer had hung up. After
		// a failure it stays: the server reads on before it answers.
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	case errors.Is(err, ErrTooLarge):
		w.Header().Set("Connection", "close")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrTimeout
	}
	return nil, err
}

// Skip lets the server answer although nobody has read the body of the request: otherwise it first waits for the rest of
// it, which somebody without a secret could withhold. The price is the connection.
func Skip(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

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

// read makes one allocation for a body that keeps its word.
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
