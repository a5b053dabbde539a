// Package report shows a test kit what happens inside a run that the kit dispatched in its own process.
//
// Packages dispatch and proxy log to the *slog.Logger of their options, which discards records by default. [Logger] wraps
// that logger: a record that is logged with a context made by [With] goes to the context's [Sink] too. So a kit sees the
// agent's errors, panics, refused requests, contract problems and waits of a handler that has no logger. In production no
// context has a sink, and the wrapper only looks it up.
//
// Whoever adds a log record to these packages has to pass the context of the request or call, and the kits then show it.
// The records that a kit does more with than print them have their names and attributes in this package.
package report

import (
	"context"
	"log/slog"
	"slices"
)

// The names of records and attributes that a kit evaluates.
const (
	RunFailed     = "run failed"                     // Error
	AgentPanicked = "agent panicked"                 // Panic, Stack
	Contract      = "response contract"              // Code, Pointer, Problem: one [dispatch.Problem] of the agent's answer
	Refused       = "dispatch refused"               // Error: the handler refused a request
	WaitsForPace  = "proxy waits for its rate limit" // Tool, Wait
	WaitsToRepeat = "proxy waits before repeating"   // Tool, Wait, Status, Class

	Error   = "error"
	Panic   = "panic"
	Stack   = "stack"
	Code    = "code"
	Pointer = "pointer"
	Problem = "problem"
	Tool    = "tool"
	Wait    = "wait"
	Status  = "status"
	Class   = "class"
)

// Sink is what a kit puts into a context.
type Sink struct {
	// Handler receives the records. It must be safe for concurrent use, also after the test.
	Handler slog.Handler

	// Unpaced is set when the proxy of the run has no rate limit: its clients then send without waiting.
	Unpaced bool
}

type key struct{}

// With returns a context with the sink.
func With(ctx context.Context, s *Sink) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the sink of the context, or nil.
func From(ctx context.Context) *Sink {
	s, _ := ctx.Value(key{}).(*Sink)
	return s
}

// Logger returns a logger that writes to l, and to the sink of the context of a record. If l is nil, it writes to the sink
// only.
func Logger(l *slog.Logger) *slog.Logger {
	base := slog.Handler(slog.DiscardHandler)
	if l != nil {
		base = l.Handler()
	}
	return slog.New(tee{base: base})
}

// tee is a handler that writes to two: its own, and that of the context.
type tee struct {
	base  slog.Handler
	added []func(slog.Handler) slog.Handler // WithAttrs and WithGroup, for the handler of the context
}

// Enabled implements slog.Handler.
func (t tee) Enabled(ctx context.Context, level slog.Level) bool {
	if t.base.Enabled(ctx, level) {
		return true
	}
	s := From(ctx)
	return s != nil && s.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (t tee) Handle(ctx context.Context, record slog.Record) error {
	if s := From(ctx); s != nil {
		h := s.Handler
		for _, add := range t.added {
			h = add(h)
		}
		if h.Enabled(ctx, record.Level) {
			_ = h.Handle(ctx, record.Clone()) // the user's handler gets the record whatever a kit does with it
		}
	}
	if !t.base.Enabled(ctx, record.Level) {
		return nil
	}
	return t.base.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	return t.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (t tee) WithGroup(name string) slog.Handler {
	return t.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (t tee) with(add func(slog.Handler) slog.Handler) slog.Handler {
	return tee{add(t.base), append(slices.Clone(t.added), add)}
}
