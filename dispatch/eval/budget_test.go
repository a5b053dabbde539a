package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// No trial begins after a budget is spent; what is left can be completed.
func TestBudget(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		time.Sleep(time.Second)
		for range 2 {
			if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{TotalInputTokens: 90, TotalOutputTokens: 10}}, nil
	}
	for _, tt := range []struct {
		budget eval.Budget
		want   string
		reason string
	}{
		{eval.Budget{}, "........", ""},
		{eval.Budget{Calls: 5}, "...ccccc", "the budget of 5 tool calls is spent"},
		{eval.Budget{Tokens: 400}, "....cccc", "the budget of 400 tokens is spent"},
		{eval.Budget{Time: 2 * time.Second}, "..cccccc", "the budget of 2s is spent"},
		{eval.Budget{Calls: 1000, Tokens: 100_000, Time: time.Hour}, "........", ""},
	} {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		synctest.Test(t, func(t *testing.T) {
			cases := casesOf(t, csvOf("a"), dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}})
			opts := &eval.Options{Trials: 8, Parallel: 1, Budget: tt.budget, ResultsFile: file}
			e := run(t, agent, cases, opts)
			if got := ended(e); got != tt.want || e.Trials[7].Reason != tt.reason || e.OK() != (tt.reason == "") {
				t.Errorf("%+v: %s, %s", tt.budget, got, e.Trials[7].Reason)
			}
			opts.Budget = eval.Budget{}
			if got := ended(run(t, agent, cases, opts)); got != "........" {
				t.Errorf("%+v: completed: %s", tt.budget, got)
			}
		})
	}
}

// A budget reaches as many cases as it can, and the reports name the cases that it did not reach.
func TestBudgetReachesCases(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", nil)
		return &dispatch.Response{FinalResponse: "done"}, err
	}
	base := dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}}
	for calls, want := range map[int]string{
		12: "... ... ... ...", 9: "... ..c ..c ..c", 4: ".cc .cc .cc .cc", 3: ".cc .cc .cc ccc", 1: ".cc ccc ccc ccc",
	} {
		e := run(t, agent, casesOf(t, csvOf("a", "b", "c", "d"), base), &eval.Options{Trials: 3, Parallel: 1, Budget: eval.Budget{Calls: calls}})
		if got := ended(e); got != want {
			t.Errorf("%d calls: %s, want %s", calls, got, want)
		}
		var summary, junit, page bytes.Buffer
		if err := errors.Join(e.WriteSummary(&summary, false), e.WriteJUnit(&junit), e.WriteHTML(&page, nil)); err != nil {
			t.Fatal(err)
		}
		const untried = "in 3 of 4 cases no trial ended: row 3: b, row 4: c, row 5: d"
		for _, report := range []string{summary.String(), junit.String(), page.String()} {
			if strings.Contains(report, untried) != (calls == 1) || strings.Contains(report, "no trial ended") != (calls < 4) {
				t.Errorf("%d calls:\n%s", calls, report)
			}
		}
	}
}

// The calls and tokens of all turns of a session count.
func TestBudgetOfSessions(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", nil)
		return &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{TotalOutputTokens: 100}}, err
	}
	base := dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")}}}
	user := func(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
		if len(turns) == 3 {
			return "", dispatchtest.ErrDone
		}
		return "and?", nil
	}
	for want, budget := range map[string]eval.Budget{".....": {Calls: 13, Tokens: 1300}, "..ccc": {Calls: 6}, "...cc": {Tokens: 601}} {
		cases := casesOf(t, "user,turn_mode,user_simulator_persona\na,model_as_user,a clerk\n", base)
		if got := ended(run(t, agent, cases, &eval.Options{Trials: 5, Parallel: 1, Budget: budget, User: user})); got != want {
			t.Errorf("%+v: %s, want %s", budget, got, want)
		}
	}
}

