package capture

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
)

// Transport returns a transport that records the requests that it sends by way of base, and their
// responses. It is for proxy.Options.Transport and for the clients of other packages. If base is
// nil, it is a new transport like that of proxy.NewTransport. A response is written when its body
// has been read or closed.
func (c *Capture) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = httpcall.NewTransport()
	}
	return &transport{c, base}
}

type transport struct {
	capture *Capture
	base    http.RoundTripper
}

// CloseIdleConnections is for http.Client.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.capture
	x := c.newExchange(r, false)
	m := c.newMessage(x, kindRequest)
	m.body = &copied{capture: c, length: r.ContentLength}
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength == 0 {
		m.body.length = -1 // as net/http reads it
	}
	sent, copies := c.readRequest(r, m.body)
	var conn connection
	sent = sent.WithContext(httptrace.WithClientTrace(sent.Context(), conn.trace()))
	request := sync.OnceFunc(func() {
		m.body.finish()
		conn.describe(&m.record)
		c.add(m)
	})
	if copies { // it is complete already
		m.body.finish()
	}

	answer := c.newMessage(x, kindResponse)
	end := func(err error) {
		request()
		now := time.Now()
		answer.record.Time, answer.record.TookMS = now, milliseconds(now.Sub(x.began))
		if err != nil && err != io.EOF {
			answer.record.Error = inWords(err)
		}
		if answer.body != nil {
			answer.body.finish()
		}
		c.add(answer)
	}
	response, notSent, err := httpcall.RoundTrip(t.base, sent)
	if err != nil {
		answer.record.NotSent = notSent
		end(err)
		return nil, err
	}
	answer.record.Status, answer.record.Protocol = response.StatusCode, response.Proto
	answer.record.FirstByteMS = milliseconds(time.Since(x.began))
	answer.header = redact.Hide(framed(response.Header, response.ContentLength, response.TransferEncoding))
	if response.Body == nil || response.Body == http.NoBody || response.StatusCode == http.StatusSwitchingProtocols {
		end(nil)
		return response, nil
	}
	answer.body = &copied{capture: c, length: response.ContentLength, decompressed: response.Uncompressed}
	var once sync.Once
	response.Body = &readAlong{ReadCloser: response.Body, copy: answer.body, done: func(err error) {
		once.Do(func() { end(err) })
	}}
	return response, nil
}

// readRequest copies the body of a request. A body in memory that can be had again is copied at
// once, so that net/http sees its type and sends it with the headers, as it does without a capture.
// Another one is read along. A request that is sent again has the last body.
func (c *Capture) readRequest(r *http.Request, to *copied) (sent *http.Request, whole bool) {
	if r.Body == nil || r.Body == http.NoBody {
		to.see(nil, true)
		return r, true
	}
	if httpcall.InMemory(r.Body) && r.GetBody != nil && r.ContentLength > 0 {
		if again, err := r.GetBody(); err == nil && httpcall.InMemory(again) {
			buffer := make([]byte, min(r.ContentLength, int64(c.bounds.body))+1)
			n, _ := io.ReadFull(again, buffer)
			to.see(buffer[:n], int64(n) == r.ContentLength)
			to.bytes = r.ContentLength
			_ = again.Close()
			return r, true
		}
	}
	along := func(body io.ReadCloser) io.ReadCloser {
		return &readAlong{ReadCloser: body, copy: to, done: func(error) {}}
	}
	sent = r.WithContext(r.Context()) // a copy
	sent.Body = along(r.Body)
	if r.GetBody != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			to.restart()
			return along(body), nil
		}
	}
	return sent, false
}

// restart forgets what was read: the body is sent again.
func (b *copied) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.final {
		b.capture.held.Add(-b.held)
		b.data, b.held, b.bytes, b.ended, b.full = nil, 0, 0, false, false
	}
}

// connection is what the transport reports about the connection of a request.
type connection struct {
	mu     sync.Mutex // hooks may run after the round trip
	tries  int
	reused bool
	idle   time.Duration
	tls    string
}

func (n *connection) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.tries++
			n.reused, n.idle = info.Reused, info.IdleTime
			if secure, ok := info.Conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
				state := secure.ConnectionState()
				n.tls = tlsVersion(&state)
			}
		},
	}
}

func (n *connection) describe(r *Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Reused, r.IdleMS, r.TLS = n.reused, milliseconds(n.idle), n.tls
	if n.tries > 1 {
		r.Connections = n.tries
	}
}

// inWords describes an error in fixed words, because its text may contain a URL.
func inWords(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "the caller canceled the request"
	case errors.Is(err, context.DeadlineExceeded):
		return "the caller's time limit ended"
	case strings.Contains(err.Error(), "server closed idle connection"): // net/http does not export this error
		return "the server closed the idle connection"
	}
	return httpcall.Text("the other side", true, err)
}
