// Package commandline has what the commands of toolwire share: exit statuses, help, and how a command
// line names an agent and a world.
package commandline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolwire/toolwire/proxy/proxytest"
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
		writeHelp(stdout, set, usage)
		return OK, false
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v; see %[1]s -h\n", set.Name(), err)
		return Mistake, false
	}
	return OK, true
}

// A List is a flag that may be repeated.
type List []string

// Set implements flag.Value.
func (l *List) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func (l *List) String() string { return strings.Join(*l, ", ") }

// World reads the world in the file of -world; without a file the world is sample.
func World(file string, sample []byte) (proxytest.World, error) {
	if file == "" {
		return proxytest.ParseWorld(sample)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return proxytest.World{}, fmt.Errorf("-world: %w", err)
	}
	world, err := proxytest.ParseWorld(data)
	if err != nil {
		err = fmt.Errorf("-world: %s: %w", file, err)
	}
	return world, err
}
