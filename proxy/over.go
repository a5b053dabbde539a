package proxy

import "sync/atomic"

// runOver is the error with which the proxy has said that the run is over, or nil.
type runOver = atomic.Pointer[Error]

// markOver records that the proxy refused the run token with 401, and releases the requests that wait for
// the pacer. The first call for a run calls Options.OnRunOver.
func (r *run) markOver(refusal *Error) {
	first := r.over.CompareAndSwap(nil, refusal)
	r.pacer.markOver(&r.over, refusal)
	if first && r.onRunOver != nil {
		r.onRunOver(refusal)
	}
}

// overError returns the error of a request after the end of the run, or nil before it. number is
// the attempt's, from 1.
func (r *run) overError(req *request, number int) *Error {
	over := r.over.Load()
	if over == nil {
		if over = r.pacer.over.Load(); over == nil {
			return nil
		}
		r.markOver(over)
	}
	e := *over
	e.Tool, e.Delivery, e.Attempts = req.name, NotSent, number-1
	return &e
}
