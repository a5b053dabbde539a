package main

import (
	"cmp"
	"context"
	"encoding/json"

	"google.golang.org/genai"

	"github.com/toolwire/toolwire"
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
		conversation, err := llm.ToConversation(llm.Gemini, history)
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
			calls := response.FunctionCalls()
			if calls == nil {
				return &dispatch.Response{FinalResponse: final(response)}, nil
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

// final returns the answer of the model, or why there is none: it refused the prompt or the response,
// or its function call could not be read.
func final(response *genai.GenerateContentResponse) string {
	if len(response.Candidates) > 0 {
		candidate := response.Candidates[0]
		return llm.FinalResponse(cmp.Or(response.Text(), candidate.FinishMessage), string(candidate.FinishReason))
	}
	if blocked := response.PromptFeedback; blocked != nil {
		return llm.FinalResponse(blocked.BlockReasonMessage, string(blocked.BlockReason))
	}
	return llm.FinalResponse("", "no candidates")
}

// answer is the result of a function call. Gemini tells a failure by the name of the member.
func answer(call *genai.FunctionCall, result toolwire.ModelResult) *genai.Part {
	member := "output"
	if result.Failed {
		member = "error"
	}
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{member: result.JSON},
	}}
}
