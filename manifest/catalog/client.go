package catalog

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/uuid"
)

// ClientOptions configures a [Client]. The zero value of every field is its default. [NewClient] copies them.
type ClientOptions struct {
	// Transport sends the requests. Defaults to one of the client's own that does not read proxy settings from the
	// environment and closes connections that are idle for 4 s. Redirects are not followed, whatever the transport.
	Transport http.RoundTripper
	// Timeout bounds one attempt, from dialling to the last byte of the answer. Default 30 s.
	Timeout time.Duration
	// MaxAttempts is how often a request is sent at most; 1 is once. Default 4. See [Client] for what is repeated.
	MaxAttempts int
	// MaxRetryAfter is the longest Retry-After that is waited for. Default 60 s. A server that asks for more ends the call.
	MaxRetryAfter time.Duration
	// MaxRequestBytes bounds the body of a request, a form with its source included. Default 4 MiB.
	MaxRequestBytes int
	// MaxResponseBytes bounds the body of an answer. Lists are not paged, so it bounds the catalog too. Default 16 MiB.
	MaxResponseBytes int
	// TypeField is the JSON member and form field that a tool's type is sent as: "tool_type", the default, as the ToolBase
	// records have it, or "type", as the platform's own SDK sends it. Answers may have either.
	TypeField string
	// Plugin holds the rules that uploads must keep before they are sent. Default: those of the newest server, up to 1 MiB.
	// For what an older server misses see [AddEntryPoint].
	Plugin PluginOptions
	// UserAgent is sent with every request. Default "toolwire".
	UserAgent string
	// Logger hears of attempts (debug) and of waits before repeating (info): the operation, the tool's id, status and code;
	// no key, name, source or text of the server. Default: silence.
	Logger *slog.Logger
}

// A Client manages the tools of a catalog over its REST API ("ToolBase records"). It is immutable and safe for concurrent
// use. Printing one shows no key.
//
// Every error is an [*Error]. Nothing in it holds the key, even where the server repeats it, or stretches of 16 bytes and
// more of source code or of a description that was sent; texts of the server are cut at 1 KiB. What can be judged here is
// refused before anything is sent, with Status 0.
//
// A request is sent again, up to [ClientOptions.MaxAttempts] times, if it surely was not sent, or if the answer is 429;
// those that only read, and [Client.Update] and [Client.Patch], also after a broken connection, 502, 503 and 504. Other
// requests are not, since a catalog may have acted on them: a tool might be registered twice, and a deletion that succeeded
// would look like an unknown tool. What timed out is never repeated. Waits are 0.5, 1, 2, 4 … 4 s, each times a random
// factor of 0.75 to 1.25 but at most 4 s, or the server's Retry-After if that is longer. A wait that the context's deadline does not allow
// is not begun, and the error is that of the last attempt.
type Client struct {
	base       *url.URL
	authorize  func(http.Header) // holds the key where printing a Client does not reach it
	hideKey    func(text string) string
	caller     httpcall.Client
	repeats    httpcall.Policy
	maxRequest int
	typeField  string
	plugin     PluginOptions
	userAgent  string
	log        *slog.Logger
}

// peer is the other side in the texts of errors.
const peer = "the catalog"

// The fields that a type can be sent as.
const (
	documentedTypeField = "tool_type"
	sdkTypeField        = "type"
)

