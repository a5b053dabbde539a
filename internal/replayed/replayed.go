// Package replayed lets the test kits keep the record of a run whose proxy is a tape. A tape answers
// requests itself, so the kit's proxy behind it does not see them.
//
// The kit puts a function into the context of every request to the proxy ([Watch]). The tape calls
// it with each answer of its own ([Tell]). The kit passes the request on to its proxy, with the
// answer in the context ([With]), and the proxy records the answer in place of making one ([From]).
package replayed

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/toolwire/toolwire/internal/observe"
)

// An Answer is what a tape has answered.
type Answer struct {
	Status int    // 0 if the agent got no response
	Body   []byte // empty if it is not known
	Broken string // why the response is not complete; "" if it is
}

type watcher func(r *http.Request, a Answer)

// Watch returns a handler that calls watch for each request that a tape below handler answers.
// watch is called before the agent has the answer.
func Watch(handler http.Handler, watch func(r *http.Request, a Answer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(observe.With(r.Context(), watcher(watch))))
	})
}

// Tell tells the kit about the answer to r, whose body has been read. Without a kit it does nothing.
func Tell(r *http.Request, body []byte, a Answer) {
	watch := observe.From[watcher](r.Context())
	if watch == nil {
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	watch(r, a)
}

// With returns a context with the answer to its request.
func With(ctx context.Context, a Answer) context.Context { return observe.With(ctx, &a) }

// From returns the answer of the context, or nil.
func From(ctx context.Context) *Answer { return observe.From[*Answer](ctx) }
