package evalcmd

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// Exit statuses of gates.
const (
	statusFailed    = 3
	statusUndecided = 4
	statusRegressed = 5 // undecided, and the agent is worse than the baseline
)

// statuses maps the decision of all gates to the exit status of the command.
var statuses = map[eval.Verdict]int{eval.Passed: commandline.OK, eval.Failed: statusFailed, eval.Undecided: statusUndecided}

const mergeUsage = `usage: toolwire eval merge [flags] FILE|FOLDER…

	toolwire eval merge -o all.jsonl -html report.html shards

Put the results of all shards together and report on them. Of a folder it reads the files shard-*-of-*.jsonl.`

// merge puts the results of shards together and reports on them.
func merge(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("toolwire eval merge", flag.ContinueOnError)
	flags.StringVar(&o.merged, "o", "", "write the results of all shards to this `file`")
	o.reportFlags(flags)
	if status, ok := commandline.Parse(flags, mergeUsage, args, stdout, stderr); !ok {
		return status
	}
	set, err := o.put(flags.Args(), stdout)
	if err != nil {
		return o.complain(stderr, err)
	}
	return o.judge(set, stdout, stderr)
}

// put loads the files, writes them as one, and reports.
func (o *options) put(files []string, stdout io.Writer) (*eval.Experiment, error) {
	wrong := o.checkFlags()
	files, err := inFolders(files)
	if err != nil {
		return nil, errors.Join(wrong, err)
	}
	set, err := eval.Load(files...)
	if err != nil {
		return nil, errors.Join(wrong, err)
	}
	wrong = errors.Join(wrong, o.checkStricter(*hook.Of[*eval.Budget](set)))
	for _, column := range o.slices {
		set.SliceBy = commandline.List{column}
		if !slices.ContainsFunc(set.Figures(), func(f eval.Figure) bool { return f.Slice != "" && f.Slice != column+"=" }) {
			wrong = errors.Join(wrong, fmt.Errorf("-slice: no row has a value in the column %q", column))
		}
	}
	o.dress(set, nameOf(files[0]))
	if err := errors.Join(wrong, o.checkLimits(*hook.Of[*eval.Budget](set)), o.checkScores("the files have", "they have", set)); err != nil {
		return nil, err
	}
	reports, err := o.openReports(files...)
	if err != nil {
		return nil, err
	}
	defer reports.close()
	if o.merged != "" {
		file, err := os.OpenFile(o.merged, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("-o: %w", err)
		}
		if err := errors.Join(eval.Merge(file, files...), file.Close()); err != nil {
			return nil, err
		}
	}
	return set, errors.Join(set.WriteSummary(stdout, terminal.Colour(stdout, os.Getenv)), reports.write(set, o.before))
}

// nameOf is the name of a file without folder and extension.
func nameOf(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// checkFlags reads what the flags of reports name, and finds all mistakes in them before anything runs.
func (o *options) checkFlags() error {
	return errors.Join(o.readPrices(), o.checkBars(), o.checkGate())
}

// checkGate loads the baseline and finds mistakes in what is compared with it.
func (o *options) checkGate() error {
	if o.baseline == "" {
		if len(o.bounds) > 0 {
			return errors.New("-gate compares with a -baseline")
		}
		return nil
	}
	baseline, err := eval.Load(o.baseline)
	if err != nil {
		return fmt.Errorf("-baseline: %w", err)
	}
	if len(baseline.Cases()) == 0 && baseline.Figure("always").Cases > 0 {
		return errors.New("-baseline: it was run with -first-failure, so it has no rates")
	}
	o.before, baseline.Name = baseline, nameOf(o.baseline)
	o.before.SetPrices(o.Prices)
	return o.checkScores("-baseline has", "it has", baseline)
}

// checkBars finds mistakes in what the gates ask for.
func (o *options) checkBars() error {
	_, cost := o.bounds["cost"]
	var wrong []error
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{!(o.margin >= 0 && o.margin <= 1), "-margin is from 0 to 1"},
		{!(o.minRate >= 0 && o.minRate <= 1), "-min-rate is from 0 to 1"},
		{o.minRatePoint && o.minRate == 0, "-min-rate-point needs -min-rate"},
		{o.minRate > 0 && o.FirstFailure, "-min-rate is about the rate, and -first-failure leaves none"},
		{cost && o.pricesFile == "", "-gate cost needs -prices"},
	} {
		if rule.broken {
			wrong = append(wrong, errors.New(rule.text))
		}
	}
	return errors.Join(wrong...)
}

