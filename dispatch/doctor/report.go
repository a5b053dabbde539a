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
)

// Report is what [Check] found. It is written as JSON with the members target, ok and checks.
type Report struct {
	// Target is the URL of the endpoint without its query, or says that the target is a handler or an
	// agent.
	Target string `json:"target"`

	// Findings has one finding for each check, in the order of the names above.
	Findings []Finding `json:"checks"`
}

// Finding is what one check found.
type Finding struct {
	Name   Name   `json:"check"`
	Status Status `json:"status"`

	// Seen is what was seen, or why the check was skipped, and Details the parts of it: the problems of a document, one
	// each. They may quote what the endpoint said, which is text from outside.
	Seen    string   `json:"seen"`
	Details []string `json:"details,omitempty"`

	// Do is what to do about it; "" if there is nothing.
	Do string `json:"do,omitempty"`

	// Because is the check whose failure is why this one was skipped; "" if it was not, or not for that reason.
	Because Name `json:"because,omitempty"`

	TookMS float64 `json:"took_ms"` // of this check alone
}

// A Status is how a check ended.
type Status string

// The statuses.
const (
	StatusOK      Status = "ok"
	StatusWarning Status = "warning" // it works, and may hurt
	StatusFailed  Status = "failed"  // the platform's runs would fail, or are open to anybody
	StatusSkipped Status = "skipped" // there was nothing to check, or no way to
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

// OK reports whether no check failed. Warnings and skipped checks are not failures.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Status == StatusFailed })
}

// AssertOK fails the test with every check that failed.
func (r *Report) AssertOK(t testing.TB) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Status == StatusFailed {
			t.Errorf("%s: %s: %s", f.Name, f.Status, strings.Join(f.text(len(f.Details)), "\n    "))
		}
	}
}

// MarshalJSON writes {"target": …, "ok": …, "checks": […]}.
func (r Report) MarshalJSON() ([]byte, error) {
	checks := r.Findings
	if checks == nil {
		checks = []Finding{}
	}
	return rawjson.Encode(struct { // whoever writes the report decides about escapes
		Target string    `json:"target"`
		OK     bool      `json:"ok"`
		Checks []Finding `json:"checks"`
	}{r.Target, r.OK(), checks})
}

// String is the table without colour.
func (r *Report) String() string {
	var b strings.Builder
	_ = r.WriteTable(&b, false) // a Builder has no errors
	return b.String()
}

// maxDetails is how many details of one check the table shows. JSON has them all.
const maxDetails = 20

var styles = map[Status]terminal.Style{
	StatusOK: terminal.Good, StatusWarning: terminal.Warn, StatusFailed: terminal.Bad, StatusSkipped: terminal.Faint,
}

// WriteTable writes the report for people: a line per check with its status, its name and what was seen, what to do
// below that, and a sum at the end. Colour repeats the status. What the endpoint said is cleaned of control characters.
// It returns the first error of w.
func (r *Report) WriteTable(w io.Writer, colour bool) error {
	var table terminal.Table
	counts := map[Status]int{}
	blocked := r.blocked()
	for _, f := range r.Findings {
		counts[f.Status]++
		name := string(f.Name)
		if names := blocked[f.Because]; f.Because != "" && len(names) > 1 {
			if f.Name != names[0] {
				continue
			}
			name, f.Seen = fmt.Sprintf("%d checks", len(names)), f.Seen+": "+joinNames(names)
		}
		style := terminal.Plain
		if f.Status == StatusSkipped {
			style = terminal.Faint
		}
		table.Row(
			terminal.Cell{Text: string(f.Status), Style: styles[f.Status]}, terminal.Text(name),
			terminal.Cell{Text: strings.Join(f.text(maxDetails), "\n"), Style: style},
		)
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", terminal.Clean(r.Target)); err != nil {
		return err
	}
	if err := table.Write(w, colour); err != nil {
		return err
	}
	var sum []string
	for _, s := range [...]Status{StatusFailed, StatusWarning, StatusOK, StatusSkipped} {
		if n := counts[s]; n > 0 {
			sum = append(sum, terminal.Paint(colour, styles[s], fmt.Sprintf("%d %s", n, statusWord(s, n))))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(sum, ", "))
	return err
}

// blocked are the checks that were skipped, by the one whose failure is the reason. The table has one line for them.
func (r *Report) blocked() map[Name][]Name {
	names := map[Name][]Name{}
	for _, f := range r.Findings {
		if f.Because != "" {
			names[f.Because] = append(names[f.Because], f.Name)
		}
	}
	return names
}

func joinNames(names []Name) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

func statusWord(s Status, n int) string {
	if s == StatusWarning && n != 1 {
		return "warnings"
	}
	return string(s)
}

// text is the finding in lines that fit beside its name on a usual screen.
func (f *Finding) text(details int) []string {
	lines := wrap("", f.Seen)
	for i, d := range f.Details {
		if i == details {
			lines = append(lines, fmt.Sprintf("- and %d more", len(f.Details)-i))
			break
		}
		lines = append(lines, wrap("- ", d)...)
	}
	if f.Do != "" {
		lines = append(lines, wrap("→ ", f.Do)...)
	}
	return lines
}

// wrap breaks text between words. What follows the mark on the next lines is indented.
func wrap(mark, text string) (lines []string) {
	const width = 92
	line, indent := mark, strings.Repeat(" ", utf8.RuneCountInString(mark))
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line, empty = append(lines, line), indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}
