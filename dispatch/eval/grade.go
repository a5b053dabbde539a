package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Grade grades stored results again with Options.Grader, without a dispatch, and returns the experiment
// with the new verdicts. The files belong to one whole experiment, see [Load], and cases are the cases
// of its dataset, which may expect something else now. If Options.ResultsFile is set, the new verdicts
// and the results are written there. That file must not exist, and Grade removes it if it returns an
// error. Of the other options only GraderVersion, Parallel, Prices, Ungraded and TrialBudget are used; a
// limit of 0 stands for the stored one.
//
// With FirstFailure, a case whose last trial passes now has more trials, which did not run. They are
// [Cancelled], and [Run] completes the new file.
//
// A grader gets what the files contain: the whole result except Turn.Log. Graders that decide in
// the same way write the same file, byte for byte, if there is one file and the version stays the
// same.
func Grade(ctx context.Context, cases []Case, opts *Options, files ...string) (e *Experiment, err error) {
	o, cases, err := opts.settle(cases)
	h, trials, unusable := load(files)
	if err := errors.Join(err, unusable); err != nil {
		return nil, err
	}
	problems := problems{}
	byID := map[string]Case{}
	for _, c := range cases {
		byID[c.ID] = c
	}
	given := h.Fingerprint
	now := o.fingerprint(cases)
	given.Dataset, given.World = now.Dataset, now.World
	other := given.Dataset != h.Fingerprint.Dataset // they expect something else
	if other && h.Tasks == tasks(cases) {
		h.Fingerprint.Dataset = given.Dataset
	}
	for _, text := range given.differences(h.Fingerprint) {
		problems.member(foreignResult, "cases", "the cases do not match the results: %s", text)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	o.TrialBudget = o.TrialBudget.or(h.TrialBudget)
	if o.TrialBudget.Cost > 0 && o.Prices.of == nil {
		problems.member(invalidOptions, "Options.Prices", "the results have a limit of the cost of a trial, which needs prices")
		return nil, problems.err()
	}
	h.TrialBudget = o.TrialBudget
	e = h.experiment(trials)
	e.fingerprint.Graders = o.GraderVersion
	h.Fingerprint = e.fingerprint
	h.Checks = o.checks(cases)
	e.checks = h.Checks
	var kept answers
	order := make([]*Trial, len(e.Trials)) // as in the files
	for i := range e.Trials {
		t := &e.Trials[i]
		kept.add(t.judged)
		c := byID[t.ID]
		c.Trials = t.Case.Trials
		c.Name, c.Group = t.Name, t.Group // they have no secrets
		if r := c.data(); r != nil && t.row != nil && !other {
			stored := *r
			stored.cells, c.row = t.row.cells, &stored
		}
		t.Case, order[i] = &c, t
	}
	slices.SortFunc(order, func(a, b *Trial) int {
		return cmp.Or(cmp.Compare(slices.Index(files, a.at.file), slices.Index(files, b.at.file)), cmp.Compare(a.at.offset, b.at.offset))
	})
	var out io.Writer = io.Discard
	failed := func(err error) error { return fmt.Errorf("eval: Options.ResultsFile: %w", err) }
	if o.ResultsFile != "" {
		file, refused := os.OpenFile(o.ResultsFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if refused != nil {
			return nil, failed(refused)
		}
		out = file
		defer func() {
			if closed := file.Close(); closed != nil && err == nil {
				e, err = nil, failed(closed)
			}
			if err != nil {
				_ = os.Remove(o.ResultsFile)
			}
		}()
	}
	line, err := encodeLine(h)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(line); err != nil {
		return nil, failed(err)
	}
	// Trials are graded in groups, so that few results are in memory and lines stay in their order.
	for group := range slices.Chunk(order, o.Parallel) {
		lines, errs := make([][]byte, len(group)), make([]error, len(group))
		eachInParallel(len(group), o.Parallel, func(i int) {
			w := work{Trial: group[i], opts: &o, answers: &kept}
			lines[i], errs[i] = w.again(ctx, e.fingerprint)
		})
		for i, line := range lines {
			if errs[i] != nil {
				return nil, errs[i]
			}
			if _, err := out.Write(line); err != nil {
				return nil, failed(err)
			}
		}
	}
	if e.firstFailure {
		e.Trials = withUnrun(e.Trials, e)
	}
	return e, nil
}

// withUnrun returns the trials with those that did not run because the last one of a case did not
// pass, where it passes now.
func withUnrun(trials []Trial, e *Experiment) (all []Trial) {
	for _, ran := range caseTrials(trials) {
		all = append(all, ran...)
		if slices.ContainsFunc(ran, func(t Trial) bool { return t.Verdict != Passed }) {
			continue
		}
		for k := len(ran) + 1; k <= e.trialsOf(&ran[0]); k++ {
			all = append(all, Trial{
				Case: ran[0].Case, Number: k, Verdict: Cancelled, Reason: "it did not run because of FirstFailure, and the trial before it passes now",
			})
		}
	}
	return all
}
