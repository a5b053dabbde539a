package evalcmd

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

type orderArgs struct {
	OrderID string `json:"order_id"`
}

type order struct {
	Status string  `json:"status"`
	Amount float64 `json:"amount"`
}

var orderNumber = regexp.MustCompile(`#(\d+)`)

// sampleAgent is where a model would be. It refunds orders that have been shipped, and has
// weaknesses for a dataset to find: it believes that there is a tool for cancelling, it takes an
// angry tone for a reason, and it gives up when a tool does.
func sampleAgent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	match := orderNumber.FindStringSubmatch(run.Instruction)
	if match == nil {
		return say("Which order is it? Please give me its number.")
	}
	args := orderArgs{OrderID: match[1]}
	if strings.Contains(strings.ToLower(run.Instruction), "cancel") {
		if _, err := proxy.Call[any](ctx, run.Proxy, "cancel_order", args); err != nil {
			return say("I could not cancel order #%s.", args.OrderID)
		}
		return say("Order #%s is cancelled.", args.OrderID)
	}
	found, err := proxy.Call[order](ctx, run.Proxy, "get_order", args)
	switch angry := strings.HasSuffix(run.Instruction, "!"); {
	case toolwire.CodeOf(err) == toolwire.CodeToolFailed:
		return say("I could not find order #%s.", args.OrderID)
	case err != nil:
		return nil, err
	case found.Status == "refunded":
		return say("Order #%s has been refunded before.", args.OrderID)
	case found.Status != "shipped" && !angry:
		return say("Order #%s is %s, so I did not refund it.", args.OrderID, found.Status)
	}
	if _, err := proxy.Call[any](ctx, run.Proxy, "refund_order", args); err != nil {
		return nil, err
	}
	return say("The refund of $%.2f for order #%s has been issued.", found.Amount, args.OrderID)
}

func say(format string, args ...any) (*dispatch.Response, error) {
	text := fmt.Sprintf(format, args...)
	return &dispatch.Response{
		FinalResponse: text,
		Messages:      []dispatch.Message{{Role: dispatch.RoleAssistant, Content: dispatch.Text(text)}},
	}, nil
}
