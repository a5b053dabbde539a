// Package eval runs datasets of [tasks] against an agent, as package dispatchtest does, and reports
// the results.
//
//	dataset, err := eval.Read(file)
//	…
//	cases, err := dataset.Cases(dispatchtest.Task{World: world}, nil)
//	…
//	experiment, err := eval.Run(ctx, dispatchtest.Target{Agent: agent}, cases, &eval.Options{Grader: grader})
//	…
//	err = experiment.WriteJUnit(report)
//
// A [Dataset] is a CSV file of tasks, as the platform accepts it, or JSON Lines. [Dataset.Cases] makes a
// [Case] of each row. [Run] executes each case, once or several times, and returns the [Experiment] with
// all [trials]. A [Grader] is a function that decides about a trial. A [User] is a function that
// simulates the user of a session. [Experiment.Cases] sums up the trials of each case, and
// [Experiment.Figures] returns what all of them tell: rates, scores and measures, each with an interval.
// [Compare] compares two experiments, and [WriteVersions] several. Options.ResultsFile keeps an
// experiment in a file. [Load] and [Merge] read it, and [Grade] grades its trials again.
//
// [Read] and [Dataset.Cases] return an [*Error] with everything that is wrong in the file. [Run]
// returns an error if the target or the options cannot be used, but not for a trial that failed. An
// Experiment is not safe for concurrent use while it is changed.
//
// This package is experimental, as the README explains.
//
// # Codes of errors
//
//	unreadable       the file, or the rest of it, is not CSV in UTF-8
//	limit            the dataset exceeds a limit of [Read]
//	invalid_dataset  a column, row or cell is not valid
//	invalid_world    a row does not fit the base world of [Dataset.Cases]
//	invalid_options  cases or options of [Run] cannot be used
//	invalid_results  files of results are not valid, not complete, or do not belong together
//
// [tasks]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#task
// [trials]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#trial
package eval

import (
	"context"
	"errors"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
)

