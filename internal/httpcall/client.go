package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
)

// A Client makes calls to one peer. It must not be changed after its first call. It is safe for
// concurrent use.
type Client struct {
	// Transport sends the requests. It must not be nil. Close of its bodies must end a Read.
	Transport http.RoundTripper

	// Redirect decides about redirects as http.Client.CheckRedirect does. If it is nil, a redirect
	// is an answer like any other.
	Redirect func(next *http.Request, via []*http.Request) error

	// Peer names the other side in the texts of failures, such as "the proxy".
	Peer string

	// Timeout bounds a call from dialling to the last byte of the response. If it is 0, only the
	// context bounds it.
	Timeout time.Duration

	// MaxBytes bounds the body of a response.
	MaxBytes int64
}

// Limits of the run's proxy, in bytes.
const (
	BodyBytes     = 1 << 20                   // of a request's body, and of a tool's result; both are documented
	EnvelopeBytes = 64 << 10                  // of what an answer has beside the result
	AnswerBytes   = BodyBytes + EnvelopeBytes // of an answer
)

// An Answer is a response that has been read. Its Status is 0 if the peer sent none.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // what arrived of it; incomplete if the call failed
	TLS    *tls.ConnectionState
}

// Progress receives the stages of a call. Its methods may be called on goroutines of the transport.
type Progress interface {
	Written()  // the request was written, or writing it failed
	Answered() // the status and the headers of the response have arrived
}

// errTimeout is the cause that distinguishes the end of a call's own time limit from the end of the
// caller's context.
var errTimeout = errors.New("the call took longer than its limit")

// errNoAnswer replaces the panic that a transport without a response and without an error would
// cause.
var errNoAnswer = errors.New("the transport returned neither a response nor an error")

// errStatus is the error of a response with a status that is not an HTTP status. net/http accepts
// 000, which as the Status of an answer would mean that there is none.
var errStatus = errors.New("the status of the response is not valid")

func validStatus(code int) bool { return code >= 100 && code <= 999 }

// Do sends request once, with ctx as its context, and reads the response. The response's status
// decides before the failure does: if the Status of the answer is not 0, the peer has answered,
// even if the body did not arrive whole. progress may be nil.
func (c *Client) Do(ctx context.Context, request *http.Request, progress Progress) (Answer, *Failure) {
	if ctx.Err() != nil {
		return Answer{}, &Failure{Kind: Canceled, NotSent: true, Err: ContextError(ctx)}
	}
	callCtx := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	w := newWatch(progress)
	response, err := c.send(request.WithContext(httptrace.WithClientTrace(callCtx, &w.trace)))
	if err == nil && response == nil {
		err = errNoAnswer
	}
	if err != nil {
		return Answer{}, c.failure(ctx, callCtx, err, w.notSent(err), false)
	}
	if progress != nil {
		progress.Answered()
	}
	answer := Answer{Status: response.StatusCode, Header: response.Header, TLS: response.TLS}
	answer.Body, err = readBody(callCtx, response, c.MaxBytes)
	if !validStatus(response.StatusCode) {
		return Answer{}, c.failure(ctx, callCtx, errStatus, false, false)
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		err = fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, c.MaxBytes)
		return answer, &Failure{Kind: TooLarge, Err: err}
	case err != nil:
		return answer, c.failure(ctx, callCtx, err, false, true)
	}
	return answer, nil
}

func (c *Client) send(request *http.Request) (*http.Response, error) {
	if c.Redirect == nil {
		return c.Transport.RoundTrip(request)
	}
	client := http.Client{Transport: redirects{c}, CheckRedirect: c.Redirect}
	response, err := client.Do(request)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the text of u contains the URL
	}
	return response, err
}

// redirects reads the bodies of redirects: http.Client reads them too, but without the context.
type redirects struct{ c *Client }

// RoundTrip implements http.RoundTripper.
func (t redirects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.c.Transport.RoundTrip(request)
	if err != nil || response == nil || response.Header.Get("Location") == "" {
		return response, err
	}
	body, err := readBody(request.Context(), response, t.c.MaxBytes)
	if request.Context().Err() != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// failure tells apart what ended a call: the caller, the time limit, or the network.
func (c *Client) failure(ctx, callCtx context.Context, err error, notSent, answered bool) *Failure {
	f := &Failure{NotSent: notSent}
	switch {
	case ended(ctx):
		f.Kind, f.Err = Canceled, ContextError(ctx)
	case ended(callCtx):
		f.Kind, f.Err = TimedOut, fmt.Errorf("%s did not answer within %s: %w", c.Peer, c.Timeout, errTimeout)
	default:
		text := Describe(c.Peer, !notSent, err)
		if answered {
			text = "the response broke off: " + text
		}
		f.Kind, f.Err = Broken, problem.Quiet(text, err)
	}
	return f
}

// ended reports whether ctx has ended. A connection obeys the deadline of a context by itself and
// may do so a moment before the context does.
func ended(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}
