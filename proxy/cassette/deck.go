package cassette

import (
	"github.com/toolwire/toolwire/internal/rawjson"
)

// deck is a tape put in order for replay: for every request the answers it has, in turn.
type deck struct {
	stacks map[string]*stack
	cards  []*card            // all of them, in the order of the tape
	alike  map[target][]*card // by what they call, in the same order
}

// target is what a request calls.
type target struct {
	kind         string
	name, method string
}

func (i *Interaction) target() target { return target{i.Kind, i.Name, i.method()} }

// stack are the answers to equal requests.
type stack struct {
	cards []*card
	taken int
}

// card is an interaction of the tape.
type card struct {
	*Interaction // redacted as requests are
	id           identity
	index        int     // on the tape
	began        int     // After of the call's first attempt
	stage        int     // of the run: between two stages nothing was under way
	beganMS      float64 // AtMS of it
	superseded   bool    // an attempt that was repeated
	taken        bool
	dropped      bool // a repeated attempt that is left out
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

// stages finds the moments at which all that had begun was answered. Only they part what came
// before from what came after: of calls that several workers make, one after another each, a later
// one may begin after an earlier one was answered, and nothing says that it had to.
func (d *deck) stages() {
	n := len(d.cards)
	waited := make([]bool, n+1) // by how many answers, so that nothing was under way then
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

// pair finds for every call of a run that was forwarded the one on the tape, when the run is over
// or as if it were: only then it is known which attempts were repeated.
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

// dropRetries takes out attempts that were repeated until there was another answer. Where there
// never was one, the last failure was the call's outcome, and all attempts stay.
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

// take returns the next answer to a request; nil if there is none. again is true for the last one
// once more.
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
	// maxCompared bounds what is compared for one nearest call: some hundred calls, fewer if they
	// are large.
	maxCompared = 16 << 20
	// maxReported bounds what is compared for all calls of a report, shared evenly among those that
	// are not on the tape.
	maxReported = 1 << 30
	// comparison is what comparing two calls counts, besides their bytes.
	comparison = 32 << 10
)

// nearest returns the card that a request is most like, and where they differ: the one with the
// same request or else, of the first cards for the same tool, the one with the fewest differences.
// nil if there is none.
func (d *deck) nearest(i *Interaction, id identity, most int) (*card, []Difference) {
	if at := d.stacks[id.key]; at != nil && len(at.cards) > 0 {
		return at.cards[0], nil
	}
	return mostLike(i, id, d.alike[i.target()], most)
}

// mostLike returns the card with the fewest differences from a request, and these. It compares no
// more than most, but always one card. nil if there is none.
func mostLike(i *Interaction, id identity, cards []*card, most int) (best *card, least []Difference) {
	compared := 0
	for _, c := range cards {
		if c.dropped {
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

// differences tells what makes a request another than that of the card.
func differences(c *card, i *Interaction, id identity) []Difference {
	tape, run := c.id.value, id.value
	if tape == nil && c.ArgumentsText != "" {
		tape = &value{kind: '"', text: c.ArgumentsText}
	}
	if run == nil && i.ArgumentsText != "" {
		run = &value{kind: '"', text: i.ArgumentsText}
	}
	changes := diff(tape, run)
	if c.Actor != i.Actor {
		changes = append(changes, Difference{
			Pointer: actorHeader, Tape: rawjson.AppendQuote(nil, c.Actor), Run: rawjson.AppendQuote(nil, i.Actor),
		})
	}
	return changes
}

// actorHeader stands in a Difference for the sub-agent.
const actorHeader = "X-Pipelines-Actor-Id"
