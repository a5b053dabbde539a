package httpcall

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// ErrTooLarge is the error of a body that exceeds its limit.
var ErrTooLarge = errors.New("the response is too large")

// readBody reads the body of a response, at most limit bytes of it, and closes it. It returns what was read
// together with the error. When ctx ends, the error is the result of [ContextError].
func readBody(ctx context.Context, response *http.Response, limit int64) ([]byte, error) {
	body, rest, err := ReadStart(ctx, response, limit)
	if rest != nil {
		_ = rest.Close()
		return body[:min(int64(len(body)), limit)], ErrTooLarge
	}
	return body, err
}

// ReadStart reads a body as [Client.Do] does, but one of more than limit bytes is not an error. Then rest is what
// follows start, and the caller must close it. start has limit+1 bytes, or none if the headers announce the
// length. If rest is nil, the body has been closed.
func ReadStart(ctx context.Context, response *http.Response, limit int64) (start []byte, rest io.ReadCloser, err error) {
	switch {
	case response.Body == nil:
		return nil, nil, nil
	case response.StatusCode == http.StatusSwitchingProtocols:
		// The body is the connection. No context ends a read from it, and no client here has asked
		// for another protocol.
		_ = response.Body.Close()
		return nil, nil, nil
	case response.ContentLength > limit:
		return nil, response.Body, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = response.Body.Close() }) // ends a read that waits
	start, err = read(ctx, response, limit)
	switch {
	case !stop():
		return start, nil, ContextError(ctx)
	case err == nil && int64(len(start)) > limit:
		return start, response.Body, nil
	}
	_ = response.Body.Close()
	return start, nil, err
}

// mostAtOnce is how much memory a peer can make a call allocate by announcing a length.
const mostAtOnce = 2 << 20

// read reads a body to its end, or to the first byte beyond limit. Up to mostAtOnce, it allocates once if the body
// has the length that was announced.
func read(ctx context.Context, response *http.Response, limit int64) ([]byte, error) {
	size := int64(512)
	if length := response.ContentLength; length >= 0 {
		size = httpserve.Announced(length, mostAtOnce) + 1 // one more, so that the end is seen without growing
	}
	body := make([]byte, 0, size)
	for int64(len(body)) <= limit {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		free := body[len(body):cap(body)]
		if left := limit - int64(len(body)); left < int64(len(free)) {
			free = free[:left+1]
		}
		n, err := response.Body.Read(free)
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		case n == 0 && ctx.Err() != nil: // a reader may return nothing for ever
			return body, ContextError(ctx)
		}
	}
	return body, nil
}