// Options configures [Run].
type Options struct {
	// Parallel is how many trials run at the same time. Defaults to GOMAXPROCS.
	Parallel int

	// Delay is the time between the beginnings of two trials, at least, for an endpoint with a limit of
	// requests. Defaults to none.
	Delay time.Duration

	// Trials is how often each case runs, at most 10,000. Defaults to 1. All trials of a shard together
	// are at most 1,000,000. Each trial has a world of its own, whose seed is derived from the seed of
	// the case's world, the id of the case and the number of the trial, so all trials can be
	// reproduced. A world that is served elsewhere, see [dispatchtest.Task].ProxyURL, keeps its seed.
	// The seed of a model is not set.
	Trials int

	// FirstFailure stops a case after its first trial that did not pass. It saves trials if the
	// only question is whether a case always passes. Such an experiment has verdicts and no rates:
	// the share of trials that passed before the first failure is not an estimate.
	FirstFailure bool

	// Grader decides whether a run did what it should. It is called concurrently, for runs that
	// completed without faults, with an answer of the agent's own. If Grader is nil, each of these
	// trials passes, and the row's expected_outcome and tracked_constraints are not evaluated.
	Grader Grader

	// Ungraded makes trials pass if the platform would grade their runs. Grader and [Dataset.Expect] do
	// not count. It is for the contract, calls and cost of an agent: reports say that nothing was
	// checked, and [Compare] is undecided about the rate.
	Ungraded bool

	// ResultsFile names a file to which each trial is written when it has ended, as a line of JSON with its
	// whole result: arguments, results, state and timeline. The first line describes the experiment.
	// [Load] reads it. If ResultsFile is set, the trials of the experiment have no Result after OnTrial,
	// so memory does not grow with the results.
	//
	// The auth value of the target, the values of its Env and what may be secret in its URL are
	// replaced by "[redacted]" in the file. The file contains what the agent and the tools said:
	// treat it like a log with personal data.
	//
	// If the file exists, Run completes it: it runs only the trials that the file lacks, and removes an
	// incomplete line of a killed program. If Trials is larger than in the file, Run adds trials, except
	// with FirstFailure. The file counts how often, and reports say what it does to a gate to look again.
	// A file of another experiment is an error that names what differs. Run locks the file: while one Run
	// writes it, another Run, in any process, returns an error that names the file. Linux, macOS, the
	// BSDs, illumos and Windows have such locks; elsewhere ResultsFile is an error. Shards on several
	// machines need a file each, because not every network file system locks across machines. If
	// ResultsFile is "", nothing is written.
	ResultsFile string

	// RetryFaults runs stored trials again that are faults, such as trials during an outage; see
	// FaultStatuses. The file keeps the old lines.
	RetryFaults bool

	// FaultStatuses are the HTTP statuses of the endpoint that are faults: a gateway sends them when the
	// agent is down or busy. If FaultStatuses is nil, they are 429, 502, 503 and 504. If it is empty,
	// none is.
	//
	// A trial that [Errored] is a fault too, for example because its [User] failed, and so is one whose
	// endpoint could not be reached or refused the credentials. If such trials are left out, an agent
	// that causes them looks too good. If they count as failures, an agent that does not cause them
	// looks too bad. Figures therefore do both.
	FaultStatuses []int

	// Shard "i/n" runs the part i of n of the cases, from 1. The ids of the cases decide which belong to
	// it, and the sizes of parts differ by at most one. Defaults to "1/1", all cases. [Load] and [Merge]
	// put the results together.
	Shard string

	// User simulates the user in sessions whose row has a persona. It is called concurrently for
	// different trials. If User is nil, these rows are skipped.
	User User

	// AgentVersion, GraderVersion and UserVersion name the versions of the agent, of the graders and of
	// the User, such as a commit. Results with other versions, cases or worlds do not belong to one
	// experiment.
	AgentVersion, GraderVersion, UserVersion string

	// Budget limits the cost of the experiment. No trial begins after a limit is reached; trials that
	// are running may exceed it. [Run] begins with the first trial of each case, then the second, so
	// that a budget reaches as many cases as it can. With FirstFailure it runs case by case.
	// Trials that did not begin are [Cancelled], and their Reason names the limit. Reports name the
	// cases without a trial. With ResultsFile a later Run completes them.
	Budget Budget

	// TrialBudget limits each trial. One that passed and exceeds a limit has [Failed] with the cause
	// limit, and one that does not report what is limited has [Errored] with the cause not_graded. The
	// run token expires at the first call beyond Calls, unless Task.ProxyURL is set; Target.RunTimeout
	// ends what takes too long. The gate of a measure needs a limit, see [Experiment].GateBy.
	TrialBudget Budget

	// Prices set the score cost, see [Experiment.SetPrices]. Limits of cost need them.
	Prices Prices

	// OnTrial is called after each trial, for one trial at a time, in the order in which they end.
	// It is not called for trials that did not begin, or that are in the results file already. It
	// may be nil.
	OnTrial func(Trial)

	repeat runctx.Repeat // for reports, which name it for each trial that did not pass; may be ""
}

// ErrNotGraded is for graders that cannot decide, for example because the model that they ask does
// not answer. A trial whose grader returns an error that wraps it has [Errored]: the agent did not
// cause it.
var ErrNotGraded = errors.New("eval: the trial cannot be graded")

// A Grader decides about a run. It returns nil, or an error that says why the run did not do what it
// should. If it cannot decide, it returns an error that wraps [ErrNotGraded]. If the case was made of
// a row, [Case.Cell] returns its cells, such as tracked_constraints.
//
// The graders of this package need no model, except for a [Judge]'s. They decide in the same way
// about a stored result. A grader about a tool, entity type or flag that the world does not declare
// returns [ErrNotGraded] and names the one that is meant. Their errors name tools, entities and
// members, and not the values that the agent sent, which are in what [Mismatch] returns.
type Grader func(ctx context.Context, c Case, result *dispatchtest.Result) error

