package main

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// responsesAgent is an agent on Responses. It sends the whole conversation each time, and OpenAI
// stores nothing.
func responsesAgent(client openai.Client, model string) (dispatch.Agent, error) {
	params := responses.ResponseNewParams{
		Model: model, Instructions: openai.String(shop.System), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	tools, _, err := schema.Export(shop.Tools(), schema.OpenAIResponses)
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
		conversation, err := llm.ToConversation(llm.OpenAIResponses, history)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(conversation, &params.Input.OfInputItemList); err != nil {
			return nil, err
		}

		for {
			response, err := client.Responses.New(ctx, params)
			if err != nil {
				return nil, err
			}
			text, calls := "", []responses.ResponseFunctionToolCall(nil)
			for _, item := range response.Output {
				switch item.Type {
				case "message":
					for _, content := range item.Content {
						text += content.Text + content.Refusal
					}
				case "function_call":
					calls = append(calls, item.AsFunctionCall())
				}
				again := param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON()))
				params.Input.OfInputItemList = append(params.Input.OfInputItemList, again)
			}
			if calls == nil {
				text = llm.FinalResponse(text, string(response.IncompleteDetails.Reason))
				return &dispatch.Response{FinalResponse: text}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call responses.ResponseFunctionToolCall) (responses.ResponseInputItemUnionParam, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.CallID), call.Name, call.Arguments)
				return output(call.CallID, result.Text), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Input.OfInputItemList = append(params.Input.OfInputItemList, results...)
		}
	}, nil
}

// output is the result of a tool call. The constructor of the SDK sets no call id.
func output(callID, result string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
		CallID: openai.String(callID),
		Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(result)},
	}}
}
