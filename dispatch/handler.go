package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy"
)

// An Agent answers one run. It is called on a goroutine of its own, once for every run, concurrently for runs that
// overlap, so it must keep no state of a run but in run and ctx.
//
// ctx ends when the platform hangs up, when the proxy says that the run is over, or when the time for the run is nearly
// over; an agent should return then, with what it has. [context.Cause] tells which: [proxy.IsRunOver] reports whether the run
// is over. The handler waits for half of [Options.Reserve] then. An error fails the run: it is answered with 500 and the text of an [*Error] or [*proxy.Error]; the text of
// any other error goes to the log only, for it may hold anything. A nil Response without an error is an empty one.
type Agent func(ctx context.Context, run *Run) (*Response, error)

// Handler is the http.Handler for an agent. It is safe for concurrent use.
type Handler struct {
	agent Agent
	auth  authenticator
	gate  gate
	state tokens
	opts  Options // defaults filled in
	hosts map[string]bool
}

// New returns a handler that runs agent. It needs either tokens, a verifier or an explicit InsecureNoAuth in opts. All
// mistakes are reported together in one [*Error] with [CodeOptions].
func New(agent Agent, opts *Options) (*Handler, error) {
	h := &Handler{agent: agent}
	if err := h.configure(opts); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, &Error{Code: CodeMethod, Message: "use POST"})
		return
	}
	if reason := httpserve.Contained(r, h.opts.Logger, "TokenFunc or Verify", h.auth.check); reason != "" {
		httpserve.LeaveBody(w, r)
		h.refuse(w, r, &Error{Code: CodeUnauthorized, Message: reason}) // the message is only logged
		return
	}
	arrived := time.Now()
	v, body, err := h.receive(w, r, arrived)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if v == nil {
		writeJSON(w, http.StatusOK, []byte(`{"ok":true}`))
		return
	}
	defer v.release()
	if err := h.fillRun(v, r, body); err != nil {
		h.refuse(w, r, err)
		return
	}
	h.serve(w, r, v, arrived)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	httpserve.LogRefusal(r, h.opts.Logger, report.Refused, err.Error()) // as text: as JSON it leaves the cause out
	WriteError(w, err)
}

// outcome is what became of the agent.
type outcome struct {
	response *Response
	host     bool // response is by a function of the options, not by the agent
	err      error
	panicked any // http.ErrAbortHandler and nothing else
}

// serve runs the agent and answers. It and await keep little on the stack, because that is where thousands of runs wait.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, v *visit, arrived time.Time) {
	out := h.await(v, arrived)
	h.finish(w, r, v, out, time.Since(arrived))
}

// finish answers with what became of the agent.
func (h *Handler) finish(w http.ResponseWriter, r *http.Request, v *visit, out outcome, took time.Duration) {
	if out.panicked != nil {
		panic(out.panicked)
	}
	if out.err != nil {
		h.log(r, v, slog.LevelError, report.RunFailed, slog.Duration("took", took), slog.String(report.Error, out.err.Error()))
		if h.opts.FailureResponse == nil {
			WriteError(w, agentError(out.err))
			return
		}
		out.host, out.response = true, h.ask(r.Context(), &v.run, func() *Response { return h.opts.FailureResponse(&v.run, agentError(out.err)) })
	}
	body, problems := h.encode(&v.run, out)
	for _, p := range problems {
		h.log(r, v, slog.LevelWarn, report.Contract, slog.String(report.Code, p.Code), slog.String(report.Pointer, p.Pointer), slog.String(report.Problem, p.Text))
	}
	if h.opts.Logger.Enabled(r.Context(), slog.LevelInfo) {
		h.log(r, v, slog.LevelInfo, "run answered", slog.Duration("took", took))
	}
	writeJSON(w, http.StatusOK, body)
}

// await runs the agent and returns its outcome in time, whatever the agent does. The time counts from the arrival of the
// request, as the platform's does. The agent has its own goroutine because nothing can stop an agent that ignores its context.
// The agent holds its place in the gate until it has returned.
func (h *Handler) await(v *visit, arrived time.Time) outcome {
	ctx, stop := context.WithDeadlineCause(v.ctx, arrived.Add(h.opts.RunTimeout-h.opts.Reserve), errRunTimeout)
	defer stop()
	v.hold()
	go h.call(ctx, v)
	<-ctx.Done() // also when the agent has returned
	return h.conclude(ctx, v, v.wait(h.opts.Reserve/2))
}

