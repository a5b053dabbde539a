package eval_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The error lists everything that is wrong in the file.
func ExampleRead() {
	_, err := eval.Read(strings.NewReader(`user,initial_state,expected_outcome
Refund order #4521.,{'order':{}},completion
Refund order #4522.,,refuse
`))
	fmt.Println(err)
	// Output:
	// eval: 3 problems:
	//   - row 1, column initial_state: did you mean state? initial_state is the name of the axis, in a CSV file its column is state
	//   - row 2, column initial_state: the cell is not valid JSON at character 2: invalid character '\'' where a member's name should begin: ' must become "
	//   - row 3, column expected_outcome: "refuse" is not completion or refusal: did you mean refusal?
}

// Run executes a dataset against an agent. Each row has its own world. A grader evaluates the
// responses.
func Example() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[struct{ Status string }](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "Your order is " + order.Status + "."}, nil
	}
	rows, err := eval.Read(strings.NewReader(`user,state,failure_rules,says
Where is my order?,"{""order"":{""4521"":{""status"":""shipped""}}}",,shipped
Where is my order?,"{""order"":{""4521"":{""status"":""lost""}}}",,shipped
Where is my order?,,"[{""tool"":""get_order"",""status"":500}]",
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cases, err := rows.Cases(dispatchtest.Task{World: proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := eval.Run(context.Background(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		Grader: func(_ context.Context, c eval.Case, result *dispatchtest.Result) error {
			if says := c.Columns["says"]; !strings.Contains(result.FinalResponse, says) {
				return fmt.Errorf("it does not say %q: %s", says, result.FinalResponse)
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range set.Trials {
		fmt.Printf("%s: %s %q\n", c.Name, c.Verdict, c.Cause)
	}
	fmt.Println(set.OK(), set.Trials[1].Reason)
	if err := set.WriteJUnit(io.Discard); err != nil { // or WriteSummary, or WriteJSON
		fmt.Println(err)
	}
	// Output:
	// row 2: Where is my order?: passed ""
	// row 3: Where is my order?: failed "grader"
	// row 4: Where is my order?: failed "agent_5xx"
	// false it does not say "shipped": Your order is lost.
}

// A User writes the user's turns where a row has a persona. This one answers the agent's question, and is done
// when it has what it wants.
func ExampleUser() {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if !strings.Contains(run.Instruction, "#") {
			return &dispatch.Response{FinalResponse: "Which order?"}, nil
		}
		return &dispatch.Response{FinalResponse: "It is refunded."}, nil
	}
	rows, err := eval.Read(strings.NewReader(`user,turn_mode,user_simulator_persona,order
I want my money back.,model_as_user,A tired clerk,#4521
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cases, err := rows.Cases(dispatchtest.Task{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := eval.Run(context.Background(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		User: func(_ context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
			if strings.Contains(turns[len(turns)-1].FinalResponse, "refunded") {
				return "", fmt.Errorf("%w: %s has the money", dispatchtest.ErrDone, t.Cell("user_simulator_persona"))
			}
			return "It is " + t.Columns["order"] + ".", nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, turn := range set.Trials[0].Result.Turns {
		fmt.Printf("%s %s\n", turn.Instruction, turn.FinalResponse)
	}
	fmt.Println(set.Trials[0].Verdict, "ended by", set.Trials[0].Result.Ended)
	// Output:
	// I want my money back. Which order?
	// It is #4521. It is refunded.
	// passed ended by user: done: A tired clerk has the money
}

// Compare says whether a candidate is better than a baseline, and how sure that is. Here both are
// the same agent, and the dataset has fewer cases than a gate needs.
func ExampleCompare() {
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Your order is shipped."}, nil
	}
	cases := []eval.Case{
		{ID: "shipped", Task: dispatchtest.Task{Instruction: "Where is my order?"}},
		{ID: "lost", Task: dispatchtest.Task{Instruction: "Where is the order I lost?"}},
	}
	opts := &eval.Options{Trials: 5, Grader: eval.Says("shipped")}
	var experiments []*eval.Experiment
	for _, version := range []dispatch.Agent{agent, agent} {
		e, err := eval.Run(context.Background(), dispatchtest.Target{Agent: version}, cases, opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		experiments = append(experiments, e)
	}
	fmt.Println(experiments[0].Figure("rate"))
	experiments[1].GateBy = map[string]float64{"": 0.05}
	comparison, err := eval.Compare(experiments[0], experiments[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	rate := comparison.Figures()[0]
	fmt.Println(rate.Verdict, rate)
	fmt.Println(comparison.Gate)
	// Output:
	// 100 % [34.2, 100]
	// cannot tell 0 points in 2 cases, p = 1.000; in cases like these [-98.8, +98.8]; a comparison of this size finds a difference of about 78 points in these cases; a gate needs at least 6 cases
	// undecided
}

// Match checks the calls of a run, and Diff shows where they part.
func ExampleMatch() {
	want, err := eval.ParseTrajectory([]byte(`[{"tool":"get_order"},{"tool":"refund_order","arguments":{"order_id":"4521"}}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := eval.ParseTrajectory([]byte(`[{"tool":"get_order"},{"tool":"refund_order","arguments":{"order_id":"4522","note":"sorry"}}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(eval.Match{Partial: true}.Check(got, want))
	fmt.Print(want.Diff(got))
	// Output:
	// the trajectory does not match: call 2 of refund_order has other arguments than {"order_id":"4521"}
	// ~ 2 refund_order /note: nothing -> "sorry" /order_id: "4521" -> "4522"
}
