package dispatchtest_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// The responses of public ports of agents, byte for byte, and what the platform does with them.
func TestResponsesOfPorts(t *testing.T) {
	const assistant = `{"role":"assistant","content":"It is refunded."}`
	for _, tt := range []struct {
		name, body string
		strict     bool
		class      dispatchtest.ErrorClass
		problem    string // the code of the first
		messages   int
		gradeable  bool
	}{
		{name: "the bare minimum", body: `{"final_response":"x"}`},
		{name: "null for what is absent", body: `{"final_response":"x","messages":null,"metadata":null}`},
		{name: "unknown members",
			body:     `{"final_response":"x","debug":{"a":[1]},"messages":[{"role":"assistant","content":"y","id":7,"name":"a"}]}`,
			messages: 1, gradeable: true},
		{name: "the least gradeable", strict: true, messages: 2, gradeable: true,
			body: `{"final_response":"x","messages":[{"role":"user","content":"Refund it."},` + assistant + `]}`},
		{name: "flat tool calls", messages: 3, gradeable: true, body: `{"final_response":"x","messages":[` +
			`{"role":"assistant","tool_calls":[{"id":"c1","name":"get_order","arguments":{"order_id":"4521"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"{\"status\":\"shipped\"}"},` + assistant + `]}`},
		{name: "nested tool calls", messages: 3, gradeable: true, body: `{"final_response":"x","messages":[` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",` +
			`"function":{"name":"get_order","arguments":"{\"order_id\": \"4521\"}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"{}"},` + assistant + `]}`},
		{name: "parts and thinking", messages: 1, gradeable: true, body: `{"final_response":"x","messages":[` +
			`{"role":"assistant","content":[{"type":"text","text":"y"}],"thinking":[{"type":"text","text":"hm"},{"signature":"s"}]}]}`},
		{name: "metadata with keys of its own",
			body: `{"final_response":"x","metadata":{"model":"m","total_input_tokens":1842,"trace_url":"u","n":{}}}`},
		{name: "items without a role", problem: "messages_malformed",
			body: `{"final_response":"x","messages":[{"type":"function_call","call_id":"c1","name":"get_order","arguments":"{}"},` + assistant + `]}`},
		{name: "another role", problem: "messages_malformed",
			body: `{"final_response":"x","messages":[{"role":"developer","content":"y"},` + assistant + `]}`},
		{name: "dropped messages under the guard", strict: true, problem: "messages_malformed",
			class: dispatchtest.ContractViolation,
			body:  `{"final_response":"x","messages":[{"role":"narrator","content":"y"},` + assistant + `]}`},
		{name: "no messages under the guard", strict: true, class: dispatchtest.ContractViolation,
			body: `{"final_response":"x"}`},
		{name: "an assistant without text under the guard", strict: true, class: dispatchtest.ContractViolation, messages: 1,
			body: `{"final_response":"x","messages":[{"role":"assistant","content":"  "}]}`},
		{name: "empty", class: dispatchtest.AgentBadResponse, problem: "final_response_missing",
			body: `{"final_response":""}`},
		{name: "white space", class: dispatchtest.AgentBadResponse, problem: "final_response_missing",
			body: `{"final_response":" \n\t"}`},
		{name: "absent", class: dispatchtest.AgentBadResponse, messages: 1, gradeable: true,
			problem: "final_response_missing", body: `{"messages":[` +
				assistant + `]}`},
		{name: "HTML", class: dispatchtest.AgentBadResponse, body: `<!doctype html><p>Hello`},
		{name: "an empty body", class: dispatchtest.AgentBadResponse, body: ``},
		{name: "more than 50,000 characters", problem: "final_response_long", body: `{"final_response":"` +
			strings.Repeat("é", 50_001) + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				body := tt.body
				if r.Header.Get("X-Pipelines-Run-Token") == "" {
					body = `{"ok":true}` // the ping
				}
				_, _ = w.Write([]byte(body))
			})
			result := dispatchtest.Run(t, dispatchtest.Target{Handler: agent, Strict: tt.strict}, dispatchtest.Task{})
			if result.ErrorClass != tt.class {
				t.Fatalf("%q (%s), want %q", result.ErrorClass, result.Error, tt.class)
			}
			if len(result.Messages) != tt.messages || result.Gradeable != tt.gradeable {
				t.Errorf("%d messages, gradeable %t", len(result.Messages), result.Gradeable)
			}
			problem := ""
			if len(result.Problems) > 0 {
				problem = result.Problems[0].Code
			}
			if tt.problem != problem && (tt.problem != "" || tt.class == "") {
				t.Errorf("problems %v, want %q", result.Problems, tt.problem)
			}
		})
	}
}

// The guard is applied after each turn of a session.
func TestTheGuardIsAppliedToEachTurn(t *testing.T) {
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		response := &dispatch.Response{FinalResponse: "x"}
		if run.TurnID == "1" {
			response.Messages = []dispatch.Message{{Role: dispatch.RoleAssistant, Content: dispatch.Text("y")}}
		}
		return response, nil
	}
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent, Strict: true}, dispatchtest.Task{
		Instruction: "a", Conversation: &dispatchtest.Conversation{UserTurns: []string{"b", "c"}},
	})
	result.AssertErrorClass(t, dispatchtest.ContractViolation)
	if len(result.Turns) != 2 || result.Turns[0].FinalResponse != "x" {
		t.Errorf("%d turns", len(result.Turns))
	}
}
