package llm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
)

// What a response adds to the conversation, where servers differ from the documentation, or a
// stream from what is usual.
func TestAnswers(t *testing.T) {
	const (
		none    = ""
		several = "it has several alternatives"
		failed  = "it ended with an error"
		broken  = "it broke off, or ended without a reason"
		waits   = "it is not finished"
		nothing = "it has no answer"
	)
	chatStream := func(choices ...string) exch {
		for i, choice := range choices {
			choices[i] = `{"model":"m","choices":[` + choice + `]}`
		}
		return sse(append(choices, "[DONE]")...)
	}
	gemini := func(parts, more string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + more + `}]}`
	}
	const finish = `,"finishReason":"STOP"`
	chat, anthropic, responses, google := wires[0], wires[1], wires[2], wires[3]
	for _, tt := range []struct {
		name string
		wire wire
		body exch
		want string // the messages after the user's, or why there are none
	}{
		{"calls with one index", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"g","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"y","name":"g","arguments":{"a":1}}]}`},
		{"a repeated name", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}`},
		{"the old form of a call", chat, chatStream(
			`{"index":0,"delta":{"function_call":{"name":"f","arguments":""}}}`, `{"index":0,"delta":{"function_call":{"arguments":"{}"}},"finish_reason":"function_call"}`,
		), `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}}]}`},
		{"the text of the older completions", chat, `{"choices":[{"index":0,"text":"Yes.","finish_reason":"stop"}]}`, `{"role":"assistant","content":"Yes."}`},
		{"blocks that do not begin", anthropic, sse(`{"type":"message_start","message":{}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ye"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"s."}}`, `{"type":"message_stop"}`),
			`{"role":"assistant","content":"Yes.","thinking":[{"type":"text","text":"Hm."}]}`},
		{"arguments of no call", anthropic, sse(`{"type":"message_start","message":{}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"message_stop"}`),
			"it has arguments that do not belong together"},
		{"members of a call that are null", google, exch(gemini(`{"functionCall":{"name":"f","args":{"a":1},"willContinue":null,"partialArgs":null}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{"a":1}}]}`},
		{"a part of no known kind", google, exch(gemini(`{"hologram":{},"thoughtSignature":"x"},{"thoughtSignature":"x"}`, finish)), `{"role":"assistant","content":"[hologram]"}`},
		{"a refusal", chat, chatStream(`{"index":0,"delta":{"refusal":"I ca"}}`, `{"index":0,"delta":{"refusal":"nnot."},"finish_reason":"stop"}`),
			`{"role":"assistant","content":"I cannot."}`},
		{"several choices", chat, chatStream(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`, `{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}`), several},
		{"no reason", chat, chatStream(`{"index":0,"delta":{"content":"a"}}`), `{"role":"assistant","content":"a"}`},
		{"no reason and no end", chat, sse(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`), broken},
		{"a reason and no end", chat, sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"eos"}]}`), `{"role":"assistant","content":"a"}`},
		{"words that keep the connection open", chat, exch("data:\n\ndata: : wait\n\ndata: ping\n\n") + sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, "[DONE]"), `{"role":"assistant","content":"a"}`},
		{"comments and data of two lines", chat, exch(": wait\n\nretry: 3\ndata: {\"choices\":[{\"index\":0,\r\ndata:\"delta\":{\"content\":\"a\"},\r\ndata: \"finish_reason\":\"stop\"}]}\r\n\r\n"),
			`{"role":"assistant","content":"a"}`},
		{"reasoning under two names", chat, chatStream(
			`{"index":0,"delta":{"reasoning":"Let me ","reasoning_content":"Let me "}}`, `{"index":0,"delta":{"reasoning":"think.","reasoning_content":null}}`,
			`{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}`,
		), `{"role":"assistant","content":"Done.","thinking":[{"type":"text","text":"Let me think."}]}`},
		{"reasoning under the newer name", chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"","reasoning":"hm"}}]}`,
			`{"role":"assistant","content":"a","thinking":[{"type":"text","text":"hm"}]}`},
		{"reasoning under names of a server's own", chat, chatStream(`{"index":0,"delta":{"thinking_text":"Let me ","reasoning_signature":"c2ln","reasoning_tokens":7}}`, `{"index":0,"delta":{"thinking_text":"think."}}`,
			`{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","text":"Let me"},{"type":"reasoning.encrypted","data":"x"}]}}`, `{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`),
			`{"role":"assistant","content":"a","thinking":[{"type":"text","text":"Let me think."}]}`},
		{"reasoning in parts", chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.summary","summary":"Let me "},{"type":"reasoning.text","text":"think."}]}}]}`,
			`{"role":"assistant","content":"a","thinking":[{"type":"text","text":"Let me think."}]}`},
		{"calls that the server makes", chat, chatStream(`{"index":0,"delta":{"executed_tools":[{"index":0,"type":"search","arguments":"{\"q\":1}","output":""}]}}`,
			`{"index":0,"delta":{"executed_tools":[{"index":0,"type":"search","arguments":"{\"q\":1}","output":"hits"}]}}`, `{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"search","arguments":{"q":1}}]}
{"role":"tool","content":"hits","tool_call_id":"call_1"}
{"role":"assistant","content":"a"}`},
		{"calls that the server makes, one in each event", chat, chatStream(`{"index":0,"delta":{"executed_tools":[{"index":0,"type":"search","arguments":"{}"}]}}`,
			`{"index":0,"delta":{"executed_tools":[{"index":1,"type":"visit","arguments":"{}"}]}}`, `{"index":0,"delta":{"content":"a","reasoning_encrypted_content":"x"},"finish_reason":"stop"}`),
			`{"role":"assistant","content":"a","tool_calls":[{"id":"call_1","name":"search","arguments":{}},{"id":"call_2","name":"visit","arguments":{}}]}`},
		{"choices without an index", chat, `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`, several},
		{"images", chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"[image image/png, 3 bytes]"}]}`},
		{"streamed images", chat, chatStream(`{"index":0,"delta":{"content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},"finish_reason":"stop"}`),
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"[image image/png, 3 bytes]"}]}`},
		{"a custom call", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","type":"custom","custom":{"name":"run","input":""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"SELECT "}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"1"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"run","arguments":"SELECT 1"}]}`},
		{"parts in deltas", chat, chatStream(
			`{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Two "}]}]}}`, `{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"words."}]}]}}`,
			`{"index":0,"delta":{"content":[{"type":"text","text":"Hello"}]}}`, `{"index":0,"delta":{"content":" there"},"finish_reason":"stop"}`,
		), `{"role":"assistant","content":"Hello there","thinking":[{"type":"text","text":"Two words."}]}`},
		{"parts with thinking", chat, `{"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hello"}]}}]}`,
			`{"role":"assistant","content":"Hello","thinking":[{"type":"text","text":"hm"}]}`},
		{"sound", chat, chatStream(
			`{"index":0,"delta":{"audio":{"id":"a","transcript":"Hel"}}}`, `{"index":0,"delta":{"audio":{"data":"AAAA","transcript":"lo."}}}`, `{"index":0,"delta":{},"finish_reason":"stop"}`,
		), `{"role":"assistant","content":"Hello."}`},
		{"calls without index and id", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"function":{"name":"b","arguments":""}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"call_1","name":"a","arguments":{}},{"id":"call_2","name":"a","arguments":{}},{"id":"call_3","name":"b","arguments":{}}]}`},
		{"pieces of calls with one index in turn", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}},{"index":0,"id":"y","function":{"name":"f","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"}"}},{"index":0,"id":"y","function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"y","name":"f","arguments":{"a":1}}]}`},
		{"a repeated id and name", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":{}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":{}}}]}`},
		{"an id of its own for each piece", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":null,"arguments":"{\"a\":"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"z","function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"an id of its own and the name for each piece", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"\"}\"}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"z","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":"}"}},{"id":"z","name":"f","arguments":{}}]}`},
		{"an index that counts pieces", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"a\":"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":2,"id":"z","function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"a repeated name after a nested object", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":{\"b\":\"\\\"{\"}"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{"a":{"b":"\"{"}}}]}`},
		{"braces and quotes in arguments, and the name for each piece", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":\"\\\"}"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"\\\"\",\"b\":[\"\\\\"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"]}\"]"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"z","function":{"name":"f","arguments":"{\"a\":"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"1}}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":"\"}\"","b":["\\]}"]}},{"id":"z","name":"f","arguments":{"a":{"a":1}}}]}`},
		{"a piece with an id at another position", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}},{"index":0,"id":"y","function":{"name":"f","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"arguments":":1}"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"y","name":"f","arguments":{"a":1}}]}`},
		{"one id for calls that differ", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":2}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"g","arguments":"{\"a\":2}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}},{"id":"x","name":"f","arguments":{"a":2}},{"id":"x","name":"g","arguments":{"a":2}}]}`},
		{"arguments again without the name, and in values that grow", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"y","function":{"name":"g","arguments":{"b":1}}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}},{"index":1,"function":{"arguments":{"b":1,"c":[2]}}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}},{"id":"y","name":"g","arguments":{"b":1,"c":[2]}}]}`},
		{"an id without a call", chat, chatStream(`{"index":0,"delta":{"tool_calls":[{"index":0},{"index":1,"id":"x"}]},"finish_reason":"tool_calls"}`), "/tool_calls/0/name is missing"},
		{"arguments without a call", chat, chatStream(`{"index":0,"delta":{"tool_calls":[{"index":0},{"index":1,"function":{"arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}`), "/tool_calls/0/name is missing"},
		{"a whole call again", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"pieces of calls without ids by position", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}},{"function":{"name":"g","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"function":{"arguments":"}"}},{"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"g","arguments":{"a":1}}]}`},
		{"one id for all calls", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":"{"}},{"index":1,"id":"0","function":{"name":"f","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"0","function":{"arguments":"}"}},{"index":1,"id":"0","function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"0","name":"f","arguments":{}},{"id":"0","name":"f","arguments":{"a":1}}]}`},
		{"arguments that are an object", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":7,"function":{"name":"f","arguments":{}}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":1,"id":8,"function":{"name":"g","arguments":{}}}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"b\":2}"}}]}}`,
			`{"index":0,"delta":{"function_call":{"name":"h","arguments":{"c":[3]}}},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"7","name":"f","arguments":{"a":1}},{"id":"8","name":"g","arguments":{"b":2}},{"id":"call_1","name":"h","arguments":{"c":[3]}}]}`},
		{"texts that are numbers", chat, chatStream(`{"index":0,"delta":{"content":4}}`, `{"index":0,"delta":{"content":" of "}}`, `{"index":0,"delta":{"content":5.0},"finish_reason":"stop"}`),
			`{"role":"assistant","content":"4 of 5.0"}`},
		{"an index of the choice that counts events", chat, chatStream(`{"index":0,"delta":{"content":"a"},"message":{"content":"a"}}`, `{"index":1,"delta":{"content":"b"},"message":{"content":"b"}}`,
			`{"index":2,"delta":{"content":""},"message":{"content":""},"finish_reason":"stop"}`), `{"role":"assistant","content":"ab"}`},
		{"a delta beside the message of a body", chat, `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`, `{"role":"assistant","content":"a"}`},
		{"an empty message beside the delta of a body", chat, `{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`, `{"role":"assistant","content":"a"}`},
		{"an empty message beside the call of a body", chat, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{}}]}`},
		{"choices in turns", chat, chatStream(`{"index":0,"delta":{"content":"a"}}`, `{"index":1,"delta":{"content":"b"}}`, `{"index":0,"delta":{},"finish_reason":"stop"}`), several},
		{"choices of one event", chat, sse(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), several},
		{"an id and a name that come later", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function"}]}}`, `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x"}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}`},
		{"an empty reason on the way", chat, chatStream(`{"index":0,"delta":{"content":"a"},"finish_reason":""}`), `{"role":"assistant","content":"a"}`},
		{"an error as the reason", chat, sse(`{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`,
			`{"error":{"code":502,"message":"no"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, "[DONE]"), failed},
		{"an error as the reason, later", chat, chatStream(`{"index":0,"delta":{"content":"Hel"},"finish_reason":"stop"}`, `{"index":0,"delta":{},"finish_reason":"error"}`), failed},
		{"no alternatives", chat, `{"model":"m","choices":[]}`, nothing},
		{"an error that is none", chat, `{"error":"","choices":[{"index":0,"message":{"role":"assistant","content":"a"}}]}`, `{"role":"assistant","content":"a"}`},
		{"white space after the end", chat, sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, "[DONE] "), `{"role":"assistant","content":"a"}`},
		{"an event after the last one", chat, sse(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, "[DONE]", "{"), `{"role":"assistant","content":"a"}`},
		{"an error with the status 200", chat, `{"error":{"message":"no"}}`, failed},

		{"an error in the stream", anthropic, sse(`{"type":"message_start","message":{"model":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"error","error":{"type":"overloaded_error"}}`), failed},
		{"tools of the provider", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[]}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"a","citations":[]}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}`,
			`{"type":"message_stop"}`,
		), `{"role":"assistant","tool_calls":[{"id":"s","name":"web_search","arguments":{"query":"q"}}]}
{"role":"tool","content":"[]","tool_call_id":"s"}
{"role":"assistant","content":"a"}`},

		{"blocks with which the message starts", anthropic, sse(
			`{"type":"message_start","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"tool_use","id":"x","name":"f","input":{"a":1}}]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"c"}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}],"tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"blocks that come again after the start of the message", anthropic, sse(
			`{"type":"message_start","message":{"content":[{"type":"text","text":"ab"},{"type":"tool_use","id":"x","name":"f","input":{"a":1}},{"type":"tool_use","id":"y","name":"f","input":{"a":2}},{"type":"text","text":""}]}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"y","name":"f","input":{}}}`, `{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":2}"}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"c"}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","content":[{"type":"text","text":"ab"},{"type":"text","text":"c"}],"tool_calls":[{"id":"x","name":"f","arguments":{"a":1}},{"id":"y","name":"f","arguments":{"a":2}}]}`},
		{"a text that comes twice at one index", anthropic, sse(
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]}`},
		{"arguments of no call before others, and a block that is not there", anthropic, sse(`{"type":"content_block_start","index":0}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"message_stop"}`),
			"it has arguments that do not belong together"},
		{"input in an object and a number as id", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":7,"name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":{"a":1}}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","tool_calls":[{"id":"7","name":"f","arguments":{"a":1}}]}`},
		{"a call that begins twice", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":":1}"}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"a block that comes twice", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"f","input":{}}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"x","name":"f","arguments":{"a":1}},{"id":"x","name":"f","arguments":{}}]}`},
		{"calls of one index without ids, and a text that begins twice", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f","input":{}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f","input":{}}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","content":"a","tool_calls":[{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"f","arguments":{}}]}`},
		{"pieces of blocks in turn", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}`,
			`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"c"}}`, `{"type":"message_delta","delta":{"stop_reason":""}}`, `{"type":"message_stop"}`,
		), `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}`},

		{"ends of pieces only", responses, sse(`{"type":"response.output_text.done","output_index":0,"text":"Hm."}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"x","name":"f"}}`, `{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"a\":1}"}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`), `{"role":"assistant","content":"Hm.","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}`},
		{"a number as id and as text", responses, `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":4}]},{"type":"function_call","call_id":7,"name":"f","arguments":{"a":1}}]}`,
			`{"role":"assistant","content":"4","tool_calls":[{"id":"7","name":"f","arguments":{"a":1}}]}`},
		{"an item that is added twice", responses, sse(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"x","name":"f","arguments":""}}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc","call_id":"x","name":"f","arguments":""}}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"}"}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}`},
		{"items but no output", responses, sse(`{"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed"}}`), `{"role":"assistant","content":"a"}`},
		{"a status in another word", responses, `{"id":"r","status":"stop","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`, `{"role":"assistant","content":"a"}`},
		{"no status", responses, `{"id":"r","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`, `{"role":"assistant","content":"a"}`},
		{"a body that was cancelled", responses, `{"id":"r","status":"cancelled","output":[]}`, failed},
		{"a body with an error", responses, `{"id":"r","error":{"code":"server_error"},"output":[]}`, failed},
		{"failed without a status", responses, sse(`{"type":"response.failed","response":{"id":"r"}}`), failed},
		{"a stream cut by the limit of tokens", responses, sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`), `{"role":"assistant","content":"a"}`},
		{"events that name the item, and none the index", responses, sse(`{"type":"response.output_item.added","item":{"id":"i","type":"reasoning"}}`, `{"type":"response.output_item.added","item":{"id":"j","type":"message"}}`,
			`{"type":"response.reasoning_text.delta","item_id":"i","delta":"Hm."}`, `{"type":"response.refusal.done","item_id":"j","refusal":"No."}`, `{"type":"response.completed","response":{"id":"r","status":"completed"}}`),
			`{"role":"assistant","content":"No.","thinking":[{"type":"text","text":"Hm."}]}`},
		{"cancelled", responses, sse(`{"type":"response.cancelled","response":{"id":"r","status":"cancelled","output":[]}}`), failed},
		{"events about pieces only", responses, sse(`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm."}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"I "}`, `{"type":"response.output_text.delta","output_index":1,"delta":"look."}`,
			`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"n\":"}`, `{"type":"response.function_call_arguments.delta","output_index":2,"delta":"1}"}`,
			`{"type":"response.output_item.added","output_index":3,"item":{"type":"custom_tool_call","call_id":"b","name":"g","input":""}}`, `{"type":"response.custom_tool_call_input.delta","output_index":3,"delta":"ls"}`,
			`{"type":"response.output_text.delta","output_index":4,"delta":"lost"}`, `{"type":"response.output_item.done","output_index":4,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`),
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","name":"f","arguments":{"n":1}},{"id":"b","name":"g","arguments":"ls"}],"thinking":[{"type":"text","text":"Hm."}]}
{"role":"assistant","content":"Done."}`},
		{"parts of two kinds, and pieces without an index", responses, sse(`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"A"}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"b"}`,
			`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"C"}`, `{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"D"}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`), `{"role":"assistant","content":"D","thinking":[{"type":"text","text":"Ab\n\nC"}]}`},
		{"parts that end together", responses, sse(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"One."}`, `{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"Two."}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"One."}`, `{"type":"response.output_text.done","output_index":0,"content_index":1,"text":"Two."}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`),
			`{"role":"assistant","content":"One.\n\nTwo."}`},
		{"several parts of an item", responses, sse(`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Hm"}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"."}`,
			`{"type":"response.reasoning_summary_text.done","output_index":0,"text":"Hm."}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Yes."}`,
			`{"type":"response.output_text.done","output_index":1,"content_index":0,"text":"One."}`, `{"type":"response.output_text.done","output_index":1,"content_index":1,"text":"Two."}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`), `{"role":"assistant","content":"One.\n\nTwo.","thinking":[{"type":"text","text":"Hm.\n\nYes."}]}`},
		{"pieces that break off", responses, sse(`{"type":"response.output_text.delta","output_index":1,"delta":"I "}`), broken},
		{"cut by the limit of tokens", responses, `{"id":"r","status":"incomplete","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`,
			`{"role":"assistant","content":"a"}`},
		{"failed", responses, sse(`{"type":"response.failed","response":{"id":"r","status":"failed","output":[{"type":"message","role":"assistant","content":[]}]}}`), failed},
		{"an error", responses, sse(`{"type":"error","code":"server_error","message":"no"}`), failed},
		{"in the background", responses, `{"id":"r","status":"queued","output":[]}`, waits},

		{"a number as text and id, and arguments in a text", google, exch(gemini(`{"text":4},{"functionCall":{"id":7,"name":"f","args":"{\"a\":1}"}}`, finish)),
			`{"role":"assistant","content":"4","tool_calls":[{"id":"7","name":"f","arguments":{"a":1}}]}`},
		{"names of protocol buffers", google, sse(`{"candidates":[{"content":{"parts":[{"thought_signature":"x"},{"video_metadata":{}},{"function_call":{"name":"f","will_continue":true}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"function_call":{"partial_args":[{"json_path":"$.a","string_value":"b"},{"json_path":"$.b","number_value":2},{"json_path":"$.c","bool_value":true},{"json_path":"$.d","null_value":"NULL_VALUE"}]}}]},"finish_reason":1}]}`),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{"a":"b","b":2,"c":true,"d":null}}]}`},
		{"blocked, in names of protocol buffers", google, `{"prompt_feedback":{"block_reason":2}}`, none},
		{"an index of the candidate that counts events", google, sse(`{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`), `{"role":"assistant","content":"ab"}`},
		{"a list", google, exch("[" + gemini(`{"text":"a"}`, "") + ",\n" + gemini(`{"text":"b"}`, finish) + "]"), `{"role":"assistant","content":"ab"}`},
		{"a reason in a number", google, exch(`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":1}]}`), `{"role":"assistant","content":"a"}`},
		{"no reason in a body", google, exch(gemini(`{"text":"a"}`, "")), `{"role":"assistant","content":"a"}`},
		{"no reason in a stream", google, sse(gemini(`{"text":"a"}`, `,"finishReason":0`)), broken},
		{"several candidates", google, `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]}}]}`, several},
		{"an event without an end", google, exch("data: " + gemini(`{"text":"a"}`, finish)), `{"role":"assistant","content":"a"}`},
		{"a thought and the answer", google, sse(gemini(`{"text":"Hm","thought":true}`, ""), gemini(`{"text":".","thought":true},{"text":"Yes"}`, ""), gemini(`{"text":"."}`, finish)),
			`{"role":"assistant","content":"Yes.","thinking":[{"type":"text","text":"Hm."}]}`},
		{"arguments in pieces", google, sse(
			gemini(`{"text":"I look."},{"functionCall":{"id":"x","name":"f","willContinue":true}}`, ""),
			gemini(`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"New ","willContinue":true}],"willContinue":true}}`, ""),
			gemini(`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Delhi"},{"jsonPath":"$.of[0]['the days'].n","numberValue":2}],"willContinue":true}}`, ""),
			gemini(`{"functionCall":{"partialArgs":[{"jsonPath":"$.of[1]","boolValue":true},{"jsonPath":"$[\"unit\"]","nullValue":"NULL_VALUE"}],"willContinue":true}}`, ""),
			gemini(`{"functionCall":{}}`, ""),
			gemini(`{"functionCall":{"name":"g","willContinue":true}}`, ""), gemini(`{"functionCall":{"name":"h","partialArgs":[{"jsonPath":"$.a","stringValue":"b"}],"willContinue":true}}`, finish),
		), `{"role":"assistant","content":"I look.","tool_calls":[{"id":"x","name":"f","arguments":{"city":"New Delhi","of":[{"the days":{"n":2}},true],"unit":null}},` +
			`{"id":"call_1","name":"g","arguments":{}},{"id":"call_2","name":"h","arguments":{"a":"b"}}]}`},
		{"arguments in pieces that are nested deep", google, exch(gemini(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$`+strings.Repeat(".a", 100)+`","stringValue":"b"}]}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":` + strings.Repeat(`{"a":`, 100) + `"b"` + strings.Repeat("}", 100) + `}]}`},
		{"arguments in one piece", google, exch(gemini(`{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$","stringValue":"b"}]}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":"b"}]}`},
		{"tools of the provider", google, exch(gemini(`{"toolCall":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]}}},{"toolResponse":{"id":"t","toolType":"GOOGLE_SEARCH_WEB","response":{"hits":1}}},`+
			`{"executableCode":{"language":"PYTHON","code":"1/0"}},{"codeExecutionResult":{"outcome":"OUTCOME_FAILED","output":"division by zero"}},{"text":"a"}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"t","name":"google_search_web","arguments":{"queries":["q"]}}]}
{"role":"tool","content":"{\"hits\":1}","tool_call_id":"t"}
{"role":"assistant","tool_calls":[{"id":"call_1","name":"code_execution","arguments":{"language":"PYTHON","code":"1/0"}}]}
{"role":"tool","content":"{\"error\":\"division by zero\"}","tool_call_id":"call_1"}
{"role":"assistant","content":"a"}`},
		{"a call in pieces before another call, and before code", google, sse(gemini(`{"functionCall":{"id":"y","name":"g","willContinue":true}},{"functionCall":{"id":"z","name":"h","args":{}}}`, ""),
			gemini(`{"functionCall":{"id":"w","name":"k","willContinue":true}},{"functionCall":{"id":"w"}},{"executableCode":{"code":"x"}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"y","name":"g","arguments":{}},{"id":"z","name":"h","arguments":{}},{"id":"w","name":"k","arguments":{}},{"id":"call_1","name":"code_execution","arguments":{"code":"x"}}]}`},
		{"an error in the stream", google, sse(gemini(`{"text":"a"}`, finish), `{"error":{"code":503,"status":"UNAVAILABLE"}}`), failed},
		{"calls that come again", google, sse(gemini(`{"functionCall":{"id":"x","name":"f","args":{}}},{"functionCall":{"id":"x","name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}`, ""),
			gemini(`{"functionCall":{"id":"x","name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}`, ""),
			gemini(`{"functionCall":{"id":"y","name":"g","willContinue":true}}`, ""), gemini(`{"functionCall":{"id":"y","name":"g","partialArgs":[{"jsonPath":"$.a","stringValue":"b"}],"willContinue":true}}`, ""),
			gemini(`{"functionCall":{"id":"y","name":"g","partialArgs":[{"jsonPath":"$.a","stringValue":"b"}]}}`, ""),
			gemini(`{"functionCall":{"id":"z","name":"h","willContinue":true}}`, ""), gemini(`{"functionCall":{"id":"z","name":"h","args":{"c":1}}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"x","name":"f","arguments":{}},{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"f","arguments":{}},` +
				`{"id":"y","name":"g","arguments":{"a":"bb"}},{"id":"z","name":"h","arguments":{"c":1}}]}`},
		{"code that takes too long", google, exch(gemini(`{"executableCode":{"code":"x"}},{"codeExecutionResult":{"outcome":"OUTCOME_DEADLINE_EXCEEDED","output":"late"}}`, finish)),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"code_execution","arguments":{"code":"x"}}]}
{"role":"tool","content":"{\"error\":\"late\"}","tool_call_id":"call_1"}`},
		{"blocked", google, `{"promptFeedback":{"blockReason":"SAFETY"}}`, none},
	} {
		t.Run(tt.wire.name+"/"+tt.name, func(t *testing.T) {
			transport := &llm.Transport{Base: model(tt.body)}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				got, err := send(ctx, transport, tt.wire.path, tt.wire.ask)
				if got != string(tt.body) {
					t.Errorf("arrived %q", got)
				}
				return err
			})
			want, problem := "{\"role\":\"system\",\"content\":\"Be brief.\"}\n{\"role\":\"user\",\"content\":\"Both orders.\"}\n", ""
			if strings.HasPrefix(tt.want, "{") {
				want += tt.want + "\n"
			} else {
				problem = tt.want
			}
			want += "{\"role\":\"assistant\",\"content\":\"Order 1 is shipped.\"}\n"
			if got := rows(t, result.Messages); got != want || len(result.Problems) > 1 || (len(result.Problems) == 0) != (problem == "") ||
				!strings.Contains(fmt.Sprint(result.Problems), problem) {
				t.Errorf("%v, got\n%swant\n%s", result.Problems, got, want)
			}
		})
	}
}

// What a response is, its first bytes tell. What cannot be read is reported.
func TestUnreadableResponses(t *testing.T) {
	w := wires[0]
	stream, whole := string(w.final[1]), string(w.final[0])
	for _, tt := range []struct {
		name, body, contentType, encoding string
		problem                           string
		lost                              bool // the answer
	}{
		{"a stream as text", stream, "text/plain", "", "", false},
		{"a stream as JSON", stream, "application/json", "", "", false},
		{"a stream without a type", stream, "", "", "", false},
		{"a stream after a comment", ": wait\n\n" + stream, "", "", "", false},
		{"a stream after white space and a byte order mark", "\ufeff\r\n" + stream, "", "", "", false},
		{"a body as a stream", whole, "text/event-stream", "", "", false},
		{"a body after white space and a byte order mark", "\ufeff\n" + whole, "", "", "", false},
		{"gzip that no header announces", string(zipped(t, stream)), "text/event-stream", "", "", false},
		{"white space in an event", "data:  \n\n" + stream, "", "", "", false},

		{"another encoding", "\x1b\x03\x00" + stream, "text/event-stream", "br", "it is neither JSON nor a stream of events, in the Content-Encoding br", true},
		{"a page", "<html></html>", "text/html", "", "it is neither JSON nor a stream of events", true},
		{"gzip in gzip", string(zipped(t, string(zipped(t, whole)))), "", "gzip", "it is neither JSON nor a stream of events, in the Content-Encoding gzip", true},
		{"nothing", " \n", "application/json", "", "it is empty", true},
		{"invalid JSON", strings.Replace(whole, ":", ";", 1), "application/json", "", "it is invalid JSON at byte ", true},
		{"JSON that is nested deep", `{"choices":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}", "", "", "nested", true},
		{"another API", string(wires[1].final[0]), "application/json", "", "it is not a response of this API", true},
		{"a stream of another API", string(wires[1].final[1]), "text/event-stream", "", "it has no event of this API", true},
		{"an event that is not JSON", "data: {\n\n" + stream, "", "", "an event in a response of the model was not read", false},

		{"a body that breaks off", whole[:len(whole)/2], "", "", "it broke off", true},
		{"a stream that breaks off", stream[:len(stream)/3], "", "", "it broke off", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, r.Body)
				resp := response(exch(tt.body))
				resp.Header.Set("Content-Type", tt.contentType)
				resp.Header.Set("Content-Encoding", tt.encoding)
				resp.Body = io.NopCloser(iotest.OneByteReader(resp.Body))
				return resp, err
			})}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				got, err := send(ctx, transport, w.path, w.ask)
				if got != tt.body {
					t.Errorf("arrived %q", got)
				}
				return err
			})
			if problem := fmt.Sprint(result.Problems); !strings.Contains(problem, tt.problem) || len(result.Problems) > 1 || (problem == "[]") != (tt.problem == "") {
				t.Errorf("problems %v, want %q", result.Problems, tt.problem)
			}
			if m := metadata(t, result); (m.Output == 0) != tt.lost {
				t.Errorf("metadata %+v", m)
			}
		})
	}
}

