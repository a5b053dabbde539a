// Firstcontact reads a capture of package dispatch/capture and says, for every row of "Unknown
// facts of the wire" in docs/design.md, what the capture shows: the assumption is confirmed, it is
// contradicted, with the lines of the file and what to do, or the capture does not show it.
//
//	go run ./examples/firstcontact capture.jsonl
//
// It also lists what no document names: headers, members, words and statuses of the platform, and
// how connections behaved. A line that cannot be read, such as the last one of a process that was
// killed, is named, and the rest counts.
//
// The exit status is 0 if no assumption is contradicted, 1 if one is, and 2 if the file cannot be
// read or is not a capture.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/internal/clip"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(stderr, "usage: firstcontact capture.jsonl")
		return 2
	}
	file, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintf(stderr, "firstcontact: %v\n", err)
		return 2
	}
	defer func() { _ = file.Close() }()
	records, err := capture.Read(file)
	if err != nil {
		fmt.Fprintf(stderr, "firstcontact: %v\n", err)
		return 2
	}
	e := newEvidence(records)
	if e.captures == 0 {
		fmt.Fprintf(stderr, "firstcontact: %s is not a capture: it has no line of the kind start\n", args[0])
		return 2
	}
	findings := judge(e)
	var out bytes.Buffer
	write(&out, args[0], e, findings)
	if _, err := io.WriteString(stdout, clip.Clean(out.String())); err != nil {
		fmt.Fprintf(stderr, "firstcontact: %v\n", err)
		return 2
	}
	for _, f := range findings {
		if f.verdict() == contradicted {
			return 1
		}
	}
	return 0
}

// write writes the report.
func write(w io.Writer, name string, e *evidence, findings []finding) {
	about := "without content"
	if e.content {
		about = "with content"
	}
	fmt.Fprintf(w, "%s: %s, %s, %s, %s to %s, %s\n", name, count(e.captures, "capture"), count(len(e.runs), "run"),
		count(len(e.exchanges), "exchange"), e.from.Format(time.RFC3339), e.to.Format(time.RFC3339), about)
	for _, problem := range e.problems {
		fmt.Fprintf(w, "%s\n", problem)
	}
	fmt.Fprintln(w)
	for _, f := range findings {
		fmt.Fprintf(w, "%-12s  %s: %s\n", f.verdict(), f.fact.id, f.fact.name)
		switch f.verdict() {
		case confirmed:
			fmt.Fprintf(w, "              %s\n", seen(f.confirmed))
		case contradicted:
			for _, o := range f.contradicted[:min(len(f.contradicted), mostShown)] {
				fmt.Fprintf(w, "              %s: %s\n", o.place, o.text)
			}
			if more := len(f.contradicted) - mostShown; more > 0 {
				fmt.Fprintf(w, "              and %d more\n", more)
			}
			if len(f.confirmed) > 0 {
				fmt.Fprintf(w, "              elsewhere as assumed: %s\n", seen(f.confirmed))
			}
			fmt.Fprintf(w, "              do: %s\n", f.fact.todo)
		default:
			fmt.Fprintf(w, "              needs %s\n", f.fact.needs)
		}
	}
	fmt.Fprintln(w)
	if len(e.surprises) == 0 {
		fmt.Fprintln(w, "Nothing that the documents do not name.")
	} else {
		fmt.Fprintln(w, "What no document names:")
		for _, s := range e.surprises {
			fmt.Fprintf(w, "  %s\n", s)
		}
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "Connections:")
	for _, line := range e.connections() {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// mostShown bounds the places of one assumption.
const mostShown = 5

// seen says what confirms an assumption.
func seen(list []observation) string {
	first := list[0]
	if len(list) == 1 {
		return fmt.Sprintf("%s (%s)", first.text, first.place)
	}
	return fmt.Sprintf("%s (%s, and %d more)", first.text, first.place, len(list)-1)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
