package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// maxListed is how many trials that neither passed nor were skipped the summary lists. JSON has
// all.
const maxListed = 20

var verdicts = []struct {
	verdict Verdict
	word    string // after a number
	style   terminal.Style
}{
	{Passed, "passed", terminal.Good},
	{Failed, "failed", terminal.Bad},
	{Errored, "with errors", terminal.Bad},
	{Cancelled, "cancelled", terminal.Warn},
	{Skipped, "skipped", terminal.Warn},
}

func (v Verdict) style() terminal.Style {
	for _, known := range verdicts {
		if known.verdict == v {
			return known.style
		}
	}
	switch v {
	case Improved:
		return terminal.Good
	case Regressed:
		return terminal.Bad
	}
	return terminal.Plain
}

// WriteSummary writes the experiment for people: at most 20 trials that failed, how often each cause
// occurred, why cases were skipped, what the platform would warn of, the slowest and the dearest trials
// if there are many, the estimates of [Experiment.Stats], who ended the sessions, what was checked, see
// [Dataset.Expect], and the counts. If cases have several trials, it also writes the rates of at most 20
// cases that did not always pass. If colour is true, colour repeats the verdicts. Texts of agents are
// safe to print to a terminal. It returns the first error of w.
func (e *Experiment) WriteSummary(w io.Writer, colour bool) error {
	var b bytes.Buffer
	e.writeBad(&b, colour)
	writeTables(&b, colour, []table{e.causeTable()})
	e.writeNotes(&b, colour)
	writeTables(&b, colour, append(e.slowest(), e.tables()...))
	s := e.Stats()
	e.writeRates(&b, colour, s)
	e.writeEnded(&b)
	if n := s.Retries; n > 0 {
		fmt.Fprintf(&b, "%s that ended in a fault ran again\n", text.Plural(n, "run"))
	}
	for _, p := range e.checked() {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, text.Line(p.Value, 1000))
	}
	e.writeCounts(&b, colour)
	_, err := w.Write(b.Bytes())
	return err
}

// writeBad lists the trials that failed or could not be run. Cancelled trials are only counted.
func (e *Experiment) writeBad(b *bytes.Buffer, colour bool) {
	var table terminal.Table
	listed, more, repeat := 0, 0, ""
	for i := range e.Trials {
		c := &e.Trials[i]
		if c.Verdict == Passed || c.Verdict == Skipped || c.Verdict == Cancelled {
			continue
		}
		if listed == maxListed {
			more++
			continue
		}
		listed++
		repeat = cmp.Or(repeat, e.repeat(c))
		table.Row(terminal.Cell{Text: string(c.Verdict), Style: c.Verdict.style()}, terminal.PlainCell(text.Line(c.Name, 48)+e.numbered(c.Number)),
			terminal.Cell{Text: shortTime(c.Took), Right: true}, terminal.PlainCell(string(c.Cause)+": "+text.Line(c.Reason, 200)))
	}
	if listed == 0 {
		return
	}
	_ = table.Write(b, colour) // a Buffer has no errors
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
	if repeat != "" {
		fmt.Fprintf(b, "run the first again: %s\n", text.Clean(repeat))
	}
	b.WriteByte('\n')
}

// causeCount is how many cases did not pass for a cause.
type causeCount struct {
	Cause Cause `json:"cause"`
	Cases int   `json:"cases"`
}

// causes returns the counts by cause, the most frequent first.
func (e *Experiment) causes() []causeCount {
	cases := map[Cause]int{}
	for i := range e.Trials {
		cases[e.Trials[i].Cause]++
	}
	delete(cases, "")
	counts := []causeCount{}
	for cause, n := range cases {
		counts = append(counts, causeCount{cause, n})
	}
	slices.SortFunc(counts, func(a, b causeCount) int {
		return cmp.Or(b.Cases-a.Cases, strings.Compare(string(a.Cause), string(b.Cause)))
	})
	return counts
}

func (e *Experiment) causeTable() table {
	t := table{Title: "Why trials did not pass", Head: []string{"cause", e.unit() + "s"}}
	for _, c := range e.causes() {
		t.add(plain(string(c.Cause)), aligned(fmt.Sprint(c.Cases)))
	}
	return t
}

// note is a reason of skipped cases, or a warning of the platform.
type note struct {
	Kind, Text string
	Count      int // of trials
}

// noted returns the notes in the order of their first trials.
func (e *Experiment) noted() (notes []note) {
	at := map[note]int{}
	add := func(kind, text string) {
		n := note{Kind: kind, Text: text}
		if _, known := at[n]; !known {
			at[n], notes = len(notes), append(notes, n)
		}
		notes[at[n]].Count++
	}
	for i := range e.Trials {
		t := &e.Trials[i]
		if t.Verdict == Skipped {
			add("skipped", t.Reason)
		}
		for _, text := range t.remarks() {
			add("warning", text)
		}
	}
	return notes
}

func (e *Experiment) writeNotes(b *bytes.Buffer, colour bool) {
	var out terminal.Table
	notes := e.noted()
	for _, n := range notes {
		out.Row(terminal.Cell{Text: n.Kind, Style: terminal.Warn},
			terminal.PlainCell(text.Plural(n.Count, e.unit())+": "+text.Line(n.Text, maxText)))
	}
	_ = out.Write(b, colour)
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
}