// A body that breaks off is not an answer, at whatever byte.
func TestBodyThatBreaksOff(t *testing.T) {
	const body = `{"a":"é\n\u00e9\ud83d\ude00", "b":[true,false,null,-1.5e+3,{}],"choices":[]}`
	for i := 1; i < len(body); i++ {
		for name, end := range map[string]error{"ends": io.EOF, "breaks": io.ErrUnexpectedEOF} {
			transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, r.Body)
				resp := response("")
				resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:i]), iotest.ErrReader(end)))
				return resp, err
			})}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				_, _ = send(ctx, transport, chatPath, chat("user a"))
				return nil
			})
			if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "it broke off") {
				t.Errorf("%s after %s: %v", name, body[:i], result.Problems)
			}
		}
	}
}

// The response of one API is not one of another API.
func TestResponseOfAnotherAPI(t *testing.T) {
	for _, w := range wires {
		for _, other := range wires {
			for i, body := range other.final {
				transport := &llm.Transport{Base: model(body)}
				result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
					_, err := send(ctx, transport, w.path, w.ask)
					return err
				})
				if (len(result.Problems) > 0) != (w.format != other.format) {
					t.Errorf("%s of %s for %s: %v", kinds[i], other.name, w.name, result.Problems)
				}
			}
		}
	}
}

