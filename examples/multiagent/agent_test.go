package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const instruction = "Where is order #4522? And refund order #4521."

// both is the supervisor's turn that gives both specialists a task.
var both = llmtest.Turn(
	llmtest.Call("call_1", "ask_orders", `{"task":"Find order 4522."}`),
	llmtest.Call("call_2", "ask_refunds", `{"task":"Refund order 4521."}`),
).Usage(100, 20)

func target(t *testing.T, model *llmtest.Model) dispatchtest.Target {
	agent, err := newAgent(newClient(model.Client(), option.WithBaseURL(model.URL), option.WithAPIKey("none")), "fake-1")
	if err != nil {
		t.Fatal(err)
	}
	return dispatchtest.Target{Agent: agent}
}

// Two specialists work at the same time. Calls, trace events and conversations have their labels.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(t)
		model.For(instruction,
			both.Expect(llmtest.HasSystem(supervisorSystem), llmtest.HasTools("ask_orders", "ask_refunds")),
			llmtest.Text("#4522 has not shipped. #4521 has been refunded.").Usage(200, 10).
				Expect(llmtest.HasResult("call_1", "not shipped"), llmtest.HasResult("call_2", "refunded")),
		)
		model.For("Find order 4522.",
			llmtest.Call("call_3", "get_order", `{"order_id":"4522"}`).Usage(50, 5).After(10*time.Second).Expect(llmtest.HasTools("get_order")),
			llmtest.Text("Order 4522 has not shipped.").Usage(60, 6).Expect(llmtest.HasResult("call_3", "paid")),
		)
		model.For("Refund order 4521.",
			llmtest.Call("call_4", "get_order", `{"order_id":"4521"}`).Usage(50, 5).After(10*time.Second).Expect(llmtest.HasTools("get_order", "refund_order")),
			llmtest.Call("call_5", "refund_order", `{"order_id":"4521","amount":79.5}`).Usage(60, 6).Expect(llmtest.HasResult("call_4", "shipped")),
			llmtest.Text("Order 4521 is refunded.").Usage(70, 7).Expect(llmtest.HasResult("call_5", "rf_1")),
		)
		begin := time.Now()
		got := dispatchtest.Run(t, target(t, model), dispatchtest.Task{Instruction: instruction, World: shop.World()})
		got.AssertOK(t)
		got.AssertFinalResponse(t, "#4521 has been refunded")
		got.AssertOnlyChanged(t, "/order/4521/status")
		if len(got.Problems) > 0 {
			t.Error("problems:", got.Problems)
		}
		if took := time.Since(begin); took >= 20*time.Second { // in the bubble's time
			t.Errorf("the run took %v: the specialists did not work at the same time", took)
		}
		checkLabels(t, got)
		checkTranscript(t, got)
		checkTokens(t, got, 100+200+50+60+50+60+70, 20+10+5+6+5+6+7)
	})
}

// If a specialist's model refuses, the refusal is its report; if the supervisor's does, it is the answer.
func TestRefusals(t *testing.T) {
	model := llmtest.New(t)
	model.For(instruction,
		llmtest.Call("call_1", "ask_orders", `{"task":"Find order 4522."}`),
		llmtest.Refusal("I will not help.").Expect(llmtest.HasResult("call_1", "I cannot say that.")))
	model.For("Find order 4522.", llmtest.Refusal("I cannot say that."))
	got := dispatchtest.Run(t, target(t, model), dispatchtest.Task{Instruction: instruction, World: shop.World()})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "I will not help.")
}

// checkLabels compares the labels that the platform saw with the declared ones.
func checkLabels(t *testing.T, got *dispatchtest.Result) {
	calls := map[string][]string{}
	for _, call := range got.Calls {
		calls[call.Actor] = append(calls[call.Actor], call.Tool)
	}
	if want := map[string][]string{ordersLabel: {"get_order"}, refundsLabel: {"get_order", "refund_order"}}; !maps.EqualFunc(calls, want, slices.Equal) {
		t.Errorf("calls by label: %v, want %v", calls, want)
	}
	for _, declared := range subAgents {
		for _, tool := range calls[declared.ActorID] {
			if !slices.Contains(declared.Tools, tool) {
				t.Errorf("%s has called %s, which is not declared", declared.ActorID, tool)
			}
		}
	}

	events := map[string][]string{} // by the specialist that they are about
	for _, e := range got.Traces {
		var payload struct {
			From    string `json:"from_sub_agent"`
			To      string `json:"to_sub_agent"`
			Content string
		}
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		about, text := e.Actor, fmt.Sprintf("%s by %s: %s", e.Event, e.Actor, payload.Content)
		if e.Event == proxy.EventHandoff {
			text += payload.From + " to " + payload.To
		}
		if e.Actor == supervisorLabel {
			about = payload.To
		}
		events[about] = append(events[about], text)
	}
	want := map[string][]string{
		ordersLabel: {
			"handoff by supervisor: supervisor to supervisor/orders",
			"subagent_final by supervisor/orders: Order 4522 has not shipped.",
			"handoff by supervisor/orders: supervisor/orders to supervisor",
		},
		refundsLabel: {
			"handoff by supervisor: supervisor to supervisor/refunds",
			"subagent_final by supervisor/refunds: Order 4521 is refunded.",
			"handoff by supervisor/refunds: supervisor/refunds to supervisor",
		},
	}
	if !maps.EqualFunc(events, want, slices.Equal) {
		t.Errorf("trace events: %q, want %q", events, want)
	}
}

