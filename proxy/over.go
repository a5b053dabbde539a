package proxy

import (
	"sync"
	"sync/atomic"
)

// ending is the end of a run, which happens once.
type ending struct {
	err atomic.Pointer[Error] // set when the proxy has said that the run is over

	mu   sync.Mutex
	wait chan struct{} // closed then; nil until a call waits
}

// done returns a channel that is closed at the end.
func (e *ending) done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wait == nil {
		e.wait = make(chan struct{})
		if e.err.Load() != nil {
			close(e.wait)
		}
	}
	return e.wait
}

// set records the end. It returns false if it was known.
func (e *ending) set(err *Error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.err.CompareAndSwap(nil, err) {
		return false
	}
	if e.wait != nil {
		close(e.wait)
	}
	return true
}

// endRun records that the proxy refused the run token with 401. The first call for a run calls
// Options.OnRunOver.
//
// Only the documented error classes say that the token itself has ended, for all clients that share
// its pacer. Any other 401 ends this run only.
func (r *run) endRun(refusal *Error) {
	if runOverClass(refusal.Class) {
		r.pacer.endToken(refusal)
	}
	if r.over.set(refusal) && r.onRunOver != nil {
		r.onRunOver(refusal)
	}
}

// overError returns the error of a request after the end of the run, or nil before it. number is
// the attempt's, from 1.
func (r *run) overError(req *request, number int) *Error {
	over := r.over.err.Load()
	if over == nil {
		if over = r.pacer.over.Load(); over == nil {
			return nil
		}
		r.endRun(over)
	}
	e := *over
	e.Tool, e.Delivery, e.Attempts = req.name, NotSent, number-1
	return &e
}
