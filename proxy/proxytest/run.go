package proxytest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
)

// A Run is a run on the platform: its credentials, its ledger and its log. It is safe for
// concurrent use.
type Run struct {
	ID    string // decimal
	Path  string // of the proxy base URL: /api/odyssey-proxy/runs/{id}
	Token string // the run token, made at random
	JTI   string // the token's id

	platform *Platform
	number   int64
	state    *ledger.State

	// ledgerTurn holds a token while a behavior uses the ledger. It is not a mutex, because a
	// goroutine that waits for a mutex keeps the clock of a synctest bubble from moving.
	ledgerTurn chan struct{}

	// invented are the values that were made up for entities, by "order/4521/total". The holder of
	// ledgerTurn may use it.
	invented map[string]any

	mu       sync.Mutex
	over     string // the error class with which the token is refused; "" while the run lasts
	log      Log
	order    int            // of the last arrival or answer
	pending  map[int]Call   // requests that have arrived and are not answered, by their order
	sequence int64          // of the last call or trace event that was accepted
	times    []time.Time    // of the requests accepted in the last minute
	asked    int            // requests for tools
	counts   map[string]int // calls by tool
	matched  []int          // requests that each failure rule could apply to
	attempts map[string]int // requests so far of calls that may be repeated
}

// Client returns a client of the run that needs no network. opts sets its options, except for the
// transport. If opts is nil, all options have their defaults. Client panics if opts is not valid.
//
// The client keeps the platform's limit of 60 requests per minute: the 61st call in a minute waits.
// A platform with RatePerMinute -1 makes clients without a limit. If [NewPlatform] made the
// platform, waits are shown in the test's output.
func (r *Run) Client(opts *proxy.Options) *proxy.Client {
	var o proxy.Options
	if opts != nil {
		o = *opts
	}
	o.Transport = NewTransport(r.platform)
	if o.Pacer == nil && r.platform.rate < 0 {
		o.Pacer = proxy.NewPacer(0, 0)
	}
	c, err := proxy.New("http://proxy.test"+r.Path, r.Token, &o)
	if err != nil {
		panic("proxytest: Run.Client: " + err.Error())
	}
	if r.platform.output != nil {
		return c.Observe(r.platform.showing())
	}
	return c
}

// Ledger returns the run's ledger. It may be read and changed at any time, for example between two
// turns.
func (r *Run) Ledger() *ledger.State { return r.state }

// End ends the run: later requests with its token are refused with 401 and the class. If class is
// "", it is run_token_expired. The other classes of the platform are run_token_invalid and
// run_token_rejected.
func (r *Run) End(class string) {
	if class == "" {
		class = httpcall.RunTokenExpired
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = class
}

// Log returns a copy of what has happened so far.
func (r *Run) Log() *Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log.copy(r.platform.world.before, r.state.Snapshot())
	log.declared = r.platform.declared()
	for _, order := range slices.Sorted(maps.Keys(r.pending)) {
		call := r.pending[order]
		call.Reason = notAnswered
		log.Refused = append(log.Refused, call)
	}
	return log
}

// next reserves the next place in the order of the run's events. It places what happens beside the requests
// to the proxy, such as requests to a model.
func (r *Run) next() timeline.Order {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order++
	return timeline.Order(r.order)
}

var _ = hook.Set((*Run).next)

// isOver reports whether the token is refused.
func (r *Run) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over != ""
}

// exceeds counts a request for a tool, and ends the run if it is one more than the run may make.
func (r *Run) exceeds(limit runctx.CallLimit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked++; limit == 0 || r.asked <= int(limit) {
		return false
	}
	r.over = httpcall.RunTokenExpired
	return true
}

// admit counts the request against the run's limit, in a sliding window.
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
		return http.StatusTooManyRequests, "rate_limited",
			"the run token has made more requests than it may make in 60 seconds; wait before the next one"
	}
	r.times = append(r.times, now)
	return 0, "", ""
}

// arrive records the arrival of a request: its place among all events, and which attempt of its
// call it is. It comes before anything that can take time.
func (r *Run) arrive(call *Call, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order++
	call.Order, call.Attempt = r.order, r.attempts[key]+1
	r.pending[call.Order] = *call
}

// answered records the answer to a request. The caller holds r.mu.
func (r *Run) answered(call *Call) {
	delete(r.pending, call.Order)
	r.order++
	call.answered = r.order
}

// forget removes a request that the log does not have.
func (r *Run) forget(order int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, order)
}

func (r *Run) count(tool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[tool]++
	return r.counts[tool]
}

// finish records a request that has been answered, or will not be. Only a call with a result has the status 200.
func (r *Run) finish(call Call, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered(&call)
	switch call.Status {
	case http.StatusOK:
		delete(r.attempts, key)
		r.sequence++
		call.Sequence = r.sequence
		r.log.Calls = append(r.log.Calls, call)
		return
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.attempts[key] = call.Attempt
	default:
		delete(r.attempts, key)
	}
	r.log.Refused = append(r.log.Refused, call)
}

func (r *Run) addFault(fault string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Faults = append(r.log.Faults, fault)
}

// acceptTrace records a trace event, or a telemetry span.
func (r *Run) acceptTrace(call Call, telemetry bool) (sequence int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered(&call)
	r.sequence++
	t := Trace{
		Event: proxy.Event(call.Tool), Actor: call.Actor, Payload: call.Arguments, At: call.At, Order: call.Order,
		Sequence: r.sequence,
	}
	if !telemetry {
		r.log.Traces = append(r.log.Traces, t)
		return t.Sequence
	}
	t.Event = proxy.Event(rawjson.Unquote(member(call.Arguments, "kind")))
	t.Actor = cmp.Or(rawjson.Unquote(member(call.Arguments, "actor_id")), t.Actor)
	r.log.Telemetry = append(r.log.Telemetry, t)
	return t.Sequence
}

// String returns the path of the run. Without it, printing a run would read what its calls change.
func (r *Run) String() string { return r.Path }
