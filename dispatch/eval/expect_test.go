package eval_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/text"
)

// A column that looks like an expectation is a mistake, in whatever spelling, unless it is ignored by name.
func TestColumnsThatNothingChecks(t *testing.T) {
	for column, meant := range map[string]string{
		"Says": "says", "says ": "says", " SAYS": "says", "s_a-y_s": "says", "say": "says", "sayss": "says", "syas": "says",
		"groups": "group", "gruop": "group", "ids": "id", "NAME": "name", "names": "name",
		"__expected": "says", "Expected Output": "says", "asserts": "says", "ground-truth": "says", "GroundTruth": "says", "Answer": "says", "correct_answer_2": "says",
		"expected_calls": "calls", "Expected Tools": "calls", "expected_tool_use": "calls", "expectedActions": "calls", "expected_end_states": "end_state", "expected_state": "end_state",
		strings.Repeat("answer", 30): "says",
	} {
		csv := "user,says,group,id,name," + column + "\na,b,,,,c\n"
		if _, err := eval.Read(strings.NewReader(csv)); err != nil || text.Misspelt(strings.ToLower(column), meant) {
			csv = "user," + column + "\na,c\n" // it is not meant if the file has the column that is
		}
		set := readDataset(t, csv)
		cases, err := set.Cases(dispatchtest.Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = set.Expect(cases)
		if toolwire.CodeOf(err) != "invalid_dataset" || !strings.Contains(err.Error(), "row 1, column "+column) || !strings.Contains(err.Error(), "did you mean "+meant+"?") {
			t.Errorf("%q: %v, want %s", column, err, meant)
		}
		if _, err := set.Expect(cases, "other", column); err != nil {
			t.Errorf("%q: it is not ignored: %v", column, err)
		}
	}
	for _, column := range []string{"topic", "essays", "guide", "notes", "saying", "amount", "", "label", "say", "essay", "sayss"} { // the file has says
		set := readDataset(t, "user,says,"+column+"\na,b,\n")
		if _, err := set.Expect(nil); err != nil {
			t.Errorf("%q: %v", column, err)
		}
	}
	// Other spellings of the columns that name a case are mistakes for everybody.
	for _, column := range []string{"ID", "Id", " id", "Group", "GROUP "} {
		if _, err := eval.Read(strings.NewReader("user," + column + "\na,b\n")); err == nil || !strings.Contains(err.Error(), "did you mean "+strings.ToLower(strings.TrimSpace(column))+"?") {
			t.Errorf("%q: %v", column, err)
		}
	}
	// Of JSON Lines the line in which the member is first.
	set := readDataset(t, "{\"user\":\"a\",\"says\":\"b\"}\n\n{\"user\":\"c\",\"Expected\":1}\n")
	if _, err := set.Expect(nil); err == nil || !strings.Contains(err.Error(), "row 3, column Expected: ") {
		t.Error(err)
	}
}

// Rows are graded by what they expect, and all reports say in how many rows that was.
func TestRowsAreGradedByTheirColumns(t *testing.T) {
	const csv = "user,says,expected_outcome,tracked_constraints,topic,note,other\n" +
		"Say A.,\" say a \",completion,[],t,n,\n" + // in letters of either case
		"Say b.,nothing,completion,,t,,\n" +
		"Say c.,,refusal,,t,,\n" +
		"Say d.,,,,t,,\n"
	set := readDataset(t, csv)
	cases, err := set.Cases(dispatchtest.Task{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := set.Expect(cases, "note"); rows != 3 || err != nil {
		t.Fatalf("%d rows, %v", rows, err)
	}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	opts := &eval.Options{Grader: eval.Says("Say"), ResultsFile: file}
	e := run(t, echo, cases, opts)
	if got := ended(e); got != ". x . ." {
		t.Errorf("%s", got)
	}
	want := []string{"checked: says in 2, expected_outcome in 1 of 4 rows", "not checked here: expected_outcome in 2, tracked_constraints in 1 of 4 rows", "columns that nothing uses: topic"}
	check := func(e *eval.Experiment, want ...string) {
		t.Helper()
		var summary, junit, doc bytes.Buffer
		if err := e.WriteSummary(&summary, false); err != nil {
			t.Fatal(err)
		}
		if err := e.WriteJUnit(&junit); err != nil {
			t.Fatal(err)
		}
		if err := e.WriteJSON(&doc); err != nil {
			t.Fatal(err)
		}
		page := textOf(written(t, e))
		for _, text := range want {
			name, value, _ := strings.Cut(text, ": ")
			property := `<property name="` + strings.ReplaceAll(name, " ", "_") + `" value="` + value + `"></property>`
			if !strings.Contains(summary.String(), "\n"+text+"\n") || !strings.Contains(junit.String(), property) || !strings.Contains(page, text) {
				t.Errorf("%q is missing in\n%s%s%.2000s", text, summary.String(), junit.String(), page)
			}
		}
		if n := strings.Count(summary.String(), "\nchecked: ") + strings.Count(summary.String(), "hecked here: ") + strings.Count(summary.String(), "\ncolumns that"); n != len(want) {
			t.Errorf("%d lines, want %d:\n%s", n, len(want), summary.String())
		}
		var parsed struct {
			Checks *struct {
				Ungraded bool
				Rows     int
				Checked  []struct {
					Column string
					Rows   int
				}
			}
		}
		if err := json.Unmarshal(doc.Bytes(), &parsed); err != nil || (parsed.Checks != nil) != (len(want) > 0) {
			t.Errorf("%v: %+v", err, parsed)
		}
		if c := parsed.Checks; c != nil && (c.Rows != 4 || !c.Ungraded && (len(c.Checked) != 2 || c.Checked[0].Column != "says" || c.Checked[0].Rows != 2)) {
			t.Errorf("%+v", c)
		}
	}
	check(e, want...)
	check(load(t, file), want...)
	e.SliceBy = []string{"topic"}
	check(e, want[:2]...)

	again, err := eval.Grade(t.Context(), cases, &eval.Options{}, file) // by the columns alone
	if err != nil || ended(again) != ". x . ." {
		t.Fatalf("%v: %s", err, ended(again))
	}
	check(again, want...)

	ungraded := run(t, echo, cases, &eval.Options{Grader: eval.Says("nobody says this"), Ungraded: true})
	if got := ended(ungraded); got != ". . . ." {
		t.Errorf("%s", got)
	}
	check(ungraded, "checked: nothing: the rows were not graded, so a trial passed if the platform would grade it",
		"not checked here: expected_outcome in 3, says in 2, tracked_constraints in 1 of 4 rows", "columns that nothing uses: topic")
	graded := run(t, echo, cases, nil)
	for _, pair := range [][2]*eval.Experiment{{ungraded, ungraded}, {graded, ungraded}, {ungraded, graded}} {
		if g := compare(t, pair[0], pair[1]).Bound("", 1); g.Verdict != eval.Undecided || g.Reason != "the rows were not graded" {
			t.Errorf("%+v", g)
		}
	}
	// Rows that expect nothing are named, with the slices that have no others.
	silent := readDataset(t, "user,says,topic\nSay a.,say,t\nSay b.,,t\nSay c.,,u\n")
	cases, err = silent.Cases(dispatchtest.Task{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := silent.Expect(cases); rows != 1 || err != nil {
		t.Fatalf("%d rows, %v", rows, err)
	}
	e = run(t, echo, cases, &eval.Options{ResultsFile: file + "2"})
	for _, e := range []*eval.Experiment{e, load(t, file+"2")} {
		e.SliceBy = []string{"topic"}
		const want = "\nexpecting nothing: 2 of 3 rows; their trials passed if the platform would grade them; all of topic=u\n"
		if got := reports(t, e); !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	e = run(t, echo, cases, &eval.Options{Grader: eval.Says("Say")}) // a grader of the caller's looks at them
	if got := reports(t, e); strings.Contains(got, "expecting nothing") {
		t.Error(got)
	}

	unknown, err := set.Cases(dispatchtest.Task{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(run(t, echo, unknown, nil)) // a grader of the caller's may use any column
}
