// Package recipe is an agent on genkit.
//
// It was tested with github.com/firebase/genkit/go v1.4.0 and github.com/openai/openai-go v1.8.2.
//
//   - genkit can run the loop itself. Then a tool does not see the id of its call, an invented tool
//     ends the run, results come in the order in which the tools end, and the loop ends after five
//     turns. So this agent asks for the calls, with WithReturnToolRequests.
//
//   - dotprompt, which genkit v1.4.0 needs, does not compile with invopop/jsonschema v0.14, which
//     Toolwire requires ("cannot use orderedmap.New"). Put this line into go.mod; the tests of package
//     schema pass with it:
//
//     replace github.com/invopop/jsonschema => github.com/invopop/jsonschema v0.13.0
//
//   - The plugin returns an error if the arguments of a call are not JSON, so the run fails. It sorts
//     the properties of a schema.
//
//   - The plugin knows a list of models. Define others with its DefineModel.
//
//   - genkit.Init catches SIGINT and SIGTERM. A test calls it outside the bubble of testing/synctest,
//     with a transport that passes requests on to the client of the model of each test.
package recipe

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	oai "github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/openai/openai-go/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// NewAgent returns an agent with a loop over genkit.Generate. The key is in OPENAI_API_KEY.
func NewAgent(ctx context.Context, client *http.Client, system, model string, declared []schema.Tool, opts ...option.RequestOption) (dispatch.Agent, error) {
	watched := &http.Client{Transport: &llm.Transport{Base: client.Transport}}
	provider := &oai.OpenAI{Opts: append(opts, option.WithHTTPClient(watched))}
	g := genkit.Init(ctx, genkit.WithPlugins(provider))
	var tools []ai.ToolRef
	for _, t := range declared {
		var parameters map[string]any
		if err := json.Unmarshal(t.InputSchema, &parameters); err != nil {
			return nil, err
		}
		// The loop makes the calls, so genkit never calls the function.
		tools = append(tools, genkit.DefineToolWithInputSchema(g, t.Name, t.Description, parameters,
			func(*ai.ToolContext, any) (any, error) { return nil, nil }))
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		var messages []*ai.Message
		for _, m := range history {
			messages = append(messages, message(m))
		}
		for {
			response, err := genkit.Generate(ctx, g, ai.WithModelName("openai/"+model), ai.WithSystem(system),
				ai.WithMessages(messages...), ai.WithTools(tools...), ai.WithReturnToolRequests(true))
			if err != nil {
				return nil, err
			}
			calls := response.ToolRequests()
			if len(calls) == 0 {
				return &dispatch.Response{FinalResponse: llm.FinalResponse(response.Text(), string(response.FinishReason))}, nil
			}
			results, err := proxy.Each(ctx, calls, func(ctx context.Context, call *ai.ToolRequest) (*ai.Part, error) {
				result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.Ref), call.Name, call.Input)
				return ai.NewToolResponsePart(&ai.ToolResponse{Ref: call.Ref, Name: call.Name, Output: result.JSON}), err
			})
			if err != nil {
				return nil, err // the run is over
			}
			messages = append(messages, response.Message, ai.NewMessage(ai.RoleTool, nil, results...))
		}
	}, nil
}

// message is a message of an earlier turn, or what the user says now.
func message(m dispatch.Message) *ai.Message {
	text := m.Content.String()
	switch m.Role {
	case dispatch.RoleTool:
		return ai.NewMessage(ai.RoleTool, nil, ai.NewToolResponsePart(&ai.ToolResponse{Ref: m.ToolCallID, Output: text}))
	case dispatch.RoleUser:
		return ai.NewUserTextMessage(text)
	case dispatch.RoleSystem:
		return ai.NewMessage(ai.RoleSystem, nil, ai.NewTextPart(text))
	}
	said := ai.NewModelMessage()
	if text != "" {
		said.Content = append(said.Content, ai.NewTextPart(text))
	}
	for _, call := range m.ToolCalls {
		said.Content = append(said.Content, ai.NewToolRequestPart(&ai.ToolRequest{Ref: call.ID, Name: call.Name, Input: call.Arguments}))
	}
	return said
}
