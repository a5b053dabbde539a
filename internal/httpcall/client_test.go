package httpcall_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/testkit"
)

func answering(status int, body io.ReadCloser) testkit.RoundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1, Body: body}, nil
	}
}

func request(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://peer.example/path?key=hunter2", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// body is a response body that blocks in Read until it is closed, which may happen once.
type body struct {
	entered chan struct{} // closed at the first Read
	closed  chan struct{}
	end     error // of the Read
}

func newBody(end error) *body {
	return &body{entered: make(chan struct{}), closed: make(chan struct{}), end: end}
}

func (b *body) Read([]byte) (int, error) {
	close(b.entered)
	<-b.closed
	return 0, b.end
}

func (b *body) Close() error { close(b.closed); return nil }

// The documented proof that the body of no answer outlives its context, for transports other than
// net/http's.
func TestStuckBodies(t *testing.T) {
	t.Run("time limit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBody(io.ErrClosedPipe)
			c := httpcall.Client{Transport: answering(200, b), Peer: "the peer", Timeout: 7 * time.Second, MaxBytes: 10}
			start := time.Now()
			answer, failure := c.Do(t.Context(), request(t), nil)
			if failure == nil || failure.Kind != httpcall.TimedOut || failure.NotSent || answer.Status != 200 ||
				time.Since(start) != 7*time.Second {
				t.Errorf("%+v, %+v after %s", answer, failure, time.Since(start))
			}
			<-b.closed
		})
	})
	t.Run("caller", func(t *testing.T) {
		b := newBody(io.EOF) // which is not taken for the end of the response
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the user pressed stop")
		go func() { <-b.entered; cancel(cause) }()
		c := httpcall.Client{Transport: answering(200, b), Peer: "the peer", Timeout: time.Hour, MaxBytes: 10}
		_, failure := c.Do(ctx, request(t), nil)
		if failure == nil || failure.Kind != httpcall.Canceled || !errors.Is(failure, cause) ||
			!errors.Is(failure, context.Canceled) {
			t.Errorf("%+v", failure)
		}
	})
	t.Run("nothing for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := httpcall.Client{Transport: answering(200, io.NopCloser(idle{})), Peer: "the peer",
				Timeout: time.Minute, MaxBytes: 10}
			_, failure := c.Do(t.Context(), request(t), nil)
			if failure == nil || failure.Kind != httpcall.TimedOut {
				t.Errorf("%+v", failure)
			}
		})
	})
	t.Run("a body that ends its goroutine", func(t *testing.T) {
		exit := io.NopCloser(reader(func([]byte) (int, error) { panic("hunter2") }))
		defer func() {
			if p := recover(); p != "hunter2" {
				t.Errorf("recovered %v; a panic belongs to the caller", p)
			}
		}()
		c := httpcall.Client{Transport: answering(200, exit), Peer: "the peer", Timeout: time.Hour, MaxBytes: 10}
		_, _ = c.Do(t.Context(), request(t), nil)
	})
}

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

// idle reads nothing and never ends.
type idle struct{}

func (idle) Read([]byte) (int, error) { time.Sleep(time.Second); return 0, nil }

// A body that is cut short by the end of the call is not taken for a whole one, even if its reader has
// no error. Which of the two the call sees first is open, so it is tried often.
func TestABodyThatStopsWithTheCall(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		body := io.NopCloser(reader(func(p []byte) (int, error) {
			if reads++; reads == 1 {
				return copy(p, "part"), nil
			}
			cancel()
			return 0, nil
		}))
		c := httpcall.Client{Transport: answering(200, body), Peer: "the peer", MaxBytes: 10}
		if answer, failure := c.Do(ctx, request(t).WithContext(ctx), nil); failure == nil || failure.Kind != httpcall.Canceled {
			t.Fatalf("%+v, %v", answer, failure)
		}
	}
}

func TestSwitchingProtocolsIsAnAnswerWithoutBody(t *testing.T) {
	b := newBody(io.EOF)
	c := httpcall.Client{Transport: answering(101, b), Peer: "the peer", MaxBytes: 10}
	answer, failure := c.Do(t.Context(), request(t), nil)
	if failure != nil || answer.Status != 101 || answer.Body != nil {
		t.Errorf("%+v, %v", answer, failure)
	}
	select {
	case <-b.closed:
	default:
		t.Error("the connection was not closed")
	}
	select {
	case <-b.entered:
		t.Error("the connection was read")
	default:
	}
}

