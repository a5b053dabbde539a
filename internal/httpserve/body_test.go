package httpserve_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
)

func TestReadBody(t *testing.T) {
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
		{"announced too large", iotest.ErrReader(broken), limit + 1, "", httpserve.ErrTooLarge, true},
		{"too large", strings.NewReader(over), -1, "", httpserve.ErrTooLarge, true},
		{"larger than announced", strings.NewReader(over), 10, "", httpserve.ErrTooLarge, true},
		{"too slow", iotest.ErrReader(os.ErrDeadlineExceeded), -1, "", httpserve.ErrTimeout, false},
		{"broken", iotest.ErrReader(broken), -1, "", broken, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", room{tt.body})
			r.ContentLength = tt.length
			w := httptest.NewRecorder()
			got, err := httpserve.ReadBody(w, r, limit, time.Now().Add(time.Minute))
			if !errors.Is(err, tt.err) || string(got) != tt.want {
				t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(tt.want), tt.err)
			}
			if closing := w.Header().Get("Connection") == "close"; closing != tt.closing {
				t.Errorf("closing: %t", closing)
			}
		})
	}
}

// room fails a read that has no room for a byte: it could be repeated for ever.
type room struct{ io.Reader }

func (r room) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errors.New("a read of no bytes")
	}
	return r.Reader.Read(p)
}

// A limit that no body reaches costs no memory, whatever length a peer announces.
func TestReadBodyWithoutALimit(t *testing.T) {
	body := strings.Repeat("x", 100<<10)
	for _, length := range []int64{-1, int64(len(body)), 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		r := httptest.NewRequest("POST", "/", room{strings.NewReader(body)})
		r.ContentLength = length
		got, err := httpserve.ReadBody(httptest.NewRecorder(), r, math.MaxInt64, time.Now().Add(time.Minute))
		if length == math.MaxInt64 && err == httpserve.ErrTooLarge {
			continue // no slice is so long
		}
		if err != nil || string(got) != body || cap(got) > 65<<20 {
			t.Errorf("%d bytes announced: %d read into %d, %v", length, len(got), cap(got), err)
		}
	}
}

// Head and Rest, too, read with any limit and any announced length.
func TestHeadWithoutALimit(t *testing.T) {
	for _, length := range []int64{-1, 0, 1, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
		for _, n := range []int{1, 2, 512, 64<<10 + 1} {
			r := httptest.NewRequest("POST", "/", room{strings.NewReader("{}")})
			r.ContentLength = length
			b := httpserve.OpenBody(httptest.NewRecorder(), r, math.MaxInt64, time.Now().Add(time.Minute))
			head, err := b.Head(n)
			if length == math.MaxInt64 {
				if err != httpserve.ErrTooLarge {
					t.Errorf("2^63-1 bytes announced, %d read: %v", n, err)
				}
			} else if want := "{}"[:min(n, 2)]; err != nil || string(head) != want || cap(head) > n {
				t.Errorf("%d bytes announced: %q of %d, %v; want %q", length, head, cap(head), err, want)
			} else if body, err := b.Rest(head, nil); err != nil || string(body) != "{}" {
				t.Errorf("%d bytes announced, after %q: %q, %v", length, want, body, err)
			}
		}
	}
}

