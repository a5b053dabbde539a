package proxytest

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
)

// Run is one run's side of the platform: its credentials and what happened in it. It is safe for concurrent use.
type Run struct {
	ID    string // decimal
	Path  string // of the proxy base URL: /api/odyssey-proxy/runs/{id}
	Token string `json:"-"` // the run token, a secret as on the platform
	JTI   string // the token's id

	platform *Platform
	number   int64
	state    *ledger.State

	// ledgerTurn holds a token while a behavior uses the ledger. It is no mutex, because a goroutine that waits for a
	// mutex keeps the clock of a synctest bubble from moving.
	ledgerTurn chan struct{}

	mu       sync.Mutex
	over     string // the error class that the token is refused with; "" while the run lasts
	record   Record
	order    int            // of the last arrival or answer
	pending  map[int]Call   // that have arrived and are not answered, by their order
	sequence int64          // of the last call or trace event that was accepted
	times    []time.Time    // of the requests accepted in the last minute
	counts   map[string]int // calls by tool
	matched  []int          // requests that each failure rule could apply to
	attempts map[string]int // requests so far of calls that may be repeated
}

// Client returns a client of the run that needs no network. It has the options opts, which may be nil, except for the
// transport. It panics if they are not valid.
//
// The client keeps the platform's limit of 60 requests per minute: the 61st call in a minute waits. A platform with
// RatePerMinute -1 makes clients without a limit. If [NewPlatform] made the platform, waits are shown in the test's
// output.
func (r *Run) Client(opts *proxy.Options) *proxy.Client {
	var o proxy.Options
	if opts != nil {
		o = *opts
	}
	o.Transport = r.platform.Transport()
	if o.Pacer == nil && r.platform.rate < 0 {
		o.Pacer = proxy.NewPacer(0, 0)
	}
	c, err := proxy.New("http://proxy.test"+r.Path, r.Token, &o)
	if err != nil {
		panic("proxytest: Run.Client: " + err.Error())
	}
	if r.platform.output != nil {
		return c.Observe(showing{r.platform})
	}
	return c
}

// Ledger returns the run's ledger, which may be read and changed at any time: between two turns, for example.
func (r *Run) Ledger() *ledger.State { return r.state }

// End ends the run: from now on its token is refused with 401 and the class, run_token_expired if class is "". The other
// classes of the platform are run_token_invalid and run_token_rejected.
func (r *Run) End(class string) {
	if class == "" {
		class = "run_token_expired"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = class
}

// Calls returns the calls that have been answered with a result so far, in that order.
func (r *Run) Calls() []Call { return r.Record().Calls }

// Traces returns the run's trace events so far, in the order of their sequence numbers.
func (r *Run) Traces() []Trace { return r.Record().Traces }

// Record returns what has happened so far. It is a copy; the next event is not in it.
func (r *Run) Record() *Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.record.copy(r.platform.world.before, r.state.Snapshot())
	for _, order := range slices.Sorted(maps.Keys(r.pending)) {
		call := r.pending[order]
		call.Reason = "not answered yet"
		record.Refused = append(record.Refused, call)
	}
	return record
}

// isOver reports whether the token is refused.
func (r *Run) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over != ""
}

// admit counts the request against the run's limit: a window that slides.
func (r *Run) admit(rate int, now time.Time) (status int, class, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != "" {
		return http.StatusUnauthorized, r.over, "the run is over"
	}
	for len(r.times) > 0 && now.Sub(r.times[0]) >= time.Minute {
		r.times = r.times[1:]
	}
	if rate > 0 && len(r.times) >= rate {
		return http.StatusTooManyRequests, "rate_limited", "more requests in 60 seconds than the run token may make"
	}
	r.times = append(r.times, now)
	return 0, "", ""
}

// arrive records that the request is there, before anything about it can take time: which attempt it is of its call, and
// its place among what happens.
func (r *Run) arrive(call *Call, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order++
	call.Order, call.Attempt = r.order, r.attempts[key]+1
	r.pending[call.Order] = *call
}

// answered ends the wait of a request. It needs r.mu.
func (r *Run) answered(call *Call) {
	delete(r.pending, call.Order)
	r.order++
	call.answered = r.order
}

func (r *Run) count(tool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[tool]++
	return r.counts[tool]
}

// accept records a call that is answered with a result.
func (r *Run) accept(call Call, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.attempts, key)
	r.sequence++
	call.Sequence = r.sequence
	r.answered(&call)
	r.record.Calls = append(r.record.Calls, call)
}

// refuse records a request that gets no result.
func (r *Run) refuse(call Call, key string, fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if call.Status == 0 || call.Status == http.StatusTooManyRequests || call.Status == http.StatusServiceUnavailable {
		r.attempts[key] = call.Attempt
	} else {
		delete(r.attempts, key)
	}
	r.answered(&call)
	r.record.Refused = append(r.record.Refused, call)
	if fault != "" {
		r.record.Faults = append(r.record.Faults, fault)
	}
}

func (r *Run) addFault(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Faults = append(r.record.Faults, fault)
}

func (r *Run) acceptTrace(call Call, t Trace) (sequence int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	t.Sequence, t.Order = r.sequence, call.Order
	r.answered(&call)
	r.record.Traces = append(r.record.Traces, t)
	return t.Sequence
}
