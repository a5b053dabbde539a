package eval

import (
	"fmt"
	"math"

	"github.com/toolwire/toolwire/internal/stats"
)

// Plan is what [Run] would do.
type Plan struct {
	Cases   int // that would run
	Skipped int // that need the platform
	Trials  int // at most: cases times trials of each
	Turns   int // at most: dispatches to the agent, of which a session has several

	// Detectable is the smallest difference of two experiments of this size that a comparison finds
	// in four of five times, if the rates of all cases are 50 % and do not differ. It is 1 for fewer
	// than 6 cases: no result of so few is significant.
	Detectable float64
}

// Plan returns what [Run] would do with the cases. Nothing is dispatched.
func (o *Options) Plan(cases []Case) (Plan, error) {
	opts, cases, err := o.settle(cases)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Detectable: 1}
	for i := range cases {
		if cases[i].skip() != "" {
			p.Skipped++
			continue
		}
		p.Cases++
		p.Trials += opts.Trials
		p.Turns += opts.Trials * cases[i].turns()
	}
	if p.Cases >= stats.MinCases {
		p.Detectable = stats.Detectable(math.Sqrt(0.5/float64(opts.Trials)), p.Cases)
	}
	return p, nil
}

// turns returns how many dispatches a trial has at most.
func (c *Case) turns() int {
	talk := c.Task.Conversation
	if talk == nil {
		return 1
	}
	most, turns := talk.MaxTurns, len(talk.UserTurns)
	if most == 0 {
		most = 10 // the default of [dispatchtest.Conversation]
	}
	if c.Task.Instruction != "" {
		turns++
	}
	return max(1, min(most, turns))
}

// String returns the plan as one sentence or two.
func (p Plan) String() string {
	text := fmt.Sprintf("at most %s of %s", plural(p.Trials, "trial"), plural(p.Cases, "case"))
	if p.Turns != p.Trials {
		text += fmt.Sprintf(" with %s", plural(p.Turns, "turn"))
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	if p.Cases < stats.MinCases {
		return text + fmt.Sprintf("; a comparison needs at least %d cases", stats.MinCases)
	}
	return text + fmt.Sprintf("; a comparison of this size finds a difference of about %.0f points", 100*p.Detectable)
}
