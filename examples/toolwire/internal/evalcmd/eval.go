// Package evalcmd is the command toolwire eval. It runs a dataset, a CSV file of tasks as the platform
// takes them or the same as JSON Lines, against an agent. This machine stands in for the platform: every row gets a proxy, a
// world and a run of its own, many at once.
//
//	toolwire eval
//	toolwire eval -dataset tasks.csv -junit report.xml -json report.json
//	toolwire eval -dataset tasks.csv -world world.json -url http://127.0.0.1:8000/dispatch -token-env AGENT_TOKEN
//
// Without -url the tasks go to a sample agent in this program. An agent behind -url has to run on
// this machine, because the proxies of the runs are served on its loopback.
//
// Without -url, the program after -- is an agent in code mode. Each turn starts it with the documented variables, PATH, HOME
// and the variables that -env names. With -url it is the endpoint: the command starts it without the
// variables of a run, and ends it at the end. The reports have its arguments, for the command that runs a row again:
//
//	toolwire eval -dataset tasks.csv -world world.json -env OPENAI_API_KEY -- python3 agent.py
//	toolwire eval -dataset tasks.csv -world world.json -url http://127.0.0.1:8000/dispatch -- python3 server.py
//
// On the platform a model grades what an agent did. Here, a row passes if the platform would grade
// its run, and if the row's expectations that can be checked without a model are met: the final
// response is as the column "says", the tools in "calls" were called and those in "no_calls" were not, the
// world ends as "end_state", and a run whose expected_outcome is refusal changes nothing in it. docs/datasets.md
// has the forms of these columns. The summary says in how many rows each was checked. A column that looks like
// an expectation and is none of these is a mistake, unless -ignore-column names it. So are rows of which none
// expects anything, unless -ungraded is set.
//
// In rows with a persona a program writes the user's turns, if -user names one. It is started for each message,
// reads a line of JSON with persona, columns, case, trial, seed and turns, and writes {"say": "…"}, or
// {"done": "why"} to end the session. A program that fails is the user's fault and not the agent's.
//
// One run of an agent that asks a model says little. With -trials each row runs several times; the
// report has the rate of each row and of all, with intervals, and how often several trials of a row
// would all pass. -plan says what that costs before anything runs.
//
// While it runs, standard error shows how far it is: on a terminal one line, elsewhere a line a minute.
// Trials that fail are written there as they end.
//
// -case, -where, -failed and -limit run some of the rows. Reports have the command that runs a row again.
//
// With -results every trial is written to a file as it ends, and the same command completes the file of
// a run that was interrupted or killed. -retry-faults also runs its faults again, such as the trials of
// an outage. With -shard several machines run a part each. Without it, the variables of an engine that
// starts several workers name the part: of Kubernetes, GitLab, Buildkite, CircleCI, or
// TOOLWIRE_SHARD_INDEX, from 0, and TOOLWIRE_SHARD_TOTAL. If -results is a folder, each shard has a
// file in it, and merge reads them all:
//
//	toolwire eval -trials 5 -agent-version "$(git rev-parse HEAD)" -shard 2/4 -results shards
//	toolwire eval merge -o all.jsonl -baseline main.jsonl shards
//
// -html writes a page for people: the rates and the gate, each case, the timelines of its runs, and the
// comparison with -baseline:
//
//	toolwire eval -trials 3 -html report.html
//
// The reports have the calls, tokens and time of the trials, and their cost if -prices names a file with
// the prices of models. -slice shows them, and the rates, for each value of a column.
//
// -baseline compares with the results of an earlier version. The exit status then is the verdict of a
// gate, which passes only if the agent is shown not to be worse by -margin. -gate cost=0.1 makes it one about
// cost too: it fails if the cost of a trial is not known, and it needs -max-trial-cost, because a sample does
// not show how many trials run away. -min-rate 0.8 is a gate on the rate itself, without a baseline.
//
// grade grades the stored results again, without a run: by other expectations in the dataset, other prices or other limits
// for a trial. The tasks have to be the same:
//
//	toolwire eval grade -dataset tasks.csv -world world.json -o again.jsonl -baseline main-again.jsonl all.jsonl
//
// versions writes a table of any number of files of results, the oldest first, each compared with the one
// before it, and with -html the page of the newest:
//
//	toolwire eval versions -prices prices.json v1.jsonl v2.jsonl v3.jsonl
//
// docs/evaluation.md has the table of the exit statuses, and so has the usage.
package evalcmd

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// options are the command line.
type options struct {
	eval.Options   // of the experiment
	dataset, world string
	agent          commandline.Agent
	plan, verbose  bool
	stateAsInput   bool
	engine         string           // the variables that name the shard, "" if -shard does
	user           string           // the program
	only           commandline.List // ids of cases
	ignored        commandline.List // columns
	failed         string           // a file of results
	limit          int
	stored         bool             // results are graded again
	where          commandline.List // column=value

	junit, json, html, markdown string
	merged                      string // the file of all shards
	baseline                    string
	before                      *eval.Experiment // in the file baseline
	margin                      float64
	bounds                      map[string]float64 // margins of scores
	minRate                     float64
	minRatePoint                bool
	pricesFile                  string
	priced                      bool             // the file could be read
	slices                      commandline.List // columns
}

