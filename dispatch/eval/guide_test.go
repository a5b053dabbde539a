package eval_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The code of docs/evaluation.md.

const orders = `user,expected_outcome
Refund order #4521.,completion
Refund my order.,completion
Delete order #4521.,refusal
`

func shop() proxytest.World {
	return proxytest.World{
		InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	}
}

func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	args := map[string]string{"order_id": "4521"}
	if _, err := run.Proxy.Do(ctx, "get_order", args); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(run.Instruction, "Refund order") {
		return &dispatch.Response{FinalResponse: "I cannot do that to an order."}, nil
	}
	_, err := run.Proxy.Do(ctx, "refund_order", args)
	return &dispatch.Response{FinalResponse: "The order is refunded."}, err
}

func TestReliability(t *testing.T) {
	dataset, err := eval.Read(strings.NewReader(orders))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: shop()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.Expect(cases); err != nil {
		t.Fatal(err)
	}
	opts := &eval.Options{
		Trials: 5,
		Grader: eval.Says("order"),
		Budget: eval.Budget{Calls: 1000, Time: 10 * time.Minute},
	}
	plan, err := opts.Plan(cases)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(plan) // at most 15 trials of 3 cases; a comparison of this size finds a difference of about 52 points in these cases; …
	experiment := eval.Test(t, dispatchtest.Target{Agent: agent}, cases, opts)
	if got := experiment.Figure("rate"); got.Low < 0.3 {
		t.Errorf("the agent passes %s of trials", got) // 100 % [43.9, 100]
	}
}

func TestJudgedByAModel(t *testing.T) {
	dataset, err := eval.Read(strings.NewReader("user,human\nRefund order #4521.,pass\nWhat is 2 and 2?,fail\n"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: shop()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge := eval.Judge{Model: "small-2", Criterion: "The answer says that an order is refunded.", Ask: func(ctx context.Context, prompt string) (string, error) {
		if strings.Contains(prompt, "The order is refunded") { // here is the call of a model
			return "PASS\nIt says so.", nil
		}
		return "FAIL\nIt refuses.", nil
	}}
	experiment, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		Grader: judge.Grader(), GraderVersion: judge.Version(), ResultsFile: filepath.Join(t.TempDir(), "results.jsonl"),
	})
	if err != nil {
		t.Fatal(err)
	}
	share, _, differ, err := experiment.Agreement("judge", "human")
	if err != nil {
		t.Fatal(err)
	}
	if share.Value != 1 {
		t.Errorf("the judge and people agree in %s, and differ in %v", share, differ)
	}
}
