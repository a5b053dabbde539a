package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/nightly"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleArgument {
		os.Exit(playRole(os.Args[2:])) // the phases start this program again
	}
	os.Exit(m.Run())
}

// brief soaks two rounds of one phase with few runs and returns the verdict and the output.
func brief(c config) (held bool, output string) {
	var out bytes.Buffer
	c.seed, c.runs, c.out = 7, 12, &out
	return soakFor(c), out.String()
}

// All phases hold the invariants. The gate runs them with faults, and with more runs.
func TestPhases(t *testing.T) {
	var only []string
	for _, p := range phases {
		if nightly.Full || p.name != "hostile" { // its rows wait for deadlines of seconds
			only = append(only, p.name)
		}
	}
	if held, output := brief(config{only: only, calm: !nightly.Full}); !held {
		t.Error(output)
	}
}

// A soak that cannot fail shows nothing. Each planted fault must be found, in work that holds all
// invariants without it: see TestPhases.
func TestPlantedFaultsAreFound(t *testing.T) {
	for planted, want := range map[plant]string{
		plantGoroutine:  "goroutines, ",
		plantDescriptor: "/dev/null",
		plantHeap:       "the heap has ",
		plantTwice:      "executed too often",
		plantRefused:    "the agent was told that it was not",
		plantConfused:   "has the result ",
		plantUnanswered: "answered with 0",
		plantRerun:      "its agent has run 2 times, want 1",
		plantLog:        "a secret is in the log",
		plantAnswer:     "a secret is in an answer of the endpoint",
		plantTape:       "a secret is in the file tape",
	} {
		t.Run(string(planted), func(t *testing.T) {
			if planted == plantDescriptor && runtime.GOOS != "linux" {
				t.Skipf("open files are counted in /proc, which %s does not have", runtime.GOOS)
			}
			leaks.stop = make(chan struct{})
			defer func() {
				close(leaks.stop)
				for _, f := range leaks.files {
					_ = f.Close()
				}
				leaks.files, leaks.bytes = nil, nil
			}()
			held, output := brief(config{only: []string{"http2"}, calm: true, plant: planted})
			if held || !strings.Contains(output, want) || !strings.Contains(output, "VIOLATION: seed 7, round ") {
				t.Errorf("%t, want a violation with %q:\n%s", held, want, output)
			}
		})
	}
}

func TestPhasesAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range phases {
		if seen[p.name] || strings.Contains(p.name, ",") {
			t.Errorf("the name %q", p.name)
		}
		seen[p.name] = true
	}
}
