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

// expected are the columns that [Dataset.Expect] reads, in the order of reports. read returns the grader of
// a cell that is not empty, and reports what is wrong with it.
var expected = []struct {
	column string
	read   func(c *Case, in *expectedCell) Grader
}{
	{"says", readSays}, {"calls", readCalls}, {"no_calls", readNoCalls}, {"end_state", readEndState},
	{"expected_outcome", func(c *Case, in *expectedCell) Grader {
		switch outcome := c.Cell("expected_outcome"); outcome {
		case refusal:
			return refusedWithoutWrite
		case "", completion:
		default: // in Columns
			in.wrong("%s is neither completion nor refusal", shown(outcome))
		}
		return nil
	}},
}

// An expectedCell is what a row expects in a column, as text.
type expectedCell struct {
	text     string // not empty, without white space around it
	row      *row
	column   string
	problems *problems
}

func (in *expectedCell) wrong(format string, args ...any) {
	in.problems.Put(in.row.problem(invalidCell, in.column, format, args...))
}

// json returns what the cell begins with, { or [, if it is valid JSON, and reports others.
func (in *expectedCell) json(what string) (kind byte) {
	kind = in.text[0]
	if kind != '[' && kind != '{' {
		in.wrong("%s is not %s", shown(in.text), what)
		return 0
	}
	if why := notJSON("cell", in.text, kind, ""); why != "" {
		if in.column == "says" {
			why += fmt.Sprintf(`: a text that begins with %c is written in a list, as in ["%[1]c…"]`, kind)
		}
		in.wrong("%s", why)
		return 0
	}
	return kind
}

// bareNumber is the problem of a number where a text may be.
const bareNumber = `%s is a number: write "%[1]s" for the text, or {"number": %[1]s}`

// expectations reads what the row of the case expects. The list is not nil.
func (c *Case) expectations(ignored []string, ps *problems) []expectation {
	list, r := []expectation{}, c.data()
	for _, e := range expected {
		in := &expectedCell{strings.TrimSpace(r.Extra[e.column]), r, e.column, ps}
		switch kind, bare := r.bare[e.column]; {
		case e.column == "expected_outcome":
		case in.text == "" || slices.Contains(ignored, e.column):
			continue
		case bare && e.column == "says" && kind == '0':
			in.wrong(bareNumber, text.Line(in.text, 40))
			continue
		case bare:
			in.wrong("the value is %s, and this column has a text, a list or an object", rawjson.KindName(kind))
			continue
		}
		if grade := e.read(c, in); grade != nil {
			list = append(list, expectation{e.column, grade})
		}
	}
	return list
}

// Expectations is a [Grader] that accepts a run if it is as the row of the case expects, in the columns that
// [Dataset.Expect] reads. It accepts a run of a row that expects nothing, and of a case without a row. If a
// cell is not valid, the trial is not graded: see [ErrNotGraded]. [Dataset.Expect] finds such cells before
// the first trial.
func Expectations(ctx context.Context, c Case, result *dispatchtest.Result) error {
	list := c.expects
	if list == nil && c.data() != nil {
		problems := problems{}
		list = c.expectations(nil, &problems)
		if err := problems.err(); err != nil {
			return fmt.Errorf("%w: %w", ErrNotGraded, err)
		}
	}
	return allOf(list)(ctx, c, result)
}

// allOf returns a grader that accepts a run if it is as expected in all columns.
func allOf(list []expectation) Grader {
	graders := make([]Grader, len(list))
	for i, e := range list {
		graders[i] = e.grade
	}
	return All(graders...)
}

// unchecked returns the columns in which a row expects what the platform grades by a model. An empty cell
// in expected_outcome does not count, although it means completion.
func (r *row) unchecked() (columns []string) {
	if cmp.Or(r.cells["expected_outcome"], strings.TrimSpace(r.Extra["expected_outcome"])) == completion {
		columns = append(columns, "expected_outcome")
	}
	if r.TrackedConstraints != nil {
		columns = append(columns, "tracked_constraints")
	}
	return columns
}

// Expect makes the cases of the dataset, which [Dataset.Cases] has made, grade what their rows expect,
// before Options.Grader. It reads these columns; names in them are of the world of the case:
//
//	says       the final response contains a text, in letters of either case; or all texts of a list; or
//	           it is as an object says: {"exactly": text}, {"match": regular expression},
//	           {"number": 79.5, "tolerance": 0.01}, {"json": schema}, or {"not": …} of these or a list
//	calls      a list of calls that have results, see [Trajectory], among others and in any order; or an object
//	           with calls, and mode, partial and ignore as in [Match]
//	no_calls   tools that the agent does not request, as in [NotCalled]: a list, or names and commas
//	end_state  calls, see [EndState]; or {"type": {"id": {"field": value}}}: these entities have
//	           these fields and others, and no other entity or flag has changed. An entity that is
//	           null is removed, a field that is null may be absent, and the id * is one new
//	           entity. A list in the member flags names the flags that are set. {} is no change.
//
// and in expected_outcome that a refusal does not change the ledger. A cell that begins with [ or { is
// JSON. Calls of all agents of a run count, and so do calls that a tool answers with a failure. The calls of an
// end_state are made once in the world of the row, to find out whether they have results.
//
// Expect returns how many rows expect something. The reports of the experiment then say in how many of the
// rows that are not skipped each column was checked, which columns the platform would grade, and which
// columns nothing uses.
//
// The error is an [*Error] if a cell is not valid, or if a column looks like one that would be read: if
// its name is nearly id, group, name or a column that is graded, or contains expect, assert, answer or
// truth. Expect leaves columns that are ignored alone, except expected_outcome, and reports do not
// mention them.
func (d *Dataset) Expect(cases []Case, ignored ...string) (rows int, err error) {
	problems := problems{}
	for i, column := range d.Columns {
		if why := d.mistaken(column); why != "" && !slices.Contains(ignored, column) {
			problems.Put(Problem{Code: invalidHeader, Row: d.places[i], Line: d.places[i], Column: column, Message: why})
		}
	}
	for i := range cases {
		c := &cases[i]
		if c.data() == nil {
			continue
		}
		c.expects, c.ignored = c.expectations(ignored, &problems), ignored
		if len(c.expects) > 0 {
			rows++
		}
	}
	return rows, problems.err()
}

