package eval_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

var htmlFolder = flag.String("html", "", "a `folder` for the pages of TestWriteHTML, which internal/workshop/sdks/browser reads")

// evil is what nothing from outside may become: an element, an attribute, a direction of writing.
const evil = "</pre></script><x-evil onload=alert(1)>\"'`{{.}}\u202e\u0000\u2066\x1b[2J]]>-->"

// refunder is an agent whose candidate refunds wrongly and repairs what the baseline did not do.
func refunder(candidate bool) dispatch.Agent {
	var trials, talks, large atomic.Int64
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		call := func(tool string, args any) {
			_, _ = run.Proxy.Do(ctx, tool, args)
		}
		verb, rest, _ := strings.Cut(run.Instruction, " ")
		say, messages := "done: "+rest, []dispatch.Message(nil)
		switch verb {
		case "refund":
			for i := range 8 {
				call("get_order", map[string]any{"order_id": fmt.Sprint(4514 + i)})
			}
			amount := 79.5
			if candidate {
				call("list_orders", map[string]any{"customer": "cust_9"})
				amount, say = 795, "wrong: the amount"
			}
			call("refund_order", map[string]any{"order_id": "4521", "amount": amount, "note": "arrived broken"})
		case "improve":
			if !candidate {
				say = "wrong: not found"
			}
			call("get_order", map[string]any{"order_id": map[bool]string{false: "17", true: "0017"}[candidate]})
		case "flaky":
			if rest == "again" && talks.Add(1)%2 == 1 || rest != "again" && trials.Add(1)%2 == 0 {
				say = "wrong: by chance"
			}
			call("get_order", nil)
		case "hostile":
			say = evil
			argument := "small"
			if candidate && large.Add(1) == 1 {
				say, argument = evil+strings.Repeat("long ", 210_000), strings.Repeat("x", 20_000)
			}
			_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": evil})
			call("get_order", map[string]any{evil: evil, "big": argument})
			messages = []dispatch.Message{{Role: dispatch.RoleAssistant, Content: dispatch.Content(evil), ToolCalls: []dispatch.ToolCall{
				{ID: evil, Name: evil, Arguments: []byte(`{"a":"<x-evil>"}`)},
			}}, {Role: dispatch.RoleTool, ToolCallID: evil, Content: dispatch.Text(evil)}, {Role: dispatch.RoleAssistant, Content: dispatch.Text(say)}}
		}
		return &dispatch.Response{FinalResponse: say, Messages: messages}, nil
	}
}

// rows are the cases that the pages of these tests show.
func rows(t *testing.T) []eval.Case {
	csv := "id,user,expected_outcome,turn_mode,user_simulator_persona,simulator_mode,scripted_user_turns\n" +
		"refund,refund the lamp,,,,,\n" +
		"improve,improve the search,refusal,,,,\n" +
		"flaky,flaky but not worse,,,,,\n" +
		"\"x </script><x-evil> a/b:c#?%\",hostile,,,,,\n" +
		"persona,say as a clerk,,model_as_user,a clerk,,\n" +
		"talk,say a,,model_as_user,,scripted,\"[\"\"flaky again\"\",\"\"say c\"\"]\"\n"
	for i := range 4 {
		csv += fmt.Sprintf("plain-%d,say %d,,,,,\n", i, i)
	}
	answer := proxytest.Canned(`{"status":"shipped","note":"<x-evil>"}`)
	behaviors := map[string]proxytest.Behavior{"get_order": answer, "list_orders": answer, "refund_order": answer}
	cases := casesOf(t, csv, dispatchtest.Task{World: proxytest.World{Behaviors: behaviors}})
	cases[3].Name = "hostile " + evil
	return cases
}

func notWrong(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
	switch {
	case strings.HasPrefix(r.FinalResponse, "wrong"):
		return fmt.Errorf("the final response is %q", r.FinalResponse)
	case c.Name == "hostile "+evil:
		return errors.New(evil)
	case strings.HasSuffix(c.ID, "-3"):
		return fmt.Errorf("the model is not there: %w", eval.ErrNotGraded)
	}
	return nil
}

// experiment runs the cases into a file and loads it, with fixed times.
func experiment(t *testing.T, cases []eval.Case, agent dispatch.Agent, opts eval.Options) *eval.Experiment {
	t.Helper()
	opts.ResultsFile, opts.Parallel, opts.Grader = filepath.Join(t.TempDir(), "results.jsonl"), 1, notWrong
	if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &opts); err != nil {
		t.Fatal(err)
	}
	e, err := eval.Load(opts.ResultsFile)
	if err != nil {
		t.Fatal(err)
	}
	e.Name, e.Started, e.Took = "orders <x-evil>", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 1234*time.Millisecond
	for i := range e.Trials {
		e.Trials[i].Took = time.Duration(i+1) * 5 * time.Millisecond
		delete(e.Trials[i].Scores, "seconds")
	}
	return e
}

func written(t *testing.T, e *eval.Experiment, before ...*eval.Experiment) string {
	t.Helper()
	var b bytes.Buffer
	if err := e.WriteHTML(&b, before...); err != nil {
		t.Fatal(err)
	}
	checkHTML(t, b.String())
	return b.String()
}

// checkHTML holds a page to what all pages keep: it is whole, loads nothing, and its links lead to
// places in it.
func checkHTML(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	ids, links, level, scripts := map[string]bool{}, []string(nil), 1, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not HTML that closes its elements: %v", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		name := element.Name.Local
		if name == "script" || name == "style" {
			scripts++
		}
		if slices.Contains([]string{"x-evil", "iframe", "img", "object", "form", "base"}, name) {
			t.Errorf("the page has an element %s", name)
		}
		if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
			if now := int(name[1] - '0'); now > level+1 {
				t.Errorf("a heading jumps from level %d to %d", level, now)
			} else {
				level = now
			}
		}
		for _, a := range element.Attr {
			switch key := a.Name.Local; {
			case key == "id" && (ids[a.Value] || strings.ContainsAny(a.Value, " \t\n") || a.Value == ""):
				t.Errorf("the id %q is there twice, or is not one", a.Value)
			case key == "id":
				ids[a.Value] = true
			case key == "href" && strings.HasPrefix(a.Value, "#"):
				links = append(links, a.Value[1:])
			case (key == "href" || key == "src") && a.Value != "data:,":
				t.Errorf("<%s %s=%q> leads elsewhere", name, key, a.Value)
			case key == "style" || strings.HasPrefix(key, "on"):
				t.Errorf("<%s> has an attribute %s", name, key)
			}
		}
	}
	for _, link := range links {
		if !ids[link] {
			t.Errorf("the link #%s leads nowhere", link)
		}
	}
	if scripts != 2 || strings.Count(page, "<script") != 1 || len(links) < 1 {
		t.Errorf("%d styles and scripts, %d links", scripts, len(links))
	}
	if !utf8.ValidString(page) || strings.ContainsAny(page, "\x00\x1b\u202e\u2066") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has characters that act")
	}
	for _, url := range regexp.MustCompile(`(https?:)?//[a-z]`).FindAllString(strings.Split(page, "</style>")[1], -1) {
		t.Errorf("the page has the address %s", url)
	}
}

