package runner_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/runner"
)

type nameKey struct{}

// The context of a function ends with the reason that the outcome reports.
func TestContext(t *testing.T) {
	gone := errors.New("gone")
	const limit = time.Minute
	for _, tt := range []struct {
		name  string
		outer time.Duration                // deadline of the caller; 0 for none
		end   func(cancel func(err error)) // ends the caller's context; nil for nobody
		after time.Duration
		err   error
		cause error
		stop  runner.Stop
	}{
		{"limit", time.Hour, nil, limit, context.DeadlineExceeded, errLimit, runner.TimedOut},
		{"caller", 0, func(cancel func(error)) { cancel(gone) }, 0, context.Canceled, gone, runner.Canceled},
		{"caller without a cause", 0, func(cancel func(error)) { cancel(nil) }, 0, context.Canceled, context.Canceled, runner.Canceled},
		{"deadline of the caller", time.Second, nil, time.Second, context.DeadlineExceeded, context.DeadlineExceeded, runner.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				outer, cancel := context.WithCancelCause(context.WithValue(t.Context(), nameKey{}, "n"))
				defer cancel(nil)
				if tt.outer > 0 {
					var end context.CancelFunc
					outer, end = context.WithTimeout(outer, tt.outer)
					defer end()
				}
				begin := time.Now()
				got := runner.Run(outer, newRunner(io.Discard), begin.Add(limit), "x", func(ctx context.Context) int {
					if ctx.Err() != nil || ctx.Value(nameKey{}) != "n" {
						t.Errorf("at the start: %v, value %v", ctx.Err(), ctx.Value(nameKey{}))
					}
					if tt.end != nil {
						tt.end(cancel)
					}
					<-ctx.Done()
					if ctx.Err() != tt.err || context.Cause(ctx) != tt.cause || time.Since(begin) != tt.after {
						t.Errorf("%v, cause %v, after %s", ctx.Err(), context.Cause(ctx), time.Since(begin))
					}
					return 7
				})
				if got.Value != 7 || got.Stop != tt.stop || got.Cause != tt.cause || got.Left || got.Panic != nil {
					t.Errorf("%+v, cause %v", got, got.Cause)
				}
			})
		})
	}
}

// A function that goes on after its return finds its context ended.
func TestContextAfterTheReturn(t *testing.T) {
	var kept context.Context
	out := runner.Run(t.Context(), newRunner(io.Discard), time.Now().Add(time.Hour), "x", func(ctx context.Context) int {
		kept = ctx
		return 1
	})
	<-kept.Done()
	if out.Stop != runner.InTime || out.Cause != nil || context.Cause(kept) != context.Canceled {
		t.Errorf("%+v, cause %v", out, context.Cause(kept))
	}
}
