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

// visit is one run in progress and its place in the gate, held by the request and by the agent, which may outlive the
// answer.
type visit struct {
	gate    *gate
	holders atomic.Int32
	run     Run
	done    chan outcome // has room for the one that is sent
}

// newVisit returns a visit to a gate that has been entered, held once.
func newVisit(g *gate) *visit {
	v := &visit{gate: g}
	v.hold()
	return v
}

func (v *visit) hold() { v.holders.Add(1) }

func (v *visit) release() {
	if v.holders.Add(-1) == 0 {
		v.gate.leave()
	}
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