// skeleton is the elements of a page with their classes and ids, without texts.
func skeleton(t *testing.T, page string) string {
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return b.String()
		}
		switch token := token.(type) {
		case xml.StartElement:
			fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", depth), token.Name.Local)
			for _, a := range token.Attr {
				if slices.Contains([]string{"id", "class", "data-n", "data-v", "data-c"}, a.Name.Local) {
					fmt.Fprintf(&b, " %s=%s", a.Name.Local, a.Value)
				}
			}
			b.WriteByte('\n')
			depth++
		case xml.EndElement:
			depth--
		}
	}
}

func TestWriteHTML(t *testing.T) {
	cases := rows(t)
	baseline := experiment(t, cases, refunder(false), eval.Options{Trials: 5, AgentVersion: "v1"})
	candidate := experiment(t, cases, refunder(true), eval.Options{Trials: 5, AgentVersion: "v2"})
	page := written(t, candidate, baseline)
	if again := written(t, candidate, baseline); again != page {
		t.Error("equal experiments do not give equal bytes")
	}
	single := written(t, experiment(t, cases, refunder(true), eval.Options{}), nil)
	if *htmlFolder != "" {
		pages := map[string]string{"comparison.html": page, "single.html": single, "many.html": written(t, shop10(10_000, 2), shop10(10_000, 1)),
			"versions.html": written(t, shop10(40, 3), shop10(40, 1), shop10(40, 2))}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(*htmlFolder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, part := range map[string][2]string{"comparison": {page, "li class=trial"}, "single": {single, "li class=case"}} {
		all := skeleton(t, part[0])
		head := strings.SplitN(all, part[1], 4) // and two of the list
		end := all[strings.LastIndex(all, "  section id="):]
		golden(t, name+".html.txt", func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Join(head[:3], part[1])+"…\n"+end)
			return err
		})
	}

	text := textOf(page)
	for _, want := range []string{
		"orders <x-evil>", "28 passed", "12 failed", "5 with errors", "10 cases, 46 trials in 1.2 s", "v1", "v2",
		"62.2 % [27.8, 87.6]", "trials that passed, 5 faults counted as failed: 62.2 % [", "faults dropped: 0 points in 8 cases", "cases that always passed: ", "Several trials of a case", "not_graded 5",
		"9 cases: 1 improved, 1 regressed, 7 the same, 0 undecided", "cannot tell: 0 points in 9 cases, p = ", "All 45 runs are shown in full",
		"100 % → 0 % [0, 43.4] −100 [−100, −38.6] ▼ regressed", "0 % → 100 % [56.6, 100] +100 [+38.6, +100] ▲ improved", "60 % → 60 % [23.1, 88.2]",
		"Calls compared with trial 2 of the baseline, which passed", `+ added: list_orders({"customer":"cust_9"})`,
		`~ changed: get_order /order_id: "17" → "0017"`, "The same calls with the same arguments.", "6 equal calls",
		"The whole text has 1.0 MiB.", "⟨U+202E⟩⟨U+0000⟩", "Dispatch, turn 2", "Answer to turn 3", "final_response done: c",
		"Answer to turn 2 answered 200", "Dispatch, turn 3",
		"1 trial, skipped: a model has to write the user's turns",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(text[:min(len(text), 6000)])
	}
	if !regexp.MustCompile(`turn 2 flaky again user_instruction flaky again \+[0-9.]+ ms get_order .{0,200} Answer to turn 2 `).MatchString(text) {
		t.Error("the call of the second turn is not in that turn")
	}
	// The string of more than 1 MB is cut.
	if len(page) > 500_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// textOf is what a reader sees of a page.
func textOf(page string) string {
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.Split(page, "</style>")[1], " "))
	return strings.Join(strings.Fields(text), " ")
}

// shop10 is a version with three trials of each of n cases, whose rows have columns. Every tenth case
// fails, in the second version all cases of a team, and in the third none.
func shop10(n, version int) *eval.Experiment {
	e := &eval.Experiment{
		Name: "shop", Started: time.Date(2026, 3, version, 12, 0, 0, 0, time.UTC), Took: time.Hour,
		GateBy: map[string]float64{"": 0.02, "cost": 0.3},
	}
	e.TrialBudget().Cost = 0.1
	e.Fingerprint().Agent = fmt.Sprintf("v%d", version)
	result := &dispatchtest.Result{Turns: []dispatchtest.Turn{{Instruction: "The order broke. Refund it."}}}
	result.Calls = []proxytest.Call{{Tool: "get_order", Status: 200, Source: "behavior", Order: 1}}
	for i := range n {
		c := &eval.Case{ID: fmt.Sprintf("row-%d", i), Name: fmt.Sprintf("row-%d: Order #%d", i, 1000+i), Columns: map[string]string{
			"topic": []string{"plain", "angry", "other", "refund"}[i%4], "team": fmt.Sprintf("team %d", i%5), "says": fmt.Sprintf("$%d.50", i),
		}}
		for k := range 3 {
			t := eval.Trial{Case: c, Number: k + 1, Verdict: eval.Passed, Took: time.Duration(i%97+k+1) * time.Millisecond, Result: result,
				Scores: map[string]float64{"calls": 1, "cost": float64(i%7+version) / 100}}
			if version < 3 && i%10 == k || version == 2 && i%5 == 2 {
				t.Verdict, t.Cause, t.Reason = eval.Failed, "grader", "the final response does not contain \"refunded\""
			}
			e.Trials = append(e.Trials, t)
		}
	}
	return e
}

