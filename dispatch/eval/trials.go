package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

const maxTrials = 10_000

// maxTogether is the limit of the trials of all cases in one Run, which are in memory together.
const maxTogether = 1_000_000

// runner runs the trials of an experiment.
type runner struct {
	target dispatchtest.Target
	opts   Options
	e      *Experiment
	begun  time.Time
	host   *testrun.Host
	file   *results        // nil if nothing is written
	again  map[*Trial]bool // stored trials that are faults, and are to run again
	stop   context.CancelCauseFunc
	spent  spending

	secrets *redact.Set // of the target; they are not written
	answers answers     // of judges

	mu   sync.Mutex // of OnTrial, err and next
	err  error      // why the experiment stopped
	next time.Time  // when the next trial may begin
}

// settle returns a copy of the options with defaults, and of the cases with ids.
func (o *Options) settle(cases []Case) (Options, []Case, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	problems := problems{}
	opts.complete(&problems)
	named, ids, first := make([]Case, len(cases)), make([]string, len(cases)), map[string]int{}
	for i, c := range cases {
		named[i], ids[i] = c, c.ID
		if other, is := first[c.ID]; is && c.ID != "" {
			problems.member(invalidOptions, fmt.Sprintf("cases[%d].ID", i),
				"cases[%d] has the same ID %s: ids are unique", other, shown(c.ID))
		} else {
			first[c.ID] = i
		}
		if c.Trials < 0 || c.Trials > maxTrials {
			problems.member(invalidOptions, fmt.Sprintf("cases[%d].Trials", i), "%d is not from 1 to %d", c.Trials, maxTrials)
		}
		if !utf8.ValidString(c.ID) {
			problems.member(invalidOptions, fmt.Sprintf("cases[%d].ID", i), "%s is not in UTF-8", shown(c.ID))
		}
	}
	unique := uniqueNames(ids)
	for i := range named {
		if c := &named[i]; c.ID == "" {
			c.ID = unique(cmp.Or(strings.ToValidUTF8(c.Name, "\ufffd"), fmt.Sprintf("case %d", i+1)))
		}
	}
	return opts, named, problems.err()
}

// complete sets the defaults, and reports which options cannot be used.
func (o *Options) complete(problems *problems) {
	bad := func(member, format string, args ...any) {
		problems.member(invalidOptions, "Options."+member, format, args...)
	}
	if o.Trials < 0 || o.Trials > maxTrials {
		bad("Trials", "%d is not from 1 to %d", o.Trials, maxTrials)
	}
	o.Trials = max(o.Trials, 1)
	if _, ok := parseShard(o.Shard); !ok {
		bad("Shard", "%s is not i/n with i from 1 to n, such as 2/4", shown(o.Shard))
	}
	reject := func(name, rule string) { bad(name, "%s", rule) }
	problem.Limit(reject, "Parallel", &o.Parallel, runtime.GOMAXPROCS(0))
	problem.Limit(reject, "Delay", &o.Delay, 0)
	if o.FaultStatuses == nil {
		o.FaultStatuses = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	}
	for _, status := range o.FaultStatuses {
		if status < 400 || status > 599 {
			bad("FaultStatuses", "%d is not a status of an error, from 400 to 599", status)
		}
	}
	for i, b := range []*Budget{&o.Budget, &o.TrialBudget} {
		name := []string{"Budget.", "TrialBudget."}[i]
		problem.Limit(reject, name+"Calls", &b.Calls, 0)
		problem.Limit(reject, name+"Tokens", &b.Tokens, 0)
		problem.Limit(reject, name+"Time", &b.Time, 0)
		if !(b.Cost >= 0 && b.Cost <= maxMeasure) {
			bad(name+"Cost", "must not be negative; use 0 for no limit")
		} else if b.Cost > 0 && o.Prices.of == nil {
			bad(name+"Cost", "needs Options.Prices")
		}
	}
	for _, version := range [][2]string{
		{"AgentVersion", o.AgentVersion}, {"GraderVersion", o.GraderVersion}, {"UserVersion", o.UserVersion},
	} {
		if !utf8.ValidString(version[1]) {
			bad(version[0], "%s is not in UTF-8", shown(version[1]))
		}
	}
}

func newRunner(target dispatchtest.Target, cases []Case, o *Options) (*runner, error) {
	opts, cases, err := o.settle(cases)
	test, badTarget := testrun.New(testrun.Target(target), testrun.Task{}, nil)
	if badTarget == nil {
		test.Close()
	}
	if err := errors.Join(err, badTarget); err != nil {
		return nil, err
	}
	r := &runner{again: map[*Trial]bool{}, target: target, opts: opts, begun: time.Now(), secrets: test.Secrets()}
	r.spent = spending{budget: opts.Budget, prices: opts.Prices, begun: r.begun}
	h, first := opts.header(cases, opts.fingerprint(cases), r.begun), map[string]int{}
	h.Command = runctx.Repeat(r.secrets.Redact(string(opts.repeat)))
	r.e = h.experiment(nil)
	r.e.secrets = r.secrets
	n := 0
	for i := range cases {
		if _, is := h.Cases[cases[i].ID]; is {
			n += opts.trialsOf(&cases[i])
		}
	}
	if n > maxTogether {
		problems := problems{}
		problems.member(invalidOptions, "Options.Trials", "%d trials of %s are more than %d together: divide the cases by Options.Shard",
			n, text.Plural(len(h.Cases), "case"), maxTogether)
		return nil, problems.err()
	}
	r.e.Trials = make([]Trial, 0, n)
	for i := range cases {
		c := &cases[i]
		if _, is := h.Cases[c.ID]; !is {
			continue
		}
		first[c.ID] = len(r.e.Trials)
		c.hide(r.secrets)
		for k := range opts.trialsOf(c) {
			r.e.Trials = append(r.e.Trials, Trial{
				Case: c, Number: k + 1, Verdict: Cancelled, Reason: "it had not begun when the experiment was cancelled",
			})
		}
	}
	if opts.ResultsFile == "" {
		return r, nil
	}
	r.file, err = openResults(opts.ResultsFile, h, func(known *record, at span) {
		i, ok := first[known.ID]
		if i += known.Trial - 1; !ok || i >= len(r.e.Trials) || r.e.Trials[i].ID != known.ID { // or beyond the trials of the case
			return
		}
		t := known.trial(r.e.Trials[i].Case, at)
		r.answers.add(t.judged)
		r.e.Trials[i] = t
		r.again[&r.e.Trials[i]] = opts.RetryFaults && t.fault() // a later line replaces an earlier one
	})
	if err != nil {
		return nil, err
	}
	r.e.added = r.file.header.Added
	r.e.Started, r.e.repeat = r.file.header.Started, cmp.Or(r.e.repeat, r.file.header.Command)
	return r, nil
}

