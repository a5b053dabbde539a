package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

// rows writes messages as they are sent, one a line.
func rows(t testing.TB, messages []dispatch.Message) string {
	t.Helper()
	if problems := dispatch.CheckMessages(messages); len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	var b strings.Builder
	for _, m := range messages {
		row, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(row, '\n'))
	}
	return b.String()
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name         string
		format       llm.Format
		conversation string
		want         string
	}{
		{"a session", llm.OpenAIChat, `[
			{"role":"developer","content":"Be brief."},
			{"role":"user","content":[{"type":"text","text":"Both orders."}],"name":"ann"},
			{"role":"assistant","content":null,"tool_calls":[
				{"id":"call_a","type":"function","function":{"name":"get_order","arguments":"{\"order_id\": \"1\", \"n\": 1.00}"}},
				{"id":"call_b","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":"}}]},
			{"role":"tool","tool_call_id":"call_a","content":"{\"status\":\"shipped\"}"},
			{"role":"tool","tool_call_id":"call_b","content":[{"type":"text","text":"no such"},{"type":"text","text":"order"}]},
			{"role":"assistant","content":"Order 1 is shipped.","refusal":null,"annotations":[]}]`,
			`{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","tool_calls":[{"id":"call_a","name":"get_order","arguments":{"order_id":"1","n":1.00}},{"id":"call_b","name":"get_order","arguments":"{\"order_id\":"}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_a"}
{"role":"tool","content":[{"type":"text","text":"no such"},{"type":"text","text":"order"}],"tool_call_id":"call_b"}
{"role":"assistant","content":"Order 1 is shipped."}
`},
		{"a request", llm.OpenAIChat, `{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}],"tools":[]}`,
			`{"role":"system","content":"S"}
{"role":"user","content":"U"}
`},
		{"a result with an image", llm.Gemini, `[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"see"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}}]}
{"role":"tool","content":[{"type":"text","text":"see"},{"type":"text","text":"[data image/png, 3 bytes]"}],"tool_call_id":"call_1"}
`},
		{"values where the format has texts", llm.OpenAIChat, `[
			{"role":"system","content":7},
			{"role":"assistant","content":{"text":"So."},"tool_calls":[{"id":1,"function":{"name":"f","arguments":{"a":1}}},{"id":2,"function":{"name":"g","arguments":[]}}]},
			{"role":"tool","tool_call_id":1,"content":{"status":"shipped","type":"order"}},{"role":"tool","tool_call_id":2,"content":[{"n":1},2]},
			{"role":"assistant","tool_calls":[{"id":3,"function":{"name":"f"}},{"id":4,"function":{"name":"f"}},{"id":5,"function":{"name":"f"}}]},
			{"role":"tool","tool_call_id":3,"content":true},{"role":"tool","tool_call_id":4,"content":2.50},{"role":"tool","tool_call_id":5,"content":{}}]`,
			`{"role":"system","content":"7"}
{"role":"assistant","content":"So.","tool_calls":[{"id":"1","name":"f","arguments":{"a":1}},{"id":"2","name":"g","arguments":"[]"}]}
{"role":"tool","content":"{\"status\":\"shipped\",\"type\":\"order\"}","tool_call_id":"1"}
{"role":"tool","content":"[{\"n\":1},2]","tool_call_id":"2"}
{"role":"assistant","tool_calls":[{"id":"3","name":"f","arguments":{}},{"id":"4","name":"f","arguments":{}},{"id":"5","name":"f","arguments":{}}]}
{"role":"tool","content":"true","tool_call_id":"3"}
{"role":"tool","content":"2.50","tool_call_id":"4"}
{"role":"tool","content":"{}","tool_call_id":"5"}
`},
		{"values where Anthropic has texts", llm.Anthropic, `{"system":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":1,"name":"f","input":"{\"a\":1}"}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":1,"content":{"n":1}},{"type":"text","text":2}]}]}`,
			`{"role":"system","content":"1"}
{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":{"a":1}}]}
{"role":"tool","content":"{\"n\":1}","tool_call_id":"1"}
{"role":"user","content":"2"}
`},
		{"values where Responses has texts", llm.OpenAIResponses, `[{"type":"function_call","call_id":1,"name":"f","arguments":{"a":1}},{"type":"function_call_output","call_id":1,"output":{"n":1}},
			{"type":"function_call","call_id":2,"name":"f","arguments":""},{"type":"function_call_output","call_id":2,"output":7}]`,
			`{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":{"a":1}}]}
{"role":"tool","content":"{\"n\":1}","tool_call_id":"1"}
{"role":"assistant","tool_calls":[{"id":"2","name":"f","arguments":{}}]}
{"role":"tool","content":"7","tool_call_id":"2"}
`},
		{"one message", llm.OpenAIChat, `{"role":"user","content":"U"}`, `{"role":"user","content":"U"}` + "\n"},
		{"nothing", llm.OpenAIChat, `null`, ``},
		{"an empty list", llm.OpenAIChat, `[]`, ``},
		{"what is not text", llm.OpenAIChat, `[{"role":"user","content":[
			{"type":"text","text":"Look:","cache_control":{"type":"ephemeral"}},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAABBBB","detail":"low"}},
			{"type":"image_url","image_url":{"url":"https://images.example.com/a.png?sig=secret"}},
			{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QUJDRA=="}},
			{"type":"file","file":{"file_id":"file-1"}},
			{"type":"hologram","data":"x"}]},
			{"role":"assistant","content":null,"refusal":"I cannot help with that."},
			{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]},
			{"role":"assistant","content":null,"audio":{"id":"audio_1","transcript":"Hello."}},
			{"role":"assistant","content":"4","reasoning_content":"Two and two."}]`,
			`{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"text","text":"[image image/png, 6 bytes]"},{"type":"text","text":"[image]"},{"type":"text","text":"[audio wav, 3 bytes]"},{"type":"text","text":"[file a.pdf, 4 bytes]"},{"type":"text","text":"[file]"},{"type":"text","text":"[hologram]"}]}
{"role":"assistant","content":"I cannot help with that."}
{"role":"assistant","content":"No."}
{"role":"assistant","content":"Hello."}
{"role":"assistant","content":"4","thinking":[{"type":"text","text":"Two and two."}]}
`},
		{"old and custom calls", llm.OpenAIChat, `[
			{"role":"assistant","content":null,"function_call":{"name":"get_order","arguments":"{}"}},
			{"role":"function","name":"get_order","content":"one"},
			{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"custom","custom":{"name":"shell","input":"ls -l"}}]},
			{"role":"tool","tool_call_id":"c","content":""}]`,
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{}}]}
{"role":"tool","content":"one","tool_call_id":"call_1"}
{"role":"assistant","tool_calls":[{"id":"c","name":"shell","arguments":"ls -l"}]}
{"role":"tool","content":"","tool_call_id":"c"}
`},

		{"calls without ids, and as an SDK writes a response", llm.OpenAIChat, `[
			{"role":"assistant","content":"a","audio":{"id":"","transcript":""},"function_call":{"name":"","arguments":""},"tool_calls":[
				{"id":"","type":"function","function":{"name":"f","arguments":"{}"},"custom":{"name":"","input":""}},
				{"id":"","type":"custom","function":{"name":"","arguments":""},"custom":{"name":"g","input":"x"}}]},
			{"role":"tool","content":"one"},{"role":"tool","content":"two"}]`,
			`{"role":"assistant","content":"a","tool_calls":[{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"g","arguments":"x"}]}
{"role":"tool","content":"one","tool_call_id":"call_1"}
{"role":"tool","content":"two","tool_call_id":"call_2"}
`},

		{"a session", llm.Anthropic, `{"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
			{"role":"user","content":"Both orders."},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"Two calls.","signature":"c2ln"},
				{"type":"redacted_thinking","data":"secret"},
				{"type":"text","text":"I look."},
				{"type":"tool_use","id":"toolu_1","name":"get_order","input":{"order_id":"1"},"caller":{"type":"direct"}},
				{"type":"tool_use","id":"toolu_2","name":"get_order","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"status\":\"shipped\"}"},
				{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":[{"type":"text","text":"order_id is missing"}]},
				{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"text","text":"Order 1 "},{"type":"text","text":"is shipped."}]}]}`,
			`{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_1","name":"get_order","arguments":{"order_id":"1"}},{"id":"toolu_2","name":"get_order","arguments":{}}],"thinking":[{"type":"text","text":"Two calls."}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"toolu_1"}
{"role":"tool","content":"{\"error\":\"order_id is missing\"}","tool_call_id":"toolu_2"}
{"role":"user","content":"Go on."}
{"role":"assistant","content":[{"type":"text","text":"Order 1 "},{"type":"text","text":"is shipped."}]}
`},
		{"results", llm.Anthropic, `[
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}},{"type":"tool_use","id":"c","name":"f","input":{}},{"type":"tool_use","id":"d","name":"f","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"d","is_error":true},
				{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"{\"error\":\"tool_not_executable\"}"},
				{"type":"tool_result","tool_use_id":"b","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"QUJDRA=="}},{"type":"image","source":{"type":"url","url":"https://a.example.com/?key=secret"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"terms"}},{"type":"search_result","title":"T","source":"s","content":[]}]},
				{"type":"tool_result","tool_use_id":"a"}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}},{"id":"b","name":"f","arguments":{}},{"id":"c","name":"f","arguments":{}},{"id":"d","name":"f","arguments":{}}]}
{"role":"tool","content":"{\"error\":\"the tool failed\"}","tool_call_id":"d"}
{"role":"tool","content":"{\"error\":\"tool_not_executable\"}","tool_call_id":"c"}
{"role":"tool","content":[{"type":"text","text":"[image image/jpeg, 4 bytes]"},{"type":"text","text":"[image]"},{"type":"text","text":"terms"},{"type":"text","text":"[search result T]"}],"tool_call_id":"b"}
{"role":"tool","content":"","tool_call_id":"a"}
`},
		{"tools of the provider", llm.Anthropic, `[{"role":"assistant","content":[
			{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},
			{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"T"}]},
			{"type":"text","text":"Found."},
			{"type":"mcp_tool_use","id":"mcptoolu_1","name":"echo","server_name":"s","input":{"a":1}},
			{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[{"type":"text","text":"hello"}]}]},
			{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"srvtoolu_1","name":"web_search","arguments":{"query":"q"}}]}
{"role":"tool","content":"[{\"type\":\"web_search_result\",\"title\":\"T\"}]","tool_call_id":"srvtoolu_1"}
{"role":"assistant","content":"Found.","tool_calls":[{"id":"mcptoolu_1","name":"echo","arguments":{"a":1}}]}
{"role":"tool","content":"hello","tool_call_id":"mcptoolu_1"}
`},
		{"a string as the system prompt", llm.Anthropic, `{"system":"S","messages":[{"role":"user","content":"U"}]}`,
			`{"role":"system","content":"S"}
{"role":"user","content":"U"}
`},

		{"a session", llm.OpenAIResponses, `{"instructions":"Be brief.","input":[
			{"role":"user","content":"Both orders."},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two"},{"type":"summary_text","text":"calls."}],"encrypted_content":"x"},
			{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
			{"type":"function_call","id":"fc_1","call_id":"call_a","name":"get_order","arguments":"{\"order_id\":\"1\"}"},
			{"type":"function_call","id":"fc_2","call_id":"call_b","name":"get_order","arguments":""},
			{"type":"function_call_output","call_id":"call_a","output":"{\"status\":\"shipped\"}"},
			{"type":"function_call_output","call_id":"call_b","output":[{"type":"input_text","text":"none"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."},{"type":"refusal","refusal":"No more."}]},
			{"type":"message","role":"developer","content":[{"type":"input_text","text":"Stop."}]}]}`,
			`{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_a","name":"get_order","arguments":{"order_id":"1"}},{"id":"call_b","name":"get_order","arguments":{}}],"thinking":[{"type":"text","text":"Two\n\ncalls."}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_a"}
{"role":"tool","content":[{"type":"text","text":"none"},{"type":"text","text":"[image image/png, 3 bytes]"}],"tool_call_id":"call_b"}
{"role":"assistant","content":[{"type":"text","text":"Done."},{"type":"text","text":"No more."}]}
{"role":"system","content":"Stop."}
`},
		{"an empty message before a result", llm.OpenAIResponses, `[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"user","content":""},{"type":"function_call_output","call_id":"a","output":"x"}]`,
			`{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}}]}` + "\n" + `{"role":"user","content":""}` + "\n" + `{"role":"tool","content":"x","tool_call_id":"a"}` + "\n"},
		{"a string", llm.OpenAIResponses, `{"model":"m","input":"Hello"}`, `{"role":"user","content":"Hello"}` + "\n"},
		{"turns that follow each other", llm.OpenAIResponses, `[
			{"role":"assistant","content":"One."},{"role":"assistant","content":"Two."},
			{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
			{"type":"function_call","call_id":"b","name":"f","arguments":"{}"}]`,
			`{"role":"assistant","content":"One."}
{"role":"assistant","content":"Two.","tool_calls":[{"id":"a","name":"f","arguments":{}}]}
{"role":"assistant","tool_calls":[{"id":"b","name":"f","arguments":{}}],"thinking":[{"type":"text","text":"hm"}]}
`},
		{"tools of the provider", llm.OpenAIResponses, `[
			{"type":"mcp_list_tools","id":"mcpl_1","server_label":"s","tools":[]},
			{"type":"mcp_call","id":"mcp_1","server_label":"s","name":"echo","arguments":"{\"a\":1}","output":"hello","error":null},
			{"type":"mcp_call","id":"mcp_2","server_label":"s","name":"echo","arguments":"{}","output":null,"error":{"type":"http_error","code":500}},
			{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
			{"type":"custom_tool_call","call_id":"c","name":"shell","input":"ls"},
			{"type":"custom_tool_call_output","call_id":"c","output":"a.txt"},
			{"type":"computer_call","call_id":"d","action":{"type":"screenshot"}},
			{"type":"computer_call_output","call_id":"d","output":{"type":"computer_screenshot"}},
			{"type":"shell_call","call_id":"e","action":{"commands":["ls"]}},
			{"type":"shell_call_output","call_id":"e","output":[{"stdout":"a"}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"mcp_1","name":"echo","arguments":{"a":1}}]}
{"role":"tool","content":"hello","tool_call_id":"mcp_1"}
{"role":"assistant","tool_calls":[{"id":"mcp_2","name":"echo","arguments":{}}]}
{"role":"tool","content":"{\"error\":\"{\\\"type\\\":\\\"http_error\\\",\\\"code\\\":500}\"}","tool_call_id":"mcp_2"}
{"role":"assistant","tool_calls":[{"id":"ws_1","name":"web_search","arguments":{"type":"search","query":"q"}},{"id":"c","name":"shell","arguments":"ls"}]}
{"role":"tool","content":"a.txt","tool_call_id":"c"}
{"role":"assistant","tool_calls":[{"id":"d","name":"computer","arguments":{"type":"screenshot"}}]}
{"role":"tool","content":"[image]","tool_call_id":"d"}
{"role":"assistant","tool_calls":[{"id":"e","name":"shell","arguments":{"commands":["ls"]}}]}
{"role":"tool","content":"[{\"stdout\":\"a\"}]","tool_call_id":"e"}
`},

		{"programs, searches and interpreters", llm.OpenAIResponses, `[
			{"type":"web_search_call","id":"ws1","action":{"type":"search"}},
			{"type":"program","id":"p","call_id":"pc1","code":"1+1","fingerprint":"x"},
			{"type":"program_output","id":"po","call_id":"pc1","result":"42"},
			{"type":"tool_search_call","id":"ts1","call_id":null,"arguments":{"query":"q"},"execution":"server"},
			{"type":"tool_search_output","id":"to1","call_id":null,"tools":[{"type":"function","name":"f"}]},
			{"type":"local_shell_call","id":"ls1","call_id":"lc1","action":{"command":["ls"]}},
			{"type":"local_shell_call_output","id":"lc1","output":"a.txt"},
			{"type":"code_interpreter_call","id":"ci1","code":"print(1)","outputs":[{"type":"logs","logs":"1"},{"type":"image","url":"https://a.example.com/?key=secret"}]},
			{"type":"code_interpreter_call","id":"ci2","code":"x","queries":["y"],"outputs":null},
			{"type":"file_search_call","id":"fs1","queries":["a","b"],"results":[{"file_id":"f","text":"t"}]},
			{"type":"computer_call","call_id":"cc1","actions":[{"type":"click"}]},
			{"type":"image_generation_call","id":"ig1","revised_prompt":"a cat","output_format":"png","result":"QUJDRA=="},
			{"type":"image_generation_call","id":"ig2","result":null,"error":{"code":"moderation_blocked"}}]`,
			`{"role":"assistant","tool_calls":[{"id":"ws1","name":"web_search","arguments":{"type":"search"}},{"id":"pc1","name":"program","arguments":{"code":"1+1"}}]}
{"role":"tool","content":"42","tool_call_id":"pc1"}
{"role":"assistant","tool_calls":[{"id":"ts1","name":"tool_search","arguments":{"query":"q"}}]}
{"role":"tool","content":"[{\"type\":\"function\",\"name\":\"f\"}]","tool_call_id":"ts1"}
{"role":"assistant","tool_calls":[{"id":"lc1","name":"local_shell","arguments":{"command":["ls"]}}]}
{"role":"tool","content":"a.txt","tool_call_id":"lc1"}
{"role":"assistant","tool_calls":[{"id":"ci1","name":"code_interpreter","arguments":{"code":"print(1)"}}]}
{"role":"tool","content":[{"type":"text","text":"1"},{"type":"text","text":"[image]"}],"tool_call_id":"ci1"}
{"role":"assistant","tool_calls":[{"id":"ci2","name":"code_interpreter","arguments":{"code":"x"}},{"id":"fs1","name":"file_search","arguments":{"queries":["a","b"]}}]}
{"role":"tool","content":"[{\"file_id\":\"f\",\"text\":\"t\"}]","tool_call_id":"fs1"}
{"role":"assistant","tool_calls":[{"id":"cc1","name":"computer","arguments":{"actions":[{"type":"click"}]}},{"id":"ig1","name":"image_generation","arguments":{"revised_prompt":"a cat"}}]}
{"role":"tool","content":"[image png, 4 bytes]","tool_call_id":"ig1"}
{"role":"assistant","tool_calls":[{"id":"ig2","name":"image_generation","arguments":{}}]}
{"role":"tool","content":"{\"error\":\"{\\\"code\\\":\\\"moderation_blocked\\\"}\"}","tool_call_id":"ig2"}
`},

		{"something among parts", llm.OpenAIChat, `[
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a.example.com/?key=secret"}},null,{"note":1},{"type":"text","text":"Look."}]},
			{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":["x",{"n":1},null]}]`,
			`{"role":"user","content":[{"type":"text","text":"[image]"},{"type":"text","text":"{\"note\":1}"},{"type":"text","text":"Look."}]}
{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}}]}
{"role":"tool","content":"[\"x\",{\"n\":1},null]","tool_call_id":"a"}
`},
		{"a session", llm.Gemini, `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[
			{"parts":[{"text":"Both orders."}]},
			{"role":"model","parts":[{"text":"Two calls.","thought":true},{"text":"I look.","functionCall":null,"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_order","args":{"order_id":"1"}}},{"functionCall":{"name":"refund","args":{}}},{"functionCall":{"name":"get_order"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"get_order","response":{"status":"shipped"}}},{"functionResponse":{"name":"get_order","response":{"output":{"n":1.0}}}},{"functionResponse":{"name":"refund","response":{"error":"no such order"}}}]},
			{"role":"model","parts":[{"text":"Done."},{"text":"","thoughtSignature":"c2ln"}]}]}`,
			`{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"order_id":"1"}},{"id":"call_2","name":"refund","arguments":{}},{"id":"call_3","name":"get_order","arguments":{}}],"thinking":[{"type":"text","text":"Two calls."}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_1"}
{"role":"tool","content":"{\"n\":1.0}","tool_call_id":"call_3"}
{"role":"tool","content":"{\"error\":\"no such order\"}","tool_call_id":"call_2"}
{"role":"assistant","content":"Done."}
`},
		{"pieces of a stream", llm.Gemini, `[
			{"role":"user","parts":[{"text":"one"},{"text":"two"}]},
			{"role":"model","parts":[{"text":"Hel"}]},{"role":"model","parts":[{"text":"lo."}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]`,
			`{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}
{"role":"assistant","content":"Hello.","tool_calls":[{"id":"call_1","name":"f","arguments":{}}]}
{"role":"tool","content":"{}","tool_call_id":"call_1"}
`},
		{"tools of the provider without ids", llm.Gemini, `[{"role":"model","parts":[
			{"toolCall":{"toolType":"GOOGLE_SEARCH","args":{"q":"a"}}},{"toolCall":{"toolType":"URL_CONTEXT"}},
			{"toolResponse":{"toolType":"URL_CONTEXT","response":{"page":1}}},{"toolResponse":{"toolType":"GOOGLE_SEARCH","response":{"hits":2}}}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"google_search","arguments":{"q":"a"}},{"id":"call_2","name":"url_context","arguments":{}}]}
{"role":"tool","content":"{\"page\":1}","tool_call_id":"call_2"}
{"role":"tool","content":"{\"hits\":2}","tool_call_id":"call_1"}
`},
		{"ids, the other names, and data", llm.Gemini, `{"system_instruction":{"parts":{"text":"S"}},"contents":[
			{"role":"user","parts":[{"text":"Look:"},{"inline_data":{"mime_type":"image/png","data":"QUJD"}},{"fileData":{"mimeType":"video/mp4","fileUri":"https://a.example.com/?key=secret"}}]},
			{"role":"model","parts":[{"function_call":{"id":"b","name":"f","args":{"a":1}}},{"functionCall":{"id":"a","name":"f","args":{}}}]},
			{"role":"function","parts":[{"function_response":{"id":"a","name":"f","response":{"result":"text"}}},{"functionResponse":{"id":"unknown","name":"f","response":{}}}]},
			{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1+1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},{"text":"2"}]}]}`,
			`{"role":"system","content":"S"}
{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"text","text":"[data image/png, 3 bytes]"},{"type":"text","text":"[file video/mp4]"}]}
{"role":"assistant","tool_calls":[{"id":"b","name":"f","arguments":{"a":1}},{"id":"a","name":"f","arguments":{}}]}
{"role":"tool","content":"text","tool_call_id":"a"}
{"role":"tool","content":"{}","tool_call_id":"b"}
{"role":"assistant","tool_calls":[{"id":"call_1","name":"code_execution","arguments":{"language":"PYTHON","code":"1+1"}}]}
{"role":"tool","content":"2","tool_call_id":"call_1"}
{"role":"assistant","content":"2"}
`},
		{"members that are null, and names of other formats", llm.OpenAIChat, `[{"role":"user","content":"a","parts":null,"name":"function_call"},
			{"role":"assistant","content":"b","audio":{"transcript":"b"}}]`, `{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":"b"}` + "\n"},
		{"a message with a type and a list without calls", llm.Anthropic, `[{"type":"message","role":"user","content":[{"x":1},{"type":"text","text":"a"}],"tool_calls":null},{"role":"system","content":"s"}]`,
			`{"role":"user","content":"a"}` + "\n" + `{"role":"system","content":"s"}` + "\n"},
		{"parts whose text is left out", llm.OpenAIChat, `[{"role":"user","content":[{"type":"text"},{"type":"input_text"},{"type":"output_text"},{"type":"summary_text"},{"type":"reasoning_text"},{"type":"text","text":"a"},5,"b"]}]`,
			`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":"a"},{"type":"text","text":"5"},{"type":"text","text":"b"}]}` + "\n"},
		{"data in base64, and what only looks like it", llm.OpenAIResponses, `[{"role":"user","content":[{"type":"input_image","image_url":"data:bad type;base64,azAZ09+/-_~[:=@."},
			{"type":"input_image","image_url":"https://h.example.com/x;base64,AAAA"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,QUJD"}]}]`,
			`{"role":"user","content":[{"type":"text","text":"[image, 7 bytes]"},{"type":"text","text":"[image]"},{"type":"text","text":"[file a.pdf, 3 bytes]"}]}` + "\n"},
		{"an empty answer before a result, and an id that looks made", llm.OpenAIChat, `[{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"f"}}]},{"role":"assistant","content":""},{"role":"tool","tool_call_id":"x","content":"late"},
			{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"f"}},{"function":{"name":"f"}}]},{"role":"tool","tool_call_id":"call_1","content":"one"},{"role":"tool","content":"two"}]`,
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}` + "\n" + `{"role":"assistant"}` + "\n" + `{"role":"tool","content":"late","tool_call_id":"x"}` + "\n" + `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"f","arguments":{}}]}` + "\n" +
				`{"role":"tool","content":"one","tool_call_id":"call_1"}` + "\n" + `{"role":"tool","content":"two","tool_call_id":"call_2"}` + "\n"},
		{"thinking alone, with and without its text", llm.Anthropic, `[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"x"}]},{"role":"user","content":"a"}]`,
			`{"role":"assistant","thinking":[{"type":"text","text":"hm"}]}` + "\n" + `{"role":"user","content":"a"}` + "\n"},
		{"a failure of several texts", llm.Anthropic, `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"no "},{"type":"text","text":"order"}]}]}]`,
			`{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}}]}` + "\n" + `{"role":"tool","content":"{\"error\":\"no order\"}","tool_call_id":"a"}` + "\n"},
		{"results in another order, reasoning between calls, and lists of tools", llm.OpenAIResponses, `[{"type":"reasoning","summary":[]},{"type":"mcp_list_tools","id":"l","tools":[]},
			{"type":"function_call","call_id":"a","name":"f"},{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"function_call","call_id":"b","name":"f"},
			{"type":"function_call_output","call_id":"b","output":"of b"},{"type":"function_call_output","call_id":"a","output":"of a"},
			{"role":"assistant","content":"One."},{"type":"reasoning","summary":[{"type":"summary_text","text":"two"}]},{"type":"function_call","call_id":"c","name":"f"},{"role":"assistant","content":"Three."},
			{"type":"local_shell_call","id":"l1","call_id":"l1"},{"type":"local_shell_call","id":"l2","call_id":"l2"},{"type":"local_shell_call_output","id":"l2","output":"of l2"},{"type":"local_shell_call_output","output":"of l1"},
			{"type":"apply_patch_call","call_id":"p","operation":{"path":"x"}},{"type":"function_call_output","call_id":"c","output":"of c"}]`,
			`{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}}]}` + "\n" + `{"role":"assistant","tool_calls":[{"id":"b","name":"f","arguments":{}}],"thinking":[{"type":"text","text":"hm"}]}` + "\n" +
				`{"role":"tool","content":"of b","tool_call_id":"b"}` + "\n" + `{"role":"tool","content":"of a","tool_call_id":"a"}` + "\n" + `{"role":"assistant","content":"One."}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{}}],"thinking":[{"type":"text","text":"two"}]}` + "\n" +
				`{"role":"assistant","content":"Three.","tool_calls":[{"id":"l1","name":"local_shell","arguments":{}},{"id":"l2","name":"local_shell","arguments":{}}]}` + "\n" +
				`{"role":"tool","content":"of l2","tool_call_id":"l2"}` + "\n" + `{"role":"tool","content":"of l1","tool_call_id":"l1"}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"p","name":"apply_patch","arguments":{"path":"x"}}]}` + "\n" + `{"role":"tool","content":"of c","tool_call_id":"c"}` + "\n"},
		{"results with and without ids", llm.Gemini, `[{"role":"system","parts":[{"text":"S"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f"}},{"functionCall":{"id":"b","name":"f"}},{"tool_call":{"id":"t","toolType":"X"}},
			{"executableCode":{"id":"p","code":"1"}},{"executable_code":{"id":"q","code":"2"}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"of a"}}},{"functionResponse":{"name":"f","response":{"output":"of b"}}},
			{"codeExecutionResult":{"id":"q","output":"2"}},{"code_execution_result":{"id":"p","output":"1"}}]},{"role":"user"}]`,
			`{"role":"system","content":"S"}` + "\n" + `{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}},{"id":"b","name":"f","arguments":{}},{"id":"t","name":"x","arguments":{}},` +
				`{"id":"p","name":"code_execution","arguments":{"id":"p","code":"1"}},{"id":"q","name":"code_execution","arguments":{"id":"q","code":"2"}}]}` + "\n" +
				`{"role":"tool","content":"of a","tool_call_id":"a"}` + "\n" + `{"role":"tool","content":"of b","tool_call_id":"b"}` + "\n" + `{"role":"tool","content":"2","tool_call_id":"q"}` + "\n" + `{"role":"tool","content":"1","tool_call_id":"p"}` + "\n" + `{"role":"user"}` + "\n"},
	} {
		t.Run(string(tt.format)+"/"+tt.name, func(t *testing.T) {
			got, err := llm.FromConversation(tt.format, json.RawMessage(tt.conversation))
			if err != nil {
				t.Fatal(err)
			}
			if rows := rows(t, got); rows != tt.want {
				t.Errorf("got\n%swant\n%s", rows, tt.want)
			}
			again, err := llm.ToConversation(tt.format, got)
			if err != nil {
				t.Fatal(err)
			}
			back, err := llm.FromConversation(tt.format, again)
			if err != nil {
				t.Fatalf("%s: %v", again, err)
			}
			twice, err := llm.ToConversation(tt.format, back)
			if err != nil || string(twice) != string(again) {
				t.Errorf("a conversation is read as another one: %v\n%s\n%s", err, again, twice)
			}
		})
	}
}

// Any value that marshals to a conversation is one.
func TestMessagesOfGoValues(t *testing.T) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	for _, v := range []any{
		[]message{{"user", "a<b"}}, message{"user", "a<b"}, []any{map[string]any{"role": "user", "content": "a<b"}}, []byte(`[{"role":"user","content":"a<b"}]`),
	} {
		got, err := llm.FromConversation(llm.OpenAIChat, v)
		if err != nil || rows(t, got) != `{"role":"user","content":"a\u003cb"}`+"\n" {
			t.Errorf("%T: %v, %v", v, got, err)
		}
	}
}

// A result without an id is not given to a call of a tool that the provider runs.
func TestResultWithoutID(t *testing.T) {
	for _, call := range []string{
		`{"type":"web_search_call","id":"ws1"}`, `{"type":"tool_search_call","id":"ts1","call_id":null}`, `{"type":"mcp_call","id":"m1","name":"f"}`,
	} {
		got, err := llm.FromConversation(llm.OpenAIResponses, []byte(`[`+call+`,{"type":"function_call","call_id":"c","name":"f"},{"type":"function_call_output","output":"of c"}]`))
		if err != nil || len(got) != 2 || got[1].ToolCallID != "c" {
			t.Errorf("%s: %v, %v", call, got, err)
		}
	}
}

// A conversation of another format is refused, and its format named.
func TestWrongFormats(t *testing.T) {
	conversations := map[llm.Format][]string{
		llm.OpenAIChat:      {`[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		llm.OpenAIResponses: {`[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]`, `[{"type":"function_call_output","call_id":"a","output":"x"}]`},
		llm.Anthropic: {
			`[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"a","name":"f","input":{}}]}]`,
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]`,
		},
		llm.Converse: {
			`[{"role":"assistant","content":[{"text":"a"},{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}]`,
			`[{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}]`,
		},
		llm.Gemini: {`[{"role":"user","parts":[{"text":"hi"}]}]`, `[{"parts":[{"functionCall":{"name":"f"}}]}]`},
	}
	for is, texts := range conversations {
		for _, text := range texts {
			for _, f := range formats {
				got, err := llm.FromConversation(f, []byte(text))
				if f == is || f == llm.Ollama && is == llm.OpenAIChat { // of which it has the members
					if err != nil {
						t.Errorf("%s: %v", f, err)
					}
				} else if toolwire.CodeOf(err) != "invalid_conversation" || !strings.Contains(err.Error(), "/0 is of another format: "+string(is)) {
					t.Errorf("%s of %s: %v, %v", f, is, got, err)
				}
			}
		}
	}
	// Documents that are of no format.
	for f, text := range map[llm.Format]string{
		llm.Gemini: `{"messages":[{"role":"user","content":"a"}]}`, llm.OpenAIResponses: `{"messages":[]}`, llm.OpenAIChat: `{"contents":[]}`, llm.Anthropic: `{"input":"a"}`,
	} {
		if got, err := llm.FromConversation(f, []byte(text)); toolwire.CodeOf(err) != "invalid_conversation" {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	if got, err := llm.FromConversation(llm.Gemini, []byte(`[{"role":"user","parts":[{"text":"a"}]},{"role":"model"},{"role":"user","parts":null}]`)); err != nil || len(got) != 3 {
		t.Errorf("contents without parts: %v, %v", got, err)
	}
}

func TestMalformed(t *testing.T) {
	const secret = "sk-canary-1"
	for _, tt := range []struct {
		format       llm.Format
		conversation any
		code         toolwire.Code
		pointer      string
	}{
		{"openai", json.RawMessage(`[]`), "unknown_format", ""},
		{llm.OpenAIChat, json.RawMessage(`[{"role":"` + secret + `"}]`), "invalid_conversation", "/0/role"},
		{llm.OpenAIChat, json.RawMessage(`["` + secret + `"]`), "invalid_conversation", "/0"},
		{llm.OpenAIChat, json.RawMessage(`[{"role":"user"`), "invalid_conversation", ""},
		{llm.OpenAIChat, json.RawMessage(``), "invalid_conversation", ""},
		{llm.OpenAIChat, json.RawMessage(strings.Repeat(`[`, 600) + strings.Repeat(`]`, 600)), "invalid_conversation", ""},
		{llm.OpenAIChat, func() {}, "invalid_conversation", ""},
		{llm.Anthropic, json.RawMessage(`[{"role":"tool","content":"a"}]`), "invalid_conversation", "/0/role"},
		{llm.Anthropic, json.RawMessage(`[[]]`), "invalid_conversation", "/0"},
		{llm.OpenAIResponses, json.RawMessage(`{"input":[{"type":"item_reference","id":"msg_1"}]}`), "invalid_conversation", "/input/0"},
		{llm.OpenAIResponses, json.RawMessage(`[{"role":"tool","content":"a"}]`), "invalid_conversation", "/0/role"},
		{llm.OpenAIResponses, json.RawMessage(`[7]`), "invalid_conversation", "/0"},
		{llm.OpenAIResponses, json.RawMessage(`[{"id":"msg_1"}]`), "invalid_conversation", "/0"},
		{llm.Converse, json.RawMessage(`[{"role":"tool","content":[]}]`), "invalid_conversation", "/0/role"},
		{llm.Ollama, json.RawMessage(`[{"role":"` + secret + `"}]`), "invalid_conversation", "/0/role"},
		{llm.Gemini, json.RawMessage(`[{"role":"assistant","parts":[]}]`), "invalid_conversation", "/0/role"},
		{llm.Gemini, json.RawMessage(`[7]`), "invalid_conversation", "/0"},
	} {
		got, err := llm.FromConversation(tt.format, tt.conversation)
		if toolwire.CodeOf(err) != tt.code || err != nil && pointerOf(err) != tt.pointer || strings.Contains(err.Error(), secret) {
			t.Errorf("%s %.60s: %v, %v", tt.format, tt.conversation, got, err)
		}
	}
	for _, tt := range []struct {
		format  llm.Format
		message dispatch.Message
		code    toolwire.Code
	}{
		{"openai", dispatch.Message{Role: "user"}, "unknown_format"},
		{llm.OpenAIChat, dispatch.Message{Role: "developer"}, "invalid_conversation"},
		{llm.OpenAIChat, dispatch.Message{Role: "assistant", ToolCalls: []dispatch.ToolCall{{ID: "a"}}}, "invalid_conversation"},
	} {
		if got, err := llm.ToConversation(tt.format, []dispatch.Message{tt.message}); toolwire.CodeOf(err) != tt.code {
			t.Errorf("%v: %s, %v", tt.message, got, err)
		}
	}
	if toolwire.CodeOf(nil) != "" {
		t.Error("no error has a code")
	}
}

// pointerOf returns the place of a malformed message.
func pointerOf(err error) string {
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || len(e.Problems) == 0 {
		return ""
	}
	return e.Problems[0].Pointer
}