// wait waits for the agent to return, whose context has ended. It reports whether the agent has returned within grace.
func (v *visit) wait(grace time.Duration) bool {
	v.mu.Lock()
	if v.returned {
		v.mu.Unlock()
		return true
	}
	v.done = make(chan struct{})
	v.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-v.done:
		return true
	case <-timer.C:
		return false
	}
}

// finished records that the agent has returned, and ends its context.
func (v *visit) finished() {
	v.mu.Lock()
	v.returned = true
	if v.done != nil {
		close(v.done)
	}
	v.mu.Unlock()
	v.cancel(errReturned)
}

// log writes a record that names the run.
func (h *Handler) log(r *http.Request, v *visit, level slog.Level, message string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("run_id", v.run.RunID), slog.String("task_id", v.run.TaskID), slog.String("run_token_jti", v.run.TokenJTI))
	h.opts.Logger.LogAttrs(r.Context(), level, message, attrs...)
}

// call runs the agent and reports what became of it, its panics and runtime.Goexit included.
func (h *Handler) call(ctx context.Context, v *visit) {
	returned := false
	defer func() {
		if !returned {
			p := recover() // nil after runtime.Goexit
			if p == http.ErrAbortHandler {
				v.out.panicked = p
			} else {
				v.out.err = &Error{Code: CodePanicked, Message: "the agent panicked; see its log"}
				h.opts.Logger.ErrorContext(ctx, report.AgentPanicked, "run_id", v.run.RunID, report.Panic, fmt.Sprint(p), report.Stack, string(debug.Stack()))
			}
		}
		v.release() // before the answer, so that the next run finds the place free
		v.finished()
	}()
	v.out.response, v.out.err = h.agent(ctx, &v.run)
	returned = true
}

var (
	errRunTimeout = errors.New("the time for the run is over")
	errReturned   = errors.New("the agent has returned")
)

// conclude decides the outcome of a run. An answer of the agent counts, and so does an error of its own. An error that says
// no more than that the context has ended is replaced by the reason: the time is over, or the run is.
func (h *Handler) conclude(ctx context.Context, v *visit, answered bool) outcome {
	cause := context.Cause(ctx)
	if answered && (v.out.err == nil || cause == errReturned || !endOfContext(v.out.err)) {
		return v.out
	}
	switch {
	case cause == errRunTimeout:
		h.opts.Logger.WarnContext(ctx, "run timed out", "run_id", v.run.RunID, "timeout", h.opts.RunTimeout)
		return outcome{host: true, response: h.ask(ctx, &v.run, func() *Response { return h.opts.TimeoutResponse(&v.run) })}
	case proxy.IsRunOver(cause):
		return outcome{err: cause}
	case answered:
		return v.out
	}
	return outcome{err: &Error{Code: CodeClientGone, Message: "the platform hung up before the agent had an answer"}}
}

// ask has the host's own function make an answer; if it panics there is an empty one.
func (h *Handler) ask(ctx context.Context, run *Run, makeResponse func() *Response) (response *Response) {
	defer func() {
		if p := recover(); p != nil {
			h.opts.Logger.ErrorContext(ctx, "a function of the options panicked", "run_id", run.RunID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	return makeResponse()
}

func endOfContext(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errRunTimeout) {
		return true
	}
	code := proxy.CodeOf(err)
	return code == proxy.CodeDeadline || code == proxy.CodeCanceled
}

// agentError chooses what the platform sees of an agent's error: texts that are known to hold no secret.
func agentError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*proxy.Error](err); ok {
		return &Error{Code: CodeAgent, Message: "a tool call failed: " + e.Error(), Err: err}
	}
	return &Error{Code: CodeAgent, Message: "the agent failed; its log says why", Err: err}
}

var contentType = []string{"application/json"}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	w.WriteHeader(status)
	_, _ = w.Write(body) // if this fails, the platform has closed the connection
}
