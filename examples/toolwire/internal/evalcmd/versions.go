package evalcmd

import (
	"errors"
	"flag"
	"io"
	"os"
	"slices"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/terminal"
)

const versionsUsage = `usage: toolwire eval versions [flags] FILE…

	toolwire eval versions -html report.html v1.jsonl v2.jsonl v3.jsonl

Compare the results of several versions, the oldest first, each with the one before it.`

// versions writes a table of files of results.
func versions(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("toolwire eval versions", flag.ContinueOnError)
	flags.StringVar(&o.html, "html", "", "write a report of the newest version to this `file`, as one HTML page; it compares with the version before")
	flags.StringVar(&o.pricesFile, "prices", "", "JSON `file` with the prices of a million tokens, as for toolwire eval")
	if status, ok := commandline.Parse(flags, versionsUsage, args, stdout, stderr); !ok {
		return status
	}
	if err := o.writeVersions(flags.Args(), stdout); err != nil {
		return o.complain(stderr, err)
	}
	return commandline.OK
}

func (o *options) writeVersions(files []string, stdout io.Writer) error {
	if err := o.readPrices(); err != nil {
		return err
	}
	if len(files) < 2 {
		return errors.New("versions needs at least two files of results")
	}
	var all []*eval.Experiment
	for _, file := range files {
		e, err := eval.Load(file)
		if err != nil {
			return err
		}
		o.dress(e, nameOf(file))
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b *eval.Experiment) int { return a.Started.Compare(b.Started) })
	reports, err := o.openReports(files...)
	if err != nil {
		return err
	}
	defer reports.close()
	newest := len(all) - 1
	return errors.Join(eval.WriteVersions(stdout, terminal.Colour(stdout, os.Getenv), all...), reports.write(all[newest], all[:newest]...))
}