// A response that cannot be read is reported to an SDK that does not wait for its end.
func TestUnreadableResponseWithoutItsEnd(t *testing.T) {
	for body, problem := range map[exch]string{"<html></html>": "it is neither JSON", wires[1].final[0]: "it is not a response of this API"} {
		transport := &llm.Transport{Base: model(body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			resp, err := do(ctx, transport, chatPath, chat("user a"))
			if err != nil {
				return err
			}
			_, err = io.ReadFull(resp.Body, make([]byte, len(body)))
			return errors.Join(err, resp.Body.Close())
		})
		if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, problem) {
			t.Errorf("problems %v, want %q", result.Problems, problem)
		}
	}
}

// Arguments in pieces that do not make a value are reported.
func TestArgumentsThatDoNotBelongTogether(t *testing.T) {
	w := wires[3]
	for _, path := range []string{"", "city", "$..a", "$.a[", "$['a", "$.a[-1]", "$" + strings.Repeat(".a", 101)} {
		transport := &llm.Transport{Base: model(exch(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"` + path +
			`","stringValue":"b"},{"jsonPath":"$.b","stringValue":"c"}]}}]},"finishReason":"STOP"}]}`))}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, w.path, w.ask)
			return err
		})
		if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "arguments that do not belong together") || len(result.Messages) != 3 {
			t.Errorf("%.20s: %v, %s", path, result.Problems, brief(result.Messages))
		}
	}
}

