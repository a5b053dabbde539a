package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const (
	model       = "claude-sonnet-4-5"
	maxRequests = 50 // to the model, in one run
	system      = "You are the support agent of a shop. Look an order up before you refund it. " +
		"Refund only orders that have shipped."
)

type (
	toolCall = anthropic.ToolUseBlock
	block    = anthropic.ContentBlockParamUnion
)

// newAgent returns the agent. The SDK reads ANTHROPIC_API_KEY, and ANTHROPIC_BASE_URL if it is set.
func newAgent() (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{}} // gives each run its transcript and tokens
	client := anthropic.NewClient(option.WithHTTPClient(watched))
	base := anthropic.MessageNewParams{Model: model, MaxTokens: 4096, System: []anthropic.TextBlockParam{{Text: system}}}
	list, _, err := schema.Export(tools, schema.Anthropic)
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
		params.Messages = history
		for range maxRequests {
			reply, err := client.Messages.New(ctx, params)
			if err != nil {
				return nil, err
			}
			text, calls := "", []toolCall(nil)
			for _, part := range reply.Content {
				switch part := part.AsAny().(type) {
				case anthropic.TextBlock:
					text += part.Text
				case anthropic.ToolUseBlock:
					calls = append(calls, part)
				}
			}
			if calls == nil {
				text = llm.FinalResponse(cmp.Or(text, reply.StopDetails.Explanation), string(reply.StopReason))
				return &dispatch.Response{FinalResponse: text}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call toolCall) (block, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Input)
				return anthropic.NewToolResultBlock(call.ID, result.Text, result.Failed), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(params.Messages, reply.ToParam(), anthropic.NewUserMessage(results...))
		}
		return nil, fmt.Errorf("the model still calls tools in its response number %d", maxRequests)
	}, nil
}

// conversation returns the turns of the session before this one, and the prompt of this one.
func conversation(run *dispatch.Run) (messages []anthropic.MessageParam, err error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	list, err := llm.ToConversation(llm.Anthropic, history)
	if err != nil {
		return nil, err
	}
	return messages, json.Unmarshal(list, &messages)
}
