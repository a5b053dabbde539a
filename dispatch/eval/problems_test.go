package eval_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// badInput is a file that is changed, and other arguments that cannot be used.
type badInput struct {
	name string
	call func() error
	want []string // the problems, without the folder; hashes and ids are #
}

// problemsOf lists the problems of an error, and other errors beside them.
func problemsOf(err error, dir string) (list []string) {
	var walk func(error)
	walk = func(err error) {
		joined, many := err.(interface{ Unwrap() []error })
		bad, ok := err.(*eval.Error)
		switch {
		case ok && bad.More == 0:
			for _, p := range bad.Problems {
				list = append(list, p.String())
			}
		case many:
			for _, one := range joined.Unwrap() {
				walk(one)
			}
		default:
			list = append(list, fmt.Sprint(err))
		}
	}
	walk(err)
	for i := range list {
		if dir != "" {
			list[i] = strings.ReplaceAll(list[i], dir+string(filepath.Separator), "")
		}
		list[i] = regexp.MustCompile(`(open nope): .*`).ReplaceAllString(list[i], "$1") // the system's words
		list[i] = regexp.MustCompile(`"[0-9a-f]{12}(-2)?"`).ReplaceAllString(list[i], "#")
	}
	return list
}

func (b badInput) check(t *testing.T, dir string) {
	t.Helper()
	got := problemsOf(b.call(), dir)
	if !slices.Equal(got, b.want) {
		t.Errorf("%s:\n  %s\nwant\n  %s", b.name, strings.Join(got, "\n  "), strings.Join(b.want, "\n  "))
	}
}

// Everything that is wrong with options and cases is said at once, each with its member.
func TestBadOptions(t *testing.T) {
	opts := &eval.Options{
		Trials: 10_001, Parallel: -1, Shard: "3/2", AgentVersion: "v\xff",
		GraderVersion: "g\xff", UserVersion: "u\xff",
		Budget: eval.Budget{Calls: -1, Tokens: -2, Time: -3},
	}
	cases := []eval.Case{{ID: "a"}, {ID: "b\xff"}, {ID: "a"}, {ID: "a"}}
	want := []string{
		`Options.Trials: 10001 is not from 1 to 10000`,
		`Options.Shard: "3/2" is not i/n with i from 1 to n, such as 2/4`,
		fmt.Sprintf("Options.Parallel: must not be negative; use 0 for the default of %d", runtime.GOMAXPROCS(0)),
		`Options.Budget.Calls: must not be negative; use 0 for no limit`,
		`Options.Budget.Tokens: must not be negative; use 0 for no limit`,
		`Options.Budget.Time: must not be negative; use 0 for no limit`,
		`Options.AgentVersion: "v\xff" is not in UTF-8`,
		`Options.GraderVersion: "g\xff" is not in UTF-8`,
		`Options.UserVersion: "u\xff" is not in UTF-8`,
		`cases[1].ID: "b\xff" is not in UTF-8`,
		`cases[2].ID: cases[0] has the same ID "a": ids are unique`,
		`cases[3].ID: cases[0] has the same ID "a": ids are unique`,
	}
	noTarget := "dispatchtest: set one of URL, Handler, Agent and Command in Target"
	for _, b := range []badInput{
		{"Plan", func() error { _, err := opts.Plan(cases); return err }, want},
		{"Run", func() error {
			_, err := eval.Run(t.Context(), dispatchtest.Target{}, cases, opts)
			return err
		}, append(slices.Clone(want), noTarget)},
		{"Grade", func() error { _, err := eval.Grade(t.Context(), cases, opts); return err },
			append(slices.Clone(want), "files: no file of results is given")},
	} {
		b.check(t, "")
	}
}

