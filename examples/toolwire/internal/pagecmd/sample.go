package pagecmd

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// sampleWorld has orders, a carrier that is live behind the platform, and messages to customers.
//
//go:embed testdata/world.json
var sampleWorld []byte

// sample is an agent without a model: a supervisor with two sub-agents. It does the same in every
// run.
type sample struct {
	token   string
	handler http.Handler
}

func newSample(token string) (*sample, error) {
	handler, err := dispatch.New(supervise, &dispatch.Options{Tokens: []string{token}})
	return &sample{token, handler}, err
}

// sampleRules refuse the first refund once and delay messages, so that the page shows both.
func sampleRules() []proxytest.FailureRule {
	return []proxytest.FailureRule{
		{Tool: "refund_order", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention", RetryAfter: 1},
		{Tool: "send_message", Delay: 1200 * time.Millisecond},
	}
}

// task returns the task of the sample.
func (s *sample) task(base string) task {
	t := taskOf(form{
		URL: base + "/sample/dispatch", AuthHeader: "Authorization", Timeout: "60", Strict: true,
		Instruction: "Order #4521 arrived broken. Refund it and tell the customer.",
		Input:       `{"customer_id":"cust_99","order_id":"4521"}`,
	}, dispatchtest.Target{AuthValue: "Bearer " + s.token})
	t.Sample = true
	return t
}

type order struct {
	CustomerID string      `json:"customer_id"`
	Item       string      `json:"item"`
	Amount     json.Number `json:"amount"`
	ParcelID   string      `json:"parcel_id"`
}

// supervise is the agent. A model would choose the same steps.
func supervise(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	var input struct {
		CustomerID string `json:"customer_id"`
		OrderID    string `json:"order_id"`
	}
	if err := run.DecodeInput(&input); err != nil {
		return nil, err
	}
	notes := run.Transcript()
	supervisor := run.Proxy.As("supervisor")
	_, _ = supervisor.Trace(ctx, proxy.EventSystemPrompt,
		map[string]string{"text": "You look after the customers of a small shop. Check before you pay."})

	_, _ = supervisor.Handoff(ctx, "supervisor", "supervisor/orders")
	found, err := lookUp(ctx, run.Proxy.As("supervisor/orders"), input.OrderID)
	if err != nil {
		return nil, err
	}

	notes.Add(dispatch.Message{Role: dispatch.RoleAssistant, Thinking: []json.RawMessage{json.RawMessage(
		`{"type":"text","text":"The parcel was delivered damaged and the order is the customer's own, so the whole amount is due."}`)}})
	_, _ = supervisor.Trace(ctx, proxy.EventThinking,
		map[string]string{"text": "Delivered damaged, and the order is the customer's own: the whole amount is due."})
	_, _ = supervisor.Handoff(ctx, "supervisor", "supervisor/refunds")
	refunds := run.Proxy.As("supervisor/refunds")
	if _, err := proxy.Call[any](ctx, refunds, "refund_order",
		map[string]any{"order_id": input.OrderID, "amount": found.Amount, "reason": "arrived broken"}); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("We are sorry that your %s arrived broken. $%s is on its way back to you.", found.Item,
		found.Amount)
	if _, err := proxy.Call[any](ctx, refunds, "send_message",
		map[string]string{"customer_id": found.CustomerID, "text": text}); err != nil {
		return nil, err
	}
	_, _ = refunds.Trace(ctx, proxy.EventSubagentFinal, map[string]string{"text": "Refunded and told the customer."})

	answer := notes.Response(fmt.Sprintf("Order #%s is refunded: $%s, and the customer has been told.", input.OrderID,
		found.Amount))
	answer.Metadata = &dispatch.Metadata{Model: "no-model"}
	return answer, nil
}

// lookUp is the sub-agent for orders.
func lookUp(ctx context.Context, tools *proxy.Client, id string) (order, error) {
	found, err := proxy.Call[order](ctx, tools, "get_order", map[string]string{"order_id": id})
	if err != nil {
		return order{}, err
	}
	if _, err := proxy.Call[any](ctx, tools, "track_parcel", map[string]string{"parcel_id": found.ParcelID}); err != nil {
		return order{}, err
	}
	_, _ = tools.Trace(ctx, proxy.EventSubagentMessage, map[string]string{
		"to": "supervisor", "text": "The order is paid, and the carrier reports damage on delivery.",
	})
	return found, nil
}
