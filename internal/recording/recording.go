// Package recording passes the calls of a run's client to the recorder of package dispatch. It costs
// a dispatch no allocation, which a [proxy.Observer] would, and adds no exported name to proxy.
//
// [proxy.Observer]: https://pkg.go.dev/github.com/toolwire/toolwire/proxy#Observer
package recording

import (
	"context"
	"encoding/json"
)

// A Call describes a call as proxy.CallInfo does.
type Call struct {
	Tool, Actor, CallID string
	Arguments           json.RawMessage
}

// A Recorder is called for every call of a client, after its observers. It must be safe for
// concurrent use.
type Recorder interface {
	// Start returns the context for the call and End.
	Start(ctx context.Context, call Call) context.Context

	// End receives the result of the call, or its error, a *proxy.Error.
	End(ctx context.Context, response json.RawMessage, err error)
}

// Attach sets the recorder of a *proxy.Client and of all clients that are derived from it. The
// client must not be in use. Package proxy sets Attach.
var Attach func(client any, r Recorder)
