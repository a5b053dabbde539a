package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
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

// An id that only a replayed result has, or only a replayed call, is not given to another call.
func TestReplayedIDsAreNotMadeAgain(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", nil)
		return run.Transcript().Response("done"), err
	}, tools)
	body := `{"input":{"user_instruction":"x","messages":[{"role":"tool","content":"","tool_call_id":"call_1"},
		{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{}}]}]}}`
	if answer := post(h, body, nil).Body.String(); !strings.Contains(answer, `"id":"call_3"`) {
		t.Error(answer)
	}
}

// A run keeps nothing of replayed ids that no transcript has made.
func TestManyReplayedIDs(t *testing.T) {
	var ids []string
	for i := range 100_000 {
		ids = append(ids, fmt.Sprintf(`{"role":"tool","content":"","tool_call_id":"toolu_%d"}`, i))
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		before := heap()
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
		if more := heap() - before; more > 1<<20 {
			t.Errorf("the first call keeps %d KiB", more>>10)
		}
		return &dispatch.Response{FinalResponse: "done"}, run.Err()
	}, tools)
	body := `{"input":{"user_instruction":"x","messages":[` + strings.Join(ids, ",") + `]}}`
	if answer := post(h, body, nil).Body.String(); !strings.Contains(answer, "done") {
		t.Errorf("%.200s", answer)
	}
}
