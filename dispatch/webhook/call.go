package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolwire/toolwire/internal/observe"
)

// A Call describes the request that a tool runs for. [FromContext] returns it.
type Call struct {
	Tool string // the name of the tool

	// AgentID is the UUID from X-Agent-Identity, unchanged. With [Options.StandaloneHarness] it is
	// agent_id from the body: any string, or "". Every caller that has the secret can send any id.
	AgentID string

	// Reasoning is the model's reason for the call: the string as it is, or the JSON of any other
	// value. It is "" if there is none or if the tool declares reasoning as an argument.
	Reasoning string

	// Body is the whole request body: a JSON object, which contains the arguments. It must
	// not be modified.
	Body json.RawMessage
}

// NewContext returns a context with a call, for tests that run a tool without the handler.
func NewContext(ctx context.Context, call *Call) context.Context {
	return observe.With(ctx, call)
}

// FromContext returns the call in ctx. If there is none, it returns an empty Call, never nil. The
// Call must not be modified.
func FromContext(ctx context.Context) *Call {
	if call := observe.From[*Call](ctx); call != nil {
		return call
	}
	return &Call{}
}

// CallEnd describes a call of a known tool that has ended. It contains neither arguments nor the
// result.
type CallEnd struct {
	Tool      string
	AgentID   string
	Reasoning string        // as in [Call]; words of the model, which may repeat anything it knows
	Code      Code          // of the failure; "" for success
	Err       error         // an [*Error]; nil for success
	Duration  time.Duration // from the end of the request body to the end of the tool
}
