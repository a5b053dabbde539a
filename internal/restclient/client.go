// Package restclient is common to the clients of REST APIs that are called with a key. It checks base
// URL and key, sends requests, repeats them where that is safe, and reads what a server says about a
// failure.
package restclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
)

// Options describes an API and how it is called.
type Options struct {
	BaseURL string
	Example string // a valid BaseURL, for the texts of mistakes
	Path    string // the element that every path begins with, such as "api"; BaseURL must not end in it
	Key     string
	Header  string // carries Key; the header Authorization carries it as Bearer
	Peer    string // names the server in errors, such as "the platform"

	Transport   http.RoundTripper // if it is nil, the client has one of its own
	Timeout     time.Duration     // of one attempt; 0 for none
	MaxBytes    int64             // of a response
	MaxAttempts int               // 1 or less means that nothing is repeated
	Logger      *slog.Logger      // receives attempts (debug) and waits (info) after their Name; may be nil
	Name        string            // begins the messages of Logger
}

// A Client calls one API. It is immutable and safe for concurrent use.
type Client struct {
	Caller  httpcall.Client // may be changed before the first call
	base    *url.URL
	key     redact.Hidden[string] // the value of the header
	header  string
	hide    *redact.Set
	repeats httpcall.Policy
	log     *slog.Logger
	name    string
}

const (
	maxKey  = 4096    // bytes
	maxBody = 1 << 20 // bytes of the body of a refusal that is read
)

// New returns a client, or what is wrong with the base URL and the key, such as "must be visible
// ASCII".
func New(o Options) (c *Client, url, key []string) {
	base, url := httpcall.Base{Example: o.Example, Secret: "the API key"}.Parse(o.BaseURL)
	base = base.JoinPath("/")
	if base.Host != "" && strings.HasSuffix(base.Path, "/"+o.Path+"/") {
		url = append(url, "must not end in /"+o.Path+"; the client adds it")
	}
	if len(o.Key) > maxKey {
		key = append(key, fmt.Sprintf("must have at most %d bytes", maxKey))
	}
	if !httpcall.VisibleASCII(o.Key) {
		key = append(key, "must be visible ASCII; check that its environment variable is set")
	}
	if o.Transport == nil {
		o.Transport = httpcall.NewTransport()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	value := o.Key
	if o.Header == "Authorization" {
		value = "Bearer " + value
	}
	return &Client{
		Caller: httpcall.Client{Transport: o.Transport, Peer: o.Peer, Timeout: o.Timeout, MaxBytes: o.MaxBytes},
		base:   base.JoinPath(o.Path), key: redact.Hide(value), header: o.Header, hide: redact.New(o.Key),
		repeats: httpcall.Policy{Peer: o.Peer, MaxAttempts: o.MaxAttempts},
		log:     o.Logger, name: o.Name,
	}, url, key
}

// A Request is one request, whatever the number of its attempts.
type Request struct {
	Method string
	Path   string // below the path of the API; plain ASCII
	Query  string
	Body   []byte
	Type   string // of the body; defaults to application/json

	Safe   bool  // may be repeated even if the server acted on it
	Proofs []int // statuses that prove that the server did nothing, beside the statuses that prove it in every API

	Secrets   []string      // more texts that an error must not show
	Timeout   time.Duration // replaces Options.Timeout if it is not 0
	MaxBytes  int64         // replaces Options.MaxBytes if it is not 0
	Operation string        // for the log
	ID        string        // for the log
}

// A Response is a whole response with a status of 2xx.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	r      *Request
	hide   *redact.Set
}

// A Failure is why a call has no usable response.
type Failure struct {
	Code   string // as all packages have it
	Status int    // 0 if no response arrived
	Err    error  // of the context, of the transport, or about the response; nil for a refusal

	// Of a refusal.
	Said httpcall.Refusal // empty if the body is larger than 1 MiB
	Body []byte           // without secrets; nil if it is incomplete, because a part of a secret is not recognized as one

	RetryAfter time.Duration
	RequestID  string // the header X-Request-Id; it is not documented for any API

	Unsure   bool // the server may have acted on the request, or on an earlier attempt
	Attempts int
	Stop     httpcall.Stop // why there was no further attempt

	unsent  bool // the server cannot have received the whole request
	passing bool // another attempt may succeed
}

