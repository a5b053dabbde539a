package main

import "github.com/toolwire/toolwire/schema"

type (
	// GetOrder has the arguments of get_order, and Order is its result.
	GetOrder struct {
		OrderID string `json:"order_id" jsonschema:"description=The number of the order without #."`
	}
	Order struct {
		Status string  `json:"status" jsonschema:"description=paid or shipped or refunded"`
		Amount float64 `json:"amount" jsonschema:"description=In dollars."`
	}

	// RefundOrder has the arguments of refund_order, and Refund is its result.
	RefundOrder struct {
		OrderID string  `json:"order_id" jsonschema:"description=The number of the order without #."`
		Amount  float64 `json:"amount" jsonschema:"description=In dollars; at most the amount of the order.,minimum=0"`
	}
	Refund struct {
		RefundID string `json:"refund_id"`
	}
)

// tools are the tools of the agent. tools_schema.json has them for the registration form.
var tools = []schema.Tool{
	schema.MustDefine[GetOrder, schema.OrFailure[Order]]("get_order", "Look up an order.", nil),
	schema.MustDefine[RefundOrder, schema.OrFailure[Refund]]("refund_order", "Refund an order, whole or in part.", nil),
}
