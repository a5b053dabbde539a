package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// shopCases are cases whose trials call tools, change the world, fail, and say what terminals and
// JSON have to escape.
func shopCases(t *testing.T) []eval.Case {
	return casesOf(t, "user,expected_outcome,turn_mode,user_simulator_persona\ncall get_order,,,\n\"shout <&>\u2028 \x01\",refusal,,\nfail,,,\ncall get_ordre,,,\nnever,,model_as_user,a clerk\nboth,,,\ncall refund,,,\n",
		dispatchtest.Task{World: proxytest.World{
			InitialState: `{"order":{"4521":{"total":1.50}}}`,
			Behaviors: map[string]proxytest.Behavior{
				"get_order": proxytest.Canned(`{"status":"<shipped>"}`),
				"refund":    proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
			},
		}})
}

func noShouting(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
	if strings.Contains(r.FinalResponse, "shout") {
		return errors.New("it says\n" + r.FinalResponse)
	}
	return nil
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, files ...string) *eval.Experiment {
	t.Helper()
	e, err := eval.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// reports are all reports, without times.
func reports(t *testing.T, e *eval.Experiment) string {
	t.Helper()
	var b bytes.Buffer
	if err := errors.Join(e.WriteSummary(&b, false), e.WriteJSON(&b), e.WriteJUnit(&b)); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(` +\d+(\.\d)? m?s`).ReplaceAllString(b.String(), " T")
	text = regexp.MustCompile(`[0-9.]+ m?s\)|(time|timestamp)="[^"]*"|"(took_ms|started)": [^,]*`).ReplaceAllString(text, "T")
	text = regexp.MustCompile(`(?m)(\]|interval) +(\d+(?:, unknown in \d+)?|trials)$`).ReplaceAllString(text, "$1  $2") // the width of seconds
	text = regexp.MustCompile(`(?s)"name": "seconds",.*?\}|"seconds": [0-9.e-]+|"score_seconds" value="[^"]*"|(?-s:\nseconds .*)`).ReplaceAllString(text, "T")
	return regexp.MustCompile(`(?m)^( +T |slowest).*\n`).ReplaceAllString(text, "") // in the order of the times
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// What is loaded from a file says what the experiment says whose results are in memory.
func TestResultsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	opts := eval.Options{Trials: 2, Grader: noShouting, Parallel: 4}
	inMemory := run(t, obedient, shopCases(t), &opts)
	opts.ResultsFile, opts.AgentVersion, opts.GraderVersion = file, "v1", "g1"
	seen := 0
	opts.OnTrial = func(trial eval.Trial) {
		if trial.Result != nil {
			seen++
		}
	}
	written := run(t, obedient, shopCases(t), &opts)
	if seen != 12 || slices.ContainsFunc(written.Trials, func(trial eval.Trial) bool { return trial.Result != nil }) {
		t.Errorf("%d results at OnTrial", seen)
	}
	loaded := load(t, file)
	if *loaded.Fingerprint() != *written.Fingerprint() || loaded.Fingerprint().Agent != "v1" || loaded.Fingerprint().Graders != "g1" ||
		loaded.Fingerprint().Dataset != inMemory.Fingerprint().Dataset || !loaded.Started.Equal(written.Started) || loaded.Took <= 0 {
		t.Errorf("%+v", loaded.Fingerprint())
	}
	want := reports(t, inMemory)
	for name, e := range map[string]*eval.Experiment{"written": written, "loaded": loaded} {
		if got := reports(t, e); got != want {
			t.Errorf("%s: %s", name, firstDifference(got, want))
		}
	}
	for i, line := range bytes.Split(bytes.TrimSpace(read(t, file)), []byte("\n")) {
		parsed := struct{ Fingerprint any }{new(eval.Experiment).Fingerprint()}
		if err := json.Unmarshal(line, &parsed); err != nil || !reflect.DeepEqual(parsed.Fingerprint, written.Fingerprint()) {
			t.Errorf("line %d: %+v, error %v", i+1, parsed, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := loaded.WriteJSON(new(bytes.Buffer)); err == nil {
		t.Error("a report without its results is written")
	}
}

// A program that is killed at any byte leaves a file that another run completes: every trial is there
// once, and none runs again that was written.
func TestResumeAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, csvOf("..", ".x", "xx"), dispatchtest.Task{})
	var ran atomic.Int64
	counted := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		ran.Add(1)
		return unsteady()(ctx, run)
	}
	opts := &eval.Options{Trials: 2, ResultsFile: file, Parallel: 1}
	run(t, counted, cases, opts)
	whole := read(t, file)
	for cut := 0; cut <= len(whole); cut += testkit.Size(23, 1) {
		if next := bytes.IndexByte(whole[cut:], '\n'); next == 5 {
			cut += 4 // and around the ends of lines
		} else if next >= 0 && next < 5 {
			cut -= testkit.Size(22, 0)
		}
		write(t, file, whole[:cut])
		lines := bytes.Count(whole[:cut], []byte("\n"))
		plan, err := opts.Plan(cases)
		if stored := max(lines-1, 0); err != nil || plan.Stored() != stored || plan.Trials != 6-stored {
			t.Fatalf("cut at %d: %+v, error %v", cut, plan, err)
		}
		ran.Store(0)
		run(t, counted, cases, opts)
		if want := 6 - max(lines-1, 0); ran.Load() != int64(want) {
			t.Fatalf("cut at %d, after %d lines: %d trials ran", cut, lines, ran.Load())
		}
		if e := load(t, file); len(e.Trials) != 6 {
			t.Fatalf("cut at %d: %d trials", cut, len(e.Trials))
		}
	}
	write(t, file, append(bytes.Clone(whole), make([]byte, 100)...)) // as after a loss of power
	run(t, counted, cases, opts)
	if !bytes.Equal(read(t, file), whole) {
		t.Error("NUL bytes at the end are not removed")
	}
}

// Trials that were cancelled run when the experiment is resumed. With FirstFailure a stored failure
// stops its case.
func TestResumeAfterCancellation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, csvOf("...", "x..", "..."), dispatchtest.Task{})
	ctx, cancel := context.WithCancel(t.Context())
	opts := eval.Options{Trials: 3, FirstFailure: true, ResultsFile: file, Parallel: 1}
	first := opts
	first.OnTrial = func(trial eval.Trial) {
		if trial.Verdict == eval.Failed {
			cancel()
		}
	}
	e, err := eval.Run(ctx, dispatchtest.Target{Agent: unsteady()}, cases, &first)
	if err != nil || ended(e) != "... x ccc" {
		t.Fatal(ended(e), err)
	}
	if _, err := eval.Load(file); err == nil || !strings.Contains(err.Error(), "shard 1/1 is not complete: case ") {
		t.Error(err)
	}
	ran := 0
	opts.OnTrial = func(eval.Trial) { ran++ }
	if e := run(t, unsteady(), cases, &opts); ended(e) != "... x ..." || ran != 3 {
		t.Error(ended(e), ran)
	}
	if e := load(t, file); ended(e) != "... x ..." || len(e.Cases()) > 0 || !e.Results()[1].Stopped {
		t.Error(ended(e))
	}
}

