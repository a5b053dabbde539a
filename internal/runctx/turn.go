package runctx

import (
	"context"
	"sync/atomic"
)

type callID string

// WithCallID returns a context with the id that a model gave a call.
func WithCallID(ctx context.Context, id string) context.Context {
	return With(ctx, callID(id))
}

// CallID returns the id of the context, or "" if it has none.
func CallID(ctx context.Context) string { return string(From[callID](ctx)) }

// A Turn stands for one message of a model. Its tool calls belong together, even if one of them
// ends before another begins.
type Turn struct{ _ byte } // not empty, so that pointers differ

type turnIndex struct {
	turn  *Turn
	index int
	taken atomic.Bool
}

// WithTurn returns a context for the tool call of a turn that has this index in it.
func WithTurn(ctx context.Context, turn *Turn, index int) context.Context {
	return With(ctx, &turnIndex{turn: turn, index: index})
}

// TakeTurn returns the turn that a call with the context belongs to, and its index in it. It does so
// once for a context of [WithTurn]: later calls do not come from the model's turn, but for example
// from a sub-agent that runs as one of its tools. If there is no turn, it returns nil.
func TakeTurn(ctx context.Context) (turn *Turn, index int) {
	p := From[*turnIndex](ctx)
	if p == nil || p.taken.Swap(true) {
		return nil, 0
	}
	return p.turn, p.index
}

// TurnOf returns the turn that a context was made for, and the index, whether or not a call has
// taken it.
func TurnOf(ctx context.Context) (turn *Turn, index int) {
	p := From[*turnIndex](ctx)
	if p == nil {
		return nil, 0
	}
	return p.turn, p.index
}
