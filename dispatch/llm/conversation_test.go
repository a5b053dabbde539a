package llm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/testkit"
)

// history is a conversation as runs leave it: a call without a result, results apart from their
// calls, a result of nothing, arguments that are not JSON.
func history() []dispatch.Message {
	text := dispatch.Text
	return []dispatch.Message{
		{Role: "system", Content: text("Be brief.")},
		{Role: "user", Content: dispatch.Content(`[{"type":"text","text":"Both"},"orders.",{"type":"image","source":{}}]`)},
		{Role: "assistant", Content: text("I look."), Thinking: []json.RawMessage{[]byte(`{"text":"hm"}`)}, ToolCalls: []dispatch.ToolCall{
			{ID: "functions.f:0", Name: "f", Arguments: json.RawMessage(`{"a": 1.0}`)},
			{ID: "b", Name: "g", Arguments: json.RawMessage(`"{\"a\":"`)},
			{ID: "c", Name: "h"},
		}},
		{Role: "assistant", Content: text("I wait."), Thinking: []json.RawMessage{[]byte(`{}`)}},
		{Role: "assistant", Thinking: []json.RawMessage{[]byte(`{}`)}},
		{Role: "tool", ToolCallID: "b", Content: text(`{"error":"no such order"}`)},
		{Role: "tool", ToolCallID: "functions.f:0", Content: dispatch.Content(`[{"type":"text","text":"fi"},{"type":"text","text":"ne"}]`)},
		{Role: "tool", ToolCallID: "nobody", Content: text("lost")},
		{Role: "user", Content: text("Again.")},
		{Role: "assistant", Content: text(""), ToolCalls: []dispatch.ToolCall{{ID: "b", Name: "g", Arguments: json.RawMessage(`"{\"a\":2}"`)}}},
		{Role: "tool", ToolCallID: "b", Content: text(`{"n":1.00}`)},
		{Role: "user", Content: text("And now?")},
	}
}

