package recipe

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"

	"github.com/toolwire/toolwire/proxy"
)

// NewAgentTool is adk.NewAgentTool for a sub-agent whose model and tools see the label of each call, such as
// supervisor/refunds/call_7.
func NewAgentTool(ctx context.Context, sub adk.Agent, label string) tool.BaseTool {
	return labelled{adk.NewAgentTool(ctx, sub).(tool.InvokableTool), label}
}

type labelled struct {
	tool.InvokableTool
	label string
}

func (t labelled) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	ctx = proxy.WithActor(ctx, t.label+"/"+compose.GetToolCallID(ctx))
	return t.InvokableTool.InvokableRun(ctx, arguments, opts...)
}
