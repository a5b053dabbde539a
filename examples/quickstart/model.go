package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// script is what the model does in the default task. The model fails if it is sent anything else.
var script = []llmtest.Step{
	llmtest.Turn(llmtest.Text("I look the order up."), llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`)).
		Usage(212, 31).Expect(llmtest.HasSystem(shop.System), llmtest.HasTools("get_order", "refund_order")),
	llmtest.Call("call_2", "refund_order", `{"order_id":"4521","amount":79.5}`).
		Usage(274, 27).Expect(llmtest.HasResult("call_1", `"shipped"`)),
	llmtest.Text("The refund of $79.50 has been issued for order #4521 (rf_1).").
		Usage(318, 22).Expect(llmtest.HasResult("call_2", "rf_1")),
}

// A message and its tool calls, as Chat Completions has them.
type (
	message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		Refusal    string     `json:"refusal,omitempty"`
		ToolCalls  []toolCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	toolCall struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
)

// modelAgent returns an agent on Chat Completions without an SDK. Agents with one are in
// examples/openai, examples/anthropic and examples/genai.
func modelAgent(client *http.Client, url string) (dispatch.Agent, error) {
	tools, _, err := schema.Export(shop.Tools(), schema.OpenAIChat)
	if err != nil {
		return nil, err
	}
	watched := *client
	watched.Transport = &llm.Transport{Base: client.Transport} // gives the run its transcript and tokens
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		conversation := []message{{Role: "system", Content: shop.System}, {Role: "user", Content: run.Instruction}}
		for {
			reply, reason, err := complete(ctx, &watched, url, conversation, tools)
			if err != nil {
				return nil, err
			}
			if len(reply.ToolCalls) == 0 {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(reply.Content+reply.Refusal, reason)}, nil
			}
			results, err := proxy.Each(ctx, reply.ToolCalls, func(ctx context.Context, call toolCall) (message, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
				return message{Role: "tool", ToolCallID: call.ID, Content: result.Text}, err
			})
			if err != nil {
				return nil, err // the run is over
			}
			conversation = append(append(conversation, reply), results...)
		}
	}, nil
}

// complete asks the model for the next message. reason is why the message ends.
func complete(
	ctx context.Context, client *http.Client, url string, conversation []message, tools json.RawMessage,
) (reply message, reason string, err error) {
	body, err := json.Marshal(map[string]any{"model": "scripted-1", "messages": conversation, "tools": tools})
	if err != nil {
		return message{}, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return message{}, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return message{}, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return message{}, "", err
	}
	var completion struct {
		Choices []struct {
			Message      message
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(body, &completion); err != nil || resp.StatusCode != http.StatusOK || len(completion.Choices) == 0 {
		return message{}, "", fmt.Errorf("the model's response is %s: %s", resp.Status, body)
	}
	return completion.Choices[0].Message, completion.Choices[0].FinishReason, nil
}

// reportModel prints what the platform received beside the final response: transcript, model, tokens.
func reportModel(w io.Writer, result *dispatchtest.Result) error {
	label := "transcript"
	for _, m := range result.Messages {
		fmt.Fprintf(w, "%-10s %s\n", label, m)
		label = ""
	}
	if result.Dispatch.Status != http.StatusOK {
		return nil // the timeline says why
	}
	var response struct {
		Metadata struct {
			Model  string
			Input  int64 `json:"total_input_tokens"`
			Output int64 `json:"total_output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(result.Dispatch.Body), &response); err != nil {
		return err
	}
	m := response.Metadata
	_, err := fmt.Fprintf(w, "tokens     %d input, %d output by %s\n", m.Input, m.Output, m.Model)
	return err
}
