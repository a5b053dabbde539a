package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// A Pacer keeps the requests of one run token below a limit in every window of time, as the server
// sees them. The window slides, because a token bucket would admit nearly twice the limit in one
// window. Requests that wait are admitted in the order in which they came. A Pacer is safe for
// concurrent use. A nil *Pacer is not usable.
//
// A request occupies its place from its admission until one window after the server must have seen
// it. The server must have seen it when the answer begins, or two seconds after the request was
// written, whichever is earlier. Requests that overtake each other in the network therefore do not
// break the limit. A request that was certainly not sent releases its place at once.
//
// A Pacer also remembers that the proxy has refused the run token for good. Every client that
// shares it then fails with [toolwire.CodeRunOver] without a request. A Pacer without a limit does not
// remember it.
//
// The zero Pacer applies the documented limit of 60 requests in any 60 seconds. A Pacer must not be
// copied.
type Pacer struct {
	limit  int
	window time.Duration

	mu          sync.Mutex
	taken       []slot // in the order of admission; at most limit
	queue       []*waiter
	pausedUntil time.Time // no request is admitted before, because the server has answered 429
	timer       *time.Timer

	over atomic.Pointer[Error] // set once the proxy has refused the token
}

const (
	// networkDelay is the time within which a written request is assumed to arrive.
	networkDelay = 2 * time.Second
	// clockSlack keeps requests away from the edge of a window, which a server may count either way.
	clockSlack = 50 * time.Millisecond
)

// NewPacer returns a pacer that admits at most limit requests in any window. A limit or
// window of 0 or less means no limit.
func NewPacer(limit int, window time.Duration) *Pacer {
	if limit <= 0 || window <= 0 {
		limit = math.MaxInt
	}
	return &Pacer{limit: limit, window: window}
}

type waiter struct {
	run   *runOver
	ready chan struct{} // closed when place is set, or when the run is over
	place *place        // nil if the run is over
	due   time.Duration // the shortest possible wait
}

// slot is the share of one request in the window. The pacers of thousands of runs are kept while
// they are idle, so a slot of a request that was answered has no place.
type slot struct {
	place   *place    // nil once the server is known to have seen the request
	expires time.Time // zero while unknown
}

// place is a request as it takes a slot. Its methods may be called in any order and more than once.
type place struct {
	p      *Pacer
	sentAt time.Time // zero until written
}

var (
	errWaitTooLong = earlyError{errors.New("the rate limit of the run token leaves no room before the deadline")}
	errRunOver     = errors.New("the run is over")
)

// wait returns when the waiter's request may be sent, or must not be sent. When ctx ends, it removes
// the waiter from the queue. The error is errRunOver if the run is over.
func (p *Pacer) wait(ctx context.Context, w *waiter) (*place, error) {
	select {
	case <-w.ready:
		if w.place == nil {
			return nil, errRunOver
		}
		return w.place, nil
	case <-ctx.Done():
		p.leave(w)
		return nil, httpcall.ContextError(ctx)
	}
}

// leave removes the waiter of a request that will not be sent.
func (p *Pacer) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place != nil { // it was admitted at the same moment
		p.remove(w.place)
	} else {
		p.queue = slices.DeleteFunc(p.queue, func(q *waiter) bool { return q == w })
	}
	p.grant(time.Now())
}

// enqueue returns a place for a request of a run if one is free, or else a waiter for one. It returns
// errWaitTooLong if no place can become free before the deadline of ctx.
func (p *Pacer) enqueue(ctx context.Context, run *runOver) (*place, *waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit == 0 {
		p.limit, p.window = defaultPaceLimit, defaultPaceWindow
	}
	if p.over.Load() != nil || run.Load() != nil {
		return nil, nil, errRunOver
	}
	now := time.Now()
	p.expire(now)
	if len(p.queue) == 0 && len(p.taken) < p.limit && !now.Before(p.pausedUntil) {
		return p.take(), nil, nil
	}
	at := p.earliest(now)
	if deadline, ok := ctx.Deadline(); ok && at.After(deadline) {
		wait := at.Sub(now).Round(time.Millisecond)
		return nil, nil, fmt.Errorf("%w: the next free place is in %s", errWaitTooLong, wait)
	}
	w := &waiter{run: run, ready: make(chan struct{}), due: at.Sub(now)}
	p.queue = append(p.queue, w)
	p.schedule(now)
	return nil, w, nil
}

// markOver releases the waiters of a run that is over. If the documented error classes say that the token
// itself has ended, it releases all waiters and records the end, for all clients that share the pacer. A
// pacer without a limit may be shared by clients of several tokens, so it does not record it.
func (p *Pacer) markOver(run *runOver, refusal *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := httpcall.RunOver(refusal.Class) && p.limit != math.MaxInt
	if token {
		p.over.CompareAndSwap(nil, refusal)
	}
	p.queue = slices.DeleteFunc(p.queue, func(w *waiter) bool {
		over := token || w.run == run
		if over {
			close(w.ready)
		}
		return over
	})
	p.schedule(time.Now())
}

