package proxy

import (
	"context"

	"github.com/toolwire/toolwire/internal/runctx"
)

// WithCallID returns a context for one tool call that a model asked for. id is the id that the
// model gave the call. Observers receive it in [CallInfo], so that a transcript or a trace names
// the call as the conversation does. The audit records of package manifest contain it, and OnCall
// of package toolbox receives it. The id is not sent to the proxy.
func WithCallID(ctx context.Context, id string) context.Context {
	return runctx.WithCallID(ctx, id)
}
