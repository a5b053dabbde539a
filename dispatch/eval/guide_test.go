package eval_test

import (
	"context"
	"fmt"
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
	opts := &eval.Options{
		Trials: 5,
		Grader: eval.All(eval.RefusedWithoutWrite, eval.Says("order")),
		Budget: eval.Budget{Calls: 1000, Time: 10 * time.Minute},
	}
	plan, err := opts.Plan(cases)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(plan) // at most 15 trials of 3 cases; a comparison of this size finds a difference of about 52 points; …
	experiment := eval.Test(t, dispatchtest.Target{Agent: agent}, cases, opts)
	if got := experiment.Stats().Counted.Rate; got.Low < 0.3 {
		t.Errorf("the agent passes %s of trials", got) // 100 % [43.9, 100]
	}
}

func TestTrajectory(t *testing.T) {
	want, err := eval.ParseTrajectory([]byte(`[{"tool":"get_order"},{"tool":"refund_order","arguments":{"order_id":"4521"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "Refund order #4521.", World: shop()})
	got := eval.TrajectoryOf(result)
	if err := (eval.Match{Ignore: []string{"/note"}}).Check(got, want); err != nil {
		t.Errorf("%v\n%s", err, want.Diff(got))
	}
}

func TestStoredResults(t *testing.T) {
	dataset, err := eval.Read(strings.NewReader(orders))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: shop()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, shard := range []string{"1/2", "2/2"} { // on two machines
		file := filepath.Join(t.TempDir(), "results.jsonl")
		_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
			Trials: 3, Shard: shard, ResultsFile: file, AgentVersion: "7c1e2f0",
		})
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	experiment, err := eval.Load(files...) // the error names shards and trials that are missing
	if err != nil {
		t.Fatal(err)
	}
	again, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: eval.Says("order"), GraderVersion: "2"}, files...)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(experiment.Count(eval.Passed), again.Count(eval.Passed))
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
	judge := eval.Judge{Model: "small-2", Criterion: "The answer is about an order.", Ask: func(ctx context.Context, prompt string) (string, error) {
		if strings.Contains(prompt, "4521") { // here is the call of a model
			return "PASS\nIt names the order.", nil
		}
		return "FAIL\nIt names no order.", nil
	}}
	experiment, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		Grader: judge.Grader(), GraderVersion: judge.Version(), ResultsFile: filepath.Join(t.TempDir(), "results.jsonl"),
	})
	if err != nil {
		t.Fatal(err)
	}
	agreement, err := experiment.Agreement("judge", "human")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(agreement) // they agree in …
}

// customer plays the user with a model: ask sends a prompt and returns the answer.
func customer(ask func(ctx context.Context, prompt string) (string, error)) eval.User {
	return func(ctx context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
		prompt := "You are a customer: " + t.Row.Persona + " Say what the customer says next, " +
			"or DONE and why if the customer has what they want or gives up.\n"
		for _, turn := range turns {
			prompt += fmt.Sprintf("Customer: %s\nAgent: %s\n", turn.Instruction, turn.FinalResponse)
		}
		text, err := ask(ctx, prompt)
		if why, is := strings.CutPrefix(text, "DONE"); is {
			return "", fmt.Errorf("%w: %s", dispatchtest.ErrDone, strings.TrimSpace(why))
		}
		return text, err
	}
}

func TestPersona(t *testing.T) {
	dataset, err := eval.Read(strings.NewReader("user,turn_mode,user_simulator_persona\n" +
		"I want my money back.,model_as_user,A tired clerk who bought order #4521.\n"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: shop()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(_ context.Context, prompt string) (string, error) { // here is the call of a model
		if strings.Contains(prompt, "refunded") {
			return "DONE the order is refunded", nil
		}
		return "Refund order #4521.", nil
	}
	experiment := eval.Test(t, dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		User: customer(ask), UserVersion: "small, prompt 1", Grader: eval.State("order/4521", `{"status":"refunded"}`),
	})
	if got := experiment.Trials[0].Result.Ended; got != "user: done: the order is refunded" {
		t.Error(got)
	}
}