// trialsOf returns how many trials a case has.
func (o *Options) trialsOf(c *Case) int {
	if o.skip(c) != "" {
		return 1
	}
	return cmp.Or(c.Trials, o.Trials)
}

// begin returns the context of the trials.
func (r *runner) begin(ctx context.Context) context.Context {
	ctx, r.stop = context.WithCancelCause(ctx)
	r.host = testrun.NewHost()
	return r.host.With(ctx)
}

// runAll runs all trials.
func (r *runner) runAll(ctx context.Context) {
	ctx = r.begin(ctx)
	if !r.opts.FirstFailure {
		order := make([]*Trial, len(r.e.Trials)) // the first trial of each case, then the second: a budget reaches all cases
		for i := range order {
			order[i] = &r.e.Trials[i]
		}
		slices.SortStableFunc(order, func(a, b *Trial) int { return cmp.Compare(a.Number, b.Number) })
		eachInParallel(len(order), r.opts.Parallel, func(i int) { r.one(ctx, order[i]) })
		return
	}
	all := caseTrials(r.e.Trials)
	eachInParallel(len(all), r.opts.Parallel, func(i int) { r.untilFailure(ctx, all[i]) })
}

// trials runs the trials of a case for [Test]. With FirstFailure they run one after the other.
func (r *runner) trials(ctx context.Context, trials []Trial) {
	if r.opts.FirstFailure {
		r.untilFailure(ctx, trials)
		return
	}
	eachInParallel(len(trials), r.opts.Parallel, func(i int) { r.one(ctx, &trials[i]) })
}

// untilFailure runs the trials of a case up to the first that does not pass. The others get the
// number 0.
func (r *runner) untilFailure(ctx context.Context, trials []Trial) {
	for i := range trials {
		apart(func() { r.one(ctx, &trials[i]) })
		if v := trials[i].Verdict; v != Passed && v != Cancelled {
			for k := i + 1; k < len(trials); k++ {
				trials[k].Number = 0
			}
			return
		}
	}
}

// one runs a trial and reports it, unless a file has it already.
func (r *runner) one(ctx context.Context, t *Trial) {
	again := r.again[t]
	if t.at.file != "" && !again || !r.turn(ctx, t) {
		return
	}
	if reason := r.spent.spent(); reason != "" && r.opts.skip(t.Case) == "" {
		if !again {
			t.Reason = reason
		}
		return
	}
	if again {
		*t = Trial{Case: t.Case, Number: t.Number, kept: kept{retries: t.retries + 1}}
	}
	c := t.Case
	defer func() { // runs even if the grader ends the goroutine
		r.spent.add(t.Result)
		work{Trial: t}.hide(r.secrets)
		r.store(t)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.opts.OnTrial != nil {
			r.opts.OnTrial(*t)
		}
		if r.file != nil {
			t.Case, t.notes, t.ended, t.Result, t.differ = c, t.remarks(), t.whoEnded(), nil, nil
		}
	}()
	work{t, r.target, &r.opts, &r.answers}.run(ctx)
}

// turn waits until the trial may begin. It reports whether it may; a trial that is skipped does not wait.
func (r *runner) turn(ctx context.Context, t *Trial) bool {
	if r.opts.Delay > 0 && ctx.Err() == nil && r.opts.skip(t.Case) == "" {
		r.mu.Lock()
		now := time.Now()
		begin := r.next
		if begin.Before(now) {
			begin = now
		}
		r.next = begin.Add(r.opts.Delay)
		r.mu.Unlock()
		select {
		case <-time.After(begin.Sub(now)):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// store writes a trial that has ended. An error stops the experiment.
func (r *runner) store(t *Trial) {
	if r.file == nil || t.Verdict == Cancelled {
		return
	}
	line, err := t.line(r.e.fingerprint, r.secrets)
	if err == nil {
		t.at, err = r.file.write(line)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = cmp.Or(r.err, err)
		r.stop(err)
	}
}

// finish returns the experiment.
func (r *runner) finish() (*Experiment, error) {
	r.stop(nil)
	r.host.Close()
	if r.file != nil {
		if err := errors.Join(r.err, r.file.close()); err != nil {
			return nil, err
		}
	}
	kept := r.e.Trials[:0]
	for _, t := range r.e.Trials {
		if t.Number > 0 {
			kept = append(kept, t)
		}
	}
	clear(r.e.Trials[len(kept):])
	r.e.Trials = kept
	r.e.Took = time.Since(r.begun)
	return r.e, nil
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
