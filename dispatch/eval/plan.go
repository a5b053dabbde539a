package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/toolwire/toolwire/internal/text"
)

// Plan describes what [Run] would do.
type Plan struct {
	Cases   int // that would run
	Skipped int // that need the platform
	Checked int // of all shards that would run, and expect something: see [Dataset.Expect]
	Trials  int // at most: cases times trials of each
	Turns   int // at most: dispatches to the agent, of which a session has several
	Asked   int // at most: calls of the [User], which has to see each response
	Stored  int // trials already in Options.ResultsFile; Trials and Turns do not count them
	Faults  int // trials in Options.ResultsFile that are faults; with Options.RetryFaults they are in Trials and not in Stored

	// Fingerprint is the experiment's, to compare it with a baseline's before the run.
	Fingerprint Fingerprint

	// Detectable is the smallest difference of two experiments of this size, with all shards, that a
	// comparison finds in about four of five times, if the rates of all cases are 50 %.
	Detectable float64

	// Margin is the smallest margin of the rate with which a gate passes if nothing differs. It is 1 if
	// there are too few cases, or groups of them, for a gate: see [Comparisons.Bound].
	Margin float64

	all Figure // cases and groups of all shards that would run
}

// Plan returns what [Run] would do with the cases. Nothing is dispatched or written. The error is the
// one that Run returns for the options, the cases and the results file.
func (o *Options) Plan(cases []Case) (Plan, error) {
	opts, cases, err := o.settle(cases)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Fingerprint: opts.fingerprint(cases)}
	h := opts.header(cases, p.Fingerprint, time.Time{})
	stored, err := opts.stored(&h)
	if err != nil {
		return Plan{}, err
	}
	var all units
	trials := 0
	for i := range cases {
		c := &cases[i]
		if opts.skip(c) == "" {
			all.add(c.Group, 0)
			trials += opts.trialsOf(c)
			if len(c.expects) > 0 {
				p.Checked++
			}
		}
		switch _, own := h.Cases[c.ID]; {
		case !own:
		case opts.skip(c) != "":
			p.Skipped++
		default:
			p.Cases++
			known := 0
			for _, fault := range stored[c.ID] {
				if fault {
					p.Faults++
				}
				if !fault || !opts.RetryFaults {
					known++
				}
			}
			p.Stored += known
			left := opts.trialsOf(c) - known
			turns, asked := opts.turns(c)
			p.Trials, p.Turns, p.Asked = p.Trials+left, p.Turns+left*turns, p.Asked+left*asked
		}
	}
	p.all = Figure{}.over(&all, trials)
	p.Detectable, p.Margin = plannedDifference(p.all.Trials), 1
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

// String returns the plan as one sentence or two.
func (p Plan) String() string {
	s := fmt.Sprintf("at most %s of %s", text.Plural(p.Trials, "trial"), text.Plural(p.Cases, "case"))
	if p.all.Groups > 0 {
		s += " in " + text.Plural(p.all.Groups, "group")
	}
	if p.Turns != p.Trials {
		s += fmt.Sprintf(" with %s", text.Plural(p.Turns, "turn"))
	}
	if p.Asked > 0 {
		s += fmt.Sprintf(" and %s of the user", text.Plural(p.Asked, "call"))
	}
	if p.Stored > 0 {
		s += fmt.Sprintf(", %d stored already", p.Stored)
	}
	if p.Faults > 0 {
		s += ", " + text.Plural(p.Faults, "fault") + " stored"
	}
	if p.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	n, noun := p.all.units()
	if s += size(p.Detectable, n, noun); p.Margin < 1 {
		s += fmt.Sprintf("; if nothing differs, a gate passes from a margin of %s points on", pointsUp(p.Margin))
	}
	return s
}

// pointsUp writes a share in points, rounded up.
func pointsUp(v float64) string { return digits(math.Ceil(1000*v-1e-9) / 10) }