// Other traffic under the same path causes no problem if it is not JSON, or if other requests are read.
func TestOtherTraffic(t *testing.T) {
	transport := &llm.Transport{Base: model("ok", "<a>", says("yes"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, body := range []string{`To=1&Body=hi`, `{"text":"hi"}`} {
			if _, err := send(ctx, transport, "/2010/messages", body); err != nil {
				return err
			}
		}
		_, err := send(ctx, transport, chatPath, chat("user a"))
		return err
	})
	if len(result.Problems) > 0 {
		t.Errorf("%v", result.Problems)
	}
}

// A response with more parts than a model makes is not kept, and reported.
func TestManyParts(t *testing.T) {
	const n = 5000
	list := func(piece string) string { return strings.Repeat(piece+",", n-1) + piece }
	numbered := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	piece := `{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"` + strings.Repeat("x", 1<<20) + `"}],"willContinue":true}}]}}]}`
	for _, tt := range []struct {
		wire wire
		body exch
	}{
		{wires[3], exch(strings.Repeat(string(sse(piece)), 9)) + sse(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7}}`)},
		{wires[0], sse(`{"choices":[{"index":0,"delta":{"tool_calls":[`+numbered(`{"index":0,"id":"c%d","function":{"name":"f"}}`)+`]},"finish_reason":"stop"}],"usage":{"prompt_tokens":7}}`, "[DONE]")},
		{wires[1], exch(strings.Repeat(string(sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}`)), n)) +
			sse(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7}}`, `{"type":"message_stop"}`)},
		{wires[2], exch(`{"id":"r","status":"completed","output":[` + list(`{}`) + `],"usage":{"input_tokens":7}}`)},
		{wires[2], exch(strings.Repeat(string(sse(`{"type":"response.output_item.done","item":{"type":"reasoning"}}`)), n)) +
			sse(`{"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":7}}}`)},
		{wires[3], exch(`{"candidates":[{"content":{"parts":[` + list(`{"functionCall":{"name":"f"}}`) + `]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7}}`)},
		{wires[3], exch(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[` + numbered(`{"jsonPath":"$.a%d","nullValue":"N"}`) + `]}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7}}`)},
	} {
		transport := &llm.Transport{Base: model(tt.body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, tt.wire.path, tt.wire.ask)
			return err
		})
		if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "more than 4096 parts") || len(result.Messages) != 3 || metadata(t, result).Input != 7 {
			t.Errorf("%s: %v, %d messages, %+v", tt.wire.name, result.Problems, len(result.Messages), metadata(t, result))
		}
	}
}

