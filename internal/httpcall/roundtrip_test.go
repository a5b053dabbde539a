package httpcall_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/testkit"
)

// passed is a body that counts how often it is closed. After its text it blocks, if block is set,
// until it is closed.
type passed struct {
	io.Reader
	block  chan struct{}
	closed chan struct{}
}

func (p *passed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err == io.EOF && p.block != nil {
		<-p.block
	}
	return n, err
}

func (p *passed) Close() error {
	close(p.closed) // panics the second time
	if p.block != nil {
		close(p.block)
	}
	return nil
}

func TestReadStart(t *testing.T) {
	const limit = 10
	for name, test := range map[string]struct {
		text   string
		status int
		length int64
		want   string
		rest   string // "" if no rest is left
	}{
		"empty":               {"", 200, -1, "", ""},
		"shorter":             {"123456789", 200, -1, "123456789", ""},
		"as long":             {"1234567890", 200, 10, "1234567890", ""},
		"longer by one":       {"1234567890a", 200, -1, "1234567890a", "-"},
		"longer":              {"1234567890abc", 200, -1, "1234567890a", "bc"},
		"longer, announced":   {"1234567890abc", 200, 13, "", "1234567890abc"},
		"switching protocols": {"123", 101, -1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := &passed{Reader: strings.NewReader(test.text), closed: make(chan struct{})}
			response := &http.Response{StatusCode: test.status, ContentLength: test.length, Body: body}
			start, rest, err := httpcall.ReadStart(t.Context(), response, limit)
			if err != nil || string(start) != test.want || (rest != nil) != (test.rest != "") {
				t.Fatalf("%q, %v, %v", start, rest, err)
			}
			if rest != nil {
				select {
				case <-body.closed:
					t.Fatal("the rest is closed")
				default:
				}
				more, err := io.ReadAll(rest)
				if err != nil || string(more) != strings.Trim(test.rest, "-") {
					t.Errorf("the rest is %q, %v", more, err)
				}
				_ = rest.Close()
			}
			<-body.closed
		})
	}
}

// A body that stalls before its start has been read is closed when the context ends.
func TestReadStartOfAStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &passed{Reader: strings.NewReader("123"), block: make(chan struct{}), closed: make(chan struct{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start, rest, err := httpcall.ReadStart(ctx, &http.Response{StatusCode: 200, ContentLength: -1, Body: body}, 10)
		if string(start) != "123" || rest != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v, %v", start, rest, err)
		}
		<-body.closed
	})
}

func TestRoundTripTellsWhatWasNotSent(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("x")}
	for name, test := range map[string]struct {
		err     error
		notSent bool
	}{"dial": {dial, true}, "read": {io.EOF, false}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, notSent, err := httpcall.RoundTrip(failing{test.err}, request)
		if !errors.Is(err, test.err) || notSent != test.notSent {
			t.Errorf("%s: %v, %t", name, err, notSent)
		}
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test/", nil)
	if response, _, err := httpcall.RoundTrip(failing{}, request); response != nil || err == nil {
		t.Errorf("a transport that returns nothing: %v, %v", response, err)
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// net/http reads a status of 000. It is not an answer, whose status is not 0, and a server that
// passed it on would panic.
func TestAStatusThatIsNone(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000} {
		var body *passed
		transport := testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			body = &passed{Reader: strings.NewReader("{}"), closed: make(chan struct{})}
			return &http.Response{StatusCode: status, Body: body}, nil
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://peer.test", nil)
		if err != nil {
			t.Fatal(err)
		}
		caller := httpcall.Client{Transport: transport, Peer: "the peer", MaxBytes: 10}
		answer, failure := caller.Do(t.Context(), request, nil)
		if answer.Status != 0 || failure == nil || failure.Kind != httpcall.Broken || failure.NotSent {
			t.Errorf("Do with %d: %+v, %v", status, answer, failure)
		}
		<-body.closed
		if _, notSent, err := httpcall.RoundTrip(transport, request); err == nil || notSent {
			t.Errorf("RoundTrip with %d: not sent %t, %v", status, notSent, err)
		}
		<-body.closed
	}
}
