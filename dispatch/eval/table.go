package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// table is what the summary and the page show as a table. The first cell of a row names the row.
type table struct {
	Title  string
	Column string // of the dataset, whose values name the rows
	Head   []string
	Rows   [][]cell
	More   int // rows that are not listed
	Note   string
	Folded bool // on the page
}

// cell is a text of a table, and what the page draws beside it.
type cell struct {
	Text   string
	Number bool
	Right  bool    // in a terminal
	Change Verdict // of a comparison
	Rate   *Figure // on a scale from 0 to 100 %
	Before *Figure // of the baseline, above Rate
	Link   string  // on the page
	By     string  // the column and the value by which Link filters
	trial  *Trial  // that Link leads to
}

// noValue names the rows of a dataset without a value in a column.
const noValue = "(none)"

// Scaled reports whether a column of the table has rates to draw.
func (t *table) Scaled(column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []cell) bool { return row[column].Rate != nil })
}

// Number reports whether a column of the table has numbers.
func (t *table) Number(column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []cell) bool { return row[column].Number })
}

func plain(text string) cell { return cell{Text: text} }

func figure(text string) cell { return cell{Text: text, Number: true} }

func aligned(text string) cell { return cell{Text: text, Number: true, Right: true} }

func changed(v Verdict) cell { return cell{Text: string(v), Change: v} }

// rated is the cell of a rate that may not be known.
func rated(f Figure) cell {
	if f.Cases == 0 {
		return figure("")
	}
	return cell{Text: f.String(), Number: true, Rate: &f}
}

func (t *table) add(cells ...cell) {
	if len(t.Rows) == maxListed {
		t.More++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// many warns of a table with several intervals.
func many(n int, what string) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d %ss: one interval in 20 misses the truth, so some may differ by chance", n, what)
}

// tables returns the scores of the experiment and its slices.
func (e *Experiment) tables() (list []table) {
	names := e.scoreNames()
	if len(names) > 0 {
		t := table{Title: "Scores", Head: []string{"score", "mean, 95 % interval", "trials"}}
		for _, name := range names {
			f := e.score(name)
			t.add(plain(name), figure(f.String()), figure(f.known()))
		}
		list = append(list, t)
	}
	for _, column := range e.SliceBy {
		parts := e.slices(column)
		t := table{Title: "By " + column, Column: column, Head: append([]string{column, "cases", "rate, 95 % interval"}, names...), Note: many(len(parts), "value")}
		for _, s := range parts {
			if len(t.Rows) == maxListed {
				t.More++
				continue
			}
			figures := s.whole()
			cells := []cell{plain(cmp.Or(s.value, noValue)), figure(fmt.Sprint(figureOf(figures, "always", "").Cases)), rated(figureOf(figures, "rate", ""))}
			for _, name := range names {
				f := figureOf(figures, name, "")
				if cells = append(cells, figure("")); f.Cases > 0 {
					cells[len(cells)-1].Text = amount(f.Value)
				}
			}
			t.add(cells...)
		}
		list = append(list, t)
	}
	return list
}

// tables returns the differences of the scores and of the slices.
func (c *Comparisons) tables() (list []table) {
	if len(c.scores) > 0 {
		t := table{Title: "Scores", Head: []string{"score", "baseline to candidate, 95 % interval", "cases", ""}}
		for i := range c.scores {
			s := &c.scores[i]
			cases := fmt.Sprint(s.Difference.Cases)
			if n := s.Difference.Unknown; n > 0 {
				cases += ", unknown in " + text.Plural(n, "trial")
			}
			t.add(plain(s.Difference.Name), figure(s.scores()), figure(cases), changed(s.Verdict))
		}
		list = append(list, t)
	}
	for _, column := range c.columns {
		t := table{Title: "By " + column, Column: column, Head: []string{column, "cases", "baseline", "candidate", "points, 95 % interval", ""}}
		for i := range c.scores {
			t.Head = append(t.Head, c.scores[i].Difference.Name)
		}
		for i := range c.slices {
			s := &c.slices[i]
			value, is := strings.CutPrefix(s.Difference.Slice, column+"=")
			switch last := len(t.Rows) - 1; {
			case !is:
			case s.Difference.Name == "rate":
				cells := []cell{plain(cmp.Or(value, noValue)), figure(fmt.Sprint(s.Difference.Cases)), figure(percent(s.Baseline.Value)),
					{Text: percent(s.Candidate.Value), Number: true, Rate: &s.Candidate, Before: &s.Baseline}, figure(s.Difference.difference()), changed(s.Verdict)}
				t.Rows = append(t.Rows, append(cells, slices.Repeat([]cell{figure("")}, len(c.scores))...))
			case s.Difference.bounded():
				t.Rows[last][slices.Index(t.Head[6:], s.Difference.Name)+6].Text = s.Difference.changed()
			}
		}
		t.Note = many(len(t.Rows), "value")
		t.More = max(0, len(t.Rows)-maxListed)
		t.Rows = t.Rows[:len(t.Rows)-t.More]
		list = append(list, t)
	}
	return list
}

// writeTables writes tables that are not empty for people.
func writeTables(b *bytes.Buffer, colour bool, tables []table) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		var out terminal.Table
		if strings.Join(t.Head, "") != "" {
			cells := make([]terminal.Cell, len(t.Head))
			for i, text := range t.Head {
				cells[i] = terminal.Cell{Text: text, Style: terminal.Faint}
			}
			out.Row(cells...)
		}
		for _, row := range t.Rows {
			cells := make([]terminal.Cell, len(row))
			for i, c := range row {
				cells[i] = terminal.Cell{Text: text.Line(c.Text, maxText), Style: c.Change.style(), Right: c.Right}
			}
			out.Row(cells...)
		}
		_ = out.Write(b, colour) // a Buffer has no errors
		for _, line := range t.notes() {
			fmt.Fprintln(b, line)
		}
		b.WriteByte('\n')
	}
}

// notes are the lines below the table.
func (t *table) notes() (lines []string) {
	if t.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", t.More))
	}
	if t.Note != "" {
		lines = append(lines, t.Note)
	}
	return lines
}
