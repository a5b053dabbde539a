package eval

import (
	"io"

	"github.com/toolwire/toolwire/internal/runctx"
)

// Limits are the limits of Read that tests make smaller. 0 is the limit of Read.
type Limits struct {
	Bytes                      int64
	Cell, Rows, Columns, Cells int
}

// ReadWithin is Read with other limits.
func ReadWithin(r io.Reader, l Limits) (*Dataset, error) {
	o := defaultLimits
	if l.Bytes > 0 {
		o.bytes = l.Bytes
	}
	for _, set := range []struct {
		to    *int
		given int
	}{{&o.cell, l.Cell}, {&o.rows, l.Rows}, {&o.columns, l.Columns}, {&o.cells, l.Cells}} {
		if set.given > 0 {
			*set.to = set.given
		}
	}
	return read(r, o)
}

// Apply applies the difference of two trajectories to the first. It returns the result, and how many calls
// the difference removes and adds.
func Apply(from, to Trajectory) (result Trajectory, removed, added int) {
	next := 0
	for _, e := range from.difference(to) {
		result = append(result, from[next:e.at]...)
		next = e.at
		if e.removed != nil {
			next, removed = next+1, removed+1
		}
		if e.added != nil {
			result, added = append(result, *e.added), added+1
		}
	}
	return append(result, from[next:]...), removed, added
}

// Views of what only reports contain.

func (d *Dataset) RowsRead() []row                                   { return d.rows }
func (e *Experiment) Stats() stats                                   { return e.stats() }
func (e *Experiment) Results() []caseResult                          { return e.cases() }
func (e *Experiment) PerCase() int                                   { return e.trialsPerCase() }
func (e *Experiment) TrialBudget() *Budget                           { return &e.trialBudget }
func (c *Comparisons) Missing() *[]string                            { return &c.missing }
func (e *Experiment) ByPoint(is bool)                                { e.byPoint = runctx.ByPoint(is) }
func (e *Experiment) StopEarly()                                     { e.firstFailure = true }
func (e *Experiment) Fingerprint() *fingerprint                      { return &e.fingerprint }
func (t *Trial) Retries() int                                        { return t.retries }
func (f Figure) Groups() int                                         { return f.groups }
func (p Plan) Turns() int                                            { return p.turns }
func (e *Experiment) Count(v Verdict) int                            { return e.count(v) }
func (p Plan) Stored() int                                           { return p.stored }
func (p Plan) Faults() int                                           { return p.faults }
func (p Plan) Asked() int                                            { return p.asked }
func (p Plan) Detectable() float64                                   { return p.detectable }
func (c Comparison) Detectable() float64                             { return c.detectable }
func (c Comparison) Limit() float64                                  { return c.limit }
func (c *Comparisons) Bound(score string, margin float64) Comparison { return c.gate(score, margin) }

// Repeating returns options with the command that repeats a case.
func (o Options) Repeating(command string) *Options {
	o.repeat = runctx.Repeat(command)
	return &o
}

// Of sets the unit and the groups.
func (f Figure) Of(unit string, groups int) Figure {
	f.unit, f.groups = unit, groups
	return f
}

// Retry sets how often the trial ran before.
func (t *Trial) Retry(n int) { t.retries = n }

var RefusedWithoutWrite Grader = refusedWithoutWrite

type MismatchError = mismatch
