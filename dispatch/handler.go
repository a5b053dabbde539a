package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/observe"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/proxy"
)

// An Agent answers one run. The handler calls it on a goroutine of its own, once for every run, and
// concurrently for runs that overlap. It must keep the state of a run in run and ctx only.
//
// ctx ends when the platform closes the connection, when the proxy reports that the run is over, or
// [Options.Reserve] before the end of the run's time. The agent should then return what it has: the
// handler waits for half of the reserve. [context.Cause] returns the reason, and [proxy.IsRunOver]
// reports whether the reason is that the run is over.
//
// If the agent returns an error, the run fails. The response is 500 with the message of an *Error
// or *proxy.Error. The text of any other error is only logged, because it may contain secrets. A
// nil Response without an error is an empty one.
type Agent func(ctx context.Context, run *Run) (*Response, error)

// Handler is the http.Handler for an agent. It is safe for concurrent use. Its responses to failures
// are:
//
//	405  not a POST                                           {"error":"method_not_allowed", …}, Allow: POST
//	401  no token, a wrong one or more than one               an empty body
//	413  body over [Options.MaxBodyBytes]                     {"error":"body_too_large", …}
//	400  the body is incomplete or arrives too slowly         {"error":"unreadable_body", …}
//	400  not a JSON object, or an ambiguous one               {"error":"invalid_json", …}
//	400  members that are missing or cannot be used           {"error":"invalid_envelope", …}
//	503  over [Options.MaxRuns] or MaxBytesInFlight, draining {"error":"busy", …}, Retry-After
//	500  the agent returned an error, or panicked             {"error":"agent_failed", …} or agent_panicked
type Handler struct {
	agent Agent
	auth  authenticator
	gate  gate
	state tokens
	opts  Options // defaults filled in
	hosts hosts

	runner runner.Runner // for the agent
	asker  runner.Runner // for the functions of the options that make responses
	hooks  runner.Runner // for the observer
}

// New returns a handler that runs agent. opts must set Tokens, TokenFunc, Verify or InsecureNoAuth.
// All mistakes are reported together in one [*Error] with [CodeOptions].
func New(agent Agent, opts *Options) (*Handler, error) {
	if opts == nil {
		opts = &Options{}
	}
	auth, problems := newAuthenticator(opts)
	h := &Handler{agent: agent, auth: auth}
	if err := h.configure(opts, append(problems, checkAgent(agent)...)...); err != nil {
		return nil, err
	}
	return h, nil
}

func checkAgent(agent Agent) []error {
	if agent == nil {
		return []error{errors.New("the agent must not be nil")}
	}
	return nil
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
		httpserve.WriteJSON(w, http.StatusOK, []byte(`{"ok":true}`))
		return
	}
	defer v.release()
	if err := h.fillRun(v, r, body, arrived); err != nil {
		h.refuse(w, r, err)
		return
	}
	h.serve(w, r, v, arrived)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	httpserve.LogRefusal(r, h.opts.Logger, "dispatch refused", err.Error()) // as text: as JSON it leaves the cause out
	h.observeRefusal(r, err)
	writeError(w, err)
}

// outcome is how a run of the agent ended.
type outcome struct {
	response *Response
	host     bool // a function of the options made response, not the agent
	timedOut bool // it is that of TimeoutResponse
	err      error
	ended    bool // err says only that the context has ended
	aborts   bool // the agent panicked with http.ErrAbortHandler
}

// serve runs the agent and writes the response. It and await use little of the stack, because
// thousands of runs wait there.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, v *visit, arrived time.Time) {
	h.startRun(v, r)
	out := h.await(v, arrived)
	if out.aborts {
		h.endRun(v, out, nil, arrived)
		panic(http.ErrAbortHandler)
	}
	body, problems, err := h.answer(v, out, arrived)
	h.endRun(v, out, problems, arrived)
	if err != nil {
		writeError(w, err)
		return
	}
	httpserve.WriteJSON(w, http.StatusOK, body)
}

