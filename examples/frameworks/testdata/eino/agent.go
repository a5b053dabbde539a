// Package recipe is an agent on eino.
//
// It was tested with github.com/cloudwego/eino v0.7.36,
// github.com/cloudwego/eino-ext/components/model/openai v0.1.7, github.com/eino-contrib/jsonschema
// v1.0.3 and github.com/bytedance/sonic v1.15.5.
//
//   - eino v0.7.36 asks for sonic v1.14.1. Neither v1.14.1 nor v1.14.2 compiles with Go 1.26.8
//     ("undefined: GoMapIterator"). Require v1.15.5 in go.mod.
//   - Without UnknownToolsHandler, a tool that the model has invented ends the run with an error.
//   - MaxStep counts requests to the model and turns of tools, and its default is small. The time of
//     the run is a better limit, so set MaxStep high.
package recipe

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	eino "github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// NewAgent returns an agent on eino's ReAct agent, which has the loop.
func NewAgent(ctx context.Context, config openai.ChatModelConfig, system string, declared []schema.Tool) (dispatch.Agent, error) {
	config.HTTPClient = &http.Client{Transport: &llm.Transport{Base: config.HTTPClient.Transport}}
	model, err := openai.NewChatModel(ctx, &config)
	if err != nil {
		return nil, err
	}
	tools := compose.ToolsNodeConfig{UnknownToolsHandler: call}
	for _, t := range declared {
		var parameters jsonschema.Schema
		if err := json.Unmarshal(t.InputSchema, &parameters); err != nil {
			return nil, err
		}
		tools.Tools = append(tools.Tools, function{eino.ToolInfo{
			Name: t.Name, Desc: t.Description, ParamsOneOf: eino.NewParamsOneOfByJSONSchema(&parameters),
		}})
	}
	loop, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: model, ToolsConfig: tools, MaxStep: 200})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		conversation, err := llm.ToConversation(llm.OpenAIChat, history)
		if err != nil {
			return nil, err
		}
		var messages []*eino.Message
		if err := json.Unmarshal(conversation, &messages); err != nil {
			return nil, err
		}
		answer, err := loop.Generate(ctx, append([]*eino.Message{eino.SystemMessage(system)}, messages...))
		if err != nil {
			return nil, err
		}
		reason := ""
		if answer.ResponseMeta != nil {
			reason = answer.ResponseMeta.FinishReason
		}
		return &dispatch.Response{FinalResponse: llm.FinalResponse(answer.Content, reason)}, nil
	}, nil
}

// function is a declared tool. It serves all runs.
type function struct{ info eino.ToolInfo }

func (f function) Info(context.Context) (*eino.ToolInfo, error) { return &f.info, nil }

func (f function) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return call(ctx, f.info.Name, arguments)
}

// call calls a tool through the proxy of the run in the context. An invented tool comes here too: the
// result says which tools there are.
func call(ctx context.Context, name, arguments string) (string, error) {
	run, ok := dispatch.FromContext(ctx)
	if !ok {
		return "", errors.New("the context does not belong to a run")
	}
	result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, compose.GetToolCallID(ctx)), name, arguments)
	return result.Text, err
}
