package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
)

var formats = []llm.Format{llm.OpenAIChat, llm.OpenAIResponses, llm.Anthropic, llm.Gemini, llm.Converse, llm.Ollama}

// request writes messages as a request to a model.
func request(t *testing.T, f llm.Format, stream bool, messages []dispatch.Message) (path, body string) {
	t.Helper()
	list, err := llm.ToConversation(f, messages)
	if err != nil {
		t.Error(err)
	}
	switch f {
	case llm.OpenAIChat:
		return "/v1/chat/completions", fmt.Sprintf(`{"model":"m","stream":%t,"stream_options":{"include_usage":true},"messages":%s}`, stream, list)
	case llm.OpenAIResponses:
		return "/v1/responses", fmt.Sprintf(`{"model":"m","stream":%t,"input":%s}`, stream, list)
	case llm.Anthropic:
		return "/v1/messages", fmt.Sprintf(`{"model":"m","max_tokens":99,"system":"Be brief.","stream":%t,"messages":%s}`, stream, list)
	case llm.Converse:
		path = "/model/m/converse"
		if stream {
			path += "-stream"
		}
		return path, fmt.Sprintf(`{"system":[{"text":"Be brief."}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":%s}`, list)
	case llm.Ollama:
		return "/api/chat", fmt.Sprintf(`{"model":"m","stream":%t,"messages":%s}`, stream, list)
	}
	path = "/v1beta/models/m:generateContent"
	if stream {
		path = "/v1beta/models/m:streamGenerateContent?alt=sse"
	}
	return path, fmt.Sprintf(`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":%s}`, list)
}

// An agent that knows of its model only what the transport has put into the transcript, with a
// model that is overloaded at first, and then breaks off.
func TestScriptedModel(t *testing.T) {
	for _, f := range formats {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", f, stream), func(t *testing.T) {
				model := llmtest.New(t,
					llmtest.Error(503),
					llmtest.Text("I look at them very carefully.").Reset(),
					llmtest.Turn(llmtest.Thinking("Two calls."), llmtest.Text("I look."),
						llmtest.Call("toolu_1", "get_order", `{"order_id":"1"}`), llmtest.Call("toolu_2", "get_order", `{"order_id":"2"}`)).Usage(1000, 200),
					llmtest.Text("Order 1 is shipped.").Usage(3000, 400).Expect(
						llmtest.HasSystem("Be brief."), llmtest.HasResult("toolu_1", "shipped"), llmtest.HasResult("toolu_2", "shipped")),
				)
				transport := &llm.Transport{Base: model.Client().Transport}
				result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
					conversation := []dispatch.Message{
						{Role: "system", Content: dispatch.Text("Be brief.")}, {Role: "user", Content: dispatch.Text(instruction)},
					}
					path, body := request(t, f, stream, conversation)
					for range 3 {
						_, _ = send(ctx, transport, path, body) // the first fails, and the second breaks off
					}
					for _, m := range run.Transcript().Messages() {
						for _, call := range m.ToolCalls {
							if _, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Arguments); err != nil {
								return err
							}
						}
					}
					path, body = request(t, f, stream, run.Transcript().Messages())
					_, err := send(ctx, transport, path, body)
					return err
				})
				want := `{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_1","name":"get_order","arguments":{"order_id":"1"}},{"id":"toolu_2","name":"get_order","arguments":{"order_id":"2"}}],"thinking":[{"type":"text","text":"Two calls."}]}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"toolu_1"}
{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"toolu_2"}
{"role":"assistant","content":"Order 1 is shipped."}
`
				if got := rows(t, result.Messages); got != want || len(result.Problems) > 0 {
					t.Errorf("%v, got\n%swant\n%s", result.Problems, got, want)
				}
				// The stream that breaks off may have said something of tokens.
				if m := metadata(t, result); m.Input < 4000 || m.Input > 4200 || m.Output < 600 || m.Output > 640 || m.Model != "m" {
					t.Errorf("metadata %+v", m)
				}
			})
		}
	}
}

// The APIs accept what ToConversation writes, also of a history with calls without results, results
// apart from their calls, and results without calls.
func TestConversationIsAccepted(t *testing.T) {
	for _, f := range formats {
		model := llmtest.New(t, llmtest.Text("yes"))
		path, body := request(t, f, false, history())
		if got, err := send(t.Context(), model.Client().Transport, path, body); err != nil || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
}
