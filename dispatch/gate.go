package dispatch

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/observe"
	"github.com/toolwire/toolwire/internal/runner"
)

// gate counts the runs in progress and the bytes of their bodies. The zero gate accepts any number
// of runs without a body.
type gate struct {
	mu        sync.Mutex
	limit     int // runs; 0 means that there is no limit
	inside    int
	byteLimit int64
	bytes     int64
	closed    bool
	empty     chan struct{} // closed when the last run leaves a closed gate; nil until a Drain waits
}

// Why the gate refuses a run.
var (
	errDraining = &Error{Code: CodeBusy, Message: "the agent is shutting down"}
	errRuns     = &Error{Code: CodeBusy, Message: "too many runs at once"}
	errBytes    = &Error{Code: CodeBusy, Message: "too many bytes of dispatches at once"}
)

// enter takes a place for a run and room for the bytes of its body. It returns nil, or the reason
// for rejecting the run.
func (g *gate) enter(bytes int64) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errDraining
	case g.limit > 0 && g.inside >= g.limit:
		return errRuns
	case bytes > g.byteLimit-g.bytes:
		return errBytes
	}
	g.inside++
	g.bytes += bytes
	return nil
}

// expand takes room for more bytes of a run that has entered.
func (g *gate) expand(more int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if more > g.byteLimit-g.bytes {
		return false
	}
	g.bytes += more
	return true
}

func (g *gate) leave(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.bytes -= bytes
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// visit is one run in progress: its place in the gate and its use of the run token's state. The
// request and the agent hold it; the agent may outlive the answer.
type visit struct {
	gate    *gate
	bytes   int64 // of the body, for which there is room in the gate
	holders atomic.Int32
	run     Run
	record  recorder

	tokens *tokens
	token  *token // nil until the run token is known

	ctx     context.Context // of the request; the agent's context is derived from it
	kept    observe.Kept
	handler *Handler
	call    runner.Call[outcome] // of the agent
}

// newVisit returns a visit to a gate that has been entered, held once.
func newVisit(g *gate) *visit {
	v := &visit{gate: g}
	v.hold()
	return v
}

func (v *visit) hold() { v.holders.Add(1) }

// room reports whether the visit has room for n bytes, and takes it. It must not be called after
// the body was read.
func (v *visit) room(n int64) bool {
	if n <= v.bytes {
		return true
	}
	ok := v.gate.expand(n - v.bytes)
	if ok {
		v.bytes = n
	}
	return ok
}

func (v *visit) release() {
	if v.holders.Add(-1) > 0 {
		return
	}
	if v.token != nil {
		v.tokens.leave(v.token)
	}
	v.gate.leave(v.bytes)
}

// Drain rejects new runs with 503 and waits until the runs in progress have ended. If ctx ends
// first, Drain returns its cause. Pings are still answered. Call Drain before Shutdown of the
// server.
func (h *Handler) Drain(ctx context.Context) error {
	g := &h.gate
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
