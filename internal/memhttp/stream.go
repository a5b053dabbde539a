package memhttp

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// NewStreamTransport is [NewTransport] for a handler that streams its response. The round trip
// returns when the handler flushes for the first time or returns. From then on the body has what
// the handler writes, as it writes it. Writes never wait for the reader: the transport keeps what
// has not been read. The context of the handler's request ends when the body is closed.
func NewStreamTransport(handler http.Handler) http.RoundTripper { return streaming{handler} }

type streaming struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readAll(r)
	if err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	reportWritten(r.Context(), r.URL.Host)
	s := &stream{client: r.Context(), header: make(http.Header), begun: make(chan struct{}), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(r.Context())
	s.cancel = cancel
	go s.serve(t.handler, serverRequest(r.WithContext(ctx), body))
	select {
	case <-s.begun:
	case <-s.client.Done():
		return nil, s.client.Err()
	}
	if s.status == 0 {
		return nil, &net.OpError{Op: "read", Net: "memory", Err: syscall.ECONNRESET}
	}
	length := int64(-1)
	if declared, err := strconv.ParseInt(s.sent.Get("Content-Length"), 10, 64); err == nil {
		length = declared
	}
	return &http.Response{
		Status: strconv.Itoa(s.status) + " " + http.StatusText(s.status), StatusCode: s.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.sent, Body: (*streamBody)(s), ContentLength: length, Request: r,
	}, nil
}

// stream is a response under way: an http.ResponseWriter, and the body that its client reads.
type stream struct {
	client context.Context // of the round trip
	cancel context.CancelFunc
	header http.Header

	// These belong to the handler until begun is closed.
	sent   http.Header
	status int
	open   bool // begun is closed
	begun  chan struct{}

	more   chan struct{} // has a value if the reader has to look again
	mu     sync.Mutex
	unread []byte
	end    error // what a read returns after unread; nil while the handler runs
	closed bool
}

func (s *stream) serve(handler http.Handler, r *http.Request) {
	end := io.ErrUnexpectedEOF // until the handler has returned; it may also call runtime.Goexit
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		s.mu.Lock()
		s.end = end
		s.mu.Unlock()
		s.wake()
		s.begin()
		s.cancel()
	}()
	handler.ServeHTTP(s, r)
	s.WriteHeader(http.StatusOK)
	end = io.EOF
}

func (s *stream) begin() {
	if !s.open {
		s.open = true
		close(s.begun)
	}
}

func (s *stream) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Header implements http.ResponseWriter.
func (s *stream) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *stream) WriteHeader(status int) {
	if s.status == 0 && status >= 200 {
		s.status, s.sent = status, s.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (s *stream) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.unread = append(s.unread, p...)
	}
	s.mu.Unlock()
	if closed {
		return 0, io.ErrClosedPipe
	}
	s.wake()
	return len(p), nil
}

// SetReadDeadline is for handlers that bound the time of a body: here the body has arrived whole.
func (s *stream) SetReadDeadline(time.Time) error { return nil }

// Flush implements http.Flusher. The first call sends the status.
func (s *stream) Flush() {
	s.WriteHeader(http.StatusOK)
	s.begin()
}

// streamBody is the side of a stream that the client reads.
type streamBody stream

// Read implements io.Reader. It fails when the context of the round trip ends.
func (b *streamBody) Read(p []byte) (int, error) {
	for {
		if n, err := b.take(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		select {
		case <-b.more:
		case <-b.client.Done():
			return 0, b.client.Err()
		}
	}
}

// take returns what there is: some bytes, the end, or neither.
func (b *streamBody) take(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.client.Err() != nil && b.end != io.EOF:
		return 0, b.client.Err()
	case len(b.unread) == 0:
		return 0, b.end
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	b.mu.Lock()
	b.closed, b.unread = true, nil
	b.mu.Unlock()
	(*stream)(b).cancel()
	return nil
}
