package guide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// The loop that docs/llm-agents.md begins with: it has nothing of the library.

const system = "You are the support agent of a shop. Look an order up before you refund it."

func answer(ctx context.Context, client openai.Client, question string) (string, error) {
	params := openai.ChatCompletionNewParams{
		Model: "gpt-5.2",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage(system),
			openai.UserMessage(question),
		},
		Tools: []openai.ChatCompletionToolUnionParam{
			openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
				Name:        "get_order",
				Description: openai.String("Look up an order."),
				Parameters: shared.FunctionParameters{
					"type":       "object",
					"properties": map[string]any{"order_id": map[string]any{"type": "string"}},
					"required":   []string{"order_id"},
				},
			}),
		},
	}
	for {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil || len(completion.Choices) == 0 {
			return "", cmp.Or(err, errors.New("the model returned no choices"))
		}
		message := completion.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, nil
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			result := callTool(ctx, call.Function.Name, call.Function.Arguments)
			params.Messages = append(params.Messages, openai.ToolMessage(result, call.ID))
		}
	}
}

// callTool stands for the tools of the program.
func callTool(_ context.Context, name, arguments string) string {
	var args struct {
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil || name != "get_order" {
		return `{"error":"bad call"}`
	}
	return fmt.Sprintf(`{"order_id":%q,"status":"shipped"}`, args.OrderID)
}

func TestBefore(t *testing.T) {
	model := llmtest.New(t,
		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`).Expect(llmtest.HasSystem(system), llmtest.HasTools("get_order")),
		llmtest.Text("It has shipped.").Expect(llmtest.HasResult("call_1", `"shipped"`)),
	)
	client := openai.NewClient(option.WithBaseURL(model.URL), option.WithHTTPClient(model.Client()), option.WithAPIKey("none"))
	if got, err := answer(t.Context(), client, "Where is order #4521?"); got != "It has shipped." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
