package llmtest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// received sends a body that is accepted and returns the request as the model has received it.
func received(t *testing.T, path, body string) llmtest.Request {
	t.Helper()
	m := llmtest.New(t, llmtest.Text("fine"))
	if status, _, answer, err := post(t, m, path, body); status != 200 || err != nil {
		t.Errorf("%d %s %v", status, answer, err)
	}
	return *m.Requests()[0]
}

// A request says the same in the terms of all formats.
func TestRequest(t *testing.T) {
	same := llmtest.Request{
		Model: "m", System: "Be brief.\nBe kind.", Users: []string{"Both orders.", "Now."}, Tools: []string{"get_order", "web_search"},
		Results: []llmtest.Result{{CallID: "a", Name: "get_order", Content: "shipped"}, {CallID: "b", Name: "refund", Content: "no\nnever"}},
	}
	for _, tt := range []struct {
		format     llm.Format
		path, body string
		stream     bool
		change     func(*llmtest.Request)
	}{
		{format: llm.OpenAIChat, path: chatPath, stream: true, body: `{"model":"m","stream":true,
			"tools":[{"type":"function","function":{"name":"get_order"}},{"type":"custom","custom":{"name":"web_search"}}],
			"messages":[{"role":"system","content":"Be brief."},{"role":"developer","content":[{"type":"text","text":"Be kind."}]},
			{"role":"user","content":"Both orders."},{"role":"assistant","tool_calls":[{"id":"0","type":"function","function":{"name":"get_order"}}]},
			{"role":"tool","tool_call_id":"0","content":"earlier"},{"role":"assistant","content":null},{"role":"user","content":"Now."},
			{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"get_order"}},{"id":"b","type":"custom","custom":{"name":"refund"}}]},
			{"role":"tool","tool_call_id":"a","content":"shipped"},
			{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"no"},{"type":"image_url"},{"type":"text","text":"never"}]}]}`},
		{format: llm.OpenAIChat, path: chatPath, body: `{"model":"m","messages":[{"role":"user","content":"Both orders."},
			{"role":"assistant","function_call":{"name":"get_order","arguments":"{}"}},{"role":"function","name":"get_order","content":"shipped"}]}`,
			change: func(r *llmtest.Request) {
				r.System, r.Users, r.Tools, r.Results = "", r.Users[:1], nil, []llmtest.Result{{Name: "get_order", Content: "shipped"}}
			}},
		{format: llm.OpenAIResponses, path: "/v1/responses", stream: true, body: `{"model":"m","stream":true,"instructions":"Be brief.",
			"tools":[{"type":"function","name":"get_order"},{"type":"web_search"}],
			"input":[{"role":"developer","content":"Be kind."},{"role":"user","content":[{"type":"input_text","text":"Both orders."}]},
			{"type":"function_call","call_id":"0","name":"get_order"},{"type":"function_call_output","call_id":"0","output":"earlier"},
			{"type":"message","role":"assistant","content":"Well."},{"type":"message","role":"user","content":"Now."},{"type":"reasoning","summary":[]},
			{"type":"function_call","call_id":"a","name":"get_order"},{"type":"custom_tool_call","call_id":"b","name":"refund"},
			{"type":"function_call_output","call_id":"a","output":"shipped"},
			{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"no"},{"type":"input_text","text":"never"}]}]}`},
		{format: llm.Anthropic, path: anthropicPath, stream: true, body: `{"model":"m","stream":true,"max_tokens":9,
			"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind."}],
			"tools":[{"name":"get_order","input_schema":{}},{"type":"web_search_20250305","name":"web_search"}],
			"messages":[{"role":"user","content":"Both orders."},{"role":"assistant","content":[{"type":"tool_use","id":"0","name":"get_order"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"0","content":"earlier"}]},{"role":"assistant","content":"Well."},
			{"role":"user","content":[{"type":"text","text":"Now."}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_order"},{"type":"tool_use","id":"b","name":"refund"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"shipped"},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no"},{"type":"text","text":"never"}]}]}]}`,
			change: func(r *llmtest.Request) { r.Results[1].IsError = true }},
		{format: llm.Anthropic, path: anthropicPath, body: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Both orders."},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_order"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"shipped"},{"type":"text","text":"Now."}]}]}`,
			change: func(r *llmtest.Request) { r.System, r.Tools, r.Results = "", nil, r.Results[:1] }},
		{format: llm.Gemini, path: "/v1beta/models/m:streamGenerateContent?alt=sse", stream: true, body: `{
			"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Be kind."}]},"tools":[{"functionDeclarations":[{"name":"get_order"}]},{"web_search":{}}],
			"contents":[{"parts":[{"text":"Both orders."}]},{"role":"model","parts":[{"functionCall":{"name":"get_order"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"get_order","response":"earlier"}}]},{"role":"model","parts":[{"text":"Well."}]},
			{"role":"user","parts":[{"text":"Now."}]},
			{"role":"model","parts":[{"functionCall":{"id":"a","name":"get_order"}},{"functionCall":{"id":"b","name":"refund"}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"a","name":"get_order","response":{"output":"shipped"}}},
			{"functionResponse":{"id":"b","name":"refund","response":{"output":"no"}}}]}]}`,
			change: func(r *llmtest.Request) {
				r.Results[0].Content, r.Results[1].Content = `{"output":"shipped"}`, `{"output":"no"}`
			}},
		{format: llm.Converse, path: "/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Fm/converse-stream", stream: true, body: `{
			"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}},{"text":"Be kind."}],
			"toolConfig":{"tools":[{"toolSpec":{"name":"get_order","inputSchema":{"json":{"type":"object"}}}},{"systemTool":{"name":"web_search"}},{"cachePoint":{"type":"default"}}]},
			"messages":[{"role":"user","content":[{"text":"Both orders."}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"0","name":"get_order","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"0","content":[{"text":"earlier"}]}}]},{"role":"assistant","content":[{"text":"Well."}]},
			{"role":"user","content":[{"text":"Now."}]},
			{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"get_order","input":{}}},{"toolUse":{"toolUseId":"b","name":"refund","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"shipped"}],"status":"success"}},
			{"toolResult":{"toolUseId":"b","status":"error","content":[{"text":"no"},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"text":"never"}]}}]}]}`,
			change: func(r *llmtest.Request) { r.Results[1].IsError = true }},
		{format: llm.Anthropic, path: "/model/m/invoke-with-response-stream", stream: true, body: `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"Both orders."}]}`,
			change: func(r *llmtest.Request) { r.System, r.Users, r.Tools, r.Results = "", r.Users[:1], nil, nil }},
		{format: llm.Ollama, path: "/api/chat", stream: true, body: `{"model":"m","tools":[{"type":"function","function":{"name":"get_order"}},{"type":"function","function":{"name":"web_search"}}],
			"messages":[{"role":"system","content":"Be brief."},{"role":"system","content":"Be kind."},{"role":"user","content":"Both orders."},
			{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_order","arguments":{}}}]},{"role":"tool","content":"earlier","tool_name":"get_order"},
			{"role":"assistant","content":"Well."},{"role":"user","content":"Now.","images":["AAAA"]},
			{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"get_order","arguments":{}}},{"id":"b","function":{"name":"refund","arguments":{}}}]},
			{"role":"tool","content":"shipped","tool_name":"get_order"},{"role":"tool","content":"no\nnever","tool_call_id":"b"}]}`},
	} {
		want := same
		want.Format, want.Stream, want.Results = tt.format, tt.stream, append([]llmtest.Result{}, same.Results...)
		if tt.change != nil {
			tt.change(&want)
		}
		got := received(t, tt.path, tt.body)
		if string(got.Body) != tt.body {
			t.Errorf("%s: the body is %s", tt.format, got.Body)
		}
		got = llmtest.Request{
			Format: got.Format, Model: got.Model, Stream: got.Stream, System: got.System, Users: got.Users, Tools: got.Tools, Results: got.Results,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", tt.format, got, want)
		}
	}
}

// Gemini's results belong to the calls of the turn before: to the one with their id, or to the first of
// their tool that has none yet.
func TestResultsOfGemini(t *testing.T) {
	call := func(id string) string {
		return fmt.Sprintf(`{"functionCall":{"id":%q,"name":"f"}}`, id)
	}
	result := func(id, text string) string {
		return fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"f","response":{"output":%q}}}`, id, text)
	}
	for _, tt := range []struct {
		name           string
		calls, results []string
		want           string // ids and texts of the results, or a part of the refusal
	}{
		{"by id, in another order", []string{call("a"), call("b")}, []string{result("b", "1"), result("a", "2")}, "b1 a2"},
		{"without ids, of calls that have ids", []string{call("a"), call("b")}, []string{result("", "1"), result("", "2")}, "a1 b2"},
		{"one by id, one without", []string{call("a"), call("b")}, []string{result("a", "1"), result("", "2")}, "a1 b2"},
		{"one without an id, one by id", []string{call("a"), call("b")}, []string{result("", "1"), result("b", "2")}, "a1 b2"},
		{"without ids at all", []string{call(""), call("")}, []string{result("", "1"), result("", "2")}, "1 2"},
		{"calls of one id", []string{call("a"), call("a")}, []string{result("a", "1"), result("a", "2")}, "a1 a2"},
		{"an id that is answered twice", []string{call("a"), call("b")}, []string{result("a", "1"), result("a", "2")}, "does not belong to a function call"},
		{"taken without its id before", []string{call("a")}, []string{result("", "1"), result("a", "2")}, "does not belong to a function call"},
		{"one more than calls", []string{call("a")}, []string{result("a", "1"), result("", "2")}, "does not belong to a function call"},
		{"an id of no call", []string{call("a")}, []string{result("c", "1")}, "does not belong to a function call"},
		{"an id, and a call without one", []string{call("")}, []string{result("c", "1")}, "does not belong to a function call"},
		{"the last is missing", []string{call("a"), call("b")}, []string{result("a", "1")}, `is missing: a turn must have as many`},
		{"the first is missing", []string{call("a"), call("b")}, []string{result("b", "1")}, `is missing: a turn must have as many`},
		{"text instead of results", []string{call("a")}, []string{`{"text":"Well?"}`}, `is missing: a turn must have as many`},
		{"the end instead of results", []string{call("a")}, nil, `the function response for \"f\" is missing`},
	} {
		m := llmtest.NewModel(llmtest.Text("fine"))
		body := `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[` + strings.Join(tt.calls, ",") + `]}`
		if tt.results != nil {
			body += `,{"parts":[` + strings.Join(tt.results, ",") + `]}`
		}
		status, _, answer, err := post(t, m, geminiPath, body+`]}`)
		got := ""
		for _, r := range m.Requests()[0].Results {
			got += " " + r.CallID + strings.Trim(r.Content[strings.IndexByte(r.Content, ':'):], `:"}`)
		}
		if got = strings.TrimSpace(got); status != 200 {
			got = answer
		}
		if err != nil || !strings.Contains(got, tt.want) || (status == 200) != (len(tt.want) < 6) {
			t.Errorf("%s: %d %s, want %s", tt.name, status, got, tt.want)
		}
	}
}

