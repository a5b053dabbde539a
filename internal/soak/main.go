// Command soak runs the library under faults for a long time and checks that nothing is lost,
// done twice, leaked or disclosed:
//
//	go run ./internal/soak -for 10m
//
// It plays the platform, its proxy, callers and tools on loopback, over HTTP/1 and over HTTP/2 with
// TLS. Each phase does a batch of work of one kind. The phases are repeated until the time of -for
// is over, at least twice. The first round warms up and is the baseline.
//
// # Invariants
//
//   - Each dispatch has the answer that its agent demands, or its caller has gone. An agent runs
//     once, and not at all for a dispatch that was refused.
//   - Each call is accounted for. A call that succeeded was executed, one that was not sent or was
//     refused was not, and no call was executed twice, unless its tool may be repeated. The record
//     of the proxy agrees.
//   - After each phase there are no more goroutines, descriptors and child processes than in the
//     baseline, and the heap has grown by less than a constant.
//   - No secret is in a log, an error, a tape, a report, a result or an answer.
//
// A violation names the run, and the command exits with status 1. The plan of each run follows from
// -seed; how runs overlap does not. No verdict depends on the speed of the machine: a slow one does
// fewer runs.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == roleArgument {
		os.Exit(playRole(os.Args[2:]))
	}
	c := config{out: os.Stdout}
	flag.DurationVar(&c.duration, "for", 10*time.Minute, "begin no new phase after this time and two rounds")
	flag.Uint64Var(&c.seed, "seed", 1, "seed of the plans of the runs")
	flag.IntVar(&c.runs, "runs", 96, "runs in a phase")
	only := flag.String("phases", "", "names of the phases, separated by commas; all if empty")
	flag.Parse()
	for name := range strings.SplitSeq(*only, ",") {
		if name == "" {
			continue
		}
		if !slices.ContainsFunc(phases, func(p phase) bool { return p.name == name }) {
			fmt.Fprintf(os.Stderr, "soak: there is no phase %q\n", name)
			os.Exit(2)
		}
		c.only = append(c.only, name)
	}
	if !soakFor(c) {
		os.Exit(1)
	}
}
