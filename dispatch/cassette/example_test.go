package cassette_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A run is recorded once and replayed without the proxy. In a test, [cassette.Open] does what is
// done by hand here.
func Example() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "weather.jsonl")

	agent := func(handler http.Handler) { // in any language
		opts := &proxy.Options{Transport: proxytest.NewTransport(handler)}
		client, err := proxy.New("http://proxy.test/runs/1", "the-run-token", opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		weather, err := proxy.Call[json.RawMessage](context.Background(), client, "get_weather", map[string]string{"city": "Oulu"})
		fmt.Println(string(weather), err)
	}

	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"tool_name":"get_weather","response":{"degrees":-12},"source":"odyssey","latency_ms":4200}`)
	}))
	recording, err := cassette.New(path, &cassette.Options{
		Mode: cassette.Record, Upstream: platform.URL + "/api/odyssey-proxy/runs/abc", // the run's odyssey_proxy_url
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	agent(recording)
	fmt.Println(recording.Close())
	platform.Close()

	replay, err := cassette.New(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	agent(replay)
	fmt.Println(replay.Report().OK())
	// Output:
	// {"degrees":-12} <nil>
	// <nil>
	// {"degrees":-12} <nil>
	// true
}

// A model is recorded once, with a key, and replayed without one. In an agent the client is the one of the
// SDK, and its transport is &llm.Transport{Base: tape.Model(nil)}.
func ExampleCassette_Model() {
	dir, err := os.MkdirTemp("", "cassette")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"Hello."}}]}`)
	}))
	ask := func(tape *cassette.Cassette, prompt string) {
		client := &http.Client{Transport: tape.Model(nil)}
		body := fmt.Sprintf(`{"model":"m-1","messages":[{"role":"user","content":%q}]}`, prompt)
		resp, err := client.Post(provider.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		fmt.Println(resp.StatusCode, string(answer), err)
	}

	path := filepath.Join(dir, "hello.jsonl")
	recording, err := cassette.New(path, &cassette.Options{Mode: cassette.Record})
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(recording, "Say hello.")
	fmt.Println(recording.Close())
	provider.Close()

	replay, err := cassette.New(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ask(replay, "Say hello.")
	ask(replay, "Say goodbye.")
	// Output:
	// 200 {"choices":[{"message":{"role":"assistant","content":"Hello."}}]} <nil>
	// <nil>
	// 200 {"choices":[{"message":{"role":"assistant","content":"Hello."}}]} <nil>
	// 400 {"error":{"message":"cassette: the request to …/chat/completions is not on the tape","type":"cassette_no_match"},"message":"cassette: the request to …/chat/completions is not on the tape","type":"error"} <nil>
}

// An agent that does otherwise than on the tape is told so, and the report says where.
func ExampleReport() {
	tape, err := cassette.New("testdata/refund.jsonl", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := proxy.New("http://proxy.test", "any-run-token", &proxy.Options{Transport: tape.Transport(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = client.Do(ctx, "get_order", map[string]string{"order_id": "4521"})
	fmt.Println(err)
	_, err = client.Do(ctx, "get_order", map[string]string{"order_id": "9"})
	fmt.Println(err)
	fmt.Println(tape.Report())
	// Output:
	// <nil>
	// proxy: get_order: refused (HTTP 409, cassette_no_match); see Error.Detail
	// cassette testdata/refund.jsonl, replay: 1 request on the tape, 3 deviations
	// 1. changed: the arguments differ from the tape
	//      run   get_order {"order_id":"9"}
	//      tape  get_order {"order_id":"4522"}, line 5
	//        /order_id: "4522" on the tape, "9" in the run
	// 2. never made: get_customer was not called as on the tape
	//      tape  get_customer {"api_key":"[redacted]","ids":[4521,4522]}, line 6
	// 3. never made: refund_order was not called as on the tape
	//      tape  refund_order by supervisor/refunds {"order_id":"4521"}, line 7
}

// An agent in production records every run that it serves, each on a tape of its own.
func ExampleNewRecorder() {
	recorder, err := cassette.NewRecorder("tapes", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		ctx, end, err := recorder.Begin(ctx, cassette.Task{Name: "run-" + run.RunID, Instruction: run.Instruction,
			Input: run.Input})
		if err != nil {
			return nil, err
		}
		defer func() { _ = end() }() // or log its error
		result, err := run.Proxy.CallForModel(ctx, "get_order", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: result.Text}, err
	}
	handler, err := dispatch.New(agent, &dispatch.Options{
		Tokens: []string{"agent-token"}, Proxy: &proxy.Options{Transport: recorder},
	})
	fmt.Println(handler != nil, err)
	// Output: true <nil>
}

// A tape can be read without replaying it.
func ExampleLoad() {
	tape, err := cassette.Load("testdata/refund.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tape.Task.Instruction)
	for _, i := range tape.Interactions[:3] {
		fmt.Println(i.Kind, i.Name, i.Status)
	}
	// Output:
	// Refund what was shipped.
	// trace thinking 200
	// tool get_customer 503
	// tool get_order 200
}
