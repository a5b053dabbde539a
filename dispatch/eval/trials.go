package eval

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/stage"
)

const maxTrials = 10_000

// runner runs the trials of an experiment.
type runner struct {
	target dispatchtest.Target
	opts   Options
	cases  []Case
	e      *Experiment
	begun  time.Time

	mu sync.Mutex // of OnTrial
}

// settle returns a copy of the options with defaults, and of the cases with ids.
func (o *Options) settle(cases []Case) (Options, []Case, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	problems := problems{most: defaultLimits.problems}
	if opts.Trials < 0 || opts.Trials > maxTrials {
		problems.add(Problem{Code: invalidOptions, Message: fmt.Sprintf("Trials is %d, it must be from 1 to %d", opts.Trials, maxTrials)})
	}
	if opts.Parallel <= 0 {
		opts.Parallel = runtime.GOMAXPROCS(0)
	}
	opts.Trials = max(opts.Trials, 1)
	named, ids, first := make([]Case, len(cases)), make([]string, len(cases)), map[string]int{}
	for i, c := range cases {
		named[i], ids[i] = c, c.ID
		if other, is := first[c.ID]; is && c.ID != "" {
			problems.add(Problem{Code: invalidOptions, Message: fmt.Sprintf("cases %d and %d have the same ID %s: ids are unique", other+1, i+1, shown(c.ID))})
		}
		first[c.ID] = i
	}
	unique := uniqueNames(ids)
	for i := range named {
		if c := &named[i]; c.ID == "" && c.Name == "" {
			c.ID = unique(fmt.Sprintf("case %d", i+1))
		} else if c.ID == "" {
			c.ID = unique(c.Name)
		}
	}
	return opts, named, problems.err()
}

func newRunner(target dispatchtest.Target, cases []Case, o *Options) (*runner, error) {
	opts, cases, err := o.settle(cases)
	if err != nil {
		return nil, err
	}
	test, err := stage.New(stage.Target(target), stage.Task{}, nil)
	if err != nil {
		return nil, err
	}
	test.Close()
	r := &runner{target: target, opts: opts, cases: cases, begun: time.Now()}
	r.e = &Experiment{Name: "eval", Started: r.begun, PerCase: opts.Trials, FirstFailure: opts.FirstFailure}
	for _, c := range cases {
		for k := range trialsOf(&c, opts.Trials) {
			r.e.Trials = append(r.e.Trials, Trial{
				Case: c, Number: k + 1, Verdict: Cancelled, Reason: "it had not begun when the experiment was cancelled",
			})
		}
	}
	return r, nil
}

// trialsOf returns how many trials a case has.
func trialsOf(c *Case, each int) int {
	if c.skip() != "" {
		return 1
	}
	return each
}

// runAll runs all trials. With FirstFailure, those of a case run one after the other.
func (r *runner) runAll(ctx context.Context) {
	if !r.opts.FirstFailure {
		eachInParallel(len(r.e.Trials), r.opts.Parallel, func(i int) { r.one(ctx, &r.e.Trials[i]) })
		return
	}
	all := caseTrials(r.e.Trials)
	eachInParallel(len(all), r.opts.Parallel, func(i int) { r.untilFailure(ctx, all[i]) })
}

// untilFailure runs the trials of a case up to the first that does not pass. The others get the
// number 0.
func (r *runner) untilFailure(ctx context.Context, trials []Trial) {
	for i := range trials {
		done := make(chan struct{})
		go func() { // a grader may end its goroutine
			defer close(done)
			r.one(ctx, &trials[i])
		}()
		<-done
		if v := trials[i].Verdict; v != Passed && v != Cancelled {
			for k := i + 1; k < len(trials); k++ {
				trials[k].Number = 0
			}
			return
		}
	}
}

// one runs a trial and reports it.
func (r *runner) one(ctx context.Context, t *Trial) {
	if ctx.Err() != nil {
		return
	}
	defer func() { // also if the grader ends the goroutine
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.opts.OnTrial != nil {
			r.opts.OnTrial(*t)
		}
	}()
	t.run(ctx, r.target, r.opts.Grader)
}

// finish returns the experiment.
func (r *runner) finish() *Experiment {
	kept := r.e.Trials[:0]
	for _, t := range r.e.Trials {
		if t.Number > 0 {
			kept = append(kept, t)
		}
	}
	clear(r.e.Trials[len(kept):])
	r.e.Trials = kept
	r.e.Took = time.Since(r.begun)
	return r.e
}

// caseTrials returns the trials case by case.
func caseTrials(trials []Trial) (all [][]Trial) {
	for begin := 0; begin < len(trials); {
		end := begin + 1
		for end < len(trials) && trials[end].ID == trials[begin].ID {
			end++
		}
		all, begin = append(all, trials[begin:end]), end
	}
	return all
}
