package httpcall

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// ErrTooLarge is the error of a body that exceeds its limit.
var ErrTooLarge = errors.New("the response is too large")

// errStopped is the error of a body that ended the goroutine that read it.
var errStopped = errors.New("the body of the response ended its goroutine")

// closeGrace is how long a body may go on reading after its context has ended before it is closed
// under the read. A body that obeys its context never meets it, so that only a stuck one sees Read
// and Close at the same time.
const closeGrace = time.Second

// readBody reads the body of a response, at most limit bytes of it, and closes it. It returns what
// was read together with the error. It returns when ctx ends, whatever the body does; the error is
// then the result of [ContextError]. If standard is true, it reads in place: the bodies of
// *http.Transport end with the context of their request. Others are read and closed on a goroutine
// that can be left behind.
func readBody(ctx context.Context, response *http.Response, limit int64, standard bool) ([]byte, error) {
	if response.Body == nil {
		return nil, nil
	}
	if standard || inMemory(response.Body) || ctx.Done() == nil {
		defer func() { _ = response.Body.Close() }()
		return read(ctx, response, limit)
	}
	r := &reading{response: response, done: make(chan struct{}), err: errStopped}
	go r.run(ctx, limit)
	select {
	case <-r.done:
	case <-ctx.Done():
		select {
		case <-r.done: // both happened; the body is there
		default:
			if r.read.Load() { // only Close has not returned
				return r.data, r.err
			}
			go r.abandon()
			return nil, ContextError(ctx)
		}
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.data, r.err
}

var nopClosers = [2]reflect.Type{
	reflect.TypeOf(io.NopCloser(strings.NewReader(""))), reflect.TypeOf(io.NopCloser(struct{ io.Reader }{})),
}

// inMemory reports whether a body is an io.NopCloser around a reader that cannot block. It saves
// in-process transports the goroutine.
func inMemory(body io.ReadCloser) bool {
	if t := reflect.TypeOf(body); t != nopClosers[0] && t != nopClosers[1] {
		return body == http.NoBody
	}
	switch reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	return false
}

// reading is one body that is read on a goroutine of its own.
type reading struct {
	response *http.Response
	closing  atomic.Bool   // Close has been called
	done     chan struct{} // closed when the body is closed and the fields below are final

	data     []byte
	err      error
	read     atomic.Bool // data and err are final
	panicked any
}

func (r *reading) run(ctx context.Context, limit int64) {
	defer close(r.done)
	defer func() { r.panicked = recover() }()
	defer r.close()
	r.data, r.err = read(ctx, r.response, limit)
	r.read.Store(true)
}

// close closes the body once. It does not wait for a Close that another goroutine has begun.
func (r *reading) close() {
	if r.closing.CompareAndSwap(false, true) {
		_ = r.response.Body.Close()
	}
}

// abandon closes a body whose context has ended and that does not stop reading.
func (r *reading) abandon() {
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		r.close()
	}
}

// mostAtOnce is how much memory a peer can make a call allocate by announcing a length.
const mostAtOnce = 2 << 20

// read reads the body of a response that may be read. Up to mostAtOnce, it allocates once if the
// body has the length that was announced.
func read(ctx context.Context, response *http.Response, limit int64) ([]byte, error) {
	switch {
	case response.StatusCode == http.StatusSwitchingProtocols:
		// The body is the connection. No context ends a read from it, and no client here has asked
		// for another protocol.
		return nil, nil
	case response.ContentLength > limit:
		return nil, ErrTooLarge
	}
	size := int64(512)
	if length := response.ContentLength; length >= 0 {
		size = httpserve.Announced(length, mostAtOnce) + 1 // one more, so that the end is seen without growing
	}
	body := make([]byte, 0, size)
	for {
		n, err := response.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], ErrTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		case n == 0 && ctx.Err() != nil: // a reader may return nothing for ever
			return body, ContextError(ctx)
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}
