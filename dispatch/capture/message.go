package capture

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
)

// exchange is what a request and its response share.
type exchange struct {
	number int64
	server bool
	began  time.Time
	method string
	url    url.URL
	header http.Header // of the request
	size   int64       // bytes of the above, which the messages keep

	// The rest belongs to the goroutine that writes, and is set by classify.
	side  string
	plane string // of a call: tools, traces or telemetry
	run   string
	hide  *secrets
	// unread is set if the body of a server's request is not known: it may have a run token.
	unread bool
}

// message is one line before its values are replaced. A message is complete when it is queued.
type message struct {
	capture  *Capture
	exchange *exchange
	record   Record
	peer     string                     // the address of the other side, of a server's request
	header   redact.Hidden[http.Header] // of a response
	held     int64                      // bytes of the headers and the target
	body     *copied
}

// hold sets and returns the bytes of the headers and the target. Both messages of an exchange count
// those of the request, because either may be the only one that is left.
func (m *message) hold() int64 {
	m.held = m.exchange.size + sizeOf(m.header.Reveal())
	return m.held
}

// sizeOf returns the bytes that headers take.
func sizeOf(header http.Header) (n int64) {
	for name, values := range header {
		n += int64(len(name)) + 64 // of the map
		for _, value := range values {
			n += int64(len(value)) + 16
		}
	}
	return n
}

func (m *message) release() {
	if m.body != nil {
		m.capture.held.Add(-m.body.release())
	}
	if m.capture != nil {
		m.capture.held.Add(-m.held)
	}
}

func (c *Capture) newExchange(r *http.Request, server bool) *exchange {
	x := &exchange{number: c.numbers.Add(1), server: server, began: time.Now(), method: r.Method}
	x.header = framed(r.Header, r.ContentLength, r.TransferEncoding)
	if r.URL != nil {
		x.url = *r.URL
	}
	x.size = sizeOf(x.header) + int64(len(x.method)+len(x.url.Path)+len(x.url.RawPath)+len(x.url.RawQuery))
	return x
}

// newMessage returns a message of kind request or response.
func (c *Capture) newMessage(x *exchange, kind string) *message {
	return &message{capture: c, exchange: x, record: Record{Kind: kind, Time: time.Now(), Exchange: x.number}}
}

// framed returns headers with those that net/http keeps elsewhere.
func framed(header http.Header, length int64, encodings []string) http.Header {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if length > 0 {
		header["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	if len(encodings) > 0 {
		header["Transfer-Encoding"] = []string{strings.Join(encodings, ", ")}
	}
	return header
}

// copied is the copy of a body that is read along.
type copied struct {
	capture *Capture
	length  int64 // that was announced; -1 if unknown

	mu           sync.Mutex // a body may be closed while it is read
	data         []byte
	held         int64
	bytes        int64
	ended        bool // the end was seen
	full         bool // data has not all bytes
	final        bool // nothing is added any more
	decompressed bool
}

// see takes the next bytes.
func (b *copied) see(p []byte, end bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.final {
		return
	}
	b.bytes += int64(len(p))
	b.ended = b.ended || end
	if b.full || len(p) == 0 {
		return
	}
	if keep := b.capture.bounds.body - len(b.data); len(p) > keep {
		p, b.full = p[:keep], true
	}
	if b.capture.held.Add(int64(len(p))) > b.capture.bounds.held {
		b.capture.held.Add(-int64(len(p)))
		b.full = true
		return
	}
	b.held += int64(len(p))
	b.data = append(b.data, p...)
}

// finish ends the copy.
func (b *copied) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.final = true
}

// release forgets the data and returns how much it was.
func (b *copied) release() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held
	b.data, b.held, b.final = nil, 0, true
	return held
}

// whole reports whether all bytes of the body have passed.
func (b *copied) whole() bool { return b.ended || b.length >= 0 && b.bytes == b.length }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
