package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/restclient"
	"github.com/toolwire/toolwire/internal/text"
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
// Every error is a [*toolwire.Error]. It never contains the key, even if the server repeats it. It contains
// no run of 16 or more bytes of source code or of a description that was sent. Texts of the server
// are cut at 1 KiB. Arguments that are not valid are rejected before anything is sent, with Status
// 0.
//
// The client sends a request again, up to [ClientOptions.MaxAttempts] times, if it was not sent or
// if the response is 429. Requests that only read, [Client.Update] and [Client.Patch] are also
// repeated after a broken connection, 502, 503 and 504. It does not repeat other requests then, because
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
	typeField  string // as which tool_type is sent
	plugin     PluginOptions
}

// requestRoom is the room for the fields of a request, beside a plugin file, in bytes.
const requestRoom = 3 << 20

// NewClient returns a client of the catalog at baseURL, such as https://aip.example.com. The client
// appends paths such as /tools/ and sends apiKey as X-API-Key. The scheme http is valid for
// loopback hosts only. If o is nil, all defaults apply. NewClient does not read the environment.
// Its error is a [*toolwire.Error] with [toolwire.CodeInvalidOptions] and all problems.
func NewClient(baseURL, apiKey string, o *ClientOptions) (*Client, error) {
	var opts ClientOptions
	if o != nil {
		opts = *o
	}
	var limits, found []toolwire.Problem
	problem.Limit(limitIn(&limits), "Timeout", &opts.Timeout, 30*time.Second)
	problem.Limit(limitIn(&limits), "MaxAttempts", &opts.MaxAttempts, 4)
	problem.Limit(limitIn(&limits), "MaxResponseBytes", &opts.MaxResponseBytes, 16<<20)
	rest, url, key := restclient.New(restclient.Options{
		BaseURL: baseURL, Example: "https://aip.example.com", Path: "tools", Key: apiKey, Header: "X-Api-Key",
		Peer: "the catalog", Transport: opts.Transport, Timeout: opts.Timeout,
		MaxBytes: int64(opts.MaxResponseBytes), MaxAttempts: opts.MaxAttempts,
		Logger: opts.Logger, Name: "catalog",
	})
	for _, must := range url {
		found = append(found, at("baseURL", "url", must))
	}
	for _, must := range key {
		found = append(found, at("apiKey", "header", must))
	}
	if !slices.Contains([]string{"", "tool_type", "type"}, opts.TypeField) {
		found = append(found, at("TypeField", ruleEnum, `must be "tool_type" or "type"`))
	}
	found = append(append(found, opts.Plugin.problems("/Plugin")...), limits...)
	if len(found) > 0 {
		return nil, &toolwire.Error{Package: "catalog", Code: toolwire.CodeInvalidOptions, Message: "the client cannot be created", Problems: found}
	}
	return &Client{rest: rest, maxRequest: requestRoom + opts.Plugin.limit(), plugin: opts.Plugin,
		typeField: cmp.Or(opts.TypeField, "tool_type")}, nil
}

// Create registers a tool without source code: POST /tools/. If the name is taken, the error has
// [toolwire.CodeConflict]. Fields that the response lacks are taken from t. A response without an id is
// [toolwire.CodeBadResponse], because nothing could refer to the tool.
func (c *Client) Create(ctx context.Context, t Tool) (*ListItem, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	r := newRequest("create", http.MethodPost, "/", text.Cut(t.Name, maxShown))
	r.said, r.Body = []string{t.Description}, c.body(patchOf(t))
	r.unsure = "the tool may have been created: look for its name before creating it again"
	return c.doItem(ctx, r, ListItem{Tool: t}, "")
}

