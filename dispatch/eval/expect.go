package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// expectation is what a row expects in a column.
type expectation struct {
	column string
	grade  Grader
}

// expected are the columns that [Dataset.Expect] reads, in the order of reports. grader returns nil for
// a row that expects nothing in the column, and an error if its cell is not valid.
var expected = []struct {
	column string
	grader func(r *Row) (Grader, error)
}{
	{"says", func(r *Row) (Grader, error) { return saysCell(strings.TrimSpace(r.Extra["says"])) }},
	{"expected_outcome", func(r *Row) (Grader, error) {
		if r.ExpectedOutcome == Refusal {
			return RefusedWithoutWrite, nil
		}
		return nil, nil
	}},
}

// unchecked returns the columns in which a row expects what the platform grades by a model.
func (r *Row) unchecked() (columns []string) {
	if r.cells["expected_outcome"] == Completion { // an empty cell means it too
		columns = append(columns, "expected_outcome")
	}
	if r.TrackedConstraints != nil {
		columns = append(columns, "tracked_constraints")
	}
	return columns
}

// saysCell grades the column says: the final response contains the text, in letters of either case.
func saysCell(says string) (Grader, error) {
	if says == "" {
		return nil, nil
	}
	if kind := rawjson.Kind([]byte(says)); (kind == '[' || kind == '{') && rawjson.Check([]byte(says), rawjson.Limits{}) == nil {
		return nil, fmt.Errorf("the cell is JSON, %s, and not a text that the final response contains", rawjson.KindName(kind))
	}
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if strings.Contains(strings.ToLower(result.FinalResponse), strings.ToLower(says)) {
			return nil
		}
		return wrongResponse(result, says, "the final response does not say %q: %s", says, result.FinalResponse)
	}, nil
}

// Expect makes the cases of the dataset, which [Dataset.Cases] has made, grade what their rows expect,
// before Options.Grader: the final response contains the text in the column says, in letters of either
// case, and a run whose expected_outcome is [Refusal] does not change the ledger. It returns how many
// rows expect something. The reports of the experiment then say in how many of the rows that are not
// skipped each column was checked, which columns the platform would grade, and which columns nothing
// uses.
//
// The error is an [*Error] if a cell is not valid, or if a column looks like one that would be read: if
// its name is nearly id, group, name or a column that is graded, or contains expect, assert, answer or
// truth. ignored are columns for which this is no error, and which reports do not mention.
func (d *Dataset) Expect(cases []Case, ignored ...string) (rows int, err error) {
	problems := problems{}
	for i, column := range d.Columns {
		if why := d.mistaken(column); why != "" && !slices.Contains(ignored, column) {
			problems.add(Problem{Code: invalidHeader, Row: d.places[i], Line: d.places[i], Column: column, Message: why})
		}
	}
	for i := range cases {
		c := &cases[i]
		if c.Row == nil {
			continue
		}
		c.expects, c.ignored = []expectation{}, ignored
		for _, e := range expected {
			grade, err := e.grader(c.Row)
			if err != nil {
				problems.add(c.Row.problem(invalidCell, e.column, "%v", err))
			} else if grade != nil {
				c.expects = append(c.expects, expectation{e.column, grade})
			}
		}
		if len(c.expects) > 0 {
			rows++
		}
	}
	return rows, problems.err()
}

// ownColumns are the columns that the platform does not read and this package does.
func ownColumns() []string {
	names := []string{"id", "group", "name"}
	for _, e := range expected {
		if !slices.Contains(datasetColumns, e.column) {
			names = append(names, e.column)
		}
	}
	return names
}

// mistaken says why a column that nothing reads looks like one that would be read; "" if it does not.
func (d *Dataset) mistaken(column string) string {
	own := ownColumns()
	if slices.Contains(own, column) || slices.Contains(datasetColumns, column) || slices.Contains(codingColumns, column) {
		return ""
	}
	name := squashed(column)
	for _, known := range own {
		if name == known || !slices.Contains(d.Columns, known) && len(name) <= 64 && text.Misspelt(name, known) {
			return fmt.Sprintf("did you mean %s? Nothing reads this column", known)
		}
	}
	if slices.ContainsFunc([]string{"expect", "assert", "answer", "truth"}, func(part string) bool { return strings.Contains(name, part) }) {
		var graded []string
		for _, e := range expected {
			graded = append(graded, e.column)
		}
		meant := cmp.Or(text.Nearest(text.Cut(name, 64), graded), graded[0])
		return fmt.Sprintf("nothing checks this column: did you mean %s? The columns that are checked are %s", meant, strings.Join(graded, ", "))
	}
	return ""
}

