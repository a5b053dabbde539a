package llmtest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// send sends a request as an SDK does, and prints the response. A test gives model.URL and
// model.Client() to the SDK.
func send(model *llmtest.Model, path, body string) {
	response, err := model.Client().Post(model.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, strings.TrimSpace(string(answer)), err)
}

// A step is one response. The same script answers every format. A test calls New, which fails the
// test by itself; a program calls NewModel and Err.
func Example() {
	model := llmtest.NewModel(
		llmtest.Text("Hello."),
		llmtest.Text("Hello."),
	)
	send(model, "/v1/messages", `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"Hi."}]}`)
	send(model, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi."}]}]}`)
	fmt.Println(model.Err())
	// Output:
	// 200 {"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn","stop_sequence":null,"stop_details":null,"usage":{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":20}} <nil>
	// 200 {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello."}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":0,"totalTokenCount":120},"modelVersion":"m","responseId":"response-2"} <nil>
	// <nil>
}

// Turn joins what the model does in one response: here parallel calls after a text.
func ExampleTurn() {
	model := llmtest.NewModel(llmtest.Turn(
		llmtest.Text("I look at both."),
		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
		llmtest.Call("call_2", "get_order", `{"order_id":"77"}`),
	))
	send(model, "/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"Refund #4521 and #77."}]}]}`)
	// Output:
	// 200 data: {"candidates":[{"content":{"role":"model","parts":[{"text":"I look a"}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100},"modelVersion":"m","responseId":"response-1"}
	//
	// data: {"candidates":[{"content":{"role":"model","parts":[{"text":"t both."}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100},"modelVersion":"m","responseId":"response-1"}
	//
	// data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"get_order","args":{"order_id":"4521"}}}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100},"modelVersion":"m","responseId":"response-1"}
	//
	// data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_2","name":"get_order","args":{"order_id":"77"}}}]},"index":0}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100},"modelVersion":"m","responseId":"response-1"}
	//
	// data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":0,"totalTokenCount":120},"modelVersion":"m","responseId":"response-1"} <nil>
}

// Expectations say what the model must have been sent. A function checks anything else.
func ExampleStep_Expect() {
	model := llmtest.NewModel(llmtest.Text("done").Expect(
		llmtest.HasSystem("You refund orders."),
		llmtest.HasTools("get_order"),
		llmtest.HasResult("call_1", `"shipped"`),
		func(r *llmtest.Request) error {
			if len(r.Users) > 1 {
				return errors.New("the user has spoken twice")
			}
			return nil
		},
	))
	send(model, "/v1/chat/completions", `{"model":"m","messages":[
		{"role":"system","content":"You refund orders."},
		{"role":"user","content":"Refund #4521."},
		{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_order","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"{\"status\":\"lost\"}"}]}`)
	fmt.Println(model.Err())
	// Output:
	// 200 {"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"done","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}} <nil>
	// llmtest: example_test.go:64: step 1 (text) of the conversation: the model was offered the tools [], want ["get_order"]
	// |   the first user message: "Refund #4521."
	// |   the result of the tool call "call_1": "{\"status\":\"lost\"}"
	// llmtest: example_test.go:64: step 1 (text) of the conversation: the result of the tool call "call_1" is "{\"status\":\"lost\"}", want it to contain "\"shipped\""
	// |   the first user message: "Refund #4521."
	// |   the result of the tool call "call_1": "{\"status\":\"lost\"}"
}

// Agents that talk to the model at the same time have a conversation each.
func ExampleModel_For() {
	model := llmtest.NewModel()
	model.For("billing", llmtest.Text("The invoice is paid."))
	model.For("shipping", llmtest.Text("The parcel is on its way."))
	send(model, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Ask shipping about #4521."}]}`)
	fmt.Println(model.Err())
	// Output:
	// 200 {"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"The parcel is on its way.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}} <nil>
	// llmtest: example_test.go:94: step 1 (text) of the conversation for "billing" has not been used; 1 of 1 steps are left
}

// A provider that is overloaded, and a connection that breaks in the middle of a response.
func ExampleError() {
	model := llmtest.NewModel(
		llmtest.Error(529).RetryAfter(2*time.Second),
		llmtest.Text("A long answer.").Reset(),
	)
	const body = `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"Hi."}]}`
	send(model, "/v1/messages", body)
	send(model, "/v1/messages", body)
	// Output:
	// 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"} <nil>
	// 200 {"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"A long answer."}],"stop_reason":"end_turn","stop unexpected EOF
}

// A request that the provider would refuse does not use a step.
func Example_refused() {
	model := llmtest.NewModel(llmtest.Text("done"))
	send(model, "/v1/chat/completions", `{"model":"m","messages":[
		{"role":"user","content":"Refund #4521."},
		{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_order","arguments":"{}"}}]}]}`)
	// Output:
	// 400 {"error":{"message":"llmtest: POST /v1/chat/completions: the result of the tool call \"call_1\" is missing\n  the first user message: \"Refund #4521.\"","type":"invalid_request_error","param":null,"code":null}} <nil>
}
