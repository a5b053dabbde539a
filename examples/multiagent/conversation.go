package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/openai/openai-go/v3"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
)

// converse asks the model until it answers without a tool call, and returns that answer. do makes a
// tool call. Its error ends the conversation, and the other calls that run at that time.
func converse(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, do func(ctx context.Context, tool, arguments string) (result string, err error)) (string, error) {
	for {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil || len(completion.Choices) == 0 {
			return "", cmp.Or(err, errors.New("the model returned no choices"))
		}
		choice := completion.Choices[0]
		message := choice.Message
		if len(message.ToolCalls) == 0 {
			return llm.FinalResponse(message.Content+message.Refusal, choice.FinishReason), nil
		}
		results, err := proxy.Each(ctx, message.ToolCalls, func(ctx context.Context, call openai.ChatCompletionMessageToolCallUnion) (openai.ChatCompletionMessageParamUnion, error) {
			result, err := do(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
			return openai.ToolMessage(result, call.ID), err
		})
		if err != nil {
			return "", err
		}
		params.Messages = append(append(params.Messages, message.ToParam()), results...)
	}
}