// List returns the tools of the account, in the server's order: GET /tools/. If t is not "", it
// returns only the tools of that type. The API has no paging, so a list is as long as the catalog,
// up to [ClientOptions.MaxResponseBytes]. An entry that is not a tool fails the call, so that
// callers never take a missing tool for a deleted one. Entries may contain ScriptContent; do not
// log them as JSON.
func (c *Client) List(ctx context.Context, t Type) (list []ListItem, err error) {
	r := newRequest("list", http.MethodGet, "/", "")
	if t != "" {
		if t != Native && t != Custom {
			return nil, &toolwire.Error{Package: "catalog", Code: codeInvalid, Message: "the list cannot be requested",
				Problems: []toolwire.Problem{at("type", ruleEnum, textType)}}
		}
		r.Query = "type=" + string(t)
	}
	if err := c.do(ctx, r, listInto(&list)); err != nil {
		return nil, err
	}
	return list, nil
}

// Get returns one tool: GET /tools/{id}. If the id is unknown, or the tool is deleted or of another
// account, the error has [toolwire.CodeNotFound].
func (c *Client) Get(ctx context.Context, id string) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return c.doItem(ctx, newRequest("get", http.MethodGet, id, id), ListItem{}, id)
}

// Update replaces the metadata of a tool: PUT /tools/{id}. It sends all members: an empty
// description, tags and version as "", [] and "1.0.0". So the result is the same whether
// the server replaces or merges. It leaves only an empty account_id out. The source code does not
// change. To change only some members, use [Client.Patch].
func (c *Client) Update(ctx context.Context, id string, t Tool) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return c.doItem(ctx, c.putRequest(id, &t), ListItem{ID: id, Tool: t}, id)
}

// putRequest sends all members but an empty account_id, so that the result does not depend on what the
// server does with absent ones.
func (c *Client) putRequest(id string, t *Tool) *request {
	p := patchOf(*t)
	p.Description, p.Version = &t.Description, new(cmp.Or(t.Version, defaultVersion))
	p.Tags = new(append([]string{}, t.Tags...)) // [] and not null
	r := newRequest("update", http.MethodPut, id, id)
	r.said, r.Body = []string{t.Description}, c.body(p)
	r.Safe, r.unsure = true, "the tool may have been updated"
	return r
}

// body returns the fields of a patch as they are sent.
func (c *Client) body(p Patch) []byte {
	members, _ := rawjson.Encode(p) // cannot fail: it contains texts only
	var body rawjson.Object
	for name, value := range rawjson.Members(members) {
		if name == "tool_type" {
			name = c.typeField
		}
		body.Put(name, value)
	}
	return body.Bytes()
}

// Patch changes the fields of a tool that are not nil in p. The API has no such request. The client
// reads the tool, applies the patch, and sends the whole tool with the body of [Client.Update]. The
// result is the same whether the server replaces or merges. A change that another writer makes
// between the two requests is lost. To prevent that, let one writer at a time patch a tool.
//
// A retry repeats both requests, which keeps the time between them short. The client sends
// account_id only if the patch sets it, and does not send undocumented members of the response
// back. An empty patch only reads.
func (c *Client) Patch(ctx context.Context, id string, p Patch) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p == (Patch{}) {
		return c.Get(ctx, id)
	}
	var item ListItem
	put := c.putRequest(id, &Tool{})
	failure := c.rest.Repeat(ctx, &put.Request, func() *restclient.Failure {
		item = ListItem{}
		get := newRequest("get", http.MethodGet, id, id)
		if failed := c.rest.Attempt(ctx, &get.Request, itemInto(&item, id)); failed != nil {
			failed.Unsure = false // no request that writes was sent
			return failed
		}
		item.Tool = p.apply(item.Tool)
		sent := item.Tool
		if p.AccountID == nil {
			sent.AccountID = ""
		}
		if e, invalid := errors.AsType[*toolwire.Error](sent.Validate()); invalid {
			e.Tool, e.Message = id, "the tool of the catalog with the patch applied is not valid"
			return &restclient.Failure{Err: e}
		}
		put = c.putRequest(id, &sent)
		return c.attempt(ctx, put, itemInto(&item, id))
	})
	if failure != nil {
		return nil, c.failed(put, failure)
	}
	return &item, nil
}

