package proxy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// step answers one request.
type step func(*http.Request) (*http.Response, error)

// script is a transport that answers requests one after the other and keeps what it was sent. The
// last step is repeated.
type script struct {
	mu    sync.Mutex
	steps []step
	sent  []sentRequest
}

type sentRequest struct {
	method, url string
	header      http.Header
	body        string
	at          time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	next := s.steps[min(len(s.sent), len(s.steps)-1)]
	s.sent = append(s.sent, sentRequest{r.Method, r.URL.String(), r.Header.Clone(), string(body), time.Now()})
	s.mu.Unlock()
	return next(r)
}

func (s *script) requests() []sentRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// waits returns the times between the requests.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(s.sent); i++ {
		waits = append(waits, s.sent[i].at.Sub(s.sent[i-1].at))
	}
	return waits
}

func answer(status int, body string, header ...string) step {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, ContentLength: int64(len(body)),
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func failing(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

const (
	seedAnswer = `{"tool_name":"get_order","response":{"status":"shipped","shipped_at":"2026-04-01"},"source":"odyssey","latency_ms":412,"matched_rule_index":null}`
	baseURL    = "https://api.example.com/api/odyssey-proxy/runs/abc"
	runToken   = "secret-run-token"
)

func newClient(t testing.TB, transport http.RoundTripper, opts ...func(*proxy.Options)) *proxy.Client {
	t.Helper()
	o := &proxy.Options{Transport: transport}
	for _, set := range opts {
		set(o)
	}
	c, err := proxy.New(baseURL, runToken, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func scripted(t testing.TB, steps ...step) (*proxy.Client, *script) {
	t.Helper()
	s := &script{steps: steps}
	return newClient(t, s), s
}

// wantError asserts a typed error that keeps its secrets.
func wantError(t testing.TB, err error, code toolwire.Code, delivery proxy.Delivery) *proxy.Error {
	t.Helper()
	e, ok := errors.AsType[*proxy.Error](err)
	if !ok {
		t.Fatalf("err = %v (%T), want a *proxy.Error", err, err)
	}
	if e.Code != code || e.Delivery != delivery {
		t.Errorf("err = %v\ncode %q, delivery %q; want %q, %q", err, e.Code, e.Delivery, code, delivery)
	}
	wantNoSecret(t, err.Error())
	return e
}

func wantNoSecret(t testing.TB, text string) {
	t.Helper()
	for _, secret := range []string{runToken, baseURL, "hunter2"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q holds the secret %q", text, secret)
		}
	}
}

func wantJSON(t testing.TB, got []byte, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var background = context.Background()
