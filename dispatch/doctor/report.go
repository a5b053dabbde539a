package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// Report is the result of [Check]. Its JSON has the members target, ok and checks.
type Report struct {
	// Target is the URL of the endpoint without its query, or says that the target is a handler or
	// an agent.
	Target string `json:"target"`

	// Findings contains one finding for each check, in the order of the names above.
	Findings []Finding `json:"checks"`
}

// Finding is the result of one check.
type Finding struct {
	Name   Name   `json:"check"`
	Status Status `json:"status"`

	// Sent is what was sent to the endpoint, one request a line. It is "" if the check sent nothing.
	Sent string `json:"sent,omitempty"`

	// Seen is what the check observed, or why it was skipped. Details are parts of it, such as the
	// problems of a document. Both may quote untrusted text of the endpoint.
	Seen    string   `json:"seen"`
	Details []string `json:"details,omitempty"`

	// Do is the advice: what to change. It is "" if nothing needs to be changed.
	Do string `json:"do,omitempty"`

	// Rule is the rule behind a failure or a warning: document, heading and sentence. Severity says
	// where the rule comes from: "demanded" if a document of the platform says that it must be so, as for
	// every failure; "advised" if a document recommends it; "inferred" if experience with ports suggests it.
	// Reproduce contains commands that repeat the requests, one per line. In them $AUTH_VALUE and $URL
	// stand for values that are not printed, and $TOOLS for the file with the tools_schema.
	Rule      string `json:"rule,omitempty"`
	Severity  string `json:"severity,omitempty"`
	Reproduce string `json:"reproduce,omitempty"`

	// Because names the failed check that this check needs. It is "" unless the check was skipped
	// for that reason.
	Because Name `json:"because,omitempty"`

	TookMS float64 `json:"took_ms"` // of this check alone
}

// A Status is how a check ended.
type Status string

// The statuses.
const (
	StatusOK      Status = "ok"
	StatusWarning Status = "warning" // it works, but may cause problems
	StatusFailed  Status = "failed"  // the endpoint violates what a document demands
	StatusSkipped Status = "skipped" // there was nothing to check, or it could not be checked
)

func good(format string, args ...any) Finding {
	return Finding{Status: StatusOK, Seen: fmt.Sprintf(format, args...)}
}

func warning(do, format string, args ...any) Finding {
	return Finding{Status: StatusWarning, Seen: fmt.Sprintf(format, args...), Do: do}
}

func failed(do, format string, args ...any) Finding {
	return Finding{Status: StatusFailed, Seen: fmt.Sprintf(format, args...), Do: do}
}

func skipped(do, format string, args ...any) Finding {
	return Finding{Status: StatusSkipped, Seen: fmt.Sprintf(format, args...), Do: do}
}

// with returns the finding with details, by with another rule than the check's.
func (f Finding) with(details []string) Finding { f.Details = details; return f }
func (f Finding) by(rule string) Finding        { f.Rule = rule; return f }

// OK reports whether no check failed. Warnings and skipped checks are not failures.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Status == StatusFailed })
}

// AssertOK fails the test if a check failed, and reports each of them.
func (r *Report) AssertOK(t testing.TB) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Status == StatusFailed {
			t.Errorf("%s: %s: %s", f.Name, f.Status, strings.Join(f.lines(len(f.Details), 90), "\n    "))
		}
	}
}

// MarshalJSON writes {"target": …, "ok": …, "checks": […]}.
func (r Report) MarshalJSON() ([]byte, error) {
	checks := r.Findings
	if checks == nil {
		checks = []Finding{}
	}
	return rawjson.Encode(struct { // the encoder of the caller decides about escapes
		Target string    `json:"target"`
		OK     bool      `json:"ok"`
		Checks []Finding `json:"checks"`
	}{r.Target, r.OK(), checks})
}

// String returns the table of [Report.WriteTable] without colour.
func (r Report) String() string {
	var b strings.Builder
	_ = r.WriteTable(&b, false) // a Builder has no errors
	return b.String()
}

