package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/schema"
)

// runnerAgent is an agent on the SDK's tool runner, which has the loop.
func runnerAgent(client anthropic.Client, model string) (dispatch.Agent, error) {
	var tools []anthropic.BetaTool // they serve all runs
	for _, t := range shop.Tools() {
		tools = append(tools, tool{t})
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: anthropic.Model(model), MaxTokens: 4096, System: []anthropic.BetaTextBlockParam{{Text: shop.System}},
		}}
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

		message, err := client.Beta.Messages.NewToolRunner(tools, params).RunToCompletion(ctx)
		if err != nil {
			return nil, err
		}
		text := ""
		for _, block := range message.Content {
			text += block.Text
		}
		text = llm.FinalResponse(cmp.Or(text, message.StopDetails.Explanation), string(message.StopReason))
		return &dispatch.Response{FinalResponse: text}, nil
	}, nil
}

// tool is a declared tool for the runner. It calls the proxy of the run in its context.
type tool struct{ schema.Tool }

func (t tool) Name() string        { return t.Tool.Name }
func (t tool) Description() string { return t.Tool.Description }

func (t tool) InputSchema() anthropic.BetaToolInputSchemaParam {
	return param.Override[anthropic.BetaToolInputSchemaParam](t.Tool.InputSchema)
}

func (t tool) Execute(ctx context.Context, arguments json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	run, ok := dispatch.FromContext(ctx)
	if !ok {
		return nil, errors.New("the context does not belong to a run")
	}
	result, err := run.Proxy.CallForModel(ctx, t.Tool.Name, arguments)
	if err != nil {
		return nil, err // the context has ended: the runner makes no further request
	}
	// A failure is content too: the runner would show the model an error as "Error: …".
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: result.Text}}}, nil
}
