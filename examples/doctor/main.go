// Doctor examines an agent from outside, as the platform will use it, and what belongs to its
// registration: is the endpoint reachable, does it check the bearer before the ping, does it answer
// a sample dispatch, would the platform accept the tools, the manifest and the dataset.
//
//	AGENT_TOKEN=… go run ./examples/doctor -url http://localhost:8080/dispatch -token-env AGENT_TOKEN
//	go run ./examples/doctor -url https://agents.example.com/dispatch -token-file token -tools tools_schema.json -json
//
// The token comes from an environment variable or a file, never from the command line, where others
// can see it. It is sent to the URL and nowhere else, and not printed.
//
// An agent on this machine works on one sample task. An agent elsewhere cannot reach the proxy that
// is served here, so it only gets the task of -instruction.
//
// An agent in code mode is the command after the flags. Each dispatch starts it with the documented
// variables, PATH, HOME, and the variables that -env names:
//
//	go run ./examples/doctor -env OPENAI_API_KEY -instruction "Where is order #4521?" -- ./agent -verbose
//
// -scenarios dispatches the instruction again, while the proxy misbehaves in known ways: see
// doctor.Options.Scenarios. Each finding cites the rule behind it and has commands that reproduce it.
//
//	go run ./examples/doctor -url http://localhost:8080/dispatch -token-env AGENT_TOKEN -tools tools_schema.json \
//		-instruction "Where is order #4521?" -scenarios all
//
// The exit status is 0 when nothing failed, 1 when a check failed (with -strict also when one
// warned), was interrupted or the doctor itself has a fault, 2 for a mistake on the command line or a
// file that cannot be read.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/examples/internal/auth"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/ledger"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// flags is the command line.
type flags struct {
	url, header, tokenEnv, tokenFile          string
	tools, ledger, manifest, dataset, proxy   string
	instruction, scenarios                    string
	timeout, runTimeout                       time.Duration
	noDispatch, transcript, strict, printJSON bool
	rows                                      []byte   // of the dataset
	env                                       []string // names of variables
	command                                   []string // of code mode
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	if err := f.parse(args, stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2 // it has been told
	}
	target, opts, err := f.read()
	if err != nil {
		fmt.Fprintf(stderr, "doctor: %v\n", err)
		return 2
	}
	report, err := doctor.Check(ctx, target, opts)
	if report == nil {
		fmt.Fprintf(stderr, "doctor: %s\n", flagNames.Replace(err.Error()))
		return 2
	}
	report.Findings = append(report.Findings, f.documents()...)
	warned := slices.ContainsFunc(report.Findings, func(found doctor.Finding) bool { return found.Status == doctor.StatusWarning })
	failed := err != nil || !report.OK() || len(report.Faults) > 0 || f.strict && warned
	if err != nil {
		fmt.Fprintf(stderr, "doctor: interrupted: %v\n", err)
	}
	if err := f.print(stdout, report); err != nil {
		fmt.Fprintf(stderr, "doctor: %v\n", err)
		return 1
	}
	if failed {
		return 1
	}
	return 0
}

// flagNames replaces names of the API by flags in errors of Check.
var flagNames = strings.NewReplacer(
	"dispatchtest: ", "", "doctor: ", "",
	"Target.URL is not an http or https URL with a host", "-url is not an http or https URL with a host, such as http://127.0.0.1:8000/dispatch",
	"Target.Command", "the command", "Target.URL", "-url", "Target.AuthHeader", "-auth-header", "Target.AuthValue", "the token",
	"AuthHeader and AuthValue", "-auth-header and -token-env or -token-file",
	"Options.ProxyBase", "-proxy", "Options.Scenarios", "-scenarios", "; Scenarios returns the names", "; see -h", "Target.RunTimeout", "-run-timeout",
)

