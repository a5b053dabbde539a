package proxy

import "context"

type callIDKey struct{}

// WithCallID returns a context for one tool call that a model asked for. id is the id that the
// model gave the call. Observers receive it in [CallInfo], so that a transcript or a trace can name
// the call as the conversation does. The id is not sent to the proxy.
func WithCallID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

func callIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}
