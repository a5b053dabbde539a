package proxytest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

func TestTransport(t *testing.T) {
	transport := proxytest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.RequestURI+" "+string(body))
		switch r.URL.Path {
		case "/status":
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("X-Late", "yes")
			w.WriteHeader(http.StatusOK)
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/half":
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		case "/goexit":
			runtime.Goexit()
		case "/stuck":
			<-r.Context().Done()
		}
	}))
	get := func(ctx context.Context, path, body string) (*http.Response, string, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://agent.test"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(response.Body)
		return response, string(text), err
	}
	response, text, err := get(t.Context(), "/nothing?a=b", "in")
	if err != nil || response.StatusCode != 200 || text != "" || response.ContentLength != 0 ||
		response.Header.Get("X-Seen") != "POST agent.test /nothing?a=b in" {
		t.Errorf("%+v %q %v", response, text, err)
	}
	if response, _, err := get(t.Context(), "/status", ""); err != nil || response.StatusCode != 418 ||
		response.Header.Get("X-Late") != "" {
		t.Errorf("%+v %v", response, err)
	}
	for _, path := range []string{"/abort", "/goexit"} {
		if _, _, err := get(t.Context(), path, ""); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, text, err := get(t.Context(), "/half", ""); text != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q %v", text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := get(ctx, "/nothing", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 1)
	defer cancel()
	if _, _, err := get(ctx, "/stuck", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	r, err := http.NewRequest(http.MethodGet, "http://agent.test/nothing", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := transport.RoundTrip(r); err != nil || response.StatusCode != 200 {
		t.Errorf("without a body: %v %v", response, err)
	}
}
