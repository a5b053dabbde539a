package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/cost"
)

func FuzzOpenAIChat(f *testing.F) {
	f.Add([]byte(`[{"role":"assistant","content":[{"type":"refusal","refusal":"n"}],"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}],"function_call":{"name":"f"}},{"role":"tool","tool_call_id":"c"}]`))
	fuzzConversation(f, llm.OpenAIChat)
}

func FuzzOpenAIResponses(f *testing.F) {
	f.Add([]byte(`{"instructions":"i","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"o"},{"type":"mcp_call","id":"m","name":"f","error":{}},{"type":"web_search_call","id":"w","action":{}}]}`))
	fuzzConversation(f, llm.OpenAIResponses)
}

func FuzzAnthropic(f *testing.F) {
	f.Add([]byte(`{"system":"s","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"web_search_tool_result","tool_use_id":"a","content":[]}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"x"}]}]}`))
	fuzzConversation(f, llm.Anthropic)
}

func FuzzGemini(f *testing.F) {
	f.Add([]byte(`{"systemInstruction":{"parts":{"text":"s"}},"contents":[{"role":"model","parts":[{"text":"t","thought":true},{"functionCall":{"name":"f","args":{}}},{"executableCode":{}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":1}}}]}]}`))
	fuzzConversation(f, llm.Gemini)
}

func FuzzConverse(f *testing.F) {
	f.Add([]byte(`{"system":[{"text":"s"}],"messages":[{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t"}}},{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"error","content":[{"json":{}},{"document":{"format":"pdf","source":{"content":[{"text":"x"}]}}}]}}]}]}`))
	fuzzConversation(f, llm.Converse)
}

func FuzzOllama(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"a","images":["AAAA"]},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","content":"x","tool_name":"f"}]}`))
	fuzzConversation(f, llm.Ollama)
}

// fuzzConversation makes sure that whatever is read can be sent, and written in every format.
func fuzzConversation(f *testing.F, format llm.Format) {
	seeds, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		seed, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	for _, message := range []string{ // one of a list
		`{"role":"user","content":"a"}`, `{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`, `{"type":"reasoning","summary":[]}`,
		`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`, `{"role":"tool","tool_call_id":"a","content":"x"}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`,
	} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, list := range []string{``, `"messages":`, `"input":`, `"contents":`} {
			open, end := list+"[", "]"
			if list != "" {
				open, end = "{"+open, "]}"
			}
			cost.Linear(t, "a conversation", doc, cost.List(open, doc, end), func(doc []byte) {
				messages, err := llm.FromConversation(format, json.RawMessage(doc))
				if err != nil {
					return
				}
				dispatch.CheckMessages(messages)
				_, _ = llm.ToConversation(format, messages)
			})
		}
		messages, err := llm.FromConversation(format, json.RawMessage(doc))
		if err != nil {
			if code := toolwire.CodeOf(err); code != "invalid_conversation" {
				t.Fatalf("code %q", code)
			}
			return
		}
		named := true
		for _, m := range messages {
			for _, call := range m.ToolCalls {
				named = named && call.Name != ""
			}
		}
		if !named {
			return
		}
		for _, p := range dispatch.CheckMessages(messages) {
			if p.Pointer == "" || p.Message != "answers no tool call before it" && p.Message != "is missing" { // results of nothing
				t.Errorf("%v\n%s", p, doc)
			}
		}
		for _, to := range formats {
			written, err := llm.ToConversation(to, messages)
			if err != nil || !json.Valid(written) {
				t.Fatalf("%s: %v\n%s\n%s", to, err, written, doc)
			}
			if _, err := llm.FromConversation(to, written); err != nil {
				t.Errorf("%s: %v\n%s", to, err, written)
			}
		}
	})
}
