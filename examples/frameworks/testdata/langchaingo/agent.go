// Package recipe is an agent on langchaingo.
//
// It was tested with github.com/tmc/langchaingo v0.1.14.
//
//   - The client replaces the error of a context that has ended by a text. Return the cause of the
//     context instead. Otherwise the run fails instead of timing out, and its transcript is lost.
//   - The tools of package agents take one string. GenerateContent has declared tools and parallel
//     calls. It sorts the properties of a schema.
package recipe

import (
	"context"
	"net/http"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// NewAgent returns an agent with a loop over llms.Model.GenerateContent.
func NewAgent(client *http.Client, system string, declared []schema.Tool, opts ...openai.Option) (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{Base: client.Transport}}
	model, err := openai.New(append(opts, openai.WithHTTPClient(watched))...)
	if err != nil {
		return nil, err
	}
	var tools []llms.Tool
	for _, t := range declared {
		tools = append(tools, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.InputSchema,
		}})
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system)}
		for _, m := range history {
			messages = append(messages, message(m))
		}
		for {
			response, err := model.GenerateContent(ctx, messages, llms.WithTools(tools))
			if ctx.Err() != nil {
				return nil, context.Cause(ctx) // the error of langchaingo hides it
			}
			if err != nil {
				return nil, err
			}
			answer := response.Choices[0]
			if len(answer.ToolCalls) == 0 {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(answer.Content, answer.StopReason)}, nil
			}
			said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
			if answer.Content != "" {
				said.Parts = append(said.Parts, llms.TextPart(answer.Content))
			}
			for _, call := range answer.ToolCalls {
				said.Parts = append(said.Parts, call)
			}
			results, err := proxy.Each(ctx, answer.ToolCalls, func(ctx context.Context, call llms.ToolCall) (llms.MessageContent, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.FunctionCall.Name, call.FunctionCall.Arguments)
				return toolMessage(call.ID, result.Text), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			messages = append(append(messages, said), results...)
		}
	}, nil
}

// message is a message of an earlier turn, or what the user says now.
func message(m dispatch.Message) llms.MessageContent {
	switch m.Role {
	case dispatch.RoleTool:
		return toolMessage(m.ToolCallID, m.Content.String())
	case dispatch.RoleUser:
		return llms.TextParts(llms.ChatMessageTypeHuman, m.Content.String())
	case dispatch.RoleSystem:
		return llms.TextParts(llms.ChatMessageTypeSystem, m.Content.String())
	}
	said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
	if text := m.Content.String(); text != "" {
		said.Parts = append(said.Parts, llms.TextPart(text))
	}
	for _, call := range m.ToolCalls {
		said.Parts = append(said.Parts, llms.ToolCall{
			ID: call.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: call.Name, Arguments: string(call.Arguments)},
		})
	}
	return said
}

func toolMessage(id, result string) llms.MessageContent {
	return llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: id, Content: result}}}
}
