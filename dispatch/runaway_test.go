package dispatch_test

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
)

// A function of the options that panics, exits or blocks costs its response, not the answer.
func TestRunawayFunctionsOfTheOptions(t *testing.T) {
	hang := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	fail := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no") }
	for name, misbehave := range map[string]func(){
		"panics": func() { panic("why") }, "exits": runtime.Goexit, "blocks": func() { time.Sleep(time.Hour) },
	} {
		respond := func(*dispatch.Run) *dispatch.Response { misbehave(); return &dispatch.Response{FinalResponse: "late"} }
		for function, tt := range map[string]struct {
			agent dispatch.Agent
			opts  dispatch.Options
			after time.Duration // without the blocking function
		}{
			"TimeoutResponse": {hang, dispatch.Options{TimeoutResponse: respond}, 80 * time.Second},
			"FailureResponse": {fail, dispatch.Options{FailureResponse: func(r *dispatch.Run, _ *toolwire.Error) *dispatch.Response { return respond(r) }}, 0},
		} {
			t.Run(function+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					opts := tt.opts
					opts.Tokens, opts.RunTimeout, opts.Reserve = []string{agentToken}, 100*time.Second, 20*time.Second
					h, err := dispatch.New(tt.agent, &opts)
					if err != nil {
						t.Fatal(err)
					}
					want := tt.after
					if name == "blocks" {
						want += 5 * time.Second // a quarter of the reserve
					}
					w, start, done := httptest.NewRecorder(), time.Now(), false
					finished := aside(func() { h.ServeHTTP(w, request(seedBody)); done = true })
					<-finished
					if took := time.Since(start); !done || w.Code != 200 || strings.Contains(w.Body.String(), "late") || took != want {
						t.Errorf("after %s, returned %t: %d %s; want 200 after %s", took, done, w.Code, w.Body, want)
					}
					time.Sleep(2 * time.Hour) // until the function that was left behind returns
				})
			})
		}
	}
}

// aside calls f on a goroutine of its own, which a runtime.Goexit would end.
func aside(f func()) <-chan struct{} {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f()
	}()
	return finished
}

// The methods of an agent's error are the agent's code.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	for _, bad := range []error{(*net.OpError)(nil), (*net.ParseError)(nil)} { // Unwrap panics, Error panics
		synctest.Test(t, func(t *testing.T) {
			h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) { <-ctx.Done(); return nil, bad })
			w := httptest.NewRecorder()
			defer func() {
				if p := recover(); p != nil || w.Code != 500 || !strings.Contains(w.Body.String(), `"agent_panicked"`) {
					t.Errorf("%T: panic %v, %d %s", bad, p, w.Code, w.Body)
				}
			}()
			h.ServeHTTP(w, request(seedBody))
		})
	}
}
