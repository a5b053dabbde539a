package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/terminal"
)

const (
	aPing        = `{"ping":true}`
	aSpacedPing  = "\n{ \"ping\" :\ttrue } \r\n"
	maxProbeBody = 64 << 10 // of a response; the rest is not needed
)

// probe is one request of a check.
type probe struct {
	method string // default POST
	body   string
	pad    int64  // spaces before the body
	auth   string // "" sends none
	header http.Header
}

// answer is the result of a probe.
type answer struct {
	status  int // 0 if there was no answer
	header  http.Header
	body    []byte
	tls     *tls.ConnectionState
	began   time.Time
	took    time.Duration
	err     error // why the response is missing or incomplete
	timeout bool  // err is that the time limit has passed
	conn    connection

	sent, again string // the request, and a command that repeats it
}

// connection is what was observed of a connection. Callbacks fill it, possibly late.
type connection struct {
	connected bool
	remote    net.Addr
	handshake error // of TLS
	sent      bool  // the whole request
}

// send sends a probe and waits for its response, at most for Options.Timeout.
func (c *checkup) send(ctx context.Context, p probe) *answer {
	a := &answer{began: time.Now(), sent: c.sentText(p), again: c.curl(p)}
	c.sent, c.commands = append(c.sent, a.sent), append(c.commands, a.again)
	defer func() { a.took = time.Since(a.began) }()
	var mu sync.Mutex
	var seen connection
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			mu.Lock()
			defer mu.Unlock()
			if seen.connected = true; info.Conn != nil {
				seen.remote = info.Conn.RemoteAddr()
			}
		},
		ConnectDone: func(_, _ string, err error) {
			mu.Lock()
			defer mu.Unlock()
			seen.connected = seen.connected || err == nil
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			mu.Lock()
			defer mu.Unlock()
			seen.handshake = err
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			mu.Lock()
			defer mu.Unlock()
			seen.sent = info.Err == nil
		},
	})
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		a.conn = seen
		c.trouble = c.trouble || troubled(a.status)
	}()
	if p.method == "" {
		p.method = http.MethodPost
	}
	req, err := http.NewRequest(p.method, c.setup.URL, strings.NewReader(p.body))
	if err != nil {
		a.err = err
		return a
	}
	if p.pad > 0 {
		req.Body = io.NopCloser(io.MultiReader(io.LimitReader(blanks{}, p.pad), strings.NewReader(p.body)))
		req.ContentLength, req.GetBody = p.pad+int64(len(p.body)), nil
	}
	if p.header != nil {
		req.Header = p.header
	}
	if p.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.auth != "" {
		req.Header.Set(c.setup.Target.AuthHeader, p.auth)
	}
	caller := c.setup.Caller
	caller.Timeout, caller.MaxBytes = c.opts.Timeout, maxProbeBody
	got, failure := caller.Do(ctx, req, nil)
	a.status, a.header, a.body, a.tls = got.Status, got.Header, got.Body, got.TLS
	if failure != nil && failure.Kind != httpcall.TooLarge {
		a.err = failure.Err
		a.timeout = failure.Kind == httpcall.TimedOut || errors.Is(failure, context.DeadlineExceeded)
	}
	return a
}

// troubled reports whether a response with this status, or none (0), may be the last one: because
// the agent has ended, because of a server in front of it, or because of a rate limit.
func troubled(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= 500
}

// blanks reads as an endless sequence of spaces.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// ok reports a 2xx.
func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// refuses reports whether the platform takes the response for a rejected auth value.
func (a *answer) refuses() bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

// html reports whether the answer is a page for people. Frameworks send any text as text/html, "ok"
// for example.
func (a *answer) html() bool {
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	start := bytes.ToLower(bytes.TrimSpace(a.body[:min(len(a.body), 512)]))
	return media == "text/html" && bytes.HasPrefix(start, []byte("<")) ||
		bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// tell describes the response, as the object of "answered".
func (c *checkup) tell(a *answer) string {
	switch {
	case a.status == 0 && a.timeout:
		return "nothing in time"
	case a.status == 0:
		return "nothing: " + httpcall.Describe("the endpoint", a.conn.connected, a.err)
	case a.html():
		return strings.TrimRight(fmt.Sprintf("%d with an HTML page %s", a.status, c.quote(title(a.body))), " ")
	case len(a.body) == 0:
		return fmt.Sprintf("%d", a.status)
	}
	return fmt.Sprintf("%d: %s", a.status, c.quote(string(a.body)))
}

// quote returns text of the endpoint on one line. It hides secrets before it cuts the text, so that
// no part of a secret remains.
func (c *checkup) quote(text string) string {
	return terminal.Cut(strings.Join(strings.Fields(bounded.Clean(c.conceal(text))), " "), 200)
}

// title returns the title of a page.
func title(page []byte) string {
	lower := bytes.ToLower(page)
	from, to := bytes.Index(lower, []byte("<title>")), bytes.Index(lower, []byte("</title>"))
	if from < 0 || to < from || len(lower) != len(page) {
		return ""
	}
	return "(" + string(page[from+len("<title>"):to]) + ")"
}

// connect replaces the transport of the setup by one that uses each connection once, so that checks
// do not affect each other.
func (c *checkup) connect() {
	switch {
	case c.setup.Target.Agent != nil, len(c.target.Command) > 0:
	case c.url != nil && c.opts.Transport != nil:
		c.setup.Caller.Transport = c.opts.Transport
	default:
		transport := httpcall.NewTransport()
		transport.DisableKeepAlives = true
		transport.DialContext = new(net.Dialer).DialContext // Options.Timeout is the only limit
		c.setup.Caller.Transport = transport
	}
}
