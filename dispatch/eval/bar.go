package eval

import "slices"

// Bar decides whether the rate reaches MinRate. The verdict is [Passed] if the whole interval does,
// [Failed] if all of it lies below, and else [Undecided]. It passes or fails only if it does so with
// faults counted as failures and with faults dropped. It is undecided if nothing was graded, if all
// trials ended in faults, and in an experiment with FirstFailure.
func (e *Experiment) Bar() (verdict Verdict, reason string) {
	var rates []Figure
	for _, f := range e.whole() {
		if f.Name == "rate" && f.Cases > 0 {
			rates = append(rates, f)
		}
	}
	above := func(f Figure) bool { return f.Low >= e.MinRate || bool(e.byPoint) && f.Value >= e.MinRate }
	below := func(f Figure) bool { return f.High < e.MinRate || bool(e.byPoint) && f.Value < e.MinRate }
	some := func(is func(Figure) bool) bool { return slices.ContainsFunc(rates, is) }
	switch {
	case e.ungraded():
		return Undecided, "the rows were not graded"
	case len(rates) == 0:
		return Undecided, "there is no rate"
	case len(rates) == 1 && e.stats().Faults > 0:
		return Undecided, "all trials ended in a fault: run them again"
	case some(func(f Figure) bool { return !above(f) && !below(f) }):
		return Undecided, "the interval contains the bar: run more cases or more trials"
	case some(above) && some(below):
		return Undecided, "it depends on whether faults are failures of the agent: run them again"
	case some(below):
		return Failed, ""
	}
	return Passed, ""
}

// bar returns the decision for reports.
func (e *Experiment) bar() fact {
	verdict, reason := e.Bar()
	f := fact{Name: "rate of at least " + percent(e.MinRate), Text: string(verdict), Property: "min_rate", Change: verdict}
	if reason != "" {
		f.Text += ": " + reason
	}
	return f
}

// worst returns the decision of several gates: [Failed], or else [Undecided], or else [Passed]; "" of none.
func worst(decisions ...Verdict) Verdict {
	for _, v := range []Verdict{Failed, Undecided, Passed} {
		if slices.Contains(decisions, v) {
			return v
		}
	}
	return ""
}
