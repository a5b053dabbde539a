package dispatch_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// What a run keeps for its transcript is bounded, whatever part of the messages is large.
func TestEveryPartOfAMessageCounts(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for name, message := range map[string]dispatch.Message{
		"content":   says("user", large),
		"thinking":  thinks(large),
		"id":        calling(call(large, "get_order", "{}")),
		"name":      calling(call("a", large, "{}")),
		"arguments": calling(call("a", "get_order", `{"x":"`+large+`"}`)),
		"result of": result(large, `"x"`),
		"calls":     calling(slices.Repeat([]dispatch.ToolCall{call("a", "f", "{}")}, 4500)...),
		"several":   {Role: "assistant", Content: dispatch.Text(large[:1<<19]), Thinking: []json.RawMessage{json.RawMessage(`"` + large[:1<<19] + `"`)}},
	} {
		h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for range 5 {
				run.Transcript().Add(message)
			}
			run.Transcript().Add(says("user", "the last"))
			for _, m := range run.Transcript().Messages() {
				if m.Content.String() == "the last" {
					t.Errorf("%s: five messages of 1 MiB leave room", name)
				}
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, tools)
		if body := post(h, `{"input":{"user_instruction":"x"}}`, nil).Body.String(); !strings.Contains(body, "done") {
			t.Errorf("%s: %.200s", name, body)
		}
	}
}
