package proxytest

import (
	"net/http"

	"github.com/toolwire/toolwire/internal/memhttp"
)

// NewTransport returns a transport that sends requests to a handler without a network, whatever
// host they name. The handler runs on its own goroutine with the request's context. When the
// context ends, the round trip fails at once. Requests and responses are buffered whole. A handler
// that panics with http.ErrAbortHandler breaks the connection: before its first write the round
// trip fails as after a reset, later the body ends with io.ErrUnexpectedEOF.
//
// It works in testing/synctest bubbles, where a client with a network transport hangs: a goroutine
// that waits for the network keeps the clock of the bubble from moving. So an agent that calls a
// model through an SDK needs it there: give the SDK an http.Client with NewTransport(model), where
// model is a handler that simulates the model's API. The transport is safe for concurrent use and
// does not need to be closed.
//
// If the handler is a [Platform] and the context of a request ends early, the platform has recorded
// the request before the round trip returns.
func NewTransport(handler http.Handler) http.RoundTripper {
	if platform, ok := handler.(*Platform); ok {
		return memhttp.NewArrivalTransport(platform)
	}
	return memhttp.NewTransport(handler)
}