func TestConversation(t *testing.T) {
	const lost = `{\"error\":\"tool_call_failed\",\"detail\":\"the call was not answered\"}`
	for f, want := range map[llm.Format]string{
		llm.OpenAIChat: `{"role":"system","content":"Be brief."}
{"role":"user","content":[{"type":"text","text":"Both"},{"type":"text","text":"orders."},{"type":"text","text":"[image]"}]}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"a\": 1.0}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"a\":"}},{"id":"c","type":"function","function":{"name":"h","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"functions.f:0","content":"fine"}
{"role":"tool","tool_call_id":"b","content":"{\"error\":\"no such order\"}"}
{"role":"tool","tool_call_id":"c","content":"` + lost + `"}
{"role":"assistant","content":"I wait."}
{"role":"user","content":"Again."}
{"role":"assistant","tool_calls":[{"id":"b_2","type":"function","function":{"name":"g","arguments":"{\"a\":2}"}}]}
{"role":"tool","tool_call_id":"b_2","content":"{\"n\":1.00}"}
{"role":"user","content":"And now?"}
`,
		llm.Anthropic: `{"role":"user","content":[{"type":"text","text":"Both"},{"type":"text","text":"orders."},{"type":"text","text":"[image]"}]}
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"functions_f_0","name":"f","input":{"a": 1.0}},{"type":"tool_use","id":"b","name":"g","input":{"arguments":"{\"a\":"}},{"type":"tool_use","id":"c","name":"h","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_f_0","content":"fine"},{"type":"tool_result","tool_use_id":"b","content":"{\"error\":\"no such order\"}","is_error":true},{"type":"tool_result","tool_use_id":"c","content":"` + lost + `","is_error":true}]}
{"role":"assistant","content":[{"type":"text","text":"I wait."}]}
{"role":"user","content":[{"type":"text","text":"Again."}]}
{"role":"assistant","content":[{"type":"tool_use","id":"b_2","name":"g","input":{"a":2}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b_2","content":"{\"n\":1.00}"},{"type":"text","text":"And now?"}]}
`,
		llm.OpenAIResponses: `{"type":"message","role":"system","content":"Be brief."}
{"type":"message","role":"user","content":"Both\n\norders.\n\n[image]"}
{"type":"message","role":"assistant","content":"I look."}
{"type":"function_call","call_id":"functions.f:0","name":"f","arguments":"{\"a\": 1.0}"}
{"type":"function_call","call_id":"b","name":"g","arguments":"{\"a\":"}
{"type":"function_call","call_id":"c","name":"h","arguments":"{}"}
{"type":"function_call_output","call_id":"functions.f:0","output":"fine"}
{"type":"function_call_output","call_id":"b","output":"{\"error\":\"no such order\"}"}
{"type":"function_call_output","call_id":"c","output":"` + lost + `"}
{"type":"message","role":"assistant","content":"I wait."}
{"type":"message","role":"user","content":"Again."}
{"type":"function_call","call_id":"b_2","name":"g","arguments":"{\"a\":2}"}
{"type":"function_call_output","call_id":"b_2","output":"{\"n\":1.00}"}
{"type":"message","role":"user","content":"And now?"}
`,
		llm.Gemini: `{"role":"user","parts":[{"text":"Both"},{"text":"orders."},{"text":"[image]"}]}
{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"functions.f:0","name":"f","args":{"a": 1.0}}},{"functionCall":{"id":"b","name":"g","args":{"arguments":"{\"a\":"}}},{"functionCall":{"id":"c","name":"h","args":{}}}]}
{"role":"user","parts":[{"functionResponse":{"id":"functions.f:0","name":"f","response":{"output":"fine"}}},{"functionResponse":{"id":"b","name":"g","response":{"error":{"error":"no such order"}}}},{"functionResponse":{"id":"c","name":"h","response":{"error":{"error":"tool_call_failed","detail":"the call was not answered"}}}}]}
{"role":"model","parts":[{"text":"I wait."}]}
{"role":"user","parts":[{"text":"Again."}]}
{"role":"model","parts":[{"functionCall":{"id":"b_2","name":"g","args":{"a":2}}}]}
{"role":"user","parts":[{"functionResponse":{"id":"b_2","name":"g","response":{"output":{"n":1.00}}}}]}
{"role":"user","parts":[{"text":"And now?"}]}
`,
		llm.Converse: `{"role":"user","content":[{"text":"Both"},{"text":"orders."},{"text":"[image]"}]}
{"role":"assistant","content":[{"text":"I look."},{"toolUse":{"toolUseId":"functions_f_0","name":"f","input":{"a": 1.0}}},{"toolUse":{"toolUseId":"b","name":"g","input":{"arguments":"{\"a\":"}}},{"toolUse":{"toolUseId":"c","name":"h","input":{}}}]}
{"role":"user","content":[{"toolResult":{"toolUseId":"functions_f_0","content":[{"text":"fine"}],"status":"success"}},{"toolResult":{"toolUseId":"b","content":[{"text":"{\"error\":\"no such order\"}"}],"status":"error"}},{"toolResult":{"toolUseId":"c","content":[{"text":"` + lost + `"}],"status":"error"}}]}
{"role":"assistant","content":[{"text":"I wait."}]}
{"role":"user","content":[{"text":"Again."}]}
{"role":"assistant","content":[{"toolUse":{"toolUseId":"b_2","name":"g","input":{"a":2}}}]}
{"role":"user","content":[{"toolResult":{"toolUseId":"b_2","content":[{"text":"{\"n\":1.00}"}],"status":"success"}},{"text":"And now?"}]}
`,
		llm.Ollama: `{"role":"system","content":"Be brief."}
{"role":"user","content":"Both\norders.\n[image]"}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"functions.f:0","function":{"name":"f","arguments":{"a": 1.0}}},{"id":"b","function":{"name":"g","arguments":{"arguments":"{\"a\":"}}},{"id":"c","function":{"name":"h","arguments":{}}}]}
{"role":"tool","content":"fine","tool_name":"f","tool_call_id":"functions.f:0"}
{"role":"tool","content":"{\"error\":\"no such order\"}","tool_name":"g","tool_call_id":"b"}
{"role":"tool","content":"` + lost + `","tool_name":"h","tool_call_id":"c"}
{"role":"assistant","content":"I wait."}
{"role":"user","content":"Again."}
{"role":"assistant","content":"","tool_calls":[{"id":"b_2","function":{"name":"g","arguments":{"a":2}}}]}
{"role":"tool","content":"{\"n\":1.00}","tool_name":"g","tool_call_id":"b_2"}
{"role":"user","content":"And now?"}
`,
	} {
		got, err := llm.ToConversation(f, history())
		if err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(got, &list); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		lines := ""
		for _, element := range list {
			lines += string(element) + "\n"
		}
		if lines != want {
			t.Errorf("%s: got\n%swant\n%s", f, lines, want)
		}
	}
	for f := range map[llm.Format]bool{llm.OpenAIChat: true, llm.Gemini: true} {
		if got, err := llm.ToConversation(f, nil); err != nil || string(got) != "[]" {
			t.Errorf("no messages: %s, %v", got, err)
		}
	}
}

