// Package pages has the code of pages in docs that is in no example of a package.
package pages

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// The code of docs/porting.md.

type (
	GetOrder struct {
		OrderID string `json:"order_id"`
	}
	Order struct {
		Status    string `json:"status"`
		ShippedAt string `json:"shipped_at"`
	}
)

var getOrder = schema.MustDefine[GetOrder, schema.OrFailure[Order]]("get_order", "Look up an order.", nil)

// runMyAgent is where the document's wrapper calls run_my_agent.
func runMyAgent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	var state struct {
		OrderID string `json:"order_id"`
	}
	if err := run.DecodeInput(&state); err != nil { // the row's current_state
		return nil, err
	}
	transcript := run.Transcript() // rich mode: send the messages
	order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", GetOrder{OrderID: state.OrderID})
	if toolwire.CodeOf(err) == toolwire.CodeToolFailed {
		return transcript.Response("I could not find the order."), nil
	}
	if err != nil {
		return nil, err
	}
	answer := transcript.Response(fmt.Sprintf("Order %s is %s.", state.OrderID, order.Status))
	answer.Metadata = &dispatch.Metadata{Model: "claude-sonnet-4-5", TotalInputTokens: 1842, TotalOutputTokens: 217}
	return answer, nil
}

func newHandler() (*dispatch.Handler, error) {
	return dispatch.New(runMyAgent, &dispatch.Options{Tokens: []string{os.Getenv("AGENT_TOKEN")}})
}

// codeMode is the main function of a program in code mode.
func codeMode() {
	dispatch.Main(runMyAgent, nil)
}

var _ = codeMode // compiled, not run: it ends the process

func newToken() string {
	return rand.Text()
}

func TestPorting(t *testing.T) {
	token := newToken()
	t.Setenv("AGENT_TOKEN", token)
	handler, err := newHandler()
	if err != nil {
		t.Fatal(err)
	}
	target := dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + token, Strict: true}
	task := dispatchtest.Task{
		Instruction: "Where is my order?",
		Input:       GetOrder{OrderID: "4521"},
		World: proxytest.World{
			Tools:        []schema.Tool{getOrder},
			InitialState: `{"order":{"4521":{"status":"shipped","shipped_at":"2026-04-01"}}}`,
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)},
		},
	}
	got := dispatchtest.Run(t, target, task)
	got.AssertOK(t)
	got.AssertFinalResponse(t, "Order 4521 is shipped.")
	if body := got.Dispatch.Body; len(got.Messages) < 2 || !strings.Contains(body, `"total_input_tokens":1842`) {
		t.Error(body)
	}
	report, err := doctor.Check(t.Context(), target, &doctor.Options{Task: &task})
	if err != nil {
		t.Fatal(err)
	}
	report.AssertOK(t)

	task.Input = GetOrder{OrderID: "77"}
	dispatchtest.Run(t, target, task).AssertFinalResponse(t, "could not find")
}
