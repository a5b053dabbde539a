package sdks

import (
	"context"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const key = "sk-secret-key-of-the-test"

var anthropicSDK = sdk{
	name:     "anthropic",
	talk:     newAnthropic,
	finish:   map[string]string{"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"},
	thinks:   true,
	attempts: 3,
}

// bedrockSDK and vertexSDK are the same SDK with the middleware of a cloud.
var bedrockSDK, vertexSDK = anthropicSDK, anthropicSDK

func init() {
	bedrockSDK.name, bedrockSDK.talk = "anthropic on bedrock", func(_ *testing.T, url string, client *http.Client, stream bool) talk {
		return newAnthropicWith(profile, stream, bedrock.WithConfig(aws.Config{Region: "eu-west-1", Credentials: signed}), option.WithBaseURL(url), option.WithHTTPClient(client))
	}
	vertexSDK.name, vertexSDK.talk = "anthropic on vertex", func(t *testing.T, url string, client *http.Client, stream bool) talk {
		token := &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: key})}
		return newAnthropicWith("fake-1", stream, vertex.WithCredentials(t.Context(), "europe-west1", "p", token), option.WithBaseURL(url), option.WithHTTPClient(client))
	}
}

type anthropicTalk struct {
	client anthropic.Client
	params anthropic.MessageNewParams
	stream bool
}

func newAnthropic(_ *testing.T, url string, client *http.Client, stream bool) talk {
	return newAnthropicWith("fake-1", stream, option.WithBaseURL(url), option.WithHTTPClient(client), option.WithAPIKey(key))
}

func newAnthropicWith(model string, stream bool, options ...option.RequestOption) talk {
	c := &anthropicTalk{client: anthropic.NewClient(options...), stream: stream}
	c.params = anthropic.MessageNewParams{Model: model, MaxTokens: 1000, System: []anthropic.TextBlockParam{{Text: system}}}
	for _, name := range []string{"get_order", "refund_order"} {
		c.params.Tools = append(c.params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: name}})
	}
	return c
}

func (c *anthropicTalk) user(text string) {
	c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
}

// result adds to the user's message that has the other results of the turn.
func (c *anthropicTalk) result(call call, text string) {
	block := anthropic.NewToolResultBlock(call.id, text, false)
	last := &c.params.Messages[len(c.params.Messages)-1]
	if last.Role == anthropic.MessageParamRoleUser {
		last.Content = append(last.Content, block)
		return
	}
	c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(block))
}

func (c *anthropicTalk) ask(ctx context.Context) (r reply, err error) {
	got := &anthropic.Message{}
	if c.stream {
		s := c.client.Messages.NewStreaming(ctx, c.params)
		defer func() { _ = s.Close() }()
		for s.Next() {
			if err := got.Accumulate(s.Current()); err != nil {
				return r, err
			}
		}
		err = s.Err()
	} else {
		got, err = c.client.Messages.New(ctx, c.params)
	}
	if got == nil {
		return r, err
	}
	r = reply{refusal: got.StopDetails.Explanation, finish: string(got.StopReason), model: got.Model, input: got.Usage.InputTokens, output: got.Usage.OutputTokens}
	for _, b := range got.Content {
		switch b.Type {
		case "text":
			r.text += b.Text
		case "thinking":
			r.thinking += b.Thinking
			if b.Signature == "" {
				r.thinking += " without a signature"
			}
		case "tool_use":
			r.calls = append(r.calls, call{b.ID, b.Name, string(b.Input)})
		}
	}
	c.params.Messages = append(c.params.Messages, got.ToParam())
	return r, err
}
