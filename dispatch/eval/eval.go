// Package eval runs datasets of tasks against an agent, in the way of package dispatchtest, and
// reports the results.
//
//	dataset, err := eval.Read(file)
//	…
//	cases, err := dataset.Cases(dispatchtest.Task{World: world}, nil)
//	…
//	experiment, err := eval.Run(ctx, dispatchtest.Target{Agent: agent}, cases, &eval.Options{Grader: grader})
//	…
//	err = experiment.WriteJUnit(report)
//
// A [Dataset] is a CSV file of tasks, as the platform accepts it. [Dataset.Cases] makes a [Case] of
// each row. [Run] executes each case once, which is a [Trial], and returns the [Experiment]. A
// grader is a function that decides about a trial.
//
// [Read] and [Dataset.Cases] return an [*Error] with everything that is wrong in the file. [Run]
// returns an error only if the target cannot be used. An Experiment is not safe for concurrent use
// while it is changed.
package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/stage"
)

// Options configures [Run].
type Options struct {
	// Parallel is how many trials run at the same time. Defaults to GOMAXPROCS.
	Parallel int

	// Grader decides whether a run did what it should. It returns nil, or an error that says why
	// not. It is called concurrently, for runs that completed without faults. If Grader is nil, a
	// trial passes if the platform would grade its run, and the row's expected_outcome and
	// tracked_constraints are not evaluated.
	Grader func(ctx context.Context, c Case, result *dispatchtest.Result) error

	// OnTrial is called after each trial, for one trial at a time, in the order in which they end.
	// It is not called for cases that had not begun when the context ended. If OnTrial is nil, it
	// is not called.
	OnTrial func(Trial)
}

// Experiment is one execution of the cases of a dataset. [Experiment.WriteSummary],
// [Experiment.WriteJSON] and [Experiment.WriteJUnit] write it.
type Experiment struct {
	Name    string // in reports; [Run] sets it to "eval"
	Started time.Time
	Took    time.Duration
	Trials  []Trial // in the order of the cases
}

// Trial is one execution of a case.
type Trial struct {
	Case
	Verdict Verdict

	// Cause is why a trial [Failed] or [Errored], and "" for other verdicts. Reason describes why
	// the trial did not pass.
	Cause  Cause
	Reason string

	Result *dispatchtest.Result // nil if nothing was dispatched
	Took   time.Duration
}

// A Verdict is how a trial ended.
type Verdict string

const (
	Passed    Verdict = "passed"    // the run would be graded, and the grader, if there is one, returned nil
	Failed    Verdict = "failed"    // the run failed, it has faults, or the grader returned an error
	Errored   Verdict = "error"     // the case could not be run or graded; the agent did not cause this
	Skipped   Verdict = "skipped"   // the row needs the platform, see [Row].Skip
	Cancelled Verdict = "cancelled" // the context ended before the trial did
)

// A Cause is why a trial did not pass. Causes are stable: the platform's error class of a run that
// failed, such as Cause([dispatchtest.AgentTimeout]), or one of these.
type Cause string

const (
	CauseFault     Cause = "fault"      // an undeclared tool was called, or a behavior panicked: see [proxytest.Log].Faults
	CauseGrader    Cause = "grader"     // the grader returned an error
	CauseNotStaged Cause = "not_staged" // the task is not valid, or listening on loopback failed
	CausePanic     Cause = "panic"      // the grader or another function of the caller panicked, or ended its goroutine
)

// Run executes each case once against the target and returns all trials. Trials do not affect each
// other: one that fails, panics or times out does not keep the others from running. When ctx ends,
// Run keeps the trials that have ended, and the others are [Cancelled]. Run then returns as soon as
// the requests in flight are cancelled and the graders have returned.
//
// An error means that target cannot be used for any case. opts may be nil.
func Run(ctx context.Context, target dispatchtest.Target, cases []Case, opts *Options) (*Experiment, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	test, err := stage.New(stage.Target(target), stage.Task{}, nil)
	if err != nil {
		return nil, err
	}
	test.Close()
	e := &Experiment{Name: "eval", Started: time.Now(), Trials: make([]Trial, len(cases))}
	for i, c := range cases {
		e.Trials[i] = Trial{Case: c, Verdict: Cancelled, Reason: "it had not begun when the experiment was cancelled"}
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex // of OnTrial
	report := func(t *Trial) {
		mu.Lock()
		defer mu.Unlock()
		if o.OnTrial != nil {
			o.OnTrial(*t)
		}
	}
	eachInParallel(len(cases), o.Parallel, func(i int) {
		if ctx.Err() != nil {
			return
		}
		defer report(&e.Trials[i]) // also if the grader ends the goroutine
		e.Trials[i].run(ctx, target, o.Grader)
	})
	e.Took = time.Since(e.Started)
	return e, nil
}

// run runs the case. It recovers from panics.
func (t *Trial) run(ctx context.Context, target dispatchtest.Target, grade func(context.Context, Case, *dispatchtest.Result) error) {
	if t.Row != nil && t.Row.Skip != "" {
		t.end(Skipped, "", t.Row.Skip)
		return
	}
	start := time.Now()
	t.end(Errored, CausePanic, "a function of the caller ended the goroutine of the trial")
	defer func() {
		t.Took = time.Since(start)
		if p := recover(); p != nil {
			t.end(Errored, CausePanic, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	result, err := dispatchtest.Dispatch(ctx, target, t.Task)
	t.Result = result
	switch {
	case err != nil:
		t.end(Errored, CauseNotStaged, err.Error())
	case !result.OK() && givenUp(ctx, result):
		t.end(Cancelled, "", fmt.Sprintf("it was in progress when the experiment was cancelled: %v", context.Cause(ctx)))
	case !result.OK():
		t.end(Failed, Cause(result.ErrorClass), strings.Join(append([]string{result.Error}, result.Faults...), "; "))
	case len(result.Faults) > 0:
		t.end(Failed, CauseFault, strings.Join(result.Faults, "; "))
	case grade == nil:
		t.end(Passed, "", "")
	default:
		switch err := grade(ctx, t.Case, result); {
		case err == nil:
			t.end(Passed, "", "")
		case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
			t.end(Cancelled, "", fmt.Sprintf("it was being graded when the experiment was cancelled: %v", context.Cause(ctx)))
		default:
			t.end(Failed, CauseGrader, err.Error())
		}
	}
}

func (t *Trial) end(verdict Verdict, cause Cause, reason string) {
	t.Verdict, t.Cause, t.Reason = verdict, cause, reason
}

// givenUp reports whether a run failed only because the experiment was cancelled: no complete
// answer arrived.
func givenUp(ctx context.Context, result *dispatchtest.Result) bool {
	classes := []dispatchtest.ErrorClass{dispatchtest.AgentUnreachable, dispatchtest.AgentTimeout, dispatchtest.AgentBadResponse}
	return ctx.Err() != nil && slices.Contains(classes, result.ErrorClass)
}

// OK reports whether each trial passed or was skipped, and at least one passed.
func (e *Experiment) OK() bool {
	return e.Count(Passed) > 0 && e.Count(Passed)+e.Count(Skipped) == len(e.Trials)
}

// Count returns how many trials ended with the verdict.
func (e *Experiment) Count(verdict Verdict) int {
	n := 0
	for i := range e.Trials {
		if e.Trials[i].Verdict == verdict {
			n++
		}
	}
	return n
}
