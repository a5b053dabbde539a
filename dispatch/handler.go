package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/proxy"
)

// An Agent answers one run. The handler calls it on a goroutine of its own, once for every run, and
// concurrently for runs that overlap. It must keep the state of a run in run and ctx only.
//
// ctx ends when the platform closes the connection, when the proxy reports that the run is over, or
// [Options.Reserve] before the end of the run's time. ctx also ends with the request's context,
// which a middleware may end early. The agent should then return what it has. The handler waits for
// half of the reserve. [context.Cause] returns the reason, and [proxy.IsRunOver] reports whether
// the reason is that the run is over.
//
// If the agent returns an error, the run fails. The response is 500 with the message of an *Error
// or *proxy.Error. The text of any other error is only logged, because it may contain secrets. A
// nil Response without an error counts as an empty Response.
type Agent func(ctx context.Context, run *Run) (*Response, error)

// Handler is the http.Handler for an agent. It is safe for concurrent use. Its responses to failures
// are:
//
//	405  not a POST                                           {"error":"method_not_allowed", …}, Allow: POST
//	401  no token, a wrong one or more than one               {"error":"unauthorized", …}
//	413  body over [Options.MaxBodyBytes]                     {"error":"request_too_large", …}
//	400  the body is incomplete or arrives too slowly         {"error":"unreadable_body", …}
//	400  not a JSON object, or an ambiguous one               {"error":"invalid_json", …}
//	400  members that are missing or cannot be used           {"error":"invalid_envelope", …}
//	503  over [Options.MaxRuns] or MaxBytesInFlight, draining {"error":"busy", …}, Retry-After
//	500  the agent returned an error, or panicked             {"error":"agent_failed", …} or agent_panicked
//	500  the request's context ended before the run's time    {"error":"deadline", …} or client_gone
//
// A middleware around the handler can authenticate requests in another way, such as by a signature.
// Set [Options.InsecureNoAuth] then.
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
	ends   runner.Runner // for its RunEnd
}

// New returns a handler that runs agent. opts must set Tokens, TokenFunc or InsecureNoAuth.
// All mistakes are reported together in one [*toolwire.Error] with [toolwire.CodeInvalidOptions].
func New(agent Agent, opts *Options) (*Handler, error) {
	if opts == nil {
		opts = &Options{}
	}
	auth, problems := newAuthenticator(opts)
	h, more := newHandler(agent, opts, 4)
	h.auth = auth
	if problems = append(problems, more...); len(problems) > 0 {
		return nil, &toolwire.Error{Package: "dispatch", Code: toolwire.CodeInvalidOptions, Err: errors.Join(problems...)}
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := h.serve(w, r, time.Now())
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.send(w, answer)
}

// reply is what a ping or a run is answered with.
type reply struct {
	body    []byte
	failure *toolwire.Error // if body is nil
	run     *ticket         // nil for a ping
}

// serve passes a request through the stages in the order of the package comment. It returns an error if
// the request does not reach the agent. It writes no answer: what a run holds is given back when serve
// returns, and not when the peer has read.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, arrived time.Time) (reply, error) {
	t := &ticket{gate: &h.gate}
	defer t.leave()
	body, err := h.admit(w, r, arrived, t)
	if err != nil {
		return reply{}, err
	}
	if isPing(body) {
		return reply{body: []byte(`{"ok":true}`)}, nil
	}
	e, err := decode(body, r.Header, h.opts.MaxBodyBytes)
	if err != nil {
		return reply{}, err
	}
	if len(body) >= unadmitted && !t.room(min(int64(e.values)*valueBytes, h.opts.MaxBytesInFlight)) {
		return reply{}, errBytes
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	s, err := h.openRun(ctx, cancel, e, arrived)
	if err != nil {
		return reply{}, err
	}
	defer s.token.leave()
	ctx = h.startRun(ctx, s, r.Header)
	out := h.runAgent(ctx, s, t)
	if out.aborts {
		h.endRun(ctx, s, out, nil)
		panic(http.ErrAbortHandler)
	}
	answer, problems := h.answer(ctx, s, out)
	h.endRun(ctx, s, out, problems)
	t.answering()
	return reply{answer, out.failure, t}, nil
}

// send writes the answer to a ping or a run.
func (h *Handler) send(w http.ResponseWriter, answer reply) {
	switch {
	case answer.run == nil:
		httpserve.WriteJSON(w, http.StatusOK, answer.body)
	case answer.body == nil: // and the error is short
		defer answer.run.answered()
		writeError(w, answer.failure)
	default:
		httpserve.Send(h.gate.writing(), w, http.StatusOK, answer.body, answer.run.answered)
	}
}

// refuse answers a request that does not reach the agent.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	httpserve.LogRefusal(r, h.opts.Logger, "dispatch refused", err.Error()) // as text: as JSON it leaves the cause out
	h.observeRefusal(r, err)
	writeError(w, err)
}