// Experiment is one execution of the cases of a dataset. [Experiment.WriteSummary],
// [Experiment.WriteMarkdown], [Experiment.WriteJSON], [Experiment.WriteJUnit] and [Experiment.WriteHTML]
// write it.
type Experiment struct {
	Name    string // in reports; [Run] sets it to "eval"
	Started time.Time
	Took    time.Duration

	// SliceBy names the columns by which [Experiment.Figures], reports and [Compare] show slices: parts of the
	// experiment whose rows have one value in the column, those with the most cases first. It can be any column
	// whose cells have at most 100 bytes, such as expected_outcome or one of the caller's own. Longer cells count
	// as empty, and so do the columns of the task, its worlds and its script: user, behavior, state,
	// failure_rules, current_state, tracked_constraints and scripted_user_turns. The more values there are, the
	// more of them look better or worse by chance: of twenty 95 % intervals one misses the truth. [Run] and
	// [Load] leave it nil.
	SliceBy []string

	// GateBy contains margins, of the rate under "" and of scores under their names. [Compare] makes a
	// gate of each, which decides whether this experiment may replace the baseline: whether it is shown
	// not to be worse by the margin. The margin of the rate is a difference, such as 0.05 for five
	// points, and so is the margin of a score of a grader. The margin of a measure, such as cost, is a
	// share of the baseline: 0.1 for ten percent more. [Run] and [Load] leave GateBy nil.
	//
	// A gate passes only if the whole interval is better than the margin, so an experiment that is too
	// small does not pass. If nothing differs, the rate needs about 3.7/margin cases: 74 for 5 points.
	// Faults of the infrastructure may be the agent's or not, in each of the experiments: the rate
	// passes if it does so whether the faults of either count as failures or are dropped, and it fails
	// if it does so in all four combinations. Cases that did not run in both experiments leave a gate
	// undecided, and so do fewer than 6 cases, or groups of cases, with trials that are not such faults,
	// and so does Options.Ungraded. The gate of a score that is unknown in a trial fails.
	//
	// A measure is cut at the limit that Options.TrialBudget sets for a trial. A sample may not show the few
	// cases that run away, so the upper bound allows for about 3.7 in as many cases as there are, all at
	// the limit: if nothing differs, it needs about 3.7·(limit/mean-1)/margin cases to pass. Without a
	// limit the gate does not pass.
	GateBy map[string]float64

	// MinRate is a bar for the rate, from 0 to 1: see [Experiment.Bar]. [Run] and [Load] leave it 0, which
	// sets no bar.
	MinRate float64

	// Trials contains the trials of the first case, then the trials of the next, and so on. With
	// Options.FirstFailure, the trials after the first that did not pass are absent. A case that was
	// skipped has one trial.
	Trials []Trial

	fingerprint  fingerprint // of what was evaluated
	firstFailure bool        // as in [Options]
	trialBudget  Budget      // as in [Options]; [Compare] cuts the measures of both experiments at the candidate's
	repeat       runctx.Repeat
	byPoint      runctx.ByPoint
	trials       int         // of cases that have no number of their own; 0 if that is not known
	perCase      int         // the most trials of a case; 0 if that is not known
	added        int         // how often trials were added
	checks       *checks     // nil if they are not known
	secrets      *redact.Set // of the target; reports hide them
}

var (
	_ = hook.Set(func(o *Options) *runctx.Repeat { return &o.repeat })
	_ = hook.Set(func(e *Experiment) *runctx.ByPoint { return &e.byPoint })
	_ = hook.Set(func(e *Experiment) *Budget { return &e.trialBudget })
	_ = hook.Set(func(p *Plan) runctx.Checked { return p.checked })
)

