package main

import (
	"context"

	"github.com/openai/openai-go/v3"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/proxy"
)

// The labels of the agents.
const (
	supervisorLabel = "supervisor"
	ordersLabel     = "supervisor/orders"
	refundsLabel    = "supervisor/refunds"
)

// subAgents is what the agent's registration declares. Labels must be the same, byte for byte.
var subAgents = []registration.SubAgent{
	{ActorID: supervisorLabel, TalksTo: []string{ordersLabel, refundsLabel}},
	{ActorID: ordersLabel, Tools: []string{"get_order"}, TalksTo: []string{supervisorLabel}},
	{ActorID: refundsLabel, Tools: []string{"get_order", "refund_order"}, TalksTo: []string{supervisorLabel}},
}

// newTeam returns the specialists by the supervisor's tools.
func newTeam(client openai.Client, model string) (map[string]*specialist, error) {
	orders, err := newSpecialist(client, model, subAgents[1], "You look up orders and report what you find.")
	if err != nil {
		return nil, err
	}
	refunds, err := newSpecialist(client, model, subAgents[2],
		"You refund orders. Look an order up before you refund it. Refund only orders that have shipped.")
	if err != nil {
		return nil, err
	}
	return map[string]*specialist{"ask_orders": orders, "ask_refunds": refunds}, nil
}

// delegate gives a specialist a task. The trace shows that control passes to it and back. A lost
// trace event does not fail the run.
func delegate(ctx context.Context, run *dispatch.Run, to *specialist, task string) (string, error) {
	_, _ = run.Proxy.Handoff(ctx, supervisorLabel, to.label)
	report, err := to.work(ctx, run, task)
	if err != nil {
		return "", err
	}
	own := run.Proxy.As(to.label)
	_, _ = own.Trace(ctx, proxy.EventSubagentFinal, map[string]string{"content": report})
	_, _ = own.Handoff(ctx, to.label, supervisorLabel)
	return report, nil
}
