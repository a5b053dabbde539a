package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/openai/openai-go/v3"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// chatAgent is an agent on Chat Completions.
func chatAgent(client openai.Client, model string) (dispatch.Agent, error) {
	params := openai.ChatCompletionNewParams{Model: model}
	tools, _, err := schema.Export(shop.Tools(), schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(tools, &params.Tools); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		params := params // of this run
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		conversation, err := llm.ToConversation(llm.OpenAIChat, history)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(conversation, &params.Messages); err != nil {
			return nil, err
		}
		params.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(shop.System)}, params.Messages...)

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
			results, err := proxy.Each(ctx, message.ToolCalls, func(ctx context.Context, call openai.ChatCompletionMessageToolCallUnion) (openai.ChatCompletionMessageParamUnion, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
				return openai.ToolMessage(result.Text, call.ID), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(append(params.Messages, message.ToParam()), results...)
		}
	}, nil
}
