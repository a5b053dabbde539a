package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/uuid"
)

// Handler is the catalog's REST API ("Tools" group) as an [http.Handler]:
//
//	GET    /tools/                list; ?type=native or custom
//	POST   /tools/                create from a record
//	POST   /tools/upload          create from a Python file and fields (multipart/form-data)
//	GET    /tools/{id}            one tool
//	PUT    /tools/{id}            replace or update its metadata; see PutMode
//	DELETE /tools/{id}            delete; it can be restored
//	POST   /tools/{id}/restore    undo that, unless the name was taken meanwhile (409)
//	GET    /tools/{id}/script     the source; /source is the same
//	PUT    /tools/{id}/upload     new source, and fields if there are any
//
// Every success is a 200 with {"success":true,"data":…,"message":…,"timestamp":…}. Failures have success false and an
// error {"code":…,"message":…,"problems":[…]}, where code is a [Code]; those of fields, 422, have the detail
// [{"loc":[…],"msg":…,"type":…}] beside it. HEAD is answered where GET is. A path with a slash too many or too few is
// redirected (307). script_content is in no answer but that of the source, whose data is {"id":…,"script":…}.
//
// The statuses are 400 (a plugin file, with [CodePlugin], or a body that ends early), 401, 403, 404, 405, 408, 409, 413 for
// what is beyond a limit, 422, 500, and 503 or 504 when the request's context ends.
//
// An upload needs the file alone: name and description are then those of the class, framework is langchain and tool_type
// custom. Form fields that are not known are passed over.
//
// Mount it at the root, or under a prefix with [http.StripPrefix]. It is immutable and safe for concurrent use; it starts
// no goroutine and writes nothing to disk.
type Handler struct {
	store Store
	opts  HandlerOptions // defaults filled in

	maxBody int64 // of a JSON body, in bytes
}

// NewHandler returns a handler over a store. All mistakes in the options are reported together in one [*Error] with
// [CodeOptions].
func NewHandler(store Store, opts *HandlerOptions) (*Handler, error) {
	h := &Handler{store: store, maxBody: maxBody}
	if err := h.configure(store, opts); err != nil {
		return nil, err
	}
	return h, nil
}

// call is one request on its way.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	account string
	id      string // of the path, lower case
	read    bool   // the body has been read as far as it will be
}

func (c *call) ctx() context.Context { return c.r.Context() }

// ServeHTTP implements http.Handler. A request takes one way: path, method, key, id, body, store, answer.
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

// serve runs the endpoint and contains panics of the caller's functions and store.
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
		return a, &failure{code: CodeBadRequest, status: http.StatusMethodNotAllowed, message: "Method Not Allowed"}
	}
	if err := h.authenticate(c); err != nil {
		return a, err
	}
	if route.uuid && !uuid.Valid(c.id) {
		return a, invalid("path", at("id", ruleUUID, textUUID))
	}
	return endpoint(h, c)
}

// panicked says nothing of the value, which may be a secret.
func panicked(value any, message string) *failure {
	return &failure{code: CodeServer, status: http.StatusInternalServerError, message: message,
		panic: fmt.Sprintf("%T", value), stack: string(debug.Stack())}
}

// authenticate finds out whose request it is.
func (h *Handler) authenticate(c *call) error {
	if h.opts.InsecureAccount != "" {
		c.account = h.opts.InsecureAccount
		return nil
	}
	keys, foreign := httpserve.Presented(c.r.Header, "X-Api-Key")
	key, ok := httpserve.Single(keys)
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
	if !uuid.Valid(account) {
		return serverError("Authenticate gave an account that is no UUID")
	}
	c.account = strings.ToLower(account)
	return nil
}

// serverError is for texts that hold nothing from outside.
func serverError(reason string) *failure {
	return &failure{code: CodeServer, status: http.StatusInternalServerError, message: textServer, reason: reason}
}

// classify makes an answer of whatever an endpoint returns.
func (h *Handler) classify(c *call, route route, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case CodeNotFound:
			return &failure{code: CodeNotFound, status: http.StatusNotFound, message: or(route.notFound, textNotFound)}
		case CodeConflict:
			return &failure{code: CodeConflict, status: http.StatusConflict, message: or(route.conflict, textConflict)}
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
		return &failure{code: CodeTimeout, status: http.StatusRequestTimeout, message: "The body took too long to arrive"}
	case errors.Is(err, errBody):
		return &failure{code: CodeBadRequest, status: http.StatusBadRequest, message: "The body could not be read to its end"}
	case errors.Is(c.ctx().Err(), context.DeadlineExceeded):
		return &failure{code: CodeTimeout, status: http.StatusGatewayTimeout, message: "The time for the request is over"}
	case c.ctx().Err() != nil: // nobody is there to read this
		return &failure{code: CodeCanceled, status: http.StatusServiceUnavailable, message: "The request was cancelled"}
	}
	f := serverError("the store failed")
	f.cause = err
	return f
}

// log writes what is known to hold neither keys nor source.
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
	attrs := []slog.Attr{slog.String("method", c.r.Method), slog.String("route", route.pattern), slog.Int("status", status),
		slog.Duration("took", took), slog.String("remote", c.r.RemoteAddr)}
	if c.account != "" {
		attrs = append(attrs, slog.String("account", c.account))
	}
	if uuid.Valid(c.id) {
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
