package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// modelCall is a call as an SDK has it.
type modelCall struct{ id, name, arguments string }

// echoAfter answers a request with its body, after the seconds in the member wait.
func echoAfter(r *http.Request) (*http.Response, error) {
	var args struct{ Wait float64 }
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil && err != io.EOF {
		return nil, err
	}
	select {
	case <-time.After(time.Duration(args.Wait * float64(time.Second))):
		return answer(200, fmt.Sprintf(`{"response":%g,"source":"odyssey"}`, args.Wait))(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// noted keeps the ids of calls as they begin.
type noted struct {
	mu  sync.Mutex
	ids []string
}

func (n *noted) observer() *proxy.Observer {
	return &proxy.Observer{CallStart: func(ctx context.Context, call proxy.CallInfo) context.Context {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ids = append(n.ids, call.CallID)
		return ctx
	}}
}

func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &noted{}
		c := newClient(t, testkit.RoundTrip(echoAfter),
			func(o *proxy.Options) { o.Observer, o.Tools = seen.observer(), []string{"get_order"} })
		calls := []modelCall{
			{"m1", "get_order", `{"wait":3}`}, {"m2", "get_order", `{"wait":1}`}, {"m3", "find_order", `{}`},
			{"m4", "get_order", `{"wait":`}, {"m5", "get_order", `{"wait":2}`},
		}
		begin := time.Now()
		results, err := proxy.Each(t.Context(), calls, func(ctx context.Context, call modelCall) (string, error) {
			result, err := c.CallForModel(proxy.WithCallID(ctx, call.id), call.name, call.arguments)
			return fmt.Sprintf("%s %t %.26s", call.id, result.Failed, result.Text), err
		})
		want := []string{
			`m1 false 3`, `m2 false 1`, `m3 true {"error":"unknown_tool","d`, `m4 true {"error":"invalid_argument`,
			`m5 false 2`,
		}
		if err != nil || !slices.Equal(results, want) {
			t.Errorf("results %q, %v", results, err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("the calls took %s, one after the other", took)
		}
		slices.Sort(seen.ids)
		if got := strings.Join(seen.ids, " "); got != "m1 m2 m3 m4 m5" {
			t.Errorf("observed the ids %s", got)
		}
	})
}

func TestEachOfNone(t *testing.T) {
	results, err := proxy.Each(t.Context(), nil,
		func(context.Context, modelCall) (int, error) { return 0, errors.New("called") })
	if err != nil || len(results) != 0 {
		t.Error(results, err)
	}
}

// The first error ends the context of the other calls. Calls that wait for a place do not begin.
func TestEachStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := answer(401, `{"detail":{"error_class":"run_token_expired"}}`)
		var sent, ended atomic.Int32
		c := newClient(t, testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if sent.Add(1) == 16 {
				time.Sleep(time.Second)
				return over(r)
			}
			<-r.Context().Done()
			ended.Add(1)
			return nil, r.Context().Err()
		}), func(o *proxy.Options) { o.AttemptTimeout = time.Hour })
		begin := time.Now()
		results, err := proxy.Each(t.Context(), make([]modelCall, 40),
			func(ctx context.Context, _ modelCall) (toolwire.ModelResult, error) {
				return c.CallForModel(ctx, "get_order", `{}`)
			})
		if !proxy.IsRunOver(err) || results != nil {
			t.Errorf("%v, %v; want that the run is over", results, err)
		}
		if took := time.Since(begin); took != time.Second || sent.Load() != 16 || ended.Load() != 15 {
			t.Errorf("%d calls were sent and %d ended early, in %s", sent.Load(), ended.Load(), took)
		}
	})
}

func TestEachAndTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the platform hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		var begun int
		slow := func(ctx context.Context, wait time.Duration) (time.Duration, error) {
			begun++ // one at a time: they begin in their order
			select {
			case <-ctx.Done():
				return 0, fmt.Errorf("call: %w", context.Cause(ctx))
			case <-time.After(wait):
				return wait, nil
			}
		}
		if _, err := proxy.Each(ctx, []time.Duration{time.Hour}, slow); !errors.Is(err, cause) {
			t.Errorf("a call that the context ends: %v", err)
		}
		if _, err := proxy.Each(ctx, []time.Duration{0}, slow); err != cause || begun != 1 {
			t.Errorf("after the end of the context: %v, and %d calls have begun", err, begun)
		}
	})
}

func TestEachIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		calls := make([]int, 100)
		for i := range calls {
			calls[i] = i
		}
		results, err := proxy.Each(t.Context(), calls, func(_ context.Context, n int) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return n, nil
		})
		if err != nil || !slices.Equal(results, calls) || most.Load() > 16 {
			t.Errorf("%v, %v; %d at once", results, err, most.Load())
		}
	})
}

// A panic reaches the caller of Each, when the other calls have ended.
func TestEachPanics(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		do   func()
		want func(any) bool
	}{
		{"text", func() { panic("oh") }, func(v any) bool {
			return strings.HasPrefix(fmt.Sprint(v), "oh\n") && strings.Contains(fmt.Sprint(v), "TestEachPanics")
		}},
		{"error", func() { panic(broken) }, func(v any) bool {
			err, ok := v.(error)
			return ok &&
				errors.Is(err, broken)
		}},
		{"abort", func() { panic(http.ErrAbortHandler) }, func(v any) bool { return v == http.ErrAbortHandler }},
		{"exit", runtime.Goexit, func(v any) bool { return v == nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var others atomic.Int32
			var value any
			returned := false
			done := make(chan struct{})
			go func() { // which Goexit ends
				defer close(done)
				defer func() { value = recover() }()
				_, _ = proxy.Each(t.Context(), []int{0, 1, 2, 3}, func(ctx context.Context, n int) (int, error) {
					if n == 3 {
						tt.do()
					}
					<-ctx.Done()
					others.Add(1)
					return 0, ctx.Err()
				})
				returned = true
			}()
			<-done
			if returned || !tt.want(value) || others.Load() != 3 {
				t.Errorf("returned %t, value %v, %d others", returned, value, others.Load())
			}
		})
	}
}

// An agent calls all tools that one message of its model asks for. The conversation then has the
// results in the order of the calls.
func ExampleEach() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200,
			`{"tool_name":"get_order","response":{"status":"shipped"},"source":"odyssey","latency_ms":412}`),
		Tools: []string{"get_order", "get_customer"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	type toolCall struct{ id, name, arguments string } // of the model's SDK
	calls := []toolCall{
		{"call_a", "get_order", `{"order_id":"4521"}`}, {"call_b", "get_client", `{"id":"99"}`},
	}
	results, err := proxy.Each(context.Background(), calls, func(ctx context.Context, call toolCall) (string, error) {
		result, err := client.CallForModel(proxy.WithCallID(ctx, call.id), call.name, call.arguments)
		return fmt.Sprintf("%s %t %s", call.id, result.Failed, result.Text), err
	})
	if err != nil {
		fmt.Println("stop:", err)
		return
	}
	for _, result := range results {
		fmt.Println(result)
	}
	// Output:
	// call_a false {"status":"shipped"}
	// call_b true {"error":"unknown_tool","detail":"there is no tool \"get_client\"; names are case-sensitive","tools":["get_order","get_customer"]}
}
