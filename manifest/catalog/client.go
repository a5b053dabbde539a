package catalog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/restclient"
)

// ClientOptions configures a [Client]. The zero value of every field selects its default.
// [NewClient] copies the options.
type ClientOptions struct {
	// Transport sends the requests. Defaults to a transport of the client's own that reads no proxy
	// settings from the environment and closes connections that are idle for 4 s. The client does
	// not follow redirects, whatever the transport.
	Transport http.RoundTripper
	// Timeout bounds one attempt, from dialing to the last byte of the response. Defaults to 30 s.
	Timeout time.Duration
	// MaxAttempts limits how often one request is sent. Defaults to 4; 1 disables retries.
	MaxAttempts int
	// MaxResponseBytes bounds the body of a response. The API does not page lists, so it bounds the
	// size of the catalog too. Defaults to 16 MiB.
	MaxResponseBytes int
	// TypeField is the JSON member and form field that carries a tool's type: "tool_type", as in
	// ToolBase records, or "type", as the platform's own SDK sends it. Defaults to "tool_type".
	// Responses may have either.
	TypeField string
	// Plugin holds the rules that a file must satisfy before it is uploaded. Defaults to the rules
	// of the newest server, up to 1 MiB. For older servers see [AddEntryPoint].
	Plugin PluginOptions
	// Logger receives attempts (debug) and waits before retries (info): the operation, the tool's
	// id, status and code. It receives no key, name, source or text of the server. If nil, nothing
	// is logged.
	Logger *slog.Logger
}

// A Client manages the tools of a catalog over its REST API ("ToolBase records"). It is immutable
// and safe for concurrent use. Formatting a Client never reveals its key.
//
// Every error is an [*Error]. It never contains the key, even if the server repeats it. It contains
// no run of 16 or more bytes of source code or of a description that was sent. Texts of the server
// are cut at 1 KiB. Arguments that are not valid are rejected before anything is sent, with Status
// 0.
//
// The client sends a request again, up to [ClientOptions.MaxAttempts] times, if it was not sent or
// if the response is 429. It repeats requests that only read, [Client.Update] and [Client.Patch]
// also after a broken connection, 502, 503 and 504. It does not repeat other requests then, because
// the catalog may have acted on them: a tool might be registered twice. It never repeats a request
// that timed out.
//
// Waits are 0.5, 1, 2, 3.2 … 3.2 s, each times a random factor of 0.75 to 1.25, so at most 4 s. A
// longer Retry-After of the server replaces the wait, up to 60 s; more ends the call. If the
// context's deadline is before the end of a wait, the client does not wait and returns the last
// attempt's error.
type Client struct {
	rest       *restclient.Client
	maxRequest int
	typeField  string
	plugin     PluginOptions
}

// The fields that a type can be sent as.
const (
	documentedTypeField = "tool_type"
	sdkTypeField        = "type"
)

// requestRoom is the room for the fields of a request, beside a plugin file, in bytes.
const requestRoom = 3 << 20

// NewClient returns a client of the catalog at baseURL, such as https://aip.example.com. The client
// appends paths such as /tools/ and sends apiKey as X-API-Key. The scheme http is valid for
// loopback hosts only. If o is nil, all defaults apply. NewClient does not read the environment.
// Its error is an [*Error] with [CodeOptions] and all problems.
func NewClient(baseURL, apiKey string, o *ClientOptions) (*Client, error) {
	var opts ClientOptions
	if o != nil {
		opts = *o
	}
	mistakes := opts.configure()
	rest, url, key := restclient.New(restclient.Options{
		BaseURL: baseURL, Example: "https://aip.example.com", Path: "tools", Key: apiKey, Header: "X-Api-Key",
		Peer: "the catalog", Transport: opts.Transport, Timeout: opts.Timeout, MaxBytes: int64(opts.MaxResponseBytes),
		MaxAttempts: opts.MaxAttempts, Logger: opts.Logger, Name: "catalog",
	})
	var found []Problem
	for _, must := range url {
		found = append(found, at("baseURL", "url", must))
	}
	for _, must := range key {
		found = append(found, at("apiKey", "header", must))
	}
	if found = append(found, mistakes...); len(found) > 0 {
		return nil, &Error{Code: CodeOptions, Message: "the client cannot be created", Problems: found}
	}
	return &Client{
		rest: rest, maxRequest: requestRoom + opts.Plugin.maxBytes(), typeField: opts.TypeField, plugin: opts.Plugin,
	}, nil
}