// A file of another experiment, or of something else, is refused and stays as it is.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, csvOf("a", "b"), dispatchtest.Task{})
	good := eval.Options{Trials: 2, ResultsFile: file, AgentVersion: "v1"}
	run(t, obedient, cases, &good)
	whole := read(t, file)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, tt := range map[string]struct {
		content []byte
		cases   []eval.Case
		change  func(*eval.Options)
		want    string
	}{
		"agent":      {whole, cases, func(o *eval.Options) { o.AgentVersion = "v2" }, `line 1: the file has results of another experiment: the version of the agent is "v1" and not "v2"`},
		"graders":    {whole, cases, func(o *eval.Options) { o.GraderVersion = "g" }, `the version of the graders is "" and not "g"`},
		"dataset":    {whole, casesOf(t, csvOf("a", "c"), dispatchtest.Task{}), nil, `the dataset is "`},
		"world":      {whole, casesOf(t, csvOf("a", "b"), dispatchtest.Task{World: proxytest.World{Seed: 1}}), nil, `the world is "`},
		"trials":     {whole, cases, func(o *eval.Options) { o.Trials = 1 }, "each case has 2 trials and not 1"},
		"shard":      {whole, cases, func(o *eval.Options) { o.Shard = "1/2" }, "the shard is 1/1 and not 1/2"},
		"early":      {whole, cases, func(o *eval.Options) { o.FirstFailure = true }, "FirstFailure is false and not true"},
		"twice":      {bytes.Join([][]byte{whole, lines[2]}, nil), cases, nil, "line 6: case "},
		"other line": {bytes.Replace(whole, []byte(`"agent":"v1"},"started`), []byte(`"agent":"v0"},"started`), 1), cases, nil, "line 2: the result is of another experiment"},
		"more cases": {bytes.Replace(whole, []byte(`"cases":{`), []byte(`"cases":{"c":2,`), 1), cases, nil, "line 1: the file has results of another experiment: the cases of the shard are others"},
		"less cases": {regexp.MustCompile(`"cases":\{"\w+":\d,`).ReplaceAll(lines[0], []byte(`"cases":{`)), cases, nil, "line 1: the file has results of another experiment: the cases of the shard are others"},
		"garbage":    {bytes.Join([][]byte{lines[0], lines[1], []byte("garbage\n"), lines[2]}, nil), cases, nil, "line 3: the line is not a result"},
		"a diary":    {[]byte("Dear diary"), cases, nil, "line 1: the file does not begin as a file of results"},
		"too many":   {bytes.Replace(whole, []byte(`"trials":2`), []byte(`"trials":10001`), 1), cases, nil, "line 1: the line is not the header of a file of results"},
		"older":      {bytes.Replace(whole, []byte("results 2"), []byte("results 1"), 1), cases, nil, `line 1: the file has the format "toolwire eval results 1" and this version reads "toolwire eval results 2": run the experiment again`},
		"no score":   {bytes.Replace(whole, []byte(`"scores":{"calls":0`), []byte(`"scores":{"s":1.5,"calls":0`), 1), cases, nil, "line 2: the line is not a result"},
		"no measure": {bytes.Replace(whole, []byte(`"scores":{"calls":0`), []byte(`"scores":{"calls":-1`), 1), cases, nil, "line 2: the line is not a result"},
		"no tokens":  {bytes.Replace(whole, []byte(`"scores":{"calls":0`), []byte(`"usage":[{"input":-1,"output":0}],"scores":{"calls":0`), 1), cases, nil, "line 2: the line is not a result"},
		"too much":   {bytes.Replace(whole, []byte(`"scores":{"calls":0`), []byte(`"scores":{"calls":1e300`), 1), cases, nil, "line 2: the line is not a result"},
		"CSV":        {[]byte("user\na\n"), cases, nil, "line 1: the line is not the header of a file of results"},
	} {
		write(t, file, tt.content)
		o := good
		if tt.change != nil {
			tt.change(&o)
		}
		e, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, tt.cases, &o)
		if e != nil || toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "results.jsonl") {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(tt.want, "line 1: the file has results") && strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: each result repeats what is wrong with the file: %v", name, err)
		}
		if bad, _ := errors.AsType[*eval.Error](err); strings.Contains(tt.want, "is not the header") && len(bad.Problems) > 1 {
			t.Errorf("%s: a header that cannot be used is compared: %v", name, err)
		}
		if strings.Contains(err.Error(), "are others") != strings.Contains(tt.want, "are others") {
			t.Errorf("%s: other cases follow from another dataset or shard: %v", name, err)
		}
		if !bytes.Equal(read(t, file), tt.content) {
			t.Errorf("%s: the file has changed", name)
		}
	}
	if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, &eval.Options{ResultsFile: dir}); err == nil {
		t.Error("a folder is a file of results")
	}
	for _, shard := range []string{"0/2", "3/2", "1", "1/2/3", "1/", "/", "01/2", "1/10001", "-1/2"} {
		if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, &eval.Options{Shard: shard}); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
			t.Errorf("shard %s: %v", shard, err)
		}
	}
}