// Delete deletes a tool: DELETE /tools/{id}. The catalog keeps it for [Client.Restore] only. If it
// is deleted again, the error has [toolwire.CodeNotFound].
func (c *Client) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	r := newRequest("delete", http.MethodDelete, id, id)
	r.unsure = "the tool may have been deleted"
	return c.do(ctx, r, confirm)
}

// Restore restores a deleted tool: POST /tools/{id}/restore. If the tool is not deleted, the error
// has [toolwire.CodeNotFound]. If the name was taken meanwhile, it may have [toolwire.CodeConflict].
func (c *Client) Restore(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	r := newRequest("restore", http.MethodPost, id+"/restore", id)
	r.unsure = "the tool may have been restored"
	return c.do(ctx, r, confirm)
}

// Script returns the source code of a tool: GET /tools/{id}/source, the path of the document
// "ToolBase records". If the response is 404, the client requests /tools/{id}/script, which the
// platform's own clients use. If the tool has no source, like native tools, the error has
// [toolwire.CodeNotFound]. The code may contain its author's secrets; do not log it.
func (c *Client) Script(ctx context.Context, id string) (source string, err error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	for _, part := range []string{"/source", "/script"} {
		err = c.do(ctx, newRequest("script", http.MethodGet, id+part, id), scriptInto(&source))
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Response == nil || e.Response.Status != http.StatusNotFound {
			break
		}
	}
	return source, err
}

// checkID rejects everything but a UUID, so that nothing else gets into a path.
func checkID(id string) error {
	if text.ValidUUID(id) {
		return nil
	}
	return &toolwire.Error{Package: "catalog", Code: codeInvalid, Message: "the tool's id is not valid", Problems: []toolwire.Problem{
		at("id", ruleUUID, "must be a UUID; Find returns the id for a name"),
	}}
}

// Find returns the tool with a name. It reads the list of all tools, because the API has no search.
// It compares whole names without regard to case; if several match, it takes the one with the exact
// spelling. If no tool matches, the error has [toolwire.CodeNotFound]; if several do, ambiguous.
func (c *Client) Find(ctx context.Context, name string) (*ListItem, error) {
	list, err := c.List(ctx, "")
	if err != nil {
		return nil, err
	}
	named := func(same func(item string) bool) []ListItem {
		return slices.DeleteFunc(slices.Clone(list), func(item ListItem) bool { return !same(item.Name) })
	}
	found := named(func(item string) bool { return strings.EqualFold(item, name) })
	if exact := named(func(item string) bool { return item == name }); len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		return nil, &toolwire.Error{Package: "catalog", Code: toolwire.CodeNotFound, Tool: text.Cut(name, maxShown), Message: "no tool has this name"}
	case 1:
		return &found[0], nil
	}
	return nil, &toolwire.Error{Package: "catalog", Code: codeAmbiguous, Tool: text.Cut(name, maxShown), Message: fmt.Sprintf(
		"%d tools have this name; choose one by its id, such as %s", len(found), found[0].ID)}
}

