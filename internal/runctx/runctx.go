// Package runctx passes values through contexts by their type: who makes a tool call, what a test kit
// wants to see of a run that it dispatches in its own process, and what packages keep for the duration
// of a run.
//
// A kit puts a [Kit], a [Show] and [Faults] into the context of the request. In production no context
// has them.
package runctx

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
)

type key[T any] struct{}

// With returns a context with v, which [From] finds by its type.
func With[T any](ctx context.Context, v T) context.Context {
	return context.WithValue(ctx, key[T]{}, v)
}

// From returns the T of the context, or the zero T.
func From[T any](ctx context.Context) T {
	v, _ := ctx.Value(key[T]{}).(T)
	return v
}

// A Kit observes the run of one request. R is dispatch.Observer, and C is proxy.Observer. The handler of
// the run calls them beside the observers of its options, and package llm calls Models. The handler takes
// the kit out of the context of the run, so that a run inside of that run has none.
type Kit[R, C any] struct {
	Runs    *R
	Calls   *C
	Models  Models
	Unpaced bool // the proxy of the run has no rate limit: its clients send without waiting
}

// CallLimit is how many requests for tools the runs of a platform may make; 0 is any number.
type CallLimit int

// Rate is how many requests of one run token a platform accepts in any 60 seconds; -1 is any number.
type Rate int

// What the command toolwire eval sets and asks in package eval.
type (
	Repeat  string // a command line that runs a case again: $CASE stands for its id, quoted for a shell
	ByPoint bool   // the rate itself has to reach the bar, and not its interval
	Checked int    // how many cases of a plan would run and expect something
)

// Models is called when a run sends a request to a model. It returns a function that is called once,
// when the request has ended. The handler keeps the Models of its kit for the run, see [Kept].
type Models func(ctx context.Context) (end func(ModelRequest))

// ModelRequest is what is known of a request to a model when it has ended.
type ModelRequest struct {
	Model                     string // its id; "" if neither request nor response names it
	Status                    int    // of the response; 0 if there was none
	InputTokens, OutputTokens int64  // 0 if they were not reported
}

// Show writes a line to the output of the test that dispatched the run.
type Show func(line string)

// Fault describes a function of a handler's options that panicked, or that did not return in time
// and still runs.
type Fault struct {
	Function string // such as "a function of Options.Observer"
	Problem  string // such as "panicked"
	Detail   string // what it panicked with, or how long the handler waited
	Stack    string // of a panic
}

// Faults is called for each fault.
type Faults func(Fault)

// Report calls the Faults of the context, if there is one.
func (f Fault) Report(ctx context.Context) {
	if faults := From[Faults](ctx); faults != nil {
		faults(f)
	}
}

var outside atomic.Int64

// CountOutside counts a request to a model that has no run in its context, because the agent did not
// pass its context on. The first one of the process is logged.
func CountOutside(ctx context.Context) {
	if outside.Add(1) == 1 {
		slog.WarnContext(ctx, "a request to a model has no run in its context, so no transcript contains it, and it does not "+
			"end with a run; in an agent, pass the agent's context to the SDK")
	}
}

// Outside returns how many requests were counted in this process.
func Outside() int64 { return outside.Load() }

// A Recorder writes what package llm has seen of a run into its transcript. M is dispatch.Message, P is
// dispatch.Problem, and D is dispatch.Metadata.
type Recorder[M, P, D any] interface {
	SetConversation(ctx context.Context, messages []M)
	SetEnd(ctx context.Context, backward iter.Seq2[int, M])
	AddProblem(problem P)
	UpdateMetadata(change func(*D))
}

// Kept is a run, and what other packages keep for it: one value of each type. Its fields are set before the agent runs.
type Kept[R any] struct {
	Run      *R
	Recorder any // a [Recorder]
	Models   Models

	mu     sync.Mutex
	values map[any]any
}

// Find returns the T that is kept for the run, or the zero T.
func Find[T, R any](kept *Kept[R]) (v T) {
	if kept != nil {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		v, _ = kept.values[key[T]{}].(T)
	}
	return v
}

// Keep returns the T that is kept for the run. The first call makes it, and another one waits until it is made.
func Keep[T, R any](kept *Kept[R], made func() T) T {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	v, ok := kept.values[key[T]{}].(T)
	if !ok {
		if kept.values == nil {
			kept.values = map[any]any{}
		}
		v = made()
		kept.values[key[T]{}] = v
	}
	return v
}
