package registration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/schema"
)

// Options configures a [Client]. The zero value of every field is its default. Options are copied by [NewClient].
type Options struct {
	// Transport sends the requests. Defaults to one of its own that keeps no connections and does not read proxy settings
	// from the environment. Redirects are not followed, whatever the transport.
	Transport http.RoundTripper
	// KeyInXAPIKey sends the API key as X-API-Key. The default is Authorization: Bearer.
	KeyInXAPIKey bool
	// Timeout bounds a call from dialling to the last byte of the answer. Defaults to 30 s.
	Timeout time.Duration
	// MaxRequestBytes and MaxResponseBytes bound bodies. Each defaults to 1 MiB.
	MaxRequestBytes  int
	MaxResponseBytes int
	// Validate is given to [Registration.Validate] before anything is sent.
	Validate *schema.ValidateOptions
}

// A Client registers agents: one request per call, never repeated. It is immutable and safe for concurrent use.
type Client struct {
	agents     url.URL
	authHeader string
	authPrefix string
	apiKey     redact.Hidden[string]
	caller     httpcall.Client
	maxRequest int
	validate   *schema.ValidateOptions
}

// An Agent is what the platform answers to a registration. The answer is not documented; that it has the members id and
// status is known from the platform's SDK.
type Agent struct {
	ID     string          // a number or a string on the wire; "" only if the answer to an update has none
	Status string          // "" if the answer has none. A draft must be published before it can be dispatched
	Raw    json.RawMessage // the whole answer; nil if it is empty, as that to an update may be
}

// NewClient makes a client of the platform's main REST API. baseURL is the platform's address without /api, such as
// https://api.pipelines.tech; http is allowed for loopback hosts alone, for tests. The error is an [*Error] with
// [CodeOptions] that names all mistakes.
func NewClient(baseURL, apiKey string, o *Options) (*Client, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	var mistakes []error
	mistake := func(text string) { mistakes = append(mistakes, errors.New(text)) }
	u, err := url.Parse(baseURL)
	switch {
	case err != nil || u.Hostname() == "":
		mistake("the base URL must be a URL such as https://api.pipelines.tech")
		u = &url.URL{}
	case u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())):
		mistake("the base URL must begin with https://: the API key travels")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		mistake("the base URL must not have a user name, query or fragment")
	}
	base := u.JoinPath("/")
	if strings.HasSuffix(base.Path, "/api/") {
		mistake("the base URL must not end in /api, which is added here")
	}
	if apiKey == "" || strings.ContainsFunc(apiKey, func(c rune) bool { return c <= ' ' || c > '~' }) {
		mistake("the API key must be visible ASCII; is its environment variable set?")
	}
	if opts.Timeout < 0 || opts.MaxRequestBytes < 0 || opts.MaxResponseBytes < 0 {
		mistake("Options.Timeout, MaxRequestBytes and MaxResponseBytes must not be negative")
	}
	if len(mistakes) > 0 {
		return nil, &Error{Code: CodeOptions, Err: errors.Join(mistakes...)}
	}
	c := &Client{
		agents:     *base.JoinPath("api", "agents"),
		authHeader: "Authorization",
		authPrefix: "Bearer ",
		apiKey:     redact.Hide(apiKey),
		caller: httpcall.Client{
			Transport: opts.Transport, Peer: "the platform", Timeout: orDefault(opts.Timeout, 30*time.Second),
			MaxBytes: int64(orDefault(opts.MaxResponseBytes, 1<<20)),
		},
		maxRequest: orDefault(opts.MaxRequestBytes, 1<<20),
		validate:   opts.Validate,
	}
	if opts.KeyInXAPIKey {
		c.authHeader, c.authPrefix = "X-API-Key", ""
	}
	if opts.Validate != nil {
		validate := *opts.Validate
		c.validate = &validate
	}
	if c.caller.Transport == nil {
		t := httpcall.NewTransport()
		t.DisableKeepAlives = true // registering is rare, and a Client has no Close
		c.caller.Transport = t
	}
	return c, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Create validates a registration and posts it to /api/agents. Every error is an [*Error]; one with [CodeInvalid] was
// found before anything was sent. A call that breaks off may have registered the agent, and is not repeated.
func (c *Client) Create(ctx context.Context, r *Registration) (*Agent, error) {
	return c.send(ctx, http.MethodPost, c.agents, r)
}

// Update validates a registration and puts it to /api/agents/{id}, whole: flipping one tool means sending all of them,
// because what the platform does with members that are left out is not documented. AuthValue may be left out. Errors are
// those of [Client.Create].
func (c *Client) Update(ctx context.Context, id string, r *Registration) (*Agent, error) {
	if id == "" || len(id) > 128 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
		return nil, &Error{Code: CodeOptions, Err: errors.New("an agent's id is made of letters, digits, '-' and '_'")}
	}
	return c.send(ctx, http.MethodPut, *c.agents.JoinPath(id), r)
}

func (c *Client) send(ctx context.Context, method string, target url.URL, r *Registration) (*Agent, error) {
	if err := r.validate(c.validate, method == http.MethodPut); err != nil {
		return nil, err
	}
	body, err := r.Body()
	if err != nil {
		return nil, err
	}
	if len(body) > c.maxRequest {
		return nil, &Error{Code: CodeTooLarge, Err: fmt.Errorf("the body has %d bytes; at most %d are sent", len(body), c.maxRequest)}
	}
	req, err := http.NewRequest(method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: CodeOptions, Err: errors.New("the base URL cannot be requested")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set(c.authHeader, c.authPrefix+c.apiKey.Reveal())
	got, failure := c.caller.Do(ctx, req, nil)
	a := &answer{
		method: method, tools: r.Tools, status: got.Status, header: got.Header,
		scrub: scrubber{redact.New(append(r.secrets(), c.apiKey.Reveal())...)},
	}
	switch {
	case a.status != 0 && (a.status < 200 || a.status > 299):
		if failure != nil {
			got.Body = nil // half a text may end in half a secret, which would not be recognised
		}
		return nil, a.refusal(got.Body)
	case failure != nil:
		return nil, a.failed(failure)
	}
	return a.agent(got.Body)
}

// failed describes a call without a complete answer.
func (a *answer) failed(failure *httpcall.Failure) *Error {
	return &Error{
		Code: failureCodes[failure.Kind], Status: a.status, Err: failure.Err,
		unsure: a.method == http.MethodPost && !failure.NotSent,
	}
}

var failureCodes = map[httpcall.Kind]Code{
	httpcall.Canceled: CodeCanceled, httpcall.TimedOut: CodeTimeout, httpcall.TooLarge: CodeBadResponse, httpcall.Broken: CodeTransport,
}
