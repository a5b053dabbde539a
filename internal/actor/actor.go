// Package actor keeps the label of a sub-agent in a context.
package actor

import "context"

type key struct{}

// With returns a context with the label of a sub-agent.
func With(ctx context.Context, label string) context.Context {
	return context.WithValue(ctx, key{}, label)
}

// From returns the label of the context, or "" if it has none.
func From(ctx context.Context) string {
	label, _ := ctx.Value(key{}).(string)
	return label
}
