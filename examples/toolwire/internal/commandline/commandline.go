// Package commandline has what the commands of toolwire share: exit statuses, help, and how a command
// line names an agent.
package commandline

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit statuses of all commands.
const (
	OK      = 0 // all is well
	NotWell = 1 // the command ran, and something is not well
	Mistake = 2 // on the command line, or in a file
)

// Parse parses the flags of a command. If it returns false, the command ends with the status: help
// was requested, which goes to stdout, or there is a mistake, which stderr describes. The name of set
// is what starts the command, such as "toolwire eval". usage describes it, without a newline at the end.
func Parse(set *flag.FlagSet, usage string, args []string, stdout, stderr io.Writer) (status int, ok bool) {
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nFlags:\n\n", usage)
		set.SetOutput(stdout)
		set.PrintDefaults()
		return OK, false
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v; see %[1]s -h\n", set.Name(), err)
		return Mistake, false
	}
	return OK, true
}
