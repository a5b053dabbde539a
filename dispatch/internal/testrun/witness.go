package testrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Witness sees a run in this process: its handler, its clients, and requests that the proxy refuses.
// It writes what they report to the output of the test. It is safe for concurrent use.
type Witness struct {
	output  io.Writer // of the test; nil if there is none
	secrets *redact.Set
	run     *proxytest.Run
	unpaced bool // the proxy of the run has no rate limit

	mu     sync.Mutex
	seen   Seen // since the last Take
	waits  []Wait
	models []*ModelRequest
}

// Place says who did something, when, and what it came after.
type Place struct {
	Actor string
	At    time.Time
	Order int // among all events of the run
}

// Wait is a wait of the run's client.
type Wait struct {
	Place
	proxy.WaitInfo
}

// ModelRequest is a request of the run to a model.
type ModelRequest struct {
	Place
	Took time.Duration
	Open bool // it has not ended
	runctx.ModelRequest
}

// place returns where something is that begins now.
func (w *Witness) place(ctx context.Context) Place {
	return Place{runctx.Actor(ctx), time.Now(), int(hook.Of[timeline.Order](w.run))}
}

// WatchAgent returns the handler of an agent. The witness sees its requests, panics and runs.
func (w *Witness) WatchAgent(handler http.Handler) http.Handler {
	kit := &runctx.Kit[dispatch.Observer, proxy.Observer]{
		Runs:    &dispatch.Observer{RunEnd: w.runEnd, Refused: w.refused},
		Calls:   &proxy.Observer{WaitStart: w.waitStart, TraceEnd: w.traceEnd},
		Models:  w.modelStart,
		Unpaced: w.unpaced,
	}
	return w.Watch(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(rw, r.WithContext(runctx.With(r.Context(), kit)))
	}))
}

// Watch returns a handler whose requests and panics the witness sees.
func (w *Witness) Watch(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				w.panicked(fmt.Sprint(p), string(debug.Stack()))
				panic(http.ErrAbortHandler)
			}
		}()
		ctx := runctx.With(r.Context(), runctx.Faults(w.fault))
		if w.output != nil {
			ctx = runctx.With(ctx, runctx.Show(w.show))
		}
		handler.ServeHTTP(rw, r.WithContext(ctx))
	})
}

// runEnd records how the run of a request ended. If a handler makes several of one request, the last
// one counts.
func (w *Witness) runEnd(_ context.Context, end dispatch.RunEnd) {
	seen := Seen{TimedOut: end.TimedOut, Problems: slices.Clone(end.Problems)}
	for i := range seen.Problems {
		seen.Problems[i].Fatal = false // the handler has repaired it
	}
	w.mu.Lock()
	w.seen = seen
	w.mu.Unlock()
	panicked, _ := errors.AsType[*runner.Panic](end.Err)
	switch {
	case end.Err == nil && end.TimedOut:
		w.show(fmt.Sprintf("run timed out after %s\n", end.Duration.Round(time.Millisecond)))
	case end.Err == nil:
		w.show(fmt.Sprintf("run answered after %s\n", end.Duration.Round(time.Millisecond)))
	case panicked.Aborts(): // the endpoint breaks the connection, which is not a failure of the agent
	case panicked != nil && toolwire.CodeOf(end.Err) == toolwire.CodeAgentPanicked:
		w.panicked(panicked.Text, panicked.Stack)
	default:
		w.failed(errors.Unwrap(end.Err).Error())
	}
	for _, p := range seen.Problems {
		w.show(fmt.Sprintf("response contract: %s\n", p))
	}
}

func (w *Witness) refused(_ context.Context, refusal dispatch.Refusal) {
	w.show(fmt.Sprintf("dispatch refused error=%q\n", refusal.Err))
}

func (w *Witness) waitStart(ctx context.Context, wait proxy.WaitInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, Wait{w.place(ctx), wait})
	w.show(testkit.WaitLine(wait.Name, wait.Expected, testkit.WaitReason(wait.Reason(), wait.Err == nil)))
}

func (w *Witness) modelStart(ctx context.Context) func(runctx.ModelRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	request := &ModelRequest{Place: w.place(ctx), Open: true}
	w.models = append(w.models, request)
	return func(ended runctx.ModelRequest) {
		w.mu.Lock()
		defer w.mu.Unlock()
		request.ModelRequest, request.Took, request.Open = ended, time.Since(request.At), false
	}
}

func (w *Witness) traceEnd(_ context.Context, event proxy.TraceEnd) {
	if event.Err != nil {
		w.show(fmt.Sprintf("proxy trace event lost: %v\n", event.Err))
	}
}

func (w *Witness) fault(f runctx.Fault) {
	w.show(fmt.Sprintf("%s %s: %s\n%s", f.Function, f.Problem, f.Detail, f.Stack))
}

// panicked records a panic of the agent, or of a handler that [dispatch.New] did not make.
func (w *Witness) panicked(value, stack string) {
	w.failed("panic: " + value + "\n" + strings.TrimSpace(stack))
}

// failed records why the agent failed, or why a program left no result.
func (w *Witness) failed(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Failure = reason
	w.show("the agent failed: " + reason + "\n")
}

// maxOutputText is how many characters of a text are shown, such as a panic with its stack.
const maxOutputText = 16_000

// show writes to the test's output, without secrets. What an agent says cannot forge a line or steer
// a terminal.
func (w *Witness) show(s string) {
	if w.output != nil {
		_, _ = io.WriteString(w.output, "dispatchtest: "+text.Lines(w.secrets.Redact(s), maxOutputText)+"\n")
	}
}

// Seen is what was reported about the agent in one turn.
type Seen struct {
	Failure  string             // the agent's error or panic; "" if it did not fail
	TimedOut bool               // the handler answered because the time was over
	Problems []dispatch.Problem // of the agent's answer
}

// Take returns what was reported about the agent since the last Take.
func (w *Witness) Take() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = Seen{}
	seen.Failure = w.secrets.Redact(seen.Failure)
	return seen
}

// Waits returns the waits of the run.
func (w *Witness) Waits() []Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.waits)
}

// ModelRequests returns the requests of the run to models. Those that have not ended took until now.
func (w *Witness) ModelRequests() (list []ModelRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, request := range w.models {
		m := *request
		if m.Open {
			m.Took = time.Since(m.At)
		}
		list = append(list, m)
	}
	return list
}
