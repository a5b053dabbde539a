package llm_test

import (
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
)

// wire is what an agent and a model exchange in one format, as the public documentation of the
// format shows it: a question, two calls at once, their results, and the final text. One call has
// arguments that are cut off, except in Gemini, where arguments are objects.
type wire struct {
	name, path string
	format     llm.Format

	ask, again   string   // the requests
	calls, final [2]exch  // their responses: a body, and a stream
	ids          []string // of the two calls; "" for none
	tokens       [2]int64
	messages     string // that the run has at the end
}

// exch is a response, not streamed or streamed.
type exch string

// sse writes events as they are on the wire: each of the texts is the data of one event. A text
// that begins with "event:" or ":" is a line before the next event.
func sse(data ...string) exch {
	var b strings.Builder
	for _, d := range data {
		if strings.HasPrefix(d, "event:") || strings.HasPrefix(d, ":") {
			b.WriteString(d + "\n")
			continue
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return exch(b.String())
}

const transcriptOfThinking = `{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","name":"get_order","arguments":{"order_id":"1"}},{"id":"b","name":"get_order","arguments":"{\"order_id\":"}],"thinking":[{"type":"text","text":"Two calls."}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"a"}
{"role":"tool","content":"no","tool_call_id":"b"}
{"role":"assistant","content":"Order 1 is shipped."}
`

var wires = []wire{
	{
		name: "chat", path: "/v1/chat/completions", format: llm.OpenAIChat, ids: []string{"a", "b"}, tokens: [2]int64{300, 50},
		ask: `{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Both orders."}]}`,
		again: `{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Both orders."},` +
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"get_order","arguments":"{ \"order_id\": \"1\"}"}},{"id":"b","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"{\"status\":\"shipped\"}"},{"role":"tool","tool_call_id":"b","content":"no"}]}`,
		calls: [2]exch{
			`{"id":"c-1","object":"chat.completion","created":1,"model":"m-1-2026","choices":[{"index":0,"finish_reason":"tool_calls","logprobs":null,"message":{"role":"assistant","content":"I look.","refusal":null,"reasoning_content":"Two calls.","tool_calls":[{"id":"a","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":\"1\"}"}},{"id":"b","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":"}}]}}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":50}}}`,
			sse(`{"id":"c-1","object":"chat.completion.chunk","model":"m-1-2026","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"reasoning_content":"Two calls."},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"content":"I lo"},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"content":"ok."},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_order","arguments":""}},{"index":1,"id":"b","type":"function","function":{"name":"get_order","arguments":""}}]},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"order_"}}]},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"order_id\":\"1\"}"}}]},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"id\":"}}]},"finish_reason":null}]}`,
				`{"id":"c-1","model":"m-1-2026","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}`,
				`{"id":"c-1","model":"m-1-2026","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`,
				`[DONE]`),
		},
		final: [2]exch{
			`{"id":"c-2","object":"chat.completion","model":"m-1-2026","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Order 1 is shipped.","refusal":null}}],"usage":{"prompt_tokens":200,"completion_tokens":30,"total_tokens":230}}`,
			sse(`{"id":"c-2","model":"m-1-2026","choices":[{"index":0,"delta":{"role":"assistant","content":"Order 1 is "},"finish_reason":null}]}`,
				`{"id":"c-2","model":"m-1-2026","choices":[{"index":0,"delta":{"content":"shipped."},"finish_reason":"stop"}]}`,
				`{"id":"c-2","model":"m-1-2026","choices":[],"usage":{"prompt_tokens":200,"completion_tokens":30,"total_tokens":230}}`,
				`[DONE]`),
		},
		messages: transcriptOfThinking,
	},
	{
		name: "anthropic", path: "/v1/messages", format: llm.Anthropic, ids: []string{"a", "b"}, tokens: [2]int64{300, 50},
		ask: `{"model":"m-1","max_tokens":100,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":[{"type":"text","text":"Both orders.","cache_control":{"type":"ephemeral"}}]}]}`,
		again: `{"model":"m-1","max_tokens":100,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":[{"type":"text","text":"Both orders."}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"Two calls.","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"get_order","input":{"order_id":"1"}},{"type":"tool_use","id":"b","name":"get_order","input":"{\"order_id\":"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"{\"status\":\"shipped\"}"}]},{"type":"tool_result","tool_use_id":"b","content":"no","cache_control":{"type":"ephemeral"}}]}]}`,
		calls: [2]exch{
			`{"id":"msg_1","type":"message","role":"assistant","model":"m-1-2026","content":[{"type":"thinking","thinking":"Two calls.","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"get_order","input":{"order_id":"1"}},{"type":"tool_use","id":"b","name":"get_order","input":"{\"order_id\":"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":40,"cache_read_input_tokens":50,"output_tokens":20}}`,
			sse("event: message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1-2026","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":40,"cache_read_input_tokens":50,"output_tokens":1}}}`,
				"event: content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				"event: ping", `{"type":"ping"}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two calls."}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
				"event: content_block_stop", `{"type":"content_block_stop","index":0}`,
				"event: content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I "}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}`,
				"event: content_block_stop", `{"type":"content_block_stop","index":1}`,
				"event: content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"get_order","input":{}}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"order_id\":"}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"1\"}"}}`,
				"event: content_block_stop", `{"type":"content_block_stop","index":2}`,
				"event: content_block_start", `{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"get_order","input":{}}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"order_id\":"}}`,
				"event: content_block_stop", `{"type":"content_block_stop","index":3}`,
				"event: message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":40,"cache_read_input_tokens":50,"output_tokens":20}}`,
				"event: message_stop", `{"type":"message_stop"}`),
		},
		final: [2]exch{
			`{"id":"msg_2","type":"message","role":"assistant","model":"m-1-2026","content":[{"type":"text","text":"Order 1 is shipped."}],"stop_reason":"end_turn","usage":{"input_tokens":200,"output_tokens":30}}`,
			sse("event: message_start", `{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"m-1-2026","content":[],"usage":{"input_tokens":200,"output_tokens":2}}}`,
				"event: content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Order "}}`,
				"event: content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"1 is shipped."}}`,
				"event: content_block_stop", `{"type":"content_block_stop","index":0}`,
				"event: message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":30}}`,
				"event: message_stop", `{"type":"message_stop"}`),
		},
		messages: transcriptOfThinking,
	},
	{
		name: "responses", path: "/v1/responses", format: llm.OpenAIResponses, ids: []string{"a", "b"}, tokens: [2]int64{300, 50},
		ask: `{"model":"m-1","instructions":"Be brief.","input":"Both orders."}`,
		again: `{"model":"m-1","instructions":"Be brief.","input":[{"role":"user","content":"Both orders."},` +
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two calls."}],"encrypted_content":"x"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"a","name":"get_order","arguments":"{\"order_id\":\"1\"}"},{"type":"function_call","call_id":"b","name":"get_order","arguments":"{\"order_id\":"},` +
			`{"type":"function_call_output","call_id":"a","output":"{\"status\":\"shipped\"}"},{"type":"function_call_output","call_id":"b","output":"no"}]}`,
		calls: [2]exch{
			responseCalls,
			sse("event: response.created", `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"m-1-2026","output":[],"usage":null}}`,
				"event: response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
				"event: response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","sequence_number":2,"item_id":"fc_1","output_index":2,"delta":"{\"order_id\":\"1\"}"}`,
				"event: response.output_item.done", `{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two calls."}]}}`,
				"event: response.completed", `{"type":"response.completed","sequence_number":4,"response":`+string(responseCalls)+`}`),
		},
		final: [2]exch{
			`{"id":"resp_2","object":"response","status":"completed","model":"m-1-2026","output":[{"id":"msg_2","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Order 1 is shipped.","annotations":[]}]}],"usage":{"input_tokens":200,"output_tokens":30,"total_tokens":230}}`,
			sse("event: response.created", `{"type":"response.created","response":{"id":"resp_2","status":"in_progress","model":"m-1-2026","output":[]}}`,
				"event: response.output_text.delta", `{"type":"response.output_text.delta","item_id":"msg_2","output_index":0,"content_index":0,"delta":"Order 1 is shipped."}`,
				"event: response.output_item.done", `{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"output_text","text":"Order 1 is shipped."}]}}`,
				"event: response.completed", `{"type":"response.completed","response":{"id":"resp_2","status":"completed","model":"m-1-2026","usage":{"input_tokens":200,"output_tokens":30}}}`),
		},
		messages: transcriptOfThinking,
	},
	{
		name: "gemini", path: "/v1beta/models/m-1:generateContent", format: llm.Gemini, ids: []string{"", ""}, tokens: [2]int64{300, 50},
		ask: `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Both orders."}]}]}`,
		again: `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Both orders."}]},` +
			`{"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"get_order","args":{"order_id":"1"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_order","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"get_order","response":{"output":{"status":"shipped"}}}},{"functionResponse":{"name":"get_order","response":{"output":"no"}}}]}]}`,
		calls: [2]exch{
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"Two calls.","thought":true},{"text":"I look."},{"functionCall":{"name":"get_order","args":{"order_id":"1"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_order","args":{}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":90,"toolUsePromptTokenCount":10,"candidatesTokenCount":15,"thoughtsTokenCount":5,"totalTokenCount":120},"modelVersion":"m-1-2026"}`,
			sse(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Two ","thought":true}]},"index":0}],"usageMetadata":{"promptTokenCount":90,"totalTokenCount":90},"modelVersion":"m-1-2026"}`,
				`{"candidates":[{"content":{"role":"model","parts":[{"text":"calls.","thought":true},{"text":"I lo"}]},"index":0}],"modelVersion":"m-1-2026"}`,
				`{"candidates":[{"content":{"role":"model","parts":[{"text":"ok."},{"functionCall":{"name":"get_order","args":{"order_id":"1"}},"thoughtSignature":"c2ln"}]},"index":0}],"modelVersion":"m-1-2026"}`,
				`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"get_order","args":{}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":90,"toolUsePromptTokenCount":10,"candidatesTokenCount":15,"thoughtsTokenCount":5,"totalTokenCount":120},"modelVersion":"m-1-2026"}`),
		},
		final: [2]exch{
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"Order 1 is shipped."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":200,"candidatesTokenCount":30},"modelVersion":"m-1-2026"}`,
			sse(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Order 1 is "}]}}],"modelVersion":"m-1-2026"}`,
				`{"candidates":[{"content":{"role":"model","parts":[{"text":"shipped."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":200,"candidatesTokenCount":30},"modelVersion":"m-1-2026"}`),
		},
		messages: strings.NewReplacer(`"a"`, `"call_1"`, `"b"`, `"call_2"`, `"{\"order_id\":"`, `{}`).Replace(transcriptOfThinking),
	},
}

const responseCalls exch = `{"id":"resp_1","object":"response","status":"completed","model":"m-1-2026","output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two calls."}]},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"a","name":"get_order","arguments":"{\"order_id\":\"1\"}","status":"completed"},{"type":"function_call","id":"fc_2","call_id":"b","name":"get_order","arguments":"{\"order_id\":","status":"completed"}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":50},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":120}}`
