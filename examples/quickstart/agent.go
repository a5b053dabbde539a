package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy"
)

type (
	order struct {
		CustomerID string  `json:"customer_id"`
		Status     string  `json:"status"`
		ShippedAt  string  `json:"shipped_at"` // a date, such as 2026-04-01
		Amount     float64 `json:"amount"`
	}
	refund struct {
		RefundID string `json:"refund_id"`
	}
)

var (
	orderNumber = regexp.MustCompile(`(?i)order\s+#?(\d+)`)
	minimumAge  = regexp.MustCompile(`(?i)more than (\d+) days`)
)

// refundAgent decides by rules, where modelAgent asks a model. It understands one kind of
// instruction.
func refundAgent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	var task struct {
		CustomerID string `json:"customer_id"`
		OrderID    string `json:"order_id"`
	}
	if err := run.DecodeInput(&task); err != nil {
		return nil, err
	}
	id := cmp.Or(find(orderNumber, run.Instruction), task.OrderID)
	if id == "" {
		return say("I could not find an order number in the request, so I did nothing.")
	}

	found, err := proxy.Call[order](ctx, run.Proxy, "get_order", shop.GetOrder{OrderID: id})
	switch {
	case toolwire.CodeOf(err) == toolwire.CodeToolFailed:
		return say("Order #%s could not be found, so nothing was refunded.", id)
	case err != nil:
		return nil, err
	case task.CustomerID != "" && found.CustomerID != task.CustomerID:
		return say("Order #%s belongs to another customer, so it was not refunded.", id)
	case found.Status != "shipped":
		return say("Order #%s is %s, so it was not refunded.", id, found.Status)
	}
	shipped, err := time.Parse(time.DateOnly, found.ShippedAt)
	if err != nil {
		return say("The shipping date of order #%s is unreadable, so it was not refunded.", id)
	}
	age := int(time.Since(shipped).Hours() / 24)
	if limit, err := strconv.Atoi(find(minimumAge, run.Instruction)); err == nil && age <= limit {
		return say("Order #%s shipped %d days ago, which is not more than %d days, so it was not refunded.", id, age, limit)
	}

	done, err := proxy.Call[refund](ctx, run.Proxy, "refund_order", shop.RefundOrder{OrderID: id, Amount: found.Amount})
	switch {
	case toolwire.CodeOf(err) == toolwire.CodeToolFailed:
		return say("The refund of order #%s was turned down: %s", id, proxy.ToolResult(err))
	case err != nil:
		return nil, err
	}
	return say("The refund of $%.2f has been issued for order #%s (%s).", found.Amount, id, done.RefundID)
}

func find(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

func say(format string, args ...any) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: fmt.Sprintf(format, args...)}, nil
}