// The page begins with what a decision needs: the versions with their rates, the difference, and the
// gates. The summary in a terminal says the same.
func TestTheDecisionIsAtTheTop(t *testing.T) {
	first, second, third := shop10(40, 1), shop10(40, 2), shop10(40, 3)
	page := written(t, second, first)
	top, _, _ := strings.Cut(textOf(page), "Scores score")
	for _, want := range []string{
		"✕ The gate failed", "rate, margin 2 points: failed", "cost, margin 0.3, limit 0.1: undecided", "v1 2026-03-01 12:00 40 90 % [", "v2 2026-03-02 12:00 40 73.3 % [",
		"−16.7 [−30.9, −4.3] ▼ regressed", "40 cases: 0 improved, 4 regressed, 32 the same, 4 undecided", "regressed: -16.7 points in 40 cases, p = 0.000", "cases that always passed: ",
	} {
		if !strings.Contains(top, want) {
			t.Errorf("%q is not at the top:\n%s", want, top)
		}
	}
	second.SliceBy = []string{"team"}
	c := compare(t, first, second)
	if second.SliceBy = nil; len(compared(c, "slices"))%5 != 0 || len(c.Gates) != 2 {
		t.Errorf("%d parts, and they have gates", len(compared(c, "slices")))
	}
	if c.Gate != eval.Failed || len(c.Gates) != 2 || c.Gates[0].Verdict != c.Bound("", 0.02).Verdict || c.Gates[1].Difference.Name != "cost" {
		t.Errorf("%s: %+v", c.Gate, c.Gates)
	}
	var b strings.Builder
	if err := c.WriteSummary(&b, false); err != nil || !strings.Contains(b.String(), "\ngate, margin 2 points: failed\ngate, cost, margin 0.3, limit 0.1: undecided: the interval contains the margin: run more cases\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	// Passed, undecided, and none.
	if text := textOf(written(t, third, second)); !strings.Contains(text, "✓ The gate passed") {
		t.Error("the page does not show the gate that passed")
	}
	second.GateBy, third.GateBy = map[string]float64{"charm": 1}, nil
	small := shop10(5, 3)
	if text := textOf(written(t, small, shop10(5, 3))); !strings.Contains(text, "? The gate is undecided") {
		t.Error("the page does not show the gate that is undecided")
	}
	if text := textOf(written(t, second, first)); !strings.Contains(text, "charm, margin 1: failed: the score charm is not known") {
		t.Error("the page does not show why a gate failed")
	}
	if text := textOf(written(t, third, second)); strings.Contains(text, "The gate") {
		t.Error("the page shows a gate that nobody asked for")
	}
	// Without a baseline there is a rate and nothing to compare; with two versions before there are both steps.
	if text := textOf(written(t, second)); !strings.Contains(text, "v2 2026-03-02 12:00 40 73.3 % [") || strings.Contains(text, "since the version before") {
		t.Error("the page of one version does not show its rate alone")
	}
	second.MinRate = 0.99
	if text := textOf(written(t, second)); !strings.Contains(text, "✕ The gate failed") {
		t.Error("the page of one version does not show the bar that failed")
	}
	second.MinRate = 0
	before := []*eval.Experiment{nil, first, second}
	text := textOf(written(t, third, before...))
	if before[0] != nil || before[1] != first || before[2] != second {
		t.Error("the caller's list has changed")
	}
	for _, want := range []string{"v1 2026-03-01 12:00 40 90 %", "v3 2026-03-03 12:00 40 100 %", "2 comparisons: one interval in 20", "Scores by version", "v3 1 0.0",
		"40 cases: 8 improved, 0 regressed, 24 the same, 8 undecided"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the page of three versions", want)
		}
	}
	if n := strings.Count(text, "of the baseline, which did not pass"); n != 32 {
		t.Errorf("%d runs are compared with one of the last version before that did not pass, and not 32", n)
	}
	for i := range third.Trials {
		first.Trials[i].Scores, second.Trials[i].Scores, third.Trials[i].Scores = nil, nil, nil
	}
	if text := written(t, third, first, second); strings.Contains(text, "Scores by version") {
		t.Error("the page of versions without scores has a table of them")
	}
	third.Fingerprint().Graders, first.Fingerprint().Graders, second.Fingerprint().Graders = "g2", "g1", "g2"
	if err := third.WriteHTML(io.Discard, first, second); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), `"v2" after "v1"`) {
		t.Errorf("error %v", err)
	}
}

// Each case shows both rates, their difference and the columns of its row. Columns with few values are
// parts of the experiment, and filters. The slowest and the dearest trials are links.
func TestColumnsOfThePage(t *testing.T) {
	e := shop10(40, 2)
	e.SliceBy = []string{"team"}
	page := written(t, e, shop10(40, 1))
	for _, want := range []string{
		`100 % → 0 % [0, 56.1]<svg class="interval pair"`, "<span class=\"cells\">says:\t$2.50\nteam:\tteam 2\ntopic:\tother</span>",
		`<details class="part"><summary>By topic, 4 values</summary>`, `<caption>By team</caption>`, "<a href=\"#cases\" data-by=\"team:\tteam 2\">team 2</a>",
		"<option value=\"topic:\tangry\">angry</option>", `<option value="k">dearest first</option>`, `<a href="#row-39/3">row-39: Order #1039 (trial 3 of 3)</a>`, `<a href="#row-6/1">row-6: `,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(page, "By says") || strings.Contains(page, "<summary>By team") {
		t.Error("a column of which each row has its own value is a part, or one that was asked for is folded")
	}
}

// A bar is drawn where trials differ: the rate of the baseline above the rate of the case. Of the trials 20
// are dots, and of the reasons two are shown.
func TestRowsOfThePage(t *testing.T) {
	page := written(t, shop10(40, 2), shop10(40, 1))
	const pair = `100 % → 0 % [0, 56.1]<svg class="interval pair" aria-hidden="true"><rect x="43.9%" width="56.1%"/><rect class="mean" x="100%"/>` +
		`<rect x="0%" width="56.1%"/><rect class="mean" x="0%"/></svg>`
	if drawn, both, broke := strings.Count(page, `class="numbers drawn"`), strings.Count(page, `]<svg class="interval pair"`), strings.Count(page, pair); drawn != 16 || both != 8 || broke != 4 {
		t.Errorf("%d bars, %d of 8 cases that changed, %d of 4 that broke", drawn, both, broke)
	}
	if !strings.Contains(page, ` data-n="0" data-t="6000" data-v="failed" data-c="cannot tell" data-k="0.06"`) {
		t.Error("the times and the costs of the trials of a case are not added")
	}
	if drawn := strings.Count(written(t, shop10(40, 1)), `class="numbers drawn"`); drawn != 12 {
		t.Errorf("%d bars of 12 cases whose trials differ", drawn)
	}
	e := &eval.Experiment{}
	for k := range 25 {
		trial := eval.Trial{Case: &eval.Case{ID: "a", Name: "a"}, Number: k + 1, Verdict: eval.Passed}
		if k < 3 {
			trial.Verdict, trial.Cause, trial.Reason = eval.Failed, "grader", fmt.Sprintf("reason %d", k)
		}
		e.Trials = append(e.Trials, trial)
	}
	e.Trials[0].Columns, e.SliceBy = map[string]string{"id": "a", "name": "A", "team": " x ", "note": " "}, []string{"topic"}
	page = written(t, e)
	if !strings.Contains(page, "<span class=\"cells\">team:\tx</span>") {
		t.Error("the row does not show its cells, without those that are empty or in its title")
	}
	if parts := slicesBy(e, "team"); !slices.Equal(parts, []string{"team=x"}) {
		t.Error("a cell of a part has space around it")
	}
	if dots, reasons := strings.Count(page, `<i class="dot `), strings.Count(page, `<span class="why">`); dots != 20 || reasons != 2 {
		t.Errorf("%d dots and %d reasons", dots, reasons)
	}
}

// The page says about faults, retries and trials that ended what the numbers do not.
func TestFactsOfThePage(t *testing.T) {
	of := func(trials int, verdicts ...eval.Verdict) *eval.Experiment {
		e := &eval.Experiment{}
		for i, verdict := range verdicts {
			id := fmt.Sprint(i / trials)
			e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: id, Name: id}, Number: i%trials + 1, Verdict: verdict})
		}
		return e
	}
	again := of(1, eval.Passed)
	again.Trials[0].Retry(1)
	for name, tt := range map[string]struct {
		e         *eval.Experiment
		want, not string
	}{
		"a fault":       {of(1, eval.Errored, eval.Passed), "trials that passed, faults dropped: 100 % [20.7, 100]", "always"},
		"faults only":   {of(1, eval.Errored, eval.Errored), "2 faults counted as failed: 0 % [", "dropped"},
		"none":          {of(1, eval.Failed), "0 % [", "faults"},
		"several":       {of(2, eval.Passed, eval.Passed), "cases that always passed: 100 % [", "ran again"},
		"nothing ended": {of(2, eval.Cancelled, eval.Cancelled), "in 1 of 1 case no trial ended", "always"},
		"retries":       {again, "1 run that ended in a fault ran again: with their trials as failed, the rate is 0 % [0, 79.3]; if the agent caused these faults, the rate is too high", "no trial"},
	} {
		if text := textOf(written(t, tt.e)); !strings.Contains(text, tt.want) || strings.Contains(text, tt.not) {
			t.Errorf("%s: %q is missing, or %q is there:\n%s", name, tt.want, tt.not, text)
		}
	}
	var order []string
	verdicts := []eval.Verdict{eval.Skipped, eval.Passed, eval.Cancelled, eval.Errored, eval.Failed}
	for _, m := range regexp.MustCompile(`<b class="verdict (\w+)">`).FindAllStringSubmatch(written(t, of(1, verdicts...)), -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "failed error cancelled passed skipped" {
		t.Errorf("the order is %s", got)
	}
}

