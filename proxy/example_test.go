package proxy_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// answers is a stand-in for the proxy. Tests of agents use package proxytest instead.
func answers(status int, body string) http.RoundTripper {
	return transportFunc(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))},
			nil
	})
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A call of a tool. Package dispatch gives every run a client.
func Example() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200,
			`{"tool_name":"get_order","response":{"status":"shipped"},"source":"odyssey","latency_ms":412}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	type Order struct {
		Status string `json:"status"`
	}
	order, err := proxy.Call[Order](context.Background(), client, "get_order", map[string]string{"order_id": "4521"})
	if proxy.IsRunOver(err) {
		return // stop the agent
	}
	fmt.Println(order.Status, err)
	// Output: shipped <nil>
}

func ExampleCall_raw() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200,
			`{"tool_name":"get_order","response":{"status":"shipped"},"source":"odyssey","latency_ms":412}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := proxy.Call[json.RawMessage](context.Background(), client, "get_order", map[string]string{"order_id": "4521"})
	fmt.Println(string(result), err)
	// Output: {"status":"shipped"} <nil>
}

// A typed call does not take a failed tool for an empty order.
func ExampleCall() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200,
			`{"tool_name":"get_order","response":{"error":"no such order"},"source":"odyssey","latency_ms":9}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	type Order struct {
		Status string `json:"status"`
	}
	_, err = proxy.Call[Order](context.Background(), client, "get_order", map[string]string{"order_id": "77"})
	fmt.Println(toolwire.CodeOf(err))
	fmt.Println(string(proxy.ToolResult(err))) // what the model should see
	// Output:
	// tool_failed
	// {"error":"no such order"}
}

// An error tells whether the tool may have run, and whether to go on.
func ExampleError() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(401, `{"detail":{"error_class":"run_token_expired"}}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Do(context.Background(), "refund_order", nil)
	if e, ok := errors.AsType[*proxy.Error](err); ok {
		fmt.Println(e.Code, e.Delivery, e.Attempts)
	}
	fmt.Println(proxy.IsRunOver(err))
	fmt.Println(err)
	// Output:
	// run_over refused 1
	// true
	// proxy: refund_order: run_over (HTTP 401, run_token_expired); the run is over: stop the agent
}

func ExampleClient_As() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			fmt.Println("actor:", r.Header.Get("X-Pipelines-Actor-Id"))
			return answers(200, `{"response":null,"source":"odyssey"}`).RoundTrip(r)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = client.As("supervisor/refunds").Do(context.Background(), "refund_order", nil)
	ctx := proxy.WithActor(context.Background(), "supervisor/lookup")
	_, _ = client.Do(ctx, "get_order", nil)
	// Output:
	// actor: supervisor/refunds
	// actor: supervisor/lookup
}

// The loop of an agent runs what its model calls, whatever the model wrote, and stops when the run
// is over.
func ExampleClient_CallForModel() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200,
			`{"tool_name":"get_order","response":{"status":"shipped"},"source":"odyssey","latency_ms":412}`),
		Tools: []string{"get_order", "refund_order"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []struct{ name, arguments string }{ // of a model
		{"get_order", `{"order_id":"4521"}`}, {"find_order", `{}`}, {"get_order", `{"order_id":`},
	}
	for _, call := range calls {
		result, err := client.CallForModel(context.Background(), call.name, call.arguments)
		if err != nil {
			fmt.Println("stop:", err)
			return
		}
		fmt.Println(result.Failed, result.Text)
	}
	// Output:
	// false {"status":"shipped"}
	// true {"error":"unknown_tool","detail":"there is no tool \"find_order\"; names are case-sensitive","tools":["get_order","refund_order"]}
	// true {"error":"invalid_arguments","detail":"the arguments are not a JSON object: invalid JSON at byte 12: /order_id ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}
}

// The clients of one run token share a pacer.
func ExampleNewPacer() {
	pacer := proxy.NewPacer(60, time.Minute)
	opts := &proxy.Options{Transport: answers(200, `{"response":"ok","source":"odyssey"}`), Pacer: pacer}
	for range 2 {
		client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := proxy.Call[json.RawMessage](context.Background(), client, "get_order", nil)
		fmt.Println(string(result), err)
	}
	// Output:
	// "ok" <nil>
	// "ok" <nil>
}

// A metric counts calls by their tool and code.
func ExampleObserver() {
	count := func(_ context.Context, call proxy.CallEnd) {
		if call.Err != nil {
			fmt.Printf("calls{tool=%q, code=%q}\n", call.Tool, toolwire.CodeOf(call.Err))
			return
		}
		fmt.Printf("calls{tool=%q, source=%q, attempts=%d}\n", call.Tool, call.Result.Source, call.Result.Attempts)
	}
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: answers(200, `{"response":{"status":"shipped"},"source":"odyssey"}`),
		Observer:  &proxy.Observer{CallEnd: count},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = client.Do(context.Background(), "get_order", map[string]string{"order_id": "4521"})
	_, _ = client.Do(context.Background(), "get order", nil)
	// Output:
	// calls{tool="get_order", source="odyssey", attempts=1}
	// calls{tool="get order", code="invalid_tool_name"}
}

// Sub-agents that run in parallel share a client. Each has its own context, and so its own label.
func ExampleWithActor() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			fmt.Println(r.Header.Get("X-Pipelines-Actor-Id"), r.URL.Path)
			return answers(200, `{"response":null,"source":"odyssey"}`).RoundTrip(r)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	subAgent := func(ctx context.Context) { _, _ = client.Do(ctx, "get_order", nil) }
	for _, name := range []string{"supervisor/lookup", "supervisor/refunds"} {
		subAgent(proxy.WithActor(context.Background(), name))
	}
	// Output:
	// supervisor/lookup /api/odyssey-proxy/runs/abc/tools/get_order
	// supervisor/refunds /api/odyssey-proxy/runs/abc/tools/get_order
}

// A supervisor records that it hands over before the sub-agent's first call.
func ExampleClient_Handoff() {
	client, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token", &proxy.Options{
		Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			fmt.Println(r.Header.Get("X-Pipelines-Actor-Id"), r.URL.Path)
			return answers(200, `{"accepted":true,"sequence":17}`).RoundTrip(r)
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sequence, err := client.As("supervisor").Handoff(context.Background(), "supervisor", "supervisor/refunds")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sequence)
	// Output:
	// supervisor /api/odyssey-proxy/runs/abc/traces/handoff
	// 17
}

// A transport with settings of its own serves the clients of all runs.
func ExampleNewTransport() {
	transport := proxy.NewTransport()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS13}
	_, err := proxy.New("https://api.example.com/api/odyssey-proxy/runs/abc", "run-token",
		&proxy.Options{Transport: transport})
	fmt.Println(err)
	// Output: <nil>
}

// New reports all mistakes together, and repeats neither the URL nor the token.
func ExampleNew() {
	_, err := proxy.New("ftp://user:secret@api.example.com", "", nil)
	fmt.Println(err)
	// Output:
	// proxy: invalid_options: the proxy base URL must begin with https:// or http://
	// the proxy base URL must not have a user name or password, a query or a fragment; the run token is sent as a header
	// the run token must be a non-empty string of visible ASCII characters
}

// Probe is for the start of an agent: it tells whether the proxy can be reached from here.
func ExampleProbe() {
	err := proxy.Probe(context.Background(), "https://api.example.com/api/odyssey-proxy", &proxy.Options{
		Transport: answers(401, `{"detail":{"error_class":"run_token_invalid"}}`),
	})
	fmt.Println(err)
	// Output: <nil>
}
