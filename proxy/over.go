package proxy

import "sync/atomic"

// runEnd is the error with which the proxy has said that the run is over, or nil.
type runEnd = atomic.Pointer[Error]

// endRun records that the proxy refused the run token with 401, and releases the requests that wait for
// the pacer. The first call for a run calls Options.OnRunOver.
func (r *run) endRun(refusal *Error) {
	first := r.over.CompareAndSwap(nil, refusal)
	r.pacer.endRun(&r.over, refusal)
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
		r.endRun(over)
	}
	e := *over
	e.Tool, e.Delivery, e.Attempts = req.name, NotSent, number-1
	return &e
}
