package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// handler is immutable.
type handler struct {
	opts  Options // defaults filled in
	guard httpserve.Guard
	json  rawjson.Limits
	known []string // the members of a body that parse reads
	tools map[string]*tool
	only  *tool // if there is one tool
	loop  *toolcall.Loop
}

// New returns a handler for one or more tools, which is safe for concurrent use. The error is a [*toolwire.Error]
// with [toolwire.CodeInvalidOptions] whose Problems lists all mistakes in the tools and in the options.
//
// The responses are:
//
//	405  the method is not POST                       {"error":"method_not_allowed", …}, Allow: POST
//	401  the secret is missing, repeated or wrong     {"error":"unauthorized", …}
//	400  X-Agent-Identity is missing or not a UUID    {"error":"invalid_identity", …}
//	413  the body exceeds [Options.MaxBodyBytes]      {"error":"request_too_large", …}
//	400  the body is incomplete or too slow           {"error":"unreadable_body", …}
//	400  the body is not a JSON object, or ambiguous  {"error":"invalid_json", …}
//	400  the arguments are missing or not an object   {"error":"invalid_envelope", …}
//	404  the handler does not have the tool           {"error":"unknown_tool", …}
//	200  the arguments do not match the schema        {"error":"invalid_arguments", …}
//	200  the tool failed                              {"error":"tool_failed", …}
//	200  the tool exceeded [Options.Timeout]          {"error":"timeout", …}
//	503  [Options.MaxParallel] other tools run        {"error":"busy", …}, Retry-After
//	500  the tool panicked, or its result is not JSON {"error":"internal", …}
//	200  the tool succeeded                           the result
//
// The platform does not document how it treats a status other than 2xx. Therefore the handler uses
// 200 for failures that the model can read and correct. It uses other statuses for mistakes in the
// setup and for broken tools.
func New(tools []Tool, opts *Options) (http.Handler, error) {
	h := &handler{}
	if err := h.configure(tools, opts); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP implements http.Handler. A request passes these stages in order: method, secret,
// identity, size, body, tool, arguments, function, response.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agentID, refused := h.admit(r)
	if refused != nil {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, refused)
		return
	}
	body, err := h.readBody(w, r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	start := time.Now()
	e, err := h.parse(body)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	t, err := h.find(r, &e)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if h.opts.StandaloneHarness {
		agentID = e.agentID
	}
	arguments := t.Arguments(e.arguments)
	call := &Call{Tool: t.name, AgentID: agentID, Reasoning: arguments.Reasoning, Body: body}
	result, failure := h.run(r.Context(), t, call, arguments)
	h.report(r.Context(), call, failure, time.Since(start))
	if failure != nil {
		write(w, failure, h.opts.StandaloneHarness)
		return
	}
	httpserve.WriteJSON(w, http.StatusOK, result)
}

func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, _ := errors.AsType[*toolwire.Error](err) // every stage returns one
	httpserve.LogRefusal(r, h.opts.Logger, "webhook refused", fmt.Sprint(e))
	write(w, e, h.opts.StandaloneHarness)
}

// admit checks the header of a request, and returns the id of the agent.
func (h *handler) admit(r *http.Request) (agentID string, err error) {
	if r.Method != http.MethodPost {
		return "", errorf(codeMethod, "use POST")
	}
	if reason := httpserve.CheckRecovered(r, h.opts.Logger, "SecretFunc", h.guard.Check); reason != "" {
		return "", errorf(toolwire.CodeUnauthorized, "%s", reason)
	}
	if h.opts.StandaloneHarness { // the body has the id
		return "", nil
	}
	values := r.Header["X-Agent-Identity"]
	if len(values) == 1 {
		if _, ok := text.CanonicalUUID(values[0]); ok { // with or without hyphens, as in a binding
			return values[0], nil
		}
	}
	return "", errorf(codeIdentity, "the header X-Agent-Identity must hold the agent's UUID, once")
}