// admit authenticates a request, reads its body, and takes a place in the gate for its run. A ping
// needs no place, so it is admitted even if the gate is full.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, arrived time.Time, t *ticket) (body []byte, err error) {
	if r.Method != http.MethodPost {
		httpserve.LeaveBody(w, r)
		return nil, &toolwire.Error{Package: "dispatch", Code: codeMethod, Message: "use POST"}
	}
	if reason := httpserve.CheckRecovered(r, h.opts.Logger, "TokenFunc", h.auth.check); reason != "" {
		httpserve.LeaveBody(w, r)
		return nil, &toolwire.Error{Package: "dispatch", Code: toolwire.CodeUnauthorized, Message: reason}
	}
	in := httpserve.OpenBody(w, r, h.opts.MaxBodyBytes, arrived.Add(h.opts.BodyTimeout))
	if body, err = in.Head(unadmitted); err != nil {
		return nil, h.bodyError(err)
	}
	if in.Done() && isPing(body) {
		return body, nil
	}
	if err = t.enter(int64(len(body))); err != nil {
		if !in.Done() {
			httpserve.LeaveBody(w, r)
		}
		return nil, err
	}
	if body, err = in.Rest(body, t.room); err != nil {
		return nil, h.bodyError(err)
	}
	return body, nil
}

// session is a run in progress: what the agent receives, and what the handler keeps for it.
type session struct {
	run        Run
	transcript Transcript
	recorder   proxy.Observer // records calls in the transcript
	kept       runctx.Kept[Run]
	arrived    time.Time
	token      *token   // the state of the run token
	kit        *testKit // nil in production
}

// openRun makes the run of an envelope. If the proxy reports that the run is over, the client calls
// cancel, which ends the context of the run.
func (h *Handler) openRun(ctx context.Context, cancel context.CancelCauseFunc, e envelope, arrived time.Time) (*session, error) {
	if err := h.hosts.check(e.proxyURL); err != nil {
		return nil, envelopeError("the proxy URL %s", err)
	}
	s := &session{run: e.run, arrived: arrived, kit: runctx.From[*testKit](ctx)}
	s.token = h.state.enter(e.runToken, arrived)
	s.transcript.run, s.transcript.numbers = &s.run, &s.token.numbers
	s.recorder = proxy.Observer{CallStart: s.transcript.callStart, CallEnd: callEnd}
	o := *h.opts.Proxy
	o.Pacer, o.OnRunOver, o.Observer = s.token.pacer, cancel, &s.recorder
	if s.kit != nil && s.kit.Unpaced {
		o.Pacer = proxy.NewPacer(0, 0)
	}
	if also := h.opts.Proxy.OnRunOver; also != nil {
		o.OnRunOver = func(err error) {
			cancel(err)
			also(err)
		}
	}
	client, err := proxy.New(e.proxyURL, e.runToken, &o)
	if err != nil {
		s.token.leave()
		// The client's error names what is wrong without repeating the URL or the token.
		reasons := strings.ReplaceAll(errors.Unwrap(err).Error(), "\n", "; ")
		return nil, envelopeError("the proxy URL or run token cannot be used: %s", reasons)
	}
	if also := h.opts.Proxy.Observer; also != nil {
		client = client.Observe(also)
	}
	if s.kit != nil {
		client = client.Observe(s.kit.Calls)
	}
	s.run.complete(e, client, &s.transcript)
	return s, nil
}

// returned is what the agent returned.
type returned struct {
	response *Response
	err      error
	onlyEnd  bool // err says only that the context has ended
}

// outcome is how a run ended.
type outcome struct {
	response *Response
	timedOut bool            // response is from TimeoutResponse
	failure  *toolwire.Error // sent to the platform if the run failed; wraps the cause
	aborts   bool            // the agent panicked with http.ErrAbortHandler
}

// runAgent runs the agent and returns its outcome before the run's time is over, whatever the agent
// does. The limit is measured from the arrival of the request, like the platform's. The agent has a
// place in the gate until it returns.
func (h *Handler) runAgent(ctx context.Context, s *session, t *ticket) outcome {
	t.hold()
	deadline := s.arrived.Add(h.opts.RunTimeout - h.opts.Reserve)
	ran := runner.Run(ctx, &h.runner, deadline, s.run.RunID, func(ctx context.Context) returned {
		defer t.leave()
		return h.callAgent(ctx, s)
	})
	return h.conclude(ctx, s, ran)
}

// callAgent calls the agent and the methods of its error. Any of them may panic.
func (h *Handler) callAgent(ctx context.Context, s *session) (got returned) {
	s.transcript.start(ctx)
	if got.response, got.err = h.agent(ctx, &s.run); got.err != nil {
		mustNotPanic(got.err)
		got.onlyEnd = endOfContext(ctx, got.err)
	}
	return got
}

// mustNotPanic calls the method of an agent's error while a panic still counts as the agent's.
func mustNotPanic(err error) { _ = err.Error() }

var errRunTimeout = errors.New("the time for the run is over")

