package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/runner"
)

var errLimit = errors.New("limit")

func newRunner(log io.Writer) *runner.Runner {
	return &runner.Runner{
		What: "tool", Key: "tool", Logger: slog.New(slog.NewTextHandler(log, nil)), Cause: errLimit, Grace: time.Second,
	}
}

func TestRun(t *testing.T) {
	const limit = 10 * time.Second
	for _, tt := range []struct {
		name   string
		f      func(ctx context.Context) string
		cancel time.Duration // when the caller's context ends; 0 for never
		want   runner.Outcome[string]
		after  time.Duration
	}{
		{"in time", func(context.Context) string { return "done" }, 0, runner.Outcome[string]{Value: "done"}, 0},
		{"obeys the limit", func(ctx context.Context) string { <-ctx.Done(); return context.Cause(ctx).Error() }, 0,
			runner.Outcome[string]{Value: "limit", Stop: runner.TimedOut}, limit},
		{"returns within the grace period", func(ctx context.Context) string { time.Sleep(limit + time.Second/2); return "late" }, 0,
			runner.Outcome[string]{Value: "late", Stop: runner.TimedOut}, limit + time.Second/2},
		{"ignores the limit", func(context.Context) string { time.Sleep(time.Hour); return "too late" }, 0,
			runner.Outcome[string]{Stop: runner.TimedOut, Left: true}, limit + time.Second},
		{"obeys the caller", func(ctx context.Context) string { <-ctx.Done(); return "stopped" }, time.Second,
			runner.Outcome[string]{Value: "stopped", Stop: runner.Canceled}, time.Second},
		{"ignores the caller", func(context.Context) string { time.Sleep(time.Hour); return "" }, time.Second,
			runner.Outcome[string]{Stop: runner.Canceled, Left: true}, 2 * time.Second},
		{"ends its goroutine", func(context.Context) string { runtime.Goexit(); return "" }, 0,
			runner.Outcome[string]{Panic: &runner.Panic{Text: "runtime.Goexit"}}, 0},
		{"panics late", func(ctx context.Context) string { <-ctx.Done(); panic("why") }, 0,
			runner.Outcome[string]{Panic: &runner.Panic{Text: "why"}, Stop: runner.TimedOut}, limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				start := time.Now()
				got := runner.Run(ctx, newRunner(io.Discard), start.Add(limit), "x", tt.f)
				if took := time.Since(start); describe(got) != describe(tt.want) || took != tt.after {
					t.Errorf("after %s: %s; want %s after %s", took, describe(got), describe(tt.want), tt.after)
				}
				time.Sleep(2 * time.Hour) // until the function that was left behind returns
			})
		})
	}
}

func describe(o runner.Outcome[string]) string {
	text := "none"
	if o.Panic != nil {
		text = o.Panic.Error()
	}
	return fmt.Sprintf("%q stop %d left %t panic %s", o.Value, o.Stop, o.Left, text)
}

// Runs can be nested. Each has its own time limit, also if the inner function is left behind.
func TestLimitsOfNestedRuns(t *testing.T) {
	for _, tt := range []struct {
		outer, inner time.Duration
		want         runner.Stop
	}{{time.Second, time.Minute, runner.Canceled}, {time.Minute, time.Second, runner.TimedOut}} {
		for _, overtime := range []time.Duration{0, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				var got runner.Outcome[int]
				r, patient := newRunner(io.Discard), newRunner(io.Discard)
				patient.Grace = time.Minute
				runner.Run(t.Context(), patient, time.Now().Add(tt.outer), "outer", func(ctx context.Context) int {
					got = runner.Run(ctx, r, time.Now().Add(tt.inner), "inner", func(ctx context.Context) int {
						<-ctx.Done()
						time.Sleep(overtime)
						return 0
					})
					return 0
				})
				if got.Stop != tt.want || got.Cause != errLimit || got.Left != (overtime > 0) {
					t.Errorf("outer %s, inner %s, overtime %s: %+v, want stop %d", tt.outer, tt.inner, overtime, got, tt.want)
				}
				time.Sleep(overtime)
			})
		}
	}
}

type value func() string

func (v value) String() string { return v() }

type handler struct {
	slog.Handler
	f func()
}

func (h handler) Handle(context.Context, slog.Record) error { h.f(); return nil }
func (h handler) WithAttrs([]slog.Attr) slog.Handler        { return h }

// The value of a panic and the logger are the user's code too.
func TestPanics(t *testing.T) {
	for _, tt := range []struct {
		name   string
		value  any
		logger func()
		want   string // in the log
	}{
		{"text", "why", nil, "why"},
		{"Stringer that panics", value(func() string { panic("again") }), nil, "again"},
		{"Stringer that exits", value(func() string { runtime.Goexit(); return "" }), nil, ""},
		{"logger that panics", "why", func() { panic("again") }, ""},
		{"logger that exits", "why", runtime.Goexit, ""},
		{"abort", http.ErrAbortHandler, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			r := newRunner(&log)
			if tt.logger != nil {
				r.Logger = slog.New(handler{r.Logger.Handler(), tt.logger})
			}
			out := runner.Run(t.Context(), r, time.Now().Add(time.Hour), "x", func(context.Context) string { panic(tt.value) })
			if out.Panic == nil || out.Left || out.Panic.Aborts() != (tt.value == http.ErrAbortHandler) {
				t.Errorf("%s", describe(out))
			}
			logged := func() {
				if tt.want == "" && log.Len() > 0 || !strings.Contains(log.String(), tt.want) {
					t.Errorf("the log is %q, want %q", log.String(), tt.want)
				}
				if tt.want != "" && (!strings.Contains(log.String(), "runner_test.go") || !strings.Contains(log.String(), "tool=x")) {
					t.Errorf("the log does not show the place and the call: %s", log.String())
				}
			}
			logged()
			log.Reset()
			r.Hook(t.Context(), "x", func() { panic(tt.value) }) // must return
			logged()
		})
	}
}
