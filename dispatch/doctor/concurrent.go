package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

const apartAdvice = "Make the agent and its tools inside the request handler, with the proxy URL and the run token of that request. " +
	"Keep neither in a global variable, a singleton or the environment."

// shared returns a finding if a dispatch had calls with the token or the proxy URL of another run,
// or nil.
func (c *checkup) shared(e *episode) *Finding {
	foreign := len(e.seen(func(q *request) bool { return !q.own })) > 0
	for _, call := range e.run.Log().Refused {
		foreign = foreign || call.ErrorClass == "run_token_invalid" // the token is right, but the path is not
	}
	var f Finding
	switch {
	case foreign:
		f = failed(apartAdvice, "a run called the proxy with the token or the URL of another run")
	case len(e.seen(isTool)) == 0 && len(toolCalls(c.setup.Run.Log())) > e.toFirst:
		f = failed(apartAdvice, "a later run called the proxy of the first run")
	default:
		return nil
	}
	f.Rule = rules[concurrentRuns].text
	return &f
}

// A trial is a dispatch whose results carry a mark, so that they are recognised where they turn up.
type trial struct {
	*episode
	mark   string
	inside bool // the mark is put into strings, if there are any

	mu     sync.Mutex
	marked bool // a result carries the mark
}

// newTrial returns a trial that is not dispatched. Each result waits for wait, and is then marked.
func (c *checkup) newTrial(inside bool, wait func()) *trial {
	t := &trial{mark: canary(), inside: inside}
	t.episode = &episode{alter: func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		wait()
		return &reply{result: func(q *request, result json.RawMessage) json.RawMessage {
			marked, ok := c.put(q, result, t.mark, inside)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.marked = t.marked || ok
			return marked
		}}
	}}
	return t
}

// start dispatches a trial. The returned function waits for its end, and panics as it did.
func (c *checkup) start(ctx context.Context, t *trial) (end func()) {
	var fault any
	var wait sync.WaitGroup
	wait.Go(func() {
		defer func() { fault = recover() }()
		c.dispatchAgain(ctx, t.episode)
	})
	return func() {
		if wait.Wait(); fault != nil {
			panic(fault)
		}
	}
}

// firstCall returns when the first tool call of a run arrived. It is zero if there was none.
func (t *trial) firstCall() time.Time {
	if calls := t.seen(isTool); len(calls) > 0 {
		return calls[0].at
	}
	return time.Time{}
}

// alone dispatches the sample once, with marked results. An agent that fails with them, or makes
// fewer calls, gets a mark beside the members that it knows. The endpoint is pinged while the first
// call waits.
func (c *checkup) alone(ctx context.Context) *trial {
	if c.single != nil {
		return c.single
	}
	t := c.dispatchAlone(ctx, true)
	if !t.result.WouldBeGraded() || len(t.seen(isTool)) < len(c.result.Calls) {
		if plain := c.dispatchAlone(ctx, false); plain.result.WouldBeGraded() {
			t = plain
		}
	}
	c.single = t
	c.visible = t.marked && shows(said(t.result), t.mark)
	return t
}

func (c *checkup) dispatchAlone(ctx context.Context, inside bool) *trial {
	called, pinged := newGate(), newGate()
	t := c.newTrial(inside, func() {
		called.open()
		pinged.wait(ctx)
	})
	t.answered = called.open
	end := c.start(ctx, t)
	<-called.opened
	if t.firstCall().IsZero() || len(c.target.Command) > 0 || !inside { // it is over, cannot be pinged, or was
		pinged.open()
		end()
		return t
	}
	answered := make(chan *answer, 1)
	go func() { answered <- c.send(ctx, probe{body: aPing, auth: c.setup.Target.AuthValue}) }()
	select {
	case a := <-answered:
		answered <- a
		pinged.open()
	case <-pinged.opened: // the call has been answered, and the ping has not
		c.busy = true
	}
	end()
	<-answered
	if c.busy { // unless pings are that slow now
		a := c.send(ctx, probe{body: aPing, auth: c.setup.Target.AuthValue})
		c.busy = a.ok() && a.took < patience/2
	}
	return t
}

// pair dispatches two trials, whose bodies are sent at the same time. Each run's
// first tool call waits for the first call of the other run.
func (c *checkup) pair(ctx context.Context) (runs [2]*trial) {
	connected, called := [2]*gate{newGate(), newGate()}, [2]*gate{newGate(), newGate()}
	serial := newGate() // opens once one of them has waited for long enough
	if c.busy {         // the second run begins after the first
		serial.open()
	}
	over := [2]*gate{newGate(), newGate()}
	var ends [2]func()
	for i := range runs {
		runs[i] = c.newTrial(c.single.inside, func() {
			called[i].open()
			serial.startWaiting()
			select {
			case <-called[1-i].opened:
			case <-serial.opened:
			case <-ctx.Done():
			}
		})
		runs[i].sending = func() {
			connected[i].open()
			connected[1-i].wait(ctx)
		}
		runs[i].answered = func() {
			over[i].open()
			connected[i].open()
			called[i].open()
			<-over[1-i].opened // its proxy stays, for calls of the other run
		}
	}
	for i, t := range runs {
		ends[i] = c.start(ctx, t)
	}
	for _, end := range ends {
		defer end()
	}
	return runs
}

