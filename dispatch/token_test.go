package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// toPlatform lets runs call the tools of a platform in process.
func toPlatform(p *proxytest.Platform) func(*dispatch.Options) {
	return func(o *dispatch.Options) { o.Proxy = &proxy.Options{Transport: proxytest.NewTransport(p)} }
}

func orders(t testing.TB, rules ...proxytest.FailureRule) *proxytest.Platform {
	t.Helper()
	return proxytest.NewPlatform(t, proxytest.World{
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)},
		FailureRules: rules,
	}, nil)
}

// dispatchRun sends a dispatch of the run. task are more members of the task payload, or "".
func dispatchRun(h http.Handler, run *proxytest.Run, task string) *httptest.ResponseRecorder {
	body := `{"run_id":` + run.ID + `,"odyssey_proxy_url":"http://proxy.test` + run.Path + `","input":{"user_instruction":"Where is my order?"` + task + `}}`
	return post(h, body, func(r *http.Request) {
		r.Header = http.Header{"Authorization": {"Bearer " + agentToken}, "X-Pipelines-Run-Token": {run.Token}}
	})
}

// Three turns of a session have one run token: 40 calls in each of them stay below 60 in any
// minute, and a run with another token does not wait for them.
func TestTurnsShareTheirTokensPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := orders(t)
		var waited time.Duration
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			start := time.Now()
			for range 40 {
				if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil {
					return nil, err
				}
			}
			waited = time.Since(start)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, toPlatform(platform))
		session, other := platform.NewRun(), platform.NewRun()
		for turn := range 3 {
			wantAnswer(t, dispatchRun(h, session, ""), 200, `{"final_response":"done"}`)
			if turn == 0 && waited != 0 || turn == 1 && waited < time.Minute {
				t.Errorf("turn %d waited %s", turn, waited)
			}
		}
		wantAnswer(t, dispatchRun(h, other, ""), 200, `{"final_response":"done"}`)
		if waited != 0 {
			t.Errorf("a run with another token waited %s", waited)
		}
		for _, run := range []*proxytest.Run{session, other} {
			if refused := run.Log().Refused; len(refused) > 0 {
				t.Errorf("refused: %v", refused)
			}
		}
		if calls := len(session.Log().Calls); calls != 120 {
			t.Errorf("%d calls", calls)
		}
	})
}

// A turn after the end of the token makes no request; a 401 of another class ends one dispatch
// only.
func TestTheEndOfATokenOutlivesTheDispatch(t *testing.T) {
	for _, tt := range []struct {
		class string
		next  int // status of the next turn
		sent  int // requests of both turns
	}{
		{"run_token_expired", 500, 1}, {"another_class", 200, 2},
	} {
		t.Run(tt.class, func(t *testing.T) {
			platform := orders(t, proxytest.FailureRule{Nth: []int{1}, Status: 401, ErrorClass: tt.class})
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				_, err := run.Proxy.Do(ctx, "get_order", nil)
				if again, _ := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil); err != nil && again != nil {
					t.Error("the run went on")
				}
				return &dispatch.Response{FinalResponse: "done"}, err
			}, toPlatform(platform))
			run := platform.NewRun()
			wantError(t, dispatchRun(h, run, ""), 500, toolwire.CodeAgentFailed, "the run is over: stop the agent")
			if w := dispatchRun(h, run, ""); w.Code != tt.next {
				t.Errorf("the next turn: %d %s", w.Code, w.Body)
			}
			sent := len(run.Log().Refused)
			if tt.next == 200 {
				sent += len(run.Log().Calls) - 1 // the next turn calls twice
			}
			if sent != tt.sent {
				t.Errorf("%d requests, want %d", sent, tt.sent)
			}
		})
	}
}

// loop is like the tool runners of model SDKs: it shows errors of tools to the model and stops by
// its context only.
func loop(ctx context.Context, run *dispatch.Run, modelCalls *int) error {
	for range 25 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("tool runner: %w", err)
		}
		*modelCalls++
		var tools sync.WaitGroup
		for range 2 {
			tools.Go(func() { _, _ = run.Proxy.Do(ctx, "get_order", nil) })
		}
		tools.Wait()
	}
	return nil
}

// The end of the run ends the agent's context, with the cause, before the tool call returns.
func TestTheEndOfTheRunEndsTheAgent(t *testing.T) {
	expired := proxytest.FailureRule{Nth: []int{3}, Status: 401, ErrorClass: "run_token_expired"}
	for _, tt := range []struct {
		name   string
		answer func(context.Context, error) (*dispatch.Response, error)
		took   time.Duration
		status int
		body   string
	}{
		{
			"returns the context's error", func(_ context.Context, err error) (*dispatch.Response, error) { return nil, err },
			0, 500, "a tool call failed: proxy: get_order: run_over (HTTP 401, run_token_expired); the run is over: stop the agent",
		},
		{
			"returns an answer", func(context.Context, error) (*dispatch.Response, error) {
				time.Sleep(900 * time.Millisecond)
				return &dispatch.Response{FinalResponse: "what I have"}, nil
			}, 900 * time.Millisecond, 200, `{"final_response":"what I have"}`,
		},
		{
			"returns an error of its own", func(context.Context, error) (*dispatch.Response, error) { return nil, errors.New("hunter2") },
			0, 500, `"the agent failed; set Options.Logger to see why"`,
		},
		{
			"does not return", func(context.Context, error) (*dispatch.Response, error) { time.Sleep(time.Hour); return nil, nil },
			time.Second, 500, "the run is over: stop the agent",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				platform := orders(t, expired)
				modelCalls := 0
				h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
					err := loop(ctx, run, &modelCalls)
					e, ok := errors.AsType[*proxy.Error](context.Cause(ctx))
					if !ok || e.Code != toolwire.CodeRunOver || e.Class != "run_token_expired" || !errors.Is(context.Cause(ctx), e) {
						t.Errorf("the context's cause is %v", context.Cause(ctx))
					}
					return tt.answer(ctx, err)
				}, toPlatform(platform))
				start := time.Now()
				w := dispatchRun(h, platform.NewRun(), "")
				if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("answered after %s", took)
				}
				if modelCalls != 2 {
					t.Errorf("%d model calls, of them %d after the run was over", modelCalls, modelCalls-2)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// An agent's context also ends when the agent returns, for the goroutines that it has left behind.
func TestTheContextEndsWithTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			context.AfterFunc(ctx, func() { ended <- context.Cause(ctx) })
			return &dispatch.Response{FinalResponse: "done"}, nil
		})
		post(h, seedBody, nil)
		if err := <-ended; err == nil || proxy.IsRunOver(err) {
			t.Errorf("cause %v", err)
		}
	})
}

