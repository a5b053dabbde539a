package llm_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// An agent with a model, without an SDK: the transport is all that the transcript needs.
func Example() {
	scripted := model( // in production there is no Base: requests go to the provider
		`{"model":"m-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[
			{"id":"call_a","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":\"4521\"}"}}]}}],
			"usage":{"prompt_tokens":30,"completion_tokens":12}}`,
		`{"model":"m-1","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It is shipped."}}],
			"usage":{"prompt_tokens":60,"completion_tokens":5}}`,
	)
	client := &http.Client{Transport: &llm.Transport{Base: scripted}} // for the SDK, once for all runs

	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		conversation := []any{map[string]string{"role": "user", "content": run.Instruction}}
		for {
			m, err := complete(ctx, client, conversation)
			if err != nil {
				return nil, err
			}
			if len(m.ToolCalls) == 0 {
				return &dispatch.Response{FinalResponse: m.Content}, nil
			}
			conversation = append(conversation, m)
			for _, call := range m.ToolCalls {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.ID), call.Function.Name, call.Function.Arguments)
				if err != nil {
					return nil, err
				}
				conversation = append(conversation, map[string]string{"role": "tool", "tool_call_id": call.ID, "content": result.Text})
			}
		}
	}

	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Where is order 4521?",
		World:       proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
	})
	if err != nil {
		panic(err)
	}
	for _, m := range result.Messages {
		fmt.Println(strings.Join(slices.DeleteFunc([]string{string(m.Role), m.ToolCallID, m.Content.String()}, func(s string) bool { return s == "" }), " "))
		for _, call := range m.ToolCalls {
			fmt.Printf("  %s: %s %s\n", call.ID, call.Name, call.Arguments)
		}
	}
	var answer struct{ Metadata json.RawMessage }
	err = json.Unmarshal([]byte(result.Dispatch.Body), &answer)
	fmt.Println(string(answer.Metadata), err)
	// Output:
	// user Where is order 4521?
	// assistant
	//   call_a: get_order {"order_id":"4521"}
	// tool call_a {"status":"shipped"}
	// assistant It is shipped.
	// {"model":"m-1","total_input_tokens":90,"total_output_tokens":17} <nil>
}

type completion struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

// complete stands for an SDK.
func complete(ctx context.Context, client *http.Client, conversation []any) (*completion, error) {
	body, err := json.Marshal(map[string]any{"model": "m", "messages": conversation})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example.com/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Choices []struct{ Message completion }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return nil, cmp.Or(err, errors.New("the model returned no choices"))
	}
	return &answer.Choices[0].Message, nil
}

// A frameworkContext is the context with which a framework calls a tool.
type frameworkContext interface {
	context.Context
	FunctionCallID() string
}

// called is a frameworkContext.
type called struct {
	context.Context
	id string
}

func (c called) FunctionCallID() string { return c.id }

// labelled is the framework's context with the values of another one.
type labelled struct {
	frameworkContext
	values context.Context
}

func (c labelled) Value(key any) any { return c.values.Value(key) }

// A framework calls sub-agents as tools, each with a context of its own type. A tool around the sub-agent labels what
// it does for a call.
func ExampleTransport_subAgents() {
	client := &http.Client{Transport: &llm.Transport{Base: model(
		`{"choices":[{"message":{"role":"assistant","content":"Refunds says: done."}}]}`, `{"choices":[{"message":{"role":"assistant","content":"Done."}}]}`)}}
	ask := func(ctx context.Context, text string) error {
		_, err := complete(ctx, client, []any{map[string]string{"role": "user", "content": text}})
		return err
	}
	refunds := func(ctx frameworkContext, text string) error { return ask(ctx, text) }
	tool := func(ctx frameworkContext, text string) error {
		return refunds(labelled{ctx, proxy.WithActor(ctx, "supervisor/refunds/"+ctx.FunctionCallID())}, text)
	}

	framework := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if err := ask(ctx, run.Instruction); err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "It is refunded."}, tool(called{ctx, "call_7"}, "Refund order 4521.")
	}
	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: framework}, dispatchtest.Task{Instruction: "I want my money back."})
	if err != nil {
		panic(err)
	}
	for _, m := range result.Messages {
		fmt.Println(m.Role, m.Content)
	}
	fmt.Println(len(result.Problems), "problems, and the second request is of", result.ModelRequests[1].Actor)
	// Output:
	// user I want my money back.
	// assistant Refunds says: done.
	// user Refund order 4521.
	// assistant Done.
	// assistant It is refunded.
	// 0 problems, and the second request is of supervisor/refunds/call_7
}
