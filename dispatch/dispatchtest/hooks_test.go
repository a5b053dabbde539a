package dispatchtest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// oneCall calls get_order and reports its status.
func oneCall(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
	if err != nil {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: string(order)}, nil
}

var oneOrder = proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`"shipped"`)}}

// endpoints are the two ways in which a run reaches an agent: in memory and on loopback.
func endpoints(t *testing.T, agent dispatch.Agent) map[string]dispatchtest.Target {
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]dispatchtest.Target{
		"agent":   {Agent: agent},
		"handler": {Handler: handler, AuthValue: "Bearer secret"},
	}
}

func TestWrapProxy(t *testing.T) {
	for name, target := range endpoints(t, oneCall) {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Pointer[string]
			result := dispatchtest.Run(t, target, dispatchtest.Task{
				Instruction: "How is it?", World: oneOrder,
				WrapProxy: func(proxy http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						seen.Store(&r.URL.Path)
						proxy.ServeHTTP(w, r)
					})
				},
			})
			result.AssertFinalResponse(t, "shipped")
			result.AssertCalledTimes(t, "get_order", 1)
			if path := seen.Load(); path == nil || !strings.HasSuffix(*path, "/tools/get_order") {
				t.Errorf("the wrapper saw %v", path)
			}
		})
	}
}

func TestOnRunSeesTheRunUnderWay(t *testing.T) {
	var run *proxytest.Run
	var during int
	agent := func(ctx context.Context, r *dispatch.Run) (*dispatch.Response, error) {
		response, err := oneCall(ctx, r)
		during = len(run.Log().Calls)
		return response, err
	}
	for name, target := range endpoints(t, agent) {
		t.Run(name, func(t *testing.T) {
			run, during = nil, 0
			dispatchtest.Run(t, target, dispatchtest.Task{
				Instruction: "How is it?", World: oneOrder, OnRun: func(r *proxytest.Run) { run = r },
			}).AssertOK(t)
			if during != 1 {
				t.Errorf("%d calls seen from inside the run, want 1", during)
			}
		})
	}
}

func TestProxyURL(t *testing.T) {
	platform := proxytest.NewPlatform(t, oneOrder, nil)
	server := httptest.NewServer(platform)
	defer server.Close()
	target := endpoints(t, oneCall)["handler"]
	result := dispatchtest.Run(t, target, dispatchtest.Task{
		Instruction: "How is it?", Platform: platform, ProxyURL: server.URL + "/",
	})
	result.AssertFinalResponse(t, "shipped")
	if want := `"odyssey_proxy_url":"` + server.URL + "/api/"; !strings.Contains(string(result.Dispatch.Request), want) {
		t.Errorf("the dispatch %s has no %s", result.Dispatch.Request, want)
	}

	for name, task := range map[string]dispatchtest.Task{
		"no platform": {World: oneOrder, ProxyURL: server.URL},
		"wrapped":     {Platform: platform, ProxyURL: server.URL, WrapProxy: func(h http.Handler) http.Handler { return h }},
	} {
		task.Instruction = "How is it?"
		if _, err := dispatchtest.Dispatch(t.Context(), target, task); err == nil ||
			!strings.Contains(err.Error(), "ProxyURL") {
			t.Errorf("%s: error %v, want one about ProxyURL", name, err)
		}
	}
	task := dispatchtest.Task{Instruction: "How is it?", Platform: platform, ProxyURL: server.URL}
	if _, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: oneCall}, task); err == nil {
		t.Error("an agent in memory cannot reach a proxy on loopback, and there was no error")
	}
}
