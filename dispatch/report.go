package dispatch

import (
	"context"

	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/proxy"
)

// reporting shows the calls of a run to the test kit that dispatched it, whatever context the agent
// calls with.
type reporting struct{ sink *report.Sink }

// CallStart implements [proxy.Observer].
func (o reporting) CallStart(ctx context.Context, _ proxy.CallInfo) context.Context {
	return report.With(ctx, o.sink)
}

// CallEnd implements [proxy.Observer].
func (reporting) CallEnd(context.Context, proxy.CallEnd) {}
