package guide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// An agent on OpenAI's SDK that continues sessions. docs/models.md shows parts of it.

const system = "You are the support agent of a shop. Look an order up before you refund it."

type GetOrder struct {
	OrderID string `json:"order_id" jsonschema:"description=The number of the order without #."`
}

type RefundOrder struct {
	OrderID string  `json:"order_id"`
	Amount  float64 `json:"amount" jsonschema:"description=In dollars.,minimum=0"`
}

var tools = []schema.Tool{
	schema.MustDefine[GetOrder, any]("get_order", "Look up an order.", nil),
	schema.MustDefine[RefundOrder, any]("refund_order", "Refund an order, whole or in part.", nil),
}

type (
	toolCall = openai.ChatCompletionMessageToolCallUnion
	message  = openai.ChatCompletionMessageParamUnion
)

// newAgent returns the agent. It serves all runs.
func newAgent(client openai.Client) (dispatch.Agent, error) {
	base := openai.ChatCompletionNewParams{Model: "gpt-5.2"}
	list, _, err := schema.Export(tools, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(list, &base.Tools); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		params := base // of this run
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		conversation, err := llm.ToConversation(llm.OpenAIChat, history)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(conversation, &params.Messages); err != nil {
			return nil, err
		}
		params.Messages = append([]message{openai.SystemMessage(system)}, params.Messages...)

		for {
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
			params.Messages = append(params.Messages, reply.ToParam())
			results, err := proxy.Each(ctx, reply.ToolCalls, func(ctx context.Context, call toolCall) (message, error) {
				ctx = proxy.WithCallID(ctx, call.ID)
				result, err := run.Proxy.CallForModel(ctx, call.Function.Name, call.Function.Arguments)
				return openai.ToolMessage(result.Text, call.ID), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			params.Messages = append(params.Messages, results...)
		}
	}, nil
}

// newClient returns an SDK client that reports its traffic to the run.
func newClient(base http.RoundTripper, opts ...option.RequestOption) openai.Client {
	client := &http.Client{Transport: &llm.Transport{Base: base}}
	return openai.NewClient(append(opts, option.WithHTTPClient(client))...)
}

func serve() {
	agent, err := newAgent(newClient(nil)) // the key is in OPENAI_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{os.Getenv("AGENT_TOKEN")}})
	if err != nil {
		log.Fatal(err) // for example if AGENT_TOKEN is not set
	}
	http.Handle("/dispatch", handler)
	log.Fatal(http.ListenAndServe(":8080", nil))
}

var _ = serve // compiled, not run: it serves until the process ends