// The shards of a dataset are disjoint and complete, and together they are the whole. What is lost,
// there twice, or of another experiment is named.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	instructions := make([]string, 40)
	for i := range instructions {
		instructions[i] = fmt.Sprintf("say %d", i)
	}
	instructions[7] = "fail"
	cases := casesOf(t, csvOf(instructions...), dispatchtest.Task{})
	opts := eval.Options{Trials: 2, AgentVersion: "v1"}
	whole := opts
	whole.ResultsFile = filepath.Join(dir, "whole.jsonl")
	alone := run(t, obedient, cases, &whole)
	var files []string
	for i := range 4 {
		o := opts
		o.Shard, o.ResultsFile = fmt.Sprintf("%d/4", i+1), filepath.Join(dir, fmt.Sprintf("%d.jsonl", i+1))
		e := run(t, obedient, cases, &o)
		if n := len(e.Trials); n != 20 || *e.Fingerprint() != *alone.Fingerprint() {
			t.Errorf("shard %d has %d trials", i+1, n)
		}
		files = append(files, o.ResultsFile)
	}
	shuffled := []string{files[2], files[0], files[3], files[1]}
	want := reports(t, load(t, whole.ResultsFile))
	if got := reports(t, load(t, shuffled...)); got != want {
		t.Errorf("the shards together: %s", firstDifference(got, want))
	}
	merged := filepath.Join(dir, "merged.jsonl")
	var b, again bytes.Buffer
	if err := errors.Join(eval.Merge(&b, shuffled...), eval.Merge(&again, files...)); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("the order of the files matters: %v", err)
	}
	write(t, merged, b.Bytes())
	if got := reports(t, load(t, merged)); got != want {
		t.Errorf("the merged file: %s", firstDifference(got, want))
	}

	other := func(name string, change func(*eval.Options)) string {
		o := opts
		o.Shard, o.ResultsFile = "2/4", filepath.Join(dir, name)
		change(&o)
		run(t, obedient, cases, &o)
		return o.ResultsFile
	}
	killed := filepath.Join(dir, "killed.jsonl")
	data := read(t, files[1])
	write(t, killed, data[:len(data)-10])
	lines := bytes.SplitAfter(data, []byte("\n"))
	doubled := filepath.Join(dir, "doubled.jsonl")
	write(t, doubled, append(bytes.Clone(data), lines[1]...))
	stray := filepath.Join(dir, "stray.jsonl")
	write(t, stray, append(bytes.Clone(data), bytes.SplitAfter(read(t, files[2]), []byte("\n"))[1]...))
	third := filepath.Join(dir, "third.jsonl")
	write(t, third, append(bytes.Clone(data), bytes.Replace(lines[1], []byte(`"trial":`), []byte(`"trial":3`), 1)...))
	empty := filepath.Join(dir, "empty.jsonl")
	write(t, empty, nil)
	for name, tt := range map[string]struct {
		files []string
		want  []string
	}{
		"missing":       {[]string{files[0], files[3]}, []string{"shard 2/4 is missing", "shard 3/4 is missing"}},
		"doubled":       {append([]string{files[1]}, files...), []string{"2.jsonl, line 1: shard 2/4 is in "}},
		"agent":         {[]string{files[0], other("agent.jsonl", func(o *eval.Options) { o.AgentVersion = "v2" }), files[2], files[3]}, []string{`agent.jsonl, line 1: shard 2/4 is of another experiment than `, `the version of the agent is "v2" and not "v1"`, "shard 2/4 is missing"}},
		"trials":        {[]string{files[0], other("trials.jsonl", func(o *eval.Options) { o.Trials = 1 }), files[2], files[3]}, []string{"each case has 1 trial and not 2"}},
		"division":      {[]string{files[0], other("of5.jsonl", func(o *eval.Options) { o.Shard = "2/5" }), files[2], files[3]}, []string{"the shard is 2/5, one of 5 and not of 4"}},
		"killed":        {[]string{files[0], killed, files[2], files[3]}, []string{"killed.jsonl: shard 2/4 is not complete: case ", "trial "}},
		"doubled trial": {[]string{files[0], doubled, files[2], files[3]}, []string{"doubled.jsonl, line ", "is in line 2 too"}},
		"stray":         {[]string{files[0], stray, files[2], files[3]}, []string{"is not part of shard 2/4"}},
		"a third trial": {[]string{files[0], third, files[2], files[3]}, []string{"third.jsonl, line ", "whose cases have 2 trials"}},
		"not there":     {[]string{files[0], filepath.Join(dir, "nope"), files[2], files[3]}, []string{"nope: the file cannot be read", "shard 2/4 is missing"}},
		"empty":         {[]string{files[0], empty, files[2], files[3]}, []string{"empty.jsonl: the file has no results", "shard 2/4 is missing"}},
		"none":          {nil, []string{"no file of results is given"}},
	} {
		e, err := eval.Load(tt.files...)
		if e != nil || toolwire.CodeOf(err) != "invalid_results" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is missing in %v", name, part, err)
			}
		}
		if got := eval.Merge(&b, tt.files...); got == nil || got.Error() != err.Error() {
			t.Errorf("%s: Merge says %v", name, got)
		}
	}
	full := errors.New("disk full")
	if err := eval.Merge(failingWriter{full}, files...); !errors.Is(err, full) {
		t.Error(err)
	}
}