func (h *handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := httpserve.ReadBody(w, r, h.opts.MaxBodyBytes, time.Now().Add(h.opts.BodyTimeout))
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, httpserve.ErrTooLarge):
		return nil, errorf(toolwire.CodeRequestTooLarge, "the body has more than %d bytes", h.opts.MaxBodyBytes)
	case errors.Is(err, httpserve.ErrTimeout):
		return nil, errorf(codeBody, "the body did not arrive within %s", h.opts.BodyTimeout)
	}
	return nil, &toolwire.Error{Package: "webhook", Code: codeBody, Message: "the body could not be read to its end", Err: err}
}

// find returns the tool that the path or the body names.
func (h *handler) find(r *http.Request, e *envelope) (*tool, error) {
	if len(e.agentID) > 256 {
		return nil, errorf(codeIdentity, "agent_id has more than 256 bytes")
	}
	name := r.PathValue("tool")
	switch {
	case name == "":
		name = e.tool
	case e.tool != "" && e.tool != name && e.toolRank < nameMember: // the member name may be the agent's
		return nil, errorf(codeEnvelope, "the path names the tool %q, the body another one", text.Cut(name, 128))
	}
	if name == "" {
		if h.only == nil {
			return nil, errorf(codeEnvelope,
				"the body names no tool, and there are %d here; put the name into the path or into tool_name", len(h.tools))
		}
		return h.only, nil
	}
	t, ok := h.tools[name]
	if !ok {
		return nil, errorf(toolwire.CodeUnknownTool, "there is no tool %q here; names are case-sensitive", text.Cut(name, 128))
	}
	return t, nil
}

// run runs the tool and returns the response body. What runs in the loop calls methods of the result,
// which are code of the tool.
func (h *handler) run(ctx context.Context, t *tool, call *Call, arguments toolcall.Arguments) ([]byte, *toolwire.Error) {
	ctx = NewContext(ctx, call)
	body, failure := toolcall.Run(ctx, h.loop, arguments, func(ctx context.Context) ([]byte, *toolcall.Failure) {
		result, err := t.run(ctx, arguments.Filled())
		if err != nil {
			return nil, toolcall.FailureOf(err)
		}
		body, err := encodeResult(result, h.opts.StandaloneHarness)
		if err != nil {
			return nil, &toolcall.Failure{Code: string(codeInternal), Message: toolresult.TextBroken, Err: err}
		}
		return body, nil
	})
	if failure != nil {
		return nil, errorOf(t.name, failure)
	}
	return body, nil
}

// errorOf returns the error for a failure. It panics if the tool panicked with http.ErrAbortHandler.
func errorOf(tool string, failure *toolcall.Failure) *toolwire.Error {
	e := &toolwire.Error{Package: "webhook", Code: toolwire.Code(failure.Code), Tool: tool, Message: failure.Message, Err: failure.Err}
	switch {
	case failure.Aborts:
		panic(http.ErrAbortHandler)
	case failure.Silent, failure.Message == toolresult.TextBroken:
		e.Message = "" // the text of an error then has the cause
	}
	switch failure.Code {
	case toolcall.Panicked:
		e.Code, e.Err = codeInternal, errors.New("the tool panicked; see the log")
	case toolcall.Canceled:
		e.Code = toolwire.CodeClientGone
	}
	return e
}

// report calls the hook and logs the call.
func (h *handler) report(ctx context.Context, call *Call, failure *toolwire.Error, took time.Duration) {
	end := CallEnd{Tool: call.Tool, AgentID: call.AgentID, Reasoning: call.Reasoning, Duration: took}
	level := slog.LevelInfo
	if failure != nil {
		end.Err = failure
		level = slog.LevelWarn
		if failure.Code == codeInternal || private(failure) {
			level = slog.LevelError
		}
	}
	if h.opts.OnCall != nil {
		h.loop.OnCall(ctx, call.Tool, func() { h.opts.OnCall(ctx, end) })
	}
	if !h.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("tool", call.Tool), slog.String("agent_id", call.AgentID), slog.Duration("took", took),
	}
	if failure != nil {
		attrs = append(attrs, errorAttr(failure))
	}
	h.opts.Logger.LogAttrs(ctx, level, "tool called", attrs...)
}

// errorAttr returns the text of an error. fmt.Sprint recovers from a cause whose Error method
// panics, such as a nil pointer that a tool returned as an error.
func errorAttr(e *toolwire.Error) slog.Attr { return slog.String("error", fmt.Sprint(e)) }
