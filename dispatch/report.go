package dispatch

import (
	"context"

	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy"
)

// reporting shows the calls of a run to the test kit that dispatched it, whatever context the agent
// calls with.
func reporting(sink *report.Sink) *proxy.Observer {
	return &proxy.Observer{CallStart: func(ctx context.Context, _ proxy.CallInfo) context.Context {
		return report.With(ctx, sink)
	}}
}
