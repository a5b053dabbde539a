package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/text"
)

// handler is immutable.
type handler struct {
	store Store
	opts  HandlerOptions // defaults filled in
	hooks runner.Runner  // for OnRequest

	maxBody  int64 // of a JSON body, in bytes
	formRoom int64 // of a form beside its file, in bytes
}

// NewHandler returns a handler that serves the catalog's REST API ("Tools" group) from store. Its error is a
// [*toolwire.Error] with [toolwire.CodeInvalidOptions] and all problems. These are the routes:
//
//	GET    /tools/                list; ?type=native or custom
//	POST   /tools/                create from a record
//	POST   /tools/upload          create from a Python file and fields (multipart/form-data)
//	GET    /tools/{id}            one tool
//	PUT    /tools/{id}            replace its metadata, or update it
//	DELETE /tools/{id}            delete; it can be restored
//	POST   /tools/{id}/restore    restore, unless the name was taken meanwhile (409)
//	GET    /tools/{id}/script     the source; /source is the same
//	PUT    /tools/{id}/upload     new source, and fields if there are any
//
// Every success is a 200 with {"success":true,"data":…,"message":…,"timestamp":…}. A failure has
// success false and an error {"code":…,"message":…,"problems":[{"field":…,"type":…,"message":…}]},
// where code is a [toolwire.Code], method_not_allowed or unreadable_body. A 422 has detail
// [{"loc":[…],"msg":…,"type":…}] in place of problems. GET routes also serve HEAD. A path with a missing
// or an additional slash is redirected (307). Only the response to a request for the source contains
// source code: its data is {"id":…,"script":…}.
//
// The failures are 400 (a plugin file, with invalid_plugin, or a body that ends early), 401, 403,
// 404, 405, 408, 409, 413 for content over a limit, 422, 500, 503 with Retry-After while the store
// cannot be reached, and 503 or 504 when the request's context ends.
//
// A PUT with name, framework and tool_type replaces the record: other fields that are absent get their
// defaults. Any other PUT updates the fields that it has. The document describes both.
//
// An upload needs only the file. Name and description then come from the class, framework is
// langchain and tool_type is custom. Unknown form fields are ignored.
//
// Mount the handler at the root, or under a prefix with [http.StripPrefix]. It is immutable and
// safe for concurrent use. It starts no goroutine and writes no files.
func NewHandler(store Store, opts *HandlerOptions) (http.Handler, error) {
	h := &handler{store: store, maxBody: maxBody, formRoom: formRoom}
	if opts != nil {
		h.opts = *opts
	}
	if err := h.configure(); err != nil {
		return nil, err
	}
	return h, nil
}

// call is one request.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	pattern string
	route   route
	account string
	id      string // from the path, in lower case
	read    bool   // nothing will read more of the body
}

func (c *call) ctx() context.Context { return c.r.Context() }

// ServeHTTP implements [http.Handler]. A request passes these stages in order: path, method, key,
// id, body, store, response.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if to := slash(r.Method, r.URL.Path); to != "" {
		redirect(w, r, to)
		return
	}
	pattern, id := match(r.Method, r.URL.Path)
	c := &call{w: w, r: r, pattern: pattern, route: routes[pattern], id: strings.ToLower(id)}
	var a answer
	err := contain(textServer, func() (err error) {
		a, err = h.serve(c)
		return err
	})
	if err != nil {
		f := h.classify(c, err)
		h.report(c, f, time.Since(start))
		h.refuse(c, f)
		return
	}
	h.report(c, &failure{status: http.StatusOK}, time.Since(start))
	h.write(c, http.StatusOK, envelope{Success: true, Data: a.data, Message: a.message})
}

// contain calls f. A panic of the caller's functions or store in it is a failure with this message.
// The value of the panic may be a secret, so only its type is logged.
func contain(message string, f func() error) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			err = serverError(message, slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
		}
	}()
	return f()
}

