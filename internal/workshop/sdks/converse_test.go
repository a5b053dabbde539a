package sdks

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// The account of this ARN is in nothing that a run shows.
const profile = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/fake-1"

var converseSDK = sdk{
	name:     "converse",
	talk:     newConverse,
	finish:   map[string]string{"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "guardrail_intervened"},
	thinks:   true,
	attempts: 3,
	once:     529,
	deaf:     true,
	blind:    true,
}

// signed are the credentials of a request to Amazon.
var signed = credentials.NewStaticCredentialsProvider("AKIDMADEUP", key, "token-"+key)

type converseTalk struct {
	client   *bedrockruntime.Client
	messages []types.Message
	tools    *types.ToolConfiguration
	stream   bool
}

func newConverse(_ *testing.T, url string, client *http.Client, stream bool) talk {
	c := &converseTalk{stream: stream, tools: &types.ToolConfiguration{}}
	c.client = bedrockruntime.New(bedrockruntime.Options{Region: "eu-west-1", BaseEndpoint: aws.String(url), Credentials: signed, HTTPClient: client})
	for _, name := range []string{"get_order", "refund_order"} {
		c.tools.Tools = append(c.tools.Tools, &types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String(name), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
		}})
	}
	return c
}

func (c *converseTalk) say(role types.ConversationRole, block types.ContentBlock) {
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, block)
		return
	}
	c.messages = append(c.messages, types.Message{Role: role, Content: []types.ContentBlock{block}})
}

func (c *converseTalk) user(text string) {
	c.say(types.ConversationRoleUser, &types.ContentBlockMemberText{Value: text})
}

func (c *converseTalk) result(call call, text string) {
	c.say(types.ConversationRoleUser, &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{
		ToolUseId: aws.String(call.id), Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: text}},
	}})
}

func (c *converseTalk) ask(ctx context.Context) (r reply, err error) {
	blocks, stop, usage, err := c.answer(ctx)
	if usage != nil {
		r.input, r.output = int64(*usage.InputTokens), int64(*usage.OutputTokens)
	}
	r.finish, r.model = string(stop), "fake-1" // which the API does not say
	for _, block := range blocks {
		switch block := block.(type) {
		case *types.ContentBlockMemberText:
			r.text += block.Value
			if block.Value == "" {
				continue // the API rejects it
			}
		case *types.ContentBlockMemberReasoningContent:
			if text, ok := block.Value.(*types.ReasoningContentBlockMemberReasoningText); ok {
				r.thinking += aws.ToString(text.Value.Text)
				if aws.ToString(text.Value.Signature) == "" {
					r.thinking += " without a signature"
				}
			}
		case *types.ContentBlockMemberToolUse:
			input, err := block.Value.Input.MarshalSmithyDocument()
			if err != nil {
				return r, err
			}
			r.calls = append(r.calls, call{*block.Value.ToolUseId, *block.Value.Name, string(input)})
		}
		c.say(types.ConversationRoleAssistant, block)
	}
	if r.text == "" && r.calls == nil && err == nil {
		c.say(types.ConversationRoleAssistant, &types.ContentBlockMemberText{Value: "(nothing)"})
	}
	if stop == types.StopReasonGuardrailIntervened {
		r.text, r.refusal = "", r.text
	}
	return r, err
}

// answer sends the conversation and returns what the model says.
func (c *converseTalk) answer(ctx context.Context) (blocks []types.ContentBlock, stop types.StopReason, usage *types.TokenUsage, err error) {
	prompt := []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: system}}
	if !c.stream {
		got, err := c.client.Converse(ctx, &bedrockruntime.ConverseInput{ModelId: aws.String(profile), Messages: c.messages, System: prompt, ToolConfig: c.tools})
		if err != nil {
			return nil, "", nil, err
		}
		return got.Output.(*types.ConverseOutputMemberMessage).Value.Content, got.StopReason, got.Usage, nil
	}
	got, err := c.client.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: aws.String(profile), Messages: c.messages, System: prompt, ToolConfig: c.tools})
	if err != nil {
		return nil, "", nil, err
	}
	stream := got.GetStream()
	defer func() { _ = stream.Close() }()
	text, input, open := "", "", types.ToolUseBlock{}
	reasoning := types.ReasoningTextBlock{}
	for event := range stream.Events() {
		switch event := event.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if use, ok := event.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				open = types.ToolUseBlock{ToolUseId: use.Value.ToolUseId, Name: use.Value.Name, Type: use.Value.Type}
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch delta := event.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += delta.Value
			case *types.ContentBlockDeltaMemberToolUse:
				input += *delta.Value.Input
			case *types.ContentBlockDeltaMemberReasoningContent:
				switch part := delta.Value.(type) {
				case *types.ReasoningContentBlockDeltaMemberText:
					reasoning.Text = aws.String(aws.ToString(reasoning.Text) + part.Value)
				case *types.ReasoningContentBlockDeltaMemberSignature:
					reasoning.Signature = aws.String(part.Value)
				}
			}
		case *types.ConverseStreamOutputMemberContentBlockStop:
			switch {
			case open.ToolUseId != nil:
				arguments := map[string]any{}
				if json.Unmarshal([]byte(input), &arguments) != nil {
					arguments = map[string]any{}
				}
				open.Input = document.NewLazyDocument(arguments)
				blocks = append(blocks, &types.ContentBlockMemberToolUse{Value: open})
			case reasoning.Text != nil:
				blocks = append(blocks, &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: reasoning}})
			default:
				blocks = append(blocks, &types.ContentBlockMemberText{Value: text})
			}
			text, input, open, reasoning = "", "", types.ToolUseBlock{}, types.ReasoningTextBlock{}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = event.Value.StopReason
		case *types.ConverseStreamOutputMemberMetadata:
			usage = event.Value.Usage
		}
	}
	if text != "" {
		blocks = append(blocks, &types.ContentBlockMemberText{Value: text})
	}
	return blocks, stop, usage, stream.Err()
}
