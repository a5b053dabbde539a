package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/httpbody"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/internal/wireerror"
)

// run is what all clients of one run share. Only over and the pacer change after [New].
type run struct {
	base           url.URL
	authValue      atomic.Pointer[[1]string] // of the Authorization header; fmt does not follow such a pointer
	transport      http.RoundTripper
	attemptTimeout time.Duration
	maxAttempts    int
	maxRetryAfter  time.Duration
	maxRequest     int
	maxResponse    int
	json           strictjson.Limits
	transient      []string
	repeatable     map[string]bool
	pacer          *Pacer
	ownPacer       Pacer // where pacer points if the options have none
	dropNulls      bool
	checkArguments func(string, json.RawMessage) error
	legacyBare     bool
	log            *slog.Logger
	observers      []Observer
	ownObservers   [1]Observer // where observers points if there is one
	onRunOver      func(error)
	client         Client // the one that New returns

	over ending
}

// request is one call or trace event, before it is known how many attempts it takes.
type request struct {
	plane      string // "/tools/" or "/traces/"
	name       string
	actor      string
	body       []byte
	repeatable bool
}

// answer is a successful HTTP answer.
type answer struct {
	status   int
	body     []byte
	attempts int
}

// errAttemptTimeout is the cause by which an attempt's own deadline is told from the caller's.
var errAttemptTimeout = errors.New("the proxy did not answer in time")

var jsonType = []string{"application/json"}

// attempt sends req once. Its error has the fields of one attempt filled in; repeating is the caller's business.
func (r *run) attempt(ctx context.Context, req *request, place *place) (*answer, *Error) {
	attemptCtx, cancel := context.WithTimeoutCause(ctx, r.attemptTimeout, errAttemptTimeout)
	defer cancel()
	w := newWire(place)
	httpReq := r.newRequest(httptrace.WithClientTrace(attemptCtx, &w.trace), req)
	resp, err := r.transport.RoundTrip(httpReq)
	if err != nil {
		sent := w.sent(err)
		if sent == sentNot {
			place.release()
		} else {
			place.lost()
		}
		return nil, transportError(ctx, attemptCtx, req, sent, err)
	}
	place.answered()
	body, err := httpbody.Response(resp, int64(r.maxResponse))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, r.statusError(req, resp, body)
	}
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return nil, &Error{
			Code: CodeResponseTooLarge, Outcome: Unknown, Tool: req.name, Status: resp.StatusCode,
			Err: fmt.Errorf("the answer has more than %d bytes", r.maxResponse),
		}
	case err != nil:
		e := transportError(ctx, attemptCtx, req, sentAll, err)
		e.Status = resp.StatusCode
		return nil, e
	}
	return &answer{status: resp.StatusCode, body: body}, nil
}

func (r *run) newRequest(ctx context.Context, req *request) *http.Request {
	u := r.base
	u.Path += req.plane + req.name // both are plain ASCII without reserved characters
	if u.RawPath != "" {
		u.RawPath += req.plane + req.name
	}
	header := make(http.Header, 3)
	header["Authorization"] = r.authValue.Load()[:]
	header["Content-Type"] = jsonType
	if req.actor != "" {
		header["X-Pipelines-Actor-Id"] = []string{req.actor}
	}
	httpReq := &http.Request{
		Method: http.MethodPost, URL: &u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// A body of a type that net/http knows goes out with the headers in one write.
		Body:          io.NopCloser(bytes.NewReader(req.body)),
		ContentLength: int64(len(req.body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(req.body)), nil },
	}
	return httpReq.WithContext(ctx)
}

// wire watches how far a request got. Its hooks may run on the transport's goroutines.
type wire struct {
	trace   httptrace.ClientTrace
	dialing atomic.Bool // the transport reports to us at all
	headers atomic.Bool // headers were written once, at least into a connection's buffer
}

func newWire(place *place) *wire {
	w := &wire{}
	w.trace.GetConn = func(string) { w.dialing.Store(true) }
	w.trace.WroteHeaders = func() { w.headers.Store(true) }
	w.trace.WroteRequest = func(httptrace.WroteRequestInfo) { place.written() }
	return w
}

type sent int

const (
	sentUnknown sent = iota
	sentNot          // no complete request can have arrived
	sentAll          // the proxy began to answer
)

// sent judges a failed round trip. A server cannot act on a request whose headers are incomplete. A transport that
// reports nothing is trusted only when its error says that dialling failed.
func (w *wire) sent(err error) sent {
	if w.dialing.Load() {
		if w.headers.Load() {
			return sentUnknown
		}
		return sentNot
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return sentNot
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return sentNot
	}
	return sentUnknown
}

// transportError tells apart who ended the attempt: the caller, its deadline, the attempt's own timeout, or the network.
func transportError(ctx, attemptCtx context.Context, req *request, sent sent, err error) *Error {
	e := &Error{Code: CodeTransport, Outcome: Unknown, Tool: req.name}
	if sent == sentNot {
		e.Outcome = NotSent
	}
	switch {
	case ctx.Err() != nil:
		e.Code, e.Err = CodeCanceled, contextError(ctx)
	case context.Cause(attemptCtx) == errAttemptTimeout:
		e.Code, e.Err = CodeTimeout, errAttemptTimeout
	default:
		e.Err = quiet(transportProblem(err, sent), err)
	}
	return e
}

// transportProblem words a transport's error without its text.
func transportProblem(err error, sent sent) string {
	what := wireerror.Text("the proxy", sent != sentNot, err)
	if sent == sentAll {
		return "the answer broke off: " + what
	}
	return what
}

// contextError keeps both the standard error and the caller's own cause findable.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// retryAfter reads the header's two forms, seconds and HTTP date; 0 means absent, past or unreadable.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	seconds, err := strconv.ParseUint(v, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) { // in the latter case it is the greatest value, some 68 years
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
