package sdks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A whole run: an SDK with llm.Transport, a scripted model, and the platform in memory. The response
// has the model's ids, the calls of a turn together, the text, and the tokens, whatever the format.
func TestRunWithTransport(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		m := llmtest.New(t,
			llmtest.Turn(llmtest.Thinking("Two orders."), llmtest.Text("I look."),
				llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`), llmtest.Call("call_2", "no_such_tool", `{}`)).Usage(10, 8),
			llmtest.Text("It has shipped.").Usage(30, 5).Expect(llmtest.HasResult("call_1", "shipped"), llmtest.HasResult("call_2", "get_order")),
		)
		client := &http.Client{Transport: &llm.Transport{Base: m.Client().Transport}}
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			c := s.talk(t, m.URL, client, stream)
			c.user(run.Instruction)
			for {
				r, err := c.ask(ctx)
				if err != nil {
					return nil, err
				}
				if r.calls == nil {
					return &dispatch.Response{FinalResponse: r.text}, nil
				}
				results, err := proxy.Each(ctx, r.calls, func(ctx context.Context, call call) (string, error) {
					result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.id), call.name, call.arguments)
					return result.Text, err
				})
				if err != nil {
					return nil, err
				}
				for i, result := range results {
					c.result(r.calls[i], result)
				}
			}
		}
		target := dispatchtest.Target{Agent: agent, Options: &dispatch.Options{Proxy: &proxy.Options{Tools: []string{"get_order"}}}}
		platform := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
			&proxytest.Options{AllowUndeclared: true})
		got := dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Where is #4521?", Platform: platform})
		got.AssertFinalResponse(t, "It has shipped.")
		want := body
		if s.name == "genai" { // which sorts the members of a result
			want = strings.Replace(want, unknown, sorted, 1)
		}
		if shown := fmt.Sprintf("%s %+v", got, got); strings.Contains(shown, "123456789012") || strings.Contains(shown, key) {
			t.Errorf("an account or a key is shown: %s", shown)
		}
		if got.Dispatch.Body != want || len(got.Problems) > 0 {
			t.Errorf("%v, response\n%s\nwant\n%s", got.Problems, got.Dispatch.Body, want)
		}
	})
}

const (
	body = `{"final_response":"It has shipped.","messages":[` +
		`{"role":"system","content":"You refund orders."},` +
		`{"role":"user","content":"Where is #4521?"},` +
		`{"role":"assistant","content":"I look.","tool_calls":[` +
		`{"id":"call_1","name":"get_order","arguments":{"order_id":"4521"}},{"id":"call_2","name":"no_such_tool","arguments":{}}],` +
		`"thinking":[{"type":"text","text":"Two orders."}]},` +
		`{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_1"},` +
		`{"role":"tool","content":"` + unknown + `","tool_call_id":"call_2"},` +
		`{"role":"assistant","content":"It has shipped."}],` +
		`"metadata":{"model":"fake-1","total_input_tokens":40,"total_output_tokens":13}}`
	unknown = `{\"error\":\"unknown_tool\",` + detail + `,\"tools\":[\"get_order\"]}`
	sorted  = `{` + detail + `,\"error\":\"unknown_tool\",\"tools\":[\"get_order\"]}`
	detail  = `\"detail\":\"there is no tool \\\"no_such_tool\\\"; names are case-sensitive\"`
)
