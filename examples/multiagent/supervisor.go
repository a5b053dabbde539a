package main

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const supervisorSystem = "You lead the support of a shop. Ask your specialists, both at once if you can, and answer the customer."

// assignment is the input of the supervisor's tools.
type assignment struct {
	Task string `json:"task" jsonschema:"What the specialist should do, with all that it needs to know."`
}

// newAgent returns a supervisor with two specialists. What its model sees as tools are the
// specialists.
func newAgent(client openai.Client, model string) (dispatch.Agent, error) {
	team, err := newTeam(client, model)
	if err != nil {
		return nil, err
	}
	params := openai.ChatCompletionNewParams{Model: model}
	tools, _, err := schema.Export([]schema.Tool{
		schema.MustDefine[assignment, any]("ask_orders", "Give the specialist for orders a task.", nil),
		schema.MustDefine[assignment, any]("ask_refunds", "Give the specialist for refunds a task.", nil),
	}, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(tools, &params.Tools); err != nil {
		return nil, err
	}

	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		ctx = proxy.WithActor(ctx, supervisorLabel)
		params := params // of this run
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
		params.Messages = append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(supervisorSystem)}, params.Messages...)

		final, err := converse(ctx, client, params, func(ctx context.Context, tool, arguments string) (string, error) {
			var in assignment
			if team[tool] == nil || json.Unmarshal([]byte(arguments), &in) != nil || in.Task == "" {
				return `{"error":"there are the tools ask_orders and ask_refunds; each takes {\"task\": \"…\"}"}`, nil
			}
			return delegate(ctx, run, team[tool], in.Task)
		})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: final}, nil
	}, nil
}