// A result belongs to the last call of its id.
func TestConversationWithEqualIDs(t *testing.T) {
	call := dispatch.Message{Role: "assistant", ToolCalls: []dispatch.ToolCall{{ID: "a", Name: "f"}}}
	result := dispatch.Message{Role: "tool", ToolCallID: "a", Content: dispatch.Text("second")}
	got, err := llm.ToConversation(llm.OpenAIChat, []dispatch.Message{call, call, result})
	if err != nil || strings.Index(string(got), "second") < strings.Index(string(got), "was not answered") {
		t.Errorf("%s, %v", got, err)
	}
}

// A replayed session becomes the conversation of a request.
func ExampleToConversation() {
	history := []dispatch.Message{ // of run.History()
		{Role: dispatch.RoleUser, Content: dispatch.Text("Where is order 4521?")},
		{Role: dispatch.RoleAssistant, ToolCalls: []dispatch.ToolCall{{ID: "toolu_1", Name: "get_order", Arguments: json.RawMessage(`{"order_id":"4521"}`)}}},
		{Role: dispatch.RoleTool, ToolCallID: "toolu_1", Content: dispatch.Text(`{"status":"shipped"}`)},
		{Role: dispatch.RoleAssistant, Content: dispatch.Text("It is shipped.")},
		{Role: dispatch.RoleUser, Content: dispatch.Text("When does it arrive?")},
	}
	conversation, err := llm.ToConversation(llm.Anthropic, history)
	if err != nil {
		panic(err)
	}
	var messages []struct { // in an agent: []anthropic.MessageParam
		Role    string
		Content []struct{ Type string }
	}
	if err := json.Unmarshal(conversation, &messages); err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m.Role, m.Content)
	}
	// Output:
	// user [{text}]
	// assistant [{tool_use}]
	// user [{tool_result}]
	// assistant [{text}]
	// user [{text}]
}

// The conversation of an agent's own loop becomes the messages of its response.
func ExampleFromConversation() {
	conversation := []map[string]any{ // in an agent: params.Messages, of an SDK's type
		{"role": "user", "content": "Where is order 4521?"},
		{"role": "assistant", "tool_calls": []any{map[string]any{
			"id": "call_a", "type": "function", "function": map[string]any{"name": "get_order", "arguments": `{"order_id":"4521"}`},
		}}},
		{"role": "tool", "tool_call_id": "call_a", "content": `{"status":"shipped"}`},
		{"role": "assistant", "content": "It is shipped."},
	}
	messages, err := llm.FromConversation(llm.OpenAIChat, conversation)
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m.Role, m.Content, m.ToolCallID, len(m.ToolCalls))
	}
	// Output:
	// user Where is order 4521?  0
	// assistant   1
	// tool {"status":"shipped"} call_a 0
	// assistant It is shipped.  0
}

