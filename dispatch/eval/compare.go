package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/toolwire/toolwire/internal/text"
)

// Comparisons says how a candidate differs from a baseline in the same cases. [Compare] makes it.
type Comparisons struct {
	// Gates are the decisions about the margins in the candidate's GateBy, the rate first. Gate is [Failed] if one
	// of them or the candidate's [Experiment.Bar] failed, or else [Undecided] if one is undecided, or else
	// [Passed]. It is "" if there are none.
	Gate  Verdict
	Gates []Comparison

	verdict  Verdict           // about the rate, whatever the faults are
	reason   string            // where the faults, or trials that may not be independent, matter to it
	missing  []string          // ids of cases that ran in one of the experiments only, which do not count
	rates    []Comparison      // faults are counted, dropped, the baseline's dropped, the candidate's dropped
	scores   []Comparison      // that both experiments have
	slices   []Comparison      // of the candidate's SliceBy: the rate of each, and then its scores
	cases    []Comparison      // the rates of each case, the worst regression first
	columns  []string          // as the candidate's SliceBy
	names    map[string]string // of cases
	bounded  []Comparison      // as scores, measures cut at their limits
	faults   [2]int            // of baseline and candidate, in the cases of both
	ungraded bool              // one of them, at least
}

// A Comparison is the difference of a figure in the cases that two experiments have.
type Comparison struct {
	Baseline  Figure `json:"baseline"`
	Candidate Figure `json:"candidate"`

	// Difference is candidate minus baseline, of a measure as a share of the baseline: 0.1 is ten percent more. Its
	// interval is about all cases like these, of which these are a sample. It may contain 0 although P is small: a
	// change in these cases does not determine the change in others. Of one case it is Newcombe's.
	Difference Figure `json:"difference"`

	// P is the p-value of the test that nothing has changed in these cases: that each case passes as often as
	// before. It is 0 for other figures than the rate of several cases.
	P float64 `json:"p,omitempty"`

	// Verdict is Improved, Regressed or CannotTell: by P for the rate of several cases, and otherwise by the
	// interval, which misses the truth by chance in one of 20. CannotTell does not mean that nothing has
	// changed. The rate, of the whole and of a slice, has Improved or Regressed only if P is below 0.05
	// whether faults count as failures or are dropped, in the same direction. Reason says where the faults,
	// or trials that may not be independent, matter. More of a measure is a regression. Seconds have no
	// verdict, because all trials of an experiment share the load of the machine. The verdict of a gate is
	// Passed, Failed or Undecided, and Reason says why.
	Verdict Verdict `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`

	// detectable is the smallest difference of the rates that the test finds in about four of five times,
	// in as many trials of cases that vary as these do.
	detectable float64
	margin     float64 // of a gate
	limit      float64 // of a measure in a gate: what a trial needs beyond it does not count
}

