package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

//go:embed testdata/default.json
var defaultState string

var daysAgo = regexp.MustCompile(`"(\d+) days ago"`)

// shopState reads the orders, {"order": {id: {…}}}, from a file or takes the built-in ones. A date such as
// "41 days ago" becomes that date.
func shopState(file string, now time.Time) (string, error) {
	state := defaultState
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		state = string(data)
	}
	return daysAgo.ReplaceAllStringFunc(state, func(text string) string {
		days, _ := strconv.Atoi(daysAgo.FindStringSubmatch(text)[1])
		return now.AddDate(0, 0, -days).Format(`"` + time.DateOnly + `"`)
	}), nil
}

// shop is the world behind the two tools.
func shop(state string) (proxytest.World, error) {
	get, err := schema.Define[getOrder, any]("get_order", "Look up an order.")
	if err != nil {
		return proxytest.World{}, err
	}
	give, err := schema.Define[refundOrder, any]("refund_order", "Refund an order, whole or in part.")
	return proxytest.World{
		Tools:        []schema.Tool{get, give},
		InitialState: state,
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil), "refund_order": giveRefund},
	}, err
}

// giveRefund marks an order as refunded. Its checks are the business rules of the simulated backend.
func giveRefund(r *proxytest.Request) (any, error) {
	var args refundOrder
	var found order
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	entity, ok := r.Get("order", args.OrderID)
	if !ok {
		return failure("order not found"), nil
	}
	if err := json.Unmarshal(entity, &found); err != nil {
		return nil, err
	}
	switch {
	case found.Status == "refunded":
		return failure("already refunded"), nil
	case args.Amount > found.Amount:
		return failure("the refund is larger than the order"), nil
	}
	err := r.Apply(ledger.Update{
		Op: ledger.OpUpdate, EntityType: "order", ID: args.OrderID, Fields: map[string]json.RawMessage{"status": json.RawMessage(`"refunded"`)},
	})
	return refund{RefundID: "rf_" + args.OrderID}, err
}

func failure(text string) map[string]string { return map[string]string{"error": text} }
