package main

import (
	_ "embed"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

//go:embed testdata/default.json
var defaultState string

var daysAgo = regexp.MustCompile(`"(\d+) days ago"`)

// shopState reads the orders, {"order": {id: {…}}}, from a file or takes the built-in ones. A date
// such as "41 days ago" becomes that date.
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
		return now.UTC().AddDate(0, 0, -days).Format(`"` + time.DateOnly + `"`)
	}), nil
}

// shop is the world behind the two tools.
func shop(state string) (proxytest.World, error) {
	get, err := schema.Define[getOrder, any]("get_order", "Look up an order.", nil)
	if err != nil {
		return proxytest.World{}, err
	}
	give, err := schema.Define[refundOrder, any]("refund_order", "Refund an order, whole or in part.", nil)
	return proxytest.World{
		Tools:        []schema.Tool{get, give},
		InitialState: state,
		Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{
				Set: `{"status":"refunded"}`, Result: `{"refund_id":"rf_1"}`,
			}),
		},
	}, err
}