// Tokens count in every way in which JSON writes a number, and a report that is too large cannot make
// room in a budget.
func TestBudgetOfOddTokens(t *testing.T) {
	for _, tt := range []struct{ tokens, want string }{
		{`100`, "...."}, {`500.0`, "..cc"}, {`1e3`, ".ccc"}, {`9223372036854775807`, ".ccc"}, {`1e300`, ".ccc"}, {`-5`, "...."}, {`"many"`, "...."},
	} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"final_response":"x","metadata":{"total_input_tokens":%s,"total_output_tokens":%[1]s}}`, tt.tokens)
		})
		e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler}, casesOf(t, csvOf("a"), dispatchtest.Task{}),
			&eval.Options{Trials: 4, Parallel: 1, Budget: eval.Budget{Tokens: 1001}})
		if err != nil || ended(e) != tt.want {
			t.Errorf("%s: %s, want %s, error %v", tt.tokens, ended(e), tt.want, err)
		}
	}
}

// Test makes a subtest of each case. It runs in another process, because its failures would be those
// of this test.
func TestSubtests(t *testing.T) {
	switch os.Getenv("EVAL_TEST_SUBTESTS") {
	case "":
	case "budget":
		agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "yes", Metadata: &dispatch.Metadata{TotalOutputTokens: 100}}, nil
		}
		fmt.Printf("experiment: %s\n", ended(eval.Test(t, dispatchtest.Target{Agent: agent},
			casesOf(t, "user,name\na,only\n", dispatchtest.Task{}),
			&eval.Options{Trials: 4, Parallel: 1, Budget: eval.Budget{Tokens: 200}})))
		return
	case "user":
		fmt.Printf("experiment: %s\n", ended(eval.Test(t, dispatchtest.Target{Agent: unsteady()},
			casesOf(t, "user,name,turn_mode,user_simulator_persona\n.,good,,\n..,talks,model_as_user,a clerk\n", dispatchtest.Task{}),
			&eval.Options{User: func(context.Context, eval.Trial, []dispatchtest.Turn) (string, error) {
				return "", errors.New("no credit")
			}})))
		return
	default:
		e := eval.Test(t, dispatchtest.Target{Agent: unsteady()}, casesOf(t, "user,name,turn_mode,user_simulator_persona\n"+
			"..,good,,\n.x,flaky,,\nxx,bad,,\na,skipped,model_as_user,a clerk\n", dispatchtest.Task{}),
			&eval.Options{Trials: 2, Parallel: 1, FirstFailure: os.Getenv("EVAL_TEST_SUBTESTS") == "early"})
		fmt.Printf("experiment: %s\n", ended(e))
		return
	}
	for _, tt := range []struct {
		mode, run string
		want      []string
		without   string
	}{
		{"all", ".", []string{
			"--- PASS: TestSubtests/cases/row_2:_good ", "--- FAIL: TestSubtests/cases/row_3:_flaky ", "failed (trial 2 of 2): agent_5xx: the agent failed: not this time",
			"--- SKIP: TestSubtests/cases/row_5:_skipped ", "experiment: .. .x xx s\n"}, "panic"},
		{"early", ".", []string{"--- FAIL: TestSubtests/cases/row_4:_bad ", "experiment: .. .x x s\n"}, ""},
		{"all", "cases/good", []string{"--- PASS: TestSubtests/cases/row_2:_good ", "experiment: ..\n", "PASS\n"}, "flaky"},
		{"budget", ".", []string{"--- FAIL: TestSubtests/cases/row_2:_only ", "experiment: ..cc\n",
			"cancelled (trial 3 of 4): the budget of 200 tokens is spent", "cancelled (trial 4 of 4): the budget"}, "trial 2 of 4"},
		{"user", ".", []string{"--- PASS: TestSubtests/cases/row_2:_good ", "--- FAIL: TestSubtests/cases/row_3:_talks ",
			"error: user: the user failed: no credit", "experiment: . !\n"}, "panic"},
		{"all", "others", []string{"experiment: \n", "PASS\n"}, "panic"},
	} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestSubtests$/"+strings.TrimPrefix(tt.run, "."))
		cmd.Env = append(os.Environ(), "EVAL_TEST_SUBTESTS="+tt.mode)
		output, _ := cmd.CombinedOutput() // fails where a subtest fails
		for _, part := range tt.want {
			if !strings.Contains(string(output), part) {
				t.Errorf("%s %s: %q is missing in\n%s", tt.mode, tt.run, part, output)
			}
		}
		if tt.without != "" && strings.Contains(string(output), tt.without) {
			t.Errorf("%s %s: %q is in\n%s", tt.mode, tt.run, tt.without, output)
		}
	}
}