// Texts about a run have no characters that act: its command, model, cause, reason and what was expected.
func TestTextsAboutRunsOfThePage(t *testing.T) {
	const acts = "\u202e"
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"final_response":"yes","metadata":{"model":"small`+acts+`","total_input_tokens":10,"total_output_tokens":1}}`)
	})
	c := eval.Case{ID: "a" + acts, Columns: map[string]string{"expected_outcome": "refusal" + acts}, Task: dispatchtest.Task{Instruction: strings.Repeat("long ", 100)}}
	e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler}, []eval.Case{c}, eval.Options{
		Grader: func(_ context.Context, c eval.Case, _ *dispatchtest.Result) error {
			c.Score("charm"+acts, 0.5)
			return eval.Mismatch(strings.Repeat("r", 200)+acts, "", "")
		},
	}.Repeating("check"+acts+" -case $CASE"))
	if err != nil {
		t.Fatal(err)
	}
	delete(e.Trials[0].Scores, "seconds")
	e.Trials[0].Cause, e.Trials[0].Result.Ended, e.Trials[0].Result.AgentError = "odd"+acts, "user: enough"+acts, "broken"+acts
	page := written(t, e)
	text := textOf(page)
	for _, want := range []string{
		"odd⟨U+202E⟩: " + strings.Repeat("r", 200) + "… (212 bytes) ", " " + strings.Repeat("r", 200) + "⟨U+202E⟩ ", "Expected outcome: refusal⟨U+202E⟩. Took", "ended by user: enough⟨U+202E⟩. ", "broken⟨U+202E⟩",
		"Scores: charm⟨U+202E⟩ 0.5, calls 0, tokens_in 10, tokens_out 1, model small⟨U+202E⟩. ", "Run it again: check⟨U+202E⟩ -case 'a⟨U+202E⟩'", "Models small⟨U+202E⟩",
		" " + strings.Repeat("long ", 59) + "long … (499 bytes) ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	delete(e.Trials[0].Scores, "tokens_in")
	e.Trials = append(e.Trials, e.Trials[0])
	e.Trials[1].Case, e.Trials[1].Scores = &eval.Case{ID: "b"}, map[string]float64{"tokens_in": 1}
	if page := textOf(written(t, e)); !strings.Contains(page, "Scores: charm⟨U+202E⟩ 0.5, calls 0, tokens_out 1, model") {
		t.Error("the page shows a score that is not known")
	}
}

// Of trials that did not pass and have no run 20 are listed, and the others are counted.
func TestTrialsThatAreNotListed(t *testing.T) {
	e := &eval.Experiment{}
	for k := range 27 {
		e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: "a"}, Number: k + 1, Verdict: eval.Failed})
	}
	e.Trials[0].Result = &dispatchtest.Result{}
	e.Trials[25].Verdict, e.Trials[26].Verdict = eval.Passed, eval.Cancelled
	page := written(t, e)
	if n := strings.Count(page, `<div class="line row"`); n != 20 || !strings.Contains(page, "not shown: 1 passed, 4 failed, 1 cancelled<") || !strings.Contains(page, `<span class="name">a<`) {
		t.Errorf("%d trials are listed, or the others are not counted", n)
	}
}

// Of many equal calls the last is shown, and at the beginning the first. Calls are removed from the other
// run and added to this one.
func TestStepsOfADifference(t *testing.T) {
	calls := func(tools string) *dispatchtest.Result {
		result := &dispatchtest.Result{}
		for i, tool := range strings.Fields(tools) {
			name, argument, _ := strings.Cut(tool, "=")
			c := proxytest.Call{Tool: name, Status: 200, Source: "behavior", Order: i + 1}
			if argument != "" {
				c.Arguments = []byte(`{"n":` + argument + `}`)
			}
			result.Calls = append(result.Calls, c)
		}
		return result
	}
	for _, tt := range []struct{ from, to, want string }{
		{"a b c d", "a b c d x", "a b c d +x"},
		{"a b c d e", "a b c d e x", "a (3) e +x"},
		{"a b c d e", "x a b c d e", "+x a (3) e"},
		{"a b c d e f", "x b c d e f", "-a +x (4) f"},
		{"a b c", "", "-a -b -c"},
		{"a=1 b", "a=2 b", "~a /n: 1 → 2 b"},
		{"a\u202e", "", "-a⟨U+202E⟩"},
		{"a\u202e=1", "b a\u202e=2", "-a⟨U+202E⟩({\"n\":1}) +b +a⟨U+202E⟩({\"n\":2})"},
		{"a\u202e=1", "a\u202e=2", "~a⟨U+202E⟩ /n: 1 → 2"},
		{"a\u202e", "a\u202e b", "a⟨U+202E⟩ +b"},
		{"a=1 a b", "a=2 b", "-a({\"n\":1}) ~a : nothing → {\"n\":2} b"},
	} {
		e := &eval.Experiment{Trials: []eval.Trial{{Case: &eval.Case{ID: "a"}, Number: 1, Verdict: eval.Passed, Result: calls(tt.to)}}}
		before := &eval.Experiment{Trials: []eval.Trial{{Case: &eval.Case{ID: "a"}, Number: 1, Verdict: eval.Failed, Result: calls(tt.from)}}}
		page := written(t, e, before)
		_, list, _ := strings.Cut(page, `Calls compared with the baseline, which did not pass</h3>`)
		list, _, _ = strings.Cut(list, "</ol>")
		list = regexp.MustCompile(`<span class="hidden">[^<]*</span>|<[^>]*>`).ReplaceAllString(list, " ")
		got := strings.NewReplacer("− ", "-", "+ ", "+", "~ ", "~", "()", "", " equal calls", ")").Replace(strings.Join(strings.Fields(html.UnescapeString(list)), " "))
		if got = regexp.MustCompile(`\b(\d)\) `).ReplaceAllString(got, "($1) "); got != tt.want {
			t.Errorf("from %s to %s: %s", tt.from, tt.to, got)
		}
	}
}

// At most 12 columns of at most 20 values are parts, and a part covers two cases on average.
func TestPartsOfThePage(t *testing.T) {
	of := func(cases int, values ...int) *eval.Experiment {
		e := &eval.Experiment{}
		for i := range cases {
			columns := map[string]string{}
			for k, n := range values {
				columns[fmt.Sprintf("c%02d", k)] = fmt.Sprintf("v%02d", i%n)
			}
			e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: fmt.Sprint(i), Columns: columns}, Number: 1, Verdict: eval.Passed})
		}
		return e
	}
	for name, tt := range map[string]struct {
		e    *eval.Experiment
		want int
	}{
		"many columns":       {of(4, slices.Repeat([]int{2}, 14)...), 12},
		"one value":          {of(4, 1), 0},
		"one of two cases":   {of(4, 2), 1},
		"more than that":     {of(5, 3), 0},
		"twenty values":      {of(40, 20), 1},
		"twenty-one values":  {of(100, 21), 0},
		"no part of an id":   {of(40, 40), 0},
		"two of five values": {of(12, 5, 12), 1},
	} {
		if got := strings.Count(written(t, tt.e, tt.e), `<optgroup`); got != tt.want {
			t.Errorf("%s: %d parts, want %d", name, got, tt.want)
		}
	}
}

// A slow trial that is not shown in full has the address of its case.
func TestLinksToTrials(t *testing.T) {
	e := &eval.Experiment{}
	for i := range 201 {
		id := fmt.Sprint(i)
		e.Trials = append(e.Trials, eval.Trial{
			Case: &eval.Case{ID: id, Name: id}, Number: 1, Verdict: eval.Failed, Took: time.Duration(i+1) * time.Second, Result: &dispatchtest.Result{},
		})
	}
	if page := written(t, e); !strings.Contains(page, `<a href="#200/">200</a>`) || !strings.Contains(page, `<a href="#199/1">199</a>`) {
		t.Error("the slowest trials are not links to their runs, or else to their cases")
	}
	e.Trials = append(e.Trials, eval.Trial{Case: e.Trials[200].Case, Number: 2, Verdict: eval.Failed, Cause: "turn_timeout", Took: time.Hour, Result: &dispatchtest.Result{}},
		eval.Trial{Case: &eval.Case{ID: "late", Name: "late"}, Number: 1, Verdict: eval.Skipped, Reason: "it waits"})
	page := written(t, e)
	for _, link := range []string{`<a href="#200/">turn_timeout</a>`, `<a href="#late/">1 trial, skipped: it waits</a>`} {
		if !strings.Contains(page, link) {
			t.Errorf("a reason or a warning is not the link %s", link)
		}
	}
	if text := textOf(page); !strings.Contains(text, "slowest 1h0m0s 200 (trial 2 of 2) 3m20s 199 (trial 1 of 2) 3m19s 198") || strings.Index(text, "Cases The cases") > strings.Index(text, "Warnings 1 trial") {
		t.Error("the slowest trials are of one case, or the warnings are above the cases")
	}
}

// Each value of a part leads to cases, by whichever column.
func TestLinksOfTheColumns(t *testing.T) {
	e := shop10(40, 1)
	e.SliceBy = []string{"expected_outcome", "name", "Outcome"}
	for i := range e.Trials {
		row, n := e.Trials[i].Columns, i/3
		row["expected_outcome"], row["name"] = []string{"refusal", "resolution"}[n%2], fmt.Sprintf("order\n\u202e %d", n%3)
	}
	page := written(t, e)
	lines := map[string]bool{}
	for _, m := range regexp.MustCompile(`<span class="cells">([^<]*)`).FindAllStringSubmatch(page, -1) {
		for _, line := range strings.Split(m[1], "\n") {
			lines[line] = true
		}
	}
	links := regexp.MustCompile(` data-by="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, m := range links {
		if !lines[m[1]] {
			t.Errorf("no case has the cell %s", m[1])
		}
	}
	if len(links) != 2+3+4+5 {
		t.Errorf("%d links", len(links))
	}
}

