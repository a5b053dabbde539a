package httpserve

import (
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"time"
)

// What can go wrong with a body, beside the connection.
var (
	ErrTooLarge = errors.New("the body is too large")
	ErrTimeout  = errors.New("the body took too long to arrive")
	ErrNoRoom   = errors.New("there is no room for the body")
)

// RefusalTime is how long the server waits for the rest of a body that the handler does not read.
// net/http may take another 500 ms to hang up, so a refused peer loses its connection in less than
// two seconds.
const RefusalTime = time.Second

// LeaveBody must be called before a request is answered whose body has not been read to its end. On
// HTTP/1 net/http first reads on, up to 256 KiB: LeaveBody bounds the time of that. If the body
// comes in time the connection can be used again; otherwise it ends after the answer. HTTP/2 needs
// neither, and other streams of the connection go on. There LeaveBody takes the deadline of the body
// back.
func LeaveBody(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ContentLength == 0:
		return
	case r.ProtoMajor >= 2:
		unsetDeadline(w)
		return
	}
	if http.NewResponseController(w).SetReadDeadline(time.Now().Add(RefusalTime)) != nil {
		w.Header().Set("Connection", "close") // then the server answers before it reads on
	}
}

// unsetDeadline takes the deadline of a body back. If the peer of HTTP/2 resets the stream before
// net/http has set the deadline, net/http keeps its timer, and with it the connection and the
// handler, until the deadline.
func unsetDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// Announced returns the length that a peer announces for a body, or most if that is less or the length is
// unknown. A peer may announce any int64, so nothing else calculates with an announced length.
func Announced(length, most int64) int64 {
	if length < 0 {
		return most
	}
	return min(length, most)
}

// Body is the body of one request, bounded in bytes and time. Its errors are [ErrTooLarge],
// [ErrTimeout] and errors of the connection. It must not be copied after its first use.
type Body struct {
	w    http.ResponseWriter
	r    *http.Request
	left int64 // bytes of the limit
	err  error // how reading has ended
}

// OpenBody begins to read the body of a request, of at most limit bytes, which must arrive before
// the deadline. The deadline needs a ResponseWriter that supports read deadlines. net/http's do.
func OpenBody(w http.ResponseWriter, r *http.Request, limit int64, deadline time.Time) Body {
	b := Body{w: w, r: r, left: min(limit, math.MaxInt64-1)} // sizes may be one more
	switch {
	case r.ContentLength > b.left:
		b.fail(ErrTooLarge)
	case r.Body == nil: // a request that no server made
		b.err = io.EOF
	default:
		_ = http.NewResponseController(w).SetReadDeadline(deadline) // not every ResponseWriter can
	}
	return b
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left { // one more, to see whether the body is longer
		p = p[:b.left+1]
	}
	n, err := b.r.Body.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLarge
	}
	b.left -= int64(n)
	if err != nil {
		err = b.fail(err)
	}
	return n, err
}

// fail notes how reading ended. After the end of the body the deadline is taken back: it could end the
// reading ahead, which looks as if the peer had closed the connection. After an error of HTTP/1 it
// stays, since net/http reads on before it answers.
func (b *Body) fail(err error) error {
	switch {
	case err == ErrTooLarge:
		LeaveBody(b.w, b.r)
		b.readOn()
	case err == io.EOF || b.r.ProtoMajor >= 2:
		unsetDeadline(b.w)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrTimeout
	}
	b.err = err
	return err
}

// Of a body that is too large at most maxRefused bytes are read before it is refused. After more than
// maxReused, which is net/http's own limit, the connection ends.
const (
	maxRefused = 32 << 20
	maxReused  = 256 << 10
)

// readOn reads on for [RefusalTime] at most. Many clients of HTTP/1 read the answer only when they have
// sent the whole body; they would see a broken connection instead.
func (b *Body) readOn() {
	closing := b.w.Header().Get("Connection") == "close" // the time is not bounded
	if waits := b.r.Header.Get("Expect") != ""; b.r.ProtoMajor < 2 && b.r.Body != nil && !closing && !waits {
		if n, _ := io.CopyN(io.Discard, b.r.Body, maxRefused); n > maxReused {
			b.w.Header().Set("Connection", "close")
		}
	}
}

// Done reports whether reading has ended, at the end of the body or with an error. If it has not,
// the request is answered after [LeaveBody].
func (b *Body) Done() bool { return b.err != nil }

// Err returns the error that ended reading, nil at the end of the body.
func (b *Body) Err() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}

// Head reads until there are n bytes or the body has ended; see [Body.Done].
func (b *Body) Head(n int) ([]byte, error) {
	size := min(n, minBuffer)
	if length := b.r.ContentLength; length >= 0 {
		size = int(Announced(length, int64(n)-1)) + 1 // one more, so that the end is seen without growing
	}
	body := make([]byte, 0, size)
	for b.err == nil && len(body) < n {
		if len(body) == cap(body) {
			body = grow(body, min(2*cap(body), n))
		}
		body, _ = b.into(body)
	}
	return body, b.Err()
}

// Rest reads the body to its end and returns it with what has been read before. The buffer grows with
// what arrives, not with what is announced, to at most twice as much. Before it grows to n bytes, Rest
// calls room(n). If that returns false, Rest returns [ErrNoRoom]. room may be nil.
func (b *Body) Rest(body []byte, room func(n int64) bool) ([]byte, error) {
	for b.err == nil {
		if len(body) == cap(body) {
			most := int64(len(body)) + b.left + 1
			size := min(max(2*int64(cap(body)), minBuffer), most)
			if length := b.r.ContentLength; length >= int64(cap(body)) {
				size = min(size, Announced(length, most-1)+1)
			}
			if room != nil && !room(min(size, most-1)) {
				LeaveBody(b.w, b.r)
				return nil, ErrNoRoom
			}
			body = grow(body, int(size))
		}
		body, _ = b.into(body)
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	return body, nil
}

const (
	// minBuffer is the size in bytes of the first buffer if the length of the body is not
	// announced.
	minBuffer = 512

	// maxTrusted is the largest buffer in bytes that ReadBody makes for an announced length. A larger
	// one grows with the body.
	maxTrusted = 64 << 20
)

func grow(body []byte, size int) []byte { return append(make([]byte, 0, size), body...) }

// into reads once, into the free part of the buffer.
func (b *Body) into(body []byte) ([]byte, error) {
	n, err := b.Read(body[len(body):cap(body)])
	return body[:len(body)+n], err
}

// ReadBody reads the body of a request whole, with the limits of [OpenBody].
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, deadline time.Time) ([]byte, error) {
	b := OpenBody(w, r, limit, deadline)
	if b.err != nil || r.ContentLength < 0 {
		return b.Rest(nil, nil)
	}
	return b.Rest(make([]byte, 0, Announced(r.ContentLength, maxTrusted)+1), nil) // one more, so that the end is seen without growing
}
