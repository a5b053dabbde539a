package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// Plan describes what [Run] would do.
type Plan struct {
	Trials int // at most, without those in Options.ResultsFile

	// Margin is the smallest margin of the rate with which a gate passes if nothing differs. It is 1 if
	// there are too few cases, or groups of them, for a gate: see [Experiment].GateBy.
	Margin float64

	cases, skipped, stored, faults int            // of the shard
	turns                          int            // at most: dispatches to the agent, of which a session has several
	again                          bool           // as Options.RetryFaults
	checked                        runctx.Checked // cases of all shards that would run and expect something
	asked                          int            // at most: calls of the [User], which has to see each response
	detectable                     float64
	all                            Figure // cases and groups of all shards that would run
}

// Plan returns what [Run] would do with the cases. Nothing is dispatched or written. The error is the
// one that Run returns for the options, the cases and the results file, or the one that [Compare] would
// return for the last of the experiments before, as for [Experiment.WriteHTML].
func (o *Options) Plan(cases []Case, before ...*Experiment) (Plan, error) {
	opts, cases, err := o.settle(cases)
	if err != nil {
		return Plan{}, err
	}
	h := opts.header(cases, opts.fingerprint(cases), time.Time{})
	if before = present(before); len(before) > 0 {
		if err := comparable(before[len(before)-1], h.experiment(nil)); err != nil {
			return Plan{}, err
		}
	}
	stored, err := opts.stored(&h)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Margin: 1, again: opts.RetryFaults}
	var all units
	trials := 0
	for i := range cases {
		c := &cases[i]
		skipped, n := opts.skip(c) != "", opts.trialsOf(c)
		if !skipped {
			all.add(c.Group, 0)
			trials += n
			if len(c.expects) > 0 {
				p.checked++
			}
		}
		switch _, own := h.Cases[c.ID]; {
		case !own:
		case skipped:
			p.skipped++
		default:
			p.cases++
			for _, fault := range stored[c.ID] {
				if fault {
					p.faults++
				}
				if !fault || !opts.RetryFaults {
					p.stored, n = p.stored+1, n-1
				}
			}
			turns, asked := opts.turns(c)
			p.Trials, p.turns, p.asked = p.Trials+n, p.turns+n*turns, p.asked+n*asked
		}
	}
	p.all = Figure{}.over(&all, trials)
	p.detectable = detectableDifference(float64(trials)/8, trials) // if the rates of all cases are 50 %
	if n, _ := p.all.units(); n >= gateCases {
		p.Margin = plannedMargin(n)
	}
	return p, nil
}

// stored returns the trials of each case that the results file has, and which are faults.
func (o *Options) stored(h *header) (map[string]map[int]bool, error) {
	known := map[string]map[int]bool{}
	if o.ResultsFile == "" {
		return known, nil
	}
	f, err := os.Open(o.ResultsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("eval: Options.ResultsFile: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("eval: Options.ResultsFile: %s is a folder", o.ResultsFile)
	}
	_, _, err = readResults(o.ResultsFile, f, h, func(r *record, at span) {
		if known[r.ID] == nil {
			known[r.ID] = map[int]bool{}
		}
		t := r.trial(nil, at)
		known[r.ID][r.Trial] = t.fault()
	})
	return known, err
}

// String returns the plan as one sentence or two: what would run, which difference a comparison of this
// size finds, and from which margin on a gate can pass.
func (p Plan) String() string {
	s := fmt.Sprintf("at most %s of %s", text.Plural(p.Trials, "trial"), text.Plural(p.cases, "case"))
	if p.all.groups > 0 {
		s += " in " + text.Plural(p.all.groups, "group")
	}
	if p.turns != p.Trials {
		s += fmt.Sprintf(" with %s", text.Plural(p.turns, "turn"))
	}
	if p.asked > 0 {
		s += fmt.Sprintf(" and %s of the user", text.Plural(p.asked, "call"))
	}
	if p.stored > 0 {
		s += fmt.Sprintf(", %d stored already", p.stored)
	}
	if p.faults > 0 {
		s += ", " + text.Plural(p.faults, "fault") + " stored"
		if !p.again {
			s += ", which Options.RetryFaults runs again"
		}
	}
	if p.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", p.skipped)
	}
	n, noun := p.all.units()
	if s += size(p.detectable, n, noun); p.Margin < 1 { // rounded up
		s += fmt.Sprintf("; if nothing differs, a gate passes from a margin of %s points on", digits(math.Ceil(1000*p.Margin-1e-9)/10))
	}
	return s
}