// Verdicts of comparisons.
const (
	Improved   Verdict = "improved"
	Regressed  Verdict = "regressed"
	CannotTell Verdict = "cannot tell"
	Undecided  Verdict = "undecided" // the experiments are too small, or too unlike, for a gate to tell
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
func Compare(baseline, candidate *Experiment) (*Comparisons, error) {
	if err := comparable(baseline, candidate); err != nil {
		return nil, err
	}
	c := &Comparisons{
		verdict: CannotTell, columns: candidate.SliceBy, names: map[string]string{}, ungraded: baseline.ungraded() || candidate.ungraded(),
	}
	var pairs [][2]caseResult
	before := map[string]caseResult{}
	for _, result := range baseline.cases() {
		if result.Trials > 0 {
			before[result.ID] = result
		}
	}
	for _, result := range candidate.cases() {
		old, is := before[result.ID]
		switch {
		case result.Trials == 0:
		case !is:
			c.missing = append(c.missing, result.ID)
		default:
			pairs = append(pairs, [2]caseResult{old, result})
			delete(before, result.ID)
		}
	}
	for id := range before {
		c.missing = append(c.missing, id)
	}
	slices.Sort(c.missing)
	if len(pairs) == 0 {
		problems := problems{}
		problems.member(invalidOptions, "candidate", "no case ran in the baseline too: cases are compared by their ids")
		return nil, problems.err()
	}
	for _, pair := range pairs {
		c.cases = append(c.cases, compareCase(*pair[0].Rate, *pair[1].Rate))
		c.names[pair[1].ID] = pair[1].Name
		c.faults[0], c.faults[1] = c.faults[0]+pair[0].Faults, c.faults[1]+pair[1].Faults
	}
	slices.SortStableFunc(c.cases, func(a, b Comparison) int { return cmp.Compare(a.Difference.Value, b.Difference.Value) })
	for _, faults := range [][2]string{{counted, counted}, {dropped, dropped}, {dropped, counted}, {counted, dropped}} {
		if one, ok := compareRates(pairs, faults); ok && (faults[0]+faults[1] == counted+counted || c.faulty()) {
			c.rates = append(c.rates, one)
		}
	}
	c.decideVerdict()
	c.doubt(pairs)
	c.scores, c.slices = compareScores(baseline, candidate), compareSlices(baseline, candidate)
	for _, s := range c.scores {
		name := s.Difference.Name
		if limit := candidate.trialBudget.limit(name); isMeasure(name) && !math.IsInf(limit, 1) {
			s, _ = compareScore(baseline, candidate, name, limit)
		}
		c.bounded = append(c.bounded, s)
	}
	if candidate.MinRate > 0 {
		c.Gate, _ = candidate.Bar()
	}
	for _, score := range slices.Sorted(maps.Keys(candidate.GateBy)) { // "" is the first
		g := c.gate(score, candidate.GateBy[score])
		c.Gate, c.Gates = worst(c.Gate, g.Verdict), append(c.Gates, g)
	}
	return c, nil
}

// comparable returns an error if experiments cannot be compared.
func comparable(baseline, candidate *Experiment) error {
	problems := problems{}
	for i, e := range []*Experiment{baseline, candidate} {
		if e.firstFailure {
			problems.member(invalidOptions, []string{"baseline", "candidate"}[i],
				"it was stopped at first failures, so it has no rates: run it without FirstFailure")
		}
	}
	if a, b := baseline.fingerprint, candidate.fingerprint; a != (fingerprint{}) && b != (fingerprint{}) {
		b.Agent = a.Agent // it is what is compared
		for _, text := range b.differences(a) {
			problems.member(invalidOptions, "candidate", "it cannot be compared with the baseline: %s", text)
		}
	}
	return problems.err()
}

// Figures returns the comparisons of the figures. The rate is the first, with faults counted as
// failures. If there are faults, the rate follows with faults dropped, then with only the faults of the
// baseline dropped, and then with only the faults of the candidate dropped, each if a case has trials in
// both experiments. Then come the scores that both experiments have, see [Experiment.Figures], the rate
// and the scores of each slice of the candidate's SliceBy, and the rate of each case, the worst
// regression first.
func (c *Comparisons) Figures() []Comparison {
	list := slices.Concat(c.rates, c.scores, c.slices, c.cases)
	list[0].Verdict, list[0].Reason = c.verdict, c.reason
	return list
}

func (e *Experiment) ungraded() bool { return e.checks != nil && e.checks.Ungraded }

// faulty reports whether it may matter how faults are treated.
func (c *Comparisons) faulty() bool { return c.faults != [2]int{} }

// withoutFaults returns the comparison of the rates with the faults of both dropped; nil if no case has
// other trials in both.
func (c *Comparisons) withoutFaults() *Comparison {
	for i := range c.rates {
		if r := &c.rates[i]; !c.faulty() || r.Difference.Faults == dropped {
			return r
		}
	}
	return nil
}

// decideVerdict sets the verdict about the rates.
func (c *Comparisons) decideVerdict() {
	with := &c.rates[0]
	switch without := c.withoutFaults(); {
	case without != nil && without.Verdict == with.Verdict:
		c.verdict = with.Verdict
	case without == nil && with.Verdict == CannotTell:
	case with.Verdict != CannotTell:
		c.reason = string(with.Verdict) + " only if the faults are failures of the agent"
	default:
		c.reason = string(without.Verdict) + " only if the faults are not failures of the agent"
	}
}

// doubt notes that the trials of a case do not look independent, if the verdict rests on that: they agree far more
// inside each experiment than between the two, as with a cache, and one trial of each case would show no change.
func (c *Comparisons) doubt(pairs [][2]caseResult) {
	if c.verdict == CannotTell {
		return
	}
	within, between := 0.0, 0.0 // the probability that two trials of a case end unlike, summed over the cases
	var single []pairedTrials
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		if a.Trials < 2 || b.Trials < 2 {
			continue
		}
		for _, r := range pair {
			within += float64(r.Passed*(r.Trials-r.Passed)) / float64(r.Trials*(r.Trials-1))
		}
		p, q := a.Rate.Value, b.Rate.Value
		between += p*(1-q) + q*(1-p)
		if p != q {
			one := pairedTrials{TrialsA: 1, TrialsB: 1}
			if one.PassedB = 1; p > q {
				one.PassedA, one.PassedB = 1, 0
			}
			single = append(single, one)
		}
	}
	if p, _, _ := changeTest(single); within < between/2 && p >= 0.05 {
		c.reason = fmt.Sprintf("if trials are independent: those of a case agree far more in each version than between the two, "+
			"as with a cache; one trial of each would give p = %.3f", p)
	}
}

