package dispatch

import (
	"context"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/proxy"
)

// An Observer contains functions that a handler calls for runs and rejected requests, for spans,
// metrics or a log. All of them are optional. [proxy.Observer] observes the calls of a run. Package
// oteltoolwire makes both for OpenTelemetry.
//
// Each function is called on a goroutine of its own, and must be safe for concurrent use. The
// handler waits for it for at most a quarter of [Options.Reserve]. A panic is logged and does not
// affect the run. An Observer must not be changed while a handler uses it.
type Observer struct {
	// RunStart is called after a run is accepted, before the agent is called. It returns the
	// context of the run: ctx, or one derived from it. The agent's context is derived from the
	// context of the run, which RunEnd receives. If RunStart panics, returns nil or does not return
	// in time, the context stays ctx.
	RunStart func(ctx context.Context, start RunStart) context.Context

	// RunEnd is called once per accepted run: before the response is sent, or, in code mode, after
	// it is written. In code mode [Main] waits for RunEnd for half of [Options.Reserve], so that
	// RunEnd can send what was collected before the program ends. The agent may still be running,
	// and ctx may have ended.
	RunEnd func(ctx context.Context, end RunEnd)

	// Refused is called for each request that the handler rejects before the agent, with any status
	// of the table at [Handler] but 500. It is not called for pings.
	Refused func(ctx context.Context, refusal Refusal)
}

// RunStart describes a run that begins.
type RunStart struct {
	Run *Run // must not be changed

	// Header returns the first value of a header of the request, or "". It returns "" for headers
	// that contain secrets: Authorization, Cookie, [Options.AuthHeader] and the run token. Header
	// is nil in code mode.
	Header func(name string) string
}

// RunEnd describes the end of a run.
type RunEnd struct {
	Run *Run // must not be changed

	// Err is the [*toolwire.Error] of a run that failed, or nil. Its code is [toolwire.CodeAgentFailed],
	// [toolwire.CodeAgentPanicked], [toolwire.CodeClientGone] or [toolwire.CodeDeadline], or the code of
	// an *Error that the agent returned. It unwraps to the agent's error, or to the value of the agent's
	// panic if that is an error. Their texts may contain secrets. [Options.FailureResponse] may have
	// turned the failure into a response.
	Err error

	// TimedOut reports that the response is from [Options.TimeoutResponse]. Err is then nil.
	TimedOut bool

	// Problems lists what was repaired or removed in the response, as [Options.Logger] receives it.
	Problems []Problem

	// Metadata combines the metadata of the agent's response and of the run's [Transcript], with
	// the model and the tokens. It is nil if neither contains any. It must not be changed.
	Metadata *Metadata

	Calls    int           // tool calls that the run's client has begun
	Duration time.Duration // from the arrival of the request
}

// Refusal describes a request that was rejected.
type Refusal struct {
	// Err is the [*toolwire.Error]. For a 401, its message gives the reason, which the peer does not
	// receive.
	Err    error
	Status int // of the response

	// Header returns a header of the request, as in [RunStart]. Do not trust the headers of a request
	// that was not authenticated.
	Header func(name string) string
}

// A testKit observes the run of a request that it has sent.
type testKit = runctx.Kit[Observer, proxy.Observer]

// startRun returns the context of the run, in which the run is found, and reports the start. The
// observer may derive another context from it. header is nil in code mode.
func (h *Handler) startRun(ctx context.Context, s *session, header http.Header) context.Context {
	s.kept.Run, s.kept.Recorder, s.transcript.others = &s.run, recorder{&s.transcript}, &s.kept
	ctx = runctx.With(ctx, &s.kept)
	if s.kit != nil {
		s.kept.Models = s.kit.Models
		ctx = runctx.With[*testKit](ctx, nil) // a run that this agent dispatches is not the kit's
	}
	o := h.opts.Observer
	if o == nil || o.RunStart == nil {
		return ctx
	}
	start := RunStart{Run: &s.run}
	if header != nil {
		start.Header = h.publicHeader(header)
	}
	started := make(chan context.Context, 1)
	h.hooks.Hook(ctx, s.run.RunID, func() { started <- o.RunStart(ctx, start) })
	select {
	case derived := <-started:
		if derived != nil {
			return derived
		}
	default:
	}
	return ctx
}

// endRun reports the end of a run. It must be called once for every run that startRun has reported.
func (h *Handler) endRun(ctx context.Context, s *session, out outcome, problems []Problem) {
	o := h.opts.Observer
	if s.kit == nil && (o == nil || o.RunEnd == nil) {
		return
	}
	end := RunEnd{
		Run: &s.run, TimedOut: out.timedOut, Problems: problems, Metadata: s.transcript.metadataCopy(),
		Calls: int(s.transcript.calls.Load()), Duration: time.Since(s.arrived),
	}
	if out.response != nil {
		end.Metadata = out.response.Metadata.with(end.Metadata)
	}
	if out.failure != nil {
		end.Err = out.failure
	}
	if s.kit != nil {
		s.kit.Runs.RunEnd(ctx, end)
	}
	if o != nil && o.RunEnd != nil {
		h.ends.Hook(ctx, s.run.RunID, func() { o.RunEnd(ctx, end) })
	}
}

func (h *Handler) observeRefusal(r *http.Request, err error) {
	ctx, o := r.Context(), h.opts.Observer
	kit := runctx.From[*testKit](ctx)
	if kit == nil && (o == nil || o.Refused == nil) {
		return
	}
	refusal := Refusal{Err: err, Status: statusOf(asError(err)), Header: h.publicHeader(r.Header)}
	if kit != nil {
		kit.Runs.Refused(ctx, refusal)
	}
	if o != nil && o.Refused != nil {
		h.hooks.Hook(ctx, "", func() { o.Refused(ctx, refusal) })
	}
}

// publicHeader returns a function that reads headers without secrets. It copies them, because the
// function may be called after the request.
func (h *Handler) publicHeader(header http.Header) func(string) string {
	public := header.Clone()
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", headerRunToken, h.opts.AuthHeader} {
		public.Del(name)
	}
	return public.Get
}
