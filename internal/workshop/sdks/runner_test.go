package sdks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// lookup is a tool for the tool runner of Anthropic's SDK.
type lookup struct {
	mu   sync.Mutex
	seen []string
}

func (*lookup) Name() string        { return "get_order" }
func (*lookup) Description() string { return "Look up an order." }
func (*lookup) InputSchema() anthropic.BetaToolInputSchemaParam {
	return anthropic.BetaToolInputSchemaParam{}
}

func (l *lookup) Execute(_ context.Context, arguments json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, string(arguments))
	if strings.Contains(string(arguments), "77") {
		return nil, errors.New("order 77 not found")
	}
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: `{"status":"shipped"}`}}}, nil
}

// The SDK's tool runner makes its requests with ?beta=true, runs parallel calls, answers invented
// tools by itself, and sends thinking back with its signature.
func TestToolRunner(t *testing.T) {
	failed := func(id string) func(*llmtest.Request) error {
		return func(r *llmtest.Request) error {
			if !slices.ContainsFunc(r.Results, func(r llmtest.Result) bool { return r.CallID == id && r.IsError }) {
				return errors.New("the result of " + id + " is not an error")
			}
			return nil
		}
	}
	signed := func(r *llmtest.Request) error {
		if !strings.Contains(string(r.Body), `"signature":"sig_`) {
			return errors.New("the thinking has no signature")
		}
		return nil
	}
	for _, stream := range []bool{false, true} {
		m := llmtest.New(t,
			llmtest.Turn(llmtest.Thinking("Two orders."), llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`), llmtest.Call("call_2", "get_order", `{"order_id":"77"}`)).
				Expect(llmtest.HasTools("get_order"), llmtest.HasSystem(system)),
			llmtest.Call("call_3", "no_such_tool", `{}`).
				Expect(llmtest.HasResult("call_1", "shipped"), llmtest.HasResult("call_2", "not found"), failed("call_2"), signed),
			llmtest.Text("done").Expect(llmtest.HasResult("call_3", "not found"), failed("call_3")),
		)
		client := anthropic.NewClient(option.WithBaseURL(m.URL), option.WithHTTPClient(m.Client()), option.WithAPIKey(key))
		tool := &lookup{}
		params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "fake-1", MaxTokens: 1000, System: []anthropic.BetaTextBlockParam{{Text: system}},
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Refund #4521 and #77."))},
		}}
		final := ""
		if stream {
			runner := client.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{tool}, params)
			for events, err := range runner.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for event, err := range events {
					if err != nil {
						t.Fatal(err)
					}
					final += event.Delta.Text
				}
			}
		} else {
			message, err := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{tool}, params).RunToCompletion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			final = message.Content[0].Text
		}
		slices.Sort(tool.seen)
		if final != "done" || !slices.Equal(tool.seen, []string{`{"order_id":"4521"}`, `{"order_id":"77"}`}) {
			t.Errorf("%q, calls %q", final, tool.seen)
		}
	}
}
