package sdks

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The code of docs/testing.md that needs an SDK. Package internal/workshop checks that it is the same.

type (
	toolCall    = openai.ChatCompletionMessageToolCallUnion
	toolMessage = openai.ChatCompletionMessageParamUnion
)

func modelAgent(client openai.Client) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		params := openai.ChatCompletionNewParams{
			Model:    "gpt-5.2",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(run.Instruction)},
			Tools:    []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "get_order"})},
		}
		for {
			completion, err := client.Chat.Completions.New(ctx, params)
			if err != nil || len(completion.Choices) == 0 {
				return nil, cmp.Or(err, errors.New("the model returned no choices"))
			}
			choice := completion.Choices[0]
			message := choice.Message
			if len(message.ToolCalls) == 0 {
				text := llm.FinalResponse(message.Content+message.Refusal, choice.FinishReason)
				return &dispatch.Response{FinalResponse: text}, nil
			}
			params.Messages = append(params.Messages, message.ToParam())
			results, err := proxy.Each(ctx, message.ToolCalls, func(ctx context.Context, call toolCall) (toolMessage, error) {
				ctx = proxy.WithCallID(ctx, call.ID)
				result, err := run.Proxy.CallForModel(ctx, call.Function.Name, call.Function.Arguments)
				return openai.ToolMessage(result.Text, call.ID), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(params.Messages, results...)
		}
	}
}

func TestModelAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(t,
			llmtest.Error(529).RetryAfter(20*time.Second), // the SDK waits and asks again
			llmtest.Turn(
				llmtest.Text("I look at both."),
				llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
				llmtest.Call("call_2", "get_order", `{"order_id":`), // models write such things
			).Expect(llmtest.HasTools("get_order")),
			llmtest.Text("Order #4521 has shipped.").Expect(
				llmtest.HasResult("call_1", "shipped"),
				llmtest.HasResult("call_2", "invalid_arguments"),
			),
		)
		client := openai.NewClient(option.WithBaseURL(model.URL), option.WithHTTPClient(model.Client()), option.WithAPIKey("none"))
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: modelAgent(client)}, dispatchtest.Task{
			Instruction: "Where are my orders?",
			World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
				"get_order": proxytest.Canned(`{"status":"shipped"}`),
			}},
		})
		got.AssertOK(t)
		got.AssertFinalResponse(t, "has shipped")
		got.AssertCalled(t, "get_order", `{"order_id":"4521"}`)
	})
}
