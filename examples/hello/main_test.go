package main

import (
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func TestAgent(t *testing.T) {
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "How is my order?",
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"status":"shipped"}`),
		}},
	})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "Your order is shipped.")
	got.AssertCalled(t, "get_order", `{"order_id":"4521"}`)
}
