package main

import (
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/examples/internal/shop"
)

func TestAgent(t *testing.T) {
	world := shop.World()
	world.InitialState = `{"order":{"4521":{"customer_id":"cust_99","status":"shipped","shipped_at":"2026-01-02","amount":79.5}}}`
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: refundAgent}, dispatchtest.Task{Instruction: "Refund order #4521.", World: world})
	got.AssertFinalResponse(t, "$79.50", "#4521")
	got.AssertOrder(t, "get_order", "refund_order")
	got.AssertCalled(t, "refund_order", `{"order_id":"4521","amount":79.5}`)
	got.AssertState(t, "order/4521", `{"status":"refunded"}`)
	got.AssertOnlyChanged(t, "order/4521/status")

	got = dispatchtest.Run(t, dispatchtest.Target{Agent: refundAgent}, dispatchtest.Task{Instruction: "Refund order #77.", World: world})
	got.AssertFinalResponse(t, "could not be found")
	got.AssertNotCalled(t, "refund_order", "")
	got.AssertOnlyChanged(t)
}

// A refusal and an answer that ends early are final responses.
func TestModelAgentWithoutAnswer(t *testing.T) {
	for want, step := range map[string]llmtest.Step{
		"I will not help.": llmtest.Refusal("I will not help."), "ended early: length": llmtest.Text("I look").Incomplete(),
	} {
		model := llmtest.New(t, step)
		agent, err := modelAgent(model.Client(), model.URL)
		if err != nil {
			t.Fatal(err)
		}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "Refund order #4521.", World: shop.World()})
		got.AssertFinalResponse(t, want)
	}
}