// conclude decides the outcome of a run. What the agent returns counts, also late, if it returns within
// the grace period of the runner. An error that only reports the end of the context is replaced by the
// reason of that end.
func (h *Handler) conclude(ctx context.Context, s *session, ran runner.Outcome[returned]) outcome {
	got := ran.Value
	counts := !ran.Left && (ran.Stop == runner.InTime || !got.onlyEnd)
	err := got.err
	switch {
	case ran.Panic != nil:
		err = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeAgentPanicked, Message: "the agent panicked; " + h.whereItSaysWhy(), Err: ran.Panic}
	case counts && err == nil:
		return outcome{response: got.response}
	case counts: // err is the agent's
	case ran.Stop == runner.TimedOut:
		h.log(ctx, s, slog.LevelWarn, "run timed out", slog.Duration("timeout", h.opts.RunTimeout))
		substitute := h.ask(ctx, s, func() *Response { return h.opts.TimeoutResponse(&s.run) })
		return outcome{response: substitute, timedOut: true}
	case proxy.IsRunOver(ran.Cause):
		err = ran.Cause
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		deadline, _ := ctx.Deadline()
		message := fmt.Sprintf(
			"the request's context ended after %.1f s, before RunTimeout (%.0f s): a middleware or server timeout?",
			deadline.Sub(s.arrived).Seconds(), h.opts.RunTimeout.Seconds())
		err = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeDeadline, Message: message, Err: err}
	default:
		message := "the platform closed the connection, or stopped the program, before the agent returned a response"
		err = &toolwire.Error{Package: "dispatch", Code: toolwire.CodeClientGone, Message: message, Err: err}
	}
	return outcome{response: got.response, failure: h.agentError(err), aborts: ran.Panic.Aborts()}
}

// answer returns the body of the response and the problems that were found in it. The body is nil if
// the run is answered with out.failure.
func (h *Handler) answer(ctx context.Context, s *session, out outcome) (body []byte, problems []Problem) {
	response, host := out.response, out.timedOut
	if out.failure != nil {
		h.log(ctx, s, slog.LevelError, "run failed",
			slog.Duration("took", time.Since(s.arrived)), slog.String("error", out.failure.Err.Error()))
		if h.opts.FailureResponse == nil {
			return nil, nil
		}
		response, host = h.ask(ctx, s, func() *Response { return h.opts.FailureResponse(&s.run, out.failure) }), true
	}
	body, problems = h.encode(&s.run, response, host)
	for _, p := range problems {
		h.log(ctx, s, slog.LevelWarn, "response contract", slog.String("code", p.Code),
			slog.String("pointer", p.Pointer), slog.String("problem", p.Message))
	}
	h.log(ctx, s, slog.LevelInfo, "run answered", slog.Duration("took", time.Since(s.arrived)))
	return body, problems
}

// log writes a record that names the run. A logger that panics does not break the run.
func (h *Handler) log(ctx context.Context, s *session, level slog.Level, message string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	if !h.opts.Logger.Enabled(ctx, level) {
		return
	}
	attrs = append(attrs, slog.String("run_id", s.run.RunID), slog.String("task_id", s.run.TaskID),
		slog.String("run_token_jti", s.run.TokenJTI))
	h.opts.Logger.LogAttrs(ctx, level, message, attrs...)
}

// ask calls a function of the options that makes a response. If the function panics, or does not
// return within a quarter of the reserve, the response is empty.
func (h *Handler) ask(ctx context.Context, s *session, makeResponse func() *Response) *Response {
	atOnce := time.Now() // the function has no context: it has the grace period only
	out := runner.Run(ctx, &h.asker, atOnce, s.run.RunID, func(context.Context) *Response { return makeResponse() })
	if out.Panic != nil {
		h.asker.Report(ctx, out.Panic)
	}
	return out.Value
}

// endOfContext reports whether an error of the agent only says that its context has ended, or that too
// little time was left for a call.
func endOfContext(ctx context.Context, err error) bool {
	call, ok := errors.AsType[*proxy.Error](err)
	return errors.Is(err, context.Cause(ctx)) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || ok && call.Code == toolwire.CodeDeadline
}

// agentError returns what the platform receives of an agent's error, to which it unwraps. Its code
// and message have only texts that cannot contain a secret.
func (h *Handler) agentError(err error) *toolwire.Error {
	if e := ownError(err); e != nil {
		return &toolwire.Error{Package: "dispatch", Code: e.Code, Message: e.Message, Err: err}
	}
	if e, ok := errors.AsType[*proxy.Error](err); ok {
		return &toolwire.Error{Package: "dispatch", Code: toolwire.CodeAgentFailed, Message: "a tool call failed: " + e.Error(), Err: err}
	}
	return &toolwire.Error{Package: "dispatch", Code: toolwire.CodeAgentFailed, Message: "the agent failed; " + h.whereItSaysWhy(), Err: err}
}

// whereItSaysWhy ends a message that leaves out the text of an agent's error.
func (h *Handler) whereItSaysWhy() string {
	if h.opts.Logger.Handler() == slog.DiscardHandler {
		return "set Options.Logger to see why"
	}
	return "its log says why"
}
