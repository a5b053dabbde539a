package eval

import (
	"fmt"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// Rate is an estimate of a probability, or of a difference of two, with its 95 % confidence
// interval.
type Rate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// String returns the rate in percent: 60 % [23, 88].
func (r Rate) String() string {
	return fmt.Sprintf("%s [%s, %s]", percent(r.Value), digits(100*r.Low), digits(100*r.High))
}

func rate(value float64, i interval) Rate { return Rate{value, i.Low, i.High} }

// digits writes a number with at most one digit after the point.
func digits(v float64) string {
	text := fmt.Sprintf("%.1f", v)
	if text == "-0.0" || text == "0.0" {
		return "0"
	}
	if whole := fmt.Sprintf("%.0f", v); text == whole+".0" {
		return whole
	}
	return text
}

func percent(v float64) string { return digits(100*v) + " %" }

// CaseResult sums up the trials of one case.
type CaseResult struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	Group string `json:"group,omitempty"`

	// Verdict is [Failed] if a trial failed, or else [Cancelled] or [Errored] if one was, or else
	// [Passed] or [Skipped].
	Verdict Verdict `json:"verdict"`

	Trials int `json:"trials"` // that ended
	Passed int `json:"passed"`
	Faults int `json:"faults"` // of the infrastructure and of the user, see [Stats]

	// Stopped is set for a case whose other trials did not run because of FirstFailure.
	Stopped bool `json:"stopped,omitempty"`

	// Rate is the share of trials that passed, with Wilson's interval. Faults of the infrastructure
	// count as failures. Rate is nil if no trial ended, and in an experiment with FirstFailure.
	Rate *Rate `json:"rate,omitempty"`
}

// Cases returns the results of the cases in their order.
func (e *Experiment) Cases() []CaseResult {
	all := caseTrials(e.Trials)
	results := make([]CaseResult, len(all))
	for i, trials := range all {
		results[i] = e.together(trials)
	}
	return results
}

func (e *Experiment) together(trials []Trial) CaseResult {
	c := CaseResult{ID: trials[0].ID, Name: trials[0].Name, Group: trials[0].Group}
	seen := map[Verdict]bool{}
	for i := range trials {
		t := &trials[i]
		seen[t.Verdict] = true
		if !t.counts() {
			continue
		}
		c.Trials++
		if t.Verdict == Passed {
			c.Passed++
		}
		if t.fault() {
			c.Faults++
		}
	}
	for _, v := range []Verdict{Failed, Cancelled, Errored, Passed, Skipped} {
		if seen[v] {
			c.Verdict = v
			break
		}
	}
	c.Stopped = e.FirstFailure && c.Verdict != Skipped && len(trials) < e.TrialsPerCase
	if !e.FirstFailure && c.Trials > 0 {
		r := rate(float64(c.Passed)/float64(c.Trials), wilson(float64(c.Passed), float64(c.Trials)))
		c.Rate = &r
	}
	return c
}

// counts reports whether the trial ended, so that reports count it.
func (t *Trial) counts() bool { return t.Verdict != Skipped && t.Verdict != Cancelled }

// fault reports whether the trial says nothing certain about the agent.
func (t *Trial) fault() bool {
	return t.Verdict == Errored ||
		t.Verdict == Failed && (t.Cause == Cause(dispatchtest.AgentUnreachable) || t.Cause == Cause(dispatchtest.AuthFailed))
}

// Stats sums up all trials of an experiment. The case is the unit: the trials of one case are not
// independent. Rates are means over cases, and their intervals depend on how much the cases differ
// (Miller, arXiv 2411.00640). If cases have a group, the group is the unit: a rate is the mean over
// groups of the mean over their cases, so that each group counts the same.
//
// A fault is a trial that [Errored], for example because its [User] failed. A trial that failed
// because the endpoint could not be reached or refused the credentials is a fault too. If such
// trials are left out, an agent that causes them looks too good. If they count as failures, an
// agent that does not cause them looks too bad. Stats therefore contains both estimates.
type Stats struct {
	Cases  int `json:"cases"`            // with a trial that ended
	Groups int `json:"groups,omitempty"` // of these cases, if cases have one; a case without counts as one
	Trials int `json:"trials"`           // that ended
	Faults int `json:"faults"`           // of the infrastructure and of the user

	UserFaults int `json:"user_faults,omitempty"` // faults with the [Cause] user, included in Faults
	Retries    int `json:"retries,omitempty"`     // runs that were faults and ran again, see Options.RetryFaults

	// Always is the share of cases whose trials all passed, with its interval. A fault of the
	// infrastructure counts as a failure.
	Always Rate `json:"always"`

	// Counted counts faults as failures, Dropped leaves them out. They are nil if no trial is left,
	// and in an experiment with FirstFailure. Without faults they are equal.
	Counted *Estimate `json:"counted,omitempty"`
	Dropped *Estimate `json:"dropped,omitempty"`
}