// datasetFlags adds the flags of a run and of grade.
func (o *options) datasetFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.dataset, "dataset", "", "`file` with the tasks, CSV or JSON Lines (default: a small one about the sample agent)")
	flags.StringVar(&o.world, "world", "", "JSON `file` with the world behind the tools: tools_schema, behaviors, initial_state, … (default: the sample agent's world; with -url a world without tools)")
	flags.BoolVar(&o.stateAsInput, "state-as-input", false, "send a row's state to the agent as its input, where it has no current_state")
	flags.Var(&o.ignored, "ignore-column", "accept the `column`, although it looks like one that would be checked; may be repeated")
	flags.BoolVar(&o.Ungraded, "ungraded", false, "check no answer: run the rows for contract, calls and cost; a gate on the rate is then undecided")
}

// reportFlags adds the flags of a run, of merge and of grade.
func (o *options) reportFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.junit, "junit", "", "write a JUnit XML report to this `file`")
	flags.StringVar(&o.json, "json", "", "write a JSON report to this `file`")
	flags.StringVar(&o.html, "html", "", "write a report to this `file`, as one HTML page; with -baseline it compares")
	flags.StringVar(&o.markdown, "markdown", "", "write the summary to this `file` as Markdown, for a comment on a change; with -baseline the comparison too")
	flags.StringVar(&o.baseline, "baseline", "", "compare with the results in this `file`, and make the comparison a gate")
	flags.Float64Var(&o.margin, "margin", 0.05, "by how much the agent may be worse than the baseline, from 0 to 1")
	flags.Func("gate", "`score=margin` that the gate bounds too, such as cost=0.1 for at most 10 % more than the baseline; also calls, seconds, tokens_in and tokens_out; may be repeated for other scores", o.addBound)
	flags.IntVar(&o.TrialBudget.Calls, "max-trial-calls", 0, "a trial that calls tools more than this `number` of times is ended and fails; -gate calls needs it (default: no limit)")
	flags.Int64Var(&o.TrialBudget.Tokens, "max-trial-tokens", 0, "a trial that needs more than this `number` of tokens fails; -gate tokens_in and tokens_out need it (default: no limit)")
	flags.Float64Var(&o.TrialBudget.Cost, "max-trial-cost", 0, "a trial whose `cost` is higher fails; -gate cost needs it, and it needs -prices (default: no limit)")
	flags.Float64Var(&o.minRate, "min-rate", 0, "the `rate` of trials that pass is at least this, from 0 to 1: the lower bound of its interval")
	flags.BoolVar(&o.minRatePoint, "min-rate-point", false, "compare -min-rate with the rate, and not with its lower bound")
	flags.StringVar(&o.pricesFile, "prices", "", "JSON `file` with the prices of a million tokens, {\"model\": {\"input\": 3, \"output\": 15}}, for the score cost")
	flags.Var(&o.slices, "slice", "show the parts of the rows with each value in this `column`; may be repeated")
}

const usage = `usage: toolwire eval [flags]
       toolwire eval [flags] -- PROGRAM [ARGUMENT…]
       toolwire eval merge [flags] FILE|FOLDER…
       toolwire eval grade [flags] FILE|FOLDER…
       toolwire eval versions [flags] FILE…

	toolwire eval -dataset tasks.csv -world world.json -html report.html \
		-url http://127.0.0.1:8000/dispatch -token-env AGENT_TOKEN

Run a dataset of tasks against an agent on this machine: an endpoint or a
program. Without either the tasks go to a sample agent. A row passes if the
platform would grade its run and what the row expects holds, in the columns
says, calls, no_calls, end_state and expected_outcome (refusal only). At least
one row has to expect something.
` + commandline.ProgramUsage + `

merge puts the results of all shards together. grade grades stored results
again. versions compares the results of several versions.

Exit status:

	0  the gates passed, or without one all trials that could be run
	1  a trial did not pass, or a signal or a budget ended the run
	2  a mistake on the command line or in a file
	3  a gate failed
	4  a gate is undecided
	5  undecided, and the agent has regressed, but not shown by more than -margin`

