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
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/schema"
)

// Handler is the http.Handler for external tools. It is immutable and safe for concurrent use.
type Handler struct {
	opts   Options // defaults filled in
	guard  httpserve.Guard
	json   strictjson.Limits
	known  []string // members of a body with a meaning
	tools  map[string]*tool
	only   *tool // when there is one tool
	runner runner.Runner
	hooks  runner.Runner // for Options.OnCall
}

// New returns a handler that serves one or many tools; opts must hold a secret. All mistakes, of the tools and of the
// options, are reported together in one [*Error] with [CodeOptions].
func New(tools []Tool, opts *Options) (*Handler, error) {
	h := &Handler{}
	if err := h.configure(tools, opts); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP implements http.Handler. A request takes one way: method, secret, identity, size, body, tool, arguments,
// function, answer.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		httpserve.LeaveBody(w, r)
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, r, errorf(CodeMethod, "use POST"))
		return
	}
	if reason := httpserve.Contained(r, h.opts.Logger, "SecretFunc", h.guard.Check); reason != "" {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, errorf(CodeUnauthorized, "%s", reason)) // the message is only logged
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
	if h.opts.IdentityFromBody {
		agentID = e.agentID
	}
	call := &Call{Tool: t.name, AgentID: agentID, Body: body}
	answer, failure := h.serve(r.Context(), t, call, e.arguments)
	h.report(r.Context(), call, failure, time.Since(start))
	if failure != nil {
		h.writeError(w, failure)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, _ := errors.AsType[*Error](err) // no step returns another
	httpserve.LogRefusal(r, h.opts.Logger, "webhook refused", fmt.Sprint(e))
	h.writeError(w, e)
}

func (h *Handler) identity(r *http.Request) (string, error) {
	if h.opts.IdentityFromBody {
		return "", nil
	}
	values := r.Header["X-Agent-Identity"]
	if len(values) != 1 || !uuid.Valid(values[0]) {
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

// find decides which tool is called.
func (h *Handler) find(r *http.Request, e *envelope) (*tool, error) {
	if len(e.agentID) > 256 {
		return nil, errorf(CodeIdentity, "agent_id has more than 256 bytes")
	}
	name := r.PathValue("tool")
	switch {
	case name == "":
		name = e.tool
	case e.tool != "" && e.tool != name && e.toolRank < nameMember: // a bare name may be the agent's
		return nil, errorf(CodeEnvelope, "the path names the tool %q, the body another one", clip.Text(name, 128))
	}
	if name == "" {
		if h.only == nil {
			return nil, errorf(CodeEnvelope, "the body names no tool, and there are %d here; put the name into the path or into tool_name",
				len(h.tools))
		}
		return h.only, nil
	}
	t, ok := h.tools[name]
	if !ok {
		return nil, errorf(CodeUnknownTool, "there is no tool %q here; names are case-sensitive", clip.Text(name, 128))
	}
	return t, nil
}

// serve validates the arguments and runs the tool.
func (h *Handler) serve(ctx context.Context, t *tool, call *Call, args json.RawMessage) ([]byte, *Error) {
	if !t.reasoning {
		args, call.Reasoning = reasoning.Take(args)
	}
	if err := t.validate(args); err != nil {
		return nil, argumentsError(t, err)
	}
	out := h.run(ctx, t, call, args)
	return out.answer, out.failure
}

func argumentsError(t *tool, err error) *Error {
	message := err.Error()
	if e, ok := errors.AsType[*schema.Error](err); ok {
		e.Part = "arguments" // the validator does not know what it validates
		message = e.Error()
		if e.Code == schema.CodeMismatch {
			message += "; correct them and call the tool again"
		}
	}
	return &Error{Code: CodeArguments, Tool: t.name, Message: message, Err: err}
}

// outcome is what a tool returned.
type outcome struct {
	answer  []byte // its result as it is sent
	failure *Error
}

var errTimeout = errors.New("the time for the call is over")

// run calls the tool under the policy of package runner.
func (h *Handler) run(ctx context.Context, t *tool, call *Call, args json.RawMessage) outcome {
	end := runner.Run(NewContext(ctx, call), &h.runner, time.Now().Add(h.opts.Timeout), t.name, func(ctx context.Context) outcome {
		return h.call(ctx, t, args)
	})
	out := end.Value
	switch {
	case end.Panic.Aborts():
		panic(http.ErrAbortHandler)
	case end.Panic != nil:
		out.failure = &Error{Code: CodeInternal, Message: runner.TextBroken, Err: errors.New("the tool panicked; see the log")}
	case end.Stop == runner.InTime || !end.Left && !out.failure.private():
		// The tool's own words count, even if they come late.
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

// call runs the function and writes its result. The methods of the result and of the error are the tool's own code too.
func (h *Handler) call(ctx context.Context, t *tool, args json.RawMessage) (out outcome) {
	result, err := t.run(ctx, args)
	if err != nil {
		out.failure = toolError(err)
		return out
	}
	if out.answer, err = encodeResult(result, h.opts.Answer); err != nil {
		out.failure = &Error{Code: CodeInternal, Message: runner.TextBroken, Err: err}
	}
	return out
}

// toolError chooses what the agent sees of a tool's error: texts that were made for it.
func toolError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Message != "" {
		code := CodeTool
		if e.Code == CodeArguments {
			code = CodeArguments
		}
		return &Error{Code: code, Message: e.Message, Err: err}
	}
	if text, ok := runner.TextOf(err); ok {
		return &Error{Code: CodeTool, Message: text, Err: err}
	}
	return &Error{Code: CodeTool, Message: runner.TextFailed, Err: err}
}

// private reports whether the tool failed without a text for the agent.
func (e *Error) private() bool { return e != nil && e.Message == runner.TextFailed }

// report tells the hook and the log.
func (h *Handler) report(ctx context.Context, call *Call, failure *Error, took time.Duration) {
	record := Record{Tool: call.Tool, AgentID: call.AgentID, Reasoning: call.Reasoning, Duration: took}
	level := slog.LevelInfo
	if failure != nil {
		record.Code, record.Err = failure.Code, failure
		level = slog.LevelWarn
		if failure.Code == CodeInternal || failure.private() {
			level = slog.LevelError
		}
	}
	if h.opts.OnCall != nil {
		h.hooks.Hook(ctx, call.Tool, func() { h.opts.OnCall(ctx, record) })
	}
	if !h.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", call.Tool), slog.String("agent_id", call.AgentID), slog.Duration("took", took)}
	if failure != nil {
		attrs = append(attrs, errorAttr(failure))
	}
	h.opts.Logger.LogAttrs(ctx, level, "tool called", attrs...)
}

// errorAttr is an error's text: of the error itself a JSON log would write what it marshals to, which has no cause. Print
// survives a cause whose own text panics, such as a nil pointer that a tool has returned as an error.
func errorAttr(e *Error) slog.Attr { return slog.String("error", fmt.Sprint(e)) }
