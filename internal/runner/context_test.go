package runner_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/runner"
)

type nameKey struct{}

// The context of a job behaves like one of package context, whether or not something was derived
// from it before its end.
func TestContext(t *testing.T) {
	gone, over := errors.New("gone"), errors.New("over")
	const limit = time.Minute
	for _, tt := range []struct {
		name  string
		outer time.Duration                  // deadline of the caller; 0 for none
		end   func(cancel, stop func(error)) // cancel ends the caller's context, stop that of the call
		after time.Duration
		err   error
		cause error
		stop  runner.Stop
	}{
		{"limit", time.Hour, nil, limit, context.DeadlineExceeded, errLimit, runner.TimedOut},
		{"caller", 0, func(cancel, _ func(error)) { cancel(gone) }, 0, context.Canceled, gone, runner.Canceled},
		{"deadline of the caller", time.Second, nil, time.Second, context.DeadlineExceeded, context.DeadlineExceeded, runner.Canceled},
		{"call", 0, func(_, stop func(error)) { stop(over) }, 0, context.Canceled, over, runner.Canceled},
		{"call without a cause", 0, func(_, stop func(error)) { stop(nil) }, 0, context.Canceled, context.Canceled, runner.Canceled},
		{"call, then caller", 0, func(cancel, stop func(error)) { stop(over); cancel(gone) }, 0, context.Canceled, over, runner.Canceled},
		{"caller, then call", 0, func(cancel, stop func(error)) { cancel(gone); stop(over) }, 0, context.Canceled, gone, runner.Canceled},
	} {
		for _, used := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: ", derived"}[used], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					outer, cancel := context.WithCancelCause(context.WithValue(t.Context(), nameKey{}, "n"))
					defer cancel(nil)
					if tt.outer > 0 {
						var end context.CancelFunc
						outer, end = context.WithTimeout(outer, tt.outer)
						defer end()
					}
					call := new(runner.Call[int])
					job := runner.Func[int](func(ctx context.Context) int {
						child := ctx
						if used {
							var end context.CancelFunc
							child, end = context.WithTimeout(context.WithValue(ctx, nameKey{}, "child"), time.Hour)
							defer end()
						}
						cause, value := context.Cause(ctx), ctx.Value(nameKey{})
						if ctx.Err() != nil || child.Err() != nil || cause != nil || value != "n" {
							t.Errorf("at the start: %v, %v, cause %v, value %v", ctx.Err(), child.Err(), cause, value)
						}
						if d, ok := ctx.Deadline(); !ok || time.Until(d) != min(limit, cmp.Or(tt.outer, limit)) {
							t.Errorf("the deadline is in %s", time.Until(d))
						}
						begin := time.Now()
						if tt.end != nil {
							tt.end(cancel, call.Cancel)
						} else {
							time.Sleep(tt.after)
							synctest.Wait()
						}
						if ctx.Err() != tt.err || context.Cause(ctx) != tt.cause {
							t.Errorf("%v, cause %v; want %v, %v", ctx.Err(), context.Cause(ctx), tt.err, tt.cause)
						}
						<-child.Done()
						<-ctx.Done()
						late, end := context.WithCancel(ctx)
						defer end()
						for name, c := range map[string]context.Context{"child": child, "late": late, "context": ctx} {
							if c.Err() != tt.err || context.Cause(c) != tt.cause {
								t.Errorf("%s: %v, cause %v; want %v, %v",
									name, c.Err(), context.Cause(c), tt.err, tt.cause)
							}
						}
						if time.Since(begin) != tt.after || ctx.Value(nameKey{}) != "n" {
							t.Errorf("ended after %s, value %v", time.Since(begin), ctx.Value(nameKey{}))
						}
						return 7
					})
					got := call.Run(outer, newRunner(io.Discard), time.Now().Add(limit), "x", job)
					if got.Value != 7 || got.Stop != tt.stop || got.Cause != tt.cause || got.Left || got.Panic != nil {
						t.Errorf("%+v, cause %v", got, got.Cause)
					}
				})
			})
		}
	}
}

