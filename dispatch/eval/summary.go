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
// if there are many, the scores and slices, the rates of at most 20 cases that did not always pass if cases have
// several trials, and then what all trials tell together, what was checked, see [Dataset.Expect], and the counts.
// If colour is true, colour repeats the verdicts. Texts of agents are safe to print to a terminal. It returns the
// first error of w.
func (e *Experiment) WriteSummary(w io.Writer, colour bool) error {
	var b bytes.Buffer
	writeTables(&b, colour, slices.Concat([]table{e.badTable(), e.causeTable(), e.noteTable()}, e.slowest(), e.tables(), []table{e.rateTable()}))
	writeFacts(&b, colour, e.facts())
	b.WriteString(e.counts(colour) + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

// badTable lists the trials that failed or could not be run. Trials of a case that ended alike share a
// row. Cancelled trials are only counted.
func (e *Experiment) badTable() table {
	e = e.sized()
	t := table{Head: []string{"", "", "", ""}}
	for i := 0; i < len(e.Trials); i++ {
		c := &e.Trials[i]
		if c.Verdict == Passed || c.Verdict == Skipped || c.Verdict == Cancelled {
			continue
		}
		if repeat := e.repeated(c); len(t.Rows) == 0 && repeat != "" {
			t.Note = "run the first again: $ " + text.Clean(repeat)
		}
		alike := 1
		for i+1 < len(e.Trials) && e.Trials[i+1].ID == c.ID && e.Trials[i+1].Verdict == c.Verdict && e.Trials[i+1].Cause == c.Cause && e.Trials[i+1].Reason == c.Reason {
			i, alike = i+1, alike+1
		}
		which := e.numbered(c)
		if alike > 1 {
			which = fmt.Sprintf(" (%d of %d trials)", alike, e.trialsOf(c))
		}
		t.add(changed(c.Verdict), plain(text.Line(c.Name, 48)+which), aligned(shortTime(c.Took)), plain(c.Cause+": "+text.Line(c.Reason, 200)))
	}
	return t
}

// causeCount is how many cases did not pass for a cause.
type causeCount struct {
	Cause string `json:"cause"`
	Cases int    `json:"cases"`
	first *Trial
}

// causes returns the counts by cause, the most frequent first.
func (e *Experiment) causes() []causeCount {
	at, counts := map[string]int{}, []causeCount{}
	for i := range e.Trials {
		t := &e.Trials[i]
		if t.Cause == "" {
			continue
		}
		if _, known := at[t.Cause]; !known {
			at[t.Cause], counts = len(counts), append(counts, causeCount{Cause: t.Cause, first: t})
		}
		counts[at[t.Cause]].Cases++
	}
	slices.SortFunc(counts, func(a, b causeCount) int {
		return cmp.Or(b.Cases-a.Cases, strings.Compare(a.Cause, b.Cause))
	})
	return counts
}

func (e *Experiment) causeTable() table {
	t := table{Title: "Why trials did not pass", Head: []string{"cause", e.unit() + "s"}}
	for _, c := range e.causes() {
		t.add(cell{Text: c.Cause, trial: c.first}, aligned(fmt.Sprint(c.Cases)))
	}
	return t
}

// note is a reason of skipped cases, or a warning of the platform.
type note struct {
	Kind, Text string
	Count      int // of trials
	Link       string
	first      *Trial
}

// noted returns the notes in the order of their first trials.
func (e *Experiment) noted() (notes []note) {
	at := map[[2]string]int{}
	add := func(kind, text string, t *Trial) {
		key := [2]string{kind, text}
		if _, known := at[key]; !known {
			at[key], notes = len(notes), append(notes, note{Kind: kind, Text: text, first: t})
		}
		notes[at[key]].Count++
	}
	for i := range e.Trials {
		t := &e.Trials[i]
		if t.Verdict == Skipped {
			add("skipped", t.Reason, t)
		}
		for _, text := range t.remarks() {
			add("warning", text, t)
		}
	}
	return notes
}

func (e *Experiment) noteTable() table {
	t := table{Head: []string{"", ""}}
	for _, n := range e.noted() {
		t.add(cell{Text: n.Kind, Change: Skipped}, plain(fmt.Sprintf("%s: %s; the first is %s%s", text.Plural(n.Count, e.unit()), n.Text, text.Line(n.first.Name, 48), e.numbered(n.first))))
	}
	return t
}

// slowest lists the slowest trials of three cases, if there are more than nine trials, and the dearest.
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
		listed := map[string]bool{}
		for _, trial := range ran {
			if listed[trial.ID] || len(listed) == 3 {
				continue
			}
			listed[trial.ID] = true
			t.add(aligned(write(value(trial))), cell{Text: text.Line(trial.Name, 72) + e.numbered(trial), trial: trial})
		}
		list = append(list, t)
	}
	by("slowest", func(t *Trial) float64 { return t.Took.Seconds() }, func(s float64) string { return shortTime(time.Duration(s * float64(time.Second))) })
	by("dearest", func(t *Trial) float64 { return t.Scores[scoreCost] }, amount)
	return list
}

