package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const (
	model       = "gpt-5.2"
	maxRequests = 50 // to the model, in one run
	system      = "You are the support agent of a shop. Look an order up before you refund it. " +
		"Refund only orders that have shipped."
)

type (
	message  = openai.ChatCompletionMessageParamUnion
	toolCall = openai.ChatCompletionMessageToolCallUnion
)

// newAgent returns the agent. The SDK reads OPENAI_API_KEY, and OPENAI_BASE_URL if it is set.
func newAgent() (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{}} // gives each run its transcript and tokens
	client := openai.NewClient(option.WithHTTPClient(watched))
	base := openai.ChatCompletionNewParams{Model: model}
	list, _, err := schema.Export(tools, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(list, &base.Tools); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		params := base // of this run
		history, err := conversation(run)
		if err != nil {
			return nil, err
		}
		params.Messages = append([]message{openai.SystemMessage(system)}, history...)
		for range maxRequests {
			completion, err := client.Chat.Completions.New(ctx, params)
			if err != nil || len(completion.Choices) == 0 {
				return nil, cmp.Or(err, errors.New("the model returned no choices"))
			}
			choice := completion.Choices[0]
			reply := choice.Message
			if len(reply.ToolCalls) == 0 {
				text := llm.FinalResponse(reply.Content+reply.Refusal, choice.FinishReason)
				return &dispatch.Response{FinalResponse: text}, nil
			}
			results, err := proxy.Each(ctx, reply.ToolCalls, func(ctx context.Context, call toolCall) (message, error) {
				ctx = proxy.WithCallID(ctx, call.ID)
				result, err := run.Proxy.CallForModel(ctx, call.Function.Name, call.Function.Arguments)
				return openai.ToolMessage(result.Text, call.ID), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(append(params.Messages, reply.ToParam()), results...)
		}
		return nil, fmt.Errorf("the model still calls tools in its response number %d", maxRequests)
	}, nil
}

// conversation returns the turns of the session before this one, and the prompt of this one.
func conversation(run *dispatch.Run) (messages []message, err error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	list, err := llm.ToConversation(llm.OpenAIChat, history)
	if err != nil {
		return nil, err
	}
	return messages, json.Unmarshal(list, &messages)
}
