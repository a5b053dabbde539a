package main

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// loopAgent is an agent whose loop is written by hand.
func loopAgent(client anthropic.Client, model string) (dispatch.Agent, error) {
	params := anthropic.MessageNewParams{Model: anthropic.Model(model), MaxTokens: 4096, System: []anthropic.TextBlockParam{{Text: shop.System}}}
	tools, _, err := schema.Export(shop.Tools(), schema.Anthropic)
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
		conversation, err := llm.ToConversation(llm.Anthropic, history)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(conversation, &params.Messages); err != nil {
			return nil, err
		}

		for {
			message, err := client.Messages.New(ctx, params)
			if err != nil {
				return nil, err
			}
			text, calls := "", []anthropic.ToolUseBlock(nil)
			for _, block := range message.Content {
				switch block := block.AsAny().(type) {
				case anthropic.TextBlock:
					text += block.Text
				case anthropic.ToolUseBlock:
					calls = append(calls, block)
				}
			}
			if calls == nil {
				text = llm.FinalResponse(cmp.Or(text, message.StopDetails.Explanation), string(message.StopReason))
				return &dispatch.Response{FinalResponse: text}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call anthropic.ToolUseBlock) (anthropic.ContentBlockParamUnion, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Input)
				return anthropic.NewToolResultBlock(call.ID, result.Text, result.Failed), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
		}
	}, nil
}
