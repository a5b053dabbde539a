package proxy

import (
	"context"
	"encoding/json"
	"time"
)

// An Observer sees the beginning and the end of every tool call: enough for metrics, spans or a
// transcript. One call is one pair, however many attempts it takes. Methods are called on the
// goroutine of the call and must be safe for concurrent use.
type Observer interface {
	// CallStart may return a context with more in it; the call, its requests and CallEnd get it.
	CallStart(ctx context.Context, call CallInfo) context.Context
	CallEnd(ctx context.Context, call CallEnd)
}

// CallInfo says what is called. Arguments are the caller's data: an observer must not change them,
// and should think before it writes them anywhere.
type CallInfo struct {
	Tool  string
	Actor string // the sub-agent's label; "" for none

	// CallID is the id that the model gave the call, from [WithCallID]; "" if the context has none.
	CallID string

	// Arguments are what the caller passed, as JSON. Raw JSON is here as it is, also if it is
	// malformed, which the text of a model may be. nil if a Go value cannot be written as a JSON
	// object.
	Arguments json.RawMessage
}

// CallEnd is how a call went. Result is the caller's data, as Arguments are.
type CallEnd struct {
	CallInfo
	Result   *Result       // nil when Err is not
	Err      error         // an [*Error], or nil
	Duration time.Duration // of the whole call, waits included
}