// An experiment is compared only with one of the same dataset, graders and world.
func TestCompareFingerprints(t *testing.T) {
	a := run(t, obedient, casesOf(t, csvOf("a", "b"), dispatchtest.Task{}), &eval.Options{AgentVersion: "v1"})
	b := run(t, obedient, casesOf(t, csvOf("a", "b"), dispatchtest.Task{}), &eval.Options{AgentVersion: "v2"})
	if _, err := eval.Compare(a, b); err != nil {
		t.Error(err)
	}
	b = run(t, obedient, casesOf(t, csvOf("a", "c"), dispatchtest.Task{}), &eval.Options{GraderVersion: "g2"})
	if _, err := eval.Compare(a, b); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), `the version of the graders is "g2" and not ""`) || !strings.Contains(err.Error(), "the dataset is") {
		t.Error(err)
	}
}

// Load returns the stored time exactly. No float64 is 1.017, so truncating it gives 1.016999.
func TestLoadTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, obedient, casesOf(t, csvOf("a"), dispatchtest.Task{}), &eval.Options{ResultsFile: file})
	stored := read(t, file)
	field := regexp.MustCompile(`"verdict":"passed","took_ms":[0-9.]+`)
	for n := 1; n < 3000; n += 7 {
		text := fmt.Sprintf(`"verdict":"passed","took_ms":%v`, float64(n)/1000)
		if err := os.WriteFile(file, field.ReplaceAll(stored, []byte(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := eval.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Trials[0].Took; got != time.Duration(n)*time.Microsecond {
			t.Errorf("%d microseconds became %v", n, got)
		}
	}
}

// Stored results are graded again without a dispatch: into the same bytes by the same grader, and
// into other verdicts by another.
func TestGrade(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := shopCases(t)
	opts := eval.Options{Trials: 2, Grader: noShouting, ResultsFile: file, GraderVersion: "1", AgentVersion: "v1"}
	first := run(t, obedient, cases, &opts)
	opts.ResultsFile = filepath.Join(dir, "again.jsonl")
	again, err := eval.Grade(t.Context(), cases, &opts, file)
	if err != nil || ended(again) != ended(first) || !bytes.Equal(read(t, file), read(t, opts.ResultsFile)) {
		t.Errorf("%s and %s, error %v\n%s\n%s", ended(again), ended(first), err, read(t, file), read(t, opts.ResultsFile))
	}
	opts.ResultsFile, opts.GraderVersion, opts.Parallel = filepath.Join(dir, "strict.jsonl"), "2", 3
	opts.Grader = func(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
		switch {
		case c.Task.Instruction == "call refund" && string(r.State.Entities["order"]["4521"]) != `{"status":"refunded","total":1.50}`:
			return fmt.Errorf("the state is %s", r.State.Entities)
		case c.Task.Instruction == "call get_order" && (len(r.Calls) != 1 || r.Calls[0].Order == 0):
			return errors.New("the calls are lost")
		case c.Cell("expected_outcome") == "refusal":
			panic("no")
		case c.Task.Instruction == "both":
			runtime.Goexit()
		}
		return nil
	}
	e, err := eval.Grade(t.Context(), cases, &opts, file)
	if err != nil || e.Fingerprint().Graders != "2" || e.Fingerprint().Agent != "v1" {
		t.Fatal(err)
	}
	if got := ended(e); got != ".. !! xx xx s xx .." { // both called an undeclared tool
		t.Error(got, e.Trials[12].Reason)
	}
	if got := ended(load(t, opts.ResultsFile)); got != ended(e) {
		t.Error(got)
	}
	if _, err := eval.Grade(t.Context(), cases, &opts, file); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file is replaced: %v", err)
	}
	opts.ResultsFile = ""
	if _, err := eval.Grade(t.Context(), cases[1:], &opts, file); toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), "the cases do not match the results") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("lunch"))
	opts.Grader = func(ctx context.Context, _ eval.Case, _ *dispatchtest.Result) error { return ctx.Err() }
	if _, err := eval.Grade(ctx, cases, &opts, file); err == nil || err.Error() != "lunch" {
		t.Error(err)
	}
}

