package httpserve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// peer is a ResponseWriter with write deadlines, whose peer takes a write after a pause.
type peer struct {
	header    http.Header
	pause     func(n int) time.Duration // of the nth write
	deaf      bool                      // a deadline ends no write
	writes    []int
	deadlines []time.Duration // from now; 0 for none, and -1 for one in the past
	body      bytes.Buffer

	deadline chan time.Time // the last one
}

func newPeer(pause func(n int) time.Duration) *peer {
	return &peer{header: http.Header{}, pause: pause}
}

func (p *peer) Header() http.Header { return p.header }
func (p *peer) WriteHeader(int)     {}

func (p *peer) SetWriteDeadline(at time.Time) error {
	switch until := time.Until(at); {
	case at.IsZero():
		p.deadlines = append(p.deadlines, 0)
	default:
		p.deadlines = append(p.deadlines, max(until, -1))
	}
	p.deadline <- at
	return nil
}

func (p *peer) Write(b []byte) (int, error) {
	took := time.After(p.pause(len(p.writes)))
	p.writes = append(p.writes, len(b))
	var late <-chan time.Time
	for {
		select {
		case at := <-p.deadline:
			if late = nil; !at.IsZero() && !p.deaf {
				late = time.After(time.Until(at))
			}
		case <-late:
			return 0, errors.New("too late")
		case <-took:
			return p.body.Write(b)
		}
	}
}

func TestSend(t *testing.T) {
	const second = time.Second
	body := []byte(strings.Repeat("x", 150_000))
	every := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, tt := range []struct {
		name      string
		peer      *peer
		ends      time.Duration // when the context ends; 0 for never
		writes    []int
		deadlines []time.Duration
		sent      time.Duration // when the response is written or given up
		returned  time.Duration
	}{
		{"read at once", newPeer(every(0)), 0, []int{65536, 65536, 18928}, []time.Duration{10 * second, 10 * second, 10 * second, 10 * second}, 0, 0},
		{"read slowly", newPeer(every(9 * second)), 0, []int{65536, 65536, 18928}, []time.Duration{10 * second, 10 * second, 10 * second, 10 * second}, 27 * second, 27 * second},
		{"the second piece is not read", newPeer(func(n int) time.Duration { return time.Duration(n) * time.Hour }), 0, []int{65536, 65536}, nil, 10 * second, 10 * second},
		{"the context ends", newPeer(every(9 * second)), 12 * second, []int{65536, 65536}, []time.Duration{10 * second, 10 * second, 10 * second, -1}, 12 * second, 12 * second},
		{"the context has ended", newPeer(every(second)), -1, []int{65536}, nil, 0, 0},
		{"the server cannot end a write", &peer{header: http.Header{}, pause: every(time.Hour), deaf: true}, 0,
			[]int{65536, 65536, 18928}, []time.Duration{10 * second, 10 * second, -1}, 10 * second, 3 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.peer.deadline = make(chan time.Time, 100)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch {
				case tt.ends > 0:
					defer time.AfterFunc(tt.ends, cancel).Stop()
				case tt.ends < 0:
					cancel()
				}
				start := time.Now()
				sent := time.Duration(-1)
				var once sync.Once // Send calls the function from several goroutines
				httpserve.Send(ctx, tt.peer, 200, body, func() { once.Do(func() { sent = time.Since(start) }) })
				returned := time.Since(start)
				synctest.Wait()
				if sent != tt.sent || returned != tt.returned || !slices.Equal(tt.peer.writes, tt.writes) {
					t.Errorf("sent after %s, returned after %s, writes %v", sent, returned, tt.peer.writes)
				}
				deadlines := slices.Clone(tt.peer.deadlines)
				if tt.deadlines != nil && !slices.Equal(deadlines, tt.deadlines) {
					t.Errorf("deadlines %v", deadlines)
				}
				if len(tt.writes) == 3 && !bytes.Equal(tt.peer.body.Bytes(), body) {
					t.Errorf("%d bytes", tt.peer.body.Len())
				}
				time.Sleep(time.Minute) // nothing touches the writer afterwards
				if !slices.Equal(tt.peer.deadlines, deadlines) {
					t.Errorf("later deadlines %v", tt.peer.deadlines)
				}
			})
		})
	}
}

// signer is a ResponseWriter of a middleware that sets a header when it has the whole body.
type signer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (s *signer) Unwrap() http.ResponseWriter { return s.ResponseWriter }
func (s *signer) WriteHeader(status int)      { s.status = status }
func (s *signer) Write(b []byte) (int, error) { return s.body.Write(b) }

// A middleware that keeps the response until the handler has returned may still change it.
func TestSendToAMiddlewareThatKeepsTheResponse(t *testing.T) {
	for _, n := range []int{1 << 10, 150_000} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kept := &signer{ResponseWriter: w}
			httpserve.Send(r.Context(), kept, 201, bytes.Repeat([]byte("x"), n), func() {})
			w.Header().Set("X-Signature", "of the body")
			w.WriteHeader(kept.status)
			_, _ = w.Write(append(kept.body.Bytes(), "."...))
		}))
		defer server.Close()
		response, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != 201 || len(body) != n+1 || response.Header.Get("X-Signature") == "" {
			t.Errorf("%d bytes: %d, %d bytes, %v, header %v", n, response.StatusCode, len(body), err, response.Header)
		}
	}
}

// Short bodies, and ResponseWriters without deadlines, are written to in one piece.
func TestSendWithoutDeadlines(t *testing.T) {
	for _, n := range []int{0, 1, 2 << 10, 150_000} {
		var sent atomic.Int64
		body := strings.Repeat("x", n)
		recorder := httptest.NewRecorder()
		httpserve.Send(t.Context(), recorder, 201, []byte(body), func() { sent.Add(1) })
		if recorder.Code != 201 || recorder.Body.String() != body || sent.Load() == 0 {
			t.Errorf("%d bytes: %d, %d bytes, sent %d", n, recorder.Code, recorder.Body.Len(), sent.Load())
		}
		p := newPeer(func(int) time.Duration { return 0 })
		p.deadline = make(chan time.Time, 100)
		if httpserve.Send(t.Context(), p, 200, []byte(body), func() {}); n <= 2<<10 && (len(p.writes) != 1 || p.deadlines != nil) {
			t.Errorf("%d bytes: writes %v, deadlines %v", n, p.writes, p.deadlines)
		}
	}
}
