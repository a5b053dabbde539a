package dispatchtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// SetOptions configures [RunSet]. The zero value of every field is its default.
type SetOptions struct {
	// Name is what the set is called in reports. Default "runset".
	Name string

	// Parallel is how many cases run at once. Default GOMAXPROCS.
	Parallel int

	// Judge says what the contract cannot: whether the run did what it should. The error is why not. It is called for runs
	// that completed without faults, concurrently. There is no model here that reads an answer, so without a judge nothing
	// looks at the row's expected_outcome and tracked_constraints: a run passes when the platform would grade it. nil is
	// none.
	Judge func(ctx context.Context, c Case, result *Result) error

	// Progress is called after each case, for one at a time. nil is none.
	Progress func(Progress)
}

// Progress is how far a set has come.
type Progress struct {
	Done, Total int
	Passed      int        // of those that are done, skipped ones not included
	Skipped     int        // of those that are done
	Last        CaseResult // the one that was done last
}

// Set is the outcome of [RunSet]. It is written by [Set.WriteSummary], [Set.WriteJSON] and [Set.WriteJUnit].
type Set struct {
	Name    string
	Started time.Time
	Took    time.Duration
	Cases   []CaseResult // in the order of the cases given
}

// CaseResult is what became of one case.
type CaseResult struct {
	Case
	Verdict Verdict

	// Cause is why a case [Failed] or [Errored]; "" for all others. Reason says in words why a case did not pass.
	Cause  Cause
	Reason string

	Result *Result // nil if nothing was dispatched
	Took   time.Duration
}

// A Verdict is what a case ended with.
type Verdict string

// The verdicts.
const (
	Passed    Verdict = "passed"    // the run would be graded, and the judge, if there is one, agrees
	Failed    Verdict = "failed"    // the run failed, it has faults, or the judge does not agree
	Errored   Verdict = "error"     // the case could not be run or judged, which is no fault of the agent
	Skipped   Verdict = "skipped"   // the row cannot be run without the platform, see [Row].Skip
	Cancelled Verdict = "cancelled" // the context ended before the case did, or before it began
)

// A Cause is why a case did not pass, as a stable name: the platform's error class of a run that failed, such as
// Cause([AgentTimeout]), or one of those below.
type Cause string

// Causes beside the error classes.
const (
	CauseFault     Cause = "fault"      // an undeclared tool was called, or a behavior panicked: see [proxytest.Record].Faults
	CauseJudge     Cause = "judge"      // the judge did not agree
	CauseNotStaged Cause = "not_staged" // the task is unusable, or there is no loopback
	CausePanic     Cause = "panic"      // the judge or another function of the caller panicked, or ended its goroutine
)

// RunSet runs many cases against a target, some at once, and returns what became of every one. Cases are apart from each
// other: none that fails, panics, hangs until its time-out or cannot be staged keeps another from running. When ctx ends,
// what is done is kept, and the rest is [Cancelled]; RunSet then returns as soon as the requests under way have been given
// up and the judges have returned.
//
// The error means that the target is unusable for any case. opts may be nil.
func RunSet(ctx context.Context, target Target, cases []Case, opts *SetOptions) (*Set, error) {
	var o SetOptions
	if opts != nil {
		o = *opts
	}
	mistakes := target.authMistakes()
	trial, err := newStage(target, Task{}, nil)
	if err != nil {
		mistakes = append(mistakes, err)
	} else {
		trial.close()
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	set := &Set{Name: cmp.Or(o.Name, "runset"), Started: time.Now(), Cases: make([]CaseResult, len(cases))}
	for i, c := range cases {
		set.Cases[i] = CaseResult{Case: c, Verdict: Cancelled, Reason: "it had not begun when the set was cancelled"}
	}
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex // of progress
	progress := Progress{Total: len(cases)}
	report := func(c *CaseResult) {
		mu.Lock()
		defer mu.Unlock()
		progress.Done, progress.Last = progress.Done+1, *c
		switch c.Verdict {
		case Passed:
			progress.Passed++
		case Skipped:
			progress.Skipped++
		}
		if o.Progress != nil {
			o.Progress(progress)
		}
	}
	eachInParallel(len(cases), o.Parallel, func(i int) {
		if ctx.Err() != nil {
			return
		}
		defer report(&set.Cases[i]) // also when the judge ends the goroutine
		set.Cases[i].run(ctx, target, o.Judge)
	})
	set.Took = time.Since(set.Started)
	return set, nil
}

// run runs the case, whatever happens.
func (c *CaseResult) run(ctx context.Context, target Target, judge func(context.Context, Case, *Result) error) {
	if c.Row != nil && c.Row.Skip != "" {
		c.end(Skipped, "", c.Row.Skip)
		return
	}
	start := time.Now()
	c.end(Errored, CausePanic, "a function of the caller ended the goroutine of the case")
	defer func() {
		c.Took = time.Since(start)
		if p := recover(); p != nil {
			c.end(Errored, CausePanic, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	result, err := Dispatch(ctx, target, c.Task)
	c.Result = result
	switch {
	case err != nil:
		c.end(Errored, CauseNotStaged, err.Error())
	case !result.OK() && givenUp(ctx, result):
		c.end(Cancelled, "", fmt.Sprintf("it was under way when the set was cancelled: %v", context.Cause(ctx)))
	case !result.OK():
		c.end(Failed, Cause(result.ErrorClass), strings.Join(append([]string{result.Error}, result.Faults...), "; "))
	case len(result.Faults) > 0:
		c.end(Failed, CauseFault, strings.Join(result.Faults, "; "))
	case judge == nil:
		c.end(Passed, "", "")
	default:
		switch err := judge(ctx, c.Case, result); {
		case err == nil:
			c.end(Passed, "", "")
		case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
			c.end(Cancelled, "", fmt.Sprintf("it was being judged when the set was cancelled: %v", context.Cause(ctx)))
		default:
			c.end(Failed, CauseJudge, err.Error())
		}
	}
}

func (c *CaseResult) end(verdict Verdict, cause Cause, reason string) {
	c.Verdict, c.Cause, c.Reason = verdict, cause, reason
}

// givenUp reports whether a run failed only because the set was cancelled: no whole answer came.
func givenUp(ctx context.Context, result *Result) bool {
	classes := []ErrorClass{AgentUnreachable, AgentTimeout, AgentBadResponse}
	return ctx.Err() != nil && slices.Contains(classes, result.ErrorClass)
}

// OK reports whether the set is good: every case passed or was skipped, and at least one passed.
func (s *Set) OK() bool {
	return s.Count(Passed) > 0 && s.Count(Passed)+s.Count(Skipped) == len(s.Cases)
}

// Count is how many cases ended with the verdict.
func (s *Set) Count(verdict Verdict) int {
	n := 0
	for i := range s.Cases {
		if s.Cases[i].Verdict == verdict {
			n++
		}
	}
	return n
}
