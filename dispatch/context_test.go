package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A tool that is registered once finds the run that it is called in.
func TestFromContext(t *testing.T) {
	tool := func(ctx context.Context) string {
		run, ok := dispatch.FromContext(ctx)
		if !ok {
			return "no run"
		}
		return run.TaskID
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if got, ok := dispatch.FromContext(ctx); !ok || got != run {
			t.Errorf("FromContext returned %p, %t in the run %p", got, ok, run)
		}
		derived, cancel := context.WithCancel(proxy.WithCallID(ctx, "call_1"))
		defer cancel()
		return &dispatch.Response{FinalResponse: "task " + tool(derived)}, nil
	}
	var group sync.WaitGroup
	for id := range int64(8) {
		group.Go(func() {
			task := dispatchtest.Task{ID: id + 1}
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, task)
			if err != nil {
				t.Error(err)
				return
			}
			if want := fmt.Sprintf("task %d", id+1); result.FinalResponse != want {
				t.Errorf("the response is %q, want %q", result.FinalResponse, want)
			}
		})
	}
	group.Wait()
	if got := tool(t.Context()); got != "no run" {
		t.Errorf("outside of a run the tool found %q", got)
	}
}

// A framework gets its tools once, at the start of the program. Each call finds the run that it
// belongs to.
func ExampleFromContext() {
	getOrder := func(ctx context.Context, arguments string) (string, error) {
		run, ok := dispatch.FromContext(ctx)
		if !ok {
			return "", errors.New("get_order is called outside of a run")
		}
		result, err := run.Proxy.CallForModel(ctx, "get_order", arguments)
		return result.Text, err
	}

	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := getOrder(ctx, `{"order_id":"4521"}`) // the framework does this when its model asks for it
		return &dispatch.Response{FinalResponse: "The order: " + order}, err
	}
	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"order_id":"4521","status":"shipped"}`),
		}},
	})
	fmt.Println(result.FinalResponse, err)
	// Output: The order: {"order_id":"4521","status":"shipped"} <nil>
}

// Err says why a run has ended, also to code whose context does not end with it.
func TestErrOfARun(t *testing.T) {
	platform := orders(t, proxytest.FailureRule{Nth: []int{1}, Status: 401})
	for _, over := range []bool{false, true} {
		var kept *dispatch.Run
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			kept = run
			if err := run.Err(); err != nil {
				t.Errorf("at the start: %v", err)
			}
			if over {
				_, _ = run.Proxy.Do(context.WithoutCancel(ctx), "get_order", nil)
			}
			if err := run.Err(); proxy.IsRunOver(err) != over || err != context.Cause(ctx) {
				t.Errorf("before the return: %v", err)
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, toPlatform(platform))
		dispatchRun(h, platform.NewRun(), "")
		if err := kept.Err(); err == nil || proxy.IsRunOver(err) != over {
			t.Errorf("after the return: %v", err)
		}
	}
	if err := new(dispatch.Run).Err(); err != nil {
		t.Errorf("of a run made by hand: %v", err)
	}
}
