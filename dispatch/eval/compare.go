package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// Comparison says how a candidate differs from a baseline in the same cases. [Compare] makes it.
type Comparison struct {
	// Change says whether something has changed in these cases. It is Improved or Regressed if P is
	// below 0.05 in both Counted and Dropped, in the same direction. Otherwise it is CannotTell, which
	// does not mean that nothing has changed.
	Change Change `json:"change"`

	// Counted is the mean difference of the rates of the cases, candidate minus baseline, from -1 to
	// 1. Faults of the infrastructure count as failures in Counted. Dropped leaves them out; it is nil
	// if then no case has trials in both experiments. See [Stats].
	Counted Effect  `json:"counted"`
	Dropped *Effect `json:"dropped,omitempty"`

	mixed [2]*Effect // with the faults of one experiment counted, and of the other dropped: first of the candidate

	ungraded bool   // one of them, at least
	faults   [2]int // of baseline and candidate, in the cases of both

	// Gates lists the decisions about the margins in the candidate's GateBy, the rate first. Gate is
	// GateFailed if one of them failed, or else GateUndecided if one is undecided. It is "" if there
	// are none.
	Gate  Gate         `json:"gate,omitempty"`
	Gates []GateResult `json:"gates,omitempty"`

	// Scores are the differences of the scores that both experiments have, as in [Experiment.Scores].
	Scores []ScoreChange `json:"scores,omitempty"`

	// Slices are the differences of the parts that the candidate's SliceBy names.
	Slices []SliceChange `json:"slices,omitempty"`

	// Cases are the cases that ran in both experiments, the worst regression first.
	Cases []CaseChange `json:"cases"`

	// Missing are the ids of cases that ran in one of the experiments only. They do not count.
	Missing []string `json:"missing,omitempty"`
}

// Effect is a difference of two experiments in paired cases.
type Effect struct {
	// Rate is the difference. Its 95 % confidence interval is about all cases like these, of which
	// these are a sample. It may contain 0 although P is small: a change in these cases does not
	// determine the change in others.
	Rate

	// Baseline and Candidate are the rates in the cases of Pairs.
	Baseline  Rate `json:"baseline"`
	Candidate Rate `json:"candidate"`

	Pairs  int `json:"pairs"`            // cases with trials in both experiments
	Groups int `json:"groups,omitempty"` // of these cases, as in [Stats]

	// P is the p-value of the test that nothing has changed in these cases: that each case passes
	// as often as before.
	P float64 `json:"p"`

	// Detectable is the smallest difference that this test finds in about four of five times, in as
	// many trials of cases that vary as these do.
	Detectable float64 `json:"detectable"`
}

// CaseChange is the difference of one case.
type CaseChange struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	// Change is Improved or Regressed if the interval of Effect does not contain 0. This happens by
	// chance in one of 20 cases that have not changed.
	Change Change `json:"change"`

	Baseline  Rate `json:"baseline"` // faults of the infrastructure count as failures
	Candidate Rate `json:"candidate"`
	Effect    Rate `json:"effect"` // candidate minus baseline, with Newcombe's interval
}

// A Change is the finding of a comparison.
type Change string

const (
	Improved   Change = "improved"
	Regressed  Change = "regressed"
	CannotTell Change = "cannot tell"
)