// A job that goes on after its return finds its context ended.
func TestContextAfterTheReturn(t *testing.T) {
	var kept, child context.Context
	job := func(ctx context.Context) int {
		kept = ctx
		child = context.WithValue(ctx, nameKey{}, 1)
		return 1
	}
	out := runner.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", job)
	<-kept.Done()
	if out.Stop != runner.InTime || out.Cause != nil || kept.Err() != context.Canceled ||
		context.Cause(child) != context.Canceled {
		t.Errorf("%+v, %v, cause %v", out, kept.Err(), context.Cause(child))
	}
}

// A call can be canceled before it runs, and after it has run.
func TestCancelBeforeAndAfterRun(t *testing.T) {
	over := errors.New("over")
	call := new(runner.Call[error])
	call.Cancel(over)
	job := runner.Func[error](func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
	out := call.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", job)
	if out.Value != over || out.Cause != over {
		t.Errorf("%+v", out)
	}
	call = new(runner.Call[error])
	quick := runner.Func[error](func(context.Context) error { return nil })
	out = call.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", quick)
	if out.Stop != runner.InTime {
		t.Errorf("%+v", out)
	}
	call.Cancel(over)
}

// hooked is a context whose values are looked up with a function.
type hooked struct {
	context.Context
	lookup func()
}

func (h *hooked) Value(key any) any {
	h.lookup()
	return h.Context.Value(key)
}

// The context may end while the first call of Done is under way.
func TestContextEndsDuringDone(t *testing.T) {
	over := errors.New("over")
	call := new(runner.Call[error])
	outer := &hooked{t.Context(), func() {}}
	out := call.Run(outer, newRunner(io.Discard), time.Now().Add(time.Hour), "x", runner.Func[error](func(ctx context.Context) error {
		outer.lookup = func() { call.Cancel(over) }
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	if out.Value != over || out.Cause != over {
		t.Errorf("%+v", out)
	}
}

// A call that is over is freed, although its deadline is far away.
func TestCallIsFreed(t *testing.T) {
	freed := make(chan struct{})
	func() {
		call := new(runner.Call[int])
		runtime.AddCleanup(call, func(int) { close(freed) }, 0)
		call.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", runner.Func[int](func(ctx context.Context) int {
			ctx.Done()
			return 1
		}))
	}()
	for range 10_000 {
		runtime.GC()
		runtime.Gosched()
		select {
		case <-freed:
			return
		default:
		}
	}
	t.Error("the call is kept")
}

// Contexts that are derived from that of a job take no goroutine.
func TestDerivedContextsTakeNoGoroutine(t *testing.T) {
	const n = 100
	runner.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", func(ctx context.Context) int {
		before := runtime.NumGoroutine()
		for range n {
			_, end := context.WithTimeout(context.WithValue(ctx, nameKey{}, 1), time.Hour)
			defer end()
			stop := context.AfterFunc(ctx, func() {})
			defer stop()
		}
		if more := runtime.NumGoroutine() - before; more > n/10 {
			t.Errorf("%d contexts take %d goroutines", 2*n, more)
		}
		return 0
	})
}

// As with the contexts of package context, Err is not nil only if Done is closed and the cause is
// known, whoever ends the context meanwhile.
func TestContextEndsAtOnce(t *testing.T) {
	over := errors.New("over")
	for i := range 300 {
		call := new(runner.Call[int])
		job := runner.Func[int](func(ctx context.Context) int {
			var all sync.WaitGroup
			if i%2 == 0 {
				ctx.Done()
			} else {
				all.Go(func() { <-ctx.Done() })
			}
			for range 2 {
				all.Go(func() {
					for ctx.Err() == nil {
						runtime.Gosched()
					}
					if context.Cause(ctx) != over {
						t.Errorf("the context has ended with %v and the cause %v", ctx.Err(), context.Cause(ctx))
					}
					select {
					case <-ctx.Done():
					default:
						t.Error("the context has ended with an error before Done is closed")
					}
				})
			}
			call.Cancel(over)
			all.Wait()
			return 0
		})
		call.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", job)
		if t.Failed() {
			return
		}
	}
}
