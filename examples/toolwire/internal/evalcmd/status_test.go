package evalcmd

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// Stored results are graded again by what the rows expect now; the tasks are the tasks of the run.
func TestGradeAgain(t *testing.T) {
	dir := t.TempDir()
	handler, err := dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		response, err := say("%s it is", run.Instruction)
		response.Metadata = &dispatch.Metadata{Model: "small", TotalInputTokens: 1000, TotalOutputTokens: 100}
		return response, err
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	defer agent.Close()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"one.csv": "id,user,says,kind\na,red,red,x\nb,blue,blue,y\nc,green,green,y\n", "two.csv": "id,user,says,kind\na,red,red,x\nb,blue,it is,y\nc,green,nothing,z\n",
		"more.csv": "id,user,says,no_calls\na,red,red,pay\nb,blue,blue,\nc,green,green,\n", "other.csv": "id,user,says\na,red,red\nb,BLUE,blue\nc,green,green\n",
		"world.json": `{"tools_schema":[{"name":"pay","description":"Pays.","input_schema":{"type":"object"}}]}`, "prices.json": `{"small":{"input":1,"output":10}}`,
		"none.csv": "id,user\na,red\nb,blue\nc,green\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on := func(dataset string, more ...string) []string {
		return append([]string{"-dataset", at(dataset), "-world", at("world.json")}, more...)
	}
	graded := func(dataset string, more ...string) []string {
		return append(append([]string{"grade"}, on(dataset)...), append(more, at("results.jsonl"))...)
	}
	for _, tt := range []struct {
		args   []string
		status int
		prints []string
	}{
		{on("one.csv", "-url", agent.URL, "-results", at("results.jsonl")), 0, []string{": 3 passed\n"}},
		{graded("one.csv"), 0, []string{"checked: says in 3 of 3 rows", ": 3 passed\n"}},
		{graded("two.csv", "-o", at("again.jsonl"), "-slice", "kind", "-markdown", at("summary.md")), 1, []string{"failed  c: green", `the final response does not say "nothing"`, "\nz     1      0 % [", ": 2 passed, 1 failed\n"}},
		{graded("two.csv", "-o", at("again.jsonl")), 2, []string{"toolwire eval: -o: open " + at("again.jsonl")}},
		{graded("more.csv"), 0, []string{"checked: says in 3, no_calls in 1 of 3 rows"}},
		{graded("one.csv", "-prices", at("prices.json"), "-max-trial-cost", "0.001"), 1, []string{"limit: it cost 0.002, and a trial may cost 0.001", "cost        0.002"}},
		{graded("one.csv", "-o", at("no.jsonl"), "-baseline", at("results.jsonl"), "-gate", "cots=1"), 2, []string{"-gate cots: -baseline has no such score"}},
		{graded("one.csv", "-o", at("no.jsonl"), "-baseline", at("results.jsonl"), "-gate", "calls=1"), 2, []string{"-gate calls needs a limit for a trial"}},
		{graded("one.csv", "-o", at("no.jsonl")), 0, []string{": 3 passed\n"}}, // no file is left behind
		{graded("none.csv", "-ungraded", "-min-rate", "0.5"), 4, []string{"rate of at least 50 %: undecided: the rows were not graded\n"}},
		{graded("none.csv"), 2, []string{"no row expects anything"}},
		{graded("other.csv"), 2, []string{"the cases do not match the results: the dataset is "}},
		{on("one.csv", "-url", agent.URL, "-results", at("results.jsonl"), "-where", "kind=y"), 2, []string{"the dataset is "}},
		{on("one.csv", "-url", agent.URL, "-where", "kind=y"), 0, []string{": 2 passed\n"}},
		{on("one.csv", "-url", agent.URL, "-where", "kind=y", "-where", "id=c"), 0, []string{": 1 passed\n"}},
		{on("one.csv", "-url", agent.URL, "-where", "user=red"), 0, []string{": 1 passed\n"}},
		{on("one.csv", "-url", agent.URL, "-where", "kind=z"), 2, []string{`-where: no row has "z" in the column kind; its values are ["x" "y"]`}},
		{on("one.csv", "-url", agent.URL, "-where", "kin=y"), 2, []string{`-where: no column has the name "kin"; the columns are ["id" "user" "says" "kind"]`}},
		{on("one.csv", "-url", agent.URL, "-where", "kind"), 2, []string{`-where is column=value, and "kind" is not`}},
		{on("two.csv", "-url", agent.URL, "-where", "kind=x", "-baseline", at("again.jsonl")), 2, []string{"-baseline compares all rows, and -case, -where, "}},
		{append([]string{"merge", "-baseline", at("again.jsonl")}, at("again.jsonl")), 4, []string{"3 cases: 0 improved"}},
		{[]string{"merge", "-gate", "cots=1", "-gate", "colls=1", "-gate", "cost=1", "-min-rate", "80", at("again.jsonl")}, 2, []string{
			"-gate compares with a -baseline\n", "-gate colls: the files have no such score; they have calls, tokens_in, tokens_out, seconds\n-gate cots: the files have no", "-min-rate is from 0 to 1\n", "-gate cost needs -prices\n"}},
		{graded("one.csv", "-gate", "cots=1", "-gate", "colls=1"), 2, []string{
			"-gate compares with a -baseline\n", "-gate colls: the files have no such score; they have calls,", "-gate cots: the files have no"}},
		{on("one.csv", "-url", agent.URL, "-gate", "cots=1", "-gate", "colls=1", "-gate", "calls=1", "-gate", "tokens_in=1"), 2, []string{"-gate compares with a -baseline\n",
			"-gate colls: there is no such score", "-gate cots: there is no such score", "-gate calls needs a limit for a trial, -max-trial-calls: no number of rows excludes that a few run away without one\n-gate tokens_in needs a limit"}},
		{[]string{"merge", "-min-rate", "80", at("one.csv")}, 2, []string{"-min-rate is from 0 to 1\n", "line 1: the line is not the header of a file of results"}},
		{[]string{"merge", "-min-rate", "80", dir}, 2, []string{"-min-rate is from 0 to 1\n", "has no file of a shard"}},
		{[]string{"merge", "-max-trial-calls", "1", "-max-trial-tokens", "1", "-slice", "kin", "-slice", "kind", "-slice", "id2", at("again.jsonl")}, 2, []string{
			"-max-trial-calls: the trials ran without", "-max-trial-tokens: the trials ran without", `the column "kin"`, `the column "id2"`}},
		{[]string{"grade", "-dataset", at("one.csv")}, 2, []string{"grade needs at least one file of results"}},
	} {
		var printed bytes.Buffer
		if status := Run(t.Context(), tt.args, &printed, &printed); status != tt.status {
			t.Errorf("%q: status %d, want %d:\n%s", tt.args, status, tt.status, printed.String())
		}
		for _, part := range tt.prints {
			if !strings.Contains(printed.String(), part) {
				t.Errorf("%q: %q is missing in\n%s", tt.args, part, printed.String())
			}
		}
	}
	if text, err := os.ReadFile(at("summary.md")); err != nil || !strings.HasPrefix(string(text), "### results\n\n3 cases in ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Each exit status of docs/evaluation.md has a run that ends with it.
func TestStatuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	// An agent answers the first rows rightly.
	agent := func(right int) string {
		handler, err := dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			var row int
			if _, _ = fmt.Sscanf(run.Instruction, "row %d", &row); row < right {
				return say("yes")
			}
			return say("no")
		}, &dispatch.Options{InsecureNoAuth: true})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	var rows strings.Builder
	rows.WriteString("id,user,says,kind\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "r%d,row %d,yes,%s\n", i, i, []string{"plain", "odd"}[i%2])
	}
	dataset := file("tasks.csv", rows.String())
	good, worse, bad := agent(80), agent(76), agent(40)
	before, fewer := file("before.jsonl", ""), file("fewer.jsonl", "")
	small := file("small.csv", "id,user,says\na,row 1,yes\nb,row 2,yes\nc,row 3,yes\nd,row 4,yes\n")
	for _, tt := range []struct {
		name   string
		status int
		args   []string
		prints string
	}{
		{"all passed", 0, []string{"-url", good, "-trials", "2", "-results", before}, " 160 passed\n"},
		{"some failed", 1, []string{"-url", worse, "-trials", "2"}, " 8 failed\n"},
		{"a flag that is misspelt", 2, []string{"-url", good, "-min-rat", "1"}, "flag provided but not defined: -min-rat;"},
		{"a rate that is none", 2, []string{"-url", good, "-min-rate", "80"}, "-min-rate is from 0 to 1"},
		{"the rate of no rate", 2, []string{"-url", good, "-min-rate-point"}, "-min-rate-point needs -min-rate"},
		{"no rates", 2, []string{"-url", good, "-min-rate", "0.5", "-first-failure"}, "-min-rate is about the rate, and -first-failure leaves none"},
		{"not worse", 0, []string{"-url", good, "-trials", "2", "-baseline", before}, "gate, margin 5 points: passed\n"},
		{"worse", 3, []string{"-url", bad, "-trials", "2", "-baseline", before}, "gate, margin 5 points: failed\n"},
		{"worse, but perhaps not by the margin", 5, []string{"-url", worse, "-trials", "2", "-baseline", before}, ": -5 points in 80 cases, p = "},
		{"worse, and within the margin", 0, []string{"-url", worse, "-trials", "2", "-baseline", before, "-margin", "0.2"}, ": -5 points in 80 cases"},
		{"too few", 0, []string{"-dataset", small, "-url", good, "-results", fewer}, " 4 passed\n"},
		{"too few for a gate", 4, []string{"-dataset", small, "-url", good, "-baseline", fewer}, "undecided: a gate needs at least 6 cases"},
		{"the rate is high", 0, []string{"-url", worse, "-trials", "2", "-min-rate", "0.8"}, "rate of at least 80 %: passed\n"},
		{"the rate is high, by itself only", 0, []string{"-url", worse, "-trials", "2", "-min-rate", "0.95", "-min-rate-point"}, "rate of at least 95 %: passed\n"},
		{"the rate may be low", 4, []string{"-url", worse, "-trials", "2", "-min-rate", "0.95"}, "rate of at least 95 %: undecided: the interval contains the bar"},
		{"worse, within the margin, and the rate may be low", 4, []string{"-url", worse, "-trials", "2", "-baseline", before, "-margin", "0.2", "-min-rate", "0.95"}, "rate of at least 95 %: undecided"},
		{"the rate is low", 3, []string{"-url", bad, "-trials", "2", "-min-rate", "0.95"}, "rate of at least 95 %: failed\n"},
		{"one gate passed and the rate may be low", 4, []string{"merge", "-baseline", before, "-min-rate", "0.99", before}, "rate of at least 99 %: undecided"},
	} {
		args := tt.args
		if args[0] != "merge" {
			args = append([]string{"-world", "testdata/world.json"}, args...)
			if args[2] != "-dataset" {
				args = append([]string{"-dataset", dataset}, args...)
			}
		}
		var printed bytes.Buffer
		if status := Run(t.Context(), args, &printed, &printed); status != tt.status || !strings.Contains(printed.String(), tt.prints) {
			t.Errorf("%s: status %d, want %d, and %q:\n%s", tt.name, status, tt.status, tt.prints, printed.String())
		}
	}
}