// A request with many calls is read and written as fast as its size allows, in whichever order the
// results come. Work that grows with the square of the calls takes most of a minute here.
func TestManyCalls(t *testing.T) {
	n := testkit.Size(1500, 10_000)
	for name, result := range map[string]func(i int) int{
		"in order": func(i int) int { return i }, "in reverse": func(i int) int { return n - 1 - i }, "none": nil,
	} {
		messages := []dispatch.Message{{Role: dispatch.RoleAssistant}}
		for i := range n {
			call := dispatch.ToolCall{ID: fmt.Sprint("c", i), Name: fmt.Sprint("f", i), Arguments: json.RawMessage(`{}`)}
			messages[0].ToolCalls = append(messages[0].ToolCalls, call)
			if result != nil {
				id := fmt.Sprint("c", result(i))
				messages = append(messages, dispatch.Message{Role: dispatch.RoleTool, ToolCallID: id, Content: dispatch.Text("of " + id)})
			}
		}
		for _, f := range formats {
			conversation, err := llm.ToConversation(f, messages)
			if err != nil {
				t.Fatal(err)
			}
			got, err := llm.FromConversation(f, conversation)
			if err != nil || len(got) != n+1 || len(got[0].ToolCalls) != n {
				t.Fatalf("%s, %s: %d messages, %v", f, name, len(got), err)
			}
			for i, m := range got[1:] {
				if id := fmt.Sprint("c", i); m.ToolCallID != id || result != nil && m.Content.String() != "of "+id {
					t.Fatalf("%s, %s: message %d is %s", f, name, i, m)
				}
			}
		}
	}
	var calls, results, pieces strings.Builder
	for i := range n {
		fmt.Fprintf(&calls, `,{"functionCall":{"name":"f%d","args":{}}}`, i)
		fmt.Fprintf(&results, `,{"functionResponse":{"name":"f%d","response":{"output":%d}}}`, n-1-i, n-1-i)
		pieces.WriteString(`,{"role":"model","parts":[{"text":"ab"}]}`)
	}
	got, err := llm.FromConversation(llm.Gemini, []byte(`[{"role":"model","parts":[`+calls.String()[1:]+`]},{"role":"user","parts":[`+results.String()[1:]+`]}`+pieces.String()+`]`))
	if err != nil || len(got) < n+1 || got[1].ToolCallID != got[0].ToolCalls[n-1].ID || got[n].ToolCallID != got[0].ToolCalls[0].ID {
		t.Errorf("by names: %d messages, %v", len(got), err)
	}
	got, err = llm.FromConversation(llm.Gemini, []byte(`[{"role":"model","parts":[`+strings.Repeat(`{"text":"ab"},`, 5*n)+`{"text":"c"}]}]`))
	if err != nil || len(got) != 1 || got[0].Content.String() != strings.Repeat("ab", 5*n)+"c" {
		t.Errorf("in pieces: %d messages, %v", len(got), err)
	}
}

// An id is kept if it has as many bytes as the API takes.
func TestLongestID(t *testing.T) {
	for f, most := range map[llm.Format]int{llm.OpenAIChat: 40, llm.OpenAIResponses: 64, llm.Anthropic: 64, llm.Gemini: 64, llm.Converse: 64, llm.Ollama: 64} {
		for n, kept := range map[int]bool{most: true, most + 1: false} {
			id := strings.Repeat("azAZ09-_", 9)[:n]
			got, err := llm.ToConversation(f, []dispatch.Message{{Role: "assistant", ToolCalls: []dispatch.ToolCall{{ID: id, Name: "f"}}}})
			if err != nil || strings.Contains(string(got), `"`+id+`"`) != kept {
				t.Errorf("%s, %d bytes: %s, %v", f, n, got, err)
			}
		}
	}
}

// Converse rejects an empty text, so an empty result is an empty object.
func TestEmptyResultForConverse(t *testing.T) {
	got, err := llm.ToConversation(llm.Converse, []dispatch.Message{
		{Role: "assistant", ToolCalls: []dispatch.ToolCall{{ID: "a", Name: "f"}}}, {Role: "tool", ToolCallID: "a", Content: dispatch.Text(" \n")},
	})
	if want := `{"toolResult":{"toolUseId":"a","content":[{"json":{}}],"status":"success"}}`; err != nil || !strings.Contains(string(got), want) {
		t.Errorf("%s, %v", got, err)
	}
}