// answer returns the body of the response, and the problems that were found in it. Its error is the
// [*Error] with which a failed run is answered.
func (h *Handler) answer(v *visit, out outcome, arrived time.Time) ([]byte, []Problem, error) {
	ctx := v.ctx
	if out.err != nil {
		h.log(ctx, v, slog.LevelError, "run failed",
			slog.Duration("took", time.Since(arrived)), slog.String("error", out.err.Error()))
		failure := agentError(out.err)
		if h.opts.FailureResponse == nil {
			return nil, nil, failure
		}
		out.host = true
		out.response = h.ask(ctx, &v.run, func() *Response { return h.opts.FailureResponse(&v.run, failure) })
	}
	body, problems := h.encode(&v.run, out)
	for _, p := range problems {
		h.log(ctx, v, slog.LevelWarn, "response contract", slog.String("code", p.Code),
			slog.String("pointer", p.Pointer), slog.String("problem", p.Message))
	}
	if h.opts.Logger.Enabled(ctx, slog.LevelInfo) {
		h.log(ctx, v, slog.LevelInfo, "run answered", slog.Duration("took", time.Since(arrived)))
	}
	return body, problems, nil
}

// log writes a record that names the run.
func (h *Handler) log(ctx context.Context, v *visit, level slog.Level, message string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("run_id", v.run.RunID), slog.String("task_id", v.run.TaskID),
		slog.String("run_token_jti", v.run.TokenJTI))
	h.opts.Logger.LogAttrs(ctx, level, message, attrs...)
}

// await runs the agent and returns its outcome before the run's time is over, whatever the agent
// does. The time counts from the arrival of the request, as the platform's does.
func (h *Handler) await(v *visit, arrived time.Time) outcome {
	v.handler = h
	v.hold()
	return h.conclude(v, v.call.Run(observe.With(observe.With(v.ctx, &v.run), &v.kept), &h.runner, arrived.Add(h.opts.RunTimeout-h.opts.Reserve), v.run.RunID, v))
}

// Do runs the agent. The agent has its place in the gate until it returns. The place is released
// before the response is sent, so that the next run can take it.
func (v *visit) Do(ctx context.Context) (out outcome) {
	defer v.release()
	v.run.recording().start(ctx)
	out.response, out.err = v.handler.agent(ctx, &v.run)
	if out.err != nil { // here, because the methods of the error may panic
		_ = out.err.Error()
		out.ended = endOfContext(out.err)
	}
	return out
}

var errRunTimeout = errors.New("the time for the run is over")

// conclude decides the outcome of a run. A response of the agent counts, and so does an error of
// its own. An error that only reports the end of the context is replaced by the reason of that end.
func (h *Handler) conclude(v *visit, end runner.Outcome[outcome]) outcome {
	out := end.Value
	switch {
	case end.Panic != nil:
		failure := &Error{Code: CodePanicked, Message: "the agent panicked; see its log", Err: end.Panic}
		return outcome{err: failure, aborts: end.Panic.Aborts()}
	case !end.Left && (end.Stop == runner.InTime || !out.ended):
		return out
	case end.Stop == runner.TimedOut:
		h.opts.Logger.WarnContext(v.ctx, "run timed out", "run_id", v.run.RunID, "timeout", h.opts.RunTimeout)
		late := h.ask(v.ctx, &v.run, func() *Response { return h.opts.TimeoutResponse(&v.run) })
		return outcome{host: true, timedOut: true, response: late}
	case proxy.IsRunOver(end.Cause):
		return outcome{err: end.Cause}
	case !end.Left:
		return out
	}
	message := "the platform closed the connection before the agent had a response"
	return outcome{err: &Error{Code: CodeClientGone, Message: message}}
}

// ask calls a function of the options that makes a response. If the function panics, or does not
// return within a quarter of the reserve, the response is empty.
func (h *Handler) ask(ctx context.Context, run *Run, makeResponse func() *Response) *Response {
	out := runner.Run(ctx, &h.asker, time.Now(), run.RunID, func(context.Context) *Response { return makeResponse() })
	if out.Panic != nil {
		h.asker.Report(ctx, out.Panic)
	}
	return out.Value
}

func endOfContext(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errRunTimeout) {
		return true
	}
	code := proxy.CodeOf(err)
	return code == proxy.CodeDeadline || code == proxy.CodeCanceled
}

// agentError returns what the platform receives of an agent's error, to which it unwraps. Its code
// and message have only texts that cannot contain a secret.
func agentError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{Code: e.Code, Message: e.Message, Err: err}
	}
	if e, ok := errors.AsType[*proxy.Error](err); ok {
		return &Error{Code: CodeAgent, Message: "a tool call failed: " + e.Error(), Err: err}
	}
	return &Error{Code: CodeAgent, Message: "the agent failed; its log says why", Err: err}
}
