package eval

import (
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// caseResult sums up the trials of one case.
type caseResult struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`

	// Verdict is [Failed] if a trial failed, or else [Cancelled] or [Errored] if one was, or else
	// [Passed] or [Skipped].
	Verdict Verdict `json:"verdict"`

	Trials int `json:"trials"` // that ended
	Passed int `json:"passed"`
	Faults int `json:"faults"` // of the infrastructure and of the user, see Options.FaultStatuses

	// Stopped is set for a case whose other trials did not run because of FirstFailure.
	Stopped bool `json:"stopped,omitempty"`

	// Rate is the share of trials that passed, with Wilson's interval. Faults count as failures. Rate is nil if no
	// trial ended, and in an experiment with FirstFailure.
	Rate *Figure `json:"rate,omitempty"`
}

// cases returns the results of the cases in their order.
func (e *Experiment) cases() []caseResult {
	all := caseTrials(e.Trials)
	results := make([]caseResult, len(all))
	for i, trials := range all {
		results[i] = e.together(trials)
	}
	return results
}

// Cases returns the rate of each case of which a trial ended, in their order. Slice is the id of the
// case, and the interval is Wilson's. Faults count as failures. An experiment with FirstFailure has no
// rates.
func (e *Experiment) Cases() (rates []Figure) {
	for _, c := range e.cases() {
		if c.Rate != nil {
			rates = append(rates, *c.Rate)
		}
	}
	return rates
}

func (e *Experiment) together(trials []Trial) caseResult {
	c := caseResult{ID: trials[0].ID, Name: trials[0].Name, Group: trials[0].Group}
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
	c.Stopped = e.firstFailure && c.Verdict != Skipped && len(trials) < e.trialsOf(&trials[0])
	if !e.firstFailure && c.Trials > 0 {
		r := Figure{Name: "rate", Slice: c.ID, unit: unitShare, Faults: counted, Cases: 1, Trials: c.Trials}.with(
			float64(c.Passed)/float64(c.Trials), wilson(float64(c.Passed), float64(c.Trials)))
		c.Rate = &r
	}
	return c
}

// counts reports whether the trial ended, so that reports count it.
func (t *Trial) counts() bool { return t.Verdict != Skipped && t.Verdict != Cancelled }

// fault reports whether the trial says nothing certain about the agent.
func (t *Trial) fault() bool {
	return t.Verdict == Errored || t.status > 0 ||
		t.Verdict == Failed && (t.Cause == string(dispatchtest.AgentUnreachable) || t.Cause == string(dispatchtest.AuthFailed))
}

// stats counts the trials of an experiment. Trials that were skipped or cancelled do not count.
type stats struct {
	Cases  int `json:"cases"`            // with a trial that ended
	Groups int `json:"groups,omitempty"` // of these cases, if cases have one; a case without counts as one
	Trials int `json:"trials"`           // that ended
	Faults int `json:"faults"`           // of the infrastructure and of the user

	UserFaults int `json:"user_faults,omitempty"` // faults with the cause user, included in Faults

	// Statuses counts the faults that are included in Faults because of the status of the endpoint, by status.
	Statuses map[int]int `json:"fault_statuses,omitempty"`

	Retries int `json:"retries,omitempty"` // runs that were faults and ran again, see Options.RetryFaults
}

// stats returns the counts of all cases.
func (e *Experiment) stats() stats {
	var s stats
	var ran units
	for _, c := range e.cases() {
		if c.Trials > 0 {
			ran.add(c.Group, 1)
			s.Trials, s.Faults = s.Trials+c.Trials, s.Faults+c.Faults
		}
	}
	of := Figure{}.over(&ran, s.Trials)
	s.Cases, s.Groups = of.Cases, of.groups
	for i := range e.Trials {
		if e.Trials[i].Cause == causeUser {
			s.UserFaults++
		}
		if status := e.Trials[i].status; status > 0 {
			if s.Statuses == nil {
				s.Statuses = map[int]int{}
			}
			s.Statuses[status]++
		}
		s.Retries += e.Trials[i].retries
	}
	return s
}

// Figures returns the figures of the experiment: the rate, several trials of a case, and the cases that
// always passed, with faults counted as failures; the rate and several trials with faults dropped, if
// there are any; the scores; and then the rate and the scores of each part by the columns of SliceBy. An
// experiment with FirstFailure has the cases that always passed, and no others.
//
// Intervals of shares depend on how much the cases differ (Miller, arXiv 2411.00640); of several trials they are
// Agresti and Coull's, which is wider near 0 and 1. The interval of a rate is a little short there: of ten cases that pass
// 99 times in 100 it holds that rate in 90 of 100 experiments. Cases with fewer than k trials are not in all_of_k and
// any_of_k; k is 2 to 5, 10, 100, 1000, and the most trials of a case. Scores are those of graders, by name, and
// then the measures, which need no grader:
//
//	calls                  requests for tools, with or without a result
//	tokens_in, tokens_out  total_input_tokens and total_output_tokens that the responses report
//	seconds                from the dispatches to the responses, all turns together
//	cost                   of the tokens, see Experiment.SetPrices
//
// The mean of a case is over the trials in which the score is known. What a response does not report is
// unknown, and not 0. A trial that did not reach the agent, or whose user failed, has no measures.
//
// Less of a measure is better, and it has no upper bound. A few cases often need much more than the others, so its
// interval is Student's together with Hall's, which corrects for skewness. The interval of a score is as wide as a
// rate's, because a case that was not seen may score 0.
func (e *Experiment) Figures() []Figure {
	list := e.whole()
	for _, column := range e.SliceBy {
		for _, part := range e.slices(column) {
			for _, f := range part.whole() {
				if f.Name == "rate" && f.Faults == counted || f.Faults == "" {
					f.Slice = part.name()
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// Figure returns the first of the figures of the whole experiment that has the name: of a share with faults counted
// as failures. If there is none, its Cases are 0.
func (e *Experiment) Figure(name string) Figure { return figureOf(e.whole(), name, "") }

// figureOf returns the first of the figures that has the name and treats faults in a way; "" is any way.
func figureOf(list []Figure, name, faults string) Figure {
	for _, f := range list {
		if f.Name == name && (faults == "" || f.Faults == faults) {
			return f
		}
	}
	return Figure{}
}

// whole returns the figures of the whole experiment.
func (e *Experiment) whole() (list []Figure) {
	cases, faults := e.cases(), 0
	var always units
	for _, c := range cases {
		faults += c.Faults
		switch {
		case c.Trials == 0:
		case c.Passed == c.Trials:
			always.add(c.Group, 1)
		default:
			always.add(c.Group, 0)
		}
	}
	if !e.firstFailure {
		list = shares(cases, counted, func(c caseResult) int { return c.Trials })
	}
	if always.cases > 0 {
		f := Figure{Name: "always", unit: unitShare, Faults: counted}.over(&always, always.cases)
		list = append(list, f.with(meanRate(always.values(), always.cases)))
	}
	if !e.firstFailure && faults > 0 {
		list = append(list, shares(cases, dropped, func(c caseResult) int { return c.Trials - c.Faults })...)
	}
	for _, name := range e.scoreNames() {
		list = append(list, e.score(name))
	}
	return list
}

// shares returns the rate and the figures of several trials over the cases with trials.
func shares(cases []caseResult, faults string, trials func(caseResult) int) (list []Figure) {
	most := 0
	allOf, anyOf := make([][]float64, len(cases)), make([][]float64, len(cases))
	for i, c := range cases {
		most = max(most, trials(c))
		allOf[i], anyOf[i] = repeatedTrials(trials(c), c.Passed)
	}
	for k := 1; k <= most; k++ {
		if k > 5 && k < most && k != 10 && k != 100 && k != 1000 {
			continue
		}
		var all, any units
		groups := 0 // of k trials
		for i, c := range cases {
			if n := trials(c); n >= k {
				all.add(c.Group, allOf[i][k-1])
				any.add(c.Group, anyOf[i][k-1])
				groups += n / k
			}
		}
		f := Figure{Name: "rate", unit: unitShare, Faults: faults}
		if k == 1 {
			list = append(list, f.over(&all, groups).with(meanRate(all.values(), groups)))
			continue
		}
		f.Name = fmt.Sprintf("all_of_%d", k)
		list = append(list, f.over(&all, groups).with(meanPower(all.values(), groups)))
		f.Name = fmt.Sprintf("any_of_%d", k)
		list = append(list, f.over(&any, groups).with(meanPower(any.values(), groups)))
	}
	return list
}

// powers returns the table of several trials of a case, with faults counted as failures.
func powers(figures []Figure) table {
	t := table{Title: "Several trials of a case", Head: []string{"trials", "cases", "all pass", "at least one passes"}}
	for i, f := range figures {
		if k, is := strings.CutPrefix(f.Name, "all_of_"); is && f.Faults == counted {
			t.add(figure(k), figure(fmt.Sprint(f.Cases)), figure(f.String()), figure(figures[i+1].String()))
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
