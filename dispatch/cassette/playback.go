package cassette

import (
	"regexp"
	"slices"

	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// playback is a tape prepared for a run: it holds the answers to each request, in turn.
type playback struct {
	calls  []*taped            // all, in the order of the tape
	queues map[string]*queue   // by the key of the request
	alike  map[target][]*taped // those that are replayed, in the order of the tape

	tape  *Tape
	masks []*regexp.Regexp
	keys  *keys // of the parts of the tape

	walked int // see maxWalk
}

// target is what a request calls; any model of a kind of path.
type target struct{ kind, name, method string }

func (i *Interaction) target() target {
	if i.Kind == kindModel {
		return target{i.Kind, modelpath.Kind(i.Name), i.method()}
	}
	return target{i.Kind, i.Name, i.method()}
}

// queue holds the answers to equal requests.
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
	beganMS      float64 // AtMS of the first attempt of the call
	stage        int     // of the run; no call was open between two stages
	superseded   bool    // the client repeated the attempt
	dropped      bool    // a repeated attempt that is not replayed
	taken        bool
	shown        bool // beside a request to a model that differs from it
}

func newPlayback(s *settings, tape *Tape) *playback {
	d := &playback{
		queues: map[string]*queue{}, alike: map[target][]*taped{},
		tape: tape, masks: s.Mask, keys: keysOf(tape.parts, s.Mask),
	}
	for index := range tape.Interactions {
		i := tape.Interactions[index]
		c := &taped{Interaction: &i, index: index, began: i.After, beganMS: i.AtMS}
		if i.Kind == kindModel {
			c.id = i.identifyModel(s.Mask, d.keys)
		} else {
			c.id = s.identify(&i, s.redact)
		}
		d.calls = append(d.calls, c)
		at := d.queues[c.id.key]
		if at == nil {
			at = &queue{}
			d.queues[c.id.key] = at
		}
		if n := len(at.calls); n > 0 && at.calls[n-1].transient() {
			first := at.calls[n-1]
			c.began, c.beganMS, first.superseded = first.began, first.beganMS, true
		}
		at.calls = append(at.calls, c)
	}
	for _, at := range d.queues {
		at.drop(s)
	}
	for _, c := range d.calls {
		if !c.dropped {
			d.alike[c.target()] = append(d.alike[c.target()], c)
		}
	}
	d.stages()
	return d
}

// drop removes the attempts that the client repeated, if they are not replayed. With DropRetries they stay
// if the client never got another answer, because the last failure was then the outcome of the call.
func (q *queue) drop(s *settings) {
	answered := s.Mode == Compare
	for _, c := range slices.Backward(q.calls) {
		c.dropped = c.superseded && answered
		answered = answered || s.DropRetries && !c.transient()
	}
	q.calls = slices.DeleteFunc(q.calls, func(c *taped) bool { return c.dropped })
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

// take returns the next answer to a request, or nil if there is none. again reports that it is the
// last answer, repeated.
func (d *playback) take(id identity, repeatLast bool) (c *taped, again bool) {
	at := d.queues[id.key]
	switch {
	case at == nil:
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
func (d *playback) nearest(s *seen, limit int) (*taped, []Difference) {
	if at := d.queues[s.id.key]; at != nil {
		return at.calls[0], nil
	}
	calls := d.alike[s.target()]
	if len(calls) == 0 {
		return nil, nil
	}
	best, changes := mostLike(s, calls, limit)
	return calls[best], changes
}

// mostLike returns the index of the call with the fewest differences from a request, and the differences.
// It compares at most limit bytes, and at least one call. There must be one.
func mostLike(s *seen, calls []*taped, limit int) (best int, least []Difference) {
	compared := 0
	for i, c := range calls {
		if compared += comparison + len(c.id.key) + len(s.id.key); i > 0 && compared > limit {
			break
		}
		if changes := differences(c, s); i == 0 || len(changes) < len(least) {
			best, least = i, changes
		}
	}
	return best, least
}

// differences returns where a request differs from the request of the call.
func differences(c *taped, s *seen) []Difference {
	changes := diff(c.argumentsIn(c.id), s.argumentsIn(s.id))
	if c.Actor != s.Actor {
		changes = append(changes,
			Difference{Pointer: actorHeader, Tape: rawjson.Quote(c.Actor), Run: rawjson.Quote(s.Actor)})
	}
	return changes
}

// argumentsIn returns the arguments of a request with this identity, as they are compared.
func (i *Interaction) argumentsIn(id identity) []byte {
	if id.compared == nil && i.ArgumentsText != "" {
		return rawjson.Quote(i.ArgumentsText)
	}
	return id.compared
}

// actorHeader is the pointer of a Difference of the sub-agent.
const actorHeader = "X-Pipelines-Actor-Id"