// eachGate returns what is wrong with the gates of scores, of all together.
func (o *options) eachGate(wrong func(score string) error) error {
	var all []error
	for _, score := range slices.Sorted(maps.Keys(o.bounds)) {
		all = append(all, wrong(score))
	}
	return errors.Join(all...)
}

// checkMeasures finds gates of scores that a run cannot have: the columns of a dataset record none. A
// baseline says which scores it has.
func (o *options) checkMeasures() error {
	return o.eachGate(func(score string) error {
		if limits[score] != "" || o.baseline != "" {
			return nil
		}
		return fmt.Errorf("-gate %s: there is no such score; a run has %s", text.Cut(score, 60), strings.Join(slices.Sorted(maps.Keys(limits)), ", "))
	})
}

// limits are the flags that limit each measure in a trial.
var limits = map[string]string{
	"calls": "-max-trial-calls", "tokens_in": "-max-trial-tokens", "tokens_out": "-max-trial-tokens", "cost": "-max-trial-cost", "seconds": "-timeout, in the run",
}

// limitsOf returns the limit of each measure; 0 sets none.
func limitsOf(b eval.Budget) map[string]float64 {
	return map[string]float64{"calls": float64(b.Calls), "tokens_in": float64(b.Tokens), "tokens_out": float64(b.Tokens), "cost": b.Cost, "seconds": b.Time.Seconds()}
}

// checkLimits finds gates of measures without a limit in a trial: a sample does not show how many trials run away.
func (o *options) checkLimits(b eval.Budget) error {
	given := limitsOf(b)
	return o.eachGate(func(score string) error {
		if limit, measure := given[score]; !measure || limit > 0 {
			return nil
		}
		return fmt.Errorf("-gate %s needs a limit for a trial, %s: no number of rows excludes that a few run away without one", score, limits[score])
	})
}

// checkStricter finds limits that the trials did not have when they ran: their verdicts do not know them.
func (o *options) checkStricter(ran eval.Budget) error {
	own, had := limitsOf(o.TrialBudget), limitsOf(ran)
	var wrong []error
	for _, name := range []string{"calls", "tokens_in", "cost"} {
		switch {
		case own[name] > 0 && had[name] == 0:
			wrong = append(wrong, fmt.Errorf("%s: the trials ran without this limit; toolwire eval grade applies it", limits[name]))
		case own[name] > 0 && own[name] < had[name]:
			wrong = append(wrong, fmt.Errorf("%s: the trials ran with the limit %g; toolwire eval grade applies another one", limits[name], had[name]))
		}
	}
	return errors.Join(wrong...)
}

// checkScores finds gates of scores that an experiment does not have. If the prices cannot be read, the
// cost is not one of them.
func (o *options) checkScores(has, they string, e *eval.Experiment) error {
	var known []string
	for _, f := range e.Figures() {
		if f.Slice == "" && f.Faults == "" {
			known = append(known, f.Name)
		}
	}
	return o.eachGate(func(score string) error {
		if slices.Contains(known, score) || score == "cost" && !o.priced {
			return nil
		}
		return fmt.Errorf("-gate %s: %s no such score; %s %s", text.Cut(score, 60), has, they, strings.Join(known, ", "))
	})
}

