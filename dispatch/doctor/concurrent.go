package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const apartAdvice = "Make the agent and its tools inside the request handler, with the proxy URL and the run token of that request. " +
	"Keep neither in a global variable, a singleton or the environment."

// shared returns a finding if a dispatch had calls with the token or the proxy URL of another run, or
// shows what only another run was told, or nil.
func (c *checkup) shared(sample, e *episode) *Finding {
	foreign := len(e.seen(func(q *request) bool { return !q.own })) > 0
	for _, call := range e.run.Log().Refused {
		foreign = foreign || call.ErrorClass == httpcall.RunTokenInvalid // the token is right, but the path is not
	}
	var f Finding
	switch {
	case foreign:
		f = failed(apartAdvice, "a run called the proxy with the token or the URL of another run").by(apart)
	case len(e.seen(isTool)) == 0 && len(toolCalls(sample.run.Log())) > e.toFirst:
		f = failed(apartAdvice, "a later run called the proxy of the first run").by(apart)
	case slices.ContainsFunc(c.dispatched, func(other *episode) bool {
		return other != e && other.conversation == nil && other.mark != "" && shows(said(e.result), other.mark)
	}):
		f = failed(apartAdvice, "the answer of one run has the results of another").by(apart)
	default:
		return nil
	}
	return &f
}

// answeredElsewhere returns the name of a tool that the sample called, and that a dispatch has called by
// its messages, though no call arrived at the proxy. It returns "" if there is none.
func (c *checkup) answeredElsewhere(sample, e *episode) string {
	if len(e.seen(isTool)) > 0 {
		return ""
	}
	for _, m := range e.result.Messages {
		for _, call := range m.ToolCalls {
			if slices.ContainsFunc(sample.result.Calls, func(made proxytest.Call) bool { return made.Tool == call.Name }) {
				return call.Name
			}
		}
	}
	return ""
}

// marked returns an episode whose results carry a mark, so that they are recognised where they turn up.
// Each result waits for wait first. If inside is true, the mark is put into strings, if there are any.
func (c *checkup) marked(inside bool, wait func()) *episode {
	e := &episode{mark: canary(), inside: inside}
	e.alter = func(q *request) *reply {
		if q.tool == "" {
			return nil
		}
		wait()
		return &reply{result: func(q *request, result json.RawMessage) json.RawMessage {
			changed, ok := c.put(q, result, e.mark, inside)
			if ok {
				e.marked.Store(true)
			}
			return changed
		}}
	}
	return e
}

// firstCall returns when the first tool call of a run arrived. It is zero if there was none.
func (e *episode) firstCall() time.Time {
	if calls := e.seen(isTool); len(calls) > 0 {
		return calls[0].at
	}
	return time.Time{}
}

// lone is a run that was dispatched alone, with marked results.
type lone struct {
	*episode
	visible bool // its answer repeats the results
	busy    bool // pings were not answered while it waited
}

// runAlone dispatches the sample once, with marked results. An agent that fails with them, or makes
// fewer calls, gets a mark beside the members that it knows. The first scenario that needs the run makes it.
func (c *checkup) runAlone(ctx context.Context) *lone {
	if c.alone == nil {
		e, busy := c.pingedRun(ctx)
		if !e.result.WouldBeGraded() || len(e.seen(isTool)) < len(c.sample.result.Calls) {
			if plain := c.dispatch(ctx, c.marked(false, func() {})); plain.result.WouldBeGraded() {
				e = plain
			}
		}
		c.alone = &lone{episode: e, busy: busy, visible: e.marked.Load() && shows(said(e.result), e.mark)}
	}
	return c.alone
}

// pingedRun dispatches a run with marked results, and pings the endpoint while the first call waits. It reports
// whether the ping was not answered then.
func (c *checkup) pingedRun(ctx context.Context) (_ *episode, busy bool) {
	called, pinged := newGate(), newGate()
	e := c.marked(true, func() {
		called.open()
		pinged.wait(ctx)
	})
	e.answered = called.open
	var run sync.WaitGroup
	run.Go(func() { c.dispatch(ctx, e) })
	<-called.opened
	if e.firstCall().IsZero() || len(c.target.Command) > 0 { // it is over, or cannot be pinged
		pinged.open()
		run.Wait()
		return e, false
	}
	ping := func() *answer { return c.send(ctx, probe{body: aPing, auth: true}) }
	answered := make(chan struct{})
	go func() {
		ping()
		close(answered)
	}()
	select {
	case <-answered:
		pinged.open()
	case <-pinged.opened: // the call has been answered, and the ping has not
		busy = true
	}
	run.Wait()
	<-answered
	if busy { // unless pings are that slow now
		a := ping()
		busy = a.ok() && a.took < patience/2
	}
	return e, busy
}

