package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpserve"
)

// Handler serves the catalog's REST API ("Tools" group) as an [http.Handler]:
//
//	GET    /tools/                list; ?type=native or custom
//	POST   /tools/                create from a record
//	POST   /tools/upload          create from a Python file and fields (multipart/form-data)
//	GET    /tools/{id}            one tool
//	PUT    /tools/{id}            replace or update its metadata; see PutMode
//	DELETE /tools/{id}            delete; it can be restored
//	POST   /tools/{id}/restore    restore, unless the name was taken meanwhile (409)
//	GET    /tools/{id}/script     the source; /source is the same
//	PUT    /tools/{id}/upload     new source, and fields if there are any
//
// Every success is a 200 with {"success":true,"data":…,"message":…,"timestamp":…}. A failure has
// success false and an error {"code":…,"message":…,"problems":[{"field":…,"type":…,"message":…}]},
// where code is a [Code], method_not_allowed or unreadable_body. A 422 has detail [{"loc":[…],"msg":…,"type":…}] in place of problems. GET
// routes also serve HEAD. A path with a missing or an additional slash is redirected (307). Only
// the response to a request for the source contains source code: its data is {"id":…,"script":…}.
//
// The failures are 400 (a plugin file, with [CodePlugin], or a body that ends early), 401, 403,
// 404, 405, 408, 409, 413 for content over a limit, 422, 500, and 503 or 504 when the request's
// context ends.
//
// An upload needs only the file. Name and description then come from the class, framework is
// langchain and tool_type is custom. Unknown form fields are ignored.
//
// Mount the handler at the root, or under a prefix with [http.StripPrefix]. It is immutable and
// safe for concurrent use. It starts no goroutine and writes no files.
type Handler struct {
	store Store
	opts  HandlerOptions // defaults filled in

	maxBody  int64 // of a JSON body, in bytes
	formRoom int64 // of a form beside its file, in bytes
}

// NewHandler returns a handler that serves store. Its error is an [*Error] with [CodeOptions] and
// all problems.
func NewHandler(store Store, opts *HandlerOptions) (*Handler, error) {
	h := &Handler{store: store, maxBody: maxBody, formRoom: formRoom}
	if err := h.configure(store, opts); err != nil {
		return nil, err
	}
	return h, nil
}

// call is one request.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	account string
	id      string // from the path, in lower case
	read    bool   // nothing will read more of the body
}

func (c *call) ctx() context.Context { return c.r.Context() }

// ServeHTTP implements [http.Handler]. A request passes these stages in order: path, method, key,
// id, body, store, response.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	route, id := match(r.Method, r.URL.Path)
	if route.redirect != "" {
		redirect(w, r, route.redirect)
		return
	}
	c := &call{w: w, r: r, id: strings.ToLower(id)}
	answer, err := h.serve(c, route)
	status := http.StatusOK
	var f *failure
	if err != nil {
		f = h.classify(c, route, err)
		status = f.status
	}
	h.log(c, route, status, f, time.Since(start))
	if f != nil {
		h.refuse(c, f)
		return
	}
	h.write(c, status, envelope{Success: true, Data: answer.data, Message: answer.message})
}

// serve runs the endpoint and recovers panics of the caller's functions and store.
func (h *Handler) serve(c *call, route route) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = panicked(p, textServer)
		}
	}()
	if route.methods == nil {
		return a, &failure{code: CodeNotFound, status: http.StatusNotFound, message: "Not Found"}
	}
	endpoint := route.methods[c.r.Method]
	if c.r.Method == http.MethodHead {
		endpoint = route.methods[http.MethodGet]
	}
	if endpoint == nil {
		c.w.Header().Set("Allow", route.allow())
		return a, &failure{code: "method_not_allowed", status: http.StatusMethodNotAllowed, message: "Method Not Allowed"}
	}
	if err := h.authenticate(c); err != nil {
		return a, err
	}
	if route.uuid && !bounded.ValidUUID(c.id) {
		return a, invalid("path", at("id", ruleUUID, textUUID))
	}
	return endpoint(h, c)
}

// panicked does not show the value, which may be a secret.
func panicked(value any, message string) *failure {
	return &failure{code: CodeServer, status: http.StatusInternalServerError, message: message,
		panic: fmt.Sprintf("%T", value), stack: string(debug.Stack())}
}

