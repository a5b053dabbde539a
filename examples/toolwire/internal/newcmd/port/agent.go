package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// newAgent returns the agent. It makes what all runs share, such as the client of a model.
func newAgent() (dispatch.Agent, error) {
	return answer, nil
}

// answer serves one run: it calls tools through the proxy of the run, and says what happened.
func answer(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	number, err := orderNumber(run)
	if err != nil {
		return nil, err
	}
	if number == "" {
		return say("Which order is it? Please give me its number.")
	}
	order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", GetOrder{OrderID: number})
	if err != nil {
		return failed(err, "I could not look up order #%s.", number)
	}
	if !strings.Contains(strings.ToLower(run.Instruction), "refund") {
		return say("Order #%s is %s.", number, order.Status)
	}
	if order.Status != "shipped" {
		return say("Order #%s is %s, so I did not refund it.", number, order.Status)
	}
	refund, err := proxy.Call[Refund](ctx, run.Proxy, "refund_order", RefundOrder{OrderID: number, Amount: order.Amount})
	if err != nil {
		return failed(err, "I could not refund order #%s.", number)
	}
	return say("I refunded $%.2f for order #%s (%s).", order.Amount, number, refund.RefundID)
}

var hashNumber = regexp.MustCompile(`#(\d+)`)

// orderNumber returns the number of the order that the user named last, in this turn of the session
// or in an earlier one.
func orderNumber(run *dispatch.Run) (number string, err error) {
	history, err := run.History()
	for _, message := range history {
		match := hashNumber.FindStringSubmatch(message.Content.String())
		if match != nil && message.Role == dispatch.RoleUser {
			number = match[1]
		}
	}
	return number, err
}

// failed answers a run in which a call has failed. If the platform has ended the run, the agent
// only stops.
func failed(err error, format string, args ...any) (*dispatch.Response, error) {
	if proxy.IsRunOver(err) {
		return nil, err
	}
	return say(format, args...)
}

func say(format string, args ...any) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: fmt.Sprintf(format, args...)}, nil
}
