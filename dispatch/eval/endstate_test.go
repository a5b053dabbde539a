package eval_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The end of a run is compared with the end of reference calls in the same world, whatever calls the
// agent made. Failures that the world simulates do not reach the reference.
func TestEndState(t *testing.T) {
	world := proxytest.World{
		InitialState: `{"order":{"4521":{"status":"shipped"},"4522":{"status":"shipped"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Get("order", "order_id", nil),
			"refund":    proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
		FailureRules: []proxytest.FailureRule{{Tool: "get_order", Status: 500}},
	}
	refund := func(id string) string {
		return fmt.Sprintf(`[{""tool"":""refund"",""arguments"":{""order_id"":""%s""}}]`, id)
	}
	cases := casesOf(t, "user,calls\n"+
		"call refund,\""+refund("4521")+"\"\n"+
		"call refund,\""+refund("4522")+"\"\n"+
		"call get_order,[]\n"+
		"call refund,[]\n"+
		"say hello,\"[{\"\"tool\"\":\"\"get_order\"\",\"\"arguments\"\":{\"\"order_id\"\":\"\"4521\"\"}}]\"\n"+
		"say hello,\"[{\"\"tool\"\":\"\"nope\"\"}]\"\n"+
		"say hello,nope\n", dispatchtest.Task{World: world})
	grade := eval.EndState(func(c eval.Case) (eval.Trajectory, error) { return eval.ParseTrajectory([]byte(c.Columns["calls"])) })
	file := filepath.Join(t.TempDir(), "results.jsonl")
	e := run(t, obedient, cases, &eval.Options{Grader: grade, ResultsFile: file})
	if got := ended(e); got != ". x . x . ! !" {
		t.Fatal(got)
	}
	for i, want := range map[int]string{
		1: `the ledger is not as after the reference: /order/4521/status is not "shipped", /order/4522/status is not "refunded"`,
		5: "eval: the trial cannot be graded: the reference: call 1, nope: ", 6: "eval: the trial cannot be graded: the reference: eval: the trajectory is not valid JSON",
	} {
		if !strings.HasPrefix(e.Trials[i].Reason, want) {
			t.Errorf("case %d: %s", i+1, e.Trials[i].Reason)
		}
	}
	if e.Trials[5].Cause != "not_graded" || e.Stats().Faults != 2 {
		t.Errorf("%s, %d faults", e.Trials[5].Cause, e.Stats().Faults)
	}
	again, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: grade}, file)
	if err != nil || ended(again) != ended(e) {
		t.Errorf("graded again: %s, error %v", ended(again), err)
	}
}

// A grader that cannot decide is a fault of the infrastructure and not of the agent. A case that is
// graded again has the world that its trial had.
func TestNotGraded(t *testing.T) {
	base := dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"a": proxytest.Canned("1")},
		FailureRules: []proxytest.FailureRule{{Probability: 0.5, Status: 500}}}}
	file := filepath.Join(t.TempDir(), "results.jsonl")
	var worlds []string
	grade := func(ctx context.Context, c eval.Case, _ *dispatchtest.Result) error {
		client, failures := c.Task.Platform.NewRun().Client(nil), ""
		for range 20 {
			_, err := client.Do(ctx, "a", nil)
			failures += map[bool]string{true: ".", false: "x"}[err == nil]
		}
		worlds = append(worlds, failures)
		return fmt.Errorf("the model is down: %w", eval.ErrNotGraded)
	}
	cases := casesOf(t, csvOf("say a", "say b"), base)
	opts := eval.Options{Grader: grade, ResultsFile: file, Parallel: 1}
	e := run(t, obedient, cases, &opts)
	if ended(e) != "! !" || e.Trials[0].Cause != "not_graded" || e.Trials[0].Reason != "the model is down: eval: the trial cannot be graded" || figure(e, "rate", "dropped") != (eval.Figure{}) {
		t.Error(ended(e), e.Trials[0].Reason)
	}
	opts.ResultsFile = ""
	if _, err := eval.Grade(t.Context(), cases, &opts, file); err != nil || len(worlds) != 4 || worlds[0] != worlds[2] || worlds[1] != worlds[3] || worlds[0] == worlds[1] {
		t.Errorf("%v, error %v", worlds, err)
	}
}

// A run that one grader rejects has failed, even if another grader could not decide.
func TestAllWithoutDecision(t *testing.T) {
	down := func(context.Context, eval.Case, *dispatchtest.Result) error {
		return fmt.Errorf("the model is down: %w", eval.ErrNotGraded)
	}
	for _, tt := range []struct {
		grade eval.Grader
		want  string
	}{
		{eval.All(down, eval.Says("nothing like it")), "grader"},
		{eval.All(eval.Says("nothing like it"), down), "grader"},
		{eval.All(down, eval.Says("")), "not_graded"},
	} {
		e := run(t, unsteady(), casesOf(t, csvOf("."), dispatchtest.Task{}), &eval.Options{Grader: tt.grade})
		if got := e.Trials[0]; got.Cause != tt.want || !strings.Contains(got.Reason, "the model is down") {
			t.Errorf("%s: %s, want %s", got.Cause, got.Reason, tt.want)
		}
	}
}
