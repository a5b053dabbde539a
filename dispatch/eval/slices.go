package eval

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/terminal"
)

// Slice is the part of an experiment whose rows have one value in a column. Its Stats, Scores and
// Compare cover this part only.
type Slice struct {
	Column, Value string // Value is "" for rows without one
	*Experiment
}

// Slices returns the parts of the experiment by the values of a column, those with the most cases
// first. It can be any column whose cells have at most 100 bytes, such as expected_outcome or one
// of the caller's own. Longer cells count as empty, and so do the columns of the task, its worlds
// and its script: user, behavior, state, failure_rules, current_state, tracked_constraints and
// scripted_user_turns.
//
// The more values there are, the more of them look better or worse by chance: of twenty 95 %
// intervals one misses the truth.
func (e *Experiment) Slices(column string) []Slice {
	var list []Slice
	at, sizes := map[string]int{}, map[string]int{}
	for _, trials := range caseTrials(e.Trials) {
		value := ""
		if row := trials[0].Row; row != nil {
			value = row.cell(column)
		}
		i, known := at[value]
		if !known {
			i = len(list)
			part := *e
			part.Trials, part.SliceBy = nil, nil
			at[value], list = i, append(list, Slice{column, value, &part})
		}
		sizes[value]++
		list[i].Trials = append(list[i].Trials, trials...)
	}
	slices.SortStableFunc(list, func(a, b Slice) int {
		return cmp.Or(sizes[b.Value]-sizes[a.Value], strings.Compare(a.Value, b.Value))
	})
	return list
}

// maxSliced is the limit of a cell that has a slice in bytes, and notSliced are the columns without.
const maxSliced = 100

var notSliced = []string{"user", "behavior", "state", "failure_rules", "current_state", "tracked_constraints", "scripted_user_turns"}

// cell returns the value of a column for a slice.
func (r *Row) cell(column string) string {
	value, known := r.cells[column]
	if !known {
		value = strings.TrimSpace(r.Extra[column])
	}
	if !known && column == "expected_outcome" {
		value = r.ExpectedOutcome
	}
	if len(value) > maxSliced {
		return ""
	}
	return value
}

// sliced returns the cells of the row that have slices.
func (r *Row) sliced() map[string]string {
	all := map[string]string{}
	for column, value := range r.cells {
		all[column] = value
	}
	for column := range r.Extra {
		if value := r.cell(column); value != "" {
			all[column] = value
		}
	}
	return all
}

// SliceChange is the comparison of one slice.
type SliceChange struct {
	Column string `json:"column"`
	Value  string `json:"value"`
	*Comparison
}

// compareSlices compares the slices of the columns that the candidate is sliced by.
func compareSlices(baseline, candidate *Experiment) (list []SliceChange) {
	for _, column := range candidate.SliceBy {
		before := map[string]*Experiment{}
		for _, s := range baseline.Slices(column) {
			before[s.Value] = s.Experiment
		}
		for _, s := range candidate.Slices(column) {
			if old := before[s.Value]; old != nil {
				if c, err := Compare(old, s.Experiment); err == nil { // else none of its cases ran in both
					list = append(list, SliceChange{column, s.Value, c})
				}
			}
		}
	}
	return list
}

// reportTable is a table that the summary and the page show.
type reportTable struct {
	Title string
	Head  []string
	Rows  [][]string
	More  int // rows that are not listed
	Note  string
}

func (t *reportTable) add(cells ...string) {
	if len(t.Rows) == maxListed {
		t.More++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// many warns of a table with several comparisons.
func many(values int) string {
	if values < 2 {
		return ""
	}
	return fmt.Sprintf("%d values: one interval in 20 misses the truth, so some may differ by chance", values)
}

// tables returns the scores of the experiment and its slices.
func (e *Experiment) tables() (list []reportTable) {
	if scores := e.Scores(); len(scores) > 0 {
		t := reportTable{Title: "Scores", Head: []string{"score", "mean, 95 % interval", "trials"}}
		for _, s := range scores {
			trials := fmt.Sprint(s.Known)
			if s.Unknown > 0 {
				trials += fmt.Sprintf(", unknown in %d", s.Unknown)
			}
			t.add(s.Name, s.text(), trials)
		}
		list = append(list, t)
	}
	for _, column := range e.SliceBy {
		parts := e.Slices(column)
		t := reportTable{Title: "By " + column, Head: []string{column, "cases", "rate, 95 % interval"}, Note: many(len(parts))}
		names := e.scoreNames()
		t.Head = append(t.Head, names...)
		for _, s := range parts {
			if len(t.Rows) == maxListed {
				t.More++
				continue
			}
			stats, rate := s.Stats(), ""
			if stats.Counted != nil {
				rate = stats.Counted.Rate.String()
			}
			cells := []string{cmp.Or(s.Value, "(none)"), fmt.Sprint(stats.Cases), rate}
			means := map[string]string{}
			for _, score := range s.Scores() {
				means[score.Name] = amount(score.Mean)
			}
			for _, name := range names {
				cells = append(cells, means[name])
			}
			t.add(cells...)
		}
		list = append(list, t)
	}
	return list
}

// tables returns the differences of the scores and of the slices.
func (c *Comparison) tables() (list []reportTable) {
	if len(c.Scores) > 0 {
		t := reportTable{Title: "Scores compared", Head: []string{"score", "baseline to candidate, 95 % interval", "cases", ""}}
		for _, s := range c.Scores {
			cases := fmt.Sprint(s.Pairs)
			if s.Unknown > 0 {
				cases += ", unknown in " + plural(s.Unknown, "trial")
			}
			t.add(s.Name, s.text(), cases, string(s.Change))
		}
		list = append(list, t)
	}
	for begin := 0; begin < len(c.Slices); {
		column, end := c.Slices[begin].Column, begin
		t := reportTable{Title: "By " + column + ", compared", Head: []string{column, "cases", "points, 95 % interval", ""}}
		for _, s := range c.Scores {
			t.Head = append(t.Head, s.Name)
		}
		for ; end < len(c.Slices) && c.Slices[end].Column == column; end++ {
			s := &c.Slices[end]
			cells := []string{cmp.Or(s.Value, "(none)"), fmt.Sprint(s.Counted.Pairs), s.Counted.points(), string(s.Change)}
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
				cells = append(cells, changes[score.Name])
			}
			t.add(cells...)
		}
		t.Note = many(end - begin)
		list, begin = append(list, t), end
	}
	return list
}

// writeTables writes tables that are not empty for people.
func writeTables(b *bytes.Buffer, colour bool, tables []reportTable) {
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		var table terminal.Table
		cells := make([]terminal.Cell, len(t.Head))
		for i, text := range t.Head {
			cells[i] = terminal.Cell{Text: text, Style: terminal.Faint}
		}
		table.Row(cells...)
		for _, row := range t.Rows {
			cells := make([]terminal.Cell, len(row))
			for i, text := range row {
				cells[i] = terminal.PlainCell(oneLine(text))
				if i > 0 {
					cells[i].Style = Change(text).style()
				}
			}
			table.Row(cells...)
		}
		_ = table.Write(b, colour) // a Buffer has no errors
		if t.More > 0 {
			fmt.Fprintf(b, "and %d more\n", t.More)
		}
		if t.Note != "" {
			fmt.Fprintln(b, t.Note)
		}
		b.WriteByte('\n')
	}
}
