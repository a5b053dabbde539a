package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"google.golang.org/genai"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
)

const (
	model       = "gemini-2.5-flash"
	maxRequests = 50 // to the model, in one run
	system      = "You are the support agent of a shop. Look an order up before you refund it. " +
		"Refund only orders that have shipped."
)

// newAgent returns the agent. The SDK reads GEMINI_API_KEY, and GOOGLE_GEMINI_BASE_URL if it is set.
func newAgent() (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{}} // gives each run its transcript and tokens
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{HTTPClient: watched})
	if err != nil {
		return nil, err // for example if GEMINI_API_KEY is not set
	}
	var list genai.Tool
	for _, t := range tools {
		list.FunctionDeclarations = append(list.FunctionDeclarations, &genai.FunctionDeclaration{
			Name: t.Name, Description: t.Description, ParametersJsonSchema: t.InputSchema,
		})
	}
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText(system, genai.RoleUser), Tools: []*genai.Tool{&list},
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		contents, err := conversation(run)
		if err != nil {
			return nil, err
		}
		for range maxRequests {
			reply, err := client.Models.GenerateContent(ctx, model, contents, config)
			if err != nil {
				return nil, err
			}
			calls := reply.FunctionCalls()
			if calls == nil {
				return &dispatch.Response{FinalResponse: final(reply)}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call *genai.FunctionCall) (*genai.Part, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Name, call.Args)
				return answerTo(call, result), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			contents = append(contents, reply.Candidates[0].Content, genai.NewContentFromParts(results, genai.RoleUser))
		}
		return nil, fmt.Errorf("the model still calls tools in its response number %d", maxRequests)
	}, nil
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

// answerTo returns the result of a call. Gemini tells a failure by the name of the member.
func answerTo(call *genai.FunctionCall, result toolwire.ModelResult) *genai.Part {
	member := "output"
	if result.Failed {
		member = "error"
	}
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{
		ID: call.ID, Name: call.Name, Response: map[string]any{member: result.JSON},
	}}
}

// conversation returns the turns of the session before this one, and the prompt of this one.
func conversation(run *dispatch.Run) (contents []*genai.Content, err error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	list, err := llm.ToConversation(llm.Gemini, history)
	if err != nil {
		return nil, err
	}
	return contents, json.Unmarshal(list, &contents)
}
