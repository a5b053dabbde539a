package main

import (
	"testing"

	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func TestAgent(t *testing.T) {
	model := llmtest.New(t,
		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`).Expect(llmtest.HasTools("get_order")),
		llmtest.Text("Your order has shipped.").Expect(llmtest.HasResult("call_1", "shipped")),
	)
	a, err := newAgent(model.Client().Transport, option.WithBaseURL(model.URL), option.WithAPIKey("none"))
	if err != nil {
		t.Fatal(err)
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: a.answer}, dispatchtest.Task{
		Instruction: "How is my order 4521?",
		World: proxytest.World{Tools: tools, Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Canned(`{"status":"shipped"}`),
		}},
	})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "has shipped")
	if len(got.Messages) != 4 {
		t.Errorf("the transcript is %v", got.Messages)
	}
}

// A refusal and an answer that ends early are final responses.
func TestAgentWithoutAnswer(t *testing.T) {
	for want, step := range map[string]llmtest.Step{
		"I will not help.": llmtest.Refusal("I will not help."), "ended early: length": llmtest.Text("I look").Incomplete(),
	} {
		model := llmtest.New(t, step)
		a, err := newAgent(model.Client().Transport, option.WithBaseURL(model.URL), option.WithAPIKey("none"))
		if err != nil {
			t.Fatal(err)
		}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: a.answer}, dispatchtest.Task{Instruction: "How is my order?", World: proxytest.World{Tools: tools}})
		got.AssertOK(t)
		got.AssertFinalResponse(t, want)
	}
}
