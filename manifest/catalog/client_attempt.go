package catalog

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/httpbody"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/internal/wireerror"
)

// request is one request of the API, before it is known how many attempts it takes.
type request struct {
	name        string // of the operation, for the log
	method      string
	path        string // below the base URL; plain ASCII
	query       string
	tool        string // the id or name for errors
	body        []byte
	contentType string

	safe   bool            // may be repeated although it may have been carried out
	plugin bool            // carries source code: a 400 is about that
	said   func() []string // texts in the body that an error must not repeat; nil if there are none
	unsure string          // what may have happened if there was no answer; "" for those that only read
}

// failedAttempt is one that failed: its error, and what decides about another one.
type failedAttempt struct {
	*Error
	unsent  bool // surely nothing was sent
	passing bool // the server or the network may do better next time
	unsure  bool // the request may have been carried out all the same
}

// repeatable tells whether r may be sent again after f.
func (f *failedAttempt) repeatable(r *request) bool {
	return f.passing && (f.unsent || f.Code == CodeRateLimited || r.safe)
}

// attempt sends r once. read is given an answer with a status of 2xx, whole.
func (c *Client) attempt(ctx context.Context, r *request, read func(*response) error) *failedAttempt {
	if len(r.body) > c.maxRequest {
		return &failedAttempt{unsent: true, Error: &Error{Code: CodeTooLarge, Tool: r.tool, Message: fmt.Sprintf(
			"the body of the request has %d bytes, and at most %d are sent (ClientOptions.MaxRequestBytes)", len(r.body), c.maxRequest)}}
	}
	if ctx.Err() != nil {
		return &failedAttempt{unsent: true, Error: contextFailure(ctx, r)}
	}
	attemptCtx, cancel := context.WithTimeoutCause(ctx, c.timeout, errAttemptTimeout)
	defer cancel()
	progress := newProgress()
	resp, err := c.transport.RoundTrip(c.newRequest(httptrace.WithClientTrace(attemptCtx, &progress.trace), r))
	if err != nil {
		return c.networkFailure(ctx, attemptCtx, r, progress.unsent(err), err)
	}
	body, err := httpbody.Response(resp, int64(c.maxResponse))
	a := &response{request: r, status: resp.StatusCode, header: resp.Header, body: body, hideKey: c.hideKey}
	if a.status < 200 || a.status > 299 {
		if err != nil {
			a.body = nil // half a text may end in half a secret, which nobody would recognise
		}
		return a.refusal()
	}
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		err = a.bad(fmt.Sprintf("it has more than %d bytes (ClientOptions.MaxResponseBytes)", c.maxResponse))
	case err != nil:
		f := c.networkFailure(ctx, attemptCtx, r, false, err)
		f.Status = a.status
		return f
	default:
		err = read(a)
	}
	if err == nil {
		return nil
	}
	e, _ := errors.AsType[*Error](err) // read makes no others
	return &failedAttempt{Error: e, unsure: e.Code == CodeBadAnswer}
}

func (c *Client) newRequest(ctx context.Context, r *request) *http.Request {
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {c.userAgent}}
	c.authorize(header)
	req := &http.Request{
		Method: r.method, URL: u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.body != nil {
		header["Content-Type"] = []string{r.contentType}
		req.ContentLength = int64(len(r.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// progress watches how far a request got. Its hooks may run on the transport's goroutines.
type progress struct {
	trace   httptrace.ClientTrace
	begun   atomic.Bool // the transport reports at all
	headers atomic.Bool // the headers are written, at least into a connection's buffer
}

func newProgress() *progress {
	p := &progress{}
	p.trace.GetConn = func(string) { p.begun.Store(true) }
	p.trace.WroteHeaders = func() { p.headers.Store(true) }
	return p
}

// unsent judges a failed round trip: nobody can act on a request whose headers are incomplete. A transport that reports
// nothing is believed only if its error says that there was no connection, or none that is trusted.
func (p *progress) unsent(err error) bool {
	if p.begun.Load() {
		return !p.headers.Load()
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || errors.As(err, new(*net.DNSError)) || errors.As(err, new(*tls.CertificateVerificationError))
}

// networkFailure tells apart who ended an attempt: the caller, the client's limit, or the network.
func (c *Client) networkFailure(ctx, attemptCtx context.Context, r *request, unsent bool, err error) *failedAttempt {
	f := &failedAttempt{unsent: unsent, unsure: !unsent}
	switch {
	case ctx.Err() != nil:
		f.Error = contextFailure(ctx, r)
	case context.Cause(attemptCtx) == errAttemptTimeout:
		f.Error = &Error{Code: CodeTimeout, Tool: r.tool, err: errAttemptTimeout,
			Message: fmt.Sprintf("there was no whole answer within %s (ClientOptions.Timeout)", c.timeout)}
	default:
		f.Error = &Error{Code: CodeUnreachable, Tool: r.tool, Message: wireerror.Text("the catalog", !unsent, err), err: err}
		f.passing = !lasting(err)
	}
	return f
}

// lasting knows the failures that another attempt would meet again.
func lasting(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound || errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch)
}

// contextFailure says how the caller ended the call. It unwraps to the context's error and to the caller's own cause.
func contextFailure(ctx context.Context, r *request) *Error {
	e := &Error{Code: CodeCanceled, Tool: r.tool, Message: "the call was cancelled", err: ctx.Err()}
	if errors.Is(e.err, context.DeadlineExceeded) {
		e.Code, e.Message = CodeTimeout, "the context's deadline is over"
	}
	if cause := context.Cause(ctx); cause != e.err {
		e.err = errors.Join(e.err, cause)
	}
	return e
}

func (c *Client) logAttempt(ctx context.Context, r *request, number int, f *failedAttempt, took time.Duration) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", r.name), slog.String("tool", r.logID()), slog.Int("attempt", number), slog.Duration("took", took),
	}
	if f != nil {
		attrs = append(attrs, slog.Int("status", f.Status), slog.String("code", string(f.Code)))
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "catalog attempt", attrs...)
}

// logID is the tool's id, and nothing if only its name is known.
func (r *request) logID() string {
	if uuid.Valid(r.tool) {
		return r.tool
	}
	return ""
}
