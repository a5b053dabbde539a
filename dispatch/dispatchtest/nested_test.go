package dispatchtest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// delegate returns a function that dispatches a run of another platform to the agent, in this process.
func delegate(t *testing.T, agent dispatch.Agent) func(context.Context) *httptest.ResponseRecorder {
	t.Helper()
	platform := proxytest.NewPlatform(t, task().World, nil)
	handler, err := dispatch.New(agent, &dispatch.Options{
		InsecureNoAuth: true, Proxy: &proxy.Options{Transport: proxytest.NewTransport(platform)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) *httptest.ResponseRecorder {
		run := platform.NewRun()
		body := `{"odyssey_proxy_url":"http://proxy.test` + run.Path + `"}`
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/dispatch", strings.NewReader(body))
		r.Header.Set("X-Pipelines-Run-Token", run.Token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
}

// An agent may dispatch to another one in its process. The result has the agent's own run only,
// whichever ends first.
func TestARunInsideOfARun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		inner dispatch.Agent
	}{
		{"that answers", calling(0)},
		{"that fails", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("inner") }},
		{"that panics", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("inner") }},
		{"whose response is repaired", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "inner", Messages: []dispatch.Message{{Role: "robot"}}}, nil
		}},
	} {
		for _, last := range []bool{false, true} {
			name := tt.name + ", first"
			if last {
				name = tt.name + ", last"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					inner := delegate(t, tt.inner)
					begin, ended := make(chan struct{}), make(chan struct{})
					own := errors.New("the agent's own")
					agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
						go func() {
							defer close(ended)
							<-begin
							inner(context.WithoutCancel(ctx))
						}()
						if !last {
							close(begin)
							<-ended
						}
						return nil, own
					}
					var got *dispatchtest.Result
					_, output := testkit.Run(t, func(tb testing.TB) {
						got = dispatchtest.Run(tb, dispatchtest.Target{Agent: agent, Options: &dispatch.Options{
							Observer: &dispatch.Observer{RunEnd: func(context.Context, dispatch.RunEnd) {
								if last {
									close(begin)
									<-ended
								}
							}},
						}}, task())
					})
					if got.AgentError != own.Error() || len(got.Problems) != 0 || strings.Contains(output, "inner") {
						t.Errorf("AgentError %q, problems %v, output %s", got.AgentError, got.Problems, output)
					}
				})
			})
		}
	}
}

// A run inside of a run has the pace of its own proxy, and its waits are not waits of the agent.
func TestThePaceOfARunInsideOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unlimited, err := proxytest.New(task().World, &proxytest.Options{RatePerMinute: -1})
		if err != nil {
			t.Fatal(err)
		}
		inner := delegate(t, calling(61))
		agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			w := inner(ctx)
			if w.Code != http.StatusOK {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Platform: unlimited})
		if len(got.Waits) != 0 {
			t.Errorf("waits %v", got.Waits)
		}
	})
}