// A grader that ends its goroutine decides about its trial only, in a run and when results are graded again.
func TestGraderThatLeaves(t *testing.T) {
	dir := t.TempDir()
	cases := casesOf(t, csvOf("leave", "stay"), dispatchtest.Task{})
	opts := eval.Options{Trials: 2, FirstFailure: true, ResultsFile: filepath.Join(dir, "run.jsonl"), Grader: func(_ context.Context, c eval.Case, _ *dispatchtest.Result) error {
		if c.Task.Instruction == "leave" {
			runtime.Goexit()
		}
		return nil
	}}
	if got := ended(run(t, obedient, cases, &opts)); got != "! .." {
		t.Errorf("the run: %s", got)
	}
	file := opts.ResultsFile
	opts.ResultsFile = filepath.Join(dir, "graded.jsonl")
	if e, err := eval.Grade(t.Context(), cases, &opts, file); err != nil || ended(e) != "! .." || ended(load(t, opts.ResultsFile)) != "! .." {
		t.Errorf("graded again: %v", err)
	}
}

// The results of shards that are graded again are in the order of the files and their lines.
func TestGradeKeepsTheOrder(t *testing.T) {
	dir := t.TempDir()
	cases := casesOf(t, csvOf("a", "b", "c", "d", "e", "f", "g"), dispatchtest.Task{})
	opts := eval.Options{Parallel: 1}
	var files []string
	var want []byte
	for _, opts.Shard = range []string{"2/2", "1/2"} {
		opts.ResultsFile = filepath.Join(dir, fmt.Sprintf("%c.jsonl", opts.Shard[0]))
		run(t, obedient, cases, &opts)
		_, lines, _ := bytes.Cut(read(t, opts.ResultsFile), []byte("\n"))
		files, want = append(files, opts.ResultsFile), append(want, lines...)
	}
	opts.Shard, opts.ResultsFile, opts.Parallel = "", filepath.Join(dir, "graded.jsonl"), 3
	if _, err := eval.Grade(t.Context(), cases, &opts, files...); err != nil {
		t.Fatal(err)
	}
	if _, got, _ := bytes.Cut(read(t, opts.ResultsFile), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("the lines are\n%s\nwant\n%s", got, want)
	}
}

