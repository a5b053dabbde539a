package memhttp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/toolwire/toolwire/internal/runctx"
)

// Replayed is the answer of a tape. A tape answers requests itself, so the kit's proxy behind it does
// not see them. The kit therefore puts a function into the context of every request to the proxy
// ([WatchReplays]). The tape calls it with each answer of its own ([TellReplay]). The kit passes the
// request on to its proxy with the answer in the context ([WithReplayed]), and the proxy records that
// answer in place of making one ([ReplayedFrom]).
type Replayed struct {
	Status int    // 0 if the agent got no response
	Body   []byte // empty if it is not known
	Broken string // why the response is not complete; "" if it is
}

type replayWatcher func(r *http.Request, a Replayed)

// WatchReplays returns a handler that calls watch for each request that a tape below handler answers.
// watch is called before the agent has the answer.
func WatchReplays(handler http.Handler, watch func(r *http.Request, a Replayed)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(runctx.With(r.Context(), replayWatcher(watch))))
	})
}

// TellReplay tells the kit about the answer to r, whose body has been read. Without a kit it does nothing.
func TellReplay(r *http.Request, body []byte, a Replayed) {
	watch := runctx.From[replayWatcher](r.Context())
	if watch == nil {
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	watch(r, a)
}

// WithReplayed returns a context with the answer to its request.
func WithReplayed(ctx context.Context, a Replayed) context.Context { return runctx.With(ctx, &a) }

// ReplayedFrom returns the answer of the context, or nil.
func ReplayedFrom(ctx context.Context) *Replayed { return runctx.From[*Replayed](ctx) }
