package toolbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
)

// Client lists the adapters and tools of an organisation over the platform's API. It is immutable
// and safe for concurrent use. Formatting a Client never reveals its key.
//
// Each request has a time limit of 30 s. The client does not follow redirects and does not repeat
// requests.
type Client struct{ rest *restclient.Client }

// ClientOptions configures a [Client]. The zero value of every field means its default. [NewClient]
// copies the options.
type ClientOptions struct {
	// BaseURL is the address of the platform without /api. The scheme http is accepted for loopback
	// hosts only. Defaults to https://api.bedrock.orinlabs.org.
	BaseURL string

	// Transport sends the requests. Defaults to a transport of the client that reads no proxy
	// settings from the environment and closes connections that are idle for 4 s.
	Transport http.RoundTripper
}

const (
	defaultBase  = "https://api.bedrock.orinlabs.org"
	listTimeout  = 30 * time.Second
	maxListed    = 10_000 // adapters or tools of one list
	maxPageBytes = maxDocument
	maxListBytes = 64 << 20 // of all pages
)

// NewClient returns a client that sends apiKey as "Authorization: Bearer". If o is nil, the defaults
// apply. The error is an [*Error] with toolwire.CodeInvalidOptions and all problems.
func NewClient(apiKey string, o *ClientOptions) (*Client, error) {
	var opts ClientOptions
	if o != nil {
		opts = *o
	}
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBase
	}
	rest, url, key := restclient.New(restclient.Options{
		BaseURL: opts.BaseURL, Example: defaultBase, Path: "api", Key: apiKey, Header: "Authorization", Peer: "the platform",
		Transport: opts.Transport, Timeout: listTimeout, MaxBytes: maxPageBytes,
	})
	var problems problem.List[toolwire.Problem]
	for _, must := range url {
		problems.Add("invalid_option", "", "ClientOptions.BaseURL %s", must)
	}
	for _, must := range key {
		problems.Add("invalid_option", "", "apiKey %s", must)
	}
	if problems.Len() > 0 {
		return nil, &Error{Code: toolwire.CodeInvalidOptions, Message: "the client cannot be created", Problems: problems.Found}
	}
	return &Client{rest}, nil
}

