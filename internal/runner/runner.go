// Package runner calls functions that users of the library wrote: agents, tools and hooks.
//
// Such a function may panic, end its goroutine or ignore its context. A function runs on a
// goroutine of its own. Its context ends at the time limit, or when the caller's context ends. It
// may still return a value within a grace period. After that the caller continues without it, and
// the function may keep running. A function must release what it holds, such as a place in a gate,
// with defer.
package runner

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/toolwire/toolwire/internal/runctx"
)

// Grace is how long a tool may take to return after its context has ended, and a hook at all. It bounds a wait. For
// a tool it also decides whether a late result counts; without it the call has timed out or was canceled, which is
// true in either case. For a hook it decides what a test kit reports: that the caller went on without the hook.
const Grace = 500 * time.Millisecond

// A Runner calls one kind of function. It is safe for concurrent use.
type Runner struct {
	What   string        // the kind of function, as log records name it: "tool", "agent", "OnCall"
	Key    string        // the attribute with the name of a call in log records: "tool", "run_id"
	Logger *slog.Logger  // receives panics; must not be nil
	Cause  error         // the cause of a context that ends at the time limit; unique to a package
	Grace  time.Duration // how long a function may take to return after its context has ended
}

// A Stop is the reason why the context of a function ended before the function returned.
type Stop int

const (
	InTime   Stop = iota // the function returned before its context ended
	TimedOut             // the time limit passed first
	Canceled             // the caller's context ended first
)

// An Outcome describes a call of a function.
type Outcome[T any] struct {
	Value T      // what the function returned
	Panic *Panic // not nil if it panicked or called runtime.Goexit
	Stop  Stop
	Cause error // of the end of its context; nil if Stop is InTime
	Left  bool  // it did not return within the grace period, and still runs
}

// A Panic describes a function that did not return in the ordinary way. It is an error that unwraps
// to the value of the panic, if that is an error.
type Panic struct {
	Value any    // what it panicked with; nil after runtime.Goexit
	Text  string // Value as text, or "runtime.Goexit"
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return "panic: " + p.Text }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Aborts reports whether the function panicked with [http.ErrAbortHandler], which a handler passes
// on to its server.
func (p *Panic) Aborts() bool { return p != nil && p.Value == http.ErrAbortHandler }

// Run calls f and waits for it as the package comment describes. name identifies the call in log
// records. If f returns a value after its context has ended, Stop is not InTime, and the caller
// decides whether to use the value.
func Run[T any](ctx context.Context, r *Runner, deadline time.Time, name string, f func(context.Context) T) Outcome[T] {
	limit := r.Cause
	if outer, ok := ctx.Deadline(); ok && outer.Before(deadline) {
		limit = nil // the caller's deadline comes first, and may have the same cause
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, r.Cause)
	defer cancel()
	done := make(chan Outcome[T], 1)
	go call(ctx, r, limit, name, f, done)
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
	}
	select {
	case out := <-done:
		return out
	case <-time.After(r.Grace):
		stop, cause := stopOf(ctx, limit)
		return Outcome[T]{Stop: stop, Cause: cause, Left: true}
	}
}

// call calls f and always sends the outcome. It does so in the outermost deferred function, because
// the value of a panic and the logger are the user's code too.
func call[T any](ctx context.Context, r *Runner, limit error, name string, f func(context.Context) T, done chan<- Outcome[T]) {
	var out Outcome[T]
	defer func() {
		_ = recover() // of the logger
		done <- out
	}()
	returned := false
	defer func() {
		out.Stop, out.Cause = stopOf(ctx, limit)
		if !returned {
			out.Panic = &Panic{Value: recover()}
			r.describe(ctx, name, out.Panic)
		}
	}()
	out.Value = f(ctx)
	returned = true
}

// stopOf returns why the context of a function has ended. limit is the cause of an end at the time limit.
func stopOf(ctx context.Context, limit error) (Stop, error) {
	switch cause := context.Cause(ctx); cause {
	case nil:
		return InTime, nil
	case limit:
		return TimedOut, cause
	default:
		return Canceled, cause
	}
}

// Hook calls a function that only observes. It waits for at most the grace period and never ends
// the caller's goroutine.
func (r *Runner) Hook(ctx context.Context, name string, f func()) {
	done := make(chan struct{})
	go func() {
		defer func() {
			_ = recover() // of the logger
			close(done)
		}()
		returned := false
		defer func() {
			if !returned {
				p := &Panic{Value: recover()}
				r.describe(ctx, name, p)
				r.Report(ctx, p)
			}
		}()
		f()
		returned = true
	}()
	select {
	case <-done:
	case <-time.After(r.Grace):
		defer func() { _ = recover() }() // of the logger
		const problem = "did not return in time and still runs"
		runctx.Fault{Function: r.What, Problem: problem, Detail: "waited " + r.Grace.String()}.Report(ctx)
		r.log(name).WarnContext(ctx, r.What+" "+problem, "waited", r.Grace)
	}
}

// Report passes a panic to the test kit of the context.
func (r *Runner) Report(ctx context.Context, p *Panic) {
	runctx.Fault{Function: r.What, Problem: "panicked", Detail: p.Text, Stack: p.Stack}.Report(ctx)
}

// describe sets the texts of a panic and logs them. It must be called by the deferred function that
// recovered, so that the stack shows the panic.
func (r *Runner) describe(ctx context.Context, name string, p *Panic) {
	p.Text, p.Stack = "runtime.Goexit", string(debug.Stack())
	if p.Value != nil {
		p.Text = fmt.Sprint(p.Value)
	}
	if !p.Aborts() {
		r.log(name).ErrorContext(ctx, r.What+" panicked", "panic", p.Text, "stack", p.Stack)
	}
}

func (r *Runner) log(name string) *slog.Logger {
	if name == "" {
		return r.Logger
	}
	return r.Logger.With(r.Key, name)
}
