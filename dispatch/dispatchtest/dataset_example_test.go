package dispatchtest_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Everything that is wrong with a file is said at once.
func ExampleReadDataset() {
	_, err := dispatchtest.ReadDataset(strings.NewReader(`user,initial_state,expected_outcome
Refund order #4521.,{'order':{}},completion
Refund order #4522.,,refuse
`), nil)
	fmt.Println(err)
	// Output:
	// dispatchtest: dataset: 3 problems:
	//   row 1, column initial_state: did you mean state? initial_state is the name of the axis, in a CSV file its column is state
	//   row 2, column initial_state: the cell is no valid JSON at character 2: invalid character '\'' where a member's name should begin: ' must become "
	//   row 3, column expected_outcome: "refuse" is not completion or refusal: did you mean refusal?
}

// A dataset is run against an agent, in worlds that differ from row to row. A judge knows what the contract does not.
func ExampleRunSet() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[struct{ Status string }](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "Your order is " + order.Status + "."}, nil
	}
	rows, err := dispatchtest.ReadDataset(strings.NewReader(`user,state,failure_rules,says
Where is my order?,"{""order"":{""4521"":{""status"":""shipped""}}}",,shipped
Where is my order?,"{""order"":{""4521"":{""status"":""lost""}}}",,shipped
Where is my order?,,"[{""tool"":""get_order"",""status"":500}]",
`), nil)
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
	set, err := dispatchtest.RunSet(context.Background(), dispatchtest.Target{Agent: agent}, cases, &dispatchtest.SetOptions{
		Judge: func(_ context.Context, c dispatchtest.Case, result *dispatchtest.Result) error {
			if says := c.Row.Extra["says"]; !strings.Contains(result.FinalResponse, says) {
				return fmt.Errorf("it does not say %q: %s", says, result.FinalResponse)
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range set.Cases {
		fmt.Printf("%s: %s %q\n", c.Name, c.Verdict, c.Cause)
	}
	fmt.Println(set.OK(), set.Cases[1].Reason)
	if err := set.WriteJUnit(io.Discard); err != nil { // or WriteSummary, or WriteJSON
		fmt.Println(err)
	}
	// Output:
	// row 2: Where is my order?: passed ""
	// row 3: Where is my order?: failed "judge"
	// row 4: Where is my order?: failed "agent_5xx"
	// false it does not say "shipped": Your order is lost.
}
