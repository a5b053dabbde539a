package webhook_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/manifest/webhook"
)

// FuzzBody checks that the response to any body is JSON with a documented status, and that a tool
// receives a JSON object without reasoning.
func FuzzBody(f *testing.F) {
	for _, body := range []string{goodBody, `{}`, `[]`, `{"arguments":null}`, `{"args":"{\"a\":1}"}`,
		`{"tool_call":{"function":{"name":"echo","arguments":{}}}}`,
		`{"tool":{"function":{"function":{"name":1}}},"input":{"\u0072easoning":1}}`,
		`{"name":"echo","params":{"reasoning":null,"a":1e5}}`} {
		f.Add([]byte(body))
	}
	tool := webhook.Tool{Name: "echo", Func: func(_ context.Context, args json.RawMessage) (any, error) {
		return args, nil
	}}
	f.Fuzz(func(t *testing.T, body []byte) {
		h := newHandler(t, nil, tool)
		answer := func(doc []byte) { serve(h, request(string(doc))) }
		cost.Linear(t, "a request", body, cost.List(`{"tool":"echo","arguments":{"a":[`, body, `]}}`), answer)
		cost.Linear(t, "a request", body, cost.Members(`{"tool":"echo","arguments":`, body, `}`), answer)
		status, text, _ := serve(h, request(string(body)))
		if !json.Valid([]byte(text)) {
			t.Fatalf("%d %s", status, text)
		}
		if status == 200 {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
				t.Fatalf("the tool got %s", text)
			}
			if _, ok := object["reasoning"]; ok {
				t.Fatalf("the tool got the reasoning: %s", text)
			}
		} else if status != 400 && status != 404 {
			t.Fatalf("%d %s", status, text)
		}
	})
}
