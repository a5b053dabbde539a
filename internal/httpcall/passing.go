package httpcall

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// RoundTrip sends request with its own context, for code that passes the response on. If it fails,
// notSent reports whether no complete request can have reached the peer.
func RoundTrip(transport http.RoundTripper, request *http.Request) (response *http.Response, notSent bool, err error) {
	w := newWatch(nil)
	response, err = transport.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), &w.trace)))
	if err == nil && response == nil {
		err = errNoAnswer
	}
	if err != nil {
		return nil, w.notSent(err), err
	}
	if !validStatus(response.StatusCode) {
		if response.Body != nil {
			_ = response.Body.Close()
		}
		return nil, false, errStatus
	}
	return response, false, nil
}

// ReadStart reads a body as [Client.Do] does, but one of more than limit bytes is not an error.
// Then rest is what follows start, and the caller must close it. start has limit+1 bytes, or none
// if the headers announce the length. If rest is nil, the body has been closed.
func ReadStart(
	ctx context.Context, response *http.Response, limit int64,
) (start []byte, rest io.ReadCloser, err error) {
	switch {
	case response.Body == nil:
		return nil, nil, nil
	case response.ContentLength > limit && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, response.Body, nil
	}
	body := &beginning{body: response.Body}
	body.left.Store(limit + 1)
	limited := *response
	limited.Body = body
	start, err = readBody(ctx, &limited, limit+1, inMemory(response.Body))
	switch {
	case err != nil:
		body.abandon()
		return start, nil, err
	case int64(len(start)) > limit:
		return start, response.Body, nil
	}
	return start, nil, nil
}

// beginning is the first bytes of a body. Close leaves the body open if they have been read and
// more may follow.
type beginning struct {
	body io.ReadCloser
	left atomic.Int64

	mu        sync.Mutex
	open      bool // Close has left the body open
	abandoned bool // the rest is not read
}

// Read implements io.Reader.
func (b *beginning) Read(p []byte) (int, error) {
	left := b.left.Load()
	if left == 0 {
		return 0, io.EOF
	}
	n, err := b.body.Read(p[:min(int64(len(p)), left)])
	b.left.Add(-int64(n))
	return n, err
}

// Close implements io.Closer.
func (b *beginning) Close() error {
	b.mu.Lock()
	b.open = b.left.Load() == 0 && !b.abandoned
	open := b.open
	b.mu.Unlock()
	if open {
		return nil
	}
	return b.body.Close()
}

// abandon closes the body if Close has left it open or will do so.
func (b *beginning) abandon() {
	b.mu.Lock()
	b.abandoned = true
	open := b.open
	b.mu.Unlock()
	if open {
		_ = b.body.Close()
	}
}