// A peer that announces much makes a call allocate little.
func TestAnnouncedLengths(t *testing.T) {
	for _, length := range []int64{1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		c := httpcall.Client{Peer: "the peer", MaxBytes: math.MaxInt64,
			Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, ContentLength: length,
						Body: io.NopCloser(strings.NewReader("{}"))},
					nil
			})}
		answer, failure := c.Do(t.Context(), request(t), nil)
		if failure != nil || string(answer.Body) != "{}" || cap(answer.Body) > 4<<20 {
			t.Errorf("%d bytes announced: %d bytes of memory, %v", length, cap(answer.Body), failure)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	for _, tt := range []struct {
		body   string
		length int64
		want   string
		kind   httpcall.Kind
	}{
		{"0123456789", 10, "0123456789", 0},
		{"0123456789", -1, "0123456789", 0},
		{"0123456789", 3, "0123456789", 0},
		{"0123456789x", -1, "0123456789", httpcall.TooLarge},
		{"0123456789x", 3, "0123456789", httpcall.TooLarge},
		{"0123456789x", 11, "", httpcall.TooLarge},
		{"", 0, "", 0},
	} {
		for name, stream := range map[string]io.Reader{"memory": strings.NewReader(tt.body),
			"stream": io.MultiReader(strings.NewReader(tt.body))} {
			c := httpcall.Client{Peer: "the peer", MaxBytes: 10, Timeout: time.Hour,
				Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, ContentLength: tt.length, Body: io.NopCloser(stream)}, nil
				})}
			answer, failure := c.Do(t.Context(), request(t), nil)
			kind := httpcall.Kind(0)
			if failure != nil {
				kind = failure.Kind
			}
			if string(answer.Body) != tt.want || kind != tt.kind {
				t.Errorf("%q in %s, length %d: %q, %v", tt.body, name, tt.length, answer.Body, failure)
			}
		}
	}
}

func TestWasItSent(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	trace := func(r *http.Request) *httptrace.ClientTrace { return httptrace.ContextClientTrace(r.Context()) }
	for _, tt := range []struct {
		name    string
		trip    testkit.RoundTrip
		notSent bool
	}{
		{"dial", func(*http.Request) (*http.Response, error) { return nil, dial }, true},
		{"DNS", func(*http.Request) (*http.Response, error) { return nil, &net.DNSError{} }, true},
		{"untrusted", func(*http.Request) (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: io.EOF}
		}, true},
		{"an error that proves nothing", func(*http.Request) (*http.Response, error) { return nil, io.EOF }, false},
		{"no connection", func(r *http.Request) (*http.Response, error) { trace(r).GetConn(""); return nil, io.EOF },
			true},
		{"headers written", func(r *http.Request) (*http.Response, error) {
			trace(r).GetConn("")
			trace(r).WroteHeaders()
			return nil, dial
		}, false},
		{"headers written by a transport that reports only that", func(r *http.Request) (*http.Response, error) {
			trace(r).WroteHeaders()
			return nil, dial
		}, false},
		{"neither response nor error", func(*http.Request) (*http.Response, error) { return nil, nil }, false},
	} {
		c := httpcall.Client{Transport: tt.trip, Peer: "the peer", MaxBytes: 10}
		answer, failure := c.Do(t.Context(), request(t), nil)
		if failure == nil || failure.Kind != httpcall.Broken || failure.NotSent != tt.notSent || answer.Status != 0 {
			t.Errorf("%s: %+v, %+v", tt.name, answer, failure)
		}
	}
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := httpcall.Client{Peer: "the peer", Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})}
	if _, failure := c.Do(ctx, request(t), nil); failure == nil || failure.Kind != httpcall.Canceled ||
		!failure.NotSent {
		t.Errorf("%+v", failure)
	}
}

// early is a context whose deadline has passed a moment ago, and that has not ended yet.
type early struct{ context.Context }

func (early) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

// A connection obeys the deadline of a context by itself, a moment before the context ends.
func TestAConnectionMayEndBeforeTheContext(t *testing.T) {
	c := httpcall.Client{Peer: "the peer", MaxBytes: 10,
		Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return nil, os.ErrDeadlineExceeded
		})}
	_, failure := c.Do(early{t.Context()}, request(t), nil)
	if failure == nil || failure.Kind != httpcall.Canceled || !errors.Is(failure, context.DeadlineExceeded) {
		t.Errorf("%+v", failure)
	}
}

