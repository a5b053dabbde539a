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

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
)

// request is one request of the API, whatever the number of attempts.
type request struct {
	name        string // of the operation, for the log
	method      string
	path        string // below the base URL; plain ASCII
	query       string
	tool        string // the id or name for errors
	body        []byte
	contentType string

	safe   bool            // may be repeated even if the server acted on it
	plugin bool            // has source code: a 400 concerns the source
	said   func() []string // texts of the body that an error must not repeat; may be nil
	unsure string          // what may have happened without a response; "" if the request only reads
}

// failedAttempt is the error of an attempt and what decides about the next one.
type failedAttempt struct {
	*Error
	unsent  bool // the server cannot have received the whole request
	passing bool // another attempt may succeed
	unsure  bool // the server may have acted on the request
}

// repeatable reports whether r may be sent again after f.
func (f *failedAttempt) repeatable(r *request) bool {
	return f.passing && (f.unsent || f.Code == CodeRateLimited || r.safe)
}

// attempt sends r once. It calls read with a complete response whose status is 2xx.
func (c *Client) attempt(ctx context.Context, r *request, read func(*response) error) *failedAttempt {
	if len(r.body) > c.maxRequest {
		return &failedAttempt{unsent: true, Error: &Error{Code: CodeTooLarge, Tool: r.tool, Message: fmt.Sprintf(
			"the body of the request has %d bytes; at most %d are sent", len(r.body), c.maxRequest)}}
	}
	answer, failure := c.caller.Do(ctx, c.newRequest(r), nil)
	a := &response{request: r, status: answer.Status, header: answer.Header, body: answer.Body, hideKey: c.hideKey}
	if a.status != 0 && (a.status < 200 || a.status > 299) {
		if failure != nil {
			a.body = nil // half a text may end in half a secret, which redaction would miss
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
	e, _ := errors.AsType[*Error](err) // read returns no other errors
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

// failed describes an attempt without a complete response.
func (c *Client) failed(r *request, a *response, failure *httpcall.Failure) *failedAttempt {
	f := &failedAttempt{unsent: failure.NotSent, unsure: !failure.NotSent}
	switch failure.Kind {
	case httpcall.TooLarge:
		f.Error = a.bad(fmt.Sprintf("it has more than %d bytes (ClientOptions.MaxResponseBytes)", c.caller.MaxBytes))
	case httpcall.Canceled:
		f.Error = contextFailure(r, failure.Err)
	case httpcall.TimedOut:
		f.Error = &Error{Code: CodeTimeout, Tool: r.tool, Message: failure.Error() + " (ClientOptions.Timeout)",
			Err: failure.Err}
	default:
		f.Error = &Error{Code: CodeUnreachable, Tool: r.tool, Message: failure.Error(), Err: failure.Err}
		f.passing = !failure.Lasting()
	}
	f.Status = a.status
	return f
}

// contextFailure returns the error of a call whose context ended with err.
func contextFailure(r *request, err error) *Error {
	e := &Error{Code: CodeCanceled, Tool: r.tool, Message: "the call was canceled", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Code, e.Message = CodeTimeout, "the context's deadline has passed"
	}
	return e
}

func (c *Client) logAttempt(ctx context.Context, r *request, number int, f *failedAttempt, took time.Duration) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", r.name), slog.String("tool", r.logID()), slog.Int("attempt", number),
		slog.Duration("took", took),
	}
	if f != nil {
		attrs = append(attrs, slog.Int("status", f.Status), slog.String("code", string(f.Code)))
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "catalog attempt", attrs...)
}

// logID returns the tool's id, or "" if only its name is known.
func (r *request) logID() string {
	if clip.ValidUUID(r.tool) {
		return r.tool
	}
	return ""
}
