package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/proxy"
)

// FuzzMessages: whatever an agent answers, the platform drops nothing of what is sent.
func FuzzMessages(f *testing.F) {
	f.Add("assistant", "c", "hi", `{"text":"hm"}`, "c", "get_order", `{"order_id":`, "c")
	f.Add("tool", "", `"hi"`, "hm", "", "", "null", "x")
	f.Add("assistant", "call_1", "[{}]", "", "", "f", "", "")
	f.Add("user", "\xff", "\"\xff\"", "\"\xff\"", "\xff", "\xff", "\"\xff\"", "\xff")
	f.Add("assistant", "c", "["+string(deep(900))+"]", string(deep(900)), "c", "f", string(deep(900)), "c")
	f.Add("assistant", "c", `[{"a":1,"a":2}]`, `"\ud83d"`, "c", "f", `{"a":"\ud83d","a":2}`, "c")
	f.Fuzz(func(t *testing.T, role, answers, content, thinking, id, name, arguments, second string) {
		m := dispatch.Message{
			Role: dispatch.Role(role), ToolCallID: answers, Content: dispatch.Content(content),
			ToolCalls: []dispatch.ToolCall{call(id, name, arguments), call(second, "g", "{}")}, Thinking: []json.RawMessage{[]byte(thinking)},
		}
		h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{m, calling(m.ToolCalls...), result(answers, content), result("", ""), m}}, nil
		})
		piece := []byte(role + answers + content + thinking + id + name + arguments + second)
		count := func(n int) []byte { return make([]byte, n) }
		cost.Linear(t, "repairs", piece, count, func(n []byte) { // each byte stands for a message
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				var messages []dispatch.Message
				for range n {
					messages = append(messages, m, result(answers, content))
				}
				return &dispatch.Response{FinalResponse: "x", Messages: messages}, nil
			})
			dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes())
		})
		body := post(h, seedBody, nil).Body.Bytes()
		if verdict := dispatch.CheckResponse(body); len(verdict.Problems) > 0 {
			t.Fatalf("%s\n%v", body, verdict.Problems)
		}
	})
}

// FuzzTranscript: whatever an agent adds while it calls tools, the platform drops nothing, and the
// calls that were made or added are all sent: once each where the one replaces the other.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5})
	f.Add([]byte{2, 1, 3, 2, 1, 3})
	f.Add([]byte{1, 1, 2, 2, 3, 3, 0, 6, 7, 8})
	f.Add([]byte{12, 11, 13, 10, 22, 21, 23})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 60 {
			return
		}
		made, added := 0, 0
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for _, op := range ops {
				id := fmt.Sprint("id_", op/10%3)
				if op >= 100 {
					id = fmt.Sprint("call_", op/10%5)
				}
				arguments := json.RawMessage(fmt.Sprintf(`{"n":%d}`, op/10%3))
				switch op % 10 {
				case 0, 6:
					made++
					_, _ = run.Proxy.Do(ctx, "get_order", arguments)
				case 1, 7:
					made++
					_, _ = run.Proxy.As("sub").Do(proxy.WithCallID(ctx, id), "get_order", arguments)
				case 2, 8:
					added++
					run.Transcript().Add(calling(call(id, "get_order", string(arguments))))
				case 3:
					run.Transcript().Add(result(id, `"x"`))
				case 4:
					run.Transcript().Add(says("assistant", "a"))
				default:
					run.Transcript().Add(calling(call(id, "local", "{}")))
				}
			}
			return run.Transcript().Response("Done."), nil
		}, tools)
		body := post(h, seedBody, nil).Body.Bytes()
		verdict := dispatch.CheckResponse(body)
		if len(verdict.Problems) > 0 {
			t.Fatalf("%s\n%v", body, verdict.Problems)
		}
		sent := 0
		for _, m := range verdict.Messages {
			for _, c := range m.ToolCalls {
				if c.Name == "get_order" {
					sent++
				}
			}
		}
		if sent < max(made, added) || sent > made+added {
			t.Fatalf("%d calls were made, %d added, %d sent: %s", made, added, sent, body)
		}
	})
}

// FuzzCheckResponse: whatever a port answers, it is judged in linear time, with at most 101 problems of messages.
func FuzzCheckResponse(f *testing.F) {
	f.Add([]byte(`{"final_response":"x","messages":[{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":"{}"}]},{"role":"tool","tool_call_id":"c"}],"metadata":{"model":1}}`))
	f.Add([]byte(`{"final_response":1,"messages":[1,{},null,[]],"metadata":{"model":1,"model":"a"}}`))
	f.Add([]byte(`{"messages":{},"final_response":"` + "\xff" + `"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		check := dispatch.CheckResponse(body)
		if len(check.Problems) > 210 || check.Messages != nil && len(dispatch.CheckMessages(check.Messages)) > 0 {
			t.Errorf("%q: %v", body, check.Problems)
		}
		cost.Linear(t, "an answer", body, cost.List(`{"final_response":"x","messages":[`, body, "]}"), func(doc []byte) { dispatch.CheckResponse(doc) })
	})
}
