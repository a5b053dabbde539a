package eval

import (
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/text"
)

// Test is [Run] for tests: a subtest for each case, below the subtest "cases", so that go test -run
// and -v select and show cases. A subtest fails if one of its trials did not pass, was cancelled,
// or did not begin because a budget was spent. It is skipped if the case needs the platform, or a
// [User] and there is none. Subtests run in parallel, as many as go test allows, and
// Options.Parallel limits the trials of one case.
//
// The experiment has the cases that -run selected. Mistakes in target, cases and opts fail the test
// at once. opts may be nil.
func Test(t *testing.T, target dispatchtest.Target, cases []Case, opts *Options) *Experiment {
	t.Helper()
	r, err := newRunner(target, cases, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := r.begin(t.Context())
	all := caseTrials(r.e.Trials)
	selected := make([]bool, len(all))
	t.Run("cases", func(t *testing.T) {
		for i, trials := range all {
			t.Run(trials[0].Name, func(t *testing.T) {
				t.Parallel()
				selected[i] = true
				r.trials(ctx, trials)
				show(t, r.e, trials)
			})
		}
	})
	for i, is := range selected {
		for k := range all[i] {
			if !is {
				all[i][k].Number = 0
			}
		}
	}
	e, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// show reports the trials of a case to its subtest.
func show(t *testing.T, e *Experiment, trials []Trial) {
	for i := range trials {
		switch trial := &trials[i]; {
		case trial.Number == 0 || trial.Verdict == Passed: // or it did not run because of FirstFailure
		case trial.Verdict == Skipped:
			t.Skip(text.Lines(trial.Reason, maxReason))
		default:
			t.Errorf("%s%s: %s", trial.Verdict, e.numbered(trial), text.Lines(why(trial.Cause, trial.Reason), maxReason))
		}
	}
}

// maxReason is how many characters of a reason a failed subtest shows. A panic has its stack.
const maxReason = 8000

// why puts a cause, if there is one, before a reason.
func why(cause, reason string) string {
	if cause == "" {
		return reason
	}
	return cause + ": " + reason
}