func TestRedirects(t *testing.T) {
	var paths []string
	c := httpcall.Client{Peer: "the peer", MaxBytes: 10,
		Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			paths = append(paths, r.URL.Path)
			if r.URL.Path == "/last" {
				return nil, io.EOF
			}
			return &http.Response{StatusCode: 307, Header: http.Header{"Location": {"/last"}}, Body: http.NoBody}, nil
		})}
	if answer, failure := c.Do(t.Context(), request(t), nil); failure != nil || answer.Status != 307 {
		t.Errorf("%+v, %v", answer, failure)
	}
	c.Redirect = func(*http.Request, []*http.Request) error { return nil }
	_, failure := c.Do(t.Context(), request(t), nil)
	if failure == nil || strings.Contains(failure.Error(), "hunter2") ||
		strings.Contains(failure.Error(), "peer.example") {
		t.Errorf("%v", failure)
	}
	c.Redirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if answer, failure := c.Do(t.Context(), request(t), nil); failure != nil || answer.Status != 307 {
		t.Errorf("%+v, %v", answer, failure)
	}
	if got := strings.Join(paths, " "); got != "/path /path /last /path" {
		t.Errorf("requests for %s", got)
	}
}

// A redirect whose body ignores its context holds no call back either.
func TestARedirectWithAStuckBody(t *testing.T) {
	b := newBody(io.EOF)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-b.entered; cancel() }()
	c := httpcall.Client{Peer: "the peer", MaxBytes: 10,
		Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 307, Header: http.Header{"Location": {"/last"}}, ContentLength: -1,
					Body: b},
				nil
		}), Redirect: func(*http.Request, []*http.Request) error { return nil }}
	if answer, failure := c.Do(ctx, request(t), nil); failure == nil || failure.Kind != httpcall.Canceled {
		t.Errorf("%+v, %v", answer, failure)
	}
}

func TestTextQuotesNobody(t *testing.T) {
	for _, tt := range []struct {
		err       error
		connected bool
		want      string
	}{
		{&net.DNSError{Err: "hunter2"}, false, "the peer's host name cannot be resolved"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false, "connection refused"},
		{&tls.CertificateVerificationError{Err: errors.New("hunter2")}, false,
			"the peer's TLS certificate is not trusted"},
		{tls.RecordHeaderError{Msg: "hunter2"}, false, "the peer does not use TLS on this port"},
		{tls.AlertError(40), false, "the TLS handshake failed"},
		{io.ErrUnexpectedEOF, true, "the connection was closed"},
		{context.DeadlineExceeded, true, "the network took too long"},
		{errors.New("hunter2"), false, "no connection could be made"},
		{errors.New("hunter2"), true, "the connection broke, or the response was not valid HTTP"},
	} {
		if got := httpcall.Describe("the peer", tt.connected, tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	err := problem.Quiet("a text", io.EOF)
	if err.Error() != "a text" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

func TestLasting(t *testing.T) {
	for err, want := range map[error]bool{
		&net.DNSError{IsNotFound: true}: true, &net.DNSError{IsTimeout: true}: false,
		&tls.CertificateVerificationError{Err: io.EOF}: true, http.ErrSchemeMismatch: true, syscall.ECONNREFUSED: false,
	} {
		f := &httpcall.Failure{Err: problem.Quiet("x", err)}
		if f.Lasting() != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
}

// An idle connection must be closed before a server that keeps it for 5 seconds closes it.
func TestIdleConnectionsEndBeforeTheServerEndsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		transport := httpcall.NewTransport()
		defer transport.CloseIdleConnections()
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			dials++
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				buffer := make([]byte, 4096)
				for {
					_ = server.SetReadDeadline(time.Now().Add(5 * time.Second)) // the keep-alive of uvicorn and Node.js
					if _, err := server.Read(buffer); err != nil {
						return
					}
					if _, err := io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
						return
					}
				}
			}()
			return client, nil
		}
		c := httpcall.Client{Transport: transport, Peer: "the peer", MaxBytes: 10}
		for _, step := range []struct {
			pause time.Duration
			dials int
		}{{0, 1}, {3 * time.Second, 1}, {5 * time.Second, 2}, {4500 * time.Millisecond, 3}} {
			time.Sleep(step.pause)
			r := request(t)
			r.Body, r.GetBody, r.ContentLength = nil, nil, 0
			if answer, failure := c.Do(t.Context(), r, nil); failure != nil || string(answer.Body) != "{}" {
				t.Fatalf("after %s: %+v, %v", step.pause, answer, failure)
			}
			if dials != step.dials {
				t.Errorf("after %s: %d connections, want %d", step.pause, dials, step.dials)
			}
		}
	})
}

func TestStatusCode(t *testing.T) {
	for status, want := range map[int]string{
		100: "unexpected_status", 204: "unexpected_status", 302: "unexpected_status", 399: "unexpected_status",
		400: "refused", 401: "unauthorized", 403: "forbidden", 404: "not_found", 408: "refused", 409: "conflict",
		413: "request_too_large", 422: "rejected", 429: "rate_limited", 499: "refused", 500: "server_error", 599: "server_error",
	} {
		if got := httpcall.StatusCode[string](status); got != want {
			t.Errorf("%d: code %s, want %s", status, got, want)
		}
	}
}
