package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/schema"
)

// Handler is the http.Handler for external tools. It is immutable and safe for concurrent use. Its
// responses are:
//
//	405  the method is not POST                       {"error":"method_not_allowed", …}, Allow: POST
//	401  the secret is missing, repeated or wrong     an empty body
//	400  X-Agent-Identity is missing or not a UUID    {"error":"invalid_identity", …}
//	413  the body exceeds [Options.MaxBodyBytes]      {"error":"body_too_large", …}
//	400  the body is incomplete or too slow           {"error":"unreadable_body", …}
//	400  the body is not a JSON object, or ambiguous  {"error":"invalid_json", …}
//	400  the arguments are missing or not an object   {"error":"invalid_envelope", …}
//	404  the handler does not have the tool           {"error":"unknown_tool", …}
//	200  the arguments do not match the schema        {"error":"invalid_arguments", …}
//	200  the tool failed                              {"error":"tool_failed", …}
//	200  the tool exceeded [Options.Timeout]          {"error":"timeout", …}
//	500  the tool panicked, or its result is not JSON {"error":"internal", …}
//	200  the tool succeeded                           the result
//
// The platform does not document how it treats a status other than 2xx. Therefore the handler sends
// what the model can read and correct with 200. It uses other statuses for mistakes in the setup
// and for broken tools.
type Handler struct {
	opts   Options // defaults filled in
	guard  httpserve.Guard
	json   rawjson.Limits
	known  []string // the members of a body that parse reads
	tools  map[string]*tool
	only   *tool // if there is one tool
	runner runner.Runner
	hooks  runner.Runner // for Options.OnCall
}

// New returns a handler for one or more tools. The error is an [*Error] with [CodeOptions] whose
// Problems lists all mistakes in the tools and in the options.
func New(tools []Tool, opts *Options) (*Handler, error) {
	h := &Handler{}
	if err := h.configure(tools, opts); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP implements http.Handler. A request passes these stages in order: method, secret,
// identity, size, body, tool, arguments, function, response.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, errorf(CodeMethod, "use POST"))
		return
	}
	if reason := httpserve.Contained(r, h.opts.Logger, "SecretFunc", h.guard.Check); reason != "" {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, errorf(CodeUnauthorized, "%s", reason)) // logged and not sent
		return
	}
	agentID, err := h.identity(r)
	if err != nil {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, err)
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
	call := &Call{Tool: t.name, AgentID: agentID, Body: body}
	result, failure := h.serve(r.Context(), t, call, e.arguments)
	h.report(r.Context(), call, failure, time.Since(start))
	if failure != nil {
		h.writeError(w, failure)
		return
	}
	httpserve.WriteJSON(w, http.StatusOK, result)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, _ := errors.AsType[*Error](err) // every stage returns one
	httpserve.LogRefusal(r, h.opts.Logger, "webhook refused", fmt.Sprint(e))
	h.writeError(w, e)
}

func (h *Handler) identity(r *http.Request) (string, error) {
	if h.opts.StandaloneHarness {
		return "", nil
	}
	values := r.Header["X-Agent-Identity"]
	if len(values) != 1 || !clip.ValidUUID(values[0]) {
		return "", errorf(CodeIdentity, "the header X-Agent-Identity must hold the agent's UUID, once")
	}
	return values[0], nil
}

func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := httpserve.ReadBody(w, r, h.opts.MaxBodyBytes, time.Now().Add(h.opts.BodyTimeout))
	switch {
	case err == nil:
		return body, nil
	case errors.Is(err, httpserve.ErrTooLarge):
		return nil, errorf(CodeBodyTooLarge, "the body has more than %d bytes", h.opts.MaxBodyBytes)
	case errors.Is(err, httpserve.ErrTimeout):
		return nil, errorf(CodeBody, "the body did not arrive within %s", h.opts.BodyTimeout)
	}
	return nil, &Error{Code: CodeBody, Message: "the body could not be read to its end", Err: err}
}

