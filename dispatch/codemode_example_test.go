package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// This is the whole program of an agent in code mode.
func ExampleMain() {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]string{"order_id": "4521"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "The order: " + string(order)}, nil
	}
	dispatch.Main(agent, &dispatch.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}

// An agent applies the variant of its run, or fails the run, and acknowledges it.
func ExampleRun_HarnessVariant() {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		response := &dispatch.Response{FinalResponse: "done"}
		variant, err := run.HarnessVariant()
		if err != nil || variant == nil {
			return response, err
		}
		knobs := struct {
			Model    string `json:"model"`
			MaxSteps int    `json:"max_steps"`
		}{"small", 10} // the defaults
		if err := variant.DecodeKnobs(&knobs); err != nil {
			return nil, err
		}
		fmt.Println(variant.Name, knobs.Model, knobs.MaxSteps)
		response.Metadata = &dispatch.Metadata{Model: knobs.Model, HarnessVariant: variant}
		return response, nil
	}
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"agent-token"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(handler, "/dispatch", "agent-token", `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":{"user_instruction":"hello",
		"input":{"harness_variant":{"snapshot_id":"4","name":"large model","fingerprint":"f1","knob_values":{"model":"large","max_steps":null}}}}}`)
	// Output:
	// large model large 10
	// 200 {"final_response":"done","metadata":{"harness_variant":{"source":"harness_variant","snapshot_id":"4","fingerprint":"f1"},"model":"large"}}
}
