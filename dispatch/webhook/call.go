package webhook

import (
	"context"
	"encoding/json"
	"time"
)

// A Call is what a request says beside the arguments. Its slices are the call's own.
type Call struct {
	Tool string // the name of the tool

	// AgentID is X-Agent-Identity, a UUID in the case in which it came; with [Options.IdentityFromBody] the agent_id of
	// the body, any text or "". Whoever has the secret can claim any identity.
	AgentID string

	// Reasoning is why the model called, as it says itself: a string as it is, anything else as JSON; "" when there is
	// none or when the tool declares it as an argument of its own.
	Reasoning string

	// Body is the whole body as it came: an object that has been read strictly.
	Body json.RawMessage
}

type contextKey struct{}

// NewContext returns a context that carries a call, to test tools without the handler.
func NewContext(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, contextKey{}, call)
}

// FromContext returns the call that ctx carries; an empty one if it carries none, never nil. It must not be changed.
func FromContext(ctx context.Context) *Call {
	if call, ok := ctx.Value(contextKey{}).(*Call); ok && call != nil {
		return call
	}
	return &Call{}
}

// A Record tells of one call of a known tool. It holds no arguments and no result.
type Record struct {
	Tool      string
	AgentID   string
	Reasoning string        // as in [Call]; the model's words, which may quote anything it knows
	Code      Code          // of the failure; "" for success
	Err       error         // an [*Error]; nil for success
	Duration  time.Duration // from the arrival of the body to the end of the tool
}