// An error has the status and the name that the provider gives it.
func TestErrorsOfProviders(t *testing.T) {
	for i, names := range []map[int]string{
		{400: `"type":"invalid_request_error","param":null,"code":null`, 401: `"invalid_request_error","param":null,"code":"invalid_api_key"`,
			404: `"message":"Not Found","type":"invalid_request_error","param":null,"code":null`,
			429: `"type":"requests","param":null,"code":"rate_limit_exceeded"`, 499: `"invalid_request_error"`, 500: `"server_error"`, 599: `"server_error"`},
		2: {400: `"invalid_request_error"`, 401: `"authentication_error"`, 403: `"permission_error"`, 404: `"not_found_error"`, 413: `"request_too_large"`,
			422: `"invalid_request_error"`, 429: `"rate_limit_error"`, 499: `"invalid_request_error"`, 500: `"api_error"`, 504: `"timeout_error"`,
			529: `"overloaded_error"`},
		3: {400: `"INVALID_ARGUMENT"`, 401: `"UNAUTHENTICATED"`, 403: `"PERMISSION_DENIED"`, 404: `"NOT_FOUND"`, 409: `"ABORTED"`,
			422: `"FAILED_PRECONDITION"`, 429: `"RESOURCE_EXHAUSTED"`, 499: `"FAILED_PRECONDITION"`, 500: `"INTERNAL"`, 501: `"UNIMPLEMENTED"`,
			502: `"UNAVAILABLE"`, 503: `"UNAVAILABLE"`, 504: `"DEADLINE_EXCEEDED"`},
	} {
		for status, name := range names {
			got, _, answer, err := post(t, llmtest.New(t, llmtest.Error(status)), wires[i].path, wires[i].whole)
			if err != nil || got != status || !strings.Contains(answer, name) || strings.Contains(answer, `"message":""`) {
				t.Errorf("%s: %d %s, want %s, %v", wires[i].name, got, answer, name, err)
			}
		}
	}
}

