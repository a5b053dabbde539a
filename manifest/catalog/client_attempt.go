package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/uuid"
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

// failedAttempt is an attempt that failed: its error, and what decides about the next one.
type failedAttempt struct {
	*Error
	unsent  bool // no complete request can have arrived
	passing bool // the server or the network may do better next time
	unsure  bool // the request may have been carried out all the same
}

// repeatable reports whether r may be sent again after f.
func (f *failedAttempt) repeatable(r *request) bool {
	return f.passing && (f.unsent || f.Code == CodeRateLimited || r.safe)
}

// attempt sends r once. read is called with a complete answer whose status is 2xx.
func (c *Client) attempt(ctx context.Context, r *request, read func(*response) error) *failedAttempt {
	if len(r.body) > c.maxRequest {
		return &failedAttempt{unsent: true, Error: &Error{Code: CodeTooLarge, Tool: r.tool, Message: fmt.Sprintf(
			"the body of the request has %d bytes; at most %d are sent", len(r.body), c.maxRequest)}}
	}
	answer, failure := c.caller.Do(ctx, c.newRequest(r), nil)
	a := &response{request: r, status: answer.Status, header: answer.Header, body: answer.Body, hideKey: c.hideKey}
	if a.status != 0 && (a.status < 200 || a.status > 299) {
		if failure != nil {
			a.body = nil // half a text may end in half a secret, which would not be recognised
		}
		return a.refusal()
	}
	if failure != nil {
		return c.failed(r, a, failure)
	}
	err := read(a)
	if err == nil {
		return nil
	}
	e, _ := errors.AsType[*Error](err) // read makes no others
	return &failedAttempt{Error: e, unsure: e.Code == CodeBadAnswer}
}

func (c *Client) newRequest(r *request) *http.Request {
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"toolwire"}}
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
	return req
}

// failed describes an attempt without a complete answer.
func (c *Client) failed(r *request, a *response, failure *httpcall.Failure) *failedAttempt {
	f := &failedAttempt{unsent: failure.NotSent, unsure: !failure.NotSent}
	switch failure.Kind {
	case httpcall.TooLarge:
		f.Error = a.bad(fmt.Sprintf("it has more than %d bytes (ClientOptions.MaxResponseBytes)", c.caller.MaxBytes))
	case httpcall.Canceled:
		f.Error = contextFailure(r, failure.Err)
	case httpcall.TimedOut:
		f.Error = &Error{Code: CodeTimeout, Tool: r.tool, Message: failure.Error() + " (ClientOptions.Timeout)", Err: failure.Err}
	default:
		f.Error = &Error{Code: CodeUnreachable, Tool: r.tool, Message: failure.Error(), Err: failure.Err}
		f.passing = !failure.Lasting()
	}
	f.Status = a.status
	return f
}

// contextFailure is the error of a call whose context has ended with err.
func contextFailure(r *request, err error) *Error {
	e := &Error{Code: CodeCanceled, Tool: r.tool, Message: "the call was canceled", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Code, e.Message = CodeTimeout, "the context's deadline is over"
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