// The handler's own options may ask for the end, too.
func TestOnRunOverOfTheOptions(t *testing.T) {
	platform := orders(t, proxytest.FailureRule{Nth: []int{1}, Status: 401})
	var told, ended error
	var agent context.Context
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		agent = ctx
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
		return nil, ctx.Err()
	}, toPlatform(platform), func(o *dispatch.Options) {
		o.Proxy.OnRunOver = func(err error) { told, ended = err, context.Cause(agent) }
	})
	wantError(t, dispatchRun(h, platform.NewRun(), ""), 500, toolwire.CodeAgentFailed, "the run is over")
	if !proxy.IsRunOver(told) || !proxy.IsRunOver(ended) {
		t.Errorf("told %v, when the context of the agent had ended with %v", told, ended)
	}
}

// An observer may call a tool of the run before the agent begins, also while RunStart has been left
// behind. If the proxy then says that the run is over, the agent's context ends with that cause,
// whenever the answer comes.
func TestTheRunEndsWhileItIsOpened(t *testing.T) {
	over := func() testkit.RoundTrip {
		return func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
		}
	}
	for _, tt := range []struct {
		name  string
		start func(ctx context.Context, run *dispatch.Run)
	}{
		{"before the agent", func(ctx context.Context, run *dispatch.Run) { _, _ = run.Proxy.Do(ctx, "get_order", nil) }},
		{"on a goroutine", func(ctx context.Context, run *dispatch.Run) {
			go func() { _, _ = run.Proxy.Do(ctx, "get_order", nil) }()
		}},
		{"in a hook that was left behind", func(ctx context.Context, run *dispatch.Run) {
			time.Sleep(time.Second)
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 50 {
				synctest.Test(t, func(t *testing.T) {
					h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					}, func(o *dispatch.Options) {
						o.Proxy = &proxy.Options{Transport: over()}
						o.Observer = &dispatch.Observer{RunStart: func(ctx context.Context, start dispatch.RunStart) context.Context {
							tt.start(ctx, start.Run)
							return ctx
						}}
					})
					begin := time.Now()
					wantError(t, post(h, seedBody, nil), 500, toolwire.CodeAgentFailed, "the run is over")
					if took := time.Since(begin); took > time.Second {
						t.Errorf("answered after %s", took)
					}
				})
			}
		})
	}
}

// A call that a goroutine of the agent makes after the response learns that the run is over, and ends
// nothing else.
func TestTheRunEndsAfterItsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 1)
		h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			go func() {
				time.Sleep(time.Minute)
				_, err := run.Proxy.Do(context.Background(), "get_order", nil)
				late <- err
			}()
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, func(o *dispatch.Options) {
			o.Proxy = &proxy.Options{Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 401, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
			})}
		})
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"done"}`)
		if err := <-late; !proxy.IsRunOver(err) {
			t.Errorf("the late call: %v", err)
		}
	})
}

// The context of a run ends with the response, although the context of the request goes on, and whether
// the agent has returned or not.
func TestTheContextOfARunEndsWithItsResponse(t *testing.T) {
	for name, overtime := range map[string]time.Duration{"returned": 0, "goes on": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var run context.Context
				agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
					if overtime > 0 {
						<-ctx.Done()
						time.Sleep(overtime)
					}
					return &dispatch.Response{FinalResponse: "done"}, nil
				}
				h := newHandler(t, agent, func(o *dispatch.Options) {
					o.Observer = &dispatch.Observer{
						RunStart: func(ctx context.Context, _ dispatch.RunStart) context.Context { run = ctx; return ctx },
						RunEnd: func(ctx context.Context, _ dispatch.RunEnd) {
							if ctx.Err() != nil {
								t.Errorf("the context has ended before the run: %v", ctx.Err())
							}
						},
					}
				})
				post(h, seedBody, nil)
				if run.Err() == nil {
					t.Error("the context of the run goes on")
				}
				time.Sleep(overtime) // until the agent returns
			})
		})
	}
	t.Run("refused", func(t *testing.T) { // after the session of the run was made
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		children := &counting{Context: ctx}
		h := newHandler(t, answering("done"), func(o *dispatch.Options) { o.ProxyHosts = []string{"other.example.com"} })
		wantError(t, post(h, seedBody, func(r *http.Request) { *r = *r.WithContext(children) }), 400, "invalid_envelope", "")
		if n := children.n.Load(); n != 0 {
			t.Errorf("%d contexts still wait for the end of the request", n)
		}
	})
}

// counting is a context that counts the contexts that have not ended.
type counting struct {
	context.Context
	n atomic.Int64
}

func (c *counting) AfterFunc(f func()) (stop func() bool) {
	c.n.Add(1)
	end := context.AfterFunc(c.Context, f)
	return func() bool { c.n.Add(-1); return end() }
}