// A stream that breaks off has told the model's id.
func TestModelOfABrokenStream(t *testing.T) {
	for _, w := range wires[:3] {
		broken := string(w.calls[1])[:len(w.calls[1])/2]
		transport := &llm.Transport{Base: model(exch(broken))}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, w.path, w.ask)
			return err
		})
		if m := metadata(t, result); m.Model != "m-1-2026" {
			t.Errorf("%s: %+v", w.name, m)
		}
	}
}

// do sends a request and returns the response, whose body is not read.
func do(ctx context.Context, transport http.RoundTripper, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(r)
}

// A request that the API rejects does not belong to the conversation: the agent may send another.
func TestRejectedRequests(t *testing.T) {
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		resp := response(says("yes"))
		if strings.Contains(string(body), "too long") {
			resp.StatusCode = 400
		}
		return resp, err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, ask := range []string{chat("user a"), chat("user a", "assistant yes", "user too long"), chat("user a", "assistant yes", "user short")} {
			if _, err := send(ctx, transport, chatPath, ask); err != nil {
				return err
			}
		}
		return nil
	})
	want := "user " + instruction + "; user a; assistant yes; user short; assistant yes"
	if got := brief(result.Messages); got != want || len(result.Problems) > 0 {
		t.Errorf("%v, %s", result.Problems, got)
	}
	if m := metadata(t, result); m.Input != 2 {
		t.Errorf("metadata %+v", m)
	}
}