// The white space at the end of a user's text is kept.
func TestWhiteSpaceOfTheUser(t *testing.T) {
	for _, f := range formats {
		got, err := llm.ToConversation(f, []dispatch.Message{{Role: "user", Content: dispatch.Text("a \n")}})
		if err != nil || !strings.Contains(string(got), `"a \n"`) {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
}

// Results of calls with equal ids belong to the last message that has them, and there to the first
// call.
func TestConversationWithEqualIDsInAMessage(t *testing.T) {
	a := dispatch.ToolCall{ID: "a", Name: "f"}
	messages := []dispatch.Message{
		{Role: "assistant", ToolCalls: []dispatch.ToolCall{a}}, {Role: "assistant", ToolCalls: []dispatch.ToolCall{a, a}},
		{Role: "tool", ToolCallID: "a", Content: dispatch.Text("one")}, {Role: "tool", ToolCallID: "a", Content: dispatch.Text("two")},
	}
	got, err := llm.ToConversation(llm.OpenAIChat, messages)
	text := string(got)
	if lost, one, two := strings.Index(text, "was not answered"), strings.Index(text, "one"), strings.Index(text, "two"); err != nil || lost < 0 || lost > one || one > two {
		t.Errorf("%s, %v", got, err)
	}
}

// A provider takes what ToConversation writes, whatever ids and texts the messages of a run have.
func TestConversationOfOddMessages(t *testing.T) {
	call := func(id string) dispatch.ToolCall { return dispatch.ToolCall{ID: id, Name: "f"} }
	result := func(id, text string) dispatch.Message {
		return dispatch.Message{Role: "tool", ToolCallID: id, Content: dispatch.Text(text)}
	}
	long := strings.Repeat("x", 100)
	messages := []dispatch.Message{
		{Role: "user", Content: dispatch.Text("hi")},
		{Role: "user", Content: dispatch.Text(" \n")},
		{Role: "assistant", Content: dispatch.Text("\n\n"), ToolCalls: []dispatch.ToolCall{call("x.1"), call("x:1"), call("call_1"), call(long + "a"), call(long + "b")}},
		result("x:1", "second"), result("x.1", "first"), result("call_1", "third"), result(long+"b", "fifth"), result(long+"a", "fourth"),
		{Role: "assistant", Content: dispatch.Content(`[{"type":"text","text":" "},{"type":"text","text":"So."}]`)},
		{Role: "user", Content: dispatch.Text("again")},
		{Role: "assistant", ToolCalls: []dispatch.ToolCall{call("call_1"), call("call_1"), call("call_1_2")}},
		result("call_1", "sixth"), result("call_1", "seventh"), result("call_1_2", "eighth"),
		{Role: "user", Content: dispatch.Text("thanks")},
	}
	for _, f := range formats {
		conversation, err := llm.ToConversation(f, messages)
		if err != nil {
			t.Fatal(err)
		}
		model := llmtest.New(t, llmtest.Text("yes"))
		path, body := request(t, f, false, messages)
		if got, err := send(t.Context(), model.Client().Transport, path, body); err != nil || !strings.Contains(got, "yes") {
			t.Errorf("%s: %s, %v", f, got, err)
		}
		back, err := llm.FromConversation(f, conversation)
		if err != nil {
			t.Fatal(err)
		}
		prefill := append(slices.Clone(messages), dispatch.Message{Role: "assistant", Content: dispatch.Content(`[{"type":"text","text":"{ "},{"type":"text","text":" "}]`)}, dispatch.Message{Role: "system", Content: dispatch.Text("Be brief.")})
		model = llmtest.New(t, llmtest.Text("yes"))
		path, body = request(t, f, false, prefill)
		if got, err := send(t.Context(), model.Client().Transport, path, body); err != nil || !strings.Contains(got, "yes") {
			t.Errorf("%s: %s, %v", f, got, err)
		}
		ids, got := map[string]bool{}, ""
		for _, m := range back {
			for _, c := range m.ToolCalls {
				if ids[c.ID] || len(c.ID) > 64 || f == llm.OpenAIChat && len(c.ID) > 40 {
					t.Errorf("%s: the id %s is not accepted", f, c.ID)
				}
				ids[c.ID] = true
			}
			if m.Role == "tool" {
				got += m.Content.String() + " "
			}
		}
		if want := "first second third fourth fifth sixth seventh eighth "; got != want {
			t.Errorf("%s: results %s", f, got)
		}
	}
}
