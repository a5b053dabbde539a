package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/schema"
)

// Handler is the http.Handler for external tools. It is immutable and safe for concurrent use.
type Handler struct {
	opts  Options // defaults filled in
	guard httpserve.Guard
	json  strictjson.Limits
	known []string // members of a body with a meaning
	tools map[string]*tool
	only  *tool // when there is one tool
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
		return nil, errorf(CodeEnvelope, "the path names the tool %q, the body another one", cut(name, 128))
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
		return nil, errorf(CodeUnknownTool, "there is no tool %q here; names are case-sensitive", cut(name, 128))
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
	if e, ok := errors.AsType[*schema.InstanceError](err); ok {
		e.Part = schema.Arguments // the validator does not know what it validates
		message = e.Error()
		if e.Code == schema.CodeMismatch {
			message += "; correct them and call the tool again"
		}
	}
	return &Error{Code: CodeArguments, Tool: t.name, Message: message, Err: err}
}

// outcome is what became of a tool.
type outcome struct {
	answer  []byte // its result as it is sent
	failure *Error
	abort   bool // it panicked with http.ErrAbortHandler
}

// run gives the tool a goroutine of its own, for nothing can stop one that does not heed its context.
func (h *Handler) run(ctx context.Context, t *tool, call *Call, args json.RawMessage) outcome {
	ctx, cancel := context.WithTimeoutCause(NewContext(ctx, call), h.opts.Timeout, errTimeout)
	defer cancel()
	done := make(chan outcome, 1)
	go h.call(ctx, t, args, done)
	var out outcome
	select {
	case out = <-done:
	case <-ctx.Done():
		out = h.late(ctx, t, done)
	}
	if out.abort {
		panic(http.ErrAbortHandler)
	}
	if out.failure != nil {
		out.failure.Tool = t.name
	}
	return out
}

// grace is how long a tool has to return after its context has ended.
const grace = 500 * time.Millisecond

var errTimeout = errors.New("the time for the call is over")

// late waits a little for a tool whose context has ended. What it returns then is taken, unless it is only the end of
// the context.
func (h *Handler) late(ctx context.Context, t *tool, done <-chan outcome) outcome {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case out := <-done:
		if out.abort || out.failure == nil || out.failure.Message != textToolFailed {
			return out
		}
	case <-timer.C:
	}
	if context.Cause(ctx) != errTimeout {
		gone := errorf(CodeClientGone, "the caller hung up before the tool had a result")
		gone.Err = ctx.Err()
		return outcome{failure: gone}
	}
	return outcome{failure: errorf(CodeTimeout,
		"the tool did not finish within %s and may or may not have had an effect; check that before you call it again", h.opts.Timeout)}
}

// call runs the function, writes its result, which is the tool's own code too, and reports what became of it, panics and
// runtime.Goexit included.
func (h *Handler) call(ctx context.Context, t *tool, args json.RawMessage, done chan<- outcome) {
	out, returned := outcome{}, false
	defer func() {
		if !returned {
			p := recover() // nil after runtime.Goexit
			out.abort = p == http.ErrAbortHandler
			out.failure = &Error{Code: CodeInternal, Message: textInternal, Err: errors.New("the tool panicked; see the log")}
			if !out.abort {
				h.opts.Logger.ErrorContext(ctx, "tool panicked", "tool", t.name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
		}
		done <- out
	}()
	result, err := t.run(ctx, args)
	if out.failure = toolError(err); err == nil {
		if out.answer, err = encodeResult(result, h.opts.Answer); err != nil {
			out.failure = &Error{Code: CodeInternal, Message: textInternal, Err: err}
		}
	}
	returned = true
}

// toolError chooses what the agent sees of a tool's error: texts that were made for it.
func toolError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Message != "" {
		code := CodeTool
		if e.Code == CodeArguments {
			code = CodeArguments
		}
		return &Error{Code: code, Message: e.Message, Err: err}
	}
	return &Error{Code: CodeTool, Message: textToolFailed, Err: err}
}

// report tells the hook and the log.
func (h *Handler) report(ctx context.Context, call *Call, failure *Error, took time.Duration) {
	record := Record{Tool: call.Tool, AgentID: call.AgentID, Reasoning: call.Reasoning, Duration: took}
	level := slog.LevelInfo
	if failure != nil {
		record.Code, record.Err = failure.Code, failure
		level = slog.LevelWarn
		if failure.Code == CodeInternal || failure.Message == textToolFailed {
			level = slog.LevelError
		}
	}
	h.tell(ctx, record)
	if !h.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", call.Tool), slog.String("agent_id", call.AgentID), slog.Duration("took", took)}
	if failure != nil {
		attrs = append(attrs, errorAttr(failure))
	}
	h.opts.Logger.LogAttrs(ctx, level, "tool called", attrs...)
}

// tell calls the hook, whose panic must not cost the caller the answer: the tool has run.
func (h *Handler) tell(ctx context.Context, record Record) {
	if h.opts.OnCall == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			h.opts.Logger.ErrorContext(ctx, "OnCall panicked", "tool", record.Tool, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	h.opts.OnCall(ctx, record)
}

// errorAttr is an error's text: of the error itself a JSON log would write what it marshals to, which has no cause. Print
// survives a cause whose own text panics, such as a nil pointer that a tool has returned as an error.
func errorAttr(e *Error) slog.Attr { return slog.String("error", fmt.Sprint(e)) }