// Estimate is the success of an agent in the cases of an experiment.
type Estimate struct {
	Rate Rate `json:"rate"` // that a trial passes

	// AllOf[k-1] estimates the probability that k trials of a case all pass, which is pass^k of
	// arXiv 2406.12045. AnyOf[k-1] estimates the probability that at least one of k trials passes,
	// which is pass@k of arXiv 2107.03374. Cases with fewer than k trials are left out. k goes from 1
	// to the number of trials of the case that has the most. From k = 2 on the interval is Agresti and
	// Coull's, which is wider near 0 and 1.
	AllOf []Power `json:"all_of"`
	AnyOf []Power `json:"any_of"`
}

// Power is a probability of several trials of a case.
type Power struct {
	Rate
	Cases int `json:"cases"` // that have as many trials
}

// Stats returns the estimates for all cases. Trials that were skipped or cancelled do not count.
func (e *Experiment) Stats() Stats {
	var s Stats
	var always units
	cases := e.Cases()
	grouped := false
	for _, c := range cases {
		if c.Trials == 0 {
			continue
		}
		s.Cases, s.Trials, s.Faults = s.Cases+1, s.Trials+c.Trials, s.Faults+c.Faults
		if c.Passed == c.Trials {
			always.add(c.Group, 1)
		} else {
			always.add(c.Group, 0)
		}
		grouped = grouped || c.Group != ""
	}
	if grouped {
		s.Groups = len(always.values())
	}
	for i := range e.Trials {
		if e.Trials[i].Cause == causeUser {
			s.UserFaults++
		}
		s.Retries += e.Trials[i].Retries
	}
	s.Always = rate(meanRate(always.values(), always.cases))
	if !e.FirstFailure {
		s.Counted = estimate(cases, func(c CaseResult) int { return c.Trials })
		s.Dropped = estimate(cases, func(c CaseResult) int { return c.Trials - c.Faults })
	}
	return s
}

// estimate returns the means over the cases with trials, or nil if none has one.
func estimate(cases []CaseResult, trials func(CaseResult) int) *Estimate {
	most := 0
	for _, c := range cases {
		most = max(most, trials(c))
	}
	if most == 0 {
		return nil
	}
	e := &Estimate{}
	allOf, anyOf := make([][]float64, len(cases)), make([][]float64, len(cases))
	for i, c := range cases {
		allOf[i], anyOf[i] = repeatedTrials(trials(c), c.Passed)
	}
	for k := 1; k <= most; k++ {
		var all, any units
		groups := 0 // of k trials
		for i, c := range cases {
			if n := trials(c); n >= k {
				all.add(c.Group, allOf[i][k-1])
				any.add(c.Group, anyOf[i][k-1])
				groups += n / k
			}
		}
		mean := meanPower
		if k == 1 {
			mean = meanRate
		}
		e.AllOf = append(e.AllOf, Power{rate(mean(all.values(), groups)), all.cases})
		e.AnyOf = append(e.AnyOf, Power{rate(mean(any.values(), groups)), any.cases})
	}
	e.Rate = e.AllOf[0].Rate
	return e
}

// powers returns the table of several trials of a case, for few numbers of trials if there are many. For
// one trial it would be the rate.
func (s *Stats) powers() table {
	t := table{Title: "Several trials of a case", Head: []string{"trials", "cases", "all pass", "at least one passes"}}
	if s.Counted == nil {
		return t
	}
	n := len(s.Counted.AllOf)
	for k := 2; k <= n; k++ {
		if k <= 5 || k == n || k == 10 || k == 100 || k == 1000 {
			all, any := s.Counted.AllOf[k-1], s.Counted.AnyOf[k-1]
			t.add(figure(fmt.Sprint(k)), figure(fmt.Sprint(all.Cases)), figure(all.String()), figure(any.String()))
		}
	}
	return t
}

// units collects a value of each case. A group of cases is one unit, and so is a case without a group.
type units struct {
	cases  int
	sums   []float64
	sizes  []int
	places map[string]int // of groups
}

func (u *units) add(group string, value float64) {
	u.cases++
	at, known := u.places[group]
	if group == "" || !known {
		at = len(u.sums)
		u.sums, u.sizes = append(u.sums, 0), append(u.sizes, 0)
		if u.places == nil {
			u.places = map[string]int{}
		}
		u.places[group] = at
	}
	u.sums[at] += value
	u.sizes[at]++
}

// values returns the mean of each unit.
func (u *units) values() []float64 {
	means := make([]float64, len(u.sums))
	for i, sum := range u.sums {
		means[i] = sum / float64(u.sizes[i])
	}
	return means
}