// find returns the tool that the path or the body names.
func (h *Handler) find(r *http.Request, e *envelope) (*tool, error) {
	if len(e.agentID) > 256 {
		return nil, errorf(CodeIdentity, "agent_id has more than 256 bytes")
	}
	name := r.PathValue("tool")
	switch {
	case name == "":
		name = e.tool
	case e.tool != "" && e.tool != name && e.toolRank < nameMember: // the member name may be the agent's
		return nil, errorf(CodeEnvelope, "the path names the tool %q, the body another one", clip.Text(name, 128))
	}
	if name == "" {
		if h.only == nil {
			return nil, errorf(CodeEnvelope,
				"the body names no tool, and there are %d here; put the name into the path or into tool_name", len(h.tools))
		}
		return h.only, nil
	}
	t, ok := h.tools[name]
	if !ok {
		return nil, errorf(CodeUnknownTool, "there is no tool %q here; names are case-sensitive", clip.Text(name, 128))
	}
	return t, nil
}

// serve validates the arguments, runs the tool and returns the response body.
func (h *Handler) serve(ctx context.Context, t *tool, call *Call, args json.RawMessage) ([]byte, *Error) {
	if !t.reasoning {
		args, call.Reasoning = reasoning.Take(args)
	}
	if err := t.validate(args); err != nil {
		return nil, argumentsError(t, err)
	}
	out := h.run(ctx, t, call, t.defaults.Fill(args, t.validate))
	return out.body, out.failure
}

func argumentsError(t *tool, err error) *Error {
	message := err.Error()
	if e, ok := errors.AsType[*schema.Error](err); ok {
		e.Part = "arguments" // a validator does not know it
		message = e.Error()
		if e.Code == schema.CodeMismatch {
			message += "; correct them and call the tool again"
		}
	}
	return &Error{Code: CodeArguments, Tool: t.name, Message: message, Err: err}
}

// outcome is the end of a call.
type outcome struct {
	body    []byte // the response body
	failure *Error
}

var errTimeout = errors.New("the call exceeded Options.Timeout")

// run calls the tool with its deadline.
func (h *Handler) run(ctx context.Context, t *tool, call *Call, args json.RawMessage) outcome {
	deadline := time.Now().Add(h.opts.Timeout)
	end := runner.Run(NewContext(ctx, call), &h.runner, deadline, t.name, func(ctx context.Context) outcome {
		return h.call(ctx, t, args)
	})
	out := end.Value
	switch {
	case end.Panic.Aborts():
		panic(http.ErrAbortHandler)
	case end.Panic != nil:
		err := errors.New("the tool panicked; see the log")
		out.failure = &Error{Code: CodeInternal, Message: runner.TextBroken, Err: err}
	case end.Stop == runner.InTime || !end.Left && !out.failure.private():
		// What the tool returned counts, even if it is late.
	case end.Stop == runner.TimedOut:
		out.failure = errorf(CodeTimeout, "%s", runner.TimeoutText(h.opts.Timeout))
	default:
		out.failure = &Error{Code: CodeClientGone, Message: "the caller hung up before the tool had a result", Err: ctx.Err()}
	}
	if out.failure != nil {
		out.failure.Tool = t.name
	}
	return out
}

// call runs the function and encodes its result. It calls methods of the result and of the error,
// which are code of the tool.
func (h *Handler) call(ctx context.Context, t *tool, args json.RawMessage) (out outcome) {
	result, err := t.run(ctx, args)
	if err != nil {
		out.failure = toolError(err)
		return out
	}
	if out.body, err = encodeResult(result, h.opts.StandaloneHarness); err != nil {
		out.failure = &Error{Code: CodeInternal, Message: runner.TextBroken, Err: err}
	}
	return out
}

// toolError returns the failure with the text of err if it was made for the agent.
func toolError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.misfit {
		return &Error{Code: CodeArguments, Message: e.Message, Err: err}
	}
	if text, ok := runner.TextOf(err); ok {
		return &Error{Code: CodeTool, Message: text, Err: err}
	}
	return &Error{Code: CodeTool, Message: runner.TextFailed, Err: err}
}

// report calls the hook and logs the call.
func (h *Handler) report(ctx context.Context, call *Call, failure *Error, took time.Duration) {
	end := CallEnd{Tool: call.Tool, AgentID: call.AgentID, Reasoning: call.Reasoning, Duration: took}
	level := slog.LevelInfo
	if failure != nil {
		end.Code, end.Err = failure.Code, failure
		level = slog.LevelWarn
		if failure.Code == CodeInternal || failure.private() {
			level = slog.LevelError
		}
	}
	if h.opts.OnCall != nil {
		h.hooks.Hook(ctx, call.Tool, func() { h.opts.OnCall(ctx, end) })
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
func errorAttr(e *Error) slog.Attr { return slog.String("error", fmt.Sprint(e)) }