// A value of one column leads to the cases of this value only, even if another column and its value
// together read alike.
func TestLinksOfColumnsThatReadAlike(t *testing.T) {
	e := shop10(8, 1)
	for i := range e.Trials {
		n := i / 3
		e.Trials[i].Columns = map[string]string{"a": []string{"⟨U+202E⟩b: c", "d"}[n%2], "a:\n\u202eb": []string{"d", "c"}[n/2%2]}
	}
	page := written(t, e)
	cells := map[string]int{}
	for _, m := range regexp.MustCompile(`<span class="cells">([^<]*)`).FindAllStringSubmatch(page, -1) {
		for _, line := range strings.Split(m[1], "\n") {
			cells[line]++
		}
	}
	links := regexp.MustCompile(` data-by="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, m := range links {
		if cells[m[1]] != 4 {
			t.Errorf("%d cases have the cell %q, and 4 the value", cells[m[1]], m[1])
		}
	}
	if len(links) != 4 {
		t.Errorf("%d links", len(links))
	}
}

// Of a cell that is too long for a part the page shows the beginning, from memory and from a file.
func TestLongCellsOfThePage(t *testing.T) {
	long := strings.Repeat("é", 120)
	cases := casesOf(t, "user,says,topic\nsay a,"+long+","+long[:100]+"\nsay b,short,"+long[:102]+"\n", dispatchtest.Task{})
	file := filepath.Join(t.TempDir(), "results.jsonl")
	inMemory := run(t, obedient, cases, &eval.Options{ResultsFile: file})
	for name, e := range map[string]*eval.Experiment{"memory": inMemory, "file": load(t, file)} {
		if page := written(t, e); !strings.Contains(page, "says:\t"+long[:196]+"…\n") || !strings.Contains(page, "says:\tshort\n") {
			t.Errorf("%s: the page does not show the beginning of the cell", name)
		}
		if parts := slicesBy(e, "says"); !slices.Equal(parts, []string{"says=", "says=short"}) {
			t.Errorf("%s: %q", name, parts)
		}
		if parts := slicesBy(e, "topic"); !slices.Equal(parts, []string{"topic=", "topic=" + long[:100]}) {
			t.Errorf("%s: a cell of 100 bytes has a part, and one of 102 has none", name)
		}
	}
}

// Names, groups and cells of a dataset have no secrets of the target in any report, and no beginning of
// one, which a cut leaves. A grader gets the row as it is.
func TestCellsHaveNoSecrets(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	handler, err := dispatch.New(obedient, &dispatch.Options{Tokens: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	cases := casesOf(t, "user,cut,kind,group\n"+"say "+secret+","+strings.Repeat("x", 190)+secret+" and more,key "+secret+",of "+secret+"\nsay b,short,b,\n", dispatchtest.Task{})
	file := filepath.Join(t.TempDir(), "results.jsonl")
	grade := func(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
		if c.Columns["kind"] == "key "+secret {
			return fmt.Errorf("not %s", r.FinalResponse)
		}
		return nil
	}
	inMemory, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}, cases, &eval.Options{ResultsFile: file, Grader: grade})
	if err != nil || inMemory.OK() {
		t.Fatal(inMemory, err)
	}
	again := filepath.Join(t.TempDir(), "again.jsonl")
	if _, err := eval.Grade(t.Context(), cases, &eval.Options{ResultsFile: again, Grader: grade}, file); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"the file": string(read(t, file)), "the graded file": string(read(t, again))}
	if texts["the file"] != texts["the graded file"] {
		t.Error("equal decisions do not write the same file")
	}
	for name, e := range map[string]*eval.Experiment{"memory": inMemory, "file": load(t, file)} {
		e.SliceBy = []string{"kind", "cut"}
		texts["reports of "+name], texts["page of "+name] = reports(t, e), written(t, e)
		if !strings.Contains(texts["page of "+name], strings.Repeat("x", 190)+"[redact…") {
			t.Errorf("%s: the page does not show the cell that is cut", name)
		}
		if parts := slicesBy(e, "kind"); !slices.Equal(parts, []string{"kind=b", "kind=key [redacted]"}) {
			t.Errorf("%s: the parts are not b and key [redacted]", name)
		}
	}
	for name, text := range texts {
		if strings.Contains(text, secret[:8]) || !strings.Contains(text, "[redacted]") {
			t.Errorf("%s has the secret, or does not say that one is hidden", name)
		}
	}
}

// A script or a style that a text brings into the page has no effect, and the page loads nothing.
func TestPolicyOfThePage(t *testing.T) {
	page := written(t, experiment(t, rows(t), refunder(true), eval.Options{}), nil)
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	own := func(element string) string {
		found := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		if len(found) != 1 {
			t.Fatalf("%d elements %s", len(found), element)
		}
		sum := sha256.Sum256([]byte(found[0][1]))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := "default-src 'none'; style-src " + own("style") + "; script-src " + own("script") +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if len(policy) != 2 || html.UnescapeString(policy[1]) != want {
		t.Errorf("got  %q\nwant %q", policy, want)
	}
	if n := strings.Count(page[:strings.Index(page, "<style>")], "Content-Security-Policy"); n != 1 {
		t.Errorf("%d policies before the first style", n)
	}
}

// sampled counts the writes, and calls see before some of them.
type sampled struct {
	bytes, writes, largest int
	see                    func(write int)
}

func (s *sampled) Write(p []byte) (int, error) {
	s.bytes, s.writes, s.largest = s.bytes+len(p), s.writes+1, max(s.largest, len(p))
	if s.see != nil {
		s.see(s.writes)
	}
	return len(p), nil
}

// At most 200 runs are shown in full, those that did not pass before others. All cases are rows. The
// page is written as it is made.
func TestWriteHTMLOfManyCases(t *testing.T) {
	n := testkit.Size(300, 10_000)
	instructions := make([]string, n)
	for i := range instructions {
		instructions[i] = fmt.Sprintf("say %d", i)
		if i%3 == 2 && i < 300 {
			instructions[i] = fmt.Sprintf("fail %d", i)
		}
	}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, obedient, casesOf(t, csvOf(instructions...), dispatchtest.Task{}), &eval.Options{ResultsFile: file})
	e := load(t, file)
	page := written(t, e, nil)
	full := regexp.MustCompile(`<summary class="row"><b class="verdict (\w+)">`).FindAllStringSubmatch(page, -1)
	failed := 0
	for _, m := range full {
		if m[1] == "failed" {
			failed++
		}
	}
	if len(full) != 200 || failed != 100 || strings.Count(page, `<li class="case`) != n || !strings.Contains(page, fmt.Sprintf("200 of %d runs are shown in full", n)) {
		t.Errorf("%d runs are shown in full, %d of 100 that failed", len(full), failed)
	}
	held := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	var whole sampled
	if err := e.WriteHTML(&whole, nil); err != nil {
		t.Fatal(err)
	}
	var early, late uint64
	second := sampled{see: func(write int) {
		switch write {
		case whole.writes / 5:
			early = held()
		case whole.writes * 9 / 10:
			late = held()
		}
	}}
	if err := e.WriteHTML(&second, nil); err != nil {
		t.Fatal(err)
	}
	if early == 0 || late > early+1<<20 || second.bytes != len(page) || whole.largest > 1<<20 {
		t.Errorf("%d bytes were held early and %d late; %d bytes in %d writes of at most %d", early, late, second.bytes, whole.writes, whole.largest)
	}
	t.Logf("%d cases: a page of %d KiB; %d KiB are held while it is written, beside the experiment", n, len(page)>>10, (int64(late)-int64(before))>>10)
}