// Which answers end the connection, and which bound the time of the body that is left.
func TestLeaveBody(t *testing.T) {
	for _, tt := range []struct {
		name      string
		major     int
		length    int64
		deadlines bool // the ResponseWriter supports them
		closing   bool
		bounded   bool
	}{
		{"without a body", 1, 0, true, false, false},
		{"HTTP/1", 1, 10, true, false, true},
		{"HTTP/1, chunked", 1, -1, true, false, true},
		{"HTTP/1, without deadlines", 1, 10, false, true, false},
		{"HTTP/2", 2, 10, true, false, false}, // see TestTheDeadlineOfAStreamIsTakenBack
		{"HTTP/2, without deadlines", 2, 10, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", nil)
			r.ProtoMajor, r.ContentLength = tt.major, tt.length
			noted := &deadlines{ResponseWriter: httptest.NewRecorder()}
			var w http.ResponseWriter = noted
			if !tt.deadlines {
				w = noted.ResponseWriter
			}
			httpserve.LeaveBody(w, r)
			if closing := w.Header().Get("Connection") == "close"; closing != tt.closing {
				t.Errorf("closing: %t", closing)
			}
			if bounded := len(noted.set) == 1 && !noted.set[0].IsZero() && time.Until(noted.set[0]) <= 1500*time.Millisecond; bounded != tt.bounded {
				t.Errorf("deadlines %v", noted.set)
			}
		})
	}
}

// HTTP/2 keeps a deadline that is set after the peer has reset the stream, and with it the whole
// connection. It must be taken back however reading ends.
func TestTheDeadlineOfAStreamIsTakenBack(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"whole": strings.NewReader("x"), "too large": strings.NewReader("0123456789x"),
		"broken": iotest.ErrReader(errors.New("broken")), "too slow": iotest.ErrReader(os.ErrDeadlineExceeded),
	} {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "/", body)
		r.ProtoMajor, r.ContentLength = 2, -1
		_, _ = httpserve.ReadBody(w, r, 10, time.Now().Add(time.Hour))
		if len(w.set) != 2 || !w.set[1].IsZero() {
			t.Errorf("%s: deadlines %v", name, w.set)
		}
	}
	w := &deadlines{ResponseWriter: httptest.NewRecorder()} // a request that is refused after the head of its body
	r := httptest.NewRequest("POST", "/", strings.NewReader("01234567"))
	r.ProtoMajor = 2
	b := httpserve.OpenBody(w, r, 10, time.Now().Add(time.Hour))
	_, _ = b.Head(2)
	httpserve.LeaveBody(w, r)
	if b.Done() || len(w.set) != 2 || !w.set[1].IsZero() {
		t.Errorf("refused: deadlines %v", w.set)
	}
	w = &deadlines{ResponseWriter: httptest.NewRecorder()}
	r = httptest.NewRequest("POST", "/", strings.NewReader("01234567"))
	r.ProtoMajor = 2
	b = httpserve.OpenBody(w, r, 10, time.Now().Add(time.Hour))
	if _, err := b.Rest(nil, func(int64) bool { return false }); err != httpserve.ErrNoRoom || len(w.set) != 2 || !w.set[1].IsZero() {
		t.Errorf("no room: %v, deadlines %v", err, w.set)
	}
}

func TestTheDeadlineIsTakenBack(t *testing.T) {
	for body, back := range map[io.Reader]bool{strings.NewReader("x"): true, iotest.ErrReader(os.ErrDeadlineExceeded): false} {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		_, _ = httpserve.ReadBody(w, httptest.NewRequest("POST", "/", body), 10, time.Now().Add(time.Hour))
		if len(w.set) == 0 || time.Until(w.set[0]) < 30*time.Minute || w.set[len(w.set)-1].IsZero() != back {
			t.Errorf("deadlines %v", w.set)
		}
	}
}

type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.set = append(d.set, at); return nil }

// A client that sends its whole body before it reads sees the refusal and not a broken connection.
func TestRefusalOfALargeBodyArrives(t *testing.T) {
	const size = 8 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpserve.ReadBody(w, r, 1<<20, time.Now().Add(time.Minute)); errors.Is(err, httpserve.ErrTooLarge) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}))
	defer server.Close()
	for name, header := range map[string]string{
		"announced": fmt.Sprintf("Content-Length: %d\r\n\r\n", size), "chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_, sent := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+header+strings.Repeat("x", size)+"\r\n0\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if sent != nil || err != nil || response.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("sent: %v, answered: %v, %v", sent, response, err)
			}
		})
	}
}
