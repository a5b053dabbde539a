package toolwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// All callers of tools can serve one loop around a model. Package mcpbridge checks that a Peer can too.
var _ = []toolwire.ToolCaller{(*proxy.Client)(nil), (*toolbox.Toolbox)(nil), (*manifest.Manifest)(nil)}

// An agent that calls a tool, and a run of it without the platform. In production, [dispatch.New]
// makes an http.Handler of the agent.
func Example() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		type Order struct{ Status string }
		order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "Order #4521 is " + order.Status + "."}, nil
	}

	result, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Where is order #4521?",
		World: proxytest.World{
			InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range result.Calls {
		fmt.Println(call.Tool, string(call.Arguments), string(call.Response))
	}
	fmt.Println(result.OK(), result.FinalResponse)
	// Output:
	// get_order {"order_id":"4521"} {"status":"shipped"}
	// true Order #4521 is shipped.
}

// A program branches on the code of an error, and shows its problems.
func ExampleCodeOf() {
	tools := []schema.Tool{{Name: "get order", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	_, err := schema.Validate(context.Background(), tools, nil)
	switch toolwire.CodeOf(err) {
	case toolwire.CodeInvalid:
		e, _ := errors.AsType[*toolwire.Error](err)
		for _, p := range e.Problems {
			fmt.Println(p.Tool, p.Pointer, p.Code)
		}
	case toolwire.CodeCanceled, toolwire.CodeDeadline:
		fmt.Println("stop")
	}
	// Output: get order /0/name name_invalid
}