// checkTranscript compares the conversations of the transcript, each of which begins with a system
// prompt. Ids and groups of calls come from the model. The supervisor's conversation is first, and its
// final response is last.
func checkTranscript(t *testing.T, got *dispatchtest.Result) {
	var conversations []string
	for _, m := range got.Messages {
		if m.Role == dispatch.RoleSystem {
			conversations = append(conversations, "")
			continue
		}
		line := string(m.Role) + m.ToolCallID
		for _, call := range m.ToolCalls {
			line += " " + call.ID
		}
		conversations[len(conversations)-1] += line + "; "
	}
	if len(conversations) != 3 {
		t.Fatalf("the transcript has %d conversations, want 3: %v", len(conversations), got.Messages)
	}
	want := []string{
		"user; assistant call_1 call_2; toolcall_1; toolcall_2; ",
		"user; assistant call_3; toolcall_3; assistant; ",
		"user; assistant call_4; toolcall_4; assistant call_5; toolcall_5; assistant; assistant; ",
	}
	if !slices.Equal(conversations, want) {
		t.Errorf("the transcript has the conversations\n%q, want\n%q", conversations, want)
	}
}

func checkTokens(t *testing.T, got *dispatchtest.Result, input, output int64) {
	var body struct {
		Metadata struct {
			Input  int64 `json:"total_input_tokens"`
			Output int64 `json:"total_output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(got.Dispatch.Body), &body); err != nil {
		t.Fatal(err)
	}
	if m := body.Metadata; m.Input != input || m.Output != output {
		t.Errorf("metadata %+v, want %d and %d tokens", m, input, output)
	}
}

// When the proxy says that the run is over, all agents stop, also one that waits for its model.
func TestRunOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var run *proxytest.Run
		world := shop.World()
		world.Behaviors["refund_order"] = func(*proxytest.Request) (any, error) {
			run.End("run_token_invalid")
			return map[string]string{"refund_id": "rf_1"}, nil
		}
		model := llmtest.NewModel()
		model.For(instruction, both, llmtest.Text("The supervisor goes on."))
		model.For("Find order 4522.", llmtest.Text("Too late.").After(time.Hour))
		model.For("Refund order 4521.",
			llmtest.Call("call_3", "refund_order", `{"order_id":"4521","amount":1}`).After(time.Second),
			llmtest.Call("call_4", "get_order", `{"order_id":"4521"}`),
			llmtest.Text("The specialist goes on."),
		)
		begin := time.Now()
		_, err := dispatchtest.Dispatch(t.Context(), target(t, model), dispatchtest.Task{
			Instruction: instruction, World: world, OnRun: func(r *proxytest.Run) { run = r },
		})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took >= time.Minute { // in the bubble's time
			t.Errorf("the run took %v: a specialist waited for its model", took)
		}
		if n := len(model.Requests()); n != 4 {
			t.Errorf("the model got %d requests, want 4: one of the supervisor, one and two of the specialists", n)
		}
	})
}

// A specialist whose model fails ends the run, and with it the work of the other specialist.
func TestSpecialistFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.NewModel()
		model.For(instruction, both)
		model.For("Find order 4522.", llmtest.Text("Too late.").After(time.Hour))
		model.For("Refund order 4521.", llmtest.Error(401).After(time.Second))
		begin := time.Now()
		got, err := dispatchtest.Dispatch(t.Context(), target(t, model), dispatchtest.Task{Instruction: instruction, World: shop.World()})
		if err != nil {
			t.Fatal(err)
		}
		got.AssertErrorClass(t, dispatchtest.Agent5xx)
		if !strings.Contains(got.AgentError, "401") {
			t.Errorf("the error of the agent is %q", got.AgentError)
		}
		if took := time.Since(begin); took >= time.Minute { // in the bubble's time
			t.Errorf("the run took %v: the other specialist went on", took)
		}
		if err := model.Err(); err != nil { // each agent has made its one request
			t.Error(err)
		}
	})
}

// The supervisor's model learns of a specialist that does not exist, and of a task that is missing.
func TestMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(t,
			llmtest.Turn(llmtest.Call("call_1", "ask_sales", `{"task":"Sell."}`), llmtest.Call("call_2", "ask_orders", `{"question":"Where?"}`)),
			llmtest.Text("Sorry.").Expect(llmtest.HasResult("call_1", "ask_orders and ask_refunds"), llmtest.HasResult("call_2", "task")),
		)
		got, err := dispatchtest.Dispatch(t.Context(), target(t, model), dispatchtest.Task{Instruction: instruction, World: shop.World()})
		if err != nil {
			t.Fatal(err)
		}
		got.AssertFinalResponse(t, "Sorry.")
		got.AssertOnlyChanged(t)
	})
}

// The supervisor goes on with the conversation with the user; specialists begin anew.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(t)
		model.For("Find order 4522.", llmtest.Text("It is paid."))
		model.For("Find order 4521.", llmtest.Text("It has shipped."))
		model.For("Where is #4522?",
			llmtest.Call("call_1", "ask_orders", `{"task":"Find order 4522."}`),
			llmtest.Text("#4522 is paid."),
			llmtest.Call("call_2", "ask_orders", `{"task":"Find order 4521."}`).Expect(func(r *llmtest.Request) error {
				if !slices.Equal(r.Users, []string{"Where is #4522?", "And #4521?"}) || !strings.Contains(string(r.Body), `"call_1"`) {
					return errors.New("the conversation is not the supervisor's")
				}
				return nil
			}),
			llmtest.Text("#4521 has shipped."),
		)
		got := dispatchtest.Run(t, target(t, model), dispatchtest.Task{
			World:        shop.World(),
			Conversation: &dispatchtest.Conversation{UserTurns: []string{"Where is #4522?", "And #4521?"}, ReplayTools: true},
		})
		got.AssertOK(t)
		got.AssertFinalResponse(t, "#4521 has shipped.")
		if len(got.Problems) > 0 {
			t.Error("problems:", got.Problems)
		}
	})
}