// serve runs the endpoint.
func (h *handler) serve(c *call) (answer, error) {
	if c.route.methods == nil {
		return answer{}, refusal(http.StatusNotFound, toolwire.CodeNotFound, "Not Found")
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	endpoint := c.route.methods[method]
	if endpoint == nil {
		c.w.Header().Set("Allow", c.route.allow())
		return answer{}, refusal(http.StatusMethodNotAllowed, "method_not_allowed", "Method Not Allowed")
	}
	if err := h.authenticate(c); err != nil {
		return answer{}, err
	}
	if c.route.uuid && !text.ValidUUID(c.id) {
		return answer{}, invalid("path", at("id", ruleUUID, textUUID))
	}
	return endpoint(h, c)
}

// authenticate determines the account of a request.
func (h *handler) authenticate(c *call) error {
	if h.opts.InsecureAccount != "" {
		c.account = h.opts.InsecureAccount
		return nil
	}
	unauthorized := refusal(http.StatusUnauthorized, toolwire.CodeUnauthorized, "Unauthorized")
	keys, foreign := httpserve.Tokens(c.r.Header, "X-Api-Key")
	key, ok := httpserve.OneToken(keys)
	if !ok || foreign {
		unauthorized.log = []slog.Attr{slog.String("reason", "Authorization: Bearer and X-API-Key must carry one key, and the same one")}
		return unauthorized
	}
	account, err := h.opts.Authenticate(c.r, key)
	switch {
	case err == nil && text.ValidUUID(account):
		c.account = strings.ToLower(account)
		return nil
	case err == nil:
		return serverError(textServer, slog.String("reason", "Authenticate returned an account that is not a UUID"))
	case toolwire.CodeOf(err) == toolwire.CodeUnauthorized:
		return unauthorized
	case toolwire.CodeOf(err) == toolwire.CodeForbidden:
		return refusal(http.StatusForbidden, toolwire.CodeForbidden, "Forbidden")
	}
	return serverError(textServer, slog.String("reason", fmt.Sprintf("Authenticate failed with a %T", err)))
}

// classify turns the error of an endpoint into a response.
func (h *handler) classify(c *call, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		switch e.Code {
		case toolwire.CodeNotFound:
			return refusal(http.StatusNotFound, e.Code, cmp.Or(c.route.notFound, textNotFound))
		case toolwire.CodeConflict:
			return refusal(http.StatusConflict, e.Code, textConflict)
		case codeInvalid:
			return invalid("body", e.Problems...)
		case toolwire.CodeRequestTooLarge:
			return refusal(http.StatusRequestEntityTooLarge, e.Code, "The file is too large", e.Problems...)
		case codePlugin:
			return refusal(http.StatusBadRequest, e.Code, "Invalid plugin file", e.Problems...)
		case toolwire.CodeTransport, toolwire.CodeBusy:
			f := refusal(http.StatusServiceUnavailable, toolwire.CodeBusy, "The catalog cannot reach its data; try again")
			f.log = []slog.Attr{slog.String("reason", "the store cannot be reached"), slog.String("error", err.Error())}
			return f
		}
	}
	switch ended := c.ctx().Err(); {
	case errors.Is(err, httpserve.ErrTooLarge):
		return refusal(http.StatusRequestEntityTooLarge, toolwire.CodeRequestTooLarge, "The body is too large")
	case errors.Is(err, httpserve.ErrTimeout):
		return refusal(http.StatusRequestTimeout, "unreadable_body", "The body took too long to arrive")
	case errors.Is(err, errBody):
		return refusal(http.StatusBadRequest, "unreadable_body", "The body could not be read to its end")
	case errors.Is(ended, context.DeadlineExceeded):
		return refusal(http.StatusGatewayTimeout, toolwire.CodeDeadline, "The time for the request is over")
	case ended != nil: // the client has gone
		return refusal(http.StatusServiceUnavailable, toolwire.CodeCanceled, "The request was cancelled")
	}
	return serverError(textServer, slog.String("reason", "the store failed"), slog.String("error", err.Error()))
}

