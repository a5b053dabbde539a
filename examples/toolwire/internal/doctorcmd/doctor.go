// Package doctorcmd is the command toolwire doctor. It examines an agent from outside, as the platform
// will use it, and what belongs to its registration: is the endpoint reachable, does it check the
// bearer before the ping, does it answer a sample dispatch, would the platform accept the tools, the
// manifest and the dataset.
//
//	AGENT_TOKEN=… toolwire doctor -url http://localhost:8080/dispatch -token-env AGENT_TOKEN
//	toolwire doctor -url https://agents.example.com/dispatch -token-file token -tools tools_schema.json -json
//
// An agent on this machine works on one sample task. An agent elsewhere cannot reach the proxy that
// is served here, so it only gets the task of -instruction.
//
// Without -url, the program after -- is an agent in code mode. Each dispatch starts it with the documented
// variables, PATH, HOME and the variables that -env names. With -url the command starts it as the endpoint:
//
//	toolwire doctor -env OPENAI_API_KEY -instruction "Where is order #4521?" -- ./agent -verbose
//
// -scenarios dispatches the instruction again, while the proxy misbehaves in known ways: see
// doctor.Options.Scenarios. Each finding cites the rule behind it and has commands that reproduce it.
//
//	toolwire doctor -url http://localhost:8080/dispatch -token-env AGENT_TOKEN -tools tools_schema.json \
//		-instruction "Where is order #4521?" -scenarios all
//
// The exit status is 0 when nothing failed, 1 when a check failed (with -strict, or when one
// warned), was interrupted or the doctor itself has a fault, 2 for a mistake on the command line or a
// file that cannot be read.
package doctorcmd

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/ledger"
)

// flags is the command line.
type flags struct {
	agent                            commandline.Agent // or, in code mode, its command
	options                          doctor.Options
	tools, ledger, manifest, dataset string
	instruction, scenarios           string
	strict, printJSON                bool
	rows                             []byte // of the dataset
}

const usage = `usage: toolwire doctor [flags] -url URL
       toolwire doctor [flags] -- PROGRAM [ARGUMENT…]

	toolwire doctor -url http://127.0.0.1:8000/dispatch -token-env AGENT_TOKEN \
		-tools tools_schema.json -instruction "Where is order #4521?"

Examine an agent from outside: an endpoint or a program.
` + commandline.ProgramUsage

// Run runs the command and returns its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	if status, ok := f.parse(args, stdout, stderr); !ok {
		return status
	}
	mistake := func(problem string) int {
		fmt.Fprintf(stderr, "toolwire doctor: %s\n", problem)
		return commandline.Mistake
	}
	if problems := f.check(); len(problems) > 0 {
		return mistake(strings.Join(problems, "; ") + "; see toolwire doctor -h")
	}
	if err := f.read(); err != nil {
		return mistake(err.Error())
	}
	stop, err := f.agent.Start(ctx, stderr)
	if err != nil {
		return mistake(err.Error())
	}
	defer stop()
	report, err := doctor.Check(ctx, f.agent.Target, &f.options)
	if report == nil {
		return mistake(flagNames.Replace(err.Error()))
	}
	for i := range report.Findings {
		found := &report.Findings[i]
		lines := strings.Split(found.Reproduce, "\n")
		for i, line := range lines {
			if rest, ok := strings.CutPrefix(line, "go run github.com/toolwire/toolwire/examples/toolwire doctor"); ok {
				lines[i] = commandline.Program + " doctor" + strings.ReplaceAll(rest, `"$TOOLS"`, commandline.Quote(f.tools))
				if f.agent.URL != "" {
					lines[i] += f.agent.Program()
				}
			}
		}
		found.Reproduce = strings.Join(lines, "\n")
	}
	report.Findings = append(report.Findings, f.documents()...)
	warned := slices.ContainsFunc(report.Findings, func(found doctor.Finding) bool { return found.Status == doctor.StatusWarning })
	failed := err != nil || !report.OK() || f.strict && warned
	if err != nil {
		fmt.Fprintf(stderr, "toolwire doctor: interrupted: %v\n", err)
	}
	if err := f.print(stdout, report); err != nil {
		fmt.Fprintf(stderr, "toolwire doctor: %v\n", err)
		failed = true
	}
	if failed {
		return commandline.NotWell
	}
	return commandline.OK
}

// flagNames replaces names of the API by flags in errors of Check.
var flagNames = strings.NewReplacer(
	"dispatchtest: ", "", "doctor: ", "",
	"Target.Command", "the command", "Target.URL", "-url", "Target.AuthHeader", "-auth-header", "Target.AuthValue", "the token",
	"Options.ProxyBase", "-proxy", "Target.RunTimeout", "-run-timeout",
)

