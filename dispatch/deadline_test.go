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
		code    dispatch.Code
		message string
		logged  string // in the record "run failed"
	}{
		"http.TimeoutHandler": {func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Second, "") }, waits,
			dispatch.CodeDeadline, message, message + ": model call 3: context deadline exceeded"},
		"context.WithTimeout":           {limited(after(time.Second)), waits, dispatch.CodeDeadline, message, message + ": model call 3: context deadline exceeded"},
		"an agent that does not return": {limited(after(time.Second)), ignores, dispatch.CodeDeadline, message, message},
		"a timeout with a cause": {limited(func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, errors.New("slow down"))
		}), waits, dispatch.CodeDeadline, message, message},
		"a peer that closes the connection": {limited(func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}), waits, dispatch.CodeClientGone, "the platform closed the connection", "before the agent had a response"},
		"an error of the agent's own": {limited(after(time.Second)), func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, errors.New("no route")
		}, dispatch.CodeAgent, "the agent failed; its log says why", "no route"},
		"a timeout of the agent's own, in time": {limited(after(time.Minute)), func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, context.DeadlineExceeded }, dispatch.CodeAgent, "the agent failed; its log says why", "context deadline exceeded"},
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
				var got *dispatch.Error
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

// The deadline of the handler counts first.
func TestTheRunTimesOutBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Second)
		defer cancel()
		w := post(h, seedBody, func(r *http.Request) { *r = *r.WithContext(ctx) })
		if w.Code != 200 || !strings.Contains(w.Body.String(), dispatch.TimeoutFinalResponse) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