// report calls the hook and logs the request, with values that contain neither keys nor source.
func (h *handler) report(c *call, f *failure, took time.Duration) {
	end := RequestEnd{Method: c.r.Method, Route: "unknown", Account: c.account, Status: f.status, Code: f.code, Duration: took}
	if c.route.methods != nil {
		end.Route = c.pattern
	}
	if text.ValidUUID(c.id) {
		end.Tool = c.id
	}
	if h.opts.OnRequest != nil {
		h.hooks.Hook(c.ctx(), end.Route, func() { h.opts.OnRequest(c.ctx(), end) })
	}
	level := slog.LevelDebug
	switch {
	case f.status >= 500:
		level = slog.LevelError
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		level = slog.LevelWarn
	case f.status >= 400:
		level = slog.LevelInfo
	}
	if !h.opts.Logger.Enabled(c.ctx(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", end.Method), slog.String("route", end.Route), slog.Int("status", end.Status),
		slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr)}
	for _, known := range []slog.Attr{
		slog.String("account", end.Account), slog.String("tool", end.Tool), slog.String("code", string(end.Code)),
	} {
		if known.Value.String() != "" {
			attrs = append(attrs, known)
		}
	}
	h.opts.Logger.LogAttrs(c.ctx(), level, "catalog request", append(attrs, f.log...)...)
}

// endpoint serves one method of a route. Its error is a *failure, an *Error, or a failure of the
// store.
type endpoint func(*handler, *call) (answer, error)

// route is a path and the documented texts of its responses.
type route struct {
	methods  map[string]endpoint
	uuid     bool   // the id must be a UUID; otherwise any other id is not found
	notFound string // the message of 404, if it is not textNotFound
}

const (
	textNotFound = "Tool not found"
	textConflict = "Tool with name already exists"
)

// routes are the paths, with {id} for an id.
var routes = map[string]route{
	"/tools/": {methods: map[string]endpoint{
		http.MethodGet: (*handler).list, http.MethodPost: (*handler).create,
	}},
	"/tools/upload": {methods: map[string]endpoint{
		http.MethodPost: (*handler).upload,
	}},
	"/tools/{id}": {uuid: true, methods: map[string]endpoint{
		http.MethodGet: (*handler).get, http.MethodPut: (*handler).put, http.MethodDelete: (*handler).remove,
	}},
	"/tools/{id}/restore": {uuid: true, notFound: "Tool not found or not deleted", methods: map[string]endpoint{
		http.MethodPost: (*handler).restore,
	}},
	"/tools/{id}/script": sourceRoute,
	"/tools/{id}/source": sourceRoute,
	"/tools/{id}/upload": {methods: map[string]endpoint{
		http.MethodPut: (*handler).uploadUpdate,
	}},
}

var sourceRoute = route{methods: map[string]endpoint{http.MethodGet: (*handler).source}}

// match returns the pattern of a path, which need not belong to a route, and the id in the path.
func match(method, path string) (pattern, id string) {
	rest, ok := strings.CutPrefix(path, "/tools/")
	id, part, more := strings.Cut(rest, "/")
	switch {
	case !ok || rest == "":
		return path, ""
	case rest == "upload" && method == http.MethodPost: // for other methods it is an id that is not valid
		return path, ""
	case id == "":
		return "", ""
	case more:
		return "/tools/{id}/" + part, id
	}
	return "/tools/{id}", id
}

// slash returns a reference to the same path with the slash that it lacks, or without a slash too many;
// "" if the path has the right slashes. It is relative, so that it is right under any prefix.
func slash(method, path string) string {
	if path == "/tools" {
		return "tools/"
	}
	if short, ok := strings.CutSuffix(path, "/"); ok && path != "/tools/" && !strings.HasSuffix(short, "/") {
		if pattern, _ := match(method, short); routes[pattern].methods != nil {
			return "../" + url.PathEscape(short[strings.LastIndexByte(short, '/')+1:])
		}
	}
	return ""
}

// allow returns the value of the header Allow.
func (r route) allow() string {
	var methods []string
	for m := range r.methods {
		methods = append(methods, m)
		if m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func redirect(w http.ResponseWriter, r *http.Request, to string) {
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	httpserve.LeaveBody(w, r)
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusTemporaryRedirect)
}
