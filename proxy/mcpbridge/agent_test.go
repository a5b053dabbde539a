package mcpbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/mcpbridge"
)

// The agent of docs/models.md that speaks MCP.

func mcpAgent(ask model) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		server, err := mcpbridge.NewServer(ctx, run.Proxy, tools())
		if err != nil {
			return nil, err
		}
		ours, theirs := mcp.NewInMemoryTransports()
		if _, err := server.Connect(ctx, theirs, nil); err != nil {
			return nil, err
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, ours, nil)
		if err != nil {
			return nil, err
		}
		defer session.Close()
		peer, _, err := mcpbridge.Connect(ctx, session)
		if err != nil {
			return nil, err
		}

		conversation := []message{{Role: "user", Content: run.Instruction}}
		for {
			reply, reason, err := ask(ctx, conversation)
			if err != nil {
				return nil, err
			}
			if len(reply.ToolCalls) == 0 {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(reply.Content, reason)}, nil
			}
			results, err := proxy.Each(ctx, reply.ToolCalls, func(ctx context.Context, call toolCall) (message, error) {
				result, err := peer.CallForModel(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
				return message{Role: "tool", ToolCallID: call.ID, Content: result.Text}, err
			})
			if err != nil {
				return nil, err // the run is over
			}
			conversation = append(append(conversation, reply), results...)
		}
	}
}

// A model answers a conversation. It stands for an SDK.
type model func(ctx context.Context, conversation []message) (reply message, reason string, err error)

// A message and its tool calls, as Chat Completions has them.
type (
	message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
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

func chat(m *llmtest.Model) model {
	client := &http.Client{Transport: &llm.Transport{Base: m.Client().Transport}}
	return func(ctx context.Context, conversation []message) (message, string, error) {
		body, err := json.Marshal(map[string]any{"model": "m", "messages": conversation})
		if err != nil {
			return message{}, "", err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			return message{}, "", err
		}
		resp, err := client.Do(r)
		if err != nil {
			return message{}, "", err
		}
		defer func() { _ = resp.Body.Close() }()
		var completion struct {
			Choices []struct {
				Message      message
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&completion); err != nil || len(completion.Choices) == 0 {
			return message{}, "", fmt.Errorf("the model returned no choices: %w", err)
		}
		return completion.Choices[0].Message, completion.Choices[0].FinishReason, nil
	}
}

// The model's mistakes are results that it reads, and the transcript has its ids.
func TestAgentOverMCP(t *testing.T) {
	m := llmtest.New(t,
		llmtest.Turn(llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`), llmtest.Call("call_2", "get_order", `{"order_id":`),
			llmtest.Call("call_3", "get_orders", `{}`)),
		llmtest.Call("call_4", "refund_order", `{"reasoning":"It has shipped.","order_id":"4521"}`).Expect(
			llmtest.HasResult("call_1", `"shipped"`), llmtest.HasResult("call_2", "invalid_arguments"), llmtest.HasResult("call_3", "unknown_tool")),
		llmtest.Text("It is refunded.").Expect(func(r *llmtest.Request) error {
			if len(r.Results) != 1 || r.Results[0].Content != "done" {
				return fmt.Errorf("the results are %+v, want done without quotes", r.Results)
			}
			return nil
		}),
	)
	platform := world(make(chan<- struct{}, 1), make(chan struct{}))
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: mcpAgent(chat(m))}, dispatchtest.Task{Instruction: "Refund order #4521.", World: platform})
	got.AssertOK(t)
	got.AssertOrder(t, "get_order", "refund_order")
	var ids []string
	for _, said := range got.Messages {
		for _, call := range said.ToolCalls {
			ids = append(ids, call.ID)
		}
	}
	if fmt.Sprint(ids) != "[call_1 call_2 call_3 call_4]" {
		t.Errorf("the transcript has the calls %q", ids)
	}
}