// ownColumns are the columns that the platform does not read and this package does.
func ownColumns() []string {
	names := []string{"id", "group", "name", "trials"}
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
		if name == squashed(known) || !slices.Contains(d.Columns, known) && len(name) <= 64 && text.Misspelt(name, known) {
			return fmt.Sprintf("did you mean %s? Nothing reads this column", known)
		}
	}
	meant := expectedIn(name)
	if meant == "" {
		return ""
	}
	var graded []string
	for _, e := range expected {
		graded = append(graded, e.column)
	}
	return fmt.Sprintf("nothing checks this column: did you mean %s? The columns that are checked are %s", meant, strings.Join(graded, ", "))
}

// expectedIn returns the column for what a squashed name says is expected; "" if it says nothing of the kind.
func expectedIn(name string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case !has("expect", "assert", "answer", "truth"):
		return ""
	case has("call", "tool", "action", "trajectory"):
		return "calls"
	case has("state"):
		return "end_state"
	case has("outcome"):
		return "expected_outcome"
	}
	return "says"
}

// squashed returns a name in lower case, without what separates its words.
func squashed(name string) string { return strings.ReplaceAll(normalName(name), "_", "") }

// grader returns the grader of a case; nil if its runs are not graded.
func (o *Options) grader(c *Case) Grader {
	switch {
	case o.Ungraded || len(c.expects) == 0 && o.Grader == nil:
		return nil
	case len(c.expects) == 0:
		return o.Grader
	case o.Grader == nil:
		return allOf(c.expects)
	}
	return All(allOf(c.expects), o.Grader)
}

// checks is what reports say about the rows of an experiment that are not skipped: what was graded of
// them, and what was not.
type checks struct {
	Ungraded bool          `json:"ungraded,omitempty"`
	Rows     int           `json:"rows"`
	Checked  []columnCount `json:"checked,omitempty"`
	Not      []columnCount `json:"not_checked,omitempty"` // the platform grades them
	Unused   []string      `json:"unused_columns,omitempty"`
	Nothing  []string      `json:"expect_nothing,omitempty"` // ids of cases that nothing was graded of
}

// columnCount is in how many rows a column expects something.
type columnCount struct {
	Column string `json:"column"`
	Rows   int    `json:"rows"`
}

// checks returns what is checked in the cases of all shards; nil if nothing is known about it.
func (o *Options) checks(cases []Case) *checks {
	known, unused := o.Ungraded, map[string]bool{}
	s, own := &checks{Ungraded: o.Ungraded}, append(ownColumns(), "expected_outcome", "user_simulator_persona")
	count := func(list *[]columnCount, column string) {
		at := slices.IndexFunc(*list, func(c columnCount) bool { return c.Column == column })
		if at < 0 {
			at, *list = len(*list), append(*list, columnCount{Column: column})
		}
		(*list)[at].Rows++
	}
	for i := range cases {
		c := &cases[i]
		r := c.data()
		if r == nil {
			continue
		}
		if known = known || c.expects != nil; o.skip(c) != "" {
			continue
		}
		s.Rows++
		if !o.Ungraded && len(c.expects) == 0 && o.Grader == nil {
			s.Nothing = append(s.Nothing, c.ID)
		}
		for _, e := range c.expects {
			if o.Ungraded {
				count(&s.Not, e.column)
			} else {
				count(&s.Checked, e.column)
			}
		}
		for _, column := range r.unchecked() {
			count(&s.Not, column)
		}
		for column := range r.Extra {
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

// unchecked returns the slices in which no row expects anything.
func (e *Experiment) unchecked() (list []string) {
	nothing := map[string]bool{}
	for _, id := range e.checks.Nothing {
		nothing[id] = true
	}
	for _, column := range e.SliceBy {
		for _, s := range e.slices(column) {
			if !slices.ContainsFunc(s.Trials, func(t Trial) bool { return t.Verdict != Skipped && !nothing[t.ID] }) {
				list = append(list, s.name())
			}
		}
	}
	return list
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
	add := func(name, text string) {
		list = append(list, fact{Name: name, Text: text, Property: strings.ReplaceAll(name, " ", "_")})
	}
	switch {
	case s.Ungraded:
		add("checked", "nothing: the rows were not graded, so a trial passed if the platform would grade it")
	case len(s.Checked) == 0:
		add("checked", "nothing in "+text.Plural(s.Rows, "row"))
	default:
		add("checked", in(s.Checked))
	}
	if len(s.Not) > 0 {
		add("not checked here", in(s.Not))
	}
	if len(s.Checked) > 0 && len(s.Nothing) > 0 {
		value := fmt.Sprintf("%d of %s; their trials passed if the platform would grade them", len(s.Nothing), text.Plural(s.Rows, "row"))
		if parts := e.unchecked(); len(parts) > 0 {
			value += "; all of " + listed(parts, 10)
		}
		add("expecting nothing", value)
	}
	unused := slices.DeleteFunc(slices.Clone(s.Unused), func(column string) bool { return slices.Contains(e.SliceBy, column) })
	if len(unused) > 0 {
		add("columns that nothing uses", listed(unused, 10))
	}
	return list
}
