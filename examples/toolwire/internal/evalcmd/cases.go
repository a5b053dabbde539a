package evalcmd

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/text"
)

var (
	//go:embed testdata/orders.csv
	sampleDataset string

	//go:embed testdata/world.json
	sampleWorld []byte
)

// cases reads the dataset and puts its rows into the world.
func (o *options) cases() ([]eval.Case, error) {
	var rows io.Reader = strings.NewReader(sampleDataset)
	if o.dataset != "" {
		file, err := os.Open(o.dataset)
		if err != nil {
			return nil, fmt.Errorf("-dataset: %w", err)
		}
		defer func() { _ = file.Close() }()
		rows = file
	}
	dataset, err := eval.Read(rows)
	if err != nil {
		return nil, fmt.Errorf("-dataset: %s: %w", o.dataset, err)
	}
	for _, f := range []struct {
		flag    string
		columns commandline.List
	}{{"-ignore-column", o.ignored}, {"-slice", o.slices}, {"-where", o.where}} {
		for _, column := range f.columns {
			if f.flag == "-where" {
				column, _, _ = strings.Cut(column, "=")
			}
			if !slices.Contains(dataset.Columns, column) {
				return nil, fmt.Errorf("%s: no column has the name %q; the columns are %s", f.flag, column, text.Cut(fmt.Sprintf("%q", dataset.Columns), 1000))
			}
		}
	}
	sample := sampleWorld
	if o.agent.Named() || o.stored && o.dataset != "" {
		sample = []byte("{}")
	}
	world, err := commandline.World(o.world, sample)
	if err != nil {
		return nil, err
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: world}, nil)
	if err != nil {
		return nil, err
	}
	graded, err := dataset.Expect(cases, o.ignored...)
	if bad, ok := errors.AsType[*eval.Error](err); ok {
		for i := range bad.Problems {
			if p := &bad.Problems[i]; p.Code == "invalid_header" {
				p.Message += "; -ignore-column accepts it as something else"
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if graded == 0 && !o.Ungraded {
		return nil, errNothingExpected
	}
	for i := range cases {
		c := &cases[i]
		if state := c.Cell("state"); o.stateAsInput && state != "" && c.Task.Input == nil {
			c.Task.Input = json.RawMessage(state)
		}
	}
	return cases, nil
}

var errNothingExpected = errors.New("-dataset: no row expects anything, so every answer would pass: add a column says, with what the final response " +
	"must contain, calls or no_calls, with tools, end_state, with entities after the run, or an expected_outcome of refusal; " +
	"-ungraded runs the rows for contract, calls and cost alone")

// some reports whether flags leave rows out.
func (o *options) some() bool {
	return len(o.only) > 0 || len(o.where) > 0 || o.failed != "" || o.limit > 0
}

// chosen returns the cases that -case, -where, -failed and -limit leave.
func (o *options) chosen(cases []eval.Case) ([]eval.Case, error) {
	if o.limit < 0 {
		return nil, errors.New("-limit is a number of rows, so at least 1")
	}
	if o.baseline != "" && o.some() {
		return nil, errors.New("-baseline compares all rows, and -case, -where, -failed and -limit leave rows out")
	}
	for _, pair := range o.where {
		column, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("-where is column=value, and %q is not", text.Cut(pair, 60))
		}
		var values []string
		cases = slices.DeleteFunc(cases, func(c eval.Case) bool {
			cell := c.Cell(column)
			if !slices.Contains(values, cell) {
				values = append(values, cell)
			}
			return cell != value
		})
		if len(cases) == 0 {
			return nil, fmt.Errorf("-where: no row has %q in the column %s; its values are %s", text.Cut(value, 60), column, text.Cut(fmt.Sprintf("%q", values), 500))
		}
	}
	for _, id := range o.only {
		if !slices.ContainsFunc(cases, func(c eval.Case) bool { return c.ID == id }) {
			return nil, fmt.Errorf("-case: no row has the id %q; ids are the column id, or those in the file of results and in the JSON report", id)
		}
	}
	if o.failed != "" {
		e, err := eval.Load(o.failed)
		if err != nil {
			return nil, fmt.Errorf("-failed: %w", err)
		}
		failed := map[string]bool{}
		for _, t := range e.Trials {
			if t.Verdict != eval.Passed && t.Verdict != eval.Skipped {
				failed[t.ID] = true
			}
		}
		cases = slices.DeleteFunc(cases, func(c eval.Case) bool { return !failed[c.ID] })
	}
	if len(o.only) > 0 {
		cases = slices.DeleteFunc(cases, func(c eval.Case) bool { return !slices.Contains(o.only, c.ID) })
	}
	if o.failed != "" && len(cases) == 0 {
		return nil, fmt.Errorf("-failed: no row of the dataset has failed in %s", o.failed)
	}
	if o.limit > 0 {
		cases = cases[:min(len(cases), o.limit)]
	}
	return cases, nil
}

// repeated returns the command line without the program of the agent and the flags that are about the run as a whole.
// The program that writes the user's turns is left out, because its arguments may be secret.
func repeated(flags *flag.FlagSet) string {
	command := commandline.Program + " eval"
	flags.Visit(func(f *flag.Flag) {
		switch {
		case slices.Contains(ofTheRun, f.Name):
		case f.Name == "user":
			command += " -user '…'"
		default:
			values := commandline.List{f.Value.String()}
			if several, ok := f.Value.(*commandline.List); ok {
				values = *several
			}
			for _, value := range values {
				command += " -" + f.Name + "=" + commandline.Quote(value)
			}
		}
	})
	return command
}

// ofTheRun are the flags that a command for one row leaves out, and -env, which stands before the program.
var ofTheRun = []string{
	"env", "case", "where", "failed", "limit", "results", "retry-faults", "shard", "plan", "parallel", "delay", "max-calls", "max-tokens", "max-cost", "max-time",
	"min-rate", "min-rate-point", "fault-status",
	"junit", "json", "html", "markdown", "baseline", "margin", "gate", "slice",
}

// graderVersion changes with what rows expect.
const graderVersion = "columns 2"
