package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/toolwire/toolwire/internal/runctx"
)

// maxParallel bounds the calls of one [Each], because a model decides how many calls it asks for.
const maxParallel = 16

// Each calls do for all tool calls that one message of a model asks for, at the same time, and
// returns the results in the order of calls. It is independent of the client that do uses: a
// [Client], a manifest, a toolbox or the agent's own functions.
//
//	results, err := proxy.Each(ctx, message.ToolCalls, func(ctx context.Context, call ToolCall) (Message, error) {
//		result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Arguments)
//		return ToolMessage(call.ID, result), err
//	})
//
// At most 16 calls run at the same time. They begin in their order. The transcript of a run shows
// them as one message in that order.
//
// If do returns an error, the agent should stop, as after an error of CallForModel. Each then
// cancels the context of the other calls, begins no more, waits for the running ones, and returns the
// first error. If ctx ends before all calls have begun, and no call has failed, Each returns the
// cause of ctx. If do panics or calls [runtime.Goexit], Each stops in the same way, and then panics
// or exits itself.
func Each[C, R any](ctx context.Context, calls []C, do func(ctx context.Context, call C) (R, error)) ([]R, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := batch{cancel: cancel, places: make(chan struct{}, maxParallel)}
	results, turn, begun := make([]R, len(calls)), new(runctx.Turn), 0
	for i, call := range calls {
		if !b.enter(inner) {
			break
		}
		begun++
		go b.run(func() (err error) {
			results[i], err = do(runctx.WithTurn(inner, turn, i), call)
			return err
		})
	}
	b.running.Wait()
	err := b.conclude()
	if err == nil && begun < len(calls) {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// batch is the calls of one [Each].
type batch struct {
	cancel  context.CancelCauseFunc // ends the context of the calls
	places  chan struct{}           // holds one element for each call that runs
	running sync.WaitGroup

	once   sync.Once // guards the rest: why the calls stop
	err    error
	panic  any
	exited bool // a call has called runtime.Goexit
}

// enter waits until another call may begin. It returns false if ctx has ended.
func (b *batch) enter(ctx context.Context) bool {
	select {
	case b.places <- struct{}{}:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return false
	}
	b.running.Add(1)
	return true
}

// run makes a call that has entered.
func (b *batch) run(call func() error) {
	var err error
	returned := false
	defer func() {
		if value := recover(); !returned {
			b.stop(errCallPanicked, func() { b.panic, b.exited = withStack(value), value == nil })
		} else if err != nil {
			b.stop(err, func() { b.err = err })
		}
		<-b.places
		b.running.Done()
	}()
	err = call()
	returned = true
}

var errCallPanicked = errors.New("another call of the same message panicked")

// stop ends the context of the other calls. Only the first reason counts.
func (b *batch) stop(cause error, keep func()) {
	b.once.Do(func() {
		keep()
		b.cancel(cause)
	})
}

// conclude returns the error that stopped the calls, or repeats a panic on the caller's goroutine.
func (b *batch) conclude() error {
	switch {
	case b.exited:
		runtime.Goexit()
	case b.panic != nil:
		panic(b.panic)
	}
	return b.err
}

// callPanic is the value of a panic on the goroutine of a call, with the stack of that goroutine.
type callPanic struct {
	value any
	stack []byte
}

// Error implements error.
func (p *callPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// Unwrap returns the value if it is an error.
func (p *callPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// withStack returns what is to be panicked with instead of value. A server compares
// [http.ErrAbortHandler], so it stays as it is.
func withStack(value any) any {
	if value == nil || value == http.ErrAbortHandler {
		return value
	}
	return &callPanic{value, debug.Stack()}
}
