// Package shop is the world of the quickstart and of the examples with a model: two tools, two orders,
// and the agent's system prompt.
package shop

import (
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// System is the system prompt of the agent.
const System = "You are the support agent of a shop. Look an order up before you refund it. Refund only orders that have shipped."

// GetOrder is the type of the arguments of get_order.
type GetOrder struct {
	OrderID string `json:"order_id" jsonschema:"description=The number of the order without #."`
}

// RefundOrder is the type of the arguments of refund_order.
type RefundOrder struct {
	OrderID string  `json:"order_id" jsonschema:"description=The number of the order without #."`
	Amount  float64 `json:"amount" jsonschema:"description=In dollars; at most the amount of the order.,minimum=0"`
}

// Tools declares the tools of the agent.
func Tools() []schema.Tool {
	return []schema.Tool{
		schema.MustDefine[GetOrder, any]("get_order", "Look up an order.", nil),
		schema.MustDefine[RefundOrder, any]("refund_order", "Refund an order, whole or in part.", nil),
	}
}

// World is the world behind the tools: order 4521 has shipped, and order 4522 has not.
func World() proxytest.World {
	return proxytest.World{
		Tools: Tools(),
		InitialState: `{"order":{
			"4521":{"status":"shipped","amount":79.5},
			"4522":{"status":"paid","amount":12}
		}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`, Result: `{"refund_id":"rf_1"}`}),
		},
	}
}