// Adapters lists the adapters in the order of the platform: GET /api/toolbox/adapters/. See
// [Client.Tools] for the error.
func (c *Client) Adapters(ctx context.Context) ([]Adapter, error) {
	list := []Adapter{}
	err := c.list(ctx, "adapters", url.Values{}, func(page *document) {
		for _, entry := range page.adapters {
			list = append(list, entry.Adapter)
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Tools lists the tools of an adapter in the order of the platform: GET
// /api/toolbox/tools/?adapter=ID. If adapter is "", it lists the tools of all adapters. Tools does
// not check them: [Parse] does, and reads the JSON of the list.
//
// Tools returns the whole list or an error, never a part of the list. A page has at most 4 MiB. All
// pages together have at most 64 MiB and 10,000 tools. The error is an [*Error]:
//
//	toolwire.CodeBadResponse       a response is not a list, or its pages do not follow each other
//	toolwire.CodeResponseTooLarge  the list exceeds the limits
//	toolwire.CodeTransport         the connection failed
//	toolwire.CodeTimeout           a request took more than 30 s
//	toolwire.CodeCanceled          ctx was canceled
//	toolwire.CodeDeadline          the deadline of ctx passed
//
// For a response whose status is not 200, the code is one of those with a status. Status holds the
// status, and Detail the response.
func (c *Client) Tools(ctx context.Context, adapter string) ([]Tool, error) {
	query := url.Values{}
	if adapter != "" {
		query.Set("adapter", adapter)
	}
	list := []Tool{}
	err := c.list(ctx, "tools", query, func(page *document) {
		for _, entry := range page.tools {
			list = append(list, entry.Tool)
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// list requests all pages of a list. The first request has no other parameters than query, because
// only those are documented.
func (c *Client) list(ctx context.Context, kind string, query url.Values, collect func(page *document)) error {
	for offset, size := 0, 0; ; {
		body, err := c.get(ctx, kind, query)
		if err != nil {
			return err
		}
		p := page{kind: kind, document: document{peer: true}}
		if why := p.parse(body, offset); why != "" {
			return &Error{Code: toolwire.CodeBadResponse, Status: http.StatusOK,
				Message: fmt.Sprintf("the response is not a list of %s: %s", kind, why)}
		}
		offset, size = offset+p.entries, size+len(body)
		switch {
		case offset > maxListed:
			return errorf(toolwire.CodeResponseTooLarge, "", "the list has more than %d %s", maxListed, kind)
		case size > maxListBytes:
			return errorf(toolwire.CodeResponseTooLarge, "", "the list has more than %d bytes", maxListBytes)
		}
		collect(&p.document)
		if !p.more {
			return nil
		}
		query.Set("offset", strconv.Itoa(offset))
		if p.limit > 0 {
			query.Set("limit", strconv.Itoa(p.limit))
		}
	}
}

// get sends one request.
func (c *Client) get(ctx context.Context, kind string, query url.Values) (page []byte, err error) {
	request := &restclient.Request{Method: http.MethodGet, Path: "toolbox/" + kind + "/", Query: query.Encode()}
	failure := c.rest.Do(ctx, request, func(a *restclient.Response) *restclient.Failure {
		page = a.Body
		if a.Status != http.StatusOK {
			return a.Refusal(a.Status)
		}
		return nil
	})
	if failure != nil {
		return nil, c.failed(failure)
	}
	return page, nil
}

// failed returns the error for a failure.
func (c *Client) failed(f *restclient.Failure) *Error {
	e := &Error{Code: toolwire.Code(f.Code), Status: f.Status, Err: f.Err}
	switch e.Code {
	case toolwire.CodeCanceled, toolwire.CodeDeadline:
		e.Message = contextError(f.Err, "the list").Message
	case toolwire.CodeTimeout:
		e.Message = "the platform did not respond within " + listTimeout.String()
	case toolwire.CodeTransport:
		e.Message = "the list cannot be requested"
	case toolwire.CodeResponseTooLarge:
		e.Err = nil
		e.Message = fmt.Sprintf("a page of the list has more than %d bytes", maxPageBytes)
	default:
		advice := map[int]string{
			http.StatusUnauthorized: ": it does not accept the API key",
			http.StatusForbidden:    ": the API key does not permit it",
			http.StatusNotFound:     "; check ClientOptions.BaseURL and the id of the adapter",
		}[f.Status]
		if f.Status >= 300 && f.Status < 400 {
			advice = ", a redirect, which is not followed to protect the API key; correct ClientOptions.BaseURL"
		}
		e.Detail = detailOf(f.Body, nil)
		e.Message = fmt.Sprintf("the platform answered with HTTP status %d%s", f.Status, advice)
	}
	return e
}

// page is one response with a list.
type page struct {
	document
	kind    string
	entries int
	limit   int // of the pages; 0 if the response does not say
	more    bool
}

// parse reads a page, which must begin at offset of the list. It returns why it is not one, or "".
func (p *page) parse(body []byte, offset int) string {
	found := false
	entries := func(r *rawjson.Reader, at string) error {
		found = r.Kind() == '['
		if p.kind == "adapters" {
			return p.document.list(r, at, p.adapter)
		}
		return p.toolList(r, at, -1)
	}
	err := p.read(body, func(r *rawjson.Reader) error {
		if r.Kind() == '[' {
			return entries(r, "")
		}
		return p.listing(r, entries)
	})
	p.entries = len(p.adapters) + len(p.tools)
	switch {
	case err != nil:
		return malformed(err).Error()
	case p.entries > maxListed: // list says so
		return ""
	case !found:
		return "it has no list results"
	case p.problems.Len() > 0:
		return problem.Describe(p.problems.Found[0])
	}
	return p.paginate(offset)
}

// paginate reads {"total_count", "limit", "offset", "has_more"}. A list with "next" is paged in a way
// that is not documented.
func (p *page) paginate(offset int) string {
	p.more = string(rawjson.Member(p.pagination, "has_more")) == "true"
	if n, err := strconv.Atoi(string(rawjson.Member(p.pagination, "limit"))); err == nil && n > 0 {
		p.limit = n
	}
	at := rawjson.Member(p.pagination, "offset")
	switch {
	case at != nil && string(at) != strconv.Itoa(offset) && (offset > 0 || p.more):
		return fmt.Sprintf("its page does not begin at the offset %d", offset)
	case p.more && p.entries == 0:
		return "it has an empty page and says that more follow"
	case rawjson.Kind(p.pagination) != '{' && (offset > 0 || !rawjson.IsNull(p.next)):
		return "its pages do not follow the documented pagination"
	}
	return ""
}