// planGates says whether the gates of measures can pass, as far as the baseline tells.
func (o *options) planGates(stdout io.Writer) error {
	if o.before == nil || len(o.bounds) == 0 {
		return nil
	}
	same := *o.before
	same.GateBy, *hook.Of[*eval.Budget](&same) = o.bounds, o.TrialBudget
	c, err := eval.Compare(&same, &same)
	if err != nil {
		return err
	}
	for _, g := range c.Gates {
		name := g.Difference.Name
		limit, margin := limitsOf(o.TrialBudget)[name], o.bounds[name]
		if limit == 0 {
			continue
		}
		times := limit / g.Baseline.Value
		line := fmt.Sprintf("gate, %s: the limit of %g is %.1f times what a trial of the baseline needs; ", name, limit, times)
		switch {
		case g.Baseline.Value == 0:
			line = fmt.Sprintf("gate, %s: %s: %s", name, g.Verdict, g.Reason)
		case margin == 0:
			line += "it passes only if the candidate needs less"
		default:
			line += fmt.Sprintf("if nothing differs, it passes from a margin of %.2f or from about %.0f cases on", g.Difference.High+0.005, math.Ceil(3.7*(times-1)/margin))
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// judge compares with the baseline, if there is one, and returns the exit status.
func (o *options) judge(set *eval.Experiment, stdout, stderr io.Writer) int {
	switch {
	case cancelled(set), o.baseline == "" && o.minRate == 0 && !set.OK():
		return commandline.NotWell
	case o.baseline == "" && o.minRate == 0:
		return commandline.OK
	}
	if o.baseline == "" {
		verdict, _ := set.Bar()
		return statuses[verdict]
	}
	c, err := eval.Compare(o.before, set)
	if err != nil {
		return o.complain(stderr, err)
	}
	fmt.Fprintf(stdout, "\ncompared with %s:\n\n", o.baseline)
	if err := c.WriteSummary(stdout, terminal.Colour(stdout, os.Getenv)); err != nil {
		return o.complain(stderr, err)
	}
	undecided := func(gate eval.Comparison) bool { return gate.Verdict == eval.Undecided }
	if c.Gate == eval.Undecided && c.Figures()[0].Verdict == eval.Regressed && slices.ContainsFunc(c.Gates, undecided) {
		return statusRegressed
	}
	return statuses[c.Gate]
}

func (o *options) addBound(value string) error {
	score, number, _ := strings.Cut(value, "=")
	margin, err := strconv.ParseFloat(number, 64)
	if score == "" || err != nil || !(margin >= 0 && margin <= 100) {
		return errors.New("it is a score and a margin, such as cost=0.1")
	}
	if _, twice := o.bounds[score]; twice {
		return fmt.Errorf("the score %s has a margin already", score)
	}
	if o.bounds == nil {
		o.bounds = map[string]float64{}
	}
	o.bounds[score] = margin
	return nil
}

func (o *options) addStatuses(value string) error {
	if o.FaultStatuses == nil {
		o.FaultStatuses = []int{}
	}
	if value == "none" {
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		status, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return errors.New("it is a list of statuses, such as 429,503, or none")
		}
		o.FaultStatuses = append(o.FaultStatuses, status)
	}
	return nil
}

func (o *options) readPrices() error {
	if o.pricesFile == "" {
		return nil
	}
	file, err := os.ReadFile(o.pricesFile)
	if err == nil {
		o.Prices, err = eval.ParsePrices(file)
	}
	if err != nil {
		return fmt.Errorf("-prices: %w", err)
	}
	o.priced = true
	return nil
}

// dress sets what reports show of an experiment.
func (o *options) dress(set *eval.Experiment, name string) {
	set.Name, set.SliceBy = name, o.slices
	if o.baseline != "" {
		set.GateBy = map[string]float64{"": o.margin}
		maps.Copy(set.GateBy, o.bounds)
	}
	set.MinRate, *hook.Of[*runctx.ByPoint](set) = o.minRate, runctx.ByPoint(o.minRatePoint)
	set.SetPrices(o.Prices)
	limit, own := hook.Of[*eval.Budget](set), o.TrialBudget // files have the limits of the run
	limit.Calls, limit.Tokens, limit.Cost, limit.Time = cmp.Or(own.Calls, limit.Calls), cmp.Or(own.Tokens, limit.Tokens), cmp.Or(own.Cost, limit.Cost), cmp.Or(own.Time, limit.Time)
}
