package memhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/memhttp"
)

// stream sends a request to a handler.
func stream(ctx context.Context, t *testing.T, handler http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://any.test/path?q=1", strings.NewReader("ping"))
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: memhttp.NewStreamTransport(handler)}).Do(r)
}

func TestStreamTransport(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		header  string
		body    string
		err     error // of the round trip if the status is 0, else of the body
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, 200, "", "", nil},
		{"whole", func(w http.ResponseWriter, r *http.Request) {
			in, err := io.ReadAll(r.Body)
			w.Header().Set("X-A", "1")
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("X-A", "2")
			_, _ = fmt.Fprint(w, r.Method, r.RequestURI, r.Host, string(in), err)
		}, 418, "1", "POST/path?q=1any.testping<nil>", nil},
		{"aborted before", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "", "", syscall.ECONNRESET},
		{"aborted in the middle", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "", "half", io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response, err := stream(t.Context(), t, tt.handler)
			if tt.status == 0 {
				if !errors.Is(err, tt.err) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if response.StatusCode != tt.status || response.Header.Get("X-A") != tt.header || string(body) != tt.body || !errors.Is(err, tt.err) {
				t.Errorf("%d %v %q %v", response.StatusCode, response.Header, body, err)
			}
		})
	}
}

// A handler may rewrite the URL of its request, as servers permit. It belongs to the handler, which may still run when
// the round trip has ended.
func TestTheHandlerHasItsOwnURL(t *testing.T) {
	for name, transport := range map[string]func(http.Handler) http.RoundTripper{
		"whole": memhttp.NewTransport, "stream": memhttp.NewStreamTransport,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://any.test/path?q=1", strings.NewReader("ping"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = transport(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				time.Sleep(2 * time.Second)
				r.URL.Path = "/other"
			})).RoundTrip(r)
			time.Sleep(time.Minute)
			if !errors.Is(err, context.DeadlineExceeded) || r.URL.String() != "http://any.test/path?q=1" {
				t.Errorf("%s: %v, the URL is %s", name, err, r.URL)
			}
		})
	}
}

// The response begins with the first flush, and later writes arrive as they are made.
func TestStreamArrivesAsItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		response, err := stream(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				time.Sleep(time.Second)
				_, _ = fmt.Fprint(w, i)
				_ = http.NewResponseController(w).Flush()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if n, err := response.Body.Read(nil); n != 0 || err != nil {
			t.Errorf("%d %v", n, err)
		}
		b := make([]byte, 10)
		for i := range 3 {
			if n, err := response.Body.Read(b); string(b[:n]) != fmt.Sprint(i) || err != nil || time.Since(start) != time.Duration(i)*time.Second {
				t.Errorf("%d: %q %v after %v", i, b[:n], err, time.Since(start))
			}
		}
		if n, err := response.Body.Read(b); n != 0 || err != io.EOF {
			t.Errorf("%d %v", n, err)
		}
	})
}

// A client that closes the body ends the handler's context; one that never reads holds up nobody.
func TestStreamWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written, cause error
		endless := func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			cause = r.Context().Err()
			_, written = io.WriteString(w, "late")
		}
		response, err := stream(t.Context(), t, endless)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		synctest.Wait()
		if n, err := response.Body.Read(make([]byte, 1)); n != 0 || err != http.ErrBodyReadAfterClose || cause != context.Canceled || written != io.ErrClosedPipe {
			t.Errorf("%d %v, %v, %v", n, err, cause, written)
		}
		response, err = stream(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_ = response.Body.Close()
	})
}

// A context that ends ends the round trip and the body, whatever the handler does.
func TestStreamEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, flush := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			response, err := stream(ctx, t, func(w http.ResponseWriter, _ *http.Request) {
				if flush {
					_, _ = io.WriteString(w, "x")
					_ = http.NewResponseController(w).Flush()
				}
				time.Sleep(time.Minute)
			})
			if flush {
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%t: %v", flush, err)
			}
			cancel()
		}
		time.Sleep(2 * time.Minute)
	})
}
