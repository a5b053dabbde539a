package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// status looks an order up.
func status(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	order, err := proxy.Call[map[string]string](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
	if err != nil {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: "Order #4521 is " + order["status"] + "."}, nil
}

var shipped = proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}}

// A handler is dispatched to as it is registered: here with a bearer token.
func Example() {
	handler, err := dispatch.New(status, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := dispatchtest.Dispatch(context.Background(),
		dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"},
		dispatchtest.Task{Instruction: "How is order #4521?", World: shipped})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.OK(), result.FinalResponse, len(result.Calls))
	// Output: true Order #4521 is shipped. 1
}

// An agent alone runs in memory. A run that fails has the platform's error class.
func ExampleTarget_agent() {
	world := shipped
	world.FailureRules = []proxytest.FailureRule{{Tool: "get_order", Status: 500}}
	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: status},
		dispatchtest.Task{World: world})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.ErrorClass, len(result.Calls), result.Refused[0].Tool, result.Refused[0].Status)
	// Output: agent_5xx 0 get_order 500
}

// A session has several turns in one world.
func ExampleConversation() {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: fmt.Sprintf("You said %q after %d messages.", run.Instruction,
			len(history)-1)}, nil
	}
	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction:  "Hello",
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"Goodbye"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, turn := range result.Turns {
		fmt.Println(turn.FinalResponse)
	}
	// Output:
	// You said "Hello" after 0 messages.
	// You said "Goodbye" after 2 messages.
}

// The platform gets a bare 500 when an agent returns an error. The result has the error.
func ExampleResult() {
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return nil, errors.New("the model's key is not set")
	}
	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.ErrorClass)
	fmt.Println(result.Dispatch.Body)
	fmt.Println(result.AgentError)
	// Output:
	// agent_5xx
	// {"error":"agent_failed","message":"the agent failed; set Options.Logger to see why"}
	// the model's key is not set
}