// The cells of a row that no dataset has have no secrets of the target either when results are graded again.
func TestGradeOfARowOfTheCaller(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	handler, err := dispatch.New(obedient, &dispatch.Options{Tokens: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	cases := []eval.Case{{ID: "a", Columns: map[string]string{"key": "the " + secret, "expected_outcome": "the " + secret}, Task: dispatchtest.Task{Instruction: "say"}}}
	file, again := filepath.Join(t.TempDir(), "results.jsonl"), filepath.Join(t.TempDir(), "again.jsonl")
	target := dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}
	if _, err := eval.Run(t.Context(), target, cases, &eval.Options{ResultsFile: file}); err != nil {
		t.Fatal(err)
	}
	e, err := eval.Grade(t.Context(), cases, &eval.Options{ResultsFile: again}, file)
	if err != nil {
		t.Fatal(err)
	}
	e.SliceBy = []string{"expected_outcome", "key"}
	if text := string(read(t, again)) + reports(t, e) + reports(t, load(t, file)); strings.Contains(text, secret) || strings.Count(text, "the [redacted]") < 3 {
		t.Errorf("the secret is written, or not said to be hidden:\n%s", text)
	}
	if cases[0].Columns["key"] != "the "+secret {
		t.Error("the caller's row has changed")
	}
}

// held returns how many bytes are in use.
func held() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Trials that are loaded share equal texts: 400 with a reason of 10 KB hold less than half of 4 MB.
func TestLoadKeepsEqualTextsOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	reason := errors.New(strings.Repeat("no ", 3400))
	run(t, obedient, casesOf(t, csvOf("say"), dispatchtest.Task{}), &eval.Options{Trials: 400, ResultsFile: file,
		Grader: func(context.Context, eval.Case, *dispatchtest.Result) error { return reason }})
	before := held()
	e := load(t, file)
	if more := held() - before; more > 2<<20 || e.Trials[399].Reason != reason.Error() {
		t.Errorf("%d bytes more are in use", more)
	}
}

// heldWriter notes how much is in use at most while it is written to.
type heldWriter struct{ written, next, most int }

func (w *heldWriter) Write(b []byte) (int, error) {
	if w.written += len(b); w.written > w.next {
		w.next, w.most = w.written+500_000, max(w.most, held())
	}
	return len(b), nil
}

// Memory does not grow with the results: 10,000 rows (1,500 without TOOLWIRE_NIGHTLY) with 10 KB of
// results each hold less than 400 bytes per row while they run, most of it for scores, and less than 200
// while they are graded again and while reports are written.
func TestFlatMemory(t *testing.T) {
	if testkit.Race && !testkit.Nightly {
		t.Skip("takes half a minute with the race detector, with which other tests run the same code")
	}
	rows := testkit.Size(1500, 10_000)
	file := filepath.Join(t.TempDir(), "results.jsonl")
	instructions := make([]string, rows)
	for i := range instructions {
		instructions[i] = fmt.Sprintf("say %d", i)
	}
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: strings.Repeat("long ", 400)}, nil
	}
	check := func(what string, most, grown, rows int) {
		if perRow := grown / rows; perRow > most {
			t.Errorf("%s: %d bytes are held for each row", what, perRow)
		} else {
			t.Logf("%s: %d bytes are held for each row", what, perRow)
		}
	}
	trials, early, late := 0, 0, 0
	note := func() {
		if trials++; trials == rows/5 {
			early = held()
		} else if trials == rows-2 {
			late = held()
		}
	}
	cases := casesOf(t, csvOf(instructions...), dispatchtest.Task{})
	e := run(t, agent, cases, &eval.Options{ResultsFile: file, Parallel: 2, OnTrial: func(eval.Trial) { note() }})
	if !e.OK() {
		t.Error(verdicts(e))
	}
	check("while it runs", 400, late-early, rows*4/5)
	before := held()
	loaded := load(t, file)
	check("loaded", 2500, held()-before, rows)
	trials = 0
	again, err := eval.Grade(t.Context(), cases, &eval.Options{
		Parallel: 1, ResultsFile: file + ".again", Grader: func(context.Context, eval.Case, *dispatchtest.Result) error { note(); return nil },
	}, file)
	if err != nil || !again.OK() {
		t.Error(err)
	}
	check("while it is graded again", 200, late-early, rows*4/5)
	for what, write := range map[string]func(io.Writer) error{"JSON": loaded.WriteJSON, "JUnit": loaded.WriteJUnit} {
		before = held()
		var w heldWriter
		if err := write(&w); err != nil || w.written < 2000*rows {
			t.Errorf("%s: %d bytes, error %v", what, w.written, err)
		}
		check("while "+what+" is written", 200, w.most-before, rows)
	}
	t.Logf("the file has %d bytes for each row", len(read(t, file))/rows)
	runtime.KeepAlive(e)
	runtime.KeepAlive(again)
}