// A response that comes after the agent has gone on stands where it was given.
func TestLateResponse(t *testing.T) {
	transport := &llm.Transport{Base: model(says("late"), says("yes"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		first, err := do(ctx, transport, chatPath, chat("user a"))
		if err != nil {
			return err
		}
		second, err := do(ctx, transport, chatPath, chat("user a", "user b"))
		if err != nil {
			return err
		}
		for _, resp := range []*http.Response{second, first} {
			_, err = io.Copy(io.Discard, resp.Body)
			err = errors.Join(err, resp.Body.Close())
		}
		return err
	})
	if got := brief(result.Messages); got != "user "+instruction+"; user a; assistant late; user b; assistant yes" || len(result.Problems) > 0 {
		t.Errorf("%v, %s", result.Problems, got)
	}
}

// An event that a broken connection has not ended does not count.
func TestBrokenEvent(t *testing.T) {
	w := wires[3]
	body := strings.TrimSuffix(string(w.final[1]), "\n\n")
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		resp := response("data")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), failing{}))
		return resp, err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		if _, err := send(ctx, transport, w.path, w.ask); err == nil {
			t.Error("the error of the connection is lost")
		}
		return nil
	})
	if m := metadata(t, result); m.Input != 0 || m.Model != "m-1-2026" {
		t.Errorf("metadata %+v", m)
	}
}