// An experiment that is in no file knows the secrets of its target, and the page does not have them.
func TestWriteHTMLHasNoSecrets(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"final_response":%q}`, "you sent "+r.Header.Get("Authorization"))
	})
	grade := func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error { return errors.New(r.FinalResponse) }
	e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}, casesOf(t, csvOf("a"), dispatchtest.Task{}), &eval.Options{Grader: grade})
	if err != nil || !strings.Contains(e.Trials[0].Result.FinalResponse, secret) {
		t.Fatalf("%+v, error %v", e, err)
	}
	if page := written(t, e, nil); strings.Contains(page, secret) || !strings.Contains(page, "you sent ") {
		t.Errorf("%d bytes have the secret, or not what the agent said", len(page))
	}
}

// What cannot be written is an error: experiments that cannot be compared, a writer that fails, a
// file of results that is gone.
func TestWriteHTMLErrors(t *testing.T) {
	cases := casesOf(t, csvOf("a", "call get_order"), dispatchtest.Task{})
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, obedient, cases, &eval.Options{ResultsFile: file})
	e := load(t, file)
	stopped := run(t, obedient, cases, &eval.Options{FirstFailure: true})
	if err := e.WriteHTML(io.Discard, stopped); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
		t.Errorf("error %v", err)
	}
	full := errors.New("disk full")
	if err := e.WriteHTML(failingWriter{full}, nil); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	text := written(t, stopped, nil)
	if !strings.Contains(text, "there are verdicts and no rates") {
		t.Error("the page does not say that there are no rates")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := e.WriteHTML(io.Discard, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	written(t, &eval.Experiment{Name: "empty"}, nil)
}

// Addresses name trials of ids with any characters, and of ids that are long.
func TestAddressesOfTrials(t *testing.T) {
	var cases []eval.Case
	long := strings.Repeat("é/", 100)
	for _, id := range []string{"a b", "a+b", "a%20b", "a/1", "#top", "javascript:x", "cases", long + "1", long + "2", strings.Repeat("x", 99) + " é"} {
		cases = append(cases, eval.Case{ID: id, Task: dispatchtest.Task{Instruction: "say"}})
	}
	page := written(t, run(t, obedient, cases, nil), nil) // which finds ids that are there twice
	for _, want := range []string{`id="a&#43;b/1"`, `href="#a&#43;b/1"`, `id="a%2Bb/1"`, `id="a%2520b/1"`, `id="cases/1"`, `id="javascript%3Ax/1"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if at := regexp.MustCompile(`id="[^"]{160}`).FindString(page); at != "" {
		t.Errorf("an id that is long has the address %s…", at)
	}
	// Another id may be what stands for a long one in an address.
	short := regexp.MustCompile(`id="(x{80}[^"/]*)/1"`).FindStringSubmatch(page)[1]
	cases = append(cases, eval.Case{ID: html.UnescapeString(short), Task: dispatchtest.Task{Instruction: "say"}})
	written(t, run(t, obedient, cases, nil), nil)
}

