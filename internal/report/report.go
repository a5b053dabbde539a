// Package report shows a test kit what happens inside a run that the kit dispatched in its own
// process.
//
// Packages dispatch and proxy log to the *slog.Logger of their options, which discards records by
// default. [Logger] wraps that logger: a record that is logged with a context made by [With] goes
// to the context's [Sink] too. So a kit sees the agent's errors, panics, refused requests, contract
// problems and waits of a handler that has no logger. In production no context has a sink, and the
// wrapper only looks it up.
//
// Whoever adds a log record to these packages has to pass the context of the request or call, and
// the kits then show it. The records that a kit does more with than print them have their names and
// attributes in this package.
package report

import (
	"context"
	"log/slog"
	"slices"
)

// The names of records and attributes that a kit evaluates.
const (
	RunFailed     = "run failed"                     // Error
	TimedOut      = "run timed out"                  // the handler answered in the agent's place
	AgentPanicked = "agent panicked"                 // Panic, Stack
	Contract      = "response contract"              // Code, Pointer, Problem: one [dispatch.Problem] of the agent's answer
	Refused       = "dispatch refused"               // Error: the handler refused a request
	CallRefused   = "proxy refused a request"        // Tool, Actor, Status, Class, Reason: the proxy of a kit gave no result
	WaitsForPace  = "proxy waits for its rate limit" // Tool, Wait, Limit, Window
	WaitsToRepeat = "proxy waits before repeating"   // Tool, Wait, Status, Class

	Error   = "error"
	Panic   = "panic"
	Stack   = "stack"
	Code    = "code"
	Pointer = "pointer"
	Problem = "problem"
	Tool    = "tool"
	Actor   = "actor"
	Wait    = "wait"
	Status  = "status"
	Class   = "class"
	Reason  = "reason"
	Limit   = "limit"
	Window  = "window"
)

// Sink is what a kit puts into a context.
type Sink struct {
	// Report receives the records of level Info and above. It must be safe for concurrent use, also
	// after the test has ended.
	Report func(slog.Record)

	// Silent is set when Report does not show the records. The proxy that a kit plays for a test
	// then shows its own.
	Silent bool

	// Unpaced is set when the proxy of the run has no rate limit: its clients then send without
	// waiting.
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

// Logger returns a logger that writes to l, and to the sink of the context of a record. If l is
// nil, it writes to the sink only.
func Logger(l *slog.Logger) *slog.Logger {
	base := slog.Handler(slog.DiscardHandler)
	if l != nil {
		base = l.Handler()
	}
	return slog.New(tee{base: base})
}

// tee is a handler that writes to another one and to the sink of the context.
type tee struct {
	base  slog.Handler
	attrs []slog.Attr // of WithAttrs, for the sink
	group string      // of WithGroup, for the sink: the prefix of later attributes
}

// Enabled implements slog.Handler.
func (t tee) Enabled(ctx context.Context, level slog.Level) bool {
	return t.base.Enabled(ctx, level) || level >= slog.LevelInfo && From(ctx) != nil
}

// Handle implements slog.Handler.
func (t tee) Handle(ctx context.Context, record slog.Record) error {
	if s := From(ctx); s != nil && record.Level >= slog.LevelInfo {
		whole := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
		whole.AddAttrs(t.attrs...)
		record.Attrs(func(a slog.Attr) bool {
			a.Key = t.group + a.Key
			whole.AddAttrs(a)
			return true
		})
		s.Report(whole)
	}
	if !t.base.Enabled(ctx, record.Level) {
		return nil
	}
	return t.base.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	t.base, t.attrs = t.base.WithAttrs(attrs), slices.Clone(t.attrs)
	for _, a := range attrs {
		a.Key = t.group + a.Key
		t.attrs = append(t.attrs, a)
	}
	return t
}

// WithGroup implements slog.Handler.
func (t tee) WithGroup(name string) slog.Handler {
	t.base, t.group = t.base.WithGroup(name), t.group+name+"."
	return t
}
