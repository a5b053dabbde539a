package evalcmd

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"strings"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/terminal"
)

const gradeUsage = `usage: toolwire eval grade [flags] FILE|FOLDER…

	toolwire eval grade -dataset tasks.csv -world world.json -o again.jsonl all.jsonl

Grade stored results again, without a run: by what the rows of the dataset expect now, and by other prices and limits. The tasks of the dataset, and the world, are those of the run.`

// grade grades stored results again and reports on them.
func grade(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{stored: true}
	flags := flag.NewFlagSet("toolwire eval grade", flag.ContinueOnError)
	o.datasetFlags(flags)
	flags.StringVar(&o.merged, "o", "", "write the results with the new verdicts to this `file`")
	o.reportFlags(flags)
	if status, ok := commandline.Parse(flags, gradeUsage, args, stdout, stderr); !ok {
		return status
	}
	set, err := o.again(ctx, flags.Args(), stdout)
	if err != nil {
		return o.complain(stderr, err)
	}
	return o.judge(set, stdout, stderr)
}

// again grades the files and reports.
func (o *options) again(ctx context.Context, files []string, stdout io.Writer) (*eval.Experiment, error) {
	wrong := o.checkFlags()
	files, err := inFolders(files)
	if err == nil && len(files) == 0 {
		err = errors.New("grade needs at least one file of results")
	}
	if len(o.bounds) > 0 && wrong != nil && err == nil {
		if stored, err := eval.Load(files...); err == nil {
			wrong = errors.Join(wrong, o.checkScores("the files have", "they have", stored))
		}
	}
	if err := errors.Join(wrong, err); err != nil {
		return nil, err
	}
	cases, err := o.cases()
	if err != nil {
		return nil, err
	}
	if o.GraderVersion = graderVersion; o.Ungraded {
		o.GraderVersion = ""
	}
	reports, err := o.openReports(files...)
	if err != nil {
		return nil, err
	}
	defer reports.close()
	o.ResultsFile = o.merged
	set, err := eval.Grade(ctx, cases, &o.Options, files...)
	if _, problems := errors.AsType[*eval.Error](err); err != nil && !problems {
		return nil, errors.New(strings.Replace(err.Error(), "Options.ResultsFile", "-o", 1))
	} else if err != nil {
		return nil, err
	}
	o.dress(set, nameOf(files[0]))
	if err := errors.Join(o.checkLimits(*hook.Of[*eval.Budget](set)), o.checkScores("the files have", "they have", set)); err != nil {
		if o.merged != "" {
			_ = os.Remove(o.merged)
		}
		return nil, err
	}
	return set, errors.Join(set.WriteSummary(stdout, terminal.Colour(stdout, os.Getenv)), reports.write(set, o.before))
}
