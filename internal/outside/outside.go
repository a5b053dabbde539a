// Package outside counts the requests to models that have no run in their context, because the agent
// did not pass its context on. Package llm counts them, and package dispatchtest shows them.
package outside

import (
	"context"
	"log/slog"
	"sync/atomic"
)

var requests atomic.Int64

// Count counts a request. The first one is logged.
func Count(ctx context.Context) {
	if requests.Add(1) == 1 {
		slog.WarnContext(ctx, "a request to a model has no run in its context, so the transcript lacks it, and it does not "+
			"end with the run; pass the context of the agent to the SDK")
	}
}

// Requests returns how many requests were counted.
func Requests() int64 { return requests.Load() }