// Upload registers a tool with its source code: POST /tools/upload. file is the name of the Python
// file; the client sends its last element. source is its text. If t.Name is "", the name is taken
// from the tool class if it is a literal there. If t.Type is "", it is [Custom]. AccountID must be "",
// because no form field is documented for it. Tags must not contain commas, which separate them in
// the form.
//
// Upload checks the tool and the source before it sends anything; see [CheckPlugin]. If the source
// is not valid, or the server rejects it, the error has invalid_plugin. If fields are not valid
// either, it has invalid_tool and all problems. If the name is taken, it has [toolwire.CodeConflict]. If
// the server fails to register the source, it has [toolwire.CodeServerError]. The request is kept in memory. Its
// parts other than the file may have 3 MiB.
func (c *Client) Upload(ctx context.Context, t Tool, file string, source []byte) (*ListItem, error) {
	plugin, pluginErr := CheckPlugin(file, source, &c.plugin)
	if t.Name == "" && pluginErr == nil {
		t.Name = plugin.Name
	}
	t.Type = cmp.Or(t.Type, Custom)
	r := newRequest("upload", http.MethodPost, "upload", text.Cut(t.Name, maxShown))
	r.unsure = "the tool may have been created: look for its name before uploading it again"
	var ps problems
	ps.require(patchOf(t))
	if err := c.attach(r, patchOf(t), ps, pluginErr, file, source); err != nil {
		return nil, err
	}
	return c.doItem(ctx, r, ListItem{Tool: t}, "")
}

// UploadUpdate replaces the source code of a tool: PUT /tools/{id}/upload. It sends the fields of
// the patch, which may be empty, and no others, so that the server keeps the rest. Fields of the
// result are empty if neither the response nor the patch contains them. Otherwise UploadUpdate is
// like [Client.Upload].
func (c *Client) UploadUpdate(ctx context.Context, id string, p Patch, file string, source []byte) (*ListItem, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	r := newRequest("upload update", http.MethodPut, id+"/upload", id)
	r.unsure = "the source may have been replaced"
	_, pluginErr := CheckPlugin(file, source, &c.plugin)
	if err := c.attach(r, p, nil, pluginErr, file, source); err != nil {
		return nil, err
	}
	return c.doItem(ctx, r, ListItem{ID: id, Tool: p.apply(Tool{})}, id)
}

// attach gives a request the fields of p and the file. It reports all problems of both, with those that
// are known.
func (c *Client) attach(r *request, p Patch, ps problems, pluginErr error, file string, source []byte) error {
	sent := p.apply(Tool{})
	ps.check(p)
	if p.AccountID != nil {
		ps.add("account_id", ruleForm, "must be empty: no form field is documented for it")
	}
	for _, tag := range sent.Tags {
		if tag == "" || strings.Contains(tag, ",") || strings.TrimSpace(tag) != tag || tag[0] == '[' {
			ps.add("tags", ruleForm,
				"must not be blank, have commas, begin with [ or begin or end with white space: a form joins them by commas")
		}
	}
	if e, ok := errors.AsType[*toolwire.Error](pluginErr); ok {
		for i := range e.Problems {
			if e.Problems[i].Code == ruleEntryPoint {
				e.Problems[i].Message += "; AddEntryPoint adds one"
			}
		}
		if len(ps) == 0 {
			e.Tool = r.tool
			return e
		}
		ps = append(ps, e.Problems...)
	}
	if err := ps.error(r.tool, "the tool cannot be uploaded"); err != nil {
		return err
	}
	r.said = []string{string(source), sent.Description}
	r.Proofs = append(r.Proofs, http.StatusInternalServerError) // documented for plugins that cannot be registered
	r.Body, r.Type = c.form(p, file, source)
	return nil
}

// form returns the body of an upload, the fields before the file, and its media type.
func (c *Client) form(p Patch, file string, source []byte) ([]byte, string) {
	var body bytes.Buffer
	body.Grow(len(source) + 2048)
	w := multipart.NewWriter(&body) // its errors are nil, because it writes to memory
	field := func(name string, value *string) {
		if value != nil {
			_ = w.WriteField(name, *value)
		}
	}
	field("name", p.Name)
	field("description", p.Description)
	field("framework", (*string)(p.Framework))
	field(c.typeField, (*string)(p.Type))
	field("version", p.Version)
	if p.Tags != nil {
		field("tags", new(strings.Join(*p.Tags, ",")))
	}
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	part, _ := w.CreateFormFile("file", base) // as application/octet-stream
	_, _ = part.Write(source)
	_ = w.Close()
	return body.Bytes(), w.FormDataContentType()
}
