package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// An ending is what becomes of a run.
type ending int

const (
	done     ending = iota // the agent returns a response
	failing                // the agent returns an error
	panics                 // the agent panics
	aborts                 // the agent panics with http.ErrAbortHandler
	hangsUp                // the caller is gone while the agent works
	halfSent               // the caller is gone before its request is complete
	wrong                  // the caller has the wrong token
	endings
)

// someEnding returns done for most runs.
func someEnding(random *rand.Rand) ending {
	if p := random.IntN(100); p < 40 {
		return ending(p / 5 % int(endings))
	}
	return done
}

// A run is one dispatch: what is planned, and what has happened.
type run struct {
	name    string // for violations
	number  int
	ending  ending
	calls   []*call
	private string
	on      *proxytest.Run

	started atomic.Int64  // how often the agent was called
	ended   atomic.Int64  // how often it has returned
	working chan struct{} // closed when the agent has made its calls
	once    sync.Once
	release chan struct{} // closed when an agent that ignores its context may go on
}

// A call is one tool call: what is planned, and what each side saw of it.
type call struct {
	number int
	tool   string // repeatable or not
	faults []fault

	arrived  atomic.Int64 // requests
	executed atomic.Int64
	stalled  chan struct{} // closed when the proxy says nothing any more
	once     sync.Once

	mu       sync.Mutex
	made     bool
	attempts int
	delivery proxy.Delivery // "" for a success
	err      error
}

// The tools of all worlds.
const (
	single     = "pay"  // must not run twice
	repeatable = "look" // may
)

// newRun plans a run.
func (s *soak) newRun(ending ending, calls int) *run {
	n := int(s.numbers.Add(1))
	r := &run{number: n, name: fmt.Sprintf("run %d", n), ending: ending, private: newPrivate(),
		working: make(chan struct{}), release: make(chan struct{})}
	for i := range calls {
		c := &call{number: i, tool: single, stalled: make(chan struct{})}
		if s.random.IntN(2) == 0 {
			c.tool = repeatable
		}
		if !s.calm {
			c.faults = someFaults(s.random)
		}
		r.calls = append(r.calls, c)
	}
	s.counts.runs.Add(1)
	return r
}

// arguments are those of the tools. The member api_key is a secret by its name.
type arguments struct {
	Run    int    `json:"run"`
	Call   int    `json:"call"`
	APIKey string `json:"api_key"`
}

// result is that of the tools.
type result struct {
	Run  int `json:"run"`
	Call int `json:"call"`
}

// stall makes the caller give up.
func (c *call) stall() { c.once.Do(func() { close(c.stalled) }) }

// untilStalled returns a context that ends when the peer stalls. cancel must be called.
func (c *call) untilStalled(ctx context.Context) (stallable context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-c.stalled:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// make makes the call as an agent does, and notes its outcome. A call that the proxy does not
// answer is given up.
func (c *call) make(ctx context.Context, s *soak, r *run, client *proxy.Client) {
	ctx, giveUp := c.untilStalled(ctx)
	defer giveUp()
	s.counts.calls.Add(1)
	got, err := client.Do(ctx, c.tool, arguments{r.number, c.number, newArgument()})
	c.note(s, r, got, err)
}

// note keeps the outcome of a call and checks what it says.
func (c *call) note(s *soak, r *run, got *proxy.Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made, c.err = true, err
	if err == nil {
		c.attempts = got.Attempts
		var value result
		if e := json.Unmarshal(got.Response, &value); e != nil || value != (result{r.number, c.number}) {
			s.violate(r.name, "call %d has the result %.100s", c.number, got.Response)
		}
		return
	}
	s.inspectError(r.name, err)
	if e := (*proxy.Error)(nil); !asError(err, &e) {
		s.violate(r.name, "call %d has an error of type %T: %v", c.number, err, err)
	} else {
		c.attempts, c.delivery = e.Attempts, e.Delivery
	}
}

// account compares what the agent was told with what has happened. Agent and proxy have ended.
func (s *soak) account(r *run) {
	logged := map[int]int64{}
	for _, entry := range r.on.Log().Calls {
		var a arguments
		if err := json.Unmarshal(entry.Arguments, &a); err != nil || a.Run != r.number {
			s.violate(r.name, "the proxy logged arguments of another run: %.200s", entry.Arguments)
		}
		logged[a.Call]++
	}
	for _, c := range r.calls {
		c.mu.Lock()
		made, attempts, delivery, err := c.made, int64(c.attempts), c.delivery, c.err
		c.mu.Unlock()
		executed, arrived := c.executed.Load(), c.arrived.Load()
		s.counts.executed.Add(executed)
		what := fmt.Sprintf("call %d of %s (faults %v, attempts %d, arrived %d, executed %d, delivery %q, %v)", c.number, c.tool,
			c.faults, attempts, arrived, executed, delivery, err)
		switch {
		case logged[c.number] != executed:
			s.violate(r.name, "%s: the proxy's log has it %d times", what, logged[c.number])
		case !made && arrived > 0:
			s.violate(r.name, "%s: arrived although the agent did not make it", what)
		case !made:
		case arrived > attempts:
			s.violate(r.name, "%s: more requests than attempts", what)
		case c.tool == single && executed > 1 || executed > attempts:
			s.violate(r.name, "%s: executed too often", what)
		case err == nil && executed == 0:
			s.violate(r.name, "%s: succeeded and was not executed", what)
		case err != nil && delivery != proxy.Unknown && executed > 0:
			s.violate(r.name, "%s: executed, and the agent was told that it was not", what)
		}
	}
}
