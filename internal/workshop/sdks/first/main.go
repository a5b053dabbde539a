// The agent with a model of README.md and docs/getting-started.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

type GetOrder struct {
	OrderID string `json:"order_id" jsonschema:"description=The number of the order without #."`
}

var tools = []schema.Tool{
	schema.MustDefine[GetOrder, any]("get_order", "Look up an order.", nil),
}

type (
	message  = openai.ChatCompletionMessageParamUnion
	toolCall = openai.ChatCompletionMessageToolCallUnion
)

type agent struct {
	client openai.Client
	tools  []openai.ChatCompletionToolUnionParam
}

func newAgent(base http.RoundTripper, opts ...option.RequestOption) (*agent, error) {
	watched := &http.Client{Transport: &llm.Transport{Base: base}} // gives each run its transcript and tokens
	a := &agent{client: openai.NewClient(append(opts, option.WithHTTPClient(watched))...)}
	list, _, err := schema.Export(tools, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	return a, json.Unmarshal(list, &a.tools)
}

func (a *agent) answer(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	params := openai.ChatCompletionNewParams{Model: "gpt-5.2", Tools: a.tools, Messages: []message{openai.UserMessage(run.Instruction)}}
	for {
		completion, err := a.client.Chat.Completions.New(ctx, params)
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
			result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
			return openai.ToolMessage(result.Text, call.ID), err
		})
		if err != nil {
			return nil, err // the run is over
		}
		params.Messages = append(append(params.Messages, reply.ToParam()), results...)
	}
}

func main() {
	a, err := newAgent(nil) // the SDK reads OPENAI_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	handler, err := dispatch.New(a.answer, &dispatch.Options{
		Tokens: []string{os.Getenv("AGENT_TOKEN")},
		Logger: slog.Default(),
	})
	if err != nil {
		log.Fatal(err) // for example if AGENT_TOKEN is not set
	}
	http.Handle("/dispatch", handler)
	log.Fatal(http.ListenAndServe(":8080", nil))
}