func (f *flags) parse(args []string, stdout, stderr io.Writer) (status int, ok bool) {
	var scenarios []string
	for _, name := range doctor.Scenarios() {
		scenarios = append(scenarios, string(name))
	}
	set := flag.NewFlagSet("toolwire doctor", flag.ContinueOnError)
	f.agent.AddFlags(set, "the agent's `endpoint`, as it will be registered")
	set.StringVar(&f.tools, "tools", "", "`file` with the tools_schema")
	set.StringVar(&f.ledger, "ledger", "", "`file` with the ledger schema, if tools have adapters")
	set.StringVar(&f.manifest, "manifest", "", "`file` with the tools manifest, tools.json")
	set.StringVar(&f.dataset, "dataset", "", "`file` with a dataset to check, CSV")
	set.StringVar(&f.options.ProxyBase, "proxy", "", "base `URL` of the platform's proxy, to see whether it can be reached from here")
	set.StringVar(&f.instruction, "instruction", "", "what the sample dispatch asks for (default: to say that the agent is ready)")
	set.StringVar(&f.scenarios, "scenarios", "", "further dispatches of the instruction, by name and separated by commas, or all: "+strings.Join(scenarios, ", "))
	set.BoolVar(&f.options.NoDispatch, "no-dispatch", false, "send pings and requests to reject only, so that the agent does no work")
	set.DurationVar(&f.options.Timeout, "timeout", 10*time.Second, "how long one request may take, the sample dispatch excepted")
	set.DurationVar(&f.agent.RunTimeout, "run-timeout", 300*time.Second, "how long the sample dispatch may take: the registration's run_timeout_s")
	set.BoolVar(&f.agent.Strict, "require-transcript", false, `the registration has "Require a gradeable rich transcript"`)
	set.BoolVar(&f.strict, "strict", false, "exit with 1 for warnings too")
	set.BoolVar(&f.printJSON, "json", false, "print the report as JSON")
	return f.agent.Parse(set, usage, args, stdout, stderr)
}

// check reads -scenarios, and returns what is wrong with it and with the combination of flags.
func (f *flags) check() (problems []string) {
	bad := func(is bool, text string) {
		if is {
			problems = append(problems, text)
		}
	}
	bad(f.options.Timeout <= 0 || f.agent.RunTimeout <= 0, "-timeout and -run-timeout must be positive")
	bad(f.options.NoDispatch && f.instruction != "", "-no-dispatch and -instruction exclude each other")
	bad(f.scenarios != "" && f.instruction == "", "-scenarios needs an -instruction that makes the agent call a tool")
	bad(f.ledger != "" && f.tools == "", "-ledger is for -tools, which is missing")
	switch f.scenarios {
	case "":
	case "all":
		f.options.Scenarios = doctor.Scenarios()
	default:
		for text := range strings.SplitSeq(f.scenarios, ",") {
			name := doctor.Name(strings.TrimSpace(text))
			bad(!slices.Contains(doctor.Scenarios(), name), fmt.Sprintf("-scenarios has the unknown name %q", name))
			f.options.Scenarios = append(f.options.Scenarios, name)
		}
	}
	return problems
}

// read makes what Check needs of the flags and the files that they name.
func (f *flags) read() (err error) {
	if f.instruction != "" {
		f.options.Task = &dispatchtest.Task{Instruction: f.instruction}
	}
	if err := f.agent.Read(); err != nil {
		return err
	}
	if !f.agent.Named() {
		return errors.New("-url is required, or the program of an agent in code mode after the flags")
	}
	file := func(flag, name string) (text []byte) {
		if name != "" && err == nil {
			if text, err = os.ReadFile(name); err != nil {
				err = fmt.Errorf("%s: %w", flag, err)
			}
		}
		return text
	}
	f.options.ToolsSchema, f.rows = file("-tools", f.tools), file("-dataset", f.dataset)
	_ = file("-manifest", f.manifest) // documents reads it
	if text := file("-ledger", f.ledger); text != nil && err == nil {
		f.options.LedgerSchema = new(ledger.Schema)
		if err = json.Unmarshal(text, f.options.LedgerSchema); err == nil {
			err = f.options.LedgerSchema.Validate()
		}
		if err != nil {
			err = fmt.Errorf("-ledger: %s: %w", f.ledger, err)
		}
	}
	return err
}

func (f *flags) print(w io.Writer, report *doctor.Report) error {
	if !f.printJSON {
		return report.WriteTable(w, terminal.Colour(w, os.Getenv))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(report)
}
