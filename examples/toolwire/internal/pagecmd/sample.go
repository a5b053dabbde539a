package pagecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

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
	return task{
		URL: base + "/sample/dispatch", AuthHeader: "Authorization", AuthValue: "Bearer " + s.token, Sample: true,
		Timeout:     60 * time.Second,
		Instruction: "Order #4521 arrived broken. Refund it and tell the customer.",
		Input:       json.RawMessage(`{"customer_id":"cust_99","order_id":"4521"}`), Strict: true,
	}
}

type (
	getOrder struct {
		OrderID string `json:"order_id"`
	}
	order struct {
		CustomerID string      `json:"customer_id"`
		Status     string      `json:"status"`
		Item       string      `json:"item"`
		Amount     json.Number `json:"amount"`
		ParcelID   string      `json:"parcel_id"`
	}
	trackParcel struct {
		ParcelID string `json:"parcel_id"`
	}
	refundOrder struct {
		OrderID string      `json:"order_id"`
		Amount  json.Number `json:"amount"`
		Reason  string      `json:"reason"`
	}
	sendMessage struct {
		CustomerID string `json:"customer_id"`
		Text       string `json:"text"`
	}
)

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
		refundOrder{input.OrderID, found.Amount, "arrived broken"}); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("We are sorry that your %s arrived broken. $%s is on its way back to you.", found.Item,
		found.Amount)
	if _, err := proxy.Call[any](ctx, refunds, "send_message", sendMessage{found.CustomerID, text}); err != nil {
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
	found, err := proxy.Call[order](ctx, tools, "get_order", getOrder{id})
	if err != nil {
		return order{}, err
	}
	if _, err := proxy.Call[any](ctx, tools, "track_parcel", trackParcel{found.ParcelID}); err != nil {
		return order{}, err
	}
	_, _ = tools.Trace(ctx, proxy.EventSubagentMessage, map[string]string{
		"to": "supervisor", "text": "The order is paid, and the carrier reports damage on delivery.",
	})
	return found, nil
}

// shop is the sample's world: orders, a carrier that is live behind the platform, and messages to
// customers.
func shop() (proxytest.World, error) {
	get, err1 := schema.Define[getOrder, any]("get_order", "Look up an order.", nil)
	track, err2 := schema.Define[trackParcel, any]("track_parcel", "Ask the carrier where a parcel is.", nil)
	refund, err3 := schema.Define[refundOrder, any]("refund_order", "Refund an order.", nil)
	send, err4 := schema.Define[sendMessage, any]("send_message", "Send a message to a customer.", nil)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return proxytest.World{}, err
		}
	}
	track.DefaultExecutionMode, track.PassthroughBinding = schema.Passthrough,
		&schema.Binding{EndpointName: "carrier", ToolName: "carrier.track"}
	track.LedgerWritePolicy = schema.PolicyAdapter
	track.LedgerAdapter = &ledger.Adapter{
		EntityType: "parcel", IDFrom: "$.parcel_id", FieldMap: map[string]string{"status": "$.status",
			"note": "$.events[0].note"},
		Flags: []string{"tracked:{parcel_id}"},
	}
	return proxytest.World{
		Tools: []schema.Tool{get, track, refund, send},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
			{Type: "order", IDField: "order_id"}, {Type: "parcel", IDField: "parcel_id"},
			{Type: "message", IDField: "message_id"},
		}},
		InitialState: `{
			"order": {"4521": {
				"customer_id": "cust_99", "status": "delivered", "item": "reading lamp", "amount": 79.50, "parcel_id": "pk_7"
			}},
			"parcel": {"pk_7": {"status": "in transit"}}
		}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Get("order", "order_id", nil),
			"track_parcel": proxytest.Lookup("parcel_id", map[string]string{
				"pk_7": `{"parcel_id":"pk_7","status":"delivered","events":[{"at":"2026-03-02","note":"box damaged"}]}`,
				"*":    `{"error":"parcel not found"}`,
			}),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{
				Set: `{"status":"refunded"}`, Result: `{"refund_id":"rf_1","status":"issued"}`,
			}),
			"send_message": proxytest.Add("message", "", &proxytest.WriteOptions{Result: `{"sent":true}`}),
		},
	}, nil
}
