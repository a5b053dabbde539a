// Toolwire is the program around an agent: it examines one, runs a dataset of tasks against one,
// writes a new one, and shows runs on a page.
//
//	go run ./examples/toolwire help
//	go run ./examples/toolwire doctor -url http://localhost:8080/dispatch -token-env AGENT_TOKEN
//	go run ./examples/toolwire eval -dataset tasks.csv -world world.json -url http://localhost:8080/dispatch
//	go run ./examples/toolwire new ../agent
//	go run ./examples/toolwire page
//	go run ./examples/toolwire show run.jsonl
//
// The package of each command, in the folder internal, describes it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/examples/toolwire/internal/doctorcmd"
	"github.com/toolwire/toolwire/examples/toolwire/internal/evalcmd"
	"github.com/toolwire/toolwire/examples/toolwire/internal/newcmd"
	"github.com/toolwire/toolwire/examples/toolwire/internal/pagecmd"
	"github.com/toolwire/toolwire/examples/toolwire/internal/showcmd"
	"github.com/toolwire/toolwire/internal/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	info, _ := debug.ReadBuildInfo() // nil if there is none
	commandline.Program = commandline.Started(os.Args[0], info)
	os.Exit(run(ctx, os.Args[1:], wrapped(os.Stdout), wrapped(os.Stderr)))
}

// wrapped returns a writer that breaks lines for a terminal.
func wrapped(f *os.File) io.Writer {
	if !terminal.Is(f) {
		return f
	}
	return terminal.Wrap(f, terminal.Columns(os.Getenv))
}

const help = `Toolwire is the program around an agent that an evaluation platform tests.

	toolwire doctor         examine an endpoint, or a program in code mode, as the platform will use it
	toolwire eval           run a dataset of tasks against an agent
	toolwire eval merge     put the results of several machines together
	toolwire eval versions  compare the results of several versions of an agent
	toolwire new            write an agent with its tests into an empty folder
	toolwire page           serve a page that dispatches tasks and shows runs
	toolwire show           open tapes, files of results and saved runs

"toolwire COMMAND -h" lists the flags of a command.

doctor, eval and page take an agent's endpoint from -url or the variable
` + commandline.URLVariable + `. They take its token from the variable that -token-env names,
from the file of -token-file, or from the variable ` + commandline.TokenVariable + `.
They send it to this endpoint only, and never print it.

Exit statuses:

	0  all is well
	1  something is not well: a check or a trial failed, or the command was interrupted
	2  a mistake on the command line or in a file
	3  eval with -baseline: the agent is worse than the baseline
	4  eval with -baseline: there are too few trials to decide
`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		commandline.WriteText(stderr, help)
		return commandline.Mistake
	}
	command, args := args[0], args[1:]
	if command == "help" && len(args) > 0 {
		command, args = args[0], append(args[1:], "-h")
	}
	switch command {
	case "doctor":
		return doctorcmd.Run(ctx, args, stdout, stderr)
	case "eval":
		return evalcmd.Run(ctx, args, stdout, stderr)
	case "new":
		return newcmd.Run(args, stdout, stderr)
	case "page":
		return pagecmd.Run(ctx, args, stdout, stderr)
	case "show":
		return showcmd.Run(ctx, args, stdout, stderr)
	case "help", "-h", "-help", "--help":
		commandline.WriteText(stdout, help)
		return commandline.OK
	}
	fmt.Fprintf(stderr, "toolwire: there is no command %q: the commands are doctor, eval, new, page and show; see toolwire help\n", command)
	return commandline.Mistake
}
