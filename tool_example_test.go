package toolwire_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// loop is the loop around the model. It does not know whose tools it calls.
func loop(ctx context.Context, tools toolwire.ToolCaller, question string) (string, error) {
	result, err := tools.CallForModel(ctx, "get_order", `{"order_id":"4521"}`) // what a model would call
	if err != nil {
		return "", err // stop: the run is over, or ctx has ended
	}
	return question + " " + result.Text, nil // the model reads failed calls too
}

// agent serves the platform. A run has the tools of its proxy only.
func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	text, err := loop(ctx, run.Proxy, run.Instruction)
	return &dispatch.Response{FinalResponse: text}, err
}

// answer serves the author's own users, with the real tools.
func answer(ctx context.Context, box *toolbox.Toolbox, question string) (string, error) {
	return loop(ctx, box, question)
}

// One loop serves the platform and the author's own users. The real tools are never a fallback in a run:
// the platform would not see their calls.
func ExampleToolCaller() {
	getOrder := func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
		return "paid", nil
	}
	box, err := toolbox.Parse([]byte(`[{"name":"get_order","handler":"shop.get_order"}]`),
		&toolbox.Options{Handlers: map[string]toolbox.Handler{"shop.get_order": getOrder}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer(context.Background(), box, "Where is my order?"))

	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Where is order #4521?",
		World: proxytest.World{
			InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)},
		},
	})
	fmt.Println(result.FinalResponse, err)
	// Output:
	// Where is my order? paid <nil>
	// Where is order #4521? {"status":"shipped"} <nil>
}
