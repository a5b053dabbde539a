package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const (
	region      = "us-east-1" // unless AWS_REGION or a profile names another
	model       = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	maxRequests = 50 // to the model, in one run
	system      = "You are the support agent of a shop. Look an order up before you refund it. " +
		"Refund only orders that have shipped."
)

type (
	message  = types.Message
	toolCall = types.ToolUseBlock
)

// newAgent returns the agent. The SDK finds region, endpoint and credentials as all programs for AWS do.
func newAgent() (dispatch.Agent, error) {
	settings, err := config.LoadDefaultConfig(context.Background(), config.WithDefaultRegion(region))
	if err != nil {
		return nil, err
	}
	watched := &http.Client{Transport: &llm.Transport{}} // gives each run its transcript and tokens
	client := bedrockruntime.NewFromConfig(settings, func(o *bedrockruntime.Options) { o.HTTPClient = watched })
	base := bedrockruntime.ConverseInput{
		ModelId: aws.String(model),
		System:  []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: system}},
	}
	if base.ToolConfig, err = toolConfig(); err != nil {
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
			reply, err := client.Converse(ctx, &params)
			if err != nil {
				return nil, err
			}
			output, ok := reply.Output.(*types.ConverseOutputMemberMessage)
			if !ok {
				return nil, fmt.Errorf("the model's response is no message but %T", reply.Output)
			}
			text, calls := "", []toolCall(nil)
			for _, part := range output.Value.Content {
				switch part := part.(type) {
				case *types.ContentBlockMemberText:
					text += part.Value
				case *types.ContentBlockMemberToolUse:
					calls = append(calls, part.Value)
				}
			}
			if calls == nil {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(text, string(reply.StopReason))}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call toolCall) (types.ContentBlock, error) {
				input, err := call.Input.MarshalSmithyDocument()
				if err != nil {
					return nil, err
				}
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, *call.ToolUseId), *call.Name, input)
				return answerTo(*call.ToolUseId, result.Text, result.Failed), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			answer := message{Role: types.ConversationRoleUser, Content: results}
			params.Messages = append(params.Messages, output.Value, answer)
		}
		return nil, fmt.Errorf("the model still calls tools in its response number %d", maxRequests)
	}, nil
}

// toolConfig returns the tools. The SDK sorts the properties of their schemas.
func toolConfig() (*types.ToolConfiguration, error) {
	list, _, err := schema.Export(tools, schema.Strands) // whose entries Converse has in toolSpec
	if err != nil {
		return nil, err
	}
	var specs []struct {
		Name, Description string
		InputSchema       struct{ JSON map[string]any }
	}
	if err := json.Unmarshal(list, &specs); err != nil {
		return nil, err
	}
	all := &types.ToolConfiguration{}
	for _, s := range specs {
		input := &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(s.InputSchema.JSON)}
		spec := types.ToolSpecification{Name: &s.Name, Description: &s.Description, InputSchema: input}
		all.Tools = append(all.Tools, &types.ToolMemberToolSpec{Value: spec})
	}
	return all, nil
}

func answerTo(id, text string, failed bool) types.ContentBlock {
	content := []types.ToolResultContentBlock{}
	if text != "" { // the API rejects an empty text
		content = append(content, &types.ToolResultContentBlockMemberText{Value: text})
	}
	block := types.ToolResultBlock{ToolUseId: &id, Status: types.ToolResultStatusSuccess, Content: content}
	if failed {
		block.Status = types.ToolResultStatusError
	}
	return &types.ContentBlockMemberToolResult{Value: block}
}

// conversation returns the texts of the session before this turn, and the prompt of this one. The SDK's types
// cannot be decoded from JSON, so the tools that earlier turns have called are left out.
func conversation(run *dispatch.Run) (messages []message, err error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	for _, m := range history {
		role, text := types.ConversationRole(m.Role), m.Content.String()
		if text == "" || m.Role != dispatch.RoleUser && m.Role != dispatch.RoleAssistant {
			continue
		}
		block := &types.ContentBlockMemberText{Value: text}
		if n := len(messages); n > 0 && messages[n-1].Role == role { // roles alternate
			messages[n-1].Content = append(messages[n-1].Content, block)
			continue
		}
		messages = append(messages, message{Role: role, Content: []types.ContentBlock{block}})
	}
	return messages, nil
}
