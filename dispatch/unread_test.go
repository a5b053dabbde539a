package dispatch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/internal/memhttp"
)

// oneAtATime is a handler with one place, whose answers have a MiB.
func oneAtATime(t testing.TB) *dispatch.Handler {
	return newHandler(t, answering(strings.Repeat("x", 1<<20)), func(o *dispatch.Options) { o.MaxRuns = 1 })
}

// dispatchText is a dispatch as text of HTTP/1.1.
const dispatchText = "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + agentToken + "\r\nX-Pipelines-Run-Token: " + runToken +
	"\r\nX-Pipelines-Odyssey-Proxy-Url: https://api.example.com/runs/abc\r\nContent-Length: 2\r\n\r\n{}"

// dispatchHTTP1 sends a dispatch and reads nothing.
func dispatchHTTP1(t testing.TB, s *hostiletest.Server) *hostiletest.Conn {
	conn := s.Dial(t)
	conn.Write(dispatchText)
	return conn
}

// dispatchHTTP2 sends a dispatch and reads nothing of the connection.
func dispatchHTTP2(t testing.TB, s *hostiletest.Server) *hostiletest.Conn {
	return overHTTP2(t, s).Conn
}

// dispatchWindow sends a dispatch and reads the connection, but gives the answer no window.
func dispatchWindow(t testing.TB, s *hostiletest.Server) *hostiletest.Conn {
	conn := overHTTP2(t, s, "\x00\x04\x00\x00\x00\x00") // SETTINGS_INITIAL_WINDOW_SIZE = 0
	go conn.Ping()
	return conn.Conn
}

func overHTTP2(t testing.TB, s *hostiletest.Server, settings ...string) *hostiletest.HTTP2 {
	conn := s.DialHTTP2(t)
	for _, one := range settings {
		conn.Frame(4, 0, 0, one)
	}
	conn.Headers(1, false, ":method", "POST", ":scheme", "http", ":path", "/", ":authority", "x", "x-pipelines-run-token", runToken,
		"x-pipelines-odyssey-proxy-url", "https://api.example.com/runs/abc", "authorization", "Bearer "+agentToken)
	conn.Data(1, true, `{}`)
	return conn
}

var unread = map[string]func(testing.TB, *hostiletest.Server) *hostiletest.Conn{
	"HTTP/1.1": dispatchHTTP1, "HTTP/2": dispatchHTTP2, "HTTP/2 without a window": dispatchWindow,
}

// A peer that does not read its answer keeps neither the place of its run nor a Drain.
func TestPeersThatDoNotReadTheirAnswers(t *testing.T) {
	for name, dispatchTo := range unread {
		for _, patience := range []time.Duration{3 * time.Second, time.Hour} {
			t.Run(fmt.Sprint(name, ", ", patience), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := oneAtATime(t)
					server := hostiletest.NewMemoryServer(t, h)
					var conns []*hostiletest.Conn
					for range 2 {
						conns = append(conns, dispatchTo(t, server))
						synctest.Wait()
					}
					if w := post(h, "{}", nil); w.Code != 200 { // the place is free
						t.Errorf("another dispatch: %d %.200s", w.Code, w.Body)
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					start := time.Now()
					err := h.Drain(ctx)
					if took := time.Since(start); took != min(patience, 10*time.Second) || (err != nil) != (patience < 10*time.Second) {
						t.Errorf("Drain took %s: %v", took, err)
					}
					start = time.Now()
					if err := h.Drain(t.Context()); err != nil || time.Since(start) > 0 { // nothing is written any more
						t.Errorf("after %s: %v", time.Since(start), err)
					}
					for _, conn := range conns {
						conn.Close()
					}
				})
			})
		}
	}
}

// An answer that was given up is not counted again when its connection ends.
func TestAnswersAreGivenUpOnce(t *testing.T) {
	for name, dispatchTo := range unread {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := oneAtATime(t)
				conn := dispatchTo(t, hostiletest.NewMemoryServer(t, h))
				time.Sleep(time.Minute)
				conn.Close()
				synctest.Wait()
				if err := h.Drain(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A run that ends when a Drain has given up waiting is answered as before.
func TestAnswersAfterADrainThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Minute)
			return &dispatch.Response{FinalResponse: strings.Repeat("x", 1<<20)}, nil
		})
		server := memhttp.Serve(t, h)
		dispatchTo := func() net.Conn {
			conn, err := server.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, dispatchText)
			return conn
		}
		unread := dispatchTo()
		time.Sleep(30 * time.Second)
		late := dispatchTo()
		time.Sleep(30 * time.Second) // the first is being answered
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := h.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		time.Sleep(time.Minute / 2) // the second is being answered
		if response, err := http.ReadResponse(bufio.NewReader(late), nil); err != nil {
			t.Error(err)
		} else if n, err := io.Copy(io.Discard, response.Body); err != nil || n < 1<<20 {
			t.Errorf("%d bytes: %v", n, err)
		}
		_, _ = unread.Close(), late.Close()
	})
}

// A run that failed is answered, too.
func TestDrainAfterAFailedRun(t *testing.T) {
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no") })
	if w := post(h, "{}", nil); w.Code != 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Drain(ctx); err != nil {
		t.Error(err)
	}
}

// Drain waits for an answer that is read, however slowly.
func TestDrainWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := oneAtATime(t)
		conn, err := memhttp.Serve(t, h).Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, dispatchText)
		drained := make(chan time.Duration, 1)
		start := time.Now()
		synctest.Wait()
		go func() {
			if err := h.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			drained <- time.Since(start)
		}()
		response, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		var read int64
		for err == nil {
			time.Sleep(4 * time.Second)
			var n int64
			n, err = io.CopyN(io.Discard, response.Body, 32<<10)
			read += n
		}
		if !errors.Is(err, io.EOF) || read < 1<<20 {
			t.Errorf("%d bytes: %v", read, err)
		}
		if took := <-drained; took < 2*time.Minute {
			t.Errorf("Drain took %s", took)
		}
	})
}

// The deadline of an answer does not end the next one on the same connection.
func TestDeadlinesEndWithTheirAnswer(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			size := 0
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				time.Sleep(time.Minute)
				return &dispatch.Response{FinalResponse: strings.Repeat("x", size)}, nil
			})
			listener := memhttp.Listen()
			server := &http.Server{Handler: h, Protocols: new(http.Protocols)}
			server.Protocols.SetHTTP1(true)
			server.Protocols.SetUnencryptedHTTP2(true)
			go func() { _ = server.Serve(listener) }()
			defer func() { _ = server.Close() }()
			dials := 0
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return listener.Dial(ctx, network, address)
			}
			transport.Protocols.SetHTTP1(!http2)
			transport.Protocols.SetUnencryptedHTTP2(http2)
			defer transport.CloseIdleConnections()
			for _, size = range []int{1 << 20, 100, 1 << 20} { // a short one gets no deadline
				r, err := http.NewRequestWithContext(t.Context(), "POST", "http://agent.example/", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = seedHeaders()
				response, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if _ = response.Body.Close(); err != nil || response.StatusCode != 200 || len(body) < size {
					t.Errorf("HTTP/2 %t: %d, %d bytes, %v", http2, response.StatusCode, len(body), err)
				}
				time.Sleep(time.Minute)
			}
			if dials != 1 {
				t.Errorf("HTTP/2 %t: %d connections", http2, dials)
			}
		})
	}
}
