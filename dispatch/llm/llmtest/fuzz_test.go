package llmtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// FuzzRequest: whatever a client sends, the model answers once with JSON or events of JSON, and
// reports every request that it refuses.
func FuzzRequest(f *testing.F) {
	for _, wire := range wires {
		f.Add(wire.path, wire.whole, "text")
		f.Add(wire.streamPath, wire.stream, `{"a":1}`)
	}
	f.Add(chatPath, called("x", "1", "2"), "{")
	f.Add("/v1/responses", `{"model":"m","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"a","output":[{"text":"x"}]}]}`, "")
	f.Add("/v1/responses", `{"input":[{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call_output","call_id":"a","output":"x"}]}`, "\xff")
	f.Add(anthropicPath, `{"max_tokens":1,"system":[{"text":"s"}],"tools":[{"name":"f"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":1}]}]}`, "[]")
	f.Add("/models/m:generateContent", `{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]}],"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}]}`, `{"a":"\ud83d"}`)
	f.Add("/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"hi"}]}]}`, `{"a":1}`) // an array, not events
	f.Add("/model/converse", `{}`, "")
	f.Add("/x", `[{]`, `""`)
	f.Fuzz(func(t *testing.T, path, body, arguments string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		if _, err := http.NewRequest(http.MethodPost, "http://model.test"+path, nil); err != nil {
			return
		}
		m := llmtest.NewModel(llmtest.Turn(llmtest.Thinking(arguments), llmtest.Text(arguments), llmtest.Call("", arguments+"f", arguments)))
		status, header, answer, err := post(t, m, path, body)
		if err != nil {
			t.Fatal(err)
		}
		if refused := header.Get("X-Should-Retry") == "false"; refused != (status != 200) || refused != (m.Err() != nil) {
			t.Errorf("%d, %s, %v", status, answer, m.Err())
		}
		if strings.HasPrefix(header.Get("Content-Type"), "application/vnd.amazon.eventstream") {
			var lines strings.Builder
			for line := range strings.Lines(readable(t, answer)) {
				lines.WriteString("data: " + line[strings.IndexByte(line, '{'):])
			}
			answer = lines.String()
		} else if strings.HasPrefix(header.Get("Content-Type"), "application/x-ndjson") {
			answer = "data: " + strings.ReplaceAll(strings.TrimSpace(answer), "\n", "\ndata: ")
		} else if status != 405 && !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") && !json.Valid([]byte(answer)) {
			t.Errorf("not JSON: %s", answer)
		}
		for line := range strings.Lines(answer) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" && !json.Valid([]byte(data)) {
				t.Errorf("not JSON: %s", data)
			}
		}
		if strings.Contains(answer, secret) {
			t.Errorf("the response shows the key: %s", answer)
		}
	})
}
