package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// maxAtOnce is how many runs may be in progress: those are never dropped, so they must be bounded too.
const maxAtOnce = 32

var errBusy = errors.New("too many runs are in progress; wait until one has ended")

// runs are those that are kept, the latest last. It is safe for concurrent use.
type runs struct {
	ctx    context.Context // of the runs in progress
	base   string          // URL of the server
	keep   int             // runs that are over
	bounds bounds

	mu      sync.Mutex
	last    int
	kept    []*record
	pending sync.WaitGroup
}

// start dispatches a task and returns at once.
func (rs *runs) start(task task, world proxytest.World) (*record, error) {
	platform, err := proxytest.New(world, nil)
	if err != nil {
		return nil, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.ctx.Err() != nil {
		return nil, errors.New("the server is stopping")
	}
	busy := 0
	for _, r := range rs.kept {
		if !r.over() {
			busy++
		}
	}
	if busy >= maxAtOnce {
		return nil, errBusy
	}
	rs.last++
	r := newRecord(rs.last, task, platform, rs.bounds)
	rs.kept = append(rs.kept, r)
	rs.pending.Go(func() {
		r.dispatch(rs.ctx, rs.base)
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.drop()
	})
	return r, nil
}

// drop forgets the oldest runs that are over until few enough are kept. Those in progress do not count, so that the one
// that ends last is not the one to go. It needs rs.mu.
func (rs *runs) drop() {
	over := 0
	for _, r := range rs.kept {
		if r.over() {
			over++
		}
	}
	rs.kept = slices.DeleteFunc(rs.kept, func(r *record) bool {
		if over <= rs.keep || !r.over() {
			return false
		}
		over--
		return true
	})
}

// get returns a run; nil if there is none, or not any more.
func (rs *runs) get(id int) *record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	i := slices.IndexFunc(rs.kept, func(r *record) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return rs.kept[i]
}

// all returns the runs, the latest first.
func (rs *runs) all() []*record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	all := slices.Clone(rs.kept)
	slices.Reverse(all)
	return all
}

// wait returns when no run is in progress any more.
func (rs *runs) wait() { rs.pending.Wait() }
