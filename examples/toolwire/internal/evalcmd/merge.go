package evalcmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/terminal"
)

// Exit statuses of the gate.
const (
	statusWorse     = 3
	statusUndecided = 4
)

const mergeUsage = `usage: toolwire eval merge [flags] FILE|FOLDER…

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
	if err := o.checkGate(nil); err != nil {
		return nil, err
	}
	files, err := inFolders(files)
	if err != nil {
		return nil, err
	}
	set, err := eval.Load(files...)
	if err != nil {
		return nil, err
	}
	for _, column := range o.slices {
		set.SliceBy = list{column}
		if !slices.ContainsFunc(set.Figures(), func(f eval.Figure) bool { return f.Slice != "" && f.Slice != column+"=" }) {
			return nil, fmt.Errorf("-slice: no row has a value in the column %q", column)
		}
	}
	o.dress(set, nameOf(files[0]))
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

// checkGate loads the baseline and finds mistakes before anything runs. planned is the fingerprint of the run, or nil.
func (o *options) checkGate(planned *eval.Fingerprint) error {
	if !(o.margin >= 0 && o.margin <= 1) {
		return errors.New("-margin is from 0 to 1")
	}
	if err := o.readPrices(); err != nil {
		return err
	}
	if _, bounded := o.bounds["cost"]; bounded && o.pricesFile == "" {
		return errors.New("-gate cost needs -prices")
	}
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
	if baseline.FirstFailure {
		return errors.New("-baseline: it was run with -first-failure, so it has no rates")
	}
	o.before = baseline
	o.before.SetPrices(o.prices)
	if planned == nil {
		return nil
	}
	for _, part := range [][3]string{
		{"dataset", planned.Dataset, baseline.Fingerprint.Dataset}, {"world", planned.World, baseline.Fingerprint.World},
		{"version of the graders", planned.Graders, baseline.Fingerprint.Graders},
		{"version of the user", planned.User, baseline.Fingerprint.User},
	} {
		if part[1] != part[2] {
			return fmt.Errorf("-baseline: its %s is another one, so the results cannot be compared: run the baseline again", part[0])
		}
	}
	return nil
}

// judge compares with the baseline, if there is one, and returns the exit status.
func (o *options) judge(set *eval.Experiment, stdout, stderr io.Writer) int {
	switch {
	case o.baseline == "" && !set.OK(), set.Count(eval.Cancelled) > 0:
		return commandline.NotWell
	case o.baseline == "":
		return commandline.OK
	}
	c, err := eval.Compare(o.before, set)
	if err != nil {
		return o.complain(stderr, err)
	}
	fmt.Fprintf(stdout, "\ncompared with %s:\n\n", o.baseline)
	if err := c.WriteSummary(stdout, terminal.Colour(stdout, os.Getenv)); err != nil {
		return o.complain(stderr, err)
	}
	switch c.Gate {
	case eval.Failed:
		return statusWorse
	case eval.Undecided:
		return statusUndecided
	}
	return commandline.OK
}

func (o *options) addBound(text string) error {
	score, number, _ := strings.Cut(text, "=")
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

func (o *options) readPrices() error {
	if o.pricesFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.pricesFile)
	if err == nil {
		o.prices, err = eval.ParsePrices(text)
	}
	if err != nil {
		return fmt.Errorf("-prices: %w", err)
	}
	return nil
}

// dress sets what reports show of an experiment.
func (o *options) dress(set *eval.Experiment, name string) {
	set.Name, set.SliceBy = name, o.slices
	if o.baseline != "" {
		set.GateBy = map[string]float64{"": o.margin}
		maps.Copy(set.GateBy, o.bounds)
	}
	set.SetPrices(o.prices)
}
