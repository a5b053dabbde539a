package sdks

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

var chatSDK = sdk{
	name:     "openai chat",
	talk:     newChat,
	finish:   map[string]string{"stop": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop"},
	attempts: 3,
}

type chatTalk struct {
	client openai.Client
	params openai.ChatCompletionNewParams
	stream bool
}

func newChat(_ *testing.T, url string, client *http.Client, stream bool) talk {
	c := &chatTalk{client: openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithHTTPClient(client), option.WithAPIKey(key)), stream: stream}
	c.params = openai.ChatCompletionNewParams{
		Model:         "fake-1",
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if !stream {
		c.params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	}
	for _, name := range []string{"get_order", "refund_order"} {
		c.params.Tools = append(c.params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: name}))
	}
	return c
}

func (c *chatTalk) user(text string) {
	c.params.Messages = append(c.params.Messages, openai.UserMessage(text))
}

func (c *chatTalk) result(call call, text string) {
	c.params.Messages = append(c.params.Messages, openai.ToolMessage(text, call.id))
}

func (c *chatTalk) ask(ctx context.Context) (r reply, err error) {
	var got *openai.ChatCompletion
	if c.stream {
		s := c.client.Chat.Completions.NewStreaming(ctx, c.params)
		defer func() { _ = s.Close() }()
		acc := openai.ChatCompletionAccumulator{}
		for s.Next() {
			if !acc.AddChunk(s.Current()) {
				return r, errors.New("the accumulator refuses a chunk")
			}
		}
		err, got = s.Err(), &acc.ChatCompletion
	} else {
		got, err = c.client.Chat.Completions.New(ctx, c.params)
	}
	if got == nil || len(got.Choices) == 0 {
		return r, err
	}
	m := got.Choices[0].Message
	r = reply{text: m.Content, refusal: m.Refusal, finish: got.Choices[0].FinishReason, model: got.Model,
		input: got.Usage.PromptTokens, output: got.Usage.CompletionTokens}
	for _, t := range m.ToolCalls {
		r.calls = append(r.calls, call{t.ID, t.Function.Name, t.Function.Arguments})
	}
	c.params.Messages = append(c.params.Messages, m.ToParam())
	return r, err
}