// Response returns what an error says about the response, or nil if none arrived.
func (f *Failure) Response() *toolwire.Response {
	if f.Status == 0 {
		return nil
	}
	return &toolwire.Response{Status: f.Status, Class: f.Said.Class, Detail: f.Said.Message(), RetryAfter: f.RetryAfter,
		RequestID: f.RequestID}
}

// Attempt sends r once. It calls read with a complete response whose status is 2xx.
func (c *Client) Attempt(ctx context.Context, r *Request, read func(*Response) *Failure) *Failure {
	caller := c.Caller
	if r.Timeout > 0 {
		caller.Timeout = r.Timeout
	}
	if r.MaxBytes > 0 {
		caller.MaxBytes = r.MaxBytes
	}
	got, failure := caller.Do(ctx, c.request(r), nil)
	a := &Response{Status: got.Status, Header: got.Header, Body: got.Body, r: r, hide: c.hide}
	if len(r.Secrets) > 0 {
		secrets := []string{c.key.Reveal()}
		for _, secret := range r.Secrets {
			secrets = append(secrets, secret, httpcall.OneLine(secret)) // Hide puts its text on one line first
		}
		a.hide = redact.New(secrets...)
	}
	switch {
	case a.Status != 0 && (a.Status < 200 || a.Status > 299):
		if failure != nil {
			a.Body = nil
		}
		return a.Refusal(a.Status)
	case failure != nil:
		return a.failed(failure)
	}
	return read(a)
}

func (c *Client) request(r *Request) *http.Request {
	u := c.base.JoinPath(r.Path)
	u.RawQuery = r.Query
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {"toolwire"}}
	header.Set(c.header, c.key.Reveal())
	request := &http.Request{
		Method: r.Method, URL: u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.Body != nil {
		header.Set("Content-Type", "application/json")
		if r.Type != "" {
			header.Set("Content-Type", r.Type)
		}
		request.ContentLength = int64(len(r.Body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		request.Body, _ = request.GetBody()
	}
	return request
}

// failed describes an attempt without a complete response.
func (a *Response) failed(failure *httpcall.Failure) *Failure {
	return &Failure{
		Code: failure.Code(), Status: a.Status, Err: failure.Err, RequestID: a.requestID(), Unsure: !failure.NotSent,
		unsent: failure.NotSent, passing: failure.Kind == httpcall.Broken && !failure.Lasting(),
	}
}

// Hide returns a text of the server on one line, without secrets.
func (a *Response) Hide(text string) string { return a.hide.Redact(httpcall.OneLine(text)) }

// Bad returns the failure for a response with the status 2xx that the API does not send.
func (a *Response) Bad(why string) *Failure {
	err := errors.New(a.Hide(why))
	return &Failure{Code: "bad_response", Status: a.Status, Err: err, RequestID: a.requestID(), Unsure: true}
}

// Refusal describes a response that refuses the request. status decides about code and
// repetition; it is usually the status of the response.
func (a *Response) Refusal(status int) *Failure {
	f := &Failure{
		Code: httpcall.StatusCode[string](status), Status: a.Status, RequestID: a.requestID(), Unsure: !a.r.proves(status),
	}
	if a.Body != nil {
		f.Body = []byte(a.hide.Redact(string(a.Body)))
	}
	f.RetryAfter, _ = httpcall.RetryAfter(a.Header)
	if len(a.Body) <= maxBody {
		f.Said = httpcall.ReadRefusal(a.Header, a.Body, a.hide)
	}
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.passing = true
	}
	return f
}

// proves reports whether a refusal proves that the server did nothing. An intermediary can send any
// status without a code of its own after it has passed the request on.
func (r *Request) proves(status int) bool {
	switch httpcall.StatusCode[string](status) {
	case "refused", "server_error", "unexpected_status":
		return slices.Contains(r.Proofs, status)
	}
	return true
}

// requestID returns the server's id of the request, or "" if it is not an id.
func (a *Response) requestID() string {
	id := a.Hide(a.Header.Get("X-Request-Id"))
	if len(id) > 128 || !httpcall.VisibleASCII(id) {
		return ""
	}
	return id
}
