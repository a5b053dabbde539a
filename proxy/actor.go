package proxy

import (
	"context"

	"github.com/toolwire/toolwire/internal/runctx"
)

// WithActor returns a context in which calls are attributed to the sub-agent actorID, through any
// client that has no label of its own from [Client.As]. Use it if sub-agents share one client.
// Sub-agents that run in parallel each have their own context, so their labels do not get mixed up.
func WithActor(ctx context.Context, actorID string) context.Context {
	return runctx.WithActor(ctx, actorID)
}

func (c *Client) actorFor(ctx context.Context) string {
	if c.labelled {
		return c.actor
	}
	return runctx.Actor(ctx)
}

func (c *Client) checkActor(info CallInfo) *Error {
	err := c.actorErr
	if !c.labelled && info.Actor != "" {
		err = runctx.CheckActor(info.Actor)
	}
	if err != nil {
		return localError(codeActor, info.Tool, err)
	}
	return nil
}