// Only 2xx responses are read.
func TestOtherStatuses(t *testing.T) {
	for _, status := range []int{199, 300, 308, 404, 503} {
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response(says("no"))
			resp.StatusCode = status
			return resp, err
		})}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, chatPath, chat("user a"))
			return err
		})
		if result.Messages != nil || metadata(t, result).Input != 0 {
			t.Errorf("%d: %s", status, brief(result.Messages))
		}
	}
}

// Each format has its own counters. A gateway may add counters of another format for the same tokens, or
// report them at another place.
func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		wire          wire
		body          exch
		input, output int64
	}{
		{wires[0], `{"model":"m","usage":{"prompt_tokens":50,"completion_tokens":5,"cache_read_input_tokens":40,"input_tokens":50,"output_tokens":5}}`, 50, 5},
		{wires[2], `{"output":[{"type":"function_call","call_id":"c","name":"f","arguments":{"usage":{"input_tokens":9}}}]}`, 0, 0},
		{wires[0], sse(`{"usage":{"prompt_tokens":50,"completion_tokens":5}}`, `{"usage":{"prompt_tokens":0,"completion_tokens":4}}`), 50, 4},
		{wires[0], sse(`{"usage":{"prompt_tokens":50,"completion_tokens":5}}`, `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`), 50, 5},
		{wires[0], sse(`{"usage":{"prompt_tokens":50,"completion_tokens":1}}`, `{"usage":null}`, `{"usage":{"completion_tokens":9}}`), 50, 9},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":112}}`, 10, 102},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":0}}`, 10, 2},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":112,"prompt_audio_seconds":3}}`, 110, 2},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":112,"prompt_audio_seconds":0}}`, 110, 2},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":112,"prompt_tokens_details":{"cached_tokens":100}}}`, 110, 2},
		{wires[0], `{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":112,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":100}}}`, 10, 102},
		{wires[3], `{"usageMetadata":{"candidatesTokenCount":1,"thoughtsTokenCount":122,"totalTokenCount":698}}`, 575, 123},
		{wires[3], `{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"thoughtsTokenCount":122,"totalTokenCount":698}}`, 575, 123},
		{wires[3], `{"usageMetadata":{"candidatesTokenCount":1,"totalTokenCount":698}}`, 697, 1},
		{wires[3], `{"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}`, 8, 0},
		{wires[0], `{"usage":{"prompt_tokens":"10","completion_tokens":2.0}}`, 10, 2},
		{wires[0], sse(`{"choices":[{"index":0,"delta":{}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":7,"completion_tokens":3}}]}`), 7, 3},
		{wires[0], sse(`{"choices":[],"x_groq":{"id":"r"}}`, `{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":7,"completion_tokens":3}}}`), 7, 3},
		{wires[0], sse(`{"choices":[{"index":0,"usage":{"prompt_tokens":7,"completion_tokens":3}}],"x_groq":{"usage":{"prompt_tokens":8,"completion_tokens":4}}}`,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}`), 9, 5},
		{wires[0], `{"choices":[{"index":0,"usage":{"prompt_tokens":7,"completion_tokens":3}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, 7, 3},
		{wires[1], `{"type":"message","usage":{"input_tokens":10,"cache_read_input_tokens":40,"cache_creation_input_tokens":7,"output_tokens":5,"prompt_tokens":57}}`, 57, 5},
		{wires[1], sse(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`, `{"type":"message_delta","usage":{"input_tokens":78,"output_tokens":2}}`), 78, 2},
		{wires[1], sse(`{"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}`, `{"type":"message_delta","usage":{"input_tokens":20,"cache_read_input_tokens":80,"output_tokens":2}}`), 100, 2},
		{wires[1], sse(`{"type":"message_start","message":{"usage":{"input_tokens":20,"cache_read_input_tokens":80,"output_tokens":1}}}`, `{"type":"message_delta","usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`), 100, 2},
		{wires[1], `{"type":"message","usage":{"input_tokens":220,"output_tokens":8,"iterations":[{"type":"compaction","input_tokens":1000,"cache_read_input_tokens":30,"output_tokens":125},{"type":"message","input_tokens":220,"output_tokens":8}]}}`, 1250, 133},
		{wires[1], `{"type":"message","usage":{"input_tokens":220,"output_tokens":8,"iterations":[]}}`, 220, 8},
		{wires[2], `{"id":"r","usage":{"input_tokens":50,"output_tokens":5,"prompt_tokens":50,"completion_tokens":5}}`, 50, 5},
		{wires[2], `{"id":"r","usage":{"input_tokens":50,"output_tokens":5,"total_tokens":70}}`, 50, 20},
		{wires[3], `{"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":5,"thoughtsTokenCount":3,"input_tokens":50}}`, 50, 8},
		{wires[3], `{"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":5,"totalTokenCount":304}}`, 50, 254},
		{wires[3], `{"usage_metadata":{"prompt_token_count":50,"candidates_token_count":5,"thoughts_token_count":3,"total_token_count":58}}`, 50, 8},
		{wires[3], `{"candidates":[],"usage":{"prompt_tokens":50,"completion_tokens":5}}`, 50, 5},
		{wires[0], `{"choices":[],"usage":{"input_tokens":20,"cache_read_input_tokens":30,"output_tokens":5}}`, 50, 5},
		{wires[0], `{"choices":[],"usage":{"prompt_tokens":50,"outputTokens":5}}`, 50, 5},
		{wires[0], `{"choices":[],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":5,"thoughtsTokenCount":3}}`, 50, 8},
		{wires[0], sse(`{"choices":[{"index":0,"delta":{"usage":{"prompt_tokens":7,"completion_tokens":3}}}]}`), 7, 3},
		{wires[0], sse(`{"choices":[{"index":0,"delta":{}}],"metrics":{"usage":{"prompt_tokens":7,"completion_tokens":3}}}`, `{"usage":{"prompt_tokens":8,"completion_tokens":4}}`), 8, 4},
		{wires[1], sse(`{"type":"message_delta","delta":{"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3}}}`), 7, 3},
		{wires[1], `{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{"usage":{"input_tokens":7,"output_tokens":3}}}]}`, 0, 0},
		{wires[2], `{"id":"r","output":[],"usage":{"prompt_tokens":50,"completion_tokens":5}}`, 50, 5},
		{wires[3], `[{"usageMetadata":{"promptTokenCount":50}},{"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":5}}]`, 50, 5},
	} {
		transport := &llm.Transport{Base: model(tt.body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, tt.wire.path, tt.wire.ask)
			return err
		})
		if m := metadata(t, result); m.Input != tt.input || m.Output != tt.output {
			t.Errorf("%s: %d and %d tokens of %s", tt.wire.name, m.Input, m.Output, tt.body)
		}
	}
}

// A counter that is not a valid number of tokens is reported. The other counters are used.
func TestWrongTokens(t *testing.T) {
	for _, wrong := range []string{`99999999999999`, `-5`, `1e30`, `2.5`, `"many"`, `{"n":5}`, `9223372036854775808`, `true`} {
		transport := &llm.Transport{Base: model(exch(`{"model":"m","choices":[{"message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":` + wrong + `,"completion_tokens":7}}`))}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, chatPath, chat("user a"))
			return err
		})
		if m := metadata(t, result); m.Input != 0 || m.Output != 7 || len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "not a number of tokens") {
			t.Errorf("%s: %+v, %v", wrong, m, result.Problems)
		}
	}
}

