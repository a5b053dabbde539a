package registration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/schema"
)

// Options configures a [Client]. The zero value of every field is its default. [NewClient] copies
// the options.
type Options struct {
	// Transport sends the requests. Defaults to a transport that keeps no connections and does not
	// read proxy settings from the environment. Redirects are never followed.
	Transport http.RoundTripper
	// Validate is passed to [Registration.Validate] before a request is sent.
	Validate *schema.ValidateOptions
}

// A Client registers and updates agents. Each call sends one request and is never repeated. A
// Client is safe for concurrent use and does not need to be closed. Formatting a Client never
// reveals its API key.
type Client struct {
	agents   url.URL
	apiKey   redact.Hidden[string]
	caller   httpcall.Client
	validate *schema.ValidateOptions
}

// An Agent is the platform's response to a registration. The response is not documented. The
// members id and status are known from the platform's SDK.
type Agent struct {
	ID     string          // a number or a string on the wire; "" only after an update
	Status string          // "" if the response has none; a draft must be published before it can be dispatched
	Raw    json.RawMessage // the whole response; nil if an update has an empty response
}

const (
	defaultTimeout   = 30 * time.Second
	maxResponseBytes = 1 << 20 // more than the request has, because the response may repeat it
)

// NewClient returns a client of the platform's main REST API. baseURL is the address of the
// platform without /api, such as https://api.pipelines.tech. The scheme http is accepted for
// loopback hosts only. apiKey is sent as "Authorization: Bearer". If o is nil, the defaults apply.
// The error is an [*Error] with [CodeOptions] that lists all mistakes.
func NewClient(baseURL, apiKey string, o *Options) (*Client, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	var mistakes []error
	mistake := func(text string) { mistakes = append(mistakes, errors.New(text)) }
	base, wrong := httpcall.ParseBase(baseURL, "https://api.pipelines.tech")
	for _, must := range wrong {
		mistake("the base URL " + must)
	}
	if strings.HasSuffix(base.Path, "/api/") {
		mistake("the base URL must not end in /api; the client adds it")
	}
	if must := httpcall.CheckKey(apiKey); must != "" {
		mistake("the API key " + must)
	}
	if len(mistakes) > 0 {
		return nil, &Error{Code: CodeOptions, Err: errors.Join(mistakes...)}
	}
	c := &Client{
		agents:   *base.JoinPath("api", "agents"),
		apiKey:   redact.Hide(apiKey),
		caller:   httpcall.Client{Transport: opts.Transport, Peer: "the platform"},
		validate: opts.Validate,
	}
	if opts.Validate != nil {
		validate := *opts.Validate
		c.validate = &validate
	}
	if c.caller.Transport == nil {
		t := httpcall.NewTransport()
		t.DisableKeepAlives = true // calls are rare, and a Client has no Close
		c.caller.Transport = t
	}
	return c, nil
}

// Create validates r and posts it to /api/agents. Every error is an [*Error]. If its code is
// [CodeInvalid], no request was sent. If the call fails after the request was sent, the agent may
// have been registered; the error says so.
//
// If ctx has no deadline, Create returns after at most 30 seconds.
func (c *Client) Create(ctx context.Context, r *Registration) (*Agent, error) {
	return c.send(ctx, http.MethodPost, c.agents, r)
}

// Update validates r and puts it to /api/agents/{id}. It sends the whole registration, with all
// tools, because the platform does not document what it does with members that are left out. Only
// AuthValue may be empty. Errors and the time limit are those of [Client.Create].
func (c *Client) Update(ctx context.Context, id string, r *Registration) (*Agent, error) {
	if id == "" || len(id) > 128 || strings.Trim(id, alphanumeric+"-_") != "" {
		err := errors.New("the id of an agent must be 1 to 128 letters, digits, '-' and '_'")
		return nil, &Error{Code: CodeOptions, Err: err}
	}
	return c.send(ctx, http.MethodPut, *c.agents.JoinPath(id), r)
}

func (c *Client) send(ctx context.Context, method string, target url.URL, r *Registration) (*Agent, error) {
	if _, err := r.validate(ctx, c.validate, method == http.MethodPut); err != nil {
		if ctx.Err() != nil { // endpoints may not have been looked up
			return nil, &Error{Code: CodeCanceled, Err: httpcall.ContextError(ctx)}
		}
		return nil, err
	}
	body, err := r.Body()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: CodeOptions, Err: errors.New("the base URL is not valid for a request")}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.apiKey.Reveal())
	caller := c.caller
	caller.MaxBytes = maxResponseBytes + int64(len(body))
	if _, ok := ctx.Deadline(); !ok {
		caller.Timeout = defaultTimeout
	}
	got, failure := caller.Do(ctx, req, nil)
	a := &response{
		method: method, tools: r.Tools, status: got.Status, header: got.Header,
		scrub: scrubber{redact.New(append(r.secrets(), c.apiKey.Reveal())...)},
	}
	switch {
	case a.status != 0 && (a.status < 200 || a.status > 299):
		if failure != nil {
			got.Body = nil // an incomplete text may end in a part of a secret, which redact does not find
		}
		return nil, a.refusal(got.Body)
	case failure != nil:
		return nil, a.failed(failure)
	}
	return a.agent(got.Body)
}

// failed describes a call without a complete response.
func (a *response) failed(failure *httpcall.Failure) *Error {
	return &Error{
		Code: failureCodes[failure.Kind], Status: a.status, Err: failure.Err,
		unsure: a.method == http.MethodPost && !failure.NotSent,
	}
}

var failureCodes = map[httpcall.Kind]Code{
	httpcall.Canceled: CodeCanceled, httpcall.TimedOut: CodeTimeout,
	httpcall.TooLarge: CodeBadResponse, httpcall.Broken: CodeTransport,
}
