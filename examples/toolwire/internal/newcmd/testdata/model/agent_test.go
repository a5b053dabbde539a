package main

import (
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// use makes the agent talk to the scripted model at url. So the tests need no key and no network.
func use(t *testing.T, url string) {
	t.Setenv("OPENAI_BASE_URL", url)
	t.Setenv("OPENAI_API_KEY", "none")
}

func lookUp(order string) llmtest.Step {
	return llmtest.Call("call_1", "get_order", `{"order_id":"`+order+`"}`)
}

func refund(id string) llmtest.Step {
	return llmtest.Call(id, "refund_order", `{"order_id":"4521","amount":79.5}`)
}

func TestRefund(t *testing.T) {
	model := llmtest.NewServer(t,
		lookUp("4521").Expect(llmtest.HasTools("get_order", "refund_order")),
		refund("call_2").Expect(llmtest.HasResult("call_1", "shipped")),
		llmtest.Text("I refunded $79.50 for order #4521 (rf_1).").Expect(llmtest.HasResult("call_2", "rf_1")),
	)
	use(t, model.URL)
	got := dispatchtest.Run(t, target(t), dispatchtest.Task{Instruction: "Refund order #4521.", World: world(t)})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "$79.50", "rf_1")
	got.AssertOrder(t, "get_order", "refund_order")
	got.AssertOnlyChanged(t, "/order/4521/status")
}

// Each row of the dataset is a case, with a script of its own. Its columns have what the final response
// says, and how the ledger ends. With a real model the test is the same without the scripts.
func TestTasks(t *testing.T) {
	model := llmtest.NewServer(t)
	model.For("Where is order #4521?",
		lookUp("4521"), llmtest.Text("Order #4521 has shipped.").Expect(llmtest.HasResult("call_1", "shipped")))
	model.For("Refund order #4521.",
		refund("call_1"), llmtest.Text("I refunded $79.50.").Expect(llmtest.HasResult("call_1", "rf_1")))
	model.For("Refund order #4522.",
		lookUp("4522"), llmtest.Text("It is only paid, so I did not refund it.").Expect(llmtest.HasResult("call_1", "paid")))
	model.For("Where is order #77?",
		lookUp("77"), llmtest.Text("I could not find order #77.").Expect(llmtest.HasResult("call_1", "not found")))
	use(t, model.URL)

	file, err := os.Open("testdata/tasks.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	dataset, err := eval.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: world(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.Expect(cases); err != nil {
		t.Fatal(err)
	}
	eval.Test(t, target(t), cases, nil)
}

// The doctor examines the agent as the platform will use it, also while the proxy misbehaves. It
// dispatches the task many times, so the model of this test looks the order up, and then answers,
// as often as it is asked. It remembers nothing, so the scenarios of the memory need a real model.
// The scenario slow_tool takes 22 s: toolwire doctor has it, and this test does not.
func TestDoctor(t *testing.T) {
	model := llmtest.NewModel()
	model.When(func(r *llmtest.Request) bool { return len(r.Results) == 0 },
		slices.Repeat([]llmtest.Step{llmtest.Call("", "get_order", `{"order_id":"4521"}`)}, 1000)...)
	model.When(func(r *llmtest.Request) bool { return len(r.Results) > 0 },
		slices.Repeat([]llmtest.Step{llmtest.Text("I looked it up.")}, 1000)...)
	server := httptest.NewServer(model)
	defer server.Close()
	use(t, server.URL)

	scenarios := slices.DeleteFunc(doctor.Scenarios(), func(name doctor.Name) bool {
		return strings.HasPrefix(string(name), "memory_") || name == "slow_tool"
	})
	report, err := doctor.Check(t.Context(), target(t), &doctor.Options{
		Task:        &dispatchtest.Task{Instruction: "Where is order #4521?", World: world(t)},
		ToolsSchema: toolsSchema(t),
		Scenarios:   scenarios,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	report.AssertOK(t)
}
