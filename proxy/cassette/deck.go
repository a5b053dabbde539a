package cassette

import (
	"github.com/toolwire/toolwire/internal/rawjson"
)

// deck is a tape prepared for replay: it has the answers to each request, in turn.
type deck struct {
	stacks map[string]*stack
	cards  []*card            // all cards, in the order of the tape
	alike  map[target][]*card // the cards of each target, in the same order
}

// target is what a request calls.
type target struct {
	kind         string
	name, method string
}

func (i *Interaction) target() target { return target{i.Kind, i.Name, i.method()} }

// stack has the answers to equal requests.
type stack struct {
	cards []*card
	taken int
}

// card is an interaction of the tape.
type card struct {
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

func newDeck(s *settings, tape *Tape) *deck {
	d := &deck{stacks: map[string]*stack{}, alike: map[target][]*card{}}
	for index := range tape.Interactions {
		i := tape.Interactions[index]
		c := &card{Interaction: &i, index: index}
		c.id = s.identify(&i, s.redact)
		d.cards = append(d.cards, c)
		d.alike[c.target()] = append(d.alike[c.target()], c)
		at := d.stacks[c.id.key]
		if at == nil {
			at = &stack{}
			d.stacks[c.id.key] = at
		}
		c.began, c.beganMS = c.After, c.AtMS
		if n := len(at.cards); n > 0 && at.cards[n-1].transient() {
			first := at.cards[n-1]
			c.began, c.beganMS, first.superseded = first.began, first.beganMS, true
		}
		at.cards = append(at.cards, c)
	}
	d.stages()
	for _, at := range d.stacks {
		switch {
		case s.Mode == Compare:
			at.drop(func(_ int, c *card) bool { return c.superseded })
		case s.DropRetries:
			at.dropRetries()
		}
	}
	return d
}

// stages computes the stage of each card. A new stage begins when all calls that had begun were
// answered. Only stages tell which call had to come first: with several workers, a call may begin
// after the answer to another one by chance.
func (d *deck) stages() {
	n := len(d.cards)
	waited := make([]bool, n+1) // for each number of answers: no call was open then
	earliest := n
	for i := n; i >= 0; i-- {
		if i < n {
			earliest = min(earliest, d.cards[i].began)
		}
		waited[i] = earliest >= i
	}
	before := make([]int, n+1)
	for i := 1; i <= n; i++ {
		if before[i] = before[i-1]; waited[i] {
			before[i]++
		}
	}
	for _, c := range d.cards {
		c.stage = before[c.began]
	}
}

// pair finds the call on the tape for each forwarded call of a run. It looks at the whole run so
// far, because a later attempt shows that an earlier one was repeated.
func (d *deck) pair(all []*seen) {
	for _, at := range d.stacks {
		at.taken = 0
	}
	for _, c := range d.cards {
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
func (s *stack) dropRetries() {
	last := -1
	for i, c := range s.cards {
		if !c.transient() {
			last = i
		}
	}
	s.drop(func(i int, c *card) bool { return c.transient() && i < last })
}

func (s *stack) drop(which func(i int, c *card) bool) {
	var kept []*card
	for i, c := range s.cards {
		if c.dropped = which(i, c); !c.dropped {
			kept = append(kept, c)
		}
	}
	s.cards = kept
}

// take returns the next answer to a request, or nil if there is none. again reports that it is the
// last answer, repeated.
func (d *deck) take(id identity, repeatLast bool) (c *card, again bool) {
	at := d.stacks[id.key]
	switch {
	case at == nil || len(at.cards) == 0:
		return nil, false
	case at.taken < len(at.cards):
		c = at.cards[at.taken]
		at.taken++
		c.taken = true
		return c, false
	case repeatLast:
		return at.cards[len(at.cards)-1], true
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

// nearest returns the card that is most like a request, and where they differ: the card of the same
// request, or else the one with the fewest differences among the first cards of the same tool. It
// returns nil if there is none.
func (d *deck) nearest(i *Interaction, id identity, most int) (*card, []Difference) {
	if at := d.stacks[id.key]; at != nil && len(at.cards) > 0 {
		return at.cards[0], nil
	}
	return mostLike(i, id, d.alike[i.target()], most, func(c *card) bool { return !c.dropped })
}

// mostLike returns the card with the fewest differences from a request, and the differences. It
// compares at most most bytes, but always one card, and only those that may be chosen. It returns nil
// if there is none.
func mostLike(i *Interaction, id identity, cards []*card, most int, may func(*card) bool) (best *card, least []Difference) {
	compared := 0
	for _, c := range cards {
		if !may(c) {
			continue
		}
		if compared += comparison + len(c.id.key) + len(id.key); best != nil && compared > most {
			break
		}
		changes := differences(c, i, id)
		if best == nil || len(changes) < len(least) {
			best, least = c, changes
		}
	}
	return best, least
}

// differences returns where a request differs from that of the card.
func differences(c *card, i *Interaction, id identity) []Difference {
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
