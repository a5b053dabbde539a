package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// Failures before a request is complete are known not to have run anything, so they are repeated.
func TestWhatWasNotSentIsRepeated(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, tt := range []struct{ name, base string }{
		{"connection refused", "http://127.0.0.1:1"}, // the port is never given to a listener
		{"no TLS on the other side", strings.Replace(plain.URL, "http:", "https:", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := proxy.New(tt.base, runToken, &proxy.Options{Transport: &http.Transport{}, MaxAttempts: 2})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Do(background, "x", nil)
			if e := wantError(t, err, toolwire.CodeTransport, proxy.NotSent); e.Attempts != 2 {
				t.Errorf("%d attempts", e.Attempts)
			}
		})
	}
	t.Run("a transport that repeats by itself", func(t *testing.T) {
		c, s := scripted(t, func(r *http.Request) (*http.Response, error) {
			written(r)
			httptrace.ContextClientTrace(r.Context()).GetConn("") // and then it cannot dial
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		})
		_, err := c.Do(background, "refund_order", nil)
		wantError(t, err, toolwire.CodeTransport, proxy.Unknown)
		if len(s.requests()) != 1 {
			t.Errorf("%d requests", len(s.requests()))
		}
	})
	t.Run("a transport that reports nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			c, s := scripted(t, failing(dial), failing(&net.DNSError{Err: "no such host"}), answer(200, seedAnswer))
			if _, err := c.Do(background, "x", nil); err != nil || len(s.requests()) != 3 {
				t.Errorf("err = %v after %d requests", err, len(s.requests()))
			}
			if w := s.waits()[0]; w < table[0][0] || w > table[0][1] {
				t.Errorf("waited %s", w)
			}
		})
	})
}

func TestTheTokenDoesNotTravel(t *testing.T) {
	var leaked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		first := httptest.NewServer(http.RedirectHandler(other.URL, status))
		c, err := proxy.New(first.URL, runToken, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(background, "x", nil)
		wantError(t, err, toolwire.CodeUnexpectedStatus, proxy.Unknown)
		first.Close()
	}
	if leaked.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var connections atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/tools/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, seedAnswer) })
	mux.HandleFunc("/tools/bad", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(422)
		_, _ = io.WriteString(w, `{"detail":"no"}`+strings.Repeat(" ", 8<<10))
	})
	server := httptest.NewUnstartedServer(mux)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	unlimited := proxy.NewPacer(0, 0)
	// Clients without a transport of their own share one, so that a client per run does not mean a
	// connection per run.
	for range 200 {
		c, err := proxy.New(server.URL, runToken, &proxy.Options{Pacer: unlimited})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(background, "good", nil); err != nil {
			t.Fatal(err)
		}
		_, err = c.Do(background, "bad", nil)
		wantError(t, err, toolwire.CodeInvalidArguments, proxy.Refused)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 400 calls one after the other", n)
	}
}

// All callers wait for each other in every round, so that each of them needs a connection. Most find
// one of the round before. The exact count depends on the scheduler, because net/http dials whenever
// no connection is idle at that instant.
func TestConnectionsOfABurst(t *testing.T) {
	const callers, calls = 512, 8
	var dialled atomic.Int64
	var mu sync.Mutex
	arrived, everybody := 0, make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		round := everybody
		if arrived++; arrived%callers == 0 {
			close(everybody)
			everybody = make(chan struct{})
		}
		mu.Unlock()
		select {
		case <-round:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, seedAnswer)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dialled.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	transport := proxy.NewTransport()
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	// On a busy machine a handshake takes long, and a connection waits long for its next caller. A
	// time limit that passed would lead to another connection.
	transport.DialContext, transport.TLSHandshakeTimeout, transport.IdleConnTimeout = nil, 0, 0
	defer transport.CloseIdleConnections()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			c, err := proxy.New(server.URL, runToken, &proxy.Options{Transport: transport, AttemptTimeout: time.Hour})
			for range calls {
				if err == nil {
					_, err = c.Do(background, "x", nil)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if dialled.Load() < callers || dialled.Load() >= 2*callers {
		t.Errorf("%d callers made %d calls each over %d connections, want about one for each caller", callers, calls, dialled.Load())
	}
}

func TestRequestIsOneWriteAndMinimal(t *testing.T) {
	got := make(chan string, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		buf := make([]byte, 64<<10)
		n, _ := conn.Read(buf)
		got <- string(buf[:n])
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(seedAnswer), seedAnswer)
	}()
	c, err := proxy.New("http://"+listener.Addr().String()+"/runs/abc/", runToken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(background, "get_order", map[string]string{"order_id": "4521"}); err != nil {
		t.Fatal(err)
	}
	want := "POST /runs/abc/tools/get_order HTTP/1.1\r\nHost: " + listener.Addr().String() +
		"\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 19\r\nAuthorization: Bearer " + runToken +
		"\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n{\"order_id\":\"4521\"}"
	if wire := <-got; wire != want {
		t.Errorf("the first read got\n%q\nwant\n%q", wire, want)
	}
}

func TestRequestLimit(t *testing.T) {
	c, s := scripted(t, answer(200, seedAnswer))
	fits := `{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`
	if _, err := c.Do(background, "x", []byte(fits)); err != nil {
		t.Error(err)
	}
	_, err := c.Do(background, "x", []byte(fits[:7]+"x"+fits[7:]))
	wantError(t, err, toolwire.CodeRequestTooLarge, proxy.NotSent)
	_, err = c.Trace(background, proxy.EventCustom, []byte(fits))
	wantError(t, err, toolwire.CodeRequestTooLarge, proxy.NotSent)
	if len(s.requests()) != 1 {
		t.Errorf("%d requests", len(s.requests()))
	}
}

func TestResponseLimitIsExact(t *testing.T) {
	pad := func(n int) string { return `{"response":"` + strings.Repeat("x", n-2) + `"}` }
	for _, lie := range []int64{0, -1, 5} {
		for _, tt := range []struct {
			size int
			ok   bool
		}{{1 << 20, true}, {1<<20 + 1, false}} {
			step := func(*http.Request) (*http.Response, error) {
				length := lie
				if lie == 0 {
					length = int64(len(pad(tt.size)))
				}
				return &http.Response{StatusCode: 200, ContentLength: length, Header: http.Header{},
					Body: io.NopCloser(strings.NewReader(pad(tt.size)))}, nil
			}
			c, _ := scripted(t, step)
			_, err := c.Do(background, "x", nil)
			if tt.ok && err != nil || !tt.ok && toolwire.CodeOf(err) != toolwire.CodeResponseTooLarge {
				t.Errorf("Content-Length %d, size %d: %v", lie, tt.size, err)
			}
		}
	}
}

func TestManyRunsLeaveNothingBehind(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, seedAnswer)
	}))
	defer server.Close()
	call := func() {
		c, err := proxy.New(server.URL, runToken, nil)
		if err == nil {
			_, err = c.Do(background, "x", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	call()
	before := runtime.NumGoroutine()
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	heap := memory.HeapAlloc
	for range 10_000 {
		call()
	}
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if grown := int64(memory.HeapAlloc) - int64(heap); grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if after := runtime.NumGoroutine(); after > before+5 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}
