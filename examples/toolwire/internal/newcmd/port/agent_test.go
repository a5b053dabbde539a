package main

import (
	"os"
	"slices"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/dispatch/eval"
)

func TestRefund(t *testing.T) {
	got := dispatchtest.Run(t, target(t), dispatchtest.Task{Instruction: "Refund order #4521.", World: world(t)})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "$79.50", "rf_1")
	got.AssertOrder(t, "get_order", "refund_order")
	got.AssertOnlyChanged(t, "/order/4521/status")
}

// Each row of the dataset is a case. Its columns have what the final response says, and how the ledger ends.
func TestTasks(t *testing.T) {
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

// The doctor examines the agent as the platform will use it, also while the proxy misbehaves. Its
// scenario slow_tool takes 22 s: toolwire doctor has it, and this test does not.
func TestDoctor(t *testing.T) {
	scenarios := slices.DeleteFunc(doctor.Scenarios(), func(name doctor.Name) bool { return name == "slow_tool" })
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
