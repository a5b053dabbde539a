package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/envconfig"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

const (
	model       = "qwen3"
	maxRequests = 50 // to the model, in one run
	system      = "You are the support agent of a shop. Look an order up before you refund it. " +
		"Refund only orders that have shipped."
)

// newAgent returns the agent. The server is at 127.0.0.1:11434, or at OLLAMA_HOST if it is set.
func newAgent() (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{}} // gives each run its transcript and tokens
	client := api.NewClient(envconfig.Host(), watched)
	base := api.ChatRequest{Model: model, Stream: new(bool)} // whole responses
	list, _, err := schema.Export(tools, schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(list, &base.Tools); err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		request := base // of this run
		history, err := conversation(run)
		if err != nil {
			return nil, err
		}
		request.Messages = append([]api.Message{{Role: "system", Content: system}}, history...)
		for range maxRequests {
			var reply api.ChatResponse
			err := client.Chat(ctx, &request, func(got api.ChatResponse) error {
				reply = got
				return nil
			})
			if err != nil {
				return nil, err
			}
			calls := reply.Message.ToolCalls
			if len(calls) == 0 {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(reply.Message.Content, reply.DoneReason)}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call api.ToolCall) (api.Message, error) {
				ctx = proxy.WithCallID(ctx, call.ID)
				result, err := run.Proxy.CallForModel(ctx, call.Function.Name, call.Function.Arguments)
				answer := api.Message{Role: "tool", Content: result.Text, ToolName: call.Function.Name, ToolCallID: call.ID}
				return answer, err
			})
			if err != nil {
				return nil, err // the run is over
			}
			request.Messages = append(append(request.Messages, reply.Message), results...)
		}
		return nil, fmt.Errorf("the model still calls tools in its response number %d", maxRequests)
	}, nil
}

// conversation returns the turns of the session before this one, and the prompt of this one.
func conversation(run *dispatch.Run) (messages []api.Message, err error) {
	history, err := run.History()
	if err != nil {
		return nil, err
	}
	list, err := llm.ToConversation(llm.Ollama, history)
	if err != nil {
		return nil, err
	}
	return messages, json.Unmarshal(list, &messages)
}
