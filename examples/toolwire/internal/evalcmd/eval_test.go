package evalcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/testkit"
)

func TestEval(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	handler, err := dispatch.New(sampleAgent, &dispatch.Options{Tokens: []string{"hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	keyed, err := dispatch.New(sampleAgent, &dispatch.Options{Tokens: []string{"hunter2"}, AuthHeader: "X-Api-Key"})
	if err != nil {
		t.Fatal(err)
	}
	keyedAgent := httptest.NewServer(keyed)
	t.Cleanup(keyedAgent.Close)
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(html.Close)
	var together atomic.Int64
	all := make(chan struct{})
	limit, done := context.WithTimeout(t.Context(), 5*time.Minute) // of waiting in vain
	t.Cleanup(done)
	odd, err := dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		switch {
		case run.Instruction == "Say your input.":
			return &dispatch.Response{FinalResponse: string(run.Input)}, nil
		case run.Instruction == "Wait for the others." && together.Add(1) == 40:
			close(all)
		}
		select {
		case <-all:
			return &dispatch.Response{FinalResponse: "all are there"}, nil
		case <-limit.Done():
			return nil, limit.Err()
		}
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	oddAgent := httptest.NewServer(odd)
	t.Cleanup(oddAgent.Close)
	t.Setenv("TOOLWIRE_TEST_TOKEN", "hunter2")
	t.Setenv("TOOLWIRE_TEST_OTHER", "other")
	t.Setenv("TOOLWIRE_TEST_PROGRAM", "1")
	served := []string{"-dataset", "testdata/orders.csv", "-world", "testdata/world.json", "-url", agent.URL}
	with := func(args ...string) []string { return append(served[:6:6], args...) }
	ids := file("ids.csv", "user,id,says\nRefund order #4521.,it's,nothing like it\nRefund order #4521.,b,has been issued\nCancel order #4521.,c,\n")

	for _, tt := range []struct {
		name   string
		args   []string
		status int
		parts  []string // of what is printed
	}{
		{"default", nil, 0, []string{"skipped  1 case: a model has to write the user's turns", "\n7 cases in ", ": 6 passed, 1 skipped\n"}},
		{"failing", []string{"-dataset", "testdata/failing.csv", "-parallel", "2"}, 1, []string{
			`fault: the agent called cancel_order`, "grader: a refusal is expected", "agent_5xx: the agent failed: proxy: get_order: server_error", `does not say "has been issued"`,
			"grader         2\n", ": 1 passed, 4 failed\n"}},
		{"require transcript", []string{"-require-transcript"}, 0, []string{"6 passed"}},
		{"state as input", []string{"-state-as-input"}, 0, []string{"6 passed"}},
		{"trials", []string{"-dataset", "testdata/failing.csv", "-trials", "3"}, 1, []string{
			"toolwire eval: at most 15 trials of 5 cases; a comparison of this size finds a difference of about 52 points in these cases; a gate needs at least 6 cases\n", "\n0 of 3  0 % [0, 56.1]        row 3", "cases that always passed: 20 % [",
			"; all of 3: 20 % [", "\n5 cases, 15 trials in ", ": 3 passed, 12 failed\n"}},
		{"first failure", []string{"-dataset", "testdata/failing.csv", "-trials", "3", "-first-failure"}, 1, []string{
			"0 of 1  stopped at the first failure  row 3", "5 cases, 7 trials in "}},
		{"budget", []string{"-trials", "10", "-parallel", "1", "-max-calls", "5"}, 1, []string{" cancelled, 1 skipped\n"}},
		{"plan", []string{"-trials", "5", "-plan"}, 0, []string{"at most 30 trials of 6 cases with 40 turns, 1 skipped; a comparison of this size finds a difference of about 36 points in these cases; if nothing differs, a gate passes from a margin of 52.5 points on\n"}},
		{"one case", []string{"-dataset", "testdata/failing.csv", "-case", "bb0b0e8dd1f2"}, 2, []string{`toolwire eval: -case: no row has the id "bb0b0e8dd1f2"`}},
		{"two cases", []string{"-dataset", ids, "-case", "b", "-case", "it's", "-trials", "2"}, 1, []string{
			"\n2 cases, 4 trials in ", `run the first again: $ toolwire eval -dataset='` + ids + `' -trials='2' -case 'it'\''s'` + "\n"}},
		{"a limit", []string{"-dataset", ids, "-limit", "2"}, 1, []string{"\n2 cases in ", `run the first again: $ toolwire eval -dataset='` + ids + `' -case 'it'\''s'` + "\n"}},
		{"a flag that is off", []string{"-dataset", ids, "-limit", "1", "-require-transcript=false", "-state-as-input"}, 1, []string{"\n1 case in ",
			`run the first again: $ toolwire eval -dataset='` + ids + `' -require-transcript='false' -state-as-input='true' -case 'it'\''s'` + "\n"}},
		{"a version that is a word of flags", []string{"-dataset", ids, "-limit", "1", "-agent-version", "true"}, 1, []string{
			`run the first again: $ toolwire eval -agent-version='true' -dataset='` + ids + `' -case 'it'\''s'` + "\n"}},
		{"a limit of one", []string{"-dataset", ids, "-limit", "1", "-user", os.Args[0] + " hunter2"}, 1, []string{"\n1 case in ", ` -user '…' -case`}},
		{"failures and a baseline", []string{"-failed", "nope.jsonl", "-baseline", "nope.jsonl"}, 2, []string{"toolwire eval: -baseline compares all rows"}},
		{"a limit of a case", []string{"-dataset", ids, "-limit", "9", "-case", "b"}, 0, []string{"\n1 case in "}},
		{"a negative limit", []string{"-limit", "-1"}, 2, []string{"toolwire eval: -limit is a number of rows"}},
		{"some rows and a baseline", []string{"-limit", "1", "-baseline", "nope.jsonl"}, 2, []string{"toolwire eval: -baseline compares all rows"}},
		{"no file of failures", []string{"-failed", "nope.jsonl"}, 2, []string{"toolwire eval: -failed: ", "nope.jsonl: the file cannot be read"}},
		{"JSON Lines", []string{"-dataset", file("tasks.jsonl", `{"user":"Refund order #4521.","says":"has been issued"}`)}, 0, []string{"\n1 case in ", ": 1 passed\n"}},
		{"bad JSON Lines", []string{"-dataset", file("bad.jsonl", `{"user":"Refund","state":[]}`)}, 2, []string{"  1     1  state   the cell is JSON, but an array and not an object"}},
		{"no trials", []string{"-trials", "0"}, 2, []string{"toolwire eval: -trials is how often each row runs"}},
		{"too many trials", []string{"-trials", "10001"}, 2, []string{"toolwire eval: -trials: 10001 is not from 1 to 10000"}},
		{"shard without results", []string{"-shard", "1/2"}, 2, []string{"toolwire eval: -shard needs -results"}},
		{"negative budgets", []string{"-max-calls", "-1", "-max-tokens", "-2", "-max-time", "-3s"}, 2, []string{
			"-max-calls: must not be negative", "-max-tokens: must not be negative", "-max-time: must not be negative"}},
		{"a column in capitals", []string{"-dataset", file("Says.csv", "user,Says\na,b\n")}, 2, []string{"  1     1  Says    did you mean says? Nothing reads this column; -ignore-column accepts it as something else\n"}},
		{"a foreign column", []string{"-dataset", file("foreign.csv", "user,__expected,says\na,b,c\n")}, 2, []string{"  1     1  __expected  nothing checks this column: did you mean says?"}},
		{"the same, accepted", []string{"-dataset", file("foreign.csv", "user,__expected,says\na,b,order\n"), "-ignore-column", "__expected"}, 0, []string{"\nchecked: says in 1 of 1 row\n"}},
		{"a column that is not there, accepted", []string{"-dataset", file("blank.csv", "user,answered by ,says\na,b,order\n"), "-ignore-column", "answered by"}, 2, []string{
			`toolwire eval: -ignore-column: no column has the name "answered by"; the columns are ["user" "answered by " "says"]` + "\n"}},
		{"a slice by a column that is not there", []string{"-dataset", file("blank.csv", "user,answered by ,says\na,b,order\n"), "-ignore-column", "answered by ", "-slice", "topik"}, 2, []string{
			`toolwire eval: -slice: no column has the name "topik"; the columns are ["user" "answered by " "says"]` + "\n"}},
		{"the same, in quotes", []string{"-dataset", file("blank.csv", "user,answered by ,says\na,b,order\n"), "-ignore-column", "answered by "}, 0, []string{"\nchecked: says in 1 of 1 row\n"}},
		{"a failure with columns that are accepted", []string{"-dataset", file("two.csv", "user,truth,bob's answer,says\na,b,c,nobody says this\n"), "-ignore-column", "truth", "-ignore-column", "bob's answer"}, 1, []string{
			` -ignore-column='truth' -ignore-column='bob'\''s answer' -case '`}},
		{"nothing expected", []string{"-dataset", file("nothing.csv", "user,expected_outcome\na,completion\n")}, 2, []string{
			"toolwire eval: -dataset: no row expects anything, so every answer would pass: add a column says", "-ungraded runs the rows"}},
		{"a plan of nothing expected", []string{"-plan", "-dataset", file("nothing.csv", "user,expected_outcome\na,completion\n")}, 2, []string{"no row expects anything"}},
		{"nothing expected of a row that runs", []string{"-dataset", file("skipped.csv", "user,turn_mode,user_simulator_persona,says\na,model_as_user,a clerk,order\nb,,,\n")}, 2, []string{
			"toolwire eval: -dataset: all rows that expect something are skipped: a row with a user_simulator_persona needs -user, "}},
		{"nothing graded", []string{"-ungraded", "-dataset", file("ungraded.csv", "user,expected_outcome,says,note\na,completion,nobody says this,b\n")}, 0, []string{
			"\nchecked: nothing: the rows were not graded, so a trial passed if the platform would grade it\nnot checked here: expected_outcome in 1, says in 1 of 1 row\ncolumns that nothing uses: note\n"}},
		{"no such shard", []string{"-shard", "3/2", "-results", filepath.Join(dir, "no.jsonl")}, 2, []string{"toolwire eval: -shard: \"3/2\" is not i/n"}},
		{"results in a folder", []string{"-results", dir}, 2, []string{"toolwire eval: -results: "}},
		{"missing baseline", []string{"-baseline", "nope.jsonl"}, 2, []string{"toolwire eval: -baseline: ", "nope.jsonl: the file cannot be read"}},
		{"margin", []string{"-margin", "5"}, 2, []string{"toolwire eval: -margin is from 0 to 1"}},
		{"merge help", []string{"merge", "-h"}, 0, []string{"-o file"}},
		{"merge nothing", []string{"merge"}, 2, []string{"toolwire eval: files: no file of results is given"}},
		{"merge flag", []string{"merge", "-nope"}, 2, []string{"-nope"}},
		{"bad", []string{"-dataset", "testdata/bad.csv"}, 2, []string{
			"row  line  column            what is wrong\n", "  1     1  user_instruction  did you mean user?", "  2     2  state             the cell is not valid JSON at character 2",
			"  4     5                    the row has 3 cells and the header has 4"}},
		{"many bad rows", []string{"-dataset", file("many.csv", "user,state\n"+strings.Repeat("a,x\n", 150))}, 2, []string{"\nand 50 more\n"}},
		{"no CSV", []string{"-dataset", file("empty.csv", "")}, 2, []string{"toolwire eval: -dataset: ", "empty.csv: the file is empty"}},
		{"no world", []string{"-dataset", "testdata/failing.csv", "-world", file("world.json", `{"tools":1}`)}, 2, []string{"toolwire eval: -world: ", "tools is not a member"}},
		{"a row that does not fit", []string{"-dataset", file("misfit.csv", "user,state\na,\"{\"\"ordre\"\":{\"\"1\"\":{}}}\"\n")}, 2, []string{"  2     2  state   /ordre"}},
		{"missing files", []string{"-dataset", "nope.csv"}, 2, []string{"toolwire eval: -dataset: open nope.csv"}},
		{"missing world", []string{"-world", "nope.json"}, 2, []string{"toolwire eval: -world: open nope.json"}},
		{"unwritable report", []string{"-json", filepath.Join(dir, "no", "report.json")}, 2, []string{"toolwire eval: -json: open "}},
		{"unwritable JUnit", []string{"-junit", filepath.Join(dir, "no", "report.xml")}, 2, []string{"toolwire eval: -junit: open "}},
		{"unknown flag", []string{"-nope"}, 2, []string{"-nope"}},
		{"a program", append(served[:4:4], "-env", "TOOLWIRE_TEST_PROGRAM", "--", os.Args[0]), 0, []string{": 6 passed, 1 skipped\n"}},
		{"a program that fails", []string{"-dataset", "testdata/failing.csv", "-world", "testdata/world.json", "-env", "TOOLWIRE_TEST_OTHER", "--", os.Args[0], "-test.run=^$", "it's"}, 1, []string{
			"agent_bad_response: the agent failed: the program ended with exit status 0 and wrote no result",
			`run the first again: $ toolwire eval -dataset='testdata/failing.csv' -world='testdata/world.json' -case '`, `' -env 'TOOLWIRE_TEST_OTHER' -- '` + os.Args[0] + `' '-test.run=^$' 'it'\''s'` + "\n"}},
		{"no such program", append(served[:4:4], "--", "./no-such-program"), 2, []string{"no-such-program"}},
		{"a program without a dataset", []string{"--", os.Args[0]}, 2, []string{"a program needs a -dataset"}},
		{"a program for a URL at which another listens", append(served[:6:6], "--", os.Args[0]), 2, []string{"a program listens at -url already"}},
		{"a variable for a URL", append(served[:6:6], "-env", "HOME"), 2, []string{"-env is for the program of an agent"}},
		{"a program without its mark", append(served[:4:4], os.Args[0]), 2, []string{"the program of an agent follows --"}},
		{"stray argument", []string{"tasks.csv"}, 2, []string{`unexpected argument "tasks.csv"`}},
		{"parallel", []string{"-parallel", "-1"}, 2, []string{"-parallel"}},
		{"timeout", []string{"-timeout", "31m"}, 2, []string{"toolwire eval: -timeout is at most 30m"}},
		{"negative timeout", []string{"-timeout", "-1s"}, 2, []string{"toolwire eval: -timeout is at most 30m"}},
		{"unwritable page", []string{"-html", filepath.Join(dir, "no", "report.html")}, 2, []string{"toolwire eval: -html: open "}},
		{"one file for a page and a report", []string{"-html", filepath.Join(dir, "page"), "-junit", filepath.Join(dir, "page")}, 2, []string{"toolwire eval: -html and -junit name the same file"}},
		{"one file for two reports", []string{"-junit", filepath.Join(dir, "both"), "-json", filepath.Join(dir, ".", "both")}, 2, []string{"toolwire eval: -json and -junit name the same file"}},
		{"help", []string{"-h"}, 0, []string{"-dataset file"}},

		{"served", with("-token-env", "TOOLWIRE_TEST_TOKEN"), 0, []string{"6 passed"}},
		{"token file", with("-token-file", file("token", "hunter2\n")), 0, []string{"6 passed"}},
		{"wrong token", with("-token-env", "TOOLWIRE_TEST_OTHER"), 2, []string{"toolwire eval: no row was run: auth_failed: ping: the endpoint answered 401"}},
		{"no token", with(), 2, []string{"no row was run: auth_failed: ping: the endpoint answered 401, and no auth header was sent: set the token"}},
		{"own header", []string{"-dataset", "testdata/orders.csv", "-world", "testdata/world.json", "-url", keyedAgent.URL, "-auth-header", "X-API-Key", "-token-env", "TOOLWIRE_TEST_TOKEN"}, 0, []string{"6 passed"}},
		{"answers HTML", []string{"-dataset", "testdata/failing.csv", "-world", "testdata/world.json", "-url", html.URL}, 1, []string{"agent_bad_response", "5 failed"}},
		{"is down", []string{"-dataset", "testdata/failing.csv", "-world", "testdata/world.json", "-url", "http://127.0.0.1:1"}, 2, []string{"no row was run: agent_unreachable: ping: the endpoint cannot be reached"}},
		{"without a world its tools are unknown", []string{"-dataset", file("one.csv", "user\nRefund #4521.\n"), "-ungraded", "-url", agent.URL, "-token-env", "TOOLWIRE_TEST_TOKEN"}, 2, []string{
			"agent_5xx", "there is no -world, so no tool is declared", "testdata/world.json that toolwire new writes"}},
		{"and said to be", []string{"-dataset", file("cancel.csv", "user\nCancel #4521.\n"), "-ungraded", "-url", agent.URL, "-token-env", "TOOLWIRE_TEST_TOKEN"}, 2, []string{
			`fault: the agent called cancel_order`, "there is no -world"}},
		{"all at once", []string{"-dataset", file("all.csv", "user\n"+strings.Repeat("Wait for the others.\n", 40)), "-ungraded", "-url", oddAgent.URL, "-parallel", "40"}, 0, []string{"40 passed"}},
		{"equal failures", []string{"-dataset", file("equal.csv", "user,says\n"+strings.Repeat("Say your input.,hunter3\n", 9)), "-url", oddAgent.URL, "-parallel", "1"}, 1, []string{
			`toolwire eval: 6 more with grader: the final response does not say "hunter3"`, "9 failed"}},
		{"no transcript", []string{"-dataset", file("echo.csv", "user\nSay your input.\n"), "-ungraded", "-url", oddAgent.URL, "-require-transcript"}, 1, []string{"response_contract_violation"}},
		{"sees no state", []string{"-dataset", file("state.csv", "user,state,says\nSay your input.,\"{\"\"order\"\":{}}\",order\n"), "-url", oddAgent.URL}, 1, []string{`does not say "order"`}},
		{"sees the state", []string{"-dataset", file("state.csv", "user,state,current_state,says\nSay your input.,\"{\"\"order\"\":{}}\",,order\n"+
			"Say your input.,\"{\"\"order\"\":{}}\",\"{\"\"own\"\":1}\",own\n"), "-url", oddAgent.URL, "-state-as-input"}, 0, []string{"2 passed"}},
		{"not on loopback", []string{"-dataset", file("one.csv", "user\nRefund #4521.\n"), "-ungraded", "-url", "http://0.0.0.0:1/"}, 2, []string{"toolwire eval: -url is not on this machine", "agent_unreachable"}},
		{"elsewhere", []string{"-dataset", "nope.csv", "-url", "https://agent.example"}, 2, []string{"nope.csv"}},
		{"no URL", []string{"-dataset", "testdata/orders.csv", "-url", "agent"}, 2, []string{"-url is not an http or https URL"}},
		{"no dataset", []string{"-url", agent.URL}, 2, []string{"-url needs a -dataset"}},
		{"no dataset for a world", []string{"-url", agent.URL, "-world", "testdata/world.json"}, 2, []string{"-url needs a -dataset"}},
		{"two tokens", with("-token-env", "A", "-token-file", "b"), 2, []string{"there is one token"}},
		{"unset token", with("-token-env", "TOOLWIRE_TEST_UNSET"), 2, []string{"there is no environment variable of that name"}},
		{"the token for its name", with("-token-env", "hunter2"), 2, []string{"give its name, not the token"}},
		{"two lines of token", with("-token-file", file("lines", "hunter2\nhunter2")), 2, []string{"toolwire eval: the token begins or ends with white space"}},
		{"unusable header", with("-auth-header", "X Key", "-token-env", "TOOLWIRE_TEST_TOKEN"), 2, []string{"toolwire eval: -auth-header is not a header name"}},
		{"password", []string{"-dataset", "testdata/orders.csv", "-url", "http://u:hunter2@127.0.0.1/"}, 2, []string{"-url contains a user name or password"}},
		{"a folder as dataset", []string{"-dataset", dir}, 2, []string{"toolwire eval: -dataset: "}},
		{"rules without a world", []string{"-dataset", "testdata/orders.csv", "-url", agent.URL}, 2, []string{"is not declared", "there is no -world"}},
		{"missing token file", with("-token-file", "nope"), 2, []string{"-token-file: open nope"}},
		{"empty token file", with("-token-file", file("none", "\n")), 2, []string{"is empty"}},
		{"header without token", with("-auth-header", "X-API-Key"), 2, []string{"-auth-header needs"}},
		{"token without URL", []string{"-token-env", "TOOLWIRE_TEST_TOKEN"}, 2, []string{"are for an agent with a -url"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if status := Run(t.Context(), tt.args, &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			printed := stdout.String() + stderr.String()
			for _, part := range tt.parts {
				if !strings.Contains(printed, part) {
					t.Errorf("%q is missing in\n%s", part, printed)
				}
			}
			if strings.Contains(printed, "hunter2") || strings.Contains(printed, "\x1b") {
				t.Errorf("a secret, or colour without a terminal:\n%s", printed)
			}
			if tt.status == 2 && stdout.Len() > 0 {
				t.Errorf("a mistake is reported on stdout: %s", stdout.String())
			}
		})
	}
}

func TestReportFiles(t *testing.T) {
	dir := t.TempDir()
	junit, doc := filepath.Join(dir, "report.xml"), filepath.Join(dir, "report.json")
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-dataset", "testdata/failing.csv", "-junit", junit, "-json", doc}, &stdout, &stderr); status != 1 {
		t.Fatalf("status %d\n%s", status, stderr.String())
	}
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suite    struct {
			Name string `xml:"name,attr"`
		} `xml:"testsuite"`
	}
	var set struct {
		Name   string
		Counts struct{ Passed, Failed int }
	}
	for path, decode := range map[string]func([]byte) error{
		junit: func(b []byte) error { return xml.Unmarshal(b, &suites) }, doc: func(b []byte) error { return json.Unmarshal(b, &set) },
	} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = decode(data)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if suites.Tests != 5 || suites.Failures != 4 || suites.Suite.Name != "failing" || set.Name != "failing" || set.Counts.Passed != 1 || set.Counts.Failed != 4 {
		t.Errorf("%+v %+v", suites, set)
	}
}

// withoutProgress returns what is printed without the line a minute of a loaded machine.
func withoutProgress(printed *bytes.Buffer) string {
	return regexp.MustCompile(`(?m)^toolwire eval: \d+ of \d+ done.*\n`).ReplaceAllString(printed.String(), "")
}

// The page of a merge compares with the baseline, and is readable by its owner alone, as results are.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	first, second, page := filepath.Join(dir, "first.jsonl"), filepath.Join(dir, "second.jsonl"), filepath.Join(dir, "report.html")
	for _, args := range [][]string{
		{"-agent-version", "v1", "-results", first},
		{"-agent-version", "v2", "-results", second, "-html", page},
		{"merge", "-baseline", first, "-html", page, second},
	} {
		var stderr bytes.Buffer
		want := 0
		if args[0] == "merge" {
			want = statusUndecided
		}
		if status := Run(t.Context(), args, io.Discard, &stderr); status != want || withoutProgress(&stderr) != "" {
			t.Fatalf("%q: status %d, want %d\n%s", args, status, want, stderr.String())
		}
		if args[0] == "-agent-version" && args[1] == "v1" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(text, []byte("</html>\n")) || bytes.Contains(text, []byte("points since the version before")) != (args[0] == "merge") {
			t.Errorf("%q: the page of %d bytes is not whole, or has no comparison", args, len(text))
		}
	}
	testkit.OwnerOnly(t, page)
}

// A report does not overwrite a file that the command reads or completes.
func TestReportsDoNotOverwrite(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, from := range map[string]string{"tasks.csv": "testdata/orders.csv", "world.json": "testdata/world.json"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(file(name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"token": "hunter2", "prices.json": `{"m":{"input":1,"output":1}}`} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with := func(args ...string) []string {
		return append([]string{"-dataset", file("tasks.csv"), "-world", file("world.json")}, args...)
	}
	var stderr bytes.Buffer
	if status := Run(t.Context(), with("-results", file("all.jsonl")), io.Discard, &stderr); status != 0 {
		t.Fatalf("status %d\n%s", status, stderr.String())
	}
	if err := os.Symlink(file("all.jsonl"), file("link")); err != nil {
		t.Log(err) // the name then belongs to a new file
	}
	for want, args := range map[string][]string{
		"-junit and -dataset":  with("-junit", file("tasks.csv")),
		"-json and -world":     with("-json", file("world.json")),
		"-html and -token":     with("-url", "http://127.0.0.1:1/", "-html", file("token"), "-token-file", file("token")),
		"-json and -prices":    with("-json", file("prices.json"), "-prices", file("prices.json")),
		"-html and -baseline":  with("-html", file("all.jsonl"), "-baseline", file("all.jsonl")),
		"-json and -results":   with("-json", file("all.jsonl"), "-results", file("all.jsonl")),
		"-html and -results":   with("-html", file("new"), "-results", file(".")+"/new"),
		"-json and the file":   {"merge", "-json", file("all.jsonl"), file("all.jsonl")},
		"-html and the file":   {"merge", "-html", file("link"), file("all.jsonl")},
		"-junit and -baseline": {"merge", "-junit", file("all.jsonl"), "-baseline", file("all.jsonl"), file("all.jsonl")},
		"-json and -o":         {"merge", "-json", file("merged"), "-o", file("merged"), file("all.jsonl")},
	} {
		before := map[string]string{}
		for _, name := range []string{"tasks.csv", "world.json", "all.jsonl", "token", "prices.json"} {
			text, err := os.ReadFile(file(name))
			if err != nil {
				t.Fatal(err)
			}
			before[name] = string(text)
		}
		var stderr bytes.Buffer
		status := Run(t.Context(), args, io.Discard, &stderr)
		if status != 2 || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "name the same file") {
			t.Errorf("%q: status %d: %s", args, status, stderr.String())
		}
		for name, content := range before {
			if text, err := os.ReadFile(file(name)); err != nil || string(text) != content {
				t.Errorf("%q: %s has changed, error %v", args, name, err)
				if err := os.WriteFile(file(name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{"new", "merged"} {
			if _, err := os.Stat(file(name)); err == nil {
				t.Errorf("%q: %s is left behind", args, name)
			}
		}
	}
	stderr.Reset()
	if status := Run(t.Context(), with("-json", os.DevNull, "-junit", os.DevNull), io.Discard, &stderr); status != 0 {
		t.Errorf("two reports to %s: status %d: %s", os.DevNull, status, stderr.String())
	}
	// Trials that did not run are not compared.
	page := file("page.html")
	if err := os.WriteFile(page, bytes.Repeat([]byte("an older page "), 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := Run(t.Context(), with("-baseline", file("all.jsonl"), "-html", page, "-max-calls", "1", "-parallel", "1"), io.Discard, &stderr); status != 1 {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte(" cancelled</span>")) || bytes.Contains(text, []byte("older page")) ||
		bytes.Contains(text, []byte("points since the version before")) {
		t.Errorf("the page has %d bytes, or compares what did not run: %v", len(text), err)
	}
}

// The flag -timeout is the time of an agent that does not answer. On a machine so loaded that the agent
// was not even asked in that time, another trial gets more.
func TestSlowAgent(t *testing.T) {
	var asked atomic.Bool
	over := make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == `{"ping":true}` {
			_, _ = w.Write([]byte(`{"ok":true}`))
			return
		}
		asked.Store(true)
		<-over
	}))
	t.Cleanup(agent.Close)
	t.Cleanup(func() { close(over) })
	dataset := filepath.Join(t.TempDir(), "slow.csv")
	if err := os.WriteFile(dataset, []byte("user\nWait.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for timeout := time.Second; !asked.Load(); timeout *= 2 {
		var printed bytes.Buffer
		status := Run(t.Context(), []string{"-dataset", dataset, "-ungraded", "-url", agent.URL, "-timeout", timeout.String()}, &printed, &printed)
		want := "agent_timeout: the agent did not answer within " + timeout.String()
		if status != 1 || asked.Load() && !strings.Contains(printed.String(), want) {
			t.Fatalf("status %d\n%s", status, printed.String())
		}
	}
}

// program runs this program in a process of its own: TestMain runs the command then.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TOOLWIRE_TEST_MAIN=1")
	return cmd
}

func TestMain(m *testing.M) {
	if os.Getenv("TOOLWIRE_TEST_PROGRAM") != "" && os.Getenv("PIPELINES_RUN_TOKEN") != "" {
		dispatch.Main(sampleAgent, nil)
	}
	if os.Getenv("TOOLWIRE_TEST_MAIN") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "play-user" {
		playTestUser(os.Args[2])
	}
	_ = os.Unsetenv(commandline.URLVariable) // of the developer
	_ = os.Unsetenv(commandline.TokenVariable)
	for _, name := range engineVariables { // of the engine that runs this test
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// Three machines run a shard each, and one of them is killed while its agent works. The merge names
// its shard, until it has run again.
func TestKilledShard(t *testing.T) {
	dir := t.TempDir()
	var hold atomic.Bool
	var runs atomic.Int64
	held := make(chan struct{}, 1000)
	handler, err := dispatch.New(func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		if hold.Load() && runs.Add(1) > 30 {
			held <- struct{}{}
			<-ctx.Done() // the program that waits for the answer is killed
			return nil, ctx.Err()
		}
		return say("yes")
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	dataset := filepath.Join(dir, "orders.csv")
	var rows strings.Builder
	rows.WriteString("user,says\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "Say yes %d.,yes\n", i)
	}
	if err := os.WriteFile(dataset, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var shards []string
	for i := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("shard-%d.jsonl", i+1))
		cmd := program(t, "-dataset", dataset, "-url", agent.URL, "-trials", "5", "-parallel", "2", "-agent-version", "v1",
			"-shard", fmt.Sprintf("%d/3", i+1), "-results", file)
		shards = append(shards, file)
		if i != 1 {
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			continue
		}
		hold.Store(true)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-held:
		case <-time.After(5 * time.Minute):
			t.Error("the agent was not asked")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		hold.Store(false)
	}
	merged := filepath.Join(dir, "merged.jsonl")
	args := append([]string{"merge", "-o", merged}, shards...)
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), "shard-2.jsonl: shard 2/3 is not complete: case ") {
		t.Fatalf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	if _, err := os.Stat(merged); err == nil {
		t.Error("a file is written although a shard is not complete")
	}
	if status := Run(t.Context(), append([]string{"merge"}, shards[0], shards[2]), io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "shard 2/3 is missing") {
		t.Errorf("status %d\n%s", status, stderr.String())
	}
	stderr.Reset()
	if status := Run(t.Context(), []string{"-dataset", dataset, "-url", agent.URL, "-trials", "5", "-agent-version", "v1", "-shard", "2/3", "-results", shards[1]}, io.Discard, &stderr); status != 0 ||
		!strings.Contains(stderr.String(), " stored already") {
		t.Fatalf("status %d\n%s", status, stderr.String())
	}
	stdout.Reset()
	if status := Run(t.Context(), args, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "60 cases, 300 trials in ") || !strings.Contains(stdout.String(), ": 300 passed\n") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	if status := Run(t.Context(), args, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "-o: ") {
		t.Errorf("the merged file is replaced: status %d\n%s", status, stderr.String())
	}
}

// The exit status says how the gate decides: passed, failed, undecided.
func TestGate(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	steady, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return say("yes") }, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return say("no") }, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := httptest.NewServer(steady), httptest.NewServer(broken)
	t.Cleanup(good.Close)
	t.Cleanup(bad.Close)
	var all strings.Builder
	all.WriteString("user,says\n")
	for i := range 80 {
		fmt.Fprintf(&all, "Say yes %d.,yes\n", i)
	}
	many, few := file("many.csv", all.String()), file("few.csv", "user,says\na,yes\nb,yes\n")
	baseline := func(dataset string, more ...string) string {
		path := filepath.Join(dir, fmt.Sprintf("%s%d.jsonl", filepath.Base(dataset), len(more)))
		args := append([]string{"-dataset", dataset, "-url", good.URL, "-results", path, "-agent-version", "v1"}, more...)
		if status := Run(t.Context(), args, io.Discard, io.Discard); status != 0 {
			t.Fatalf("status %d", status)
		}
		return path
	}
	manyBase, fewBase, early := baseline(many), baseline(few), baseline(few, "-first-failure")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"passed", []string{"-dataset", many, "-url", good.URL, "-baseline", manyBase}, 0, "gate, margin 5 points: passed\n"},
		{"failed", []string{"-dataset", many, "-url", bad.URL, "-baseline", manyBase}, statusFailed, "gate, margin 5 points: failed\n"},
		{"undecided", []string{"-dataset", many, "-url", good.URL, "-baseline", manyBase, "-margin", "0.001"}, statusUndecided, "gate, margin 0.1 points: undecided: the interval contains the margin: run more cases\n"},
		{"too few", []string{"-dataset", few, "-url", good.URL, "-baseline", fewBase, "-margin", "1"}, statusUndecided, "undecided: a gate needs at least 6 cases, and 2 have trials in both experiments\n"},
		{"of another dataset", []string{"-dataset", few, "-url", good.URL, "-baseline", manyBase}, 2, "toolwire eval: -baseline: the results cannot be compared: the dataset is "},
		{"of another world", []string{"-dataset", many, "-world", "testdata/world.json", "-url", good.URL, "-baseline", manyBase}, 2, "toolwire eval: -baseline: the results cannot be compared: the world is "},
		{"without rates", []string{"-dataset", many, "-url", good.URL, "-first-failure", "-baseline", manyBase}, 2, "toolwire eval: -baseline compares rates"},
		{"baseline without rates", []string{"-dataset", few, "-url", good.URL, "-baseline", early}, 2, "-baseline: it was run with -first-failure"},
		{"of a shard", []string{"-dataset", few, "-url", good.URL, "-baseline", manyBase, "-shard", "1/2", "-results", filepath.Join(dir, "x")}, 2, "-baseline and -min-rate are for merge"},
		{"the bar of a shard", []string{"-dataset", few, "-url", good.URL, "-min-rate", "0.5", "-shard", "1/2", "-results", filepath.Join(dir, "x")}, 2, "-baseline and -min-rate are for merge"},
		{"merge", []string{"merge", "-baseline", manyBase, manyBase}, 0, "gate, margin 5 points: passed\n"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Run(t.Context(), tt.args, &stdout, &stderr); status != tt.status || !strings.Contains(stdout.String()+stderr.String(), tt.want) {
			t.Errorf("%s: status %d\n%s%s", tt.name, status, stdout.String(), stderr.String())
		}
		if tt.status == 2 && stdout.Len() > 0 {
			t.Errorf("%s: trials ran before the mistake was found:\n%s", tt.name, stdout.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status := Run(ctx, []string{"-dataset", many, "-url", good.URL, "-baseline", manyBase}, io.Discard, io.Discard); status != 1 {
		t.Errorf("an interrupted run passes the gate: status %d", status)
	}
}

// An interrupt makes the command fail. What there is is reported, and how to go on: by the same command
// if the trials are in a file.
func TestInterrupted(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results.jsonl")
	for want, args := range map[string][]string{
		"toolwire eval: interrupted: the trials that ended are not kept; -results FILE keeps them": nil,
		"toolwire eval: interrupted: the trials that ended are in " + results +
			"; run the same command again to go on where it stopped\n": {"-results", results},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stdout, stderr bytes.Buffer
		status := Run(ctx, args, &stdout, &stderr)
		if status != 1 || !strings.Contains(stdout.String(), "0 passed, 7 cancelled") || !strings.Contains(stderr.String(), want) {
			t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
		}
	}
	// The advice is true.
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-results", results}, &stdout, &stderr); status != 0 || strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
}

// Without -world no tool is declared. This is said if an agent called one, and only then.
func TestNoWorld(t *testing.T) {
	for reply, calls := range map[string]bool{"yes": true, "no": false} {
		handler, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if calls {
				_, _ = run.Proxy.Do(ctx, "get_order", nil)
			}
			return say("%s", reply)
		}, &dispatch.Options{InsecureNoAuth: true})
		if err != nil {
			t.Fatal(err)
		}
		agent := httptest.NewServer(handler)
		t.Cleanup(agent.Close)
		dataset := filepath.Join(t.TempDir(), "rows.csv")
		if err := os.WriteFile(dataset, []byte("user,says\nHello.,maybe\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		status, want := Run(t.Context(), []string{"-dataset", dataset, "-url", agent.URL}, &stdout, &stderr), 1
		if calls {
			want = 2
		}
		if status != want || strings.Contains(stderr.String(), "there is no -world") != calls {
			t.Errorf("an agent that calls tools: %v: status %d\n%s", calls, status, stderr.String())
		}
	}
}

func TestElsewhere(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"": false, "http://localhost:8000/dispatch": false, "http://127.0.0.1:8000": false, "http://[::1]:8000/": false, "https://agent.example/": true, "http://10.0.0.1": true,
	} {
		if got := elsewhere(endpoint); got != want {
			t.Errorf("%q is elsewhere: %v", endpoint, got)
		}
	}
}

// The rows that failed run again, and so do the trials that an outage has made faults.
func TestRowsAgain(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	var down atomic.Bool
	handler, err := dispatch.New(sampleAgent, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			if body, _ := io.ReadAll(r.Body); string(body) != `{"ping":true}` {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(agent.Close)
	served := []string{"-dataset", "testdata/failing.csv", "-world", "testdata/world.json", "-url", agent.URL, "-results", file("all.jsonl")}
	run := func(status int, args []string, parts ...string) {
		t.Helper()
		var printed bytes.Buffer
		if got := Run(t.Context(), args, &printed, &printed); got != status {
			t.Errorf("%q: status %d, want %d", args, got, status)
		}
		if args[len(args)-1] == "-retry-faults" && strings.Contains(printed.String(), "-retry-faults runs again") {
			t.Errorf("%q: the advice is what is done\n%s", args, printed.String())
		}
		for _, part := range parts {
			if !strings.Contains(printed.String(), part) {
				t.Errorf("%q: %q is missing in\n%s", args, part, printed.String())
			}
		}
	}
	down.Store(true)
	run(1, served, "auth_failed      5\n")
	down.Store(false)
	run(1, served, ", 5 stored already, 5 faults stored, which -retry-faults runs again", "auth_failed      5\n")
	run(1, append(served, "-retry-faults"), "at most 5 trials of 5 cases", "5 runs that ended in a fault ran again: with their trials as failed, the rate is 0 % [", ": 1 passed, 4 failed\n")
	run(1, []string{"-dataset", "testdata/failing.csv", "-failed", file("all.jsonl")}, "\n4 cases in ", ": 0 passed, 4 failed\n")
	stored, err := os.ReadFile(file("all.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	run(0, []string{"-results", file("sample.jsonl")}, ": 6 passed, 1 skipped\n")
	run(2, []string{"-failed", file("sample.jsonl")}, "-failed: no row of the dataset has failed in ")
	passing := string(regexp.MustCompile(`(?m)^\{"id":"([0-9a-f]+)".*"verdict":"passed"`).FindSubmatch(stored)[1])
	run(2, []string{"-dataset", "testdata/failing.csv", "-failed", file("all.jsonl"), "-case", passing}, "-failed: no row of the dataset has failed in ")
	run(2, []string{"-failed", file("all.jsonl")}, "-failed: no row of the dataset has failed in ")
	run(2, []string{"-dataset", "testdata/failing.csv", "-failed", file("all.jsonl"), "-json", file("all.jsonl")}, "-json and -failed name the same file")
	run(1, []string{"merge", file("all.jsonl")}, "run the first again: $ toolwire eval -dataset='testdata/failing.csv' -url='"+agent.URL+"' -world='testdata/world.json' -case '")
}

// The gate is also about calls and cost, and fails if a cost is not known. Slices are in all reports.
func TestScoresAndSlices(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	priced, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		response, err := sampleAgent(ctx, run)
		if response != nil {
			response.Metadata = &dispatch.Metadata{Model: "small", TotalInputTokens: 1000, TotalOutputTokens: 100}
		}
		return response, err
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(priced)
	t.Cleanup(agent.Close)
	var rows strings.Builder
	rows.WriteString("user,says,topic\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "Refund order #4521.,has been issued,topic %d\n", i%2)
	}
	dataset, prices := file("tasks.csv", rows.String()), file("prices.json", `{"small":{"input":1,"output":10}}`)
	served := []string{"-dataset", dataset, "-world", "testdata/world.json", "-url", agent.URL}
	run := func(status int, args []string, parts ...string) {
		t.Helper()
		var printed bytes.Buffer
		if got := Run(t.Context(), args, &printed, &printed); got != status {
			t.Errorf("%q: status %d, want %d", args, got, status)
		}
		for _, part := range parts {
			if !strings.Contains(printed.String(), part) {
				t.Errorf("%q: %q is missing in\n%s", args, part, printed.String())
			}
		}
	}
	before, after := file("before.jsonl", ""), file("after.jsonl", "")
	run(0, append(served, "-results", before, "-prices", prices, "-slice", "topic"),
		"cost        0.002 [0.002, 0.002] ", "calls       2 [2, 2]", "\ntopic 0  40     100 % [", "2 values: one interval in 20 misses the truth")
	limits := []string{"-max-trial-cost", "0.003", "-max-trial-calls", "2"}
	run(4, append(append(served, "-results", after, "-baseline", before, "-prices", prices, "-gate", "cost=0.1", "-gate", "calls=0", "-slice", "topic"), limits...),
		"cost        0.002 to 0.002: 0 % [0, 0]", "\ntopic 1  40     100 %     100 %      0 [", "gate, margin 5 points: passed\n"+
			"gate, calls, margin 0, limit 2: undecided: the interval contains the margin: run more cases\ngate, cost, margin 0.1, limit 0.003: passed\n") // exactly at its margin
	run(0, []string{"merge", "-slice", "topic", before}, "\ntopic 1  40     100 % [")
	run(2, []string{"merge", "-slice", "topik", before}, `toolwire eval: -slice: no row has a value in the column "topik"`)
	run(0, []string{"versions", "-prices", prices, after, before}, "version  started ", "before   20", "after    20", "    0 [-4.7, +4.7]                   cannot tell\n", "\nbefore   2      1000  ")
	page := file("versions.html", "")
	run(0, []string{"versions", "-html", page, "-prices", prices, after, before})
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`<th scope="row">before</th>`, `<th scope="row">after</th>`, "0 [−4.7, &#43;4.7]", "<h1 dir=\"auto\">after</h1>"} {
		if !bytes.Contains(html, []byte(part)) {
			t.Errorf("%q is missing on the page of the versions", part)
		}
	}
	run(2, []string{"versions", "-html", before, after, before}, "-html and the file "+before+" name the same file")
	run(2, []string{"versions", before}, "toolwire eval: versions needs at least two files of results")
	run(2, []string{"versions", before, "nope.jsonl"}, "nope.jsonl: the file cannot be read")
	run(2, []string{"merge", "-baseline", before, "-gate", "cost=0.1", after}, "toolwire eval: -gate cost needs -prices\n")
	run(2, []string{"merge", "-baseline", before, "-gate", "cost=0.1", "-prices", file("others.json", `{"large":{"input":1,"output":10}}`), after},
		"toolwire eval: -gate cost: -baseline has no such score; it has calls, tokens_in, tokens_out, seconds\n")
	run(4, []string{"merge", "-baseline", before, "-gate", "calls=0", after}, "gate, calls, margin 0, limit 2: undecided: the interval contains the margin: run more cases\n")
	run(0, []string{"merge", "-baseline", before, "-gate", "calls=0.1", "-prices", prices, after}, "gate, calls, margin 0.1, limit 2: passed\n")
	run(4, []string{"merge", "-baseline", before, "-gate", "calls=0.1", "-max-trial-calls", "20", after},
		"gate, calls, margin 0.1, limit 20: undecided: so few cases may not show those that reach the limit of 20: run more cases, or lower the limit\n")
	// The verdicts of merged trials are from their runs, so it takes no limit that their runs did not have.
	run(2, []string{"merge", "-max-trial-calls", "1", after}, "toolwire eval: -max-trial-calls: the trials ran with the limit 2; toolwire eval grade applies another one\n")
	run(2, []string{"merge", "-max-trial-tokens", "5", "-o", file("no.jsonl", ""), after}, "toolwire eval: -max-trial-tokens: the trials ran without this limit; toolwire eval grade applies it\n")
	// What a gate asks for is checked before anything runs.
	run(2, append(served, "-baseline", before, "-gate", "calls=0.1"), "toolwire eval: -gate calls needs a limit for a trial, -max-trial-calls: ")
	run(2, []string{"merge", "-baseline", before, "-gate", "tokens_in=0.1", after}, "toolwire eval: -gate tokens_in needs a limit for a trial, -max-trial-tokens: ")
	run(2, append(served, "-baseline", before, "-gate", "cots=0.1"), "toolwire eval: -gate cots: -baseline has no such score; it has calls, tokens_in, ")
	run(2, append(served, "-max-trial-cost", "1"), "toolwire eval: -max-trial-cost: needs -prices\n")
	run(2, append(served, "-max-cost", "-1", "-prices", prices), "toolwire eval: -max-cost: must not be negative")
	run(0, append(append(served, "-plan", "-baseline", before, "-prices", prices, "-gate", "cost=0.1", "-gate", "calls=0.1"), "-max-trial-cost", "0.02", "-max-trial-calls", "2"),
		"gate, calls: the limit of 2 is 1.0 times what a trial of the baseline needs; if nothing differs, it passes from a margin of 0.0",
		"gate, cost: the limit of 0.02 is 10.0 times what a trial of the baseline needs; if nothing differs, it passes from a margin of 0.4")
	run(0, append(append(served, "-plan", "-baseline", before, "-prices", prices, "-gate", "calls=0"), "-max-trial-calls", "3"),
		"gate, calls: the limit of 3 is 1.5 times what a trial of the baseline needs; it passes only if the candidate needs less\n")
	// A trial beyond its limit fails.
	run(1, append(served, "-max-trial-calls", "1", "-limit", "1"), "limit: it called tools 2 times, and a trial may do so 1 times", "\nlimit      1\n")
	run(1, append(served, "-max-trial-tokens", "1000", "-limit", "1"), "limit: it needed 1100 tokens, and a trial may need 1000")
	run(1, append(served, "-max-trial-cost", "0.001", "-prices", prices, "-limit", "1"), "limit: it cost 0.002, and a trial may cost 0.001")
	run(1, append(served, "-max-cost", "0.003", "-prices", prices, "-limit", "4", "-parallel", "1"), "in 2 of 4 cases no trial ended", "2 passed, 2 cancelled")
	run(2, []string{"-gate", "costt=0.1", "-gate", "calls=0.1"}, "-gate compares with a -baseline\n-gate costt: there is no such score; a run has calls, cost, ",
		"\n-gate calls needs a limit for a trial, -max-trial-calls: ")
	run(2, []string{"-gate", "cost=0.1", "-gate", "cost=0.3"}, "the score cost has a margin already")
	run(2, []string{"-gate", "calls"}, "it is a score and a margin, such as cost=0.1")
	run(2, []string{"-prices", file("bad.json", "{}")}, "-prices: the prices are not an object of models")
	run(2, []string{"-prices", prices, "-json", prices}, "-json and -prices name the same file")
	run(2, []string{"-prices", file("nope.json", "")}, "-prices: open ")
}
