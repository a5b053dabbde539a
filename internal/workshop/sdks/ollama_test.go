package sdks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/ollama/ollama/api"
)

var ollamaSDK = sdk{
	name:     "ollama",
	talk:     newOllama,
	finish:   map[string]string{"stop": "stop", "calls": "stop", "length": "length", "refusal": "stop"},
	thinks:   true,
	attempts: 1,
	deaf:     true,
	blind:    true,
}

type ollamaTalk struct {
	client  *api.Client
	request api.ChatRequest
}

func newOllama(t *testing.T, base string, client *http.Client, stream bool) talk {
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c := &ollamaTalk{client: api.NewClient(u, client), request: api.ChatRequest{Model: "fake-1", Messages: []api.Message{{Role: "system", Content: system}}}}
	if !stream {
		c.request.Stream = new(bool) // without it the API streams
	}
	for _, name := range []string{"get_order", "refund_order"} {
		c.request.Tools = append(c.request.Tools, api.Tool{Type: "function", Function: api.ToolFunction{Name: name, Parameters: api.ToolFunctionParameters{Type: "object"}}})
	}
	return c
}

func (c *ollamaTalk) user(text string) {
	c.request.Messages = append(c.request.Messages, api.Message{Role: "user", Content: text})
}

func (c *ollamaTalk) result(call call, text string) {
	c.request.Messages = append(c.request.Messages, api.Message{Role: "tool", Content: text, ToolName: call.name, ToolCallID: call.id})
}

func (c *ollamaTalk) ask(ctx context.Context) (r reply, err error) {
	said := api.Message{Role: "assistant"}
	err = c.client.Chat(ctx, &c.request, func(got api.ChatResponse) error {
		r.model, r.finish, r.input, r.output = got.Model, got.DoneReason, int64(got.PromptEvalCount), int64(got.EvalCount)
		said.Content += got.Message.Content
		said.Thinking += got.Message.Thinking
		said.ToolCalls = append(said.ToolCalls, got.Message.ToolCalls...)
		return nil
	})
	r.text, r.thinking = said.Content, said.Thinking
	for _, made := range said.ToolCalls {
		arguments, err := json.Marshal(made.Function.Arguments.ToMap())
		if err != nil {
			return r, err
		}
		r.calls = append(r.calls, call{made.ID, made.Function.Name, string(arguments)})
	}
	c.request.Messages = append(c.request.Messages, said)
	return r, err
}