// pause admits no request for d. The server has answered 429, so its window is fuller than this one.
func (p *Pacer) pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := time.Now().Add(d); until.After(p.pausedUntil) {
		p.pausedUntil = until
	}
	p.grant(time.Now())
}

// Written implements httpcall.Progress.
func (pl *place) Written() {
	pl.update(func(s *slot, now time.Time) {
		pl.sentAt = now
		s.seen(now.Add(networkDelay), pl.p.window)
	})
}

// Answered implements httpcall.Progress.
func (pl *place) Answered() {
	pl.update(func(s *slot, now time.Time) {
		s.place = nil
		seen := now
		if latest := pl.sentAt.Add(networkDelay); !pl.sentAt.IsZero() && latest.Before(now) {
			seen = latest
		}
		s.seen(seen, pl.p.window)
	})
}

// lost is called for a request without an answer. The request may still arrive.
func (pl *place) lost() {
	pl.update(func(s *slot, now time.Time) {
		if pl.sentAt.IsZero() {
			pl.sentAt = now
			s.seen(now.Add(networkDelay), pl.p.window)
		}
	})
}

// seen sets when the slot expires, from when the server has seen the request.
func (s *slot) seen(at time.Time, window time.Duration) { s.expires = at.Add(window + clockSlack) }

// release gives back the place of a request that was certainly not sent.
func (pl *place) release() {
	pl.p.mu.Lock()
	defer pl.p.mu.Unlock()
	pl.p.remove(pl)
	pl.p.grant(time.Now())
}

// update records in the slot of the place that something happened now. A place without a slot was
// given back or answered, or its pacer has no limit.
func (pl *place) update(set func(s *slot, now time.Time)) {
	p := pl.p
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.taken, func(s slot) bool { return s.place == pl })
	if i < 0 {
		return
	}
	now := time.Now()
	set(&p.taken[i], now)
	p.grant(now)
}

// The functions below must be called with p.mu held.

func (p *Pacer) take() *place {
	pl := &place{p: p}
	if p.limit != math.MaxInt {
		p.taken = append(p.taken, slot{place: pl})
	}
	return pl
}

func (p *Pacer) remove(pl *place) {
	p.taken = slices.DeleteFunc(p.taken, func(s slot) bool { return s.place == pl })
}

func (p *Pacer) expire(now time.Time) {
	p.taken = slices.DeleteFunc(p.taken, func(s slot) bool { return !s.expires.IsZero() && !s.expires.After(now) })
}

// grant admits waiters while there is room, and sets the timer for its next call.
func (p *Pacer) grant(now time.Time) {
	if len(p.queue) == 0 {
		p.schedule(now)
		return
	}
	p.expire(now)
	for len(p.queue) > 0 && len(p.taken) < p.limit && !now.Before(p.pausedUntil) {
		w := p.queue[0]
		p.queue = slices.Delete(p.queue, 0, 1)
		w.place = p.take()
		close(w.ready)
	}
	p.schedule(now)
}

// schedule sets the timer to the next time at which a request may be admitted without another
// event. If the queue is empty, there is no timer, so an unused pacer costs nothing.
func (p *Pacer) schedule(now time.Time) {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if len(p.queue) == 0 {
		return
	}
	at := p.pausedUntil
	if len(p.taken) >= p.limit {
		first := time.Time{}
		for _, s := range p.taken {
			if !s.expires.IsZero() && (first.IsZero() || s.expires.Before(first)) {
				first = s.expires
			}
		}
		if first.IsZero() {
			return // all requests are on their way; their answers will call grant
		}
		if first.After(at) {
			at = first
		}
	}
	p.timer = time.AfterFunc(max(0, at.Sub(now)), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.grant(time.Now())
	})
}

// earliest returns a lower bound for the admission of a request that joins the queue now. Every
// place is used in turn, and again a window later. A request on its way may be answered at any
// moment, or may not have been sent.
func (p *Pacer) earliest(now time.Time) time.Time {
	from := now
	if p.pausedUntil.After(from) {
		from = p.pausedUntil
	}
	ends := make([]time.Time, len(p.taken))
	for i, s := range p.taken {
		ends[i] = from
		end := now
		switch {
		case s.place == nil:
			end = s.expires
		case !s.place.sentAt.IsZero():
			end = now.Add(p.window)
			if s.expires.Before(end) {
				end = s.expires
			}
		}
		if end.After(from) {
			ends[i] = end
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	round, turn := len(p.queue)/p.limit, len(p.queue)%p.limit
	at := from // of the places that are free
	if free := p.limit - len(p.taken); turn >= free {
		at = ends[turn-free]
	}
	return at.Add(time.Duration(round) * p.window)
}
