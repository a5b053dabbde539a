package main

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
)

// newAgent returns an agent on generateContent.
func newAgent(client *genai.Client, model string) dispatch.Agent {
	tools := &genai.Tool{}
	for _, t := range shop.Tools() {
		tools.FunctionDeclarations = append(tools.FunctionDeclarations, &genai.FunctionDeclaration{
			Name: t.Name, Description: t.Description, ParametersJsonSchema: t.InputSchema,
		})
	}
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(shop.System, genai.RoleUser), Tools: []*genai.Tool{tools},
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		conversation, err := llm.Conversation(llm.Gemini, history)
		if err != nil {
			return nil, err
		}
		var contents []*genai.Content
		if err := json.Unmarshal(conversation, &contents); err != nil {
			return nil, err
		}

		for {
			response, err := client.Models.GenerateContent(ctx, model, contents, config)
			if err != nil {
				return nil, err
			}
			if err := stopped(response); err != nil {
				return nil, err
			}
			calls := response.FunctionCalls()
			if calls == nil {
				return &dispatch.Response{FinalResponse: response.Text()}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call *genai.FunctionCall) (*genai.Part, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Args)
				return answer(call, result), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			contents = append(contents, response.Candidates[0].Content, genai.NewContentFromParts(results, genai.RoleUser))
		}
	}
}

// stopped returns an error if the model gave no content: it refused the prompt or the response, or
// its function call could not be read.
func stopped(response *genai.GenerateContentResponse) error {
	if len(response.Candidates) == 0 {
		reason := genai.BlockedReasonUnspecified
		if feedback := response.PromptFeedback; feedback != nil {
			reason = feedback.BlockReason
		}
		return fmt.Errorf("the model gave no response: %s", reason)
	}
	if c := response.Candidates[0]; c.Content == nil {
		return fmt.Errorf("the response of the model has no content: %s", c.FinishReason)
	}
	return nil
}

// answer is the result of a function call. Gemini tells a failure by the name of the member.
func answer(call *genai.FunctionCall, result proxy.ModelResult) *genai.Part {
	member := "output"
	if result.Failed {
		member = "error"
	}
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{member: result.JSON},
	}}
}