// Trial is one execution of a case.
type Trial struct {
	// Case contains the task that was dispatched. Its Platform has the seed of the trial:
	// [dispatchtest.Run] with it repeats the trial. Trials whose results are in a file share the case.
	*Case
	Number  int // 1 for the first trial of the case
	Verdict Verdict

	// Cause is why a trial [Failed] or [Errored], and "" for other verdicts. Causes are stable: the
	// platform's error class of a run that failed, such as [dispatchtest.Agent5xx], the
	// [dispatchtest.StandIn] of a run without an answer of the agent's own, such as
	// [dispatchtest.NoAnswer], or one of these:
	//
	//	fault       an undeclared tool was called, or a behavior panicked: see proxytest.Log.Faults
	//	grader      the grader returned an error
	//	limit       the trial exceeded a limit of Options.TrialBudget
	//	not_graded  the grader returned ErrNotGraded, or what Options.TrialBudget limits is unknown
	//	not_staged  the task is not valid, or listening on loopback failed
	//	panic       the grader or another function of the caller panicked, or ended its goroutine
	//	user        the User failed
	Cause string

	Reason string // why the trial did not pass, without secrets of the target: see Options.ResultsFile

	Result *dispatchtest.Result // nil if nothing was dispatched, or if it is in a file: see Options.ResultsFile
	Took   time.Duration

	// Scores are what a grader recorded with [Case.Score], and measures such as calls: see
	// [Experiment.Figures]. A missing score is unknown.
	Scores map[string]float64

	kept
}

// kept is what reports and files know of a trial beside what its reader gets.
type kept struct {
	retries int // how often the trial ran before and was a fault: see Options.RetryFaults
	began   time.Time
	judged  map[string]string // answers of judges
	differ  []mismatch        // of the grader; nil if they are in a file
	status  int               // of the endpoint, if the trial is a fault because of it
	usage   []usage           // as the responses report it; nil if one does not
	at      span              // the stored result; zero if there is none
	notes   []string          // of a stored result, for the summary
	ended   string            // of a stored result, as Result.Ended
}

// A Verdict is how a trial ended.
type Verdict string

const (
	Passed    Verdict = "passed"    // the run is OK, see [dispatchtest.Result.OK], and the grader, if there is one, returned nil
	Failed    Verdict = "failed"    // the run failed, it has faults, or the grader returned an error
	Errored   Verdict = "error"     // the case could not be run or graded; the agent did not cause this
	Skipped   Verdict = "skipped"   // the row is a coding task, which needs the platform, or needs a [User]
	Cancelled Verdict = "cancelled" // the context ended before the trial did
)

// Causes of a trial.
const (
	causeFault     = "fault"
	causeGrader    = "grader"
	causeLimit     = "limit"
	causeNotGraded = "not_graded"
	causeNotStaged = "not_staged"
	causePanic     = "panic"
	causeUser      = "user"
)

// Run executes each case against the target, Options.Trials times, and returns all trials. Trials do
// not affect each other: one that fails, panics or times out does not keep the others from running.
// When ctx ends, Run keeps the trials that have ended, and the others are [Cancelled]. Run then
// returns as soon as the requests in flight are cancelled and the graders have returned.
//
// An error means that target or opts cannot be used, or that the results file cannot be written. An
// [*Error] lists the ids that several cases have, or what is wrong in the results file.
// [Options.Plan] tells what Run would do. opts may be nil.
func Run(ctx context.Context, target dispatchtest.Target, cases []Case, opts *Options) (*Experiment, error) {
	r, err := newRunner(target, cases, opts)
	if err != nil {
		return nil, err
	}
	r.runAll(ctx)
	return r.finish()
}

// OK reports whether each trial passed or was skipped, and at least one passed.
func (e *Experiment) OK() bool {
	return e.count(Passed) > 0 && e.count(Passed)+e.count(Skipped) == len(e.Trials)
}

// count returns how many trials ended with the verdict.
func (e *Experiment) count(verdict Verdict) int {
	n := 0
	for i := range e.Trials {
		if e.Trials[i].Verdict == verdict {
			n++
		}
	}
	return n
}
