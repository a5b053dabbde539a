package dispatch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// A transcript in the text of a failing test reads as the conversation, in a list too.
func TestMessagesPrintAsOneReadsThem(t *testing.T) {
	call := dispatch.ToolCall{ID: "call_1", Name: "get_order", Arguments: json.RawMessage(`{"order_id":"4521"}`)}
	for _, tt := range []struct {
		name    string
		message dispatch.Message
		want    string
	}{
		{"user", dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Text("How is my order?")}, `user: How is my order?`},
		{"text and calls", dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("I look."),
			ToolCalls: []dispatch.ToolCall{call, {Name: "list"}}}, `assistant: I look. call_1 get_order {"order_id":"4521"} list {}`},
		{"arguments as text", dispatch.Message{Role: dispatch.RoleAssistant, ToolCalls: []dispatch.ToolCall{
			{ID: "1", Name: "f", Arguments: json.RawMessage(`"{\"a\":1}"`)}}}, `assistant: 1 f {"a":1}`},
		{"result", dispatch.Message{Role: dispatch.RoleTool, ToolCallID: "call_1", Content: dispatch.Text(`{"status":"shipped"}`)},
			`tool: call_1 {"status":"shipped"}`},
		{"parts", dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Content(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)},
			`user: ab`},
		{"parts without text", dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Content(`[{"type":"image"}]`)},
			`user: [{"type":"image"}]`},
		{"empty text", dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("")}, `assistant:`},
		{"nothing", dispatch.Message{}, `"":`},
		{"forged", dispatch.Message{Role: "x\ny", ToolCallID: "\x1b[2J", Content: dispatch.Text("a\r\nuser: b\x1b]0;\u009b\u202e\u2028c")},
			"\"x\\ny\": \"\\x1b[2J\" a user: b\uFFFD]0;\uFFFD\uFFFD c"},
		{"long", dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Text(strings.Repeat("é", 501))},
			"user: " + strings.Repeat("é", 500) + "… (1002 bytes)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(tt.message); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	want := `[user: x assistant: call_1 get_order {"order_id":"4521"}]`
	if got := fmt.Sprintf("%v", []dispatch.Message{
		{Role: dispatch.RoleUser, Content: dispatch.Text("x")}, {Role: dispatch.RoleAssistant, ToolCalls: []dispatch.ToolCall{call}},
	}); got != want {
		t.Errorf("a list prints as %s, want %s", got, want)
	}
}

// Decoding replaces what a message has, null decodes into an empty one, and any other value is an error.
func TestMessageUnmarshalJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"role":"user","content":"a"}`, `{"role":"user","content":"a"}`},
		{`{"role":"user","role":"system","Content":"b"}`, `{"role":"system"}`},
		{`{"role":"assistant","tool_calls":[{"id":"c","name":"f"},null]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{}},{"id":"","name":"","arguments":{}}]}`},
		{`{"role":"assistant","tool_calls":[{"id":"a","name":"f"}],"tool_calls":[{"id":"b"}]}`,
			`{"role":"assistant","tool_calls":[{"id":"b","name":"","arguments":{}}]}`},
		{"null", `{"role":""}`},
		{`[]`, ""}, {`"a"`, ""}, {`{"role":1}`, ""}, {`{"tool_calls":[[]]}`, ""},
	} {
		m := dispatch.Message{Role: "tool", ToolCallID: "x", ToolCalls: []dispatch.ToolCall{{ID: "x", Name: "x", Arguments: []byte("{}")}}}
		err := json.Unmarshal([]byte(tt.in), &m)
		got, _ := json.Marshal(m)
		if (err != nil) != (tt.want == "") || err == nil && string(got) != tt.want {
			t.Errorf("%s: %s, %v", tt.in, got, err)
		}
	}
}