func scenarioNames() string {
	var names []string
	for _, name := range doctor.Scenarios() {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

func (f *flags) parse(args []string, stderr io.Writer) error {
	set := flag.NewFlagSet("doctor", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.url, "url", "", "the endpoint, as it will be registered (required, unless the command of an agent in code mode follows the flags)")
	set.Func("env", "`name` of an environment variable that the command gets too; may be repeated", func(name string) error {
		f.env = append(f.env, name)
		return nil
	})
	set.StringVar(&f.header, "auth-header", "Authorization", `the auth header's name; in Authorization "Bearer " is put before a token that has no scheme`)
	set.StringVar(&f.tokenEnv, "token-env", "", "name of the environment variable that has the token")
	set.StringVar(&f.tokenFile, "token-file", "", "file that has the token")
	set.StringVar(&f.tools, "tools", "", "file with the tools_schema")
	set.StringVar(&f.ledger, "ledger", "", "file with the ledger schema, if tools have adapters")
	set.StringVar(&f.manifest, "manifest", "", "file with the tools manifest, tools.json")
	set.StringVar(&f.dataset, "dataset", "", "file with the dataset, CSV")
	set.StringVar(&f.proxy, "proxy", "", "base URL of the platform's proxy, to see whether it can be reached from here")
	set.StringVar(&f.instruction, "instruction", "", "what the sample dispatch asks for (default: to say that the agent is ready)")
	set.StringVar(&f.scenarios, "scenarios", "", "further dispatches of the instruction, by name and separated by commas, or all: "+scenarioNames())
	set.BoolVar(&f.noDispatch, "no-dispatch", false, "make the agent do no work")
	set.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long one request may take, the sample dispatch excepted")
	set.DurationVar(&f.runTimeout, "run-timeout", 300*time.Second, "how long the sample dispatch may take: the registration's run_timeout_s")
	set.BoolVar(&f.transcript, "require-transcript", false, `the registration has "Require a gradeable rich transcript"`)
	set.BoolVar(&f.strict, "strict", false, "exit with 1 for warnings too")
	set.BoolVar(&f.printJSON, "json", false, "print the report as JSON")
	if err := set.Parse(args); err != nil {
		return err
	}
	f.command = set.Args()
	var mistake string
	switch {
	case f.url != "" && len(f.command) > 0:
		mistake = fmt.Sprintf("unexpected argument %q: an agent is either a -url or a command", f.command[0])
	case f.url == "" && len(f.command) == 0:
		mistake = "-url is required, or the command of an agent in code mode after the flags"
	case f.url != "" && len(f.env) > 0:
		mistake = "-env is for an agent in code mode, whose command follows the flags"
	case len(f.command) > 0 && (f.tokenEnv != "" || f.tokenFile != "" || given(set, "auth-header")):
		mistake = "-auth-header, -token-env and -token-file are for a -url: an agent in code mode receives no requests"
	case f.tokenEnv != "" && f.tokenFile != "":
		mistake = "-token-env and -token-file exclude each other"
	case f.timeout <= 0 || f.runTimeout <= 0:
		mistake = "-timeout and -run-timeout must be positive"
	case f.noDispatch && f.instruction != "":
		mistake = "-no-dispatch and -instruction exclude each other"
	case f.scenarios != "" && f.instruction == "":
		mistake = "-scenarios needs an -instruction that makes the agent call a tool"
	case f.ledger != "" && f.tools == "":
		mistake = "-ledger is for -tools, which is missing"
	default:
		return nil
	}
	fmt.Fprintf(stderr, "doctor: %s; see -h\n", mistake)
	return errors.New(mistake)
}

// given reports whether a flag is on the command line.
func given(set *flag.FlagSet, name string) (is bool) {
	set.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// environment returns the variables that -env names.
func (f *flags) environment() (env []string, err error) {
	for _, name := range f.env {
		value, ok := os.LookupEnv(name)
		if !ok { // the name is not repeated: it may be a value
			return nil, errors.New("-env: there is no environment variable of that name; give its name, not its value")
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// read makes what Check needs of the flags and the files that they name.
func (f *flags) read() (target dispatchtest.Target, opts *doctor.Options, err error) {
	opts = &doctor.Options{ProxyBase: f.proxy, Timeout: f.timeout, NoDispatch: f.noDispatch}
	if f.instruction != "" {
		opts.Task = &dispatchtest.Task{Instruction: f.instruction}
	}
	switch f.scenarios {
	case "":
	case "all":
		opts.Scenarios = doctor.Scenarios()
	default:
		for name := range strings.SplitSeq(f.scenarios, ",") {
			opts.Scenarios = append(opts.Scenarios, doctor.Name(strings.TrimSpace(name)))
		}
	}
	target = dispatchtest.Target{URL: f.url, Command: f.command, RunTimeout: f.runTimeout, Strict: f.transcript}
	if target.Env, err = f.environment(); err != nil {
		return target, opts, err
	}
	if f.url != "" {
		target.AuthHeader = f.header
	}
	if target.AuthValue, err = auth.Value(f.header, f.tokenEnv, f.tokenFile); err != nil {
		return target, opts, err
	}
	if f.tools != "" {
		if opts.ToolsSchema, err = os.ReadFile(f.tools); err != nil {
			return target, opts, fmt.Errorf("-tools: %w", err)
		}
	}
	if f.ledger != "" {
		text, err := os.ReadFile(f.ledger)
		if err != nil {
			return target, opts, fmt.Errorf("-ledger: %w", err)
		}
		opts.LedgerSchema = new(ledger.Schema)
		if err := json.Unmarshal(text, opts.LedgerSchema); err != nil {
			return target, opts, fmt.Errorf("-ledger: %s: %w", f.ledger, err)
		}
		if err := opts.LedgerSchema.Validate(); err != nil {
			return target, opts, fmt.Errorf("-ledger: %s: %w", f.ledger, err)
		}
	}
	if f.manifest != "" { // documents reads it
		if _, err := os.ReadFile(f.manifest); err != nil {
			return target, opts, fmt.Errorf("-manifest: %w", err)
		}
	}
	if f.dataset != "" {
		if f.rows, err = os.ReadFile(f.dataset); err != nil {
			return target, opts, fmt.Errorf("-dataset: %w", err)
		}
	}
	return target, opts, nil
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