// concurrent dispatches one run alone, and then two at the same time.
func (c *checkup) concurrent(ctx context.Context) Finding {
	if f := c.unplayable(true); f != nil {
		return *f
	}
	const sent = "a dispatch, and two dispatches at the same time, with their own run tokens and proxy URLs"
	t := c.alone(ctx)
	if f := c.shared(t.episode); f != nil {
		return c.note(concurrentRuns, *f, sent)
	}
	if f, is := c.unclear(t); is {
		return c.note(concurrentRuns, f, sent)
	}
	v := c.compare(c.pair(ctx))
	if v.repeat {
		broke, seen := v.broke, v.Seen
		if v = c.compare(c.pair(ctx)); broke && v.Status == StatusOK {
			v.Finding = warning("See the agent's log: do the two runs share something, or does it fail now and then?",
				"%s; two further runs did not fail", seen)
		}
	}
	return c.note(concurrentRuns, v.Finding, sent)
}

// A verdict is the finding about a pair of runs.
type verdict struct {
	Finding
	repeat bool // chance can have caused it, unless another pair has it too
	broke  bool // a run failed
}

// compare judges two runs at the same time.
func (c *checkup) compare(runs [2]*trial) (v verdict) {
	first, second := runs[0], runs[1]
	if second.firstCall().Before(first.firstCall()) {
		first, second = second, first
	}
	for _, t := range []*trial{first, second} {
		if f := c.shared(t.episode); f != nil {
			v.Finding = *f
			return v
		}
		for _, other := range []*trial{c.single, first, second} {
			if t != other && shows(said(t.result), other.mark) {
				v.Finding = failed(apartAdvice, "the answer of one run has the results of another")
				return v
			}
		}
	}
	moved, certain := c.moved(first, second)
	if moved {
		v.repeat = !certain
		v.Finding = failed(apartAdvice, "two runs at the same time called the proxy with the token and the URL of one of them")
		return v
	}
	for _, t := range []*trial{first, second} {
		switch status := t.result.Dispatch.Status; {
		case t.result.WouldBeGraded():
			continue
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			v.Finding = warning("Let the endpoint take as many runs as the platform dispatches at the same time.",
				"one of two runs at the same time was rejected with %d, so it is not known whether they keep apart", status)
			v.Rule, v.Severity = manyRuns, Inferred
		default:
			v.Finding = failed(apartAdvice, "one of two runs at the same time failed: %s", c.failure(t.result))
			v.repeat, v.broke = true, true
		}
		return v
	}
	v.Finding = c.simultaneous(first, second)
	v.repeat = !c.busy && v.Status == StatusWarning // a model may have thought for long
	return v
}

// moved reports whether calls of one run arrived as calls of the other one, and whether that is
// certain: a run that waits for its calls cannot send calls of the other one. Only an agent that
// made the same number of calls twice can be judged.
func (c *checkup) moved(a, b *trial) (moved, certain bool) {
	count := func(t *trial) int { return len(t.seen(isTool)) }
	n := count(c.single)
	if count(a) > count(b) {
		a, b = b, a
	}
	moved = n == len(toolCalls(&c.result.Log)) && count(a) < n && count(a)+count(b) == 2*n
	return moved, count(a) == 0 && b.most >= 2*c.single.most
}

const (
	manyRuns   = `No document says how many runs the platform dispatches at the same time.`
	busyAdvice = "Serve other requests while a run waits for a tool or a model: a call takes 3 to 20 s, and the platform pings before " +
		"each dispatch. In an async function, await an async client, or run the agent in a thread (in FastAPI, def instead of async def)."
)

// endsBefore reports whether all calls of a run were answered before the other one made a call. Two
// runs at the same time wait for each other.
func (t *trial) endsBefore(other *trial) bool {
	calls := other.seen(isTool)
	return len(calls) > 0 && len(t.seen(func(q *request) bool { return isTool(q) && q.answered > calls[0].arrived })) == 0
}

// simultaneous judges whether two runs that completed were at work at the same time.
func (c *checkup) simultaneous(first, second *trial) (f Finding) {
	switch none := first.firstCall().IsZero() || second.firstCall().IsZero(); {
	case c.busy:
		f = warning(busyAdvice, "the endpoint works on one run at a time: while a run waits for a tool, not even a ping is answered")
	case none:
		return noCall()
	case first.endsBefore(second):
		f = warning(busyAdvice, "the endpoint works on one run at a time: of two dispatches, the second run began when the first had ended")
	case !c.visible:
		return good("two runs at the same time keep their tokens and URLs apart; their answers do not show their results")
	default:
		return good("two runs at the same time keep their tokens, URLs and results apart")
	}
	f.Rule, f.Severity = manyRuns, Inferred
	return f
}

// unclear returns why nothing can be said about a dispatch that was to differ in its results only,
// or nil.
func (c *checkup) unclear(t *trial) (f Finding, is bool) {
	switch {
	case !t.result.WouldBeGraded():
		return skipped("", "one run alone fails when its results are marked, as their output_schema allows, so nothing is known: %s", c.failure(t.result)), true
	case t.firstCall().IsZero():
		return noCall(), true
	}
	return f, false
}
