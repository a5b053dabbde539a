// Package toolcall is the loop around a call of a tool that is written in Go. It takes the reasoning of
// the model out of the arguments, validates them, adds the defaults of the schema, runs the tool with
// a time limit, contains its panics, and says what the model reads about a failure.
//
//	a := tool.Arguments(raw)
//	result, failure := toolcall.Run(ctx, loop, a, func(ctx context.Context) (string, *toolcall.Failure) {
//		result, err := function(ctx, a.Filled())
//		return result, toolcall.FailureOf(err)
//	})
package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Tool is a tool that is ready to be called. It is immutable and safe for concurrent use.
type Tool struct {
	name      string
	validate  func(arguments []byte) error
	defaults  *object
	reasoning bool // an argument of the tool
}

// New prepares a tool. parameters is a valid schema of an object, and validate checks arguments by it.
func New(name string, parameters json.RawMessage, validate func(arguments []byte) error) *Tool {
	return &Tool{name: name, validate: validate, defaults: objectOf(parameters), reasoning: declared(parameters)}
}

// Arguments are the arguments of one call.
type Arguments struct {
	Bare      json.RawMessage // without the model's reasoning, unless the tool declares that parameter
	Reasoning string          // of the model: a string as its text, "" for null, the JSON of anything else
	tool      *Tool
}

// Arguments takes the reasoning out of arguments, which must be a valid JSON object.
func (t *Tool) Arguments(whole json.RawMessage) Arguments {
	a := Arguments{Bare: whole, tool: t}
	if !t.reasoning {
		a.Bare, a.Reasoning = take(whole)
	}
	return a
}

// Filled returns Bare with the defaults of the properties that it leaves out, at the root and in objects
// that are there. If the arguments would not be valid with all of them, they are added one by one, and a
// default that makes the arguments invalid is left out; of more than 100 only the first 100 are tried.
// Members keep their order and their values; added members follow.
func (a Arguments) Filled() json.RawMessage { return a.tool.defaults.fill(a.Bare, a.tool.validate) }

// A Loop runs tools. It is safe for concurrent use.
type Loop struct {
	timeout time.Duration
	places  chan struct{} // holds one value for each tool that runs, also beyond its time limit
	tools   runner.Runner
	hooks   runner.Runner
}

// ErrTimeout is the cause of the context of a tool that exceeds its time limit.
var ErrTimeout = errors.New("the tool took too long")

// NewLoop returns a loop in which at most parallel tools run at the same time. The logger receives panics.
func NewLoop(timeout time.Duration, parallel int, logger *slog.Logger) *Loop {
	return &Loop{
		timeout: timeout,
		places:  make(chan struct{}, parallel),
		tools:   runner.Runner{What: "tool", Key: "tool", Logger: logger, Cause: ErrTimeout, Grace: runner.Grace},
		hooks:   runner.Runner{What: "OnCall", Key: "tool", Logger: logger, Grace: runner.Grace},
	}
}

// OnCall calls a hook that describes a call of a tool, as [runner.Runner.Hook] says.
func (l *Loop) OnCall(ctx context.Context, tool string, hook func()) { l.hooks.Hook(ctx, tool, hook) }

// The codes of a [Failure].
const (
	Invalid  = "invalid_arguments" // they do not match the schema or the Go type of the tool
	Failed   = "tool_failed"       // the tool returned an error
	Panicked = "tool_panicked"     // the tool panicked or ended its goroutine
	TimedOut = "timeout"           // the time limit passed
	Busy     = "busy"              // no place became free within the time limit; the tool did not run
	Canceled = "canceled"          // the caller's context ended
)

// A Failure is why a call has no result. Its code is one of those above, or one that the function for
// [Run] chose.
type Failure struct {
	Code    string
	Message string // for the model
	Err     error  // the cause; nil for Panicked
	Silent  bool   // the tool gave no text for the model, which is what the end of its context looks like
	Aborts  bool   // the tool panicked with http.ErrAbortHandler
}

const correct = "; correct them and call the tool again"

// A misfit is an error of arguments that match a schema but not a Go type.
type misfit struct{ error }

// Decode decodes arguments into a Go type, as encoding/json does. A tool that returns the error fails
// with [Invalid].
func Decode[In any](arguments json.RawMessage) (In, error) {
	in, err := rawjson.Decode[In](arguments, "the arguments")
	if err != nil {
		err = &misfit{err}
	}
	return in, err
}

// Run validates the arguments, waits for a place, runs the tool, and waits for it. The wait for a place
// may take as long as the tool itself. What the tool returns counts even if it is late, unless it failed
// silently. f runs on a goroutine of its own. It returns the failures of [FailureOf] or its own.
func Run[T any](
	ctx context.Context, l *Loop, a Arguments, f func(ctx context.Context) (T, *Failure),
) (result T, failure *Failure) {
	if err := a.tool.validate(a.Bare); err != nil {
		return result, &Failure{Code: Invalid, Message: "arguments: " + err.Error() + correct, Err: err}
	}
	if failure = l.enter(ctx); failure != nil {
		return result, failure
	}
	type returned struct {
		result  T
		failure *Failure
	}
	end := runner.Run(ctx, &l.tools, time.Now().Add(l.timeout), a.tool.name, func(ctx context.Context) returned {
		defer func() { <-l.places }()
		result, failure := f(ctx)
		return returned{result, failure}
	})
	out := end.Value
	switch {
	case end.Panic != nil:
		return result, &Failure{Code: Panicked, Message: toolresult.TextBroken, Aborts: end.Panic.Aborts()}
	case end.Stop == runner.InTime || !end.Left && (out.failure == nil || !out.failure.Silent):
		return out.result, out.failure
	case end.Stop == runner.TimedOut:
		return result, &Failure{Code: TimedOut, Message: toolresult.TimeoutText(l.timeout), Err: ErrTimeout}
	}
	return result, canceled(ctx)
}

// enter takes one of the places in which a tool may run.
func (l *Loop) enter(ctx context.Context) *Failure {
	if ctx.Err() != nil {
		return canceled(ctx)
	}
	select {
	case l.places <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(l.timeout)
	defer wait.Stop()
	select {
	case l.places <- struct{}{}:
		return nil
	case <-wait.C:
		return &Failure{Code: Busy, Message: "the tool did not run, because too many calls are in progress; call it again later"}
	case <-ctx.Done():
		return canceled(ctx)
	}
}

func canceled(ctx context.Context) *Failure {
	return &Failure{Code: Canceled, Message: "the call was canceled", Err: httpcall.ContextError(ctx)}
}

// FailureOf returns the failure of a tool that returned err, with the text for the model. It calls
// methods of err, which may panic, so it must be called in the function for [Run].
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	if m, ok := errors.AsType[*misfit](err); ok {
		return &Failure{Code: Invalid, Message: m.Error() + correct, Err: m.error}
	}
	if text, ok := toolresult.TextOf(err); ok {
		return &Failure{Code: Failed, Message: text, Err: err}
	}
	return &Failure{Code: Failed, Message: toolresult.TextFailed, Err: err, Silent: true}
}