// pair dispatches two marked runs. Each is sent when the other one can be, and the first tool call of
// each waits for the first of the other.
func (c *checkup) pair(ctx context.Context, alone *lone) (runs [2]*episode) {
	sent, called := newGate(), newGate()
	meet := func(g *gate, run int) {
		g.arrive(run)
		g.wait(ctx)
	}
	var both sync.WaitGroup
	for i := range runs {
		e := c.marked(alone.inside, func() { meet(called, i) })
		e.edit = func(map[string]json.RawMessage, http.Header) { meet(sent, i) }
		e.answered = func() {
			sent.arrive(i)
			called.arrive(i)
		}
		runs[i] = e
		both.Go(func() { c.dispatch(ctx, e) })
	}
	both.Wait()
	return runs
}

// concurrentRuns dispatches one run alone, and then two at the same time. A verdict that chance can have
// caused needs another pair. Its ok has seen both runs complete, a call of each before the last call of
// the other was answered, all calls with the token and the URL of their run, and in no answer a result
// of another run.
func (c *checkup) concurrentRuns(ctx context.Context, alone *lone) Finding {
	if f, unclear := c.unclear(alone); unclear {
		return f
	}
	v := c.compare(alone, c.pair(ctx, alone))
	if v.repeat {
		first := v
		if v = c.compare(alone, c.pair(ctx, alone)); first.broke && v.Status == StatusOK {
			return warning("See the agent's log: do the two runs share something, or does it fail now and then?",
				"%s; two further runs did not fail", first.Seen)
		}
	}
	return v.Finding
}

// A verdict is the finding about a pair of runs.
type verdict struct {
	Finding
	repeat bool // chance can have caused it, unless another pair has it too
	broke  bool // a run failed
}

// compare judges two runs at the same time.
func (c *checkup) compare(alone *lone, runs [2]*episode) verdict {
	first, second := runs[0], runs[1]
	if second.firstCall().Before(first.firstCall()) {
		first, second = second, first
	}
	for _, e := range runs {
		if f := c.shared(c.sample, e); f != nil {
			return verdict{Finding: *f}
		}
	}
	if c.moved(alone, first, second) {
		return verdict{repeat: true, Finding: failed(apartAdvice,
			"two runs at the same time called the proxy with the token and the URL of one of them")}
	}
	for _, e := range []*episode{first, second} {
		switch status := e.result.Dispatch.Status; {
		case e.result.WouldBeGraded():
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			f := warning("Let the endpoint take as many runs as the platform dispatches at the same time.",
				"one of two runs at the same time was rejected with %d, so it is not known whether they keep apart", status)
			f.Rule, f.Severity = manyRuns, inferred
			return verdict{Finding: f}
		default:
			return verdict{repeat: true, broke: true,
				Finding: failed(apartAdvice, "one of two runs at the same time failed: %s", c.failure(e.result))}
		}
	}
	f := alone.simultaneous(first, second)
	return verdict{Finding: f, repeat: !alone.busy && f.Status == StatusWarning} // a model may have thought for long
}

// moved reports whether calls of one run arrived as calls of the other one. Only an agent that made the
// same number of calls twice can be judged.
func (c *checkup) moved(alone *lone, a, b *episode) bool {
	n, first, second := len(alone.seen(isTool)), len(a.seen(isTool)), len(b.seen(isTool))
	return n == len(toolCalls(&c.sample.result.Log)) && first != n && first+second == 2*n
}

const busyAdvice = "Serve other requests while a run waits for a tool or a model: a call takes 3 to 20 s, and the platform pings before " +
	"each dispatch. In an async function, await an async client, or run the agent in a thread (in FastAPI, def instead of async def)."

// endsBefore reports whether all calls of a run were answered before the other one made a call. Two
// runs at the same time wait for each other.
func (e *episode) endsBefore(other *episode) bool {
	calls := other.seen(isTool)
	return len(calls) > 0 && len(e.seen(func(q *request) bool { return isTool(q) && q.answered > calls[0].arrived })) == 0
}

// simultaneous judges whether two runs that completed were at work at the same time.
func (alone *lone) simultaneous(first, second *episode) (f Finding) {
	switch none := first.firstCall().IsZero() || second.firstCall().IsZero(); {
	case alone.busy:
		f = warning(busyAdvice, "the endpoint works on one run at a time: while a run waits for a tool, not even a ping is answered")
	case none:
		return noCall()
	case first.endsBefore(second):
		f = warning(busyAdvice, "the endpoint works on one run at a time: of two dispatches, the second run began when the first had ended")
	case !alone.visible:
		return good("two runs at the same time keep their tokens and URLs apart; their answers do not show their results")
	default:
		return good("two runs at the same time keep their tokens, URLs and results apart")
	}
	f.Rule, f.Severity = manyRuns, inferred
	return f
}

// unclear returns why nothing can be said about the run alone, which was to differ from the sample in
// its results only.
func (c *checkup) unclear(e *lone) (f Finding, unclear bool) {
	switch shared := c.shared(c.sample, e.episode); {
	case shared != nil:
		return *shared, true
	case !e.result.WouldBeGraded():
		return skipped("", "one run alone fails when its results are marked, as their output_schema allows, so nothing is known: %s",
			c.failure(e.result)), true
	case e.firstCall().IsZero():
		return noCall(), true
	}
	return f, false
}