// authenticate determines the account of a request.
func (h *Handler) authenticate(c *call) error {
	if h.opts.InsecureAccount != "" {
		c.account = h.opts.InsecureAccount
		return nil
	}
	keys, foreign := httpserve.Tokens(c.r.Header, "X-Api-Key")
	key, ok := httpserve.OneToken(keys)
	if !ok || foreign {
		return &failure{code: CodeUnauthorized, status: http.StatusUnauthorized, message: "Unauthorized"}
	}
	account, err := h.opts.Authenticate(c.r, key)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			switch e.Code {
			case CodeUnauthorized:
				return &failure{code: CodeUnauthorized, status: http.StatusUnauthorized, message: "Unauthorized"}
			case CodeForbidden:
				return &failure{code: CodeForbidden, status: http.StatusForbidden, message: "Forbidden"}
			}
		}
		return serverError(fmt.Sprintf("Authenticate failed with a %T", err))
	}
	if !bounded.ValidUUID(account) {
		return serverError("Authenticate returned an account that is not a UUID")
	}
	c.account = strings.ToLower(account)
	return nil
}

// serverError is for reasons that contain nothing from outside.
func serverError(reason string) *failure {
	return &failure{code: CodeServer, status: http.StatusInternalServerError, message: textServer, reason: reason}
}

// classify turns the error of an endpoint into a response.
func (h *Handler) classify(c *call, route route, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case CodeNotFound:
			return &failure{code: CodeNotFound, status: http.StatusNotFound, message: cmp.Or(route.notFound, textNotFound)}
		case CodeConflict:
			return &failure{code: CodeConflict, status: http.StatusConflict, message: cmp.Or(route.conflict, textConflict)}
		case CodeInvalid:
			return invalid("body", e.Problems...)
		case CodeTooLarge:
			return &failure{code: CodeTooLarge, status: http.StatusRequestEntityTooLarge, message: "The file is too large",
				problems: e.Problems}
		case CodePlugin:
			return &failure{code: CodePlugin, status: http.StatusBadRequest, message: textPlugin, problems: e.Problems}
		}
	}
	switch {
	case errors.Is(err, httpserve.ErrTooLarge):
		return &failure{code: CodeTooLarge, status: http.StatusRequestEntityTooLarge, message: "The body is too large"}
	case errors.Is(err, httpserve.ErrTimeout):
		return &failure{code: "unreadable_body", status: http.StatusRequestTimeout, message: "The body took too long to arrive"}
	case errors.Is(err, errBody):
		return &failure{code: "unreadable_body", status: http.StatusBadRequest, message: "The body could not be read to its end"}
	case errors.Is(c.ctx().Err(), context.DeadlineExceeded):
		return &failure{code: CodeDeadline, status: http.StatusGatewayTimeout, message: "The time for the request is over"}
	case c.ctx().Err() != nil: // the client has gone
		return &failure{code: CodeCanceled, status: http.StatusServiceUnavailable, message: "The request was cancelled"}
	}
	f := serverError("the store failed")
	f.cause = err
	return f
}

// log writes only values that contain neither keys nor source.
func (h *Handler) log(c *call, route route, status int, f *failure, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case status >= 500:
		level = slog.LevelError
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		level = slog.LevelWarn
	case status >= 400:
		level = slog.LevelInfo
	}
	ctx := c.ctx()
	if !h.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", c.r.Method), slog.String("route", route.pattern),
		slog.Int("status", status),
		slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr)}
	if c.account != "" {
		attrs = append(attrs, slog.String("account", c.account))
	}
	if bounded.ValidUUID(c.id) {
		attrs = append(attrs, slog.String("tool", c.id))
	}
	if f != nil {
		attrs = append(attrs, slog.String("code", string(f.code)))
		for _, a := range []struct{ key, value string }{{"reason", f.reason}, {"panic", f.panic}, {"stack", f.stack}} {
			if a.value != "" {
				attrs = append(attrs, slog.String(a.key, a.value))
			}
		}
		if f.cause != nil {
			attrs = append(attrs, slog.String("error", f.cause.Error()))
		}
	}
	h.opts.Logger.LogAttrs(ctx, level, "catalog request", attrs...)
}