// counts says how many trials ended in each way.
func (e *Experiment) counts(colour bool) string {
	var counts []string
	for _, v := range verdicts {
		if n := e.count(v.verdict); n > 0 || v.verdict == Passed {
			counts = append(counts, terminal.Paint(colour && n > 0, v.style, fmt.Sprintf("%d %s", n, v.word)))
		}
	}
	size := text.Plural(len(caseTrials(e.Trials)), "case")
	if e.trialsPerCase() > 1 {
		size += ", " + text.Plural(len(e.Trials), "trial")
	}
	return fmt.Sprintf("%s in %s: %s", size, shortTime(e.Took), strings.Join(counts, ", "))
}

// unit is what the counts are counts of.
func (e *Experiment) unit() string {
	if e.trialsPerCase() > 1 {
		return "trial"
	}
	return "case"
}

// trialsPerCase is the most trials of a case.
func (e *Experiment) trialsPerCase() int {
	most := e.perCase
	if most == 0 { // the caller made the experiment
		for i := range e.Trials {
			most = max(most, e.Trials[i].Number)
		}
	}
	return most
}

// sized returns a copy that knows its trialsPerCase, for reports that need it for each trial.
func (e *Experiment) sized() *Experiment {
	c := *e
	c.perCase = e.trialsPerCase()
	return &c
}

// trialsOf is how many trials the case of a trial has.
func (e *Experiment) trialsOf(t *Trial) int {
	return cmp.Or(t.Case.Trials, e.trials, e.trialsPerCase())
}

// numbered tells the trials of a case apart.
func (e *Experiment) numbered(t *Trial) string {
	if e.trialsPerCase() > 1 {
		return fmt.Sprintf(" (trial %d of %d)", t.Number, e.trialsOf(t))
	}
	return ""
}

// rateTable lists the cases that did not always pass.
func (e *Experiment) rateTable() table {
	e = e.sized()
	t := table{Title: "Cases that did not always pass", Head: []string{"passed", "rate, 95 % interval", "case"}}
	for _, c := range e.cases() {
		if e.trialsPerCase() < 2 || c.Verdict == Passed || c.Trials == 0 {
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
	return t
}

// untried names the cases of which no trial ended, because a budget was spent for example: the rates
// say nothing about them. It returns "" if there are none.
func (e *Experiment) untried() string {
	var names []string
	all := e.cases()
	for _, c := range all {
		if c.Trials == 0 && c.Verdict != Skipped {
			names = append(names, text.Line(c.Name, 60))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("in %d of %s no trial ended: %s", len(names), text.Plural(len(all), "case"), listed(names, 5))
}

// listed returns the first names, and how many more there are.
func listed(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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
