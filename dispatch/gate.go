package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate counts the runs in progress. The zero gate is open and has no limit.
type gate struct {
	mu     sync.Mutex
	limit  int // 0 is none
	inside int
	closed bool
	empty  chan struct{} // closed when the last run leaves a closed gate; nil until somebody waits
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.limit > 0 && g.inside >= g.limit {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// visit is one run in progress: its place in the gate and its use of the run token's state. The request and the agent hold
// it; the agent may outlive the answer.
type visit struct {
	gate    *gate
	holders atomic.Int32
	run     Run

	tokens *tokens
	token  *token // nil until the run token is known

	ctx    context.Context         // ends when the proxy says that the run is over; the agent's context is derived from it
	cancel context.CancelCauseFunc // ends ctx

	mu       sync.Mutex
	returned bool          // the agent has, and out is set
	done     chan struct{} // closed then; nil until the handler waits for it
	out      outcome
}

// newVisit returns a visit to a gate that has been entered, held once.
func newVisit(g *gate) *visit {
	v := &visit{gate: g}
	v.hold()
	return v
}

func (v *visit) hold() { v.holders.Add(1) }

func (v *visit) release() {
	if v.holders.Add(-1) > 0 {
		return
	}
	if v.token != nil {
		v.tokens.leave(v.token)
		v.cancel(nil)
	}
	v.gate.leave()
}

// Drain refuses new runs with 503 from now on and waits until those in progress have ended, or ctx has. It returns the
// cause of ctx in the latter case. Pings are still answered. Call it before the server's Shutdown.
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
