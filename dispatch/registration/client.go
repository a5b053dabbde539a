package registration

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
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
	rest     *restclient.Client
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
// The error is a [*toolwire.Error] with [toolwire.CodeInvalidOptions] that lists all mistakes.
func NewClient(baseURL, apiKey string, o *Options) (*Client, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Transport == nil {
		t := httpcall.NewTransport()
		t.DisableKeepAlives = true // calls are rare, and a Client has no Close
		opts.Transport = t
	}
	rest, url, key := restclient.New(restclient.Options{
		BaseURL: baseURL, Example: "https://api.pipelines.tech", Path: "api", Key: apiKey, Header: "Authorization",
		Peer: "the platform", Transport: opts.Transport,
	})
	var mistakes []error
	for _, must := range url {
		mistakes = append(mistakes, errors.New("the base URL "+must))
	}
	for _, must := range key {
		mistakes = append(mistakes, errors.New("the API key "+must))
	}
	if len(mistakes) > 0 {
		return nil, &toolwire.Error{Package: "registration", Code: toolwire.CodeInvalidOptions, Err: errors.Join(mistakes...)}
	}
	c := &Client{rest: rest}
	if opts.Validate != nil {
		validate := *opts.Validate
		c.validate = &validate
	}
	return c, nil
}

// Create validates r and posts it to /api/agents. Every error is a [*toolwire.Error]. If its code is
// invalid_registration, no request was sent. If the call fails after the request was sent, the agent may
// have been registered; the text of the error then names this.
//
// If ctx has no deadline, Create returns after at most 30 seconds.
func (c *Client) Create(ctx context.Context, r *Registration) (*Agent, error) {
	return c.send(ctx, http.MethodPost, "agents", r)
}

// Update validates r and puts it to /api/agents/{id}. It sends the whole registration, with all
// tools, because the platform does not document what it does with members that are left out. Only
// AuthValue may be empty. Errors and the time limit are as in [Client.Create].
func (c *Client) Update(ctx context.Context, id string, r *Registration) (*Agent, error) {
	if id == "" || len(id) > 128 || strings.Trim(id, alphanumeric+"-_") != "" {
		err := errors.New("the id of an agent must be 1 to 128 letters, digits, '-' and '_'")
		return nil, &toolwire.Error{Package: "registration", Code: toolwire.CodeInvalidOptions, Err: err}
	}
	return c.send(ctx, http.MethodPut, "agents/"+id, r)
}

func (c *Client) send(ctx context.Context, method, path string, r *Registration) (agent *Agent, err error) {
	if _, err := r.validate(ctx, c.validate, method == http.MethodPut); err != nil {
		if ctx.Err() != nil { // endpoints may not have been looked up
			err := httpcall.ContextError(ctx)
			return nil, &toolwire.Error{Package: "registration", Code: problem.ContextCode[toolwire.Code](err), Err: err}
		}
		return nil, err
	}
	body, err := r.Body()
	if err != nil {
		return nil, err
	}
	request := &restclient.Request{
		Method: method, Path: path, Body: body, Secrets: r.secrets(), MaxBytes: maxResponseBytes + int64(len(body)),
	}
	if _, ok := ctx.Deadline(); !ok {
		request.Timeout = defaultTimeout
	}
	failure := c.rest.Do(ctx, request, func(a *restclient.Response) (f *restclient.Failure) {
		agent, f = readAgent(a, method)
		return f
	})
	if failure != nil {
		return nil, failed(failure, method, r.Tools)
	}
	return agent, nil
}

// readAgent reads a response with the status 2xx.
func readAgent(a *restclient.Response, method string) (*Agent, *restclient.Failure) {
	if method == http.MethodPut && strings.TrimSpace(string(a.Body)) == "" {
		return &Agent{}, nil
	}
	agent := &Agent{Raw: a.Body}
	err := rawjson.Read(a.Body, rawjson.Limits{Mode: rawjson.Liberal}, func(r *rawjson.Reader) error {
		return r.Object([]string{"id", "status"}, func(name string) error {
			value, err := r.Value()
			switch name {
			case "id":
				agent.ID = rawjson.Scalar(value)
			case "status":
				agent.Status = rawjson.Scalar(value)
			}
			return err
		})
	})
	switch {
	case err != nil:
		return nil, a.Bad("the response is not one JSON object with one id and one status")
	case agent.ID == "" && method == http.MethodPost:
		return nil, a.Bad("the response has no id")
	}
	return agent, nil
}

// failed returns the error for a failure.
func failed(f *restclient.Failure, method string, tools []schema.Tool) *toolwire.Error {
	e := &toolwire.Error{Package: "registration", Code: toolwire.Code(f.Code), Response: f.Response(), Err: f.Err}
	if e.Code == toolwire.CodeRejected {
		listed := slices.ContainsFunc(f.Said.Statements, func(s httpcall.Statement) bool { return s.Entry })
		for _, said := range f.Said.Statements {
			if (said.Entry || !listed) && !f.Said.Partial { // beside a list, a message is about all of it
				e.Problems = append(e.Problems, problemOf(said, tools))
			}
		}
	}
	if r := e.Response; r != nil && (f.Said.Partial || r.Detail == "" && len(e.Problems) == 0) {
		r.Detail = f.Said.Text
	}
	e.Message = message(e, f.Unsure && method == http.MethodPost)
	return e
}

// problemOf returns a statement of the platform with the tool of its pointer.
func problemOf(said httpcall.Statement, tools []schema.Tool) toolwire.Problem {
	p := toolwire.Problem{Code: said.Code, Pointer: said.Pointer, Message: said.Message}
	if rest, ok := strings.CutPrefix(p.Pointer, "/body"); ok && (rest == "" || rest[0] == '/') {
		p.Pointer = rest
	}
	if p.Code == "" {
		p.Code = "rejected_by_platform"
	}
	if rest, ok := strings.CutPrefix(p.Pointer, "/tools_schema/"); ok {
		if i, _ := problem.Element("/" + rest); i >= 0 && i < len(tools) {
			p.Tool = tools[i].Name
		}
	}
	return p
}

const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
