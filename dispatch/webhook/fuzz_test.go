package webhook_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/dispatch/webhook"
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
		status, answer, _ := serve(h, request(string(body)))
		if !json.Valid([]byte(answer)) {
			t.Fatalf("%d %s", status, answer)
		}
		if status == 200 {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(answer), &object); err != nil || object == nil {
				t.Fatalf("the tool got %s", answer)
			}
			if _, ok := object["reasoning"]; ok {
				t.Fatalf("the tool got the reasoning: %s", answer)
			}
		} else if status != 400 && status != 404 {
			t.Fatalf("%d %s", status, answer)
		}
	})
}