// configure reports all mistakes and fills the defaults in.
func (o *ClientOptions) configure() []Problem {
	var found []Problem
	o.TypeField = cmp.Or(o.TypeField, documentedTypeField)
	if o.TypeField != documentedTypeField && o.TypeField != sdkTypeField {
		found = append(found, at("TypeField", ruleEnum, `must be "tool_type" or "type"`))
	}
	found = append(found, o.Plugin.mistakes()...)
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"Timeout", int64(o.Timeout)}, {"MaxAttempts", int64(o.MaxAttempts)}, {"MaxResponseBytes", int64(o.MaxResponseBytes)},
	} {
		if limit.value < 0 {
			found = append(found, at(limit.name, ruleNegative, textNegative))
		}
	}
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 4)
	o.MaxResponseBytes = cmp.Or(o.MaxResponseBytes, 16<<20)
	return found
}

// Create registers a tool without source code: POST /tools/. If the name is taken, the error has
// [CodeConflict]. Fields that the response lacks are taken from t. A response without an id is
// [CodeBadResponse], because nothing could refer to the tool.
func (c *Client) Create(ctx context.Context, t Tool) (*ListItem, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	r := newRequest("create", http.MethodPost, "/", bounded.Cut(t.Name, maxShown))
	r.said = []string{t.Description}
	r.unsure = "the tool may have been created: look for its name before creating it again"
	return c.writeTool(ctx, r, c.createBody(&t), ListItem{Tool: t})
}

// List returns the tools of the account, in the server's order: GET /tools/. If t is not "", it
// returns only the tools of that type. The API has no paging, so a list is as long as the catalog,
// up to [ClientOptions.MaxResponseBytes]. An entry that is not a tool fails the call, so that
// callers never take a missing tool for a deleted one. Entries may contain ScriptContent; do not
// log them as JSON.
func (c *Client) List(ctx context.Context, t Type) ([]ListItem, error) {
	r := newRequest("list", http.MethodGet, "/", "")
	if t != "" {
		if t != Native && t != Custom {
			return nil, &Error{Code: CodeInvalid, Message: "the list cannot be requested", Problems: []Problem{
				at("type", ruleEnum, "must be native or custom"),
			}}
		}
		r.Query = url.Values{"type": {string(t)}}.Encode()
	}
	return do(ctx, c, r, readList)
}

// Get returns one tool: GET /tools/{id}. If the id is unknown, or the tool is deleted or of another
// account, the error has [CodeNotFound].
func (c *Client) Get(ctx context.Context, id string) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return do(ctx, c, getRequest(id), itemOver(ListItem{}, id))
}

func getRequest(id string) *request { return newRequest("get", http.MethodGet, id, id) }

// Update replaces the metadata of a tool: PUT /tools/{id}. It sends all members: an empty
// description, tags and version as "", [] and [DefaultVersion]. So the result is the same whether
// the server replaces or merges. It leaves only an empty account_id out. The source code does not
// change. To change only some members, use [Client.Patch].
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
	r := newRequest("update", http.MethodPut, id, id)
	r.said, r.Safe, r.unsure = []string{t.Description}, true, "the tool may have been updated"
	return r
}

// Delete deletes a tool: DELETE /tools/{id}. The catalog keeps it for [Client.Restore] only. If it
// is deleted again, the error has [CodeNotFound].
func (c *Client) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	r := newRequest("delete", http.MethodDelete, id, id)
	r.unsure = "the tool may have been deleted"
	_, err := do(ctx, c, r, confirm)
	return err
}

// Restore restores a deleted tool: POST /tools/{id}/restore. If the tool is not deleted, the error
// has [CodeNotFound]. If the name was taken meanwhile, it may have [CodeConflict].
func (c *Client) Restore(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	r := newRequest("restore", http.MethodPost, id+"/restore", id)
	r.unsure = "the tool may have been restored"
	_, err := do(ctx, c, r, confirm)
	return err
}

// Script returns the source code of a tool: GET /tools/{id}/source, the path of the document
// "ToolBase records". If the response is 404, the client requests /tools/{id}/script, which the
// platform's own clients use. If the tool has no source, like native tools, the error has
// [CodeNotFound]. The code may contain its author's secrets; do not log it.
func (c *Client) Script(ctx context.Context, id string) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	script, err := do(ctx, c, newRequest("script", http.MethodGet, id+"/source", id), readScript)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
		return do(ctx, c, newRequest("script", http.MethodGet, id+"/script", id), readScript)
	}
	return script, err
}

// checkID rejects everything but a UUID, so that nothing else gets into a path.
func checkID(id string) error {
	if bounded.ValidUUID(id) {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the tool's id is not valid", Problems: []Problem{
		at("id", ruleUUID, "must be a UUID; Find returns the id for a name"),
	}}
}

// writeTool sends a tool and reads the response. sent holds what the response may leave out.
func (c *Client) writeTool(ctx context.Context, r *request, body []byte, sent ListItem) (*ListItem, error) {
	r.Body = body
	return do(ctx, c, r, itemOver(sent, sent.ID))
}
