package httpbody_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toolwire/toolwire/internal/httpbody"
)

func TestRequest(t *testing.T) {
	const limit = 1000
	full, over := strings.Repeat("x", limit), strings.Repeat("x", limit+1)
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		body    io.Reader
		length  int64
		want    string
		err     error
		closing bool
	}{
		{"empty", strings.NewReader(""), 0, "", nil, false},
		{"announced", strings.NewReader(full), limit, full, nil, false},
		{"not announced", strings.NewReader(full), -1, full, nil, false},
		{"byte by byte", iotest.OneByteReader(strings.NewReader(full)), -1, full, nil, false},
		{"announced too large", iotest.ErrReader(broken), limit + 1, "", httpbody.ErrTooLarge, true},
		{"too large", strings.NewReader(over), -1, "", httpbody.ErrTooLarge, true},
		{"too large against its word", strings.NewReader(over), 10, "", httpbody.ErrTooLarge, true},
		{"too slow", iotest.ErrReader(os.ErrDeadlineExceeded), -1, "", httpbody.ErrTimeout, false},
		{"broken", iotest.ErrReader(broken), -1, "", broken, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", tt.body)
			r.ContentLength = tt.length
			w := httptest.NewRecorder()
			got, err := httpbody.Request(w, r, limit, time.Now().Add(time.Minute))
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(tt.want), tt.err)
			}
			if closing := w.Header().Get("Connection") == "close"; closing != tt.closing {
				t.Errorf("gives the connection up: %t", closing)
			}
		})
	}
}

func TestTheDeadlineIsTakenBack(t *testing.T) {
	for body, back := range map[io.Reader]bool{strings.NewReader("x"): true, iotest.ErrReader(os.ErrDeadlineExceeded): false} {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		_, _ = httpbody.Request(w, httptest.NewRequest("POST", "/", body), 10, time.Now().Add(time.Minute))
		if len(w.set) == 0 || time.Until(w.set[0]) < 50*time.Second || w.set[len(w.set)-1].IsZero() != back {
			t.Errorf("deadlines %v", w.set)
		}
	}
}

type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.set = append(d.set, at); return nil }

func TestResponse(t *testing.T) {
	body := &closer{Reader: strings.NewReader("0123456789")}
	got, err := httpbody.Response(&http.Response{Body: body, ContentLength: -1}, 4)
	if string(got) != "0123" || !errors.Is(err, httpbody.ErrTooLarge) || !body.closed {
		t.Errorf("%q %v, closed: %t", got, err, body.closed)
	}
	body = &closer{Reader: strings.NewReader("0123456789")}
	if got, err = httpbody.Response(&http.Response{Body: body, ContentLength: 10}, 10); string(got) != "0123456789" || err != nil || !body.closed {
		t.Errorf("%q %v, closed: %t", got, err, body.closed)
	}
	if got, err = httpbody.Response(&http.Response{}, 10); got != nil || err != nil {
		t.Errorf("without a body: %q %v", got, err)
	}
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }
