package eval

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/text"
)

// WriteMarkdown writes the experiment for a comment on a change: what [Comparisons.WriteSummary] and
// [Experiment.WriteSummary] write, with the gates first, as GitHub and GitLab show Markdown. before are
// earlier versions as for [Experiment.WriteHTML]; the last of them is the baseline. Texts of agents and
// rows are code, so that they neither link nor mention anyone. It returns the error of [Compare], or the
// first error of w.
func (e *Experiment) WriteMarkdown(w io.Writer, before ...*Experiment) error {
	before = present(before)
	var b bytes.Buffer
	b.WriteString("### " + markdown(text.Line(e.Name, maxShown)) + "\n\n" + e.counts(false) + "\n\n")
	tables := []table{e.rateTable()}
	if n := len(before); n > 0 {
		c, err := Compare(before[n-1], e)
		if err != nil {
			return err
		}
		facts := c.facts()
		slices.SortStableFunc(facts, func(a, b fact) int { return strings.Compare(b.Property, a.Property) }) // the gates first
		markdownFacts(&b, facts)
		tables = slices.Concat([]table{c.caseTable()}, c.tables(), tables)
	} else {
		tables = append(e.tables(), tables...)
	}
	markdownFacts(&b, e.facts())
	for _, t := range append(tables, e.badTable(), e.causeTable(), e.noteTable()) {
		t.markdown(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownFacts(b *bytes.Buffer, facts []fact) {
	for _, f := range facts {
		b.WriteString("- " + markdown(text.Line(f.String(), maxText)) + "\n")
	}
	if len(facts) > 0 {
		b.WriteByte('\n')
	}
}

// markdown writes the table, if it has rows.
func (t *table) markdown(b *bytes.Buffer) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Title != "" {
		b.WriteString("**" + markdown(t.Title) + "**\n\n")
	}
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	head, rule := make([]string, len(t.Head)), make([]string, len(t.Head))
	for i, name := range t.Head {
		head[i], rule[i] = markdown(name), "---"
	}
	row(head)
	row(rule)
	for _, cells := range t.Rows {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = strings.ReplaceAll(markdown(text.Line(c.Text, maxShown)), "|", "\\|")
		}
		row(texts)
	}
	b.WriteByte('\n')
	for _, line := range t.notes() {
		b.WriteString(markdown(line) + "\n\n")
	}
}

// harmless are texts that have no meaning in Markdown, unless a part of them is linked.
var (
	harmless = regexp.MustCompile(`^[A-Za-z0-9 .,:;%+='()-]*(\[[+0-9., -]*\][A-Za-z0-9 .,:;%+='()-]*)*$`)
	linked   = regexp.MustCompile(`(?i)\]\(|\bwww\.|\bgh-[0-9]`)
)

// markdown returns a line as text, or as code if its characters have a meaning.
func markdown(line string) string {
	if line == "" || harmless.MatchString(line) && !linked.MatchString(line) {
		return line
	}
	fence := "`"
	for strings.Contains(line, fence) {
		fence += "`"
	}
	if len(fence) > 1 { // the code has no blank beside a fence
		return fence + " " + line + " " + fence
	}
	return fence + line + fence
}
