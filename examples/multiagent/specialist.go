package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// A specialist is a sub-agent. It has a conversation of its own with a model for each task.
type specialist struct {
	label  string
	system string
	client openai.Client
	model  string
	tools  []openai.ChatCompletionToolUnionParam
}

// newSpecialist returns a specialist with the label and the tools that its declaration has.
func newSpecialist(client openai.Client, model string, declared registration.SubAgent, system string) (*specialist, error) {
	own := slices.DeleteFunc(shop.Tools(), func(t schema.Tool) bool { return !slices.Contains(declared.Tools, t.Name) })
	tools, _, err := schema.Export(own, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	s := &specialist{label: declared.ActorID, system: system, client: client, model: model}
	if err := json.Unmarshal(tools, &s.tools); err != nil {
		return nil, fmt.Errorf("the tools of %s: %w", s.label, err)
	}
	return s, nil
}

// work does a task that the supervisor gives, and returns the specialist's report. The label in the
// context attributes the tool calls, the trace events and the conversation to the specialist.
func (s *specialist) work(ctx context.Context, run *dispatch.Run, task string) (string, error) {
	ctx = proxy.WithActor(ctx, s.label)
	params := openai.ChatCompletionNewParams{
		Model: s.model, Tools: s.tools,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(s.system), openai.UserMessage(task)},
	}
	return converse(ctx, s.client, params, func(ctx context.Context, tool, arguments string) (string, error) {
		result, err := run.Proxy.CallForModel(ctx, tool, arguments)
		return result.Text, err
	})
}
