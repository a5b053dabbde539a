package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

var update = flag.Bool("update", false, "write the reports in testdata anew")

// reported is a set with everything that reports show, with fixed times. What the agent says is
// hostile.
func reported(t *testing.T) *eval.Experiment {
	t.Helper()
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		response, err := obedient(ctx, run)
		if response != nil && strings.HasPrefix(run.Instruction, "shout") {
			response.FinalResponse = "<b>\x1b[2J\x00 & \"quotes\"\r\n\uFFFE]]>\xff"
		}
		return response, err
	}
	csv := "user,state,expected_outcome,turn_mode,user_simulator_persona,name\n" +
		"call get_order,,,,,\n" +
		"\"shout\nover lines\",,refusal,,,\n" +
		"fail,,,,,the one that fails\n" +
		"call get_ordre,,,,,\n" +
		"do,,,model_as_user,a clerk,\n" +
		"shout <again>,,,,,\n" +
		strings.Repeat("say,,,,,\n", 7)
	base := dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}}}
	cases := casesOf(t, csv, base)
	cases = append(cases, eval.Case{Name: "by\nhand", Task: dispatchtest.Task{Input: 1}}, eval.Case{Name: "late", Task: dispatchtest.Task{Instruction: "hang"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set, err := eval.Run(ctx, dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		Parallel: 1,
		Grader: func(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
			if strings.HasPrefix(c.Task.Instruction, "shout <") {
				return errors.New("it said\n" + r.FinalResponse)
			}
			return nil
		},
		OnTrial: func(trial eval.Trial) {
			if trial.Name == "by\nhand" {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	set.Name = "orders"
	set.Started, set.Took = time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600)), 1234*time.Millisecond
	for i := range set.Trials {
		if set.Trials[i].Took > 0 {
			set.Trials[i].Took = time.Duration(i+1) * 5 * time.Millisecond
			delete(set.Trials[i].Scores, "seconds")
		}
	}
	return set
}

// golden compares a report with that in testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`[0-9.]+ ms\)`).ReplaceAll(b.Bytes(), []byte("1.0 ms)"))
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
	return b.Bytes()
}

func TestReports(t *testing.T) {
	set := reported(t)
	text := golden(t, "experiment.txt", func(w io.Writer) error { return set.WriteSummary(w, false) })
	if bytes.ContainsAny(text, "\x1b\x00") {
		t.Errorf("what an agent says reaches the terminal: %q", text)
	}
	doc := golden(t, "experiment.json", set.WriteJSON)
	var parsed struct {
		OK     bool
		Counts map[string]int
		Cases  []struct{ Verdict, Cause string }
	}
	if err := json.Unmarshal(doc, &parsed); err != nil || parsed.OK || parsed.Counts["passed"] != 9 || parsed.Counts["cases"] != 15 || len(parsed.Cases) != 15 {
		t.Errorf("%+v, error %v", parsed, err)
	}
	golden(t, "experiment.xml", set.WriteJUnit)
	golden(t, "experiment.md", func(w io.Writer) error { return set.WriteMarkdown(w, nil) })
}

// The XML is well-formed whatever agents say, and its counts agree with its cases.
func TestJUnit(t *testing.T) {
	set := reported(t)
	var b bytes.Buffer
	if err := set.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	type counts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	type reason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	var doc struct {
		XMLName xml.Name `xml:"testsuites"`
		counts
		Suites []struct {
			Name string `xml:"name,attr"`
			counts
			Timestamp string `xml:"timestamp,attr"`
			Cases     []struct {
				Name      string   `xml:"name,attr"`
				ClassName string   `xml:"classname,attr"`
				Time      string   `xml:"time,attr"`
				Failure   []reason `xml:"failure"`
				Error     []reason `xml:"error"`
				Skipped   []reason `xml:"skipped"`
				SystemOut string   `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	decoder := xml.NewDecoder(&b)
	decoder.Strict = true
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != 1 || doc.Suites[0].Name != "orders" || doc.Suites[0].Timestamp != "2026-03-01T11:00:00" || doc.Tests != 15 || doc.Failures != 3 || doc.Errors != 2 {
		t.Fatalf("%+v", doc)
	}
	var got counts
	names := map[string]bool{}
	for i, c := range doc.Suites[0].Cases {
		got.Tests++
		got.Failures += len(c.Failure)
		got.Errors += len(c.Error)
		got.Skipped += len(c.Skipped)
		if len(c.Failure)+len(c.Error)+len(c.Skipped) > 1 || c.ClassName != "orders" || names[c.Name] || !strings.Contains(c.Time, ".") {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
		if (set.Trials[i].Result != nil) != strings.Contains(c.SystemOut, "verdict") {
			t.Errorf("%s has the output %q", c.Name, c.SystemOut)
		}
	}
	suite := doc.Suites[0].counts
	if suite.Time = ""; got != suite {
		t.Errorf("the suite says %+v, its cases %+v", suite, got)
	}
	if c := doc.Suites[0].Cases[5]; len(c.Failure) != 1 || c.Failure[0].Type != "grader" || !strings.Contains(c.Failure[0].Text, "<b>\uFFFD[2J\uFFFD & \"quotes\"\n\uFFFD]]>") {
		t.Errorf("%+v", c)
	}
}

// Calls are in their order, whatever became of them.
func TestCallsInJSON(t *testing.T) {
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}
	set, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, casesOf(t, csvOf("both"), dispatchtest.Task{World: world}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := set.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cases []struct {
			Calls []struct {
				Tool, Source string
				Status       int
				Class        string `json:"error_class"`
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(doc.Cases[0].Calls), "[{get_ordre  404 tool_not_executable} {get_order odyssey 0 }]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A long list is cut, an agent's output is bounded, and colour is only said to be wanted.
func TestSummary(t *testing.T) {
	long := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 100 {
			_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": strings.Repeat("é", 1000)})
			_, _ = run.Proxy.Do(ctx, strings.Repeat("t", 100), map[string]string{"text": strings.Repeat("é", 1000)})
		}
		return &dispatch.Response{FinalResponse: strings.Repeat("é", 100_000)}, nil
	}
	fast, err := proxytest.New(proxytest.World{}, &proxytest.Options{RatePerMinute: -1, AllowUndeclared: true})
	if err != nil {
		t.Fatal(err)
	}
	failing := strings.Split(strings.TrimSuffix(strings.Repeat("fail,", 30), ","), ",")
	set, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, casesOf(t, csvOf(failing...), dispatchtest.Task{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := set.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "\nand 10 more\n") || !strings.Contains(b.String(), "agent_5xx     30\n") {
		t.Errorf("error %v\n%s", err, b.String())
	}
	b.Reset()
	if err := set.WriteSummary(&b, true); err != nil || !strings.Contains(b.String(), "\x1b[31mfailed\x1b[0m  row 2: fail") ||
		!strings.HasSuffix(b.String(), ": 0 passed, \x1b[31m30 failed\x1b[0m\n") {
		t.Errorf("%q", b.String())
	}
	if set, err = eval.Run(t.Context(), dispatchtest.Target{Agent: long}, casesOf(t, csvOf("a"), dispatchtest.Task{Platform: fast}), nil); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := set.WriteJUnit(&b); err != nil || b.Len() < 60_000 || b.Len() > 80_000 || !strings.Contains(b.String(), "…</system-out>") {
		t.Errorf("%d bytes, error %v", b.Len(), err)
	}
	if set, err = eval.Run(t.Context(), dispatchtest.Target{Handler: http.HandlerFunc(rawAgent)}, casesOf(t, csvOf("robot"), dispatchtest.Task{}), nil); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := errors.Join(set.WriteSummary(&b, false), set.WriteJSON(&b)); err != nil || !set.OK() ||
		!strings.HasPrefix(b.String(), "warning  1 case: the answer misses the response contract: messages_malformed; the first is row 2: robot\n") ||
		!strings.Contains(b.String(), `"problems": [`) {
		t.Errorf("error %v\n%s", err, b.String())
	}
	malformed := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{
			{Role: "assistant", Content: dispatch.Content("plain")}, {Role: "bot"}, {Role: "bot"}, {Role: "assistant", Content: dispatch.Content("plain")},
		}}, nil
	}
	set, err = eval.Run(t.Context(), dispatchtest.Target{Agent: malformed}, casesOf(t, csvOf("a", "b"), dispatchtest.Task{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := set.WriteSummary(&b, false); err != nil || !set.OK() ||
		!strings.HasPrefix(b.String(), "warning  2 cases: the handler has changed what the agent answered: messages_repaired; the first is row 2: a\n"+
			"warning  2 cases: the handler has changed what the agent answered: messages_removed; the first is row 2: a\n\n") {
		t.Errorf("error %v\n%s", err, b.String())
	}
	for name, write := range map[string]func(io.Writer) error{
		"summary": func(w io.Writer) error { return set.WriteSummary(w, false) }, "JSON": set.WriteJSON, "JUnit": set.WriteJUnit,
	} {
		full := errors.New("disk full")
		if err := write(failingWriter{full}); !errors.Is(err, full) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// The warnings in JSON do not have the problem that failed the run: it is the reason.
func TestWriteJSONWarnings(t *testing.T) {
	result := &dispatchtest.Result{Warnings: []string{"one"}}
	result.Problems = []dispatch.Problem{{Code: "bad", Fatal: true}, {Code: "odd", Message: "two"}}
	e := &eval.Experiment{Trials: []eval.Trial{{Case: &eval.Case{}, Verdict: eval.Failed, Result: result}}}
	var b bytes.Buffer
	var doc struct {
		Cases []struct {
			Warnings []string
			Problems []dispatch.Problem
		}
	}
	if err := errors.Join(e.WriteJSON(&b), json.Unmarshal(b.Bytes(), &doc)); err != nil {
		t.Fatal(err)
	}
	if got := doc.Cases[0]; len(got.Warnings) != 1 || got.Warnings[0] != "one" || len(got.Problems) != 1 || got.Problems[0].Message != "two" {
		t.Errorf("%+v", got)
	}
}

// Reports have no secrets of the target, whether the results are in memory or in a file.
func TestReportsHaveNoSecrets(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// The timeline in JUnit is cut within the second one.
		_, _ = fmt.Fprintf(w, `{"final_response":%q}`, "you sent "+secret+strings.Repeat(" "+r.Header.Get("Authorization"), 4000))
	})
	talk := &dispatchtest.Conversation{User: func(_ context.Context, turns []dispatchtest.Turn) (string, error) {
		return "", fmt.Errorf("%w: I know %s", dispatchtest.ErrDone, turns[0].FinalResponse)
	}}
	cases := []eval.Case{{ID: "a", Task: dispatchtest.Task{Instruction: "say", Conversation: talk}}}
	target := dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}
	for _, file := range []string{"", filepath.Join(t.TempDir(), "results.jsonl")} {
		shown := ""
		e, err := eval.Run(t.Context(), target, cases, &eval.Options{
			ResultsFile: file, OnTrial: func(t eval.Trial) { shown = t.Reason },
			Grader: func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error { return errors.New(r.FinalResponse) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, write := range map[string]func(io.Writer) error{
			"summary": func(w io.Writer) error { return e.WriteSummary(w, false) }, "JSON": e.WriteJSON, "JUnit": e.WriteJUnit,
			"page": func(w io.Writer) error { return e.WriteHTML(w, nil) }, "OnTrial": func(w io.Writer) error { _, err := io.WriteString(w, shown); return err },
		} {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), secret[:8]) || !strings.Contains(b.String(), "you sent [redacted]") {
				t.Errorf("%s of the file %q has the secret, or not what the agent said:\n%.2000s", name, file, b.String())
			}
		}
	}
}
