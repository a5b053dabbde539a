package eval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// The column behavior of a row reaches the simulator of its world.
func TestTheSimulatorGetsTheInstructionsOfTheRow(t *testing.T) {
	set, err := eval.Read(strings.NewReader("user,behavior\na,The shop is closed.\nb,\nc,It is open.\n"))
	if err != nil {
		t.Fatal(err)
	}
	base := dispatchtest.Task{World: proxytest.World{
		Tools:                []schema.Tool{{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Simulator:            func(r *proxytest.Request) (any, error) { return r.Instructions, nil },
		BehaviorInstructions: "As usual.",
	}}
	cases, err := set.Cases(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		said, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "ask", nil)
		return &dispatch.Response{FinalResponse: string(said)}, err
	}
	for i, want := range []string{`"The shop is closed."`, `"As usual."`, `"It is open."`} {
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, cases[i].Task)
		if got.FinalResponse != want {
			t.Errorf("row %d: %s, want %s", i+1, got.FinalResponse, want)
		}
	}
}
