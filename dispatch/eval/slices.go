package eval

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// slice is the part of an experiment whose rows have one value in a column.
type slice struct {
	column, value string // value is "" for rows without one
	*Experiment
}

// slices returns the parts of the experiment by the values of a column, those with the most cases first.
func (e *Experiment) slices(column string) []slice {
	var list []slice
	at, sizes := map[string]int{}, map[string]int{}
	for _, trials := range caseTrials(e.Trials) {
		value := ""
		if row := trials[0].data(); row != nil {
			value = row.sliced(column)
		}
		i, known := at[value]
		if !known {
			i = len(list)
			part := *e
			part.Trials, part.SliceBy, part.GateBy, part.checks, part.MinRate = nil, nil, nil, nil, 0
			at[value], list = i, append(list, slice{column, value, &part})
		}
		sizes[value]++
		list[i].Trials = append(list[i].Trials, trials...)
	}
	slices.SortStableFunc(list, func(a, b slice) int {
		return cmp.Or(sizes[b.value]-sizes[a.value], strings.Compare(a.value, b.value))
	})
	return list
}

// Limits of a cell in bytes: one that is longer than maxSliced has no slice, and of one that is longer
// than maxShown the file of results and the page have the beginning.
const (
	maxSliced = 100
	maxShown  = 200
)

// notSliced are the columns without slices.
var notSliced = []string{"user", "behavior", "state", "failure_rules", "current_state", "tracked_constraints", "scripted_user_turns"}

// cell returns the text of the row's cell in a column, without space around it. The cells of the columns without
// slices are "".
func (r *row) cell(column string) string {
	if value, known := r.cells[column]; known {
		return value
	}
	if column == "expected_outcome" {
		return r.ExpectedOutcome
	}
	return strings.TrimSpace(r.Extra[column])
}

// sliced returns the value of a column for a slice.
func (r *row) sliced(column string) string {
	if value := r.cell(column); len(value) <= maxSliced {
		return value
	}
	return ""
}

// shown returns the beginnings of the row's cells, without secrets. Cells are cut last: half of a secret
// would not be found.
func (r *row) shown(secrets *redact.Set) map[string]string {
	all := map[string]string{}
	maps.Copy(all, r.Extra)
	maps.Copy(all, r.cells)
	for column, value := range all {
		value = text.Cut(secrets.Redact(strings.TrimSpace(value)), maxShown)
		if all[column] = value; value == "" {
			delete(all, column)
		}
	}
	return all
}

// hide removes secrets from what reports show of the case. The caller's row stays as it is.
func (c *Case) hide(secrets *redact.Set) {
	c.Name, c.Group = secrets.Redact(c.Name), secrets.Redact(c.Group)
	r := c.data()
	if r == nil || maps.Equal(r.shown(nil), r.shown(secrets)) {
		return
	}
	hidden := *r
	hidden.cells, c.row = r.shown(secrets), &hidden
}

// columns returns SliceBy, and the other columns with few values: at most 20, and at most one for two
// cases.
func (e *Experiment) columns() []string {
	cases, values := 0, map[string]map[string]bool{}
	for _, trials := range caseTrials(e.Trials) {
		cases++
		row := trials[0].data()
		if row == nil {
			continue
		}
		for column := range row.shown(nil) {
			value := row.sliced(column)
			if values[column] == nil {
				values[column] = map[string]bool{}
			}
			if len(values[column]) <= maxListed {
				values[column][value] = true
			}
		}
	}
	list := slices.Clone(e.SliceBy)
	for _, column := range slices.Sorted(maps.Keys(values)) {
		n := len(values[column])
		if n > 1 && n <= maxListed && 2*n <= cases && len(list) < maxParts && !slices.Contains(list, column) {
			list = append(list, column)
		}
	}
	return list
}

// maxParts is how many columns the page breaks an experiment down by.
const maxParts = 12

// name returns the slice as a figure has it.
func (s *slice) name() string { return s.column + "=" + s.value }

// compareSlices compares the slices of the columns that the candidate is sliced by: the rate of each,
// and then its scores.
func compareSlices(baseline, candidate *Experiment) (list []Comparison) {
	for _, column := range candidate.SliceBy {
		before := map[string]*Experiment{}
		for _, s := range baseline.slices(column) {
			before[s.value] = s.Experiment
		}
		for _, s := range candidate.slices(column) {
			if old := before[s.value]; old != nil {
				if c, err := Compare(old, s.Experiment); err == nil { // else none of its cases ran in both
					for _, one := range append(c.Figures()[:1:1], c.scores...) {
						one.Baseline.Slice, one.Candidate.Slice, one.Difference.Slice = s.name(), s.name(), s.name()
						list = append(list, one)
					}
				}
			}
		}
	}
	return list
}
