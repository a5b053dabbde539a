package recipe

import (
	"context"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/agenttool"
	"google.golang.org/adk/v2/tool/toolutils"
	"google.golang.org/genai"

	"github.com/toolwire/toolwire/proxy"
)

// NewAgentTool is agenttool.New for a sub-agent whose model and tools see the label of each call, such as
// supervisor/refunds/call_7. An agent that is handed over to by transfer_to_agent needs none: the
// conversation goes on under its system prompt.
func NewAgentTool(sub agent.Agent, label string) tool.Tool {
	return labelled{agenttool.New(sub, nil).(agentTool), label}
}

// agentTool is what ADK calls a tool by.
type agentTool interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, arguments any) (map[string]any, error)
}

type labelled struct {
	agentTool
	label string
}

func (t labelled) ProcessRequest(_ agent.Context, request *model.LLMRequest) error {
	return toolutils.PackTool(request, t)
}

func (t labelled) Run(ctx agent.Context, arguments any) (map[string]any, error) {
	return t.agentTool.Run(withActor{ctx, proxy.WithActor(ctx, t.label+"/"+ctx.FunctionCallID())}, arguments)
}

// withActor is ADK's context with the values of another one.
type withActor struct {
	agent.Context
	values context.Context
}

func (c withActor) Value(key any) any { return c.values.Value(key) }
