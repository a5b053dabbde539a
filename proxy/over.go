package proxy

// end records that the proxy refused the run token with 401. The first call of end for a run calls Options.OnRunOver.
//
// Only the documented error classes say that the token itself has ended, for all clients that share its pacer. Any other
// 401 ends this run only. A pacer without a limit may be shared by clients of several tokens, so it remembers nothing.
func (r *run) end(refusal *Error) {
	if runOverClass(refusal.Class) && !r.pacer.unlimited() {
		r.pacer.over.CompareAndSwap(nil, refusal)
	}
	if r.over.CompareAndSwap(nil, refusal) {
		close(r.overNow)
		if r.onRunOver != nil {
			r.onRunOver(refusal)
		}
	}
}

// overError returns the error of a request after the end of the run, or nil before it. number is the attempt's, from 1.
func (r *run) overError(req *request, number int) *Error {
	over := r.over.Load()
	if over == nil {
		if over = r.pacer.over.Load(); over == nil {
			return nil
		}
		r.end(over)
	}
	e := *over
	e.Tool, e.Outcome, e.Attempts = req.name, NotSent, number-1
	return &e
}
