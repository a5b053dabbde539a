package capture

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
)

// Middleware returns a handler that records the requests to next and its responses. next is a
// dispatch.Handler, a webhook.Handler or another endpoint for the platform. A request is written
// when its body has been read, a response when next returns.
func (c *Capture) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := c.newExchange(r, true)
		m := c.newMessage(x, kindRequest)
		m.record.Protocol, m.record.TLS, m.peer = r.Proto, tlsVersion(r.TLS), r.RemoteAddr
		m.body = &copied{capture: c, length: r.ContentLength}
		send := sync.OnceFunc(func() {
			m.body.finish()
			c.add(m)
		})
		if r.Body == nil || r.Body == http.NoBody {
			send()
		} else {
			body := r.Body
			r = r.WithContext(r.Context()) // a copy
			r.Body = &readAlong{ReadCloser: body, copy: m.body, done: func(error) { send() }}
		}
		answer := &writeAlong{ResponseWriter: w, message: c.newMessage(x, kindResponse)}
		answer.message.body = &copied{capture: c, length: -1}
		returned := false
		defer func() {
			send()
			answer.finish(returned)
		}()
		next.ServeHTTP(answer, r)
		returned = true
	})
}

func tlsVersion(state *tls.ConnectionState) string {
	if state == nil {
		return ""
	}
	return tls.VersionName(state.Version)
}

// readAlong is a body that copies what is read from it.
type readAlong struct {
	io.ReadCloser
	copy *copied
	done func(err error) // called with the error of each failed read, and with nil by Close
}

// Read implements io.Reader.
func (b *readAlong) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.copy.see(p[:max(0, min(n, len(p)))], err == io.EOF)
	if err != nil {
		b.done(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *readAlong) Close() error {
	defer b.done(nil)
	return b.ReadCloser.Close()
}

// writeAlong is a ResponseWriter that copies what is written.
type writeAlong struct {
	http.ResponseWriter
	message *message
	status  int
	first   time.Time
	header  http.Header
}

// Unwrap is for http.ResponseController.
func (w *writeAlong) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *writeAlong) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writeAlong) begin(status int) {
	w.status, w.first, w.header = status, time.Now(), w.Header().Clone()
}

// Write implements io.Writer.
func (w *writeAlong) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.message.body.see(p[:max(0, min(n, len(p)))], false)
	return n, err
}

// Flush implements http.Flusher.
func (w *writeAlong) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *writeAlong) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if w.status == 0 && !errors.Is(err, http.ErrNotSupported) {
		w.begin(http.StatusOK)
	}
	return err
}

// finish queues the response. returned is false if the handler panicked.
func (w *writeAlong) finish(returned bool) {
	m := w.message
	m.body.see(nil, returned)
	m.body.finish()
	if w.status == 0 && returned {
		w.begin(http.StatusOK)
	}
	now := time.Now()
	if w.status != 0 {
		m.record.FirstByteMS = milliseconds(w.first.Sub(m.exchange.began))
	}
	m.record.Status, m.record.TookMS = w.status, milliseconds(now.Sub(m.exchange.began))
	if !returned {
		m.record.Error = "the handler panicked, which breaks the connection"
	}
	m.header = redact.Hide(w.header)
	m.record.Time = now
	m.capture.add(m)
}