// A file of results does not have the auth value that the target was called with, although the final
// response of a careless agent has it, and graders see it.
func TestResultsHaveNoSecrets(t *testing.T) {
	const secret = "s3cr\\t-<value>-0123456789"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		said, _ := json.Marshal("you sent " + r.Header.Get("Authorization"))
		arguments, _ := json.Marshal(map[string]any{"key": secret, secret: map[string]string{secret + "2": "value"}})
		call := bytes.NewReader(arguments)
		if base := r.Header.Get("X-Pipelines-Odyssey-Proxy-Url"); base != "" {
			request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, base+"/tools/get_order", call)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Authorization", "Bearer "+r.Header.Get("X-Pipelines-Run-Token"))
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
		}
		_, _ = fmt.Fprintf(w, `{"final_response":%s,"messages":[{"role":"assistant","content":%s}]}`, said, said)
	})
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}})
	grade := func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
		if len(r.Calls) != 1 || !strings.Contains(r.FinalResponse, secret) {
			return errors.New("the grader was not given the response")
		}
		return nil
	}
	e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}, cases, &eval.Options{ResultsFile: file, Grader: grade})
	if err != nil || !e.OK() {
		t.Fatal(err, e)
	}
	text := string(read(t, file))
	if strings.Contains(text, "0123456789") || strings.Count(text, "you sent [redacted]") < 3 {
		t.Error(text)
	}
	var b bytes.Buffer
	if err := load(t, file).WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"final_response": "you sent [redacted]"`) {
		t.Errorf("%v: %s", err, b.String())
	}

	reason := filepath.Join(t.TempDir(), "reasons.jsonl")
	quote := func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error { return errors.New(r.FinalResponse) }
	e, err = eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}, cases, &eval.Options{ResultsFile: reason, Grader: quote})
	if err != nil || e.Trials[0].Reason != "you sent [redacted]" {
		t.Fatal(err, e)
	}
	if text := string(read(t, reason)); strings.Contains(text, "0123456789") || !strings.Contains(text, `"reason":"you sent [redacted]"`) {
		t.Error(text)
	}
}

// A last line that a machine without power has filled with zeros is removed. A file that is not there
// has a code.
func TestResultsAfterAPowerFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, csvOf("a", "b"), dispatchtest.Task{})
	opts := &eval.Options{ResultsFile: file, Parallel: 1}
	run(t, obedient, cases, opts)
	whole := read(t, file)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	write(t, file, append(append(slices.Clone(whole[:last]), make([]byte, 100)...), '\n'))
	if _, err := eval.Load(file); toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), "is not complete") {
		t.Errorf("Load: %v", err)
	}
	if e := run(t, obedient, cases, opts); ended(e) != ". ." || ended(load(t, file)) != ". ." {
		t.Error(ended(e))
	}
	if _, err := eval.Load(file + "x"); toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a file that is not there: %q: %v", toolwire.CodeOf(err), err)
	}
}

// A result that cannot be read is an error with its place, whoever reads it.
func TestResultsThatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, csvOf("a", "call get_order"), dispatchtest.Task{})
	run(t, obedient, cases, &eval.Options{ResultsFile: file})
	whole := read(t, file)
	changed := bytes.Replace(whole, []byte(`"turns":[`), []byte(`"turns":7,"turn":[`), 1)
	for want, change := range map[string]func(){
		": the result of case ": func() {},
		", byte ":               func() { write(t, file, nil) },
		" has changed: ":        func() { write(t, file, bytes.Repeat([]byte(" "), len(changed))) },
	} {
		write(t, file, changed)
		e := load(t, file)
		change()
		_, graded := eval.Grade(t.Context(), cases, nil, file)
		if want == ": the result of case " && (graded == nil || !strings.Contains(graded.Error(), file+want)) {
			t.Errorf("Grade: %v", graded)
		}
		for name, err := range map[string]error{
			"JSON": e.WriteJSON(io.Discard), "JUnit": e.WriteJUnit(io.Discard), "page": e.WriteHTML(io.Discard, nil),
		} {
			if name != "page" && want == ": the result of case " { // they show the outcome, which can be read
				continue
			}
			if err == nil || !strings.Contains(err.Error(), file+want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A stand-in is a cause that a file of results keeps.
func TestStandInIsStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	nothing := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, nil }
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{})
	run(t, nothing, cases, &eval.Options{ResultsFile: file})
	again, err := eval.Grade(t.Context(), cases, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*eval.Experiment{load(t, file), again} {
		if got := e.Trials[0]; got.Verdict != eval.Failed || got.Cause != string(dispatchtest.NoAnswer) {
			t.Errorf("%s %s: %s", got.Verdict, got.Cause, got.Reason)
		}
	}
}

// A cause that this version does not write is refused with the line, the last line too: a report would
// show it.
func TestUnknownCause(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, csvOf("fail", "a"), dispatchtest.Task{})
	run(t, obedient, cases, &eval.Options{ResultsFile: file, Parallel: 1})
	whole := read(t, file)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	last := slices.Concat(lines[0], lines[2], bytes.Replace(lines[1], []byte(`"cause":"agent_5xx"`), []byte(`"cause":"sun\u202espots"`), 1))
	for n, data := range map[int][]byte{
		2: bytes.Replace(whole, []byte(`"cause":"agent_5xx"`), []byte(`"cause":"sun\u202espots"`), 1), 3: last,
	} {
		write(t, file, data)
		want := fmt.Sprintf(`results.jsonl, line %d: the cause "sun\u202espots" is not one that this version writes`, n)
		_, loaded := eval.Load(file)
		_, completed := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, &eval.Options{ResultsFile: file})
		for name, err := range map[string]error{"Load": loaded, "Run": completed} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// A case whose id or name is not UTF-8 would have another id in the file.
func TestResultsOfOddIDs(t *testing.T) {
	task := dispatchtest.Task{Instruction: "."}
	opts := &eval.Options{ResultsFile: filepath.Join(t.TempDir(), "results.jsonl")}
	for range 2 {
		run(t, unsteady(), []eval.Case{{Name: "a\xff", Task: task}, {Name: "a\xfe", Task: task}}, opts)
	}
	if got := ended(load(t, opts.ResultsFile)); got != ". ." {
		t.Error(got)
	}
	_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: unsteady()}, []eval.Case{{ID: "a\xff", Task: task}}, nil)
	if toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), "UTF-8") {
		t.Error(err)
	}
}

// A new file of Grade is whole or absent.
func TestGradeLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := casesOf(t, csvOf(".", ".."), dispatchtest.Task{})
	run(t, unsteady(), cases, &eval.Options{ResultsFile: file})
	ctx, cancel := context.WithCancel(t.Context())
	opts := &eval.Options{ResultsFile: filepath.Join(dir, "again.jsonl"), Parallel: 1, Grader: func(ctx context.Context, c eval.Case, _ *dispatchtest.Result) error {
		cancel()
		return ctx.Err()
	}}
	if _, err := eval.Grade(ctx, cases, opts, file); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(opts.ResultsFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of the file is left: %v", err)
	}
}

// A case that was stopped at its first failure has not passed because that trial is graded as passed:
// the others did not run. Run completes the file.
func TestGradeAfterFirstFailure(t *testing.T) {
	dir := t.TempDir()
	cases := casesOf(t, csvOf("..", ".x"), dispatchtest.Task{})
	opts := &eval.Options{ResultsFile: filepath.Join(dir, "strict.jsonl"), Trials: 3, FirstFailure: true, Grader: eval.Says("nothing like it")}
	run(t, obedient, cases, opts)
	lenient := &eval.Options{ResultsFile: filepath.Join(dir, "lenient.jsonl"), Trials: 3, FirstFailure: true, GraderVersion: "2", Grader: eval.Says("")}
	e, err := eval.Grade(t.Context(), cases, lenient, opts.ResultsFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := ended(e); got != ".cc .cc" || e.OK() || e.Results()[0].Verdict != eval.Cancelled {
		t.Errorf("%s, OK is %t", got, e.OK())
	}
	if got := ended(run(t, obedient, cases, lenient)); got != "... ..." {
		t.Errorf("completed: %s", got)
	}
}

// A file of results is read with each cause that a trial can have: the causes of this package, and the
// error classes and stand-ins of package dispatchtest, whichever are added.
func TestEveryCauseIsRead(t *testing.T) {
	causes := map[string]bool{}
	for _, dir := range []string{".", "../dispatchtest"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, is := n.(*ast.ValueSpec); is {
					kind, _ := spec.Type.(*ast.Ident)
					if kind != nil && slices.Contains([]string{"ErrorClass", "StandIn"}, kind.Name) || strings.HasPrefix(spec.Names[0].Name, "cause") && len(spec.Values) == 1 {
						for _, value := range spec.Values {
							if text, is := value.(*ast.BasicLit); is {
								causes[text.Value] = true
							}
						}
					}
				}
				return true
			})
		}
	}
	if len(causes) < 15 || !causes[`"panic"`] {
		t.Fatalf("%d causes: %v", len(causes), causes)
	}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, obedient, casesOf(t, csvOf("fail"), dispatchtest.Task{}), &eval.Options{ResultsFile: file})
	line := read(t, file)
	for cause := range causes {
		write(t, file, bytes.Replace(line, []byte(`"cause":"agent_5xx"`), []byte(`"cause":`+cause), 1))
		if got := `"` + load(t, file).Trials[0].Cause + `"`; got != cause {
			t.Errorf("the cause %s is read as %s", cause, got)
		}
	}
}