// NewClient makes a client of the catalog at baseURL, such as https://aip.example.com; paths such as /tools/ are appended.
// The key is sent as X-API-Key. http is allowed for loopback hosts alone. The error is an [*Error] with [CodeOptions]
// that lists all mistakes. Options may be nil. Nothing is read from the environment.
func NewClient(baseURL, apiKey string, o *ClientOptions) (*Client, error) {
	var opts ClientOptions
	if o != nil {
		opts = *o
	}
	var mistakes []Problem
	mistake := func(field, rule, text string) { mistakes = append(mistakes, Problem{field, rule, text}) }
	base, err := url.Parse(baseURL)
	switch {
	case err != nil || base.Hostname() == "":
		mistake("base URL", "url", "must be a URL such as https://aip.example.com")
		base = &url.URL{}
	case base.Scheme != "https" && !(base.Scheme == "http" && isLoopback(base.Hostname())):
		mistake("base URL", "url", "must begin with https://, because the API key travels")
	}
	if base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		mistake("base URL", "url", "must not have a user name, query or fragment")
	}
	if strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/tools") {
		mistake("base URL", "url", "must not end in /tools, which is appended here")
	}
	if len(apiKey) > 4096 {
		mistake("API key", "too_long", "must have at most 4096 bytes")
	}
	if apiKey == "" || strings.ContainsFunc(apiKey, func(c rune) bool { return c <= ' ' || c > '~' }) {
		mistake("API key", "header", "must be visible ASCII; is its environment variable set?")
	}
	if strings.ContainsFunc(opts.UserAgent, func(c rune) bool { return c < ' ' || c > '~' }) {
		mistake("UserAgent", "header", "must be printable ASCII")
	}
	if opts.TypeField == "" {
		opts.TypeField = documentedTypeField
	}
	if opts.TypeField != documentedTypeField && opts.TypeField != sdkTypeField {
		mistake("TypeField", "enum", `must be "tool_type" or "type"`)
	}
	mistakes = append(mistakes, opts.Plugin.mistakes()...)
	limit := func(field string, n, def int64) int64 {
		switch {
		case n < 0:
			mistake(field, ruleNegative, textNegative)
		case n == 0:
			return def
		}
		return n
	}
	c := &Client{
		base:      base.JoinPath("/"), // an empty path would stay relative
		authorize: func(h http.Header) { h["X-Api-Key"] = []string{apiKey} },
		typeField: opts.TypeField,
		plugin:    opts.Plugin,
		userAgent: opts.UserAgent,
		log:       opts.Logger,
	}
	c.caller = httpcall.Client{Transport: opts.Transport, Peer: peer}
	c.repeats = httpcall.Policy{Peer: peer}
	c.caller.Timeout = time.Duration(limit("Timeout", int64(opts.Timeout), int64(30*time.Second)))
	c.repeats.MaxAttempts = int(limit("MaxAttempts", int64(opts.MaxAttempts), 4))
	c.repeats.MaxRetryAfter = time.Duration(limit("MaxRetryAfter", int64(opts.MaxRetryAfter), int64(time.Minute)))
	c.maxRequest = int(limit("MaxRequestBytes", int64(opts.MaxRequestBytes), 4<<20))
	c.caller.MaxBytes = limit("MaxResponseBytes", int64(opts.MaxResponseBytes), 16<<20)
	if len(mistakes) > 0 {
		return nil, &Error{Code: CodeOptions, Message: "the client cannot be made", Problems: mistakes}
	}
	c.hideKey = newHider(apiKey)
	if c.userAgent == "" {
		c.userAgent = "toolwire"
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.caller.Transport == nil {
		c.caller.Transport = httpcall.NewTransport()
	}
	return c, nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Create registers a tool by what is said of it, without source code: POST /tools/. A name that is taken is
// [CodeConflict]. What the answer leaves out of the tool is filled in from t; an answer without an id is
// [CodeBadAnswer], because the tool could not be referred to.
func (c *Client) Create(ctx context.Context, t Tool) (*ListItem, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return c.writeTool(ctx, &request{
		name: "create", method: http.MethodPost, path: "tools/", tool: clip.Text(t.Name, maxShown), said: texts(t.Description),
		unsure: "the tool may have been created: look for its name before creating it again",
	}, c.createBody(&t), ListItem{Tool: t})
}

// ListOptions narrows [Client.List] down. The zero value of every field is its default.
type ListOptions struct {
	// Type lists the tools of one type only. Default: all.
	Type Type
}

// List returns the tools of the account in the server's order: GET /tools/. No paging is documented, so a list is as long
// as the catalog, up to [ClientOptions.MaxResponseBytes]. Options may be nil. One entry that is no tool fails the call, so
// that what is missing is never taken for deleted. Entries may come with a script_content; do not log them.
func (c *Client) List(ctx context.Context, o *ListOptions) ([]ListItem, error) {
	r := &request{name: "list", method: http.MethodGet, path: "tools/", safe: true}
	if o != nil && o.Type != "" {
		if o.Type != Native && o.Type != Custom {
			return nil, &Error{Code: CodeInvalid, Message: "the list cannot be asked for", Problems: []Problem{
				{sdkTypeField, "enum", "must be native or custom"},
			}}
		}
		r.query = url.Values{sdkTypeField: {string(o.Type)}}.Encode()
	}
	var list []ListItem
	err := c.do(ctx, r, func(a *response) (err error) {
		list, err = a.list()
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Get returns one tool: GET /tools/{id}. An unknown id, a deleted tool and one of another account are all [CodeNotFound].
func (c *Client) Get(ctx context.Context, id string) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	var item ListItem
	err := c.do(ctx, getRequest(id), func(a *response) (err error) {
		item, err = a.item(ListItem{}, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &item, nil
}

func getRequest(id string) *request {
	return &request{name: "get", method: http.MethodGet, path: "tools/" + id, tool: id, safe: true}
}

// Update replaces what is said of a tool: PUT /tools/{id}. All members are sent: a description, tags and a version that
// are empty become "", [] and [DefaultVersion], so that they end up so whether the server replaces or merges. Only
// account_id is left out when it is empty. The source code stays as it is. To change some members only, use [Client.Patch].
func (c *Client) Update(ctx context.Context, id string, t Tool) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return c.writeTool(ctx, putRequest(id, &t), c.updateBody(&t), ListItem{ID: id, Tool: t})
}

func putRequest(id string, t *Tool) *request {
	return &request{
		name: "update", method: http.MethodPut, path: "tools/" + id, tool: id, said: texts(t.Description), safe: true,
		unsure: "the tool may have been updated",
	}
}

// Delete deletes a tool: DELETE /tools/{id}. Catalogs keep it, see [Client.Restore], but no longer know it elsewhere:
// deleting it again is [CodeNotFound].
func (c *Client) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	return c.do(ctx, &request{
		name: "delete", method: http.MethodDelete, path: "tools/" + id, tool: id, unsure: "the tool may have been deleted",
	}, (*response).confirmed)
}

// Restore brings a deleted tool back: POST /tools/{id}/restore. A tool that is not deleted is [CodeNotFound]; one whose
// name has been taken meanwhile may be [CodeConflict].
func (c *Client) Restore(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	return c.do(ctx, &request{
		name: "restore", method: http.MethodPost, path: "tools/" + id + "/restore", tool: id,
		unsure: "the tool may have been restored",
	}, (*response).confirmed)
}

// Script returns the source code of a tool: GET /tools/{id}/script. A tool without source, as native ones are, is
// [CodeNotFound]. The code may hold its author's secrets; do not log it.
func (c *Client) Script(ctx context.Context, id string) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	var script string
	err := c.do(ctx, &request{
		name: "script", method: http.MethodGet, path: "tools/" + id + "/script", tool: id, safe: true,
	}, func(a *response) (err error) {
		script, err = a.script()
		return err
	})
	return script, err
}

// texts is for [request.said].
func texts(said ...string) func() []string { return func() []string { return said } }

// checkID keeps whatever is no id out of the path.
func checkID(id string) error {
	if uuid.Valid(id) {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the tool cannot be referred to", Problems: []Problem{
		{"id", "uuid", "must be a UUID; Resolve finds the id for a name"},
	}}
}

// writeTool sends a tool and reads what the catalog made of it. sent is what the answer may leave out.
func (c *Client) writeTool(ctx context.Context, r *request, body []byte, sent ListItem) (*ListItem, error) {
	r.body, r.contentType = body, jsonType
	item := sent
	err := c.do(ctx, r, func(a *response) (err error) {
		item, err = a.item(sent, sent.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &item, nil
}