// What is wrong in rows is said at once, in their order: ids, states, rules, and what the base has.
func TestBadRows(t *testing.T) {
	world := proxytest.World{
		Tools:        []schema.Tool{{Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "id"}}},
	}
	platform, err := proxytest.New(world, nil)
	if err != nil {
		t.Fatal(err)
	}
	const csv = "user,id,state,failure_rules\n" +
		"a,one,,\n" +
		"b,one,,\n" +
		`c,two,"{""ordre"":{""1"":{}}}","[{""tool"":""x"",""status"":500}]"` + "\n" +
		"d,one,,\n"
	same := func(row int) string {
		return fmt.Sprintf(`row %d, column id: row 2 has the same id "one": ids are unique`, row)
	}
	cases := func(base dispatchtest.Task) func() error {
		return func() error { _, err := readDataset(t, csv).Cases(base, nil); return err }
	}
	for _, b := range []badInput{
		{"rows", cases(dispatchtest.Task{World: world}), []string{
			same(3),
			`row 4, column state: /ordre/1 "ordre" is not an entity type of the ledger schema`,
			`row 4, column failure_rules: /0 the tool "x" is not declared`,
			same(5),
		}},
		{"platform", cases(dispatchtest.Task{Platform: platform}), []string{
			same(3),
			"row 4: the row has a state or failure rules, which cannot be used with Task.Platform: set Task.World instead",
			same(5),
		}},
		{"proxy", cases(dispatchtest.Task{ProxyURL: "http://127.0.0.1:1"}), []string{
			"Task.ProxyURL: it cannot be used with the worlds of a dataset: each run serves its own", same(3), same(5),
		}},
	} {
		b.check(t, "")
	}
}