// verdictOn returns what an interval shows.
func verdictOn(f Figure) Verdict {
	switch {
	case f.Low > 0:
		return Improved
	case f.High < 0:
		return Regressed
	}
	return CannotTell
}

// compareRates compares the rates of the pairs of which both have trials, and says what the test shows. faults
// are the treatments of the faults of both. ok is false if there are no such pairs.
func compareRates(all [][2]caseResult, faults [2]string) (c Comparison, ok bool) {
	var pairs []pairedTrials
	var rates [2][]scored
	for _, pair := range all {
		trials := [2]int{}
		for k, r := range pair {
			if trials[k] = r.Trials; faults[k] == dropped {
				trials[k] -= r.Faults
			}
		}
		if trials[0] > 0 && trials[1] > 0 {
			pairs = append(pairs, pairedTrials{trials[0], pair[0].Passed, trials[1], pair[1].Passed})
			for k, r := range pair {
				rates[k] = append(rates[k], scored{r.ID, r.Group, float64(r.Passed) / float64(trials[k]), trials[k]})
			}
		}
	}
	c, before, after, differences := paired(Figure{Name: "rate", unit: unitShare}, rates[0], rates[1])
	if len(pairs) == 0 {
		return c, false
	}
	p, excess, variance := changeTest(pairs)
	c.Baseline.Faults, c.Candidate.Faults = faults[0], faults[1]
	if faults[0] == faults[1] {
		c.Difference.Faults = faults[0]
	}
	c.Baseline = c.Baseline.with(meanRate(before, c.Baseline.Trials))
	c.Candidate = c.Candidate.with(meanRate(after, c.Candidate.Trials))
	c.Difference = c.Difference.with(meanDifference(differences, c.Difference.Trials))
	c.P, c.detectable, c.Verdict = p, detectableDifference(variance, c.Difference.Trials), CannotTell
	switch {
	case p < 0.05 && excess > 0 && c.Difference.Value > 0:
		c.Verdict = Improved
	case p < 0.05 && excess < 0 && c.Difference.Value < 0:
		c.Verdict = Regressed
	}
	return c, true
}

// paired returns the comparison of a figure, without values, in the cases that both have, and the means
// of their cases or groups: before, after, and the differences.
func paired(f Figure, baseline, candidate []scored) (c Comparison, before, after, differences []float64) {
	known := map[string]scored{}
	for _, one := range baseline {
		known[one.id] = one
	}
	var a, b, d units
	trials := [3]int{}
	for _, one := range candidate {
		if other, is := known[one.id]; is {
			a.add(one.group, other.mean)
			b.add(one.group, one.mean)
			d.add(one.group, one.mean-other.mean)
			trials[0], trials[1], trials[2] = trials[0]+other.trials, trials[1]+one.trials, trials[2]+min(one.trials, other.trials)
		}
	}
	return Comparison{Baseline: f.over(&a, trials[0]), Candidate: f.over(&b, trials[1]), Difference: f.over(&d, trials[2])}, a.values(), b.values(), d.values()
}

// compareCase compares the rates of one case. The interval is method 10 of Newcombe, Statistics in
// Medicine 17:873, 1998.
func compareCase(a, b Figure) Comparison {
	c := Comparison{Baseline: a, Candidate: b, Difference: b}
	d := b.Value - a.Value
	c.Difference.Trials = min(a.Trials, b.Trials)
	c.Difference = c.Difference.with(d, interval{d - math.Hypot(b.Value-b.Low, a.High-a.Value), d + math.Hypot(b.High-b.Value, a.Value-a.Low)})
	c.Verdict = verdictOn(c.Difference)
	return c
}

// insideMargin is why the gate of an experiment that is too small is undecided.
const insideMargin = "the interval contains the margin: run more cases"

// gateCases is how many cases a gate needs. Fewer are too few for a statistic.
const gateCases = 6

