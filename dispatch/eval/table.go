package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

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
	Right  bool // in a terminal
	Change Change
	Rate   *Rate  // on a scale from 0 to 100 %
	Before *Rate  // of the baseline, above Rate
	Link   string // on the page
	By     string // the column and the value by which Link filters
	trial  *Trial // that Link leads to
}

// noValue names the rows of a dataset without a value in a column.
const noValue = "(none)"

// Scaled reports whether a column of the table has rates to draw.
func (t *table) Scaled(column int) bool {
	return slices.ContainsFunc(t.Rows, func(row []cell) bool { return row[column].Rate != nil })
}

func plain(text string) cell { return cell{Text: text} }

func figure(text string) cell { return cell{Text: text, Number: true} }

func aligned(text string) cell { return cell{Text: text, Number: true, Right: true} }

func changed(c Change) cell { return cell{Text: string(c), Change: c} }

// rated is the cell of a rate that may not be known.
func rated(e *Estimate) cell {
	if e == nil {
		return figure("")
	}
	return cell{Text: e.Rate.String(), Number: true, Rate: &e.Rate}
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
	if scores := e.Scores(); len(scores) > 0 {
		t := table{Title: "Scores", Head: []string{"score", "mean, 95 % interval", "trials"}}
		for _, s := range scores {
			trials := fmt.Sprint(s.Known)
			if s.Unknown > 0 {
				trials += fmt.Sprintf(", unknown in %d", s.Unknown)
			}
			t.add(plain(s.Name), figure(s.text()), figure(trials))
		}
		list = append(list, t)
	}
	names := e.scoreNames()
	for _, column := range e.SliceBy {
		parts := e.Slices(column)
		t := table{Title: "By " + column, Column: column, Head: append([]string{column, "cases", "rate, 95 % interval"}, names...), Note: many(len(parts), "value")}
		for _, s := range parts {
			if len(t.Rows) == maxListed {
				t.More++
				continue
			}
			stats := s.Stats()
			cells, means := []cell{plain(cmp.Or(s.Value, noValue)), figure(fmt.Sprint(stats.Cases)), rated(stats.Counted)}, map[string]string{}
			for _, score := range s.Scores() {
				means[score.Name] = amount(score.Mean)
			}
			for _, name := range names {
				cells = append(cells, figure(means[name]))
			}
			t.add(cells...)
		}
		list = append(list, t)
	}
	return list
}

// tables returns the differences of the scores and of the slices.
func (c *Comparison) tables() (list []table) {
	if len(c.Scores) > 0 {
		t := table{Title: "Scores", Head: []string{"score", "baseline to candidate, 95 % interval", "cases", ""}}
		for _, s := range c.Scores {
			cases := fmt.Sprint(s.Pairs)
			if s.Unknown > 0 {
				cases += ", unknown in " + text.Plural(s.Unknown, "trial")
			}
			t.add(plain(s.Name), figure(s.text()), figure(cases), changed(s.Change))
		}
		list = append(list, t)
	}
	for begin := 0; begin < len(c.Slices); {
		column, end := c.Slices[begin].Column, begin
		t := table{Title: "By " + column, Column: column, Head: []string{column, "cases", "baseline", "candidate", "points, 95 % interval", ""}}
		for _, s := range c.Scores {
			t.Head = append(t.Head, s.Name)
		}
		for ; end < len(c.Slices) && c.Slices[end].Column == column; end++ {
			s := &c.Slices[end]
			cells := []cell{plain(cmp.Or(s.Value, noValue)), figure(fmt.Sprint(s.Counted.Pairs)), figure(percent(s.Counted.Baseline.Value)),
				{Text: percent(s.Counted.Candidate.Value), Number: true, Rate: &s.Counted.Candidate, Before: &s.Counted.Baseline}, figure(s.Counted.points()), changed(s.Change)}
			changes := map[string]string{}
			for _, score := range s.Scores {
				switch {
				case score.Effect == nil:
				case slices.Contains(measures, score.Name):
					changes[score.Name] = signed(score.Effect.Value) + " %"
				default:
					changes[score.Name] = amount(score.Effect.Value)
				}
			}
			for _, score := range c.Scores {
				cells = append(cells, figure(changes[score.Name]))
			}
			t.add(cells...)
		}
		t.Note = many(end-begin, "value")
		list, begin = append(list, t), end
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
		cells := make([]terminal.Cell, len(t.Head))
		for i, text := range t.Head {
			cells[i] = terminal.Cell{Text: text, Style: terminal.Faint}
		}
		out.Row(cells...)
		for _, row := range t.Rows {
			cells := make([]terminal.Cell, len(row))
			for i, c := range row {
				cells[i] = terminal.Cell{Text: text.Line(c.Text, maxShown), Style: c.Change.style(), Right: c.Right}
			}
			out.Row(cells...)
		}
		_ = out.Write(b, colour) // a Buffer has no errors
		if t.More > 0 {
			fmt.Fprintf(b, "and %d more\n", t.More)
		}
		if t.Note != "" {
			fmt.Fprintln(b, t.Note)
		}
		b.WriteByte('\n')
	}
}