// Run runs the command and returns its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "merge" {
		return merge(args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "grade" {
		return grade(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "versions" {
		return versions(args[1:], stdout, stderr)
	}
	var o options
	flags := flag.NewFlagSet("toolwire eval", flag.ContinueOnError)
	o.datasetFlags(flags)
	o.agent.AddFlags(flags, "the agent's `endpoint`, on this machine; without one a sample agent in this program works on the tasks")
	flags.IntVar(&o.Parallel, "parallel", 0, "how many trials run at once (default: one per processor)")
	flags.DurationVar(&o.Delay, "delay", 0, "begin a trial at least this `time` after the one before it, for an endpoint with a limit of requests")
	flags.IntVar(&o.Trials, "trials", 1, "how often each row runs")
	flags.BoolVar(&o.FirstFailure, "first-failure", false, "stop the trials of a row at the first that does not pass; then there are verdicts and no rates")
	flags.IntVar(&o.Budget.Calls, "max-calls", 0, "begin no trial after this `number` of tool calls (default: no limit)")
	flags.Int64Var(&o.Budget.Tokens, "max-tokens", 0, "begin no trial after the agent has reported this `number` of tokens (default: no limit)")
	flags.Float64Var(&o.Budget.Cost, "max-cost", 0, "begin no trial after the trials have cost this `amount`; it needs -prices (default: no limit)")
	flags.DurationVar(&o.Budget.Time, "max-time", 0, "begin no trial after this time (default: no limit)")
	flags.BoolVar(&o.plan, "plan", false, "print what would run, and run nothing")
	flags.DurationVar(&o.agent.RunTimeout, "timeout", 0, "how long the agent may take for a turn, at most 30m (default 5m)")
	flags.BoolVar(&o.agent.Strict, "require-transcript", false, "require a gradeable rich transcript, as a registration can")
	flags.StringVar(&o.ResultsFile, "results", "", "write each trial to this `file` as it ends, or with a shard to one in this folder; a file that is not complete is completed")
	flags.BoolVar(&o.RetryFaults, "retry-faults", false, "run trials in the file -results again that are faults, such as trials during an outage")
	flags.Func("fault-status", "HTTP `statuses` of the endpoint that are faults, as of a gateway, and not failures of the agent; none for no status (default 429,502,503,504)", o.addStatuses)
	flags.Var(&o.only, "case", "run the row with this `id` alone; may be repeated")
	flags.Var(&o.where, "where", "run the rows alone whose column has this value, `column=value`; may be repeated, and all have to be true")
	flags.StringVar(&o.failed, "failed", "", "run the rows alone that did not pass in this `file` of results")
	flags.IntVar(&o.limit, "limit", 0, "run the first `number` of rows alone (default: all)")
	flags.StringVar(&o.Shard, "shard", "", "run the part `i/n` of the rows, such as 2/4; needs -results (default: as the variables of a CI engine or of Kubernetes say)")
	flags.StringVar(&o.AgentVersion, "agent-version", "", "`version` of the agent, such as a commit, for -results")
	flags.StringVar(&o.user, "user", "", "`program` with arguments that writes the user's turns in rows with a persona (default: these rows are skipped)")
	flags.StringVar(&o.UserVersion, "user-version", "", "`version` of the -user, such as its model and prompt, for -results")
	flags.BoolVar(&o.verbose, "v", false, "print each trial as it ends, with the timeline of its run: requests to models, tool calls, waits, and how long each took")
	o.reportFlags(flags)
	if status, ok := o.agent.Parse(flags, usage, args, stdout, stderr); !ok {
		return status
	}
	*hook.Of[*runctx.Repeat](&o.Options) = runctx.Repeat(repeated(flags) + " -case $CASE" + o.agent.Program())
	set, err := o.play(ctx, stdout, stderr)
	if err != nil {
		return o.complain(stderr, err)
	}
	if set == nil {
		return commandline.OK
	}
	return o.judge(set, stdout, stderr)
}

// play runs the set and reports on it. With -plan it returns no experiment. Its errors are mistakes
// of the user's, and reports that cannot be written.
func (o *options) play(ctx context.Context, stdout, stderr io.Writer) (*eval.Experiment, error) {
	if o.Parallel < 0 {
		return nil, errors.New("-parallel is how many trials run at once, so at least 1")
	}
	if o.Trials < 1 {
		return nil, errors.New("-trials is how often each row runs, so at least 1")
	}
	if o.agent.RunTimeout < 0 || o.agent.RunTimeout > 30*time.Minute {
		return nil, fmt.Errorf("-timeout is at most 30m and not negative, and %s was given", o.agent.RunTimeout)
	}
	if err := o.agent.Read(); err != nil {
		return nil, err
	}
	switch {
	case !o.agent.Named():
		o.agent.Agent = sampleAgent
	case o.dataset == "":
		return nil, fmt.Errorf("%s needs a -dataset; the built-in one is about the sample agent", cmp.Or(o.agent.URLFrom, "a program"))
	}
	cases, err := o.cases()
	if err == nil {
		cases, err = o.chosen(cases)
	}
	if err != nil {
		return nil, err
	}
	if o.FirstFailure && o.baseline != "" {
		return nil, errors.New("-baseline compares rates, and -first-failure leaves none")
	}
	if err := o.settleShard(os.Getenv); err != nil {
		return nil, err
	}
	var running sync.RWMutex
	defer running.Lock() // an interrupt ends the experiment before the programs have ended
	if o.User, err = o.playUser(&running); err != nil {
		return nil, err
	}
	if o.GraderVersion = graderVersion; o.Ungraded {
		o.GraderVersion = ""
	}
	o.TrialBudget.Time = cmp.Or(o.agent.RunTimeout, 5*time.Minute) * time.Duration(mostTurns(cases)) // for a gate on seconds
	if err := errors.Join(o.checkFlags(), o.checkMeasures(), o.checkLimits(o.TrialBudget)); err != nil {
		return nil, err
	}
	plan, err := o.Plan(cases, o.before)
	if err != nil {
		return nil, err
	}
	if hook.Of[runctx.Checked](&plan) == 0 && !o.Ungraded && !o.some() {
		return nil, errors.New("-dataset: all rows that expect something are skipped: a row with a user_simulator_persona needs -user, and a coding task needs the platform")
	}
	if o.engine != "" {
		fmt.Fprintf(stderr, "toolwire eval: this is shard %s, as %s say\n", o.Shard, o.engine)
	}
	if o.baseline != "" && o.margin < plan.Margin {
		fmt.Fprintf(stderr, "toolwire eval: -margin %g: in as few rows the gate can pass only if the agent has improved\n", o.margin)
	}
	if o.plan {
		_, err := fmt.Fprintln(stdout, flagNames.Replace(plan.String()))
		return nil, errors.Join(err, o.planGates(stdout))
	}
	if _, missing := os.Stat(o.ResultsFile); o.Trials > 1 || missing == nil {
		fmt.Fprintf(stderr, "toolwire eval: %s\n", flagNames.Replace(plan.String()))
	}
	reports, err := o.openReports()
	if err != nil {
		return nil, err
	}
	defer reports.close()
	if elsewhere(o.agent.URL) {
		fmt.Fprintf(stderr, "toolwire eval: %s is not on this machine; its tool calls will not find the proxies, which are on this one's loopback\n", o.agent.URLFrom)
	}
	if plan.Trials > 0 && ctx.Err() == nil {
		stop, err := o.agent.Start(ctx, stderr)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	if o.agent.Named() && plan.Trials > 0 && ctx.Err() == nil { // what would fail every trial is one mistake
		ping, err := dispatchtest.Ping(ctx, o.agent.Target)
		if err != nil {
			return nil, err
		}
		if !ping.WouldBeGraded() {
			return nil, fmt.Errorf("no row was run: %s: %s", ping.ErrorClass, ping.Error)
		}
	}
	progress := newProgress(stderr, os.Getenv, plan.Trials, o.Trials)
	progress.all, progress.quiet = o.verbose, progress.live && terminal.Is(stdout)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	worldless := func() bool { return o.agent.Named() && o.world == "" && progress.undeclared }
	o.OnTrial = func(t eval.Trial) {
		if progress.trial(t); worldless() {
			stop()
		}
	}
	opts := o.Options
	if opts.ResultsFile == "" && plan.Trials > mostInMemory {
		if folder, err := os.MkdirTemp("", "toolwire-eval-*"); err == nil {
			defer func() { _ = os.RemoveAll(folder) }()
			opts.ResultsFile = filepath.Join(folder, "results.jsonl")
		}
	}
	set, err := eval.Run(ctx, o.agent.Target, cases, &opts)
	if errors.Is(err, errors.ErrUnsupported) && o.ResultsFile == "" { // this system has no locks of files
		set, err = eval.Run(ctx, o.agent.Target, cases, &o.Options)
	}
	progress.end()
	if err != nil {
		return nil, err
	}
	o.dress(set, nameOf(cmp.Or(o.dataset, "orders.csv")))
	if worldless() {
		return nil, errors.New(noWorld)
	}
	if ctx.Err() != nil && cancelled(set) {
		next := "the trials that ended are not kept; -results FILE keeps them, and the same command then goes on where it stopped"
		if o.ResultsFile != "" {
			next = "the trials that ended are in " + o.ResultsFile + "; run the same command again to go on where it stopped"
		}
		fmt.Fprintf(stderr, "toolwire eval: interrupted: %s\n", next)
	}
	err = set.WriteSummary(stdout, terminal.Colour(stdout, os.Getenv))
	return set, errors.Join(err, reports.write(set, o.before))
}

// mostInMemory is from how many trials on their results are in a temporary file while the command runs: of
// 30,000 trials they need 200 MB.
const mostInMemory = 2000

// mostTurns is how many turns a trial has at most.
func mostTurns(cases []eval.Case) int {
	turns := 1
	for i := range cases {
		if talk := cases[i].Task.Conversation; talk != nil {
			turns = max(turns, cmp.Or(talk.MaxTurns, 10))
		}
	}
	return turns
}

// elsewhere reports whether an endpoint is not on this machine's loopback.
func elsewhere(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && endpoint != "" && !publicaddr.Loopback(u.Hostname())
}

// flagNames replaces names of the API by flags in errors of package eval.
var flagNames = strings.NewReplacer(
	"eval: ", "", "dispatchtest: ", "", "candidate: it cannot be compared with the baseline", "-baseline: the results cannot be compared", "Options.RetryFaults", "-retry-faults",
	"Target.AuthHeader", "-auth-header", "Target.AuthValue", "the token",
	"Options.ResultsFile", "-results", "Options.Trials", "-trials", "Options.Shard", "-shard", "Options.AgentVersion", "-agent-version", "Options.UserVersion", "-user-version",
	"Options.Budget.Calls", "-max-calls", "Options.Budget.Tokens", "-max-tokens", "Options.Budget.Time", "-max-time",
	"Options.Budget.Cost", "-max-cost", "Options.TrialBudget.Calls", "-max-trial-calls", "Options.TrialBudget.Tokens", "-max-trial-tokens", "Options.TrialBudget.Cost", "-max-trial-cost", "Options.Prices", "-prices", "Options.FaultStatuses", "-fault-status", "Options.Delay", "-delay",
)

const noWorld = "there is no -world, so no tool is declared, and the proxy refuses each tool call with 404. " +
	"Give a JSON file with tools_schema, behaviors and initial_state, such as the testdata/world.json that toolwire new writes"

// complain says what is wrong, of a dataset as a table, and returns the exit status.
func (o *options) complain(stderr io.Writer, err error) int {
	bad, ok := errors.AsType[*eval.Error](err)
	if !ok || bad.Problems[0].Row == 0 {
		fmt.Fprintf(stderr, "toolwire eval: %s\n", flagNames.Replace(err.Error()))
		return commandline.Mistake
	}
	colour := terminal.Colour(stderr, os.Getenv)
	var table terminal.Table
	faint := func(s string) terminal.Cell { return terminal.Cell{Text: s, Style: terminal.Faint} }
	table.Row(faint("row"), faint("line"), faint("column"), faint("what is wrong"))
	number := func(n int) terminal.Cell {
		if n == 0 {
			return terminal.PlainCell("")
		}
		return terminal.Cell{Text: fmt.Sprint(n), Right: true}
	}
	for _, p := range bad.Problems {
		table.Row(number(p.Row), number(p.Line), terminal.PlainCell(text.Line(p.Column, 32)), terminal.PlainCell(p.Message))
	}
	fmt.Fprintf(stderr, "toolwire eval: the dataset has problems (row as a spreadsheet shows it, line of the file):\n\n")
	_ = table.Write(stderr, colour)
	if bad.More > 0 {
		fmt.Fprintf(stderr, "and %d more\n", bad.More)
	}
	if bad.Code == "invalid_world" && o.world == "" && o.agent.Named() {
		fmt.Fprintln(stderr, "\ntoolwire eval: "+noWorld)
	}
	return commandline.Mistake
}