// gate decides whether the candidate is shown not to be worse by margin in a score, or in the rate if
// score is "": see [Experiment].GateBy.
func (c *Comparisons) gate(score string, margin float64) Comparison {
	g := c.rates[0]
	g.P, g.detectable, g.margin, g.Verdict, g.Reason = 0, 0, margin, Undecided, ""
	var differences []Figure // better is positive
	if score == "" {
		for _, one := range c.rates {
			differences = append(differences, one.Difference)
		}
		switch {
		case c.ungraded:
			g.Reason = "the rows were not graded"
			return g
		case c.faulty() && len(differences) < 4:
			g.Reason = fmt.Sprintf("without faults no case has trials in both experiments (%s)", c.faultsOf())
			return g
		}
	} else {
		at := slices.IndexFunc(c.bounded, func(s Comparison) bool { return s.Difference.Name == score })
		if at < 0 {
			g.Difference = Figure{Name: score}
			g.Verdict, g.Reason = Failed, fmt.Sprintf("the score %s is not known in any case of both experiments", score)
			return g
		}
		s := &c.bounded[at]
		d := s.Difference
		g.Baseline, g.Candidate, g.Difference, g.limit = s.Baseline, s.Candidate, d, s.limit
		switch {
		case d.Unknown > 0:
			g.Verdict, g.Reason = Failed, fmt.Sprintf("the score %s is unknown in %s", score, text.Plural(d.Unknown, "trial"))
			return g
		case !d.bounded():
			g.Reason = fmt.Sprintf("the cases do not bound the difference of %s", score)
			return g
		case isMeasure(score):
			d = d.negative()
		}
		differences = []Figure{d}
	}
	above, below, few := 0, 0, differences[0]
	for _, d := range differences {
		n, _ := d.units()
		if least, _ := few.units(); n < least {
			few = d
		}
		if d.Low > -margin {
			above++
		}
		if d.High < -margin {
			below++
		}
	}
	n, noun := few.units()
	switch all := len(differences); {
	case below == all:
		g.Verdict = Failed
	case len(c.missing) > 0:
		g.Reason = text.Plural(len(c.missing), "case") + " ran in one experiment only"
	case n < gateCases:
		g.Reason = fmt.Sprintf("a gate needs at least %s, and %d have trials in both experiments", text.Plural(gateCases, noun), n)
	case isMeasure(score) && g.limit == 0:
		g.Reason = fmt.Sprintf("a trial has no limit of %s, and a sample does not show how many cases run away", score)
	case above == all:
		g.Verdict = Passed
	case below > 0 || above > 0:
		g.Reason = fmt.Sprintf("it depends on whether faults are failures of the agent (%s): run them again", c.faultsOf())
	default:
		g.Reason = insideMargin
		if at := slices.IndexFunc(c.scores, func(s Comparison) bool { return s.Difference.Name == score }); g.limit > 0 && c.scores[at].Difference.High < margin {
			g.Reason = fmt.Sprintf("so few cases may not show those that reach the limit of %g: run more cases, or lower the limit", g.limit)
		}
	}
	return g
}

// faultsOf counts the faults.
func (c *Comparisons) faultsOf() string {
	return fmt.Sprintf("%s in the baseline, %d in the candidate", text.Plural(c.faults[0], "fault"), c.faults[1])
}

// bar says what a gate asks for.
func (c *Comparison) bar() string {
	if name := c.Difference.Name; name != "rate" {
		if c.limit > 0 {
			return fmt.Sprintf("%s, margin %g, limit %g", name, c.margin, c.limit)
		}
		return fmt.Sprintf("%s, margin %g", name, c.margin)
	}
	return fmt.Sprintf("margin %g points", 100*c.margin)
}

// decision is the verdict of a gate and its reason.
func (c *Comparison) decision() string {
	if c.Reason != "" {
		return string(c.Verdict) + ": " + c.Reason
	}
	return string(c.Verdict)
}

// WriteSummary writes the comparison for people: at most 20 cases that changed, the scores and slices, the rates, what
// a comparison of this size could find, and the gates. It returns the first error of w.
func (c *Comparisons) WriteSummary(w io.Writer, colour bool) error {
	var b bytes.Buffer
	writeTables(&b, colour, append([]table{c.caseTable()}, c.tables()...))
	writeFacts(&b, colour, c.facts())
	_, err := w.Write(b.Bytes())
	return err
}