// The page hides the secrets of both targets.
func TestWriteHTMLHasNoSecretsOfTheBaseline(t *testing.T) {
	const secret = "s3cr-t0ken-of-the-baseline"
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{World: proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{}`)},
	}})
	versions := make([]*eval.Experiment, 2)
	for i, token := range []string{secret, "another-t0ken-0123"} {
		handler, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := run.Proxy.Do(ctx, "get_order", map[string]any{"token": token, "n": i})
			return &dispatch.Response{FinalResponse: "yes"}, err
		}, &dispatch.Options{Tokens: []string{token}})
		if err != nil {
			t.Fatal(err)
		}
		versions[i], err = eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + token}, cases,
			&eval.Options{AgentVersion: "version of " + token})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := written(t, versions[1], versions[0])
	if strings.Contains(page, secret) || strings.Contains(page, "another-t0ken") || !strings.Contains(page, "get_order") {
		t.Error("the page has a secret, or no difference of the calls")
	}
}

// A run that did very much has a page that can be opened, and the page says what it leaves out.
func TestWriteHTMLIsBounded(t *testing.T) {
	const many = 20_000
	result := &dispatchtest.Result{}
	result.Problems = make([]dispatch.Problem, many)
	result.Waits = slices.Repeat([]dispatchtest.Wait{{Order: many + 2}}, many)
	log := &result.Log
	log.Faults, log.Changes = slices.Repeat([]string{"a fault"}, many), make(ledger.Changes, many)
	for i := range many {
		log.Refused = append(log.Refused, proxytest.Call{Tool: "poll", Attempt: i, Order: i + 1, Status: 500, Reason: "not yet"})
	}
	log.Calls = []proxytest.Call{{
		Tool: "write", Order: many + 1, Status: 200, Source: "behavior", Notes: slices.Repeat([]string{"a note"}, many),
		Writes:  slices.Repeat([]ledger.Applied{{Violations: make([]toolwire.Problem, many/100)}}, many/100),
		Adapter: &ledger.Outcome{Steps: make([]ledger.Step, many)},
	}}
	e := &eval.Experiment{Name: "much", Trials: []eval.Trial{{
		Case: &eval.Case{ID: "a", Name: "a"}, Number: 1, Verdict: eval.Failed, Result: result,
	}}}
	page := written(t, e, nil)
	if len(page) > 300_000 {
		t.Errorf("the page has %d KiB", len(page)>>10)
	}
	for _, want := range []string{
		"19902 more events", "19900 more changes", "Contract report, 20000 findings", "19900 more findings",
		"19980 more faults", "20000 attempts", "19980 more attempts", "19980 more notes", "200 updates", "180 more updates", "19980 more steps of the adapter", "180 more violations",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Of each case that did not pass, the first trial that did is shown in full before other trials that
// passed. Another trial that passed is one short line, because most of a large page is these. The page of
// a program, which has no ping, does not show one. Of many cases that are missing 20 are named.
func TestWriteHTMLShows(t *testing.T) {
	e, baseline := &eval.Experiment{Name: "chosen"}, &eval.Experiment{}
	for _, id := range []string{"a", "b"} {
		for k := range 251 {
			trial := eval.Trial{Case: &eval.Case{ID: id, Name: id}, Number: k + 1, Verdict: eval.Passed, Result: &dispatchtest.Result{}}
			baseline.Trials = append(baseline.Trials, trial)
			if k == 0 {
				trial.Verdict = eval.Failed
			}
			e.Trials = append(e.Trials, trial)
		}
	}
	page := written(t, e, nil)
	for _, shown := range []string{"a/1", "a/2", "b/1", "b/2"} {
		if !strings.Contains(page, `<ol class="timeline" id="`+shown+`/events">`) {
			t.Errorf("%s is not shown in full", shown)
		}
	}
	if !strings.Contains(page, `<li class="trial line light">not shown: 249 passed</li>`) {
		t.Error("the trials that passed and are not shown in full are not counted")
	}
	if strings.Contains(page, "<h3>Ping</h3>") {
		t.Error("the page shows a ping that was not sent")
	}
	for i := range 25 {
		baseline.Trials = append(baseline.Trials, eval.Trial{Case: &eval.Case{ID: fmt.Sprintf("gone %02d", i)}, Number: 1, Verdict: eval.Passed})
	}
	if page = written(t, e, baseline); !strings.Contains(page, "gone 19 and 5 more") || strings.Contains(page, "gone 20") {
		t.Error("the page does not name 20 of 25 cases that are missing")
	}
}

// A run is compared with the trial of its number in the baseline, or else, if it did not pass, with the
// first of its case that did.
func TestWriteHTMLCompares(t *testing.T) {
	trials := func(verdicts ...eval.Verdict) *eval.Experiment {
		e := &eval.Experiment{}
		for i, verdict := range verdicts {
			result := &dispatchtest.Result{}
			result.Calls = []proxytest.Call{{Tool: fmt.Sprintf("tool_%d", i+1), Status: 200, Source: "behavior", Order: 1}}
			e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: "a", Name: "a"}, Number: i + 1, Verdict: verdict, Result: result})
		}
		return e
	}
	e := trials(eval.Failed, eval.Passed, eval.Passed)
	for name, tt := range map[string]struct {
		page      string
		same      int
		headlines []string
	}{
		"alone":      {written(t, e, nil), 0, []string{`<a href="#a/2">trial 2</a>, which passed`}},
		"two failed": {written(t, trials(eval.Failed, eval.Failed, eval.Passed)), 0, slices.Repeat([]string{`<a href="#a/3">trial 3</a>, which passed`}, 2)},
		"baseline": {written(t, e, trials(eval.Passed, eval.Failed, eval.Passed)), 3, []string{"trial 1 of the baseline, which passed",
			"trial 2 of the baseline, which did not pass", "trial 3 of the baseline, which passed"}},
		"part of a baseline": {written(t, e, trials(eval.Passed)), 1, []string{"trial 1 of the baseline, which passed"}},
	} {
		var headlines []string
		for _, m := range regexp.MustCompile(`Calls compared with (.*)</h3>`).FindAllStringSubmatch(tt.page, -1) {
			headlines = append(headlines, m[1])
		}
		if !slices.Equal(headlines, tt.headlines) || strings.Count(tt.page, "The same calls with the same arguments.") != tt.same {
			t.Errorf("%s: %q, %d times the same", name, headlines, strings.Count(tt.page, "The same calls"))
		}
	}
}

// Results in memory and in a file have the same page, with the events of a session in their turns.
func TestWriteHTMLOfResultsInMemory(t *testing.T) {
	cases := rows(t)
	kept, err := eval.Run(t.Context(), dispatchtest.Target{Agent: refunder(true)}, cases, &eval.Options{Trials: 2, Parallel: 1, Grader: notWrong})
	if err != nil {
		t.Fatal(err)
	}
	for i := range kept.Trials {
		delete(kept.Trials[i].Scores, "seconds")
	}
	stored := experiment(t, cases, refunder(true), eval.Options{Trials: 2})
	got, want := skeleton(t, written(t, kept, nil)), skeleton(t, written(t, stored, nil))
	if got != want || !regexp.MustCompile(`(?s)id=talk/1/answer-1 .*id=talk/1/event-[0-9]+ .*id=talk/1/answer-2 `).MatchString(got) {
		t.Errorf("the pages differ, or the events are not in their turns: %s", firstDifference(got, want))
	}
}

// The case with the worst effect is first, and without a baseline the one with the lowest rate. The
// estimates for many trials of a case are those for few of them and for all.
func TestWriteHTMLOrder(t *testing.T) {
	trials := func(passed map[string]int) *eval.Experiment {
		e := &eval.Experiment{}
		for _, id := range slices.Sorted(maps.Keys(passed)) {
			for k := range 7 {
				verdict := eval.Failed
				if k < passed[id] {
					verdict = eval.Passed
				}
				e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: id, Name: id}, Number: k + 1, Verdict: verdict})
			}
		}
		return e
	}
	candidate := trials(map[string]int{"a": 2, "b": 5, "c": 1})
	for want, baseline := range map[string]*eval.Experiment{
		"c a b": nil,
		"b a c": trials(map[string]int{"a": 2, "b": 7, "c": 0}),
	} {
		page := written(t, candidate, baseline)
		var order, powers []string
		for _, m := range regexp.MustCompile(`<li class="case row" id="(.)/"`).FindAllStringSubmatch(page, -1) {
			order = append(order, m[1])
		}
		for _, m := range regexp.MustCompile(`<th scope="row" class="number">(\d+)</th>`).FindAllStringSubmatch(page, -1) {
			powers = append(powers, m[1])
		}
		if got := strings.Join(order, " "); got != want || strings.Join(powers, " ") != "2 3 4 5 7" {
			t.Errorf("the order is %q and not %q; estimates for %q trials", got, want, powers)
		}
	}
}

// Of a difference 60 steps are shown.
func TestWriteHTMLOfALongDifference(t *testing.T) {
	if page := longDifference(t, 60); strings.Count(page, `<li class="removed">`) != 60 || strings.Contains(page, "more step") {
		t.Error("the page does not show 60 of 60 steps")
	}
	page := longDifference(t, 70)
	if strings.Count(page, `<li class="removed">`) != 60 || !strings.Contains(page, ">10 more steps not shown.<") {
		t.Error("the page does not show 60 of 70 steps")
	}
}

// longDifference is the page of a trial without the n calls of the trial that passed.
func longDifference(t *testing.T, n int) string {
	e := &eval.Experiment{}
	for k, verdict := range []eval.Verdict{eval.Failed, eval.Passed} {
		result := &dispatchtest.Result{}
		for i := range n * k {
			result.Calls = append(result.Calls, proxytest.Call{Tool: fmt.Sprintf("tool_%02d", i), Status: 200, Source: "behavior", Order: i + 1})
		}
		e.Trials = append(e.Trials, eval.Trial{Case: &eval.Case{ID: "a", Name: "a"}, Number: k + 1, Verdict: verdict, Result: result})
	}
	return written(t, e)
}

// If it is not known when the run began, times are counted from its first event. Of many arguments
// that differ 20 are shown.
func TestWriteHTMLOfAnOldRun(t *testing.T) {
	begun := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	trial := func(number int, verdict eval.Verdict, changed string, n int) eval.Trial {
		arguments := []byte(`{"same":1`)
		for i := range n {
			arguments = fmt.Appendf(arguments, `,"p%02d":%q`, i, changed)
		}
		result := &dispatchtest.Result{}
		result.Calls = []proxytest.Call{
			{Tool: "late", Arguments: append(arguments, '}'), Status: 200, Source: "behavior", At: begun.Add(5 * time.Second), Order: 2},
			{Tool: "early", Status: 200, Source: "behavior", At: begun, Order: 1},
		}
		return eval.Trial{Case: &eval.Case{ID: "a", Name: "a"}, Number: number, Verdict: verdict, Result: result}
	}
	e := &eval.Experiment{Trials: []eval.Trial{trial(1, eval.Failed, "x", 25), trial(2, eval.Passed, "y", 25)}}
	page := written(t, e, nil)
	for _, want := range []string{">+0 ms<", ">+5.00 s<", "/p19: ", ">and 5 more<"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(page, "/p20: ") {
		t.Error("the page shows more than 20 arguments that differ")
	}
	e.Trials = []eval.Trial{trial(1, eval.Failed, "x", 20), trial(2, eval.Passed, "y", 20)}
	if page = written(t, e); !strings.Contains(page, "/p19: ") || strings.Contains(page, " more<") {
		t.Error("the page does not show all of 20 arguments that differ")
	}
}

// Notes that are not listed are counted once each.
func TestWriteHTMLNotes(t *testing.T) {
	e := &eval.Experiment{Name: "notes"}
	for i := range 60 {
		e.Trials = append(e.Trials, eval.Trial{
			Case: &eval.Case{ID: fmt.Sprint(i)}, Number: 1, Verdict: eval.Skipped, Reason: fmt.Sprintf("reason %d", i%22),
		})
	}
	if page := written(t, e, nil); !strings.Contains(page, "and 2 more notes") {
		t.Error("22 notes are not 20 and 2 more")
	}
}

// slicesBy returns the slices of an experiment by a column.
func slicesBy(e *eval.Experiment, column string) (names []string) {
	part := *e
	part.SliceBy = []string{column}
	for _, f := range part.Figures() {
		if f.Slice != "" && f.Name == "rate" {
			names = append(names, f.Slice)
		}
	}
	return names
}