// Compare compares two experiments with the same cases, paired by id. Whether something has changed
// in these cases is decided by a permutation of the trials inside each case: the exact test of Mantel
// and Haenszel, with the mid-p value. With one trial per case it is McNemar's mid-p test. It takes the
// trials of a case as independent of each other. If as many cases improve as regress, a verdict is about
// these cases only.
//
// An interval estimates the difference in cases like these. It takes the cases as independent, or
// the groups if cases have one. Gains and losses each have an interval, and MOVER combines the two.
// It is wider than a t interval where few cases differ, because a few more may break outright. In
// simulations of 834 settings with 20 to 300 cases, at most 7 % of the intervals missed the truth.
// At most 3.5 % of candidates that are worse by the margin passed the gate. At most 7 % of the
// verdicts about the same agent were false.
//
// The error is an [*Error] if the fingerprints differ in something other than the version of the
// agent, if no case ran in both experiments, or if one of them was stopped at first failures, which
// leaves no rates to compare.
func Compare(baseline, candidate *Experiment) (*Comparison, error) {
	problems := problems{}
	for _, e := range []struct {
		name       string
		experiment *Experiment
	}{{"baseline", baseline}, {"candidate", candidate}} {
		if e.experiment.FirstFailure {
			problems.member(invalidOptions, e.name,
				"it was stopped at first failures, so it has no rates: run it without FirstFailure")
		}
	}
	if a, b := baseline.Fingerprint, candidate.Fingerprint; a != (Fingerprint{}) && b != (Fingerprint{}) {
		b.Agent = a.Agent // it is what is compared
		for _, text := range b.differences(a) {
			problems.member(invalidOptions, "candidate", "it cannot be compared with the baseline: %s", text)
		}
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	c := &Comparison{ungraded: baseline.ungraded() || candidate.ungraded()}
	var pairs [][2]CaseResult
	before := map[string]CaseResult{}
	for _, result := range baseline.Cases() {
		if result.Trials > 0 {
			before[result.ID] = result
		}
	}
	for _, result := range candidate.Cases() {
		old, is := before[result.ID]
		switch {
		case result.Trials == 0:
		case !is:
			c.Missing = append(c.Missing, result.ID)
		default:
			pairs = append(pairs, [2]CaseResult{old, result})
			delete(before, result.ID)
		}
	}
	for id := range before {
		c.Missing = append(c.Missing, id)
	}
	slices.Sort(c.Missing)
	if len(pairs) == 0 {
		problems.member(invalidOptions, "candidate", "no case ran in the baseline too: cases are compared by their ids")
		return nil, problems.err()
	}
	all := func(r CaseResult) int { return r.Trials }
	sound := func(r CaseResult) int { return r.Trials - r.Faults }
	counted, change := effect(pairs, all, all)
	dropped, same := effect(pairs, sound, sound)
	c.Counted, c.Dropped, c.Change = *counted, dropped, CannotTell
	if change == same {
		c.Change = change
	}
	c.mixed[0], _ = effect(pairs, sound, all)
	c.mixed[1], _ = effect(pairs, all, sound)
	for _, pair := range pairs {
		c.Cases = append(c.Cases, caseChange(pair[0], pair[1]))
		c.faults[0], c.faults[1] = c.faults[0]+pair[0].Faults, c.faults[1]+pair[1].Faults
	}
	c.Scores, c.Slices = compareScores(baseline, candidate), compareSlices(baseline, candidate)
	c.decide(candidate.GateBy)
	slices.SortStableFunc(c.Cases, func(a, b CaseChange) int { return cmp.Compare(a.Effect.Value, b.Effect.Value) })
	return c, nil
}

func (e *Experiment) ungraded() bool { return e.checks != nil && e.checks.Ungraded }

// changeOf returns what an interval shows.
func changeOf(r Rate) Change {
	switch {
	case r.Low > 0:
		return Improved
	case r.High < 0:
		return Regressed
	}
	return CannotTell
}

// effect compares the rates of the pairs of which both have trials, and says what the test shows. It
// returns nil if there are none. trialsBefore and trialsAfter count the trials of a case.
func effect(all [][2]CaseResult, trialsBefore, trialsAfter func(CaseResult) int) (*Effect, Change) {
	var pairs []pairedTrials
	var before, after, differences units
	total, totalA, totalB := 0, 0, 0
	for _, pair := range all {
		a, b := trialsBefore(pair[0]), trialsAfter(pair[1])
		if a > 0 && b > 0 {
			p := pairedTrials{TrialsA: a, PassedA: pair[0].Passed, TrialsB: b, PassedB: pair[1].Passed}
			pairs = append(pairs, p)
			differences.add(pair[1].Group, p.difference())
			before.add(pair[1].Group, float64(p.PassedA)/float64(a))
			after.add(pair[1].Group, float64(p.PassedB)/float64(b))
			total, totalA, totalB = total+min(a, b), totalA+a, totalB+b
		}
	}
	if len(pairs) == 0 {
		return nil, CannotTell
	}
	p, excess, variance := changeTest(pairs)
	means := differences.values()
	e := &Effect{Rate: rate(meanDifference(means, total)), Pairs: len(pairs), P: p, Detectable: detectableDifference(variance, total)}
	e.Baseline, e.Candidate = rate(meanRate(before.values(), totalA)), rate(meanRate(after.values(), totalB))
	if len(means) < len(pairs) {
		e.Groups = len(means)
	}
	switch {
	case p < 0.05 && excess > 0 && e.Value > 0:
		return e, Improved
	case p < 0.05 && excess < 0 && e.Value < 0:
		return e, Regressed
	}
	return e, CannotTell
}

// caseChange compares the trials of one case. The interval is method 10 of Newcombe, Statistics in
// Medicine 17:873, 1998.
func caseChange(baseline, candidate CaseResult) CaseChange {
	a, b := *baseline.Rate, *candidate.Rate
	d := b.Value - a.Value
	c := CaseChange{ID: candidate.ID, Name: candidate.Name, Baseline: a, Candidate: b, Effect: Rate{
		Value: d, Low: d - math.Hypot(b.Value-b.Low, a.High-a.Value), High: d + math.Hypot(b.High-b.Value, a.Value-a.Low),
	}}
	c.Change = changeOf(c.Effect)
	return c
}

// A Gate is a decision of [Comparison.Bound].
type Gate string

const (
	GatePassed    Gate = "passed"    // the candidate is not worse by margin or more
	GateFailed    Gate = "failed"    // the candidate is worse by more than margin
	GateUndecided Gate = "undecided" // the experiments are too small, or too unlike, to tell
)

// GateResult is the decision about one margin.
type GateResult struct {
	Score  string  `json:"score,omitempty"` // "" for the rate
	Margin float64 `json:"margin"`
	Gate   Gate    `json:"gate"`
	Reason string  `json:"reason,omitempty"` // why it is undecided, or why a score has no bound
}

// String returns the decision as one line.
func (g GateResult) String() string {
	text := fmt.Sprintf("margin %g points: %s", 100*g.Margin, g.Gate)
	if g.Score != "" {
		text = fmt.Sprintf("%s, margin %g: %s", g.Score, g.Margin, g.Gate)
	}
	if g.Reason != "" {
		text += ": " + g.Reason
	}
	return text
}

// decide sets the gates.
func (c *Comparison) decide(margins map[string]float64) {
	for _, score := range slices.Sorted(maps.Keys(margins)) { // "" is the first
		g := c.Bound(score, margins[score])
		if c.Gate != GateFailed && (c.Gate != GateUndecided || g.Gate == GateFailed) {
			c.Gate = g.Gate
		}
		c.Gates = append(c.Gates, g)
	}
}

// gateCases is how many cases a gate needs. Fewer are too few for a statistic.
const gateCases = 6

// Bound decides whether the candidate may replace the baseline: whether it is shown not to be worse by
// margin in a score, or in the rate if score is "". The margin of the rate is a difference, such as 0.05
// for five points, and so is the margin of a score of a grader. The margin of a measure, such as cost,
// is a share of the baseline: 0.1 for ten percent more.
//
// The gate passes only if the whole interval is better than the margin, so an experiment that is too
// small does not pass. If nothing differs, the rate needs about 3.7/margin cases: 74 for 5 points. Faults of
// the infrastructure may be the agent's or not, in each of the experiments: the rate passes if it does so
// whether the faults of either count as failures or are dropped, and it fails if it does so in all four
// combinations. Cases that did not run in both experiments leave a gate undecided, and so do fewer than 6
// cases, or groups of cases, with trials that are not such faults, and so does Options.Ungraded. The gate of a
// score that is unknown in a trial fails.
func (c *Comparison) Bound(score string, margin float64) GateResult {
	g := GateResult{Score: score, Margin: margin, Gate: GateUndecided}
	var effects []bounds
	if score == "" && c.ungraded {
		g.Reason = "the rows were not graded"
		return g
	}
	if score == "" {
		for _, e := range [...]*Effect{&c.Counted, c.Dropped, c.mixed[0], c.mixed[1]} {
			if e == nil {
				g.Reason = fmt.Sprintf("without faults no case has trials in both experiments (%s)", c.faultsOf())
				return g
			}
			effects = append(effects, bounds{e.Low, e.High, e.units(), e.Groups > 0})
		}
	} else {
		at := slices.IndexFunc(c.Scores, func(s ScoreChange) bool { return s.Name == score })
		if at < 0 {
			g.Gate, g.Reason = GateFailed, fmt.Sprintf("the score %s is not known in any case of both experiments", score)
			return g
		}
		s := &c.Scores[at]
		switch {
		case s.Unknown > 0:
			g.Gate, g.Reason = GateFailed, fmt.Sprintf("the score %s is unknown in %s",
				score, text.Plural(s.Unknown, "trial"))
			return g
		case s.Effect == nil:
			g.Reason = fmt.Sprintf("the cases do not bound the difference of %s", score)
			return g
		}
		better := *s.Effect
		if slices.Contains(measures, score) {
			better = better.negative()
		}
		effects = []bounds{{better.Low, better.High, cmp.Or(s.Groups, s.Pairs), s.Groups > 0}}
	}
	units, above, below := effects[0].units, 0, 0
	for _, e := range effects {
		units = min(units, e.units)
		if e.low > -margin {
			above++
		}
		if e.high < -margin {
			below++
		}
	}
	switch all := len(effects); {
	case below == all:
		g.Gate = GateFailed
	case len(c.Missing) > 0:
		g.Reason = text.Plural(len(c.Missing), "case") + " ran in one experiment only"
	case units < gateCases:
		noun := map[bool]string{false: "case", true: "group"}[effects[0].grouped]
		g.Reason = fmt.Sprintf("a gate needs at least %s, and %d have trials in both experiments", text.Plural(gateCases, noun), units)
	case above == all:
		g.Gate = GatePassed
	case below > 0 || above > 0:
		g.Reason = fmt.Sprintf("it depends on whether faults are failures of the agent (%s): run them again", c.faultsOf())
	default:
		g.Reason = "the interval contains the margin: run more cases"
	}
	return g
}

// bounds are what a gate looks at.
type bounds struct {
	low, high float64
	units     int
	grouped   bool
}

// faultsOf counts the faults.
func (c *Comparison) faultsOf() string {
	return fmt.Sprintf("%s in the baseline, %d in the candidate", text.Plural(c.faults[0], "fault"), c.faults[1])
}

// WriteSummary writes the comparison for people: at most 20 cases that changed, the effect, what a
// comparison of this size could find, and the gates. It returns the first error of w.
func (c *Comparison) WriteSummary(w io.Writer, colour bool) error {
	var b bytes.Buffer
	t := table{Head: []string{"case", "baseline", "candidate", "points, 95 % interval", ""}}
	for _, one := range c.Cases {
		if one.Effect.Value != 0 {
			t.add(plain(text.Line(one.Name, 60)), figure(percent(one.Baseline.Value)), figure(percent(one.Candidate.Value)),
				figure(one.Effect.points()), changed(one.Change))
		}
	}
	writeTables(&b, colour, append([]table{t}, c.tables()...))
	if n := len(c.Missing); n > 0 {
		fmt.Fprintf(&b, "%s ran in one experiment only\n", text.Plural(n, "case"))
	}
	fmt.Fprintln(&b, c.changes())
	if c.faulty() {
		fmt.Fprintf(&b, "faults dropped: %s\n", c.Dropped)
	}
	fmt.Fprintf(&b, "%s: %s\n", terminal.Paint(colour, c.Change.style(), string(c.Change)), c.Counted)
	for _, g := range c.Gates {
		fmt.Fprintf(&b, "gate, %s\n", g)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// changes counts what the cases show.
func (c *Comparison) changes() string {
	counts := map[Change]int{}
	for _, one := range c.Cases {
		counts[one.Change]++
	}
	return fmt.Sprintf("%s: %d improved, %d regressed, %d undecided",
		text.Plural(len(c.Cases), "case"), counts[Improved], counts[Regressed], counts[CannotTell])
}

// faulty reports whether it matters how faults are counted.
func (c *Comparison) faulty() bool { return c.Dropped != nil && *c.Dropped != c.Counted }

// units is the number of cases or groups that the interval rests on.
func (e *Effect) units() int { return cmp.Or(e.Groups, e.Pairs) }

// String returns the effect as one line.
func (e Effect) String() string {
	cases := text.Plural(e.Pairs, "case")
	if e.Groups > 0 {
		cases += " of " + text.Plural(e.Groups, "group")
	}
	return fmt.Sprintf("%s points in %s, p = %.3f; in cases like these %s", signed(e.Value), cases, e.P, e.interval()) + e.size()
}

func (e *Effect) size() string {
	if e.Groups > 0 {
		return size(e.Detectable, e.Groups, "group")
	}
	return size(e.Detectable, e.Pairs, "case")
}

// size says what a comparison of this size can find.
func size(detectable float64, units int, unit string) (s string) {
	if detectable < 1 {
		s = fmt.Sprintf("; a comparison of this size finds a difference of about %.0f points", 100*detectable)
	}
	if units < gateCases {
		s += fmt.Sprintf("; a gate needs at least %s", text.Plural(gateCases, unit))
	}
	return s
}

// points formats a difference: -12.5 [-30, 5].
func (r Rate) points() string { return signed(r.Value) + " " + r.interval() }

func (r Rate) interval() string { return "[" + signed(r.Low) + ", " + signed(r.High) + "]" }

func signed(v float64) string {
	text := digits(100 * v)
	if v > 0 && text != "0" {
		text = "+" + text
	}
	return text
}

func (c Change) style() terminal.Style {
	switch c {
	case Improved:
		return terminal.Good
	case Regressed:
		return terminal.Bad
	}
	return terminal.Plain
}
