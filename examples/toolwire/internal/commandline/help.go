package commandline

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/terminal"
)

// groups are the flags of all commands as help shows them. Each command shows those that it has.
var groups = []struct{ title, flags string }{
	{"The agent", "url token-env token-file auth-header env timeout run-timeout require-transcript agent-version"},
	{"The tasks and the world", "dataset world instruction tools ledger manifest state-as-input ignore-column ungraded user user-version"},
	{"Some of the rows", "case where failed limit shard"},
	{"How it runs", "trials first-failure parallel delay plan scenarios no-dispatch proxy fault-status retry-faults results max-calls max-tokens max-cost max-time"},
	{"Gates", "baseline margin gate min-rate min-rate-point max-trial-calls max-trial-tokens max-trial-cost strict"},
	{"Reports", "html markdown junit json prices slice o v"},
	{"The new agent", "kind model sdk module replace"},
	{"The server", "addr insecure-listen keep runs"},
}

// WriteText writes a text for people in lines of 80 columns.
func WriteText(w io.Writer, text string) {
	_, _ = io.WriteString(terminal.Wrap(w, 80), strings.ReplaceAll(text, "\t", "    ")) // nothing is left to do if it fails
}

// writeHelp writes the usage of a command and its flags in groups, in lines of 80 columns.
func writeHelp(w io.Writer, set *flag.FlagSet, usage string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", usage)
	left := map[string]*flag.Flag{}
	set.VisitAll(func(f *flag.Flag) { left[f.Name] = f })
	write := func(title string, names []string) {
		for _, name := range names {
			f := left[name]
			if f == nil {
				continue
			}
			delete(left, name)
			if title != "" {
				fmt.Fprintf(&b, "\n%s:\n\n", title)
				title = ""
			}
			value, use := flag.UnquoteUsage(f)
			if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" {
				use += fmt.Sprintf(" (default %s)", f.DefValue)
			}
			fmt.Fprintf(&b, "%s\n      %s\n", strings.TrimRight("  -"+name+" "+value, " "), use)
		}
	}
	for _, group := range groups {
		write(group.title, strings.Fields(group.flags))
	}
	var others []string
	for name := range left {
		others = append(others, name)
	}
	slices.Sort(others)
	if len(others) > 0 {
		write("Others", others)
	}
	WriteText(w, b.String())
}