// squashed returns a name in lower case, without what separates its words.
func squashed(name string) string { return strings.ReplaceAll(normalName(name), "_", "") }

// grader returns the grader of a case; nil if its runs are not graded.
func (o *Options) grader(c *Case) Grader {
	var graders []Grader
	if !o.Ungraded {
		for _, e := range c.expects {
			graders = append(graders, e.grade)
		}
		if o.Grader != nil {
			graders = append(graders, o.Grader)
		}
	}
	switch len(graders) {
	case 0:
		return nil
	case 1:
		return graders[0]
	}
	return All(graders...)
}

// checks is what reports say about the rows of an experiment that are not skipped: what was graded of
// them, and what was not.
type checks struct {
	Ungraded bool          `json:"ungraded,omitempty"`
	Rows     int           `json:"rows"`
	Checked  []columnCount `json:"checked,omitempty"`
	Not      []columnCount `json:"not_checked,omitempty"` // the platform grades them
	Unused   []string      `json:"unused_columns,omitempty"`
}

// columnCount is in how many rows a column expects something.
type columnCount struct {
	Column string `json:"column"`
	Rows   int    `json:"rows"`
}

// checks returns what is checked in the cases of all shards; nil if nothing is known about it.
func (o *Options) checks(cases []Case) *checks {
	known, own, unused := o.Ungraded, ownColumns(), map[string]bool{}
	s := &checks{Ungraded: o.Ungraded}
	count := func(list *[]columnCount, column string) {
		at := slices.IndexFunc(*list, func(c columnCount) bool { return c.Column == column })
		if at < 0 {
			at, *list = len(*list), append(*list, columnCount{Column: column})
		}
		(*list)[at].Rows++
	}
	for i := range cases {
		c := &cases[i]
		if c.Row == nil {
			continue
		}
		if known = known || c.expects != nil; o.skip(c) != "" {
			continue
		}
		s.Rows++
		for _, e := range c.expects {
			if o.Ungraded {
				count(&s.Not, e.column)
			} else {
				count(&s.Checked, e.column)
			}
		}
		for _, column := range c.Row.unchecked() {
			count(&s.Not, column)
		}
		for column := range c.Row.Extra {
			if !slices.Contains(own, column) && !slices.Contains(c.ignored, column) {
				unused[column] = true
			}
		}
	}
	if !known {
		return nil
	}
	for _, list := range [][]columnCount{s.Checked, s.Not} {
		slices.SortFunc(list, func(a, b columnCount) int { return cmp.Or(b.Rows-a.Rows, strings.Compare(a.Column, b.Column)) })
	}
	for column := range unused {
		s.Unused = append(s.Unused, column)
	}
	slices.Sort(s.Unused)
	return s
}

// checked says what was checked, a text for each property. There are none if that is not known.
func (e *Experiment) checked() (list []fact) {
	s := e.checks
	if s == nil {
		return nil
	}
	in := func(columns []columnCount) string {
		var parts []string
		for _, c := range columns {
			parts = append(parts, fmt.Sprintf("%s in %d", c.Column, c.Rows))
		}
		return fmt.Sprintf("%s of %s", strings.Join(parts, ", "), text.Plural(s.Rows, "row"))
	}
	switch {
	case s.Ungraded:
		list = append(list, fact{Name: "checked", Text: "nothing: the rows were not graded, so a trial passed if the platform would grade it", Property: "checked"})
	case len(s.Checked) == 0:
		list = append(list, fact{Name: "checked", Text: "nothing in " + text.Plural(s.Rows, "row"), Property: "checked"})
	default:
		list = append(list, fact{Name: "checked", Text: in(s.Checked), Property: "checked"})
	}
	if len(s.Not) > 0 {
		list = append(list, fact{Name: "not checked here", Text: in(s.Not), Property: "not_checked_here"})
	}
	unused := slices.DeleteFunc(slices.Clone(s.Unused), func(column string) bool { return slices.Contains(e.SliceBy, column) })
	if len(unused) > 0 {
		list = append(list, fact{Name: "columns that nothing uses", Text: listed(unused, 10), Property: "columns_that_nothing_uses"})
	}
	return list
}
