package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
)

// A middleware or a server that ends the request before the run's time is over is named in the error
// and in the log, whatever the agent makes of its context.
func TestTheContextOfTheRequestEndsEarly(t *testing.T) {
	limited := func(end func(context.Context) (context.Context, context.CancelFunc)) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := end(r.Context())
				defer cancel()
				next.ServeHTTP(w, r.WithContext(ctx))
			})
		}
	}
	after := func(limit time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, limit)
		}
	}
	waits := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("model call 3: %w", ctx.Err())
	}
	ignores := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		time.Sleep(time.Hour)
		return nil, nil
	}
	const message = "the request's context ended after 1.0 s, before RunTimeout (300 s): a middleware or server timeout?"
	for name, tt := range map[string]struct {
		wrap    func(http.Handler) http.Handler
		agent   dispatch.Agent
		code    toolwire.Code
		message string
		logged  string // in the record "run failed"
	}{
		"http.TimeoutHandler": {func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Second, "") }, waits,
			toolwire.CodeDeadline, message, message + ": model call 3: context deadline exceeded"},
		"context.WithTimeout":           {limited(after(time.Second)), waits, toolwire.CodeDeadline, message, message + ": model call 3: context deadline exceeded"},
		"an agent that does not return": {limited(after(time.Second)), ignores, toolwire.CodeDeadline, message, message},
		"a timeout with a cause": {limited(func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, errors.New("slow down"))
		}), waits, toolwire.CodeDeadline, message, message},
		"a cause that the agent returns": {limited(func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, errors.New("slow down"))
		}), func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("model call 3: %w", context.Cause(ctx))
		}, toolwire.CodeDeadline, message, message + ": model call 3: slow down"},
		"a peer that closes the connection": {limited(func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}), waits, toolwire.CodeClientGone, "the platform closed the connection", "before the agent returned a response"},
		"an error of the agent's own": {limited(after(time.Second)), func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, errors.New("no route")
		}, toolwire.CodeAgentFailed, "the agent failed; its log says why", "no route"},
		"a timeout of the agent's own, in time": {limited(after(time.Minute)), func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, context.DeadlineExceeded }, toolwire.CodeAgentFailed, "the agent failed; its log says why", "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				observer, kept := ends(t)
				h := newHandler(t, tt.agent, func(o *dispatch.Options) {
					o.Observer, o.Logger = observer, slog.New(slog.NewTextHandler(&log, nil))
				})
				post(tt.wrap(h), seedBody, nil)
				time.Sleep(10 * time.Second) // an http.TimeoutHandler does not wait for the handler
				synctest.Wait()
				if len(*kept) != 1 {
					t.Fatalf("%d ends", len(*kept))
				}
				var got *toolwire.Error
				if !errors.As((*kept)[0].Err, &got) || got.Code != tt.code || !strings.Contains(got.Message, tt.message) {
					t.Errorf("the end is %v", (*kept)[0].Err)
				}
				if !strings.Contains(log.String(), `msg="run failed"`) || !strings.Contains(log.String(), tt.logged) {
					t.Errorf("logged %s", log.String())
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// The deadline of the handler counts first, whatever error the agent returns for it.
func TestTheRunTimesOutBeforeTheRequest(t *testing.T) {
	for name, reason := range map[string]func(context.Context, *dispatch.Run) error{
		"the error of the context": func(ctx context.Context, _ *dispatch.Run) error { return ctx.Err() },
		"its cause":                func(ctx context.Context, _ *dispatch.Run) error { return context.Cause(ctx) },
		"the error of a call": func(ctx context.Context, run *dispatch.Run) error {
			_, err := run.Proxy.Do(ctx, "get_order", nil)
			return err
		},
		"the error of a call that was canceled by the agent": func(_ context.Context, run *dispatch.Run) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errors.New("enough"))
			_, err := run.Proxy.Do(ctx, "get_order", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
					<-ctx.Done()
					return nil, fmt.Errorf("step 3: %w", reason(ctx, run))
				})
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Second)
				defer cancel()
				w := post(h, seedBody, func(r *http.Request) { *r = *r.WithContext(ctx) })
				if w.Code != 200 || !strings.Contains(w.Body.String(), dispatch.TimeoutFinalResponse) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		})
	}
}

// So it does for an agent that has had too little time for a call, and waits for the end.
func TestTooLittleTimeForACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := orders(t)
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			var err error
			for range 61 { // the last one would have to wait for a minute
				_, err = run.Proxy.Do(ctx, "get_order", nil)
			}
			if toolwire.CodeOf(err) != toolwire.CodeDeadline || ctx.Err() != nil {
				t.Errorf("%v; %v", err, ctx.Err())
			}
			<-ctx.Done()
			return nil, err
		}, toPlatform(platform), func(o *dispatch.Options) { o.RunTimeout = 30 * time.Second })
		w := dispatchRun(h, platform.NewRun(), "")
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"final_response":"`+dispatch.TimeoutFinalResponse+`"`) {
			t.Errorf("%d %.200s", w.Code, w.Body)
		}
	})
}
