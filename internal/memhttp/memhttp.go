// Package memhttp sends HTTP requests to a handler without a network. It imports nothing of a test,
// so that code for production may use it.
package memhttp

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"syscall"
	"time"
)

// NewTransport returns a transport that sends requests to a handler without a network, whatever
// host they name. The handler runs on its own goroutine with the request's context. When the
// context ends, the round trip fails at once. Requests and responses are buffered whole. A handler
// that panics with http.ErrAbortHandler breaks the connection: before its first write the round
// trip fails as after a reset, later the body ends with io.ErrUnexpectedEOF.
//
// The transport works in bubbles of testing/synctest. It is safe for concurrent use and does not
// need to be closed.
func NewTransport(handler http.Handler) http.RoundTripper { return transport{handler, false} }

// NewArrivalTransport is [NewTransport] for a handler that calls [Arrived]. A round trip whose
// context ends returns only after that call, or after the handler has returned.
func NewArrivalTransport(handler http.Handler) http.RoundTripper { return transport{handler, true} }

// Arrived reports that the handler has noted the request. Call it at most once for each request. It
// does nothing if w is not from a transport of this package.
func Arrived(w http.ResponseWriter) {
	if w, ok := w.(*recorder); ok {
		close(w.arrived)
	}
}

type transport struct {
	handler http.Handler
	arrival bool
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	body, err := readAll(r)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	reportWritten(ctx, r.URL.Host)
	w := &recorder{header: make(http.Header), done: make(chan struct{}), arrived: make(chan struct{})}
	go w.serve(t.handler, serverRequest(r, body))
	select {
	case <-w.done:
	case <-ctx.Done():
		if t.arrival {
			select {
			case <-w.arrived:
			case <-w.done:
			}
		}
		return nil, ctx.Err()
	}
	if w.aborted && w.status == 0 {
		return nil, &net.OpError{Op: "read", Net: "memory", Err: syscall.ECONNRESET}
	}
	return w.response(r), nil
}

func readAll(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	var b bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength <= 32<<20 {
		b.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := b.ReadFrom(r.Body)
	return b.Bytes(), err
}

// reportWritten reports the request as sent to the trace in ctx, as a network transport does.
// Clients decide by it whether they may repeat a failed call.
func reportWritten(ctx context.Context, host string) {
	watch := httptrace.ContextClientTrace(ctx)
	if watch == nil {
		return
	}
	if watch.GetConn != nil {
		watch.GetConn(host)
	}
	if watch.GotConn != nil {
		watch.GotConn(httptrace.GotConnInfo{})
	}
	if watch.WroteHeaders != nil {
		watch.WroteHeaders()
	}
	if watch.WroteRequest != nil {
		watch.WroteRequest(httptrace.WroteRequestInfo{})
	}
}

// serverRequest returns the request as a server receives it.
func serverRequest(r *http.Request, body []byte) *http.Request {
	in := r.WithContext(r.Context())
	url := *r.URL // a handler may rewrite it
	in.URL, in.Header = &url, r.Header.Clone()
	if in.Header == nil {
		in.Header = make(http.Header)
	}
	in.Body, in.ContentLength, in.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "memory"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	return in
}

// recorder keeps a response. Only the handler's goroutine may use it until done is closed.
type recorder struct {
	header  http.Header
	sent    http.Header // as it was when the status was written
	status  int
	body    bytes.Buffer
	aborted bool
	done    chan struct{}
	arrived chan struct{} // closed by Arrived
}

func (w *recorder) serve(handler http.Handler, r *http.Request) {
	w.aborted = true // until the handler has returned; it may also call runtime.Goexit
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		close(w.done)
	}()
	handler.ServeHTTP(w, r)
	w.WriteHeader(http.StatusOK)
	w.aborted = false
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// SetReadDeadline is for handlers that bound the time of a body: here the body has arrived whole.
func (w *recorder) SetReadDeadline(time.Time) error { return nil }

// Flush implements http.Flusher. It sends the status, because the response is buffered whole.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }

func (w *recorder) response(r *http.Request) *http.Response {
	length := int64(w.body.Len())
	if declared, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil {
		length = declared
	}
	var body io.Reader = &w.body
	if w.aborted {
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: io.NopCloser(body), ContentLength: length, Request: r,
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