// Tokens under names of no format are reported. What is wrong elsewhere is not if the format's own place has tokens.
func TestTokensUnderOtherNames(t *testing.T) {
	for usage, want := range map[string]bool{`{"read":50,"written":0}`: true, `{"prompt_tokens":0,"completion_tokens":0}`: false, `{"tier":"default"}`: false,
		`{"prompt_tokens":1,"completion_tokens":2},"x":{"usage":{"prompt_tokens":"many"}}`: false} {
		got := play(t, []step{{path: chatPath, ask: chatAsk(userGo), reply: `{"model":"m","choices":[{"message":{"role":"assistant","content":"a"}}],"usage":` + usage + `}`}})
		if (got.codes() == "conversation_unclear") != want {
			t.Errorf("%s: %v", usage, got.problems)
		}
	}
}

// Ids that are made for calls are unique in a transcript, under whatever label a call is.
func TestMadeIDsOfLabels(t *testing.T) {
	got := dispatchTo(t, `{"user_instruction":"Both orders."}`, func(ctx context.Context, _ *dispatch.Run, _ *llm.Transport) (err error) {
		for _, label := range []string{"", "orders", "refunds"} {
			reply := `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`
			_, sent := send(proxy.WithActor(ctx, label), &llm.Transport{Base: model(exch(reply))}, gemPath, geminiAsk)
			err = cmp.Or(err, sent)
		}
		return err
	})
	if text := said(got.messages); !strings.Contains(text, "[call_1 f") || !strings.Contains(text, "[call_2 f") || !strings.Contains(text, "[call_3 f") {
		t.Error(text)
	}
}

// The framing of a long stream does not count to the limit of what is kept.
func TestLongStream(t *testing.T) {
	padding := strings.Repeat("x", 1<<10)
	events := map[string]string{
		wires[0].name: `{"id":"` + padding + `","choices":[{"index":0,"delta":{"content":"a"}}]}`,
		wires[1].name: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"padding":"` + padding + `"}`,
		wires[2].name: `{"type":"response.output_text.delta","delta":"a","obfuscation":"` + padding + `"}`,
		wires[3].name: `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}],"responseId":"` + padding + `"}`,
	}
	for _, w := range wires {
		event := sse(events[w.name])
		switch w.name {
		case "converse":
			event = framed(`contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"a"},"p":"` + padding + `"}`)
		case "anthropic on bedrock":
			event = chunks(sse(events["anthropic"]))
		case "ollama":
			event = exch(`{"message":{"content":"a"},"done":false,"padding":"` + padding + "\"}\n")
		}
		body := exch(strings.Repeat(string(event), 9<<10)) + w.final[1]
		transport := &llm.Transport{Base: model(body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			got, err := send(ctx, transport, w.path, w.ask)
			if got != string(body) {
				t.Errorf("%d bytes arrived", len(got))
			}
			return err
		})
		if got := brief(result.Messages); len(result.Problems) > 0 || w.format != llm.Anthropic && w.format != llm.OpenAIResponses && !strings.Contains(got, "assistant aaa") {
			t.Errorf("%s: %v, %.300s", w.name, result.Problems, got)
		}
	}
}

// An id that is made for a call does not repeat one of the conversation.
func TestMadeIDsContinue(t *testing.T) {
	call := func(tool string) exch {
		return exch(`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"` + tool + `"}}]},"finishReason":"STOP"}]}`)
	}
	transport := &llm.Transport{Base: model(call("f"), call("g"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		const first = `{"role":"user","parts":[{"text":"a"}]}`
		for _, contents := range []string{first, first + `,{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`} {
			if _, err := send(ctx, transport, "/v1beta/models/m:generateContent", `{"contents":[`+contents+`]}`); err != nil {
				return err
			}
		}
		return nil
	})
	if got := rows(t, result.Messages); strings.Count(got, `"id":"call_1"`) != 1 || strings.Count(got, `"id":"call_2","name":"g"`) != 1 {
		t.Errorf("got\n%s", got)
	}
}

// An SDK may close the body while it reads.
func TestCloseWhileReading(t *testing.T) {
	for range 50 {
		body, server := io.Pipe()
		go func() {
			for {
				if _, err := io.WriteString(server, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"); err != nil {
					return
				}
			}
		}()
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response("data")
			resp.Body = body
			return resp, err
		})}
		inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			resp, err := do(ctx, transport, chatPath, chat("user a"))
			if err != nil {
				return err
			}
			read, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.ReadFull(resp.Body, make([]byte, 500))
				close(read)
				_, _ = io.Copy(io.Discard, resp.Body)
			}()
			<-read
			err = resp.Body.Close()
			<-done
			return err
		})
	}
}
