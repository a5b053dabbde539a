package proxy

import (
	"context"
	"encoding/json"
	"time"
)

// An Observer is called at the start and the end of every tool call, for metrics, spans or a
// transcript. A call of several attempts has one start and one end. The methods are called on the
// goroutine of the call, and must be safe for concurrent use.
type Observer interface {
	// CallStart returns the context for the call, its requests and CallEnd: ctx, or one derived
	// from it.
	CallStart(ctx context.Context, call CallInfo) context.Context

	// CallEnd receives the result or the error of the call.
	CallEnd(ctx context.Context, call CallEnd)
}

// CallInfo describes a call. Arguments are the caller's data: an observer must not change them, and
// they may be confidential.
type CallInfo struct {
	Tool  string
	Actor string // the sub-agent's label; "" for none

	// CallID is the id that the model gave the call, from [WithCallID]; "" if the context has none.
	CallID string

	// Arguments are what the caller passed, as JSON. Raw JSON is unchanged, and so may be malformed
	// if a model wrote it. If a Go value cannot be written as a JSON object, Arguments is nil.
	Arguments json.RawMessage
}

// CallEnd describes the end of a call. An observer must not change Result, which belongs to the
// caller, as Arguments do.
type CallEnd struct {
	CallInfo
	Result   *Result       // nil if Err is not nil
	Err      error         // an [*Error], or nil
	Duration time.Duration // of the whole call, including waits
}