// A body may have a thousand levels.
func TestNestingOfARequest(t *testing.T) {
	for depth, want := range map[int]int{1000: 200, 1001: 400} {
		m := llmtest.NewModel(llmtest.Text("fine"))
		body := `{"model":"m","messages":[{"role":"user","content":"x"}],"x":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
		if status, _, answer, _ := post(t, m, chatPath, body); status != want {
			t.Errorf("%d levels: %s, want the status %s", depth, answer, strconv.Itoa(want))
		}
	}
}

// Gemini's API streams events with ?alt=sse, and else one JSON array.
func TestStreamsOfGemini(t *testing.T) {
	const path = "/v1beta/models/m:streamGenerateContent"
	const ask = `{"contents":[{"parts":[{"text":"x"}]}]}`
	for query, list := range map[string]bool{"?alt=sse": false, "": true, "?alt=json": true} {
		m := llmtest.New(t, llmtest.Text("It is fine here."))
		status, header, answer, err := post(t, m, path+query, ask)
		if status != 200 || err != nil || strings.HasPrefix(answer, "data: ") == list {
			t.Errorf("%q: %d %s, %v", query, status, answer, err)
		}
		var events []struct{ Candidates []json.RawMessage }
		if !list {
			continue
		}
		if err := json.Unmarshal([]byte(answer), &events); err != nil || len(events) < 3 || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
			t.Errorf("%q: %v, %d events as %s", query, err, len(events), header.Get("Content-Type"))
		}
	}
	m := llmtest.New(t, llmtest.Text("It is fine here.").Reset(), llmtest.Text("It is fine here.").Fail(503))
	if _, _, answer, err := post(t, m, path, ask); err == nil || strings.HasSuffix(answer, "]") {
		t.Errorf("a list that breaks off: %s, %v", answer, err)
	}
	if _, _, answer, _ := post(t, m, path, ask); !json.Valid([]byte(answer)) || !strings.Contains(answer, "UNAVAILABLE") {
		t.Errorf("a list that fails: %s", answer)
	}
}

// What providers have answered with 200, and with 400. The source is a recording or a report.
func TestRequestsAsProvidersTakeThem(t *testing.T) {
	const (
		gemini    = `{"contents":[{"role":"user","parts":[{"text":"Both orders."}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]}`
		gResult   = `{"role":%q,"parts":[{"functionResponse":{"name":%q,"response":{"result":1}}}]}`
		anthropic = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Both orders."}`
		vertex    = "/v1/projects/p/locations/l/publishers/anthropic/models/m"
		converse  = "/model/m/converse"
		reasoning = `{"type":"reasoning","id":"rs_1","summary":[]}`
		said      = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Well."}]}`
	)
	functions := func(name string) string {
		return `"tools":[{"type":"function","name":"` + name + `","function":{"name":"` + name + `"},"input_schema":{},"functionDeclarations":[{"name":"` + name + `"}]}]`
	}
	spec := func(name string) string {
		return `{"toolSpec":{"name":"` + name + `","inputSchema":{"json":{"type":"object"}}}}`
	}
	use := func(ids ...string) string {
		calls := ""
		for _, id := range ids {
			calls += `,{"toolUse":{"toolUseId":"` + id + `","name":"f","input":{}}}`
		}
		return `{"role":"assistant","content":[` + calls[1:] + `]}`
	}
	result := func(id, part string) string {
		return `,{"role":"user","content":[{"toolResult":{"toolUseId":"` + id + `","content":[` + part + `]}}]}`
	}
	results := func(role string) string {
		return "," + fmt.Sprintf(gResult, role, "f") + "," + fmt.Sprintf(gResult, role, "g") + "]}"
	}
	for _, tt := range []struct{ source, path, body, want string }{
		{"crewAIInc/crewAI, test_gemini_parallel_native_tool_calling: results in contents of their own", geminiPath, gemini + results("user"), ""},
		{"the same in the role function", geminiPath, gemini + results("function"), ""},
		{"pydantic/pydantic-ai, capability_replay: calls in two messages", anthropicPath, anthropic + `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}]}`, ""},
		{"pydantic/pydantic-ai, capability_replay gemini-to-anthropic: one id in two turns", anthropicPath, anthropic + strings.Repeat(`,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`, 2) + `]}`, ""},
		{"crmne/ruby_llm, replays_search_turns: white space between citations", anthropicPath, anthropic + `,{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},` +
			`{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"A."},{"type":"text","text":" "},{"type":"text","text":"B."}]},{"role":"user","content":"ok"}]}`, ""},
		{"DataDog/dd-trace-py, v1__response_with_prompt: a prompt that the provider keeps", "/v1/responses", `{"prompt":{"id":"pmpt_1","version":"4"}}`, ""},
		{"a conversation that the provider keeps", "/v1/responses", `{"model":"m","conversation":"conv_1"}`, ""},
		{"charmbracelet/fantasy, vertex-claude-3-7-sonnet__tool: Vertex AI", vertex + ":rawPredict", `{"anthropic_version":"vertex-2023-10-16","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, ""},
		{"the same as a stream", vertex + ":streamRawPredict", `{"anthropic_version":"vertex-2023-10-16","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}]}`, ""},
		{"maruel/genai, groq GenStream-Tools-WebSearch: a tool of the provider", chatPath, `{"model":"m","tools":[{"type":"browser_search"}],"messages":[{"role":"user","content":"x"}]}`, ""},
		{"reasoning before its item", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"},` + reasoning + "," + said + `,{"role":"user","content":"y"}]}`, ""},
		{"a dot in the name of a function of Gemini", geminiPath, `{` + functions("get.order") + `,"contents":[{"parts":[{"text":"x"}]}]}`, ""},

		{"Ollama takes results of nothing, and calls without results", "/api/chat", `{"model":"m","stream":false,"messages":[{"role":"tool","content":"x","tool_name":"f"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]}`, ""},
		{"Converse's blocks", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"},{"document":{"format":"txt","name":"n","source":{"bytes":"AAAA"}}},{"cachePoint":{"type":"default"}}]},` + use("a") + result("a", `{"text":" "}`) + `]}`, ""},
		{"a prompt that Amazon keeps", converse, `{"promptVariables":{"x":{"text":"y"}}}`, ""},
		{"a model of Amazon's that is not of the Messages API", "/model/m/invoke", `{"messages":[{"role":"user","content":"x"}],"max_tokens":9}`, "anthropic_version: Field required"},
		{"a stream named in the body of InvokeModel", "/model/m/invoke", `{"anthropic_version":"bedrock-2023-05-31","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "stream: Extra inputs are not permitted"},
		{"a model named in the body of InvokeModel", "/model/m/invoke", `{"anthropic_version":"bedrock-2023-05-31","model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "model: Extra inputs are not permitted"},
		{"pydantic/pydantic-ai, message_history_starting_with_response", converse, `{"messages":[{"role":"assistant","content":[{"text":"x"}]},{"role":"user","content":[{"text":"y"}]}]}`, ""},
		{"pydantic/pydantic-ai, cache_write_and_read: white space", converse, `{"messages":[{"role":"user","content":[{"text":"x"},{"text":"\n"},{"cachePoint":{"type":"default"}},{"text":"y"}]}]}`, ""},
		{"pydantic/pydantic-ai, moonshotai_tool_call: an id of Kimi", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("functions.f:0") + result("functions.f:0", `{"text":"1"}`) + `]}`, ""},
		{"pydantic/pydantic-ai, with_code_execution_tool: a tool of Amazon", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"s","name":"nova_code_interpreter","input":{},"type":"server_tool_use"}},` +
			`{"toolResult":{"toolUseId":"s","content":[{"json":{}}],"type":"nova_code_interpreter_result","status":"success"}},{"text":"z"}]},{"role":"user","content":[{"text":"y"}]}]}`, ""},
		{"genkit-ai/aws-bedrock-js-plugin #664: results in two messages", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a", "b") + result("a", `{"text":"1"}`) + result("b", `{"text":"2"}`) + `]}`, "must alternate"},
		{"strands-agents/harness-sdk #1435: a result of nothing", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + result("b", `{"text":"1"}`) + `]}`, "does not belong to a tool call"},
		{"a call of Converse without a result", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + `,{"role":"user","content":[{"text":"y"}]}]}`, "is missing"},
		{"patriceckhart/zot #18: calls without tools", converse, `{"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + result("a", `{"text":"1"}`) + `]}`, "the toolConfig field must be defined"},
		{"aws-samples/sample-multi-agent-orchestration-chat-on-agentcore #15: an error without content", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[],"status":"error"}}]}]}`, "cannot be empty when the status is error"},
		{"NousResearch/hermes-agent #55092: an empty result", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + result("a", `{"text":""}`) + `]}`, "must be non-empty"},
		{"a result in a JSON that is no object", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + result("a", `{"json":[1]}`) + `]}`, "provide a JSON object"},
		{"a status of Converse", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a") + `,{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"1"}],"status":"failed"}}]}]}`, "is not one of success and error"},
		{"a blank text of Converse", converse, `{"messages":[{"role":"user","content":[{"text":""}]}]}`, "is blank"},
		{"an empty content of Converse", converse, `{"messages":[{"role":"user","content":[]}]}`, "is empty"},
		{"a text for the content of Converse", converse, `{"messages":[{"role":"user","content":"x"}]}`, "must be a list of ContentBlock objects"},
		{"a role of Converse", converse, `{"messages":[{"role":"system","content":[{"text":"x"}]}]}`, "is not one of user and assistant"},
		{"equal ids of Converse", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a", "a") + `]}`, "is not unique"},
		{"an id of Converse", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},` + use("a b") + `]}`, "does not match the pattern"},
		{"input of Converse in a text", converse, `{"toolConfig":{"tools":[` + spec("f") + `]},"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":"{}"}}]}]}`, "provide a JSON object"},
		{"Converse's pattern of names", converse, `{"toolConfig":{"tools":[` + spec("get.order") + `]},"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "does not match the pattern"},
		{"an empty list of tools of Converse", converse, `{"toolConfig":{"tools":[]},"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "toolConfig.tools must be an array"},
		{"an empty description of Converse", converse, `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "at least one character"},
		{"a schema of Converse without a type", converse, `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "must be object"},
		{"a tool of Converse without a schema", converse, `{"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]},"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "must be an object"},
		{"arguments of Ollama in a text", "/api/chat", `{"model":"m","messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`, "arguments must be an object"},
		{"a content of Ollama in parts", "/api/chat", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, "content must be a string"},
		{"an image of Ollama as a URL", "/api/chat", `{"model":"m","messages":[{"role":"user","content":"x","images":["https://example.com/x.png"]}]}`, "must be data in base64"},
		{"no model of Ollama", "/api/chat", `{"messages":[{"role":"user","content":"x"}]}`, "model is required"},

		{"continuedev/continue #8933: reasoning without its item", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"},` + reasoning + `,{"role":"user","content":"y"}]}`, "without its required following item"},
		{"openai/openai-agents-python #1611: reasoning at the end", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x"},` + reasoning + `]}`, "without its required following item"},
		{"Gemini's error for a call that comes first", geminiPath, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` + fmt.Sprintf(gResult, "user", "f") + `]}`, "must come immediately after"},
		{"OpenAI's pattern of names", chatPath, `{"model":"m",` + functions("get.order") + `,"messages":[{"role":"user","content":"x"}]}`, "does not match the pattern"},
		{"OpenAI's length of names", "/v1/responses", `{"model":"m",` + functions(strings.Repeat("f", 65)) + `,"input":"x"}`, "does not match the pattern"},
		{"Anthropic's pattern of names", anthropicPath, `{"model":"m","max_tokens":9,` + functions("get order") + `,"messages":[{"role":"user","content":"x"}]}`, "does not match the pattern"},
		{"Gemini's pattern of names", geminiPath, `{` + functions("1st") + `,"contents":[{"parts":[{"text":"x"}]}]}`, "does not match the pattern"},
	} {
		m := llmtest.NewModel(llmtest.Text("fine"))
		status, _, answer, err := post(t, m, tt.path, tt.body)
		if tt.want == "" && (status != 200 || err != nil) || tt.want != "" && (status != 400 || !strings.Contains(answer, tt.want)) {
			t.Errorf("%s: %d %s, %v", tt.source, status, answer, err)
		}
		if r := m.Requests(); strings.HasPrefix(tt.path, vertex) && (len(r) != 1 || r[0].Model != "m" || r[0].Stream != strings.HasSuffix(tt.path, "streamRawPredict")) {
			t.Errorf("%s: %+v", tt.source, r)
		}
	}
}

// A request without messages is refused in every format.
func TestNoMessages(t *testing.T) {
	for path, bodies := range map[string][]string{
		chatPath:            {`{"model":"m"}`, `{"model":"m","messages":{}}`, `{"model":"m","messages":[{"role":"user"},"x"]}`},
		"/v1/responses":     {`{"model":"m"}`, `{"model":"m","input":[]}`, `{"model":"m","input":[1]}`},
		anthropicPath:       {`{"model":"m","max_tokens":9}`, `{"model":"m","max_tokens":9,"messages":[]}`},
		"/model/m/converse": {`{}`, `{"messages":[]}`, `{"messages":["x"]}`},
		"/api/chat":         {`{"model":"m","messages":{}}`},
		geminiPath:          {`{}`, `{"contents":[]}`, `{"contents":"x"}`, `{"contents":["x"]}`},
	} {
		for _, body := range bodies {
			refused(t, llmtest.NewModel(llmtest.Text("fine")), path, body)
		}
	}
}

// An empty message of a user counts as one, and results alone do not.
func TestEmptyMessages(t *testing.T) {
	r := received(t, chatPath, `{"model":"m","messages":[{"role":"user","content":""},{"role":"user","content":[{"type":"image_url"}]}]}`)
	if len(r.Users) != 2 {
		t.Errorf("%q", r.Users)
	}
	r = received(t, geminiPath, withoutIDs("sun"))
	if len(r.Users) != 1 {
		t.Errorf("%q", r.Users)
	}
}