// maxDetails is how many details of one check the table shows. The JSON report contains all of them.
const maxDetails = 20

var styles = map[Status]terminal.Style{
	StatusOK: terminal.Good, StatusWarning: terminal.Warn, StatusFailed: terminal.Bad, StatusSkipped: terminal.Faint,
}

// WriteTable writes the report as a table: for each check its status, name, observation and advice.
// Checks that were skipped for one reason share a line. The counts follow, with the number of scenarios
// that were not run. If colour is true, colour repeats the status. Control characters in texts of the
// endpoint are removed. Lines fit into 80 columns, except for commands and longer words. It returns the first error of w.
func (r *Report) WriteTable(w io.Writer, colour bool) error {
	reason := func(f Finding) string { return f.Seen + "\n" + f.Do }
	skipped, counts, left := map[string][]string{}, map[Status]int{}, Scenarios()
	for _, f := range r.Findings {
		counts[f.Status]++
		left = slices.DeleteFunc(left, func(name Name) bool { return name == f.Name })
		if f.Status == StatusSkipped {
			skipped[reason(f)] = append(skipped[reason(f)], string(f.Name))
		}
	}
	columns := 80 // beside the longest name
	for _, f := range r.Findings {
		columns = min(columns, 80-len("warning")-4-len(f.Name))
	}
	var table terminal.Table
	for _, f := range r.Findings {
		name, style := string(f.Name), terminal.Plain
		if f.Status == StatusSkipped {
			names := skipped[reason(f)]
			if name != names[0] {
				continue
			}
			if style = terminal.Faint; len(names) > 1 {
				name, f.Seen = fmt.Sprintf("%d checks", len(names)), f.Seen+": "+strings.Join(names, ", ")
			}
		}
		for i, line := range f.lines(maxDetails, columns) {
			status := terminal.Cell{Text: string(f.Status), Style: styles[f.Status]}
			if i > 0 {
				status, name = terminal.Cell{}, ""
			}
			table.Row(status, terminal.PlainCell(name), terminal.Cell{Text: line, Style: style})
		}
	}
	var sum []string
	for _, s := range []Status{StatusFailed, StatusWarning, StatusOK, StatusSkipped} {
		count := fmt.Sprintf("%d %s", counts[s], s)
		if s == StatusWarning {
			count = text.Plural(counts[s], "warning")
		}
		if counts[s] > 0 {
			sum = append(sum, terminal.Paint(colour, styles[s], count))
		}
	}
	if len(left) > 0 {
		sum = append(sum, text.Plural(len(left), "scenario")+" not run (the flag -scenarios)")
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", text.Clean(r.Target)); err != nil {
		return err
	}
	if err := table.Write(w, colour); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(sum, ", "))
	return err
}

// lines returns the finding in lines of so many columns. What the agent says may continue in lines that begin with "| ".
// Commands are not broken.
func (f *Finding) lines(details, columns int) []string {
	lines := wrap(columns, "", "| ", f.Seen)
	for i, d := range f.Details {
		if i == details {
			lines = append(lines, fmt.Sprintf("- and %d more", len(f.Details)-i))
			break
		}
		lines = append(lines, wrap(columns, "- ", "| ", d)...)
	}
	if f.Rule != "" {
		lines = append(lines, wrap(columns, "  ", "  ", fmt.Sprintf("%s: %s", f.Severity, f.Rule))...)
	}
	if f.Do != "" {
		lines = append(lines, wrap(columns, "→ ", "  ", f.Do)...)
	}
	if f.Reproduce != "" && f.Rule != "" {
		for command := range strings.Lines(f.Reproduce) {
			lines = append(lines, "$ "+strings.TrimSuffix(command, "\n"))
		}
	}
	return lines
}

// wrap breaks text between words. The first line begins with mark, and the others with next.
func wrap(width int, mark, next, text string) (lines []string) {
	line, space := mark, ""
	for word := range strings.FieldsSeq(text) {
		if space != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line, space = append(lines, line), next, ""
		}
		line, space = line+space+word, " "
	}
	return append(lines, line)
}