// Files of results, shards and experiments that do not fit: every problem has its file and line, and
// one does not hide another.
func TestBadResults(t *testing.T) {
	dir := t.TempDir()
	cases := make([]eval.Case, 12)
	for i := range cases {
		cases[i] = eval.Case{ID: fmt.Sprintf("c%02d", i), Task: dispatchtest.Task{Instruction: "say"}}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	stored := func(name string, change func(*eval.Options)) [][]byte {
		o := eval.Options{Trials: 3, Parallel: 1, ResultsFile: at(name)}
		change(&o)
		run(t, obedient, cases, &o)
		lines := bytes.SplitAfter(read(t, at(name)), []byte("\n"))
		lines = lines[:len(lines)-1]
		slices.SortFunc(lines[1:], bytes.Compare) // case by case
		lines[len(lines)-1] = bytes.TrimSuffix(lines[len(lines)-1], []byte("\n"))
		return lines
	}
	one := stored("1.jsonl", func(o *eval.Options) { o.Shard = "1/2" })
	two := stored("2.jsonl", func(o *eval.Options) { o.Shard = "2/2" })
	stored("other.jsonl", func(o *eval.Options) {
		o.Shard, o.Trials, o.AgentVersion, o.GraderVersion = "2/2", 2, "v2", "g2"
	})
	var first struct{ ID string }
	if err := json.Unmarshal(two[1], &first); err != nil {
		t.Fatal(err)
	}
	// Shard 2: garbage, a trial twice, a trial of shard 1, one of other versions, and trials missing.
	bad := [][]byte{two[0], []byte("garbage\n"), two[1], two[1], one[1]}
	foreign := bytes.Replace(two[2], []byte(`"graders":"","agent":""`), []byte(`"graders":"g","agent":"a"`), 1)
	bad = append(append(bad, foreign), two[4:]...)
	write(t, at("bad.jsonl"), append(bytes.Join(bad, nil), '\n'))
	write(t, at("diary.jsonl"), []byte("Dear diary\n"))
	write(t, at("empty.jsonl"), nil)
	stray := cmp.Or(strings.Split(string(one[1]), `"`)[3], "")

	load := func(names ...string) func() error {
		return func() error {
			files := make([]string, len(names))
			for i, name := range names {
				files[i] = at(name)
			}
			_, err := eval.Load(files...)
			if merged := eval.Merge(io.Discard, files...); fmt.Sprint(merged) != fmt.Sprint(err) {
				t.Errorf("Load says %v, Merge says %v", err, merged)
			}
			return err
		}
	}
	again := func(o eval.Options) func() error {
		return func() error {
			_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, &o)
			if _, planned := o.Plan(cases); fmt.Sprint(planned) != fmt.Sprint(err) {
				t.Errorf("Run says %v, Plan says %v", err, planned)
			}
			return err
		}
	}
	garbage := "bad.jsonl, line 2: the line is not a result: remove it to run its trial again"
	for _, b := range []badInput{
		{"shards", load("1.jsonl", "bad.jsonl"), []string{
			garbage,
			fmt.Sprintf(`bad.jsonl, line 4: case %q, trial 1 is in line 3 too`, first.ID),
			fmt.Sprintf(`bad.jsonl, line 5: case %q, trial 1 is not part of shard 2/2, whose cases have 3 trials`, stray),
			`bad.jsonl, line 6: the result is of another experiment: the version of the graders is "g" and not "", ` +
				`the version of the agent is "a" and not ""`,
			fmt.Sprintf("bad.jsonl: shard 2/2 is not complete: case %q has no trial 3; run the shard again with this file",
				first.ID),
		}},
		{"a shard of another experiment", load("1.jsonl", "other.jsonl", "diary.jsonl", "empty.jsonl", "nope"), []string{
			`other.jsonl, line 1: shard 2/2 is of another experiment than 1.jsonl: the version of the graders is "g2" and not "", ` +
				`the version of the agent is "v2" and not "", each case has 2 trials and not 3`,
			"diary.jsonl, line 1: the line is not the header of a file of results that this version reads",
			"empty.jsonl: the file has no results: run the shard",
			"nope: the file cannot be read: open nope",
			"files: shard 2/2 is missing",
		}},
		{"no file", load(), []string{"files: no file of results is given"}},
		{"resume", again(eval.Options{Trials: 3, Shard: "2/2", ResultsFile: at("bad.jsonl"), FirstFailure: true}), []string{
			garbage,
			fmt.Sprintf(`bad.jsonl, line 4: case %q, trial 1 is in line 3 too`, first.ID),
			fmt.Sprintf(`bad.jsonl, line 5: case %q, trial 1 is not part of shard 2/2, whose cases have 3 trials`, stray),
			`bad.jsonl, line 6: the result is of another experiment: the version of the graders is "g" and not "", ` +
				`the version of the agent is "a" and not ""`,
			"bad.jsonl, line 1: the file has results of another experiment: FirstFailure is false and not true; " +
				"use another file, or remove this one",
		}},
		{"grade", func() error {
			changed := slices.Clone(cases)
			changed[0].Task.World.Seed = 1
			changed[1].Task.Instruction = "other"
			_, err := eval.Grade(t.Context(), changed, nil, at("1.jsonl"), at("2.jsonl"))
			return err
		}, []string{"cases: the cases do not match the results: the dataset is # and not #",
			"cases: the cases do not match the results: the world is # and not #"}},
		{"compare", func() error {
			a := run(t, obedient, cases, &eval.Options{FirstFailure: true})
			b := run(t, obedient, cases[1:], &eval.Options{FirstFailure: true, GraderVersion: "g"})
			_, err := eval.Compare(a, b)
			return err
		}, []string{
			"baseline: it was stopped at first failures, so it has no rates: run it without FirstFailure",
			"candidate: it was stopped at first failures, so it has no rates: run it without FirstFailure",
			"candidate: it cannot be compared with the baseline: the dataset is # and not #",
			`candidate: it cannot be compared with the baseline: the version of the graders is "g" and not ""`,
		}},
	} {
		b.check(t, dir)
	}
}

// A shard that was killed early says in a line for each case which trials are missing.
func TestMissingTrials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := []eval.Case{{ID: "a", Task: dispatchtest.Task{Instruction: "say"}}}
	run(t, obedient, cases, &eval.Options{Trials: 9, Parallel: 1, ResultsFile: file})
	lines := bytes.SplitAfter(read(t, file), []byte("\n"))
	write(t, file, bytes.Join(slices.Concat(lines[:3], lines[4:5], lines[7:8]), nil)) // trials 1, 2, 4, 7
	_, err := eval.Load(file)
	if err == nil || !strings.Contains(err.Error(), `case "a" has no trial 3, 5-6, 8-9;`) {
		t.Error(err)
	}
	if bad, ok := errors.AsType[*eval.Error](err); !ok || len(bad.Problems) != 1 {
		t.Error(err)
	}
}