// writeEnded counts who ended the sessions.
func (e *Experiment) writeEnded(b *bytes.Buffer) {
	counts := map[string]int{}
	for i := range e.Trials {
		who, _, _ := strings.Cut(e.Trials[i].whoEnded(), ":")
		counts[who]++
	}
	var list []string
	for _, who := range []string{"user", "agent", "limit"} {
		if counts[who] > 0 {
			list = append(list, fmt.Sprintf("%s %d", who, counts[who]))
		}
	}
	if len(list) > 0 {
		fmt.Fprintf(b, "sessions ended by: %s\n", strings.Join(list, ", "))
	}
}

// slowest lists the three slowest of more than nine trials, and the three dearest.
func (e *Experiment) slowest() (list []table) {
	by := func(head string, value func(*Trial) float64, write func(float64) string) {
		var ran []*Trial
		for i := range e.Trials {
			if t := &e.Trials[i]; value(t) > 0 {
				ran = append(ran, t)
			}
		}
		slices.SortStableFunc(ran, func(a, b *Trial) int { return cmp.Compare(value(b), value(a)) })
		if len(ran) < 10 || value(ran[0]) == value(ran[len(ran)-1]) {
			return
		}
		t := table{Head: []string{head, ""}}
		for _, trial := range ran[:3] {
			t.add(aligned(write(value(trial))), cell{Text: text.Line(trial.Name, 72) + e.numbered(trial.Number), trial: trial})
		}
		list = append(list, t)
	}
	by("slowest", func(t *Trial) float64 { return t.Took.Seconds() }, func(s float64) string { return shortTime(time.Duration(s * float64(time.Second))) })
	by("dearest", func(t *Trial) float64 { return t.Scores[scoreCost] }, amount)
	return list
}

func (e *Experiment) writeCounts(b *bytes.Buffer, colour bool) {
	var counts []string
	for _, v := range verdicts {
		if n := e.Count(v.verdict); n > 0 || v.verdict == Passed {
			style := v.style
			if n == 0 {
				style = terminal.Plain
			}
			counts = append(counts, terminal.Paint(colour, style, fmt.Sprintf("%d %s", n, v.word)))
		}
	}
	size := text.Plural(len(caseTrials(e.Trials)), "case")
	if e.TrialsPerCase > 1 {
		size += ", " + text.Plural(len(e.Trials), "trial")
	}
	fmt.Fprintf(b, "%s in %s: %s\n", size, shortTime(e.Took), strings.Join(counts, ", "))
}

// unit is what the counts are counts of.
func (e *Experiment) unit() string {
	if e.TrialsPerCase > 1 {
		return "trial"
	}
	return "case"
}

// numbered tells the trials of a case apart.
func (e *Experiment) numbered(trial int) string {
	if e.TrialsPerCase > 1 {
		return fmt.Sprintf(" (trial %d of %d)", trial, e.TrialsPerCase)
	}
	return ""
}

// writeRates writes what the trials tell together.
func (e *Experiment) writeRates(b *bytes.Buffer, colour bool, s Stats) {
	t := table{Head: []string{"passed", "rate, 95 % interval", "case"}}
	for _, c := range e.Cases() {
		if e.TrialsPerCase < 2 || c.Verdict == Passed || c.Trials == 0 {
			continue
		}
		rate := ""
		if c.Rate != nil {
			rate = c.Rate.String()
		} else if c.Stopped {
			rate = "stopped at the first failure"
		}
		t.add(figure(fmt.Sprintf("%d of %d", c.Passed, c.Trials)), figure(rate), plain(text.Line(c.Name, 60)))
	}
	writeTables(b, colour, []table{t})
	figures := e.whole()
	if s.Cases == 0 || e.TrialsPerCase < 2 && figureOf(figures, "rate", "").Cases == 0 {
		return
	}
	if e.TrialsPerCase > 1 {
		fmt.Fprintf(b, "cases that always passed: %s\n", figureOf(figures, "always", ""))
	}
	how := ""
	if s.Faults > 0 {
		how = ", " + text.Plural(s.Faults, "fault")
		if s.UserFaults > 0 {
			how += fmt.Sprintf(" (%d of the user)", s.UserFaults)
		}
		how += " counted as failed"
	}
	writeEstimate(b, figures, counted, how)
	writeEstimate(b, figures, dropped, ", faults dropped")
	if line := e.untried(); line != "" {
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
}

// untried names the cases of which no trial ended, because a budget was spent for example: the rates
// say nothing about them. It returns "" if there are none.
func (e *Experiment) untried() string {
	var names []string
	all := e.Cases()
	for _, c := range all {
		if c.Trials == 0 && c.Verdict != Skipped {
			names = append(names, text.Line(c.Name, 60))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("no trial of %d of %s ended: %s", len(names), text.Plural(len(all), "case"), listed(names, 5))
}

// listed returns the first names, and how many more there are.
func listed(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// writeEstimate writes the rate, and what the most trials of a case do together.
func writeEstimate(b *bytes.Buffer, figures []Figure, faults, how string) {
	rate := figureOf(figures, "rate", faults)
	if rate.Cases == 0 {
		return
	}
	fmt.Fprintf(b, "trials that passed%s: %s", how, rate)
	last := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "rate" && f.Faults == faults })
	for ; last+2 < len(figures) && strings.HasPrefix(figures[last+1].Name, "all_of_"); last += 2 {
	}
	if k, is := strings.CutPrefix(figures[last].Name, "any_of_"); is {
		any := figures[last]
		fmt.Fprintf(b, "; all of %s: %s, any of %s: %s", k, figures[last-1], k, any)
		if any.Cases < rate.Cases {
			fmt.Fprintf(b, " in %s with %s trials", text.Plural(any.Cases, "case"), k)
		}
	}
	b.WriteByte('\n')
}

// shortTime formats a duration with about three digits.
func shortTime(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 59_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return d.Round(time.Second).String()
}
