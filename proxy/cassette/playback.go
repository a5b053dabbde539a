package cassette

import (
	"github.com/toolwire/toolwire/internal/rawjson"
)

// playback is a tape prepared for replay: it has the answers to each request, in turn.
type playback struct {
	queues map[string]*queue
	calls  []*taped            // all calls, in the order of the tape
	alike  map[target][]*taped // the calls of each target, in the same order
}

// target is what a request calls.
type target struct {
	kind         string
	name, method string
}

func (i *Interaction) target() target { return target{i.Kind, i.Name, i.method()} }

// queue has the answers to equal requests.
type queue struct {
	calls []*taped
	taken int
}

// taped is an interaction of the tape.
type taped struct {
	*Interaction // redacted as requests are
	id           identity
	index        int     // on the tape
	began        int     // After of the first attempt of the call
	stage        int     // of the run; no call was open between two stages
	beganMS      float64 // AtMS of the first attempt of the call
	superseded   bool    // the client repeated the attempt
	taken        bool
	dropped      bool // a repeated attempt that is not replayed
}

func newPlayback(s *settings, tape *Tape) *playback {
	d := &playback{queues: map[string]*queue{}, alike: map[target][]*taped{}}
	for index := range tape.Interactions {
		i := tape.Interactions[index]
		c := &taped{Interaction: &i, index: index}
		c.id = s.identify(&i, s.redact)
		d.calls = append(d.calls, c)
		d.alike[c.target()] = append(d.alike[c.target()], c)
		at := d.queues[c.id.key]
		if at == nil {
			at = &queue{}
			d.queues[c.id.key] = at
		}
		c.began, c.beganMS = c.After, c.AtMS
		if n := len(at.calls); n > 0 && at.calls[n-1].transient() {
			first := at.calls[n-1]
			c.began, c.beganMS, first.superseded = first.began, first.beganMS, true
		}
		at.calls = append(at.calls, c)
	}
	d.stages()
	for _, at := range d.queues {
		switch {
		case s.Mode == Compare:
			at.drop(func(_ int, c *taped) bool { return c.superseded })
		case s.DropRetries:
			at.dropRetries()
		}
	}
	return d
}

// stages computes the stage of each call. A new stage begins when all calls that had begun were
// answered. Only stages tell which call had to come first: with several workers, a call may begin
// after the answer to another one by chance.
func (d *playback) stages() {
	n := len(d.calls)
	waited := make([]bool, n+1) // for each number of answers: no call was open then
	earliest := n
	for i := n; i >= 0; i-- {
		if i < n {
			earliest = min(earliest, d.calls[i].began)
		}
		waited[i] = earliest >= i
	}
	before := make([]int, n+1)
	for i := 1; i <= n; i++ {
		if before[i] = before[i-1]; waited[i] {
			before[i]++
		}
	}
	for _, c := range d.calls {
		c.stage = before[c.began]
	}
}

// pair finds the call on the tape for each forwarded call of a run. It looks at the whole run so
// far, because a later attempt shows that an earlier one was repeated.
func (d *playback) pair(all []*seen) {
	for _, at := range d.queues {
		at.taken = 0
	}
	for _, c := range d.calls {
		c.taken = false
	}
	last := map[string]*seen{}
	for _, s := range all {
		if before := last[s.id.key]; before != nil && before.transient() {
			before.superseded = true
		}
		s.answer, s.superseded, last[s.id.key] = nil, false, s
	}
	for _, s := range all {
		if !s.superseded {
			s.answer, _ = d.take(s.id, false)
		}
	}
}

// dropRetries removes attempts that the client repeated until it got another answer. If it never
// got one, the last failure was the outcome of the call, and all attempts stay.
func (s *queue) dropRetries() {
	last := -1
	for i, c := range s.calls {
		if !c.transient() {
			last = i
		}
	}
	s.drop(func(i int, c *taped) bool { return c.transient() && i < last })
}

func (s *queue) drop(which func(i int, c *taped) bool) {
	var kept []*taped
	for i, c := range s.calls {
		if c.dropped = which(i, c); !c.dropped {
			kept = append(kept, c)
		}
	}
	s.calls = kept
}

// take returns the next answer to a request, or nil if there is none. again reports that it is the
// last answer, repeated.
func (d *playback) take(id identity, repeatLast bool) (c *taped, again bool) {
	at := d.queues[id.key]
	switch {
	case at == nil || len(at.calls) == 0:
		return nil, false
	case at.taken < len(at.calls):
		c = at.calls[at.taken]
		at.taken++
		c.taken = true
		return c, false
	case repeatLast:
		return at.calls[len(at.calls)-1], true
	}
	return nil, false
}

const (
	// maxCompared bounds the bytes that are compared to find one nearest call: 64 calls, or
	// fewer if they are large.
	maxCompared = 2 << 20
	// maxReported bounds the bytes that are compared for a report. The calls that are not on the tape
	// have equal shares of it.
	maxReported = 64 << 20
	// comparison is the cost of comparing two calls, in addition to their bytes.
	comparison = 32 << 10
)

// nearest returns the call that is most like a request, and where they differ: the call of the same
// request, or else the one with the fewest differences among the first calls of the same tool. It
// returns nil if there is none.
func (d *playback) nearest(i *Interaction, id identity, most int) (*taped, []Difference) {
	if at := d.queues[id.key]; at != nil && len(at.calls) > 0 {
		return at.calls[0], nil
	}
	return mostLike(i, id, d.alike[i.target()], most, func(c *taped) bool { return !c.dropped })
}

// mostLike returns the call with the fewest differences from a request, and the differences. It
// compares at most limit bytes, but always one call, and only those that may be chosen. It returns nil
// if there is none.
func mostLike(i *Interaction, id identity, calls []*taped, limit int, may func(*taped) bool) (best *taped, least []Difference) {
	compared := 0
	for _, c := range calls {
		if !may(c) {
			continue
		}
		if compared += comparison + len(c.id.key) + len(id.key); best != nil && compared > limit {
			break
		}
		changes := differences(c, i, id)
		if best == nil || len(changes) < len(least) {
			best, least = c, changes
		}
	}
	return best, least
}

// differences returns where a request differs from the request of the call.
func differences(c *taped, i *Interaction, id identity) []Difference {
	tape, run := c.id.compared, id.compared
	if tape == nil && c.ArgumentsText != "" {
		tape = rawjson.Quote(c.ArgumentsText)
	}
	if run == nil && i.ArgumentsText != "" {
		run = rawjson.Quote(i.ArgumentsText)
	}
	changes := diff(tape, run)
	if c.Actor != i.Actor {
		changes = append(changes, Difference{
			Pointer: actorHeader, Tape: rawjson.AppendQuote(nil, c.Actor), Run: rawjson.AppendQuote(nil, i.Actor),
		})
	}
	return changes
}

// actorHeader is the pointer of a Difference of the sub-agent.
const actorHeader = "X-Pipelines-Actor-Id"