// caseTable lists the cases that changed.
func (c *Comparisons) caseTable() table {
	t := table{Title: "Cases that changed", Head: []string{"case", "baseline", "candidate", "points, 95 % interval", ""}}
	for _, one := range c.cases {
		if one.Difference.Value != 0 {
			t.add(plain(text.Line(c.names[one.Difference.Slice], 60)), figure(percent(one.Baseline.Value)), figure(percent(one.Candidate.Value)),
				figure(one.Difference.difference()), changed(one.Verdict))
		}
	}
	return t
}

// changes counts what the cases show. A case with the same rate in both is the same.
func (c *Comparisons) changes() string {
	counts, same := map[Verdict]int{}, 0
	for _, one := range c.cases {
		if one.Difference.Value == 0 {
			same++
			continue
		}
		counts[one.Verdict]++
	}
	return fmt.Sprintf("%s: %d improved, %d regressed, %d the same, %d undecided",
		text.Plural(len(c.cases), "case"), counts[Improved], counts[Regressed], same, counts[CannotTell])
}

// conclusion says in one line what the verdict, the interval and the gate of the rate show together, and what would
// decide a gate that is undecided.
func (c *Comparisons) conclusion() string {
	d := c.rates[0].Difference
	line := map[Verdict]string{Improved: "the candidate is better", Regressed: "the candidate is worse", CannotTell: "no difference is shown"}[c.verdict]
	if c.verdict != CannotTell && c.reason != "" {
		line += ", if trials are independent"
	}
	line = fmt.Sprintf("in these %s %s; in cases like these ", d.about(), line)
	points := func(share float64) string { return digits(100*math.Abs(share)) + " points" }
	switch {
	case d.Low >= 0:
		line += "it is not worse"
	case d.High < 0:
		line += "it is worse by at least " + points(d.High)
	default:
		line += "it may be worse by up to " + points(d.Low)
	}
	if len(c.Gates) == 0 || c.Gates[0].Difference.Name != "rate" {
		return line
	}
	switch g := &c.Gates[0]; {
	case g.Verdict == Passed:
		line += fmt.Sprintf(", and the margin allows %s", points(g.margin))
	case g.Verdict == Failed:
		line += fmt.Sprintf(", and the margin allows only %s", points(g.margin))
	case g.Reason != insideMargin:
		line += ", and the gate is undecided because " + g.Reason
	default:
		line += fmt.Sprintf(", and the margin allows only %s", points(g.margin))
		if n := c.deciding(g.margin); n > 0 {
			line += fmt.Sprintf("; about %d cases that change as these do would decide it", n)
		}
	}
	return line
}

// deciding returns about how many cases a gate of the rate needs if they change as these do; 0 if that is not known.
func (c *Comparisons) deciding(margin float64) int {
	d := c.rates[0].Difference
	if d.groups > 0 || c.faulty() {
		return 0
	}
	var differences []float64
	for _, one := range c.cases {
		differences = append(differences, one.Difference.Value)
	}
	most := 20_000 / len(differences) // the search needs no more memory than this
	times := 1 + sort.Search(most, func(i int) bool {
		_, bounds := meanDifference(slices.Repeat(differences, i+1), d.Trials*(i+1))
		return bounds.Low > -margin || bounds.High < -margin
	})
	if times > most {
		return 0
	}
	return times * len(differences)
}

// String returns the comparison as one line: of a gate what it asks for and its verdict, of scores both
// means and the difference, and of rates the difference.
func (c Comparison) String() string {
	d := c.Difference
	switch {
	case slices.Contains([]Verdict{Passed, Failed, Undecided}, c.Verdict):
		return c.bar() + ": " + c.decision()
	case d.unit != unitShare:
		return d.Name + ": " + c.scores()
	case c.detectable == 0: // of one case
		return d.difference() + " points in " + text.Plural(d.Trials, "trial")
	}
	return fmt.Sprintf("%s points in %s, p = %.3f; in cases like these%s", d.changed(), d.about(), c.P, d.interval(signed)) + c.size()
}

func (c *Comparison) size() string {
	n, noun := c.Difference.units()
	return size(c.detectable, n, noun)
}

// size says what a comparison of this size can find.
func size(detectable float64, units int, noun string) (line string) {
	if detectable < 1 {
		points := fmt.Sprintf("%.0f", 100*detectable)
		if detectable < 0.01 {
			points = digits(100 * detectable)
		}
		line = fmt.Sprintf("; a comparison of this size finds a difference of about %s points in these cases", points)
	}
	if units < gateCases {
		line += fmt.Sprintf("; a gate needs at least %s", text.Plural(gateCases, noun))
	}
	return line
}
