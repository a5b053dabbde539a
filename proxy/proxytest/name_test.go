package proxytest_test

import (
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// A tool of another language spells the names of the ledger in its own style. If only one name fits, it is meant.
func TestNamesInAnotherStyle(t *testing.T) {
	status := `"status":{"type":"string"}`
	orders := `"type":"array","items":` + object(`"orderId":{"type":"string"}`)
	for name, tt := range map[string]struct{ tool, output, arguments, want string }{
		"an argument":              {"orderStatus", object(status), `{"orderId":"4521"}`, `{"status":"shipped"}`},
		"capitals":                 {"OrderStatus", object(status), `{"OrderID":4521}`, `{"status":"shipped"}`},
		"hyphens":                  {"order-status", object(status), `{"order-id":"4521"}`, `{"status":"shipped"}`},
		"not there":                {"orderStatus", object(status), `{"orderId":"1"}`, `{"error":"order not found"}`},
		"the id alone":             {"orderStatus", object(status), `{"ID":"4521"}`, `{"status":"shipped"}`},
		"a property":               {"orderStatus", object(`"totalAmount":{"type":"number"}`), `{"orderId":"4521"}`, `{"totalAmount":79.5}`},
		"the property of the id":   {"orderStatus", object(`"orderId":{"type":"integer"},"Id":{"type":"string"}`), `{"order_id":"4521"}`, `{"Id":"4521","orderId":4521}`},
		"an echo":                  {"echo", object(`"giftNote":{"type":"string"}`), `{"gift_note":"hi"}`, `{"giftNote":"hi"}`},
		"a reference":              {"orderStatus", object(`"Customer":` + object(`"fullName":{"type":"string"}`)), `{"orderId":"4521"}`, `{"Customer":{"fullName":"Ada"}}`},
		"a type":                   {"getGiftCard", object(`"giftCard":` + object(`"worth":{"type":"integer"}`)), `{"id":"g1"}`, `{"giftCard":{"worth":5}}`},
		"a filter":                 {"listOrders", "{" + orders + "}", `{"customerId":"c2"}`, `[{"orderId":"7"}]`},
		"a filter and a reference": {"getCustomer", object(`"Orders":{` + orders + `}`), `{"CustomerID":"c1"}`, `{"Orders":[{"orderId":"4521"}]}`},
		"the exact name":           {"orderStatus", object(status), `{"order_id":"4521","orderId":"7"}`, `{"status":"shipped"}`},
		"two that fit":             {"echo", object(`"status":{"const":"x"}`), `{"orderId":"4521","OrderId":"7"}`, `{"status":"x"}`},
		"two fields that fit":      {"orderStatus", object(`"theNote":{"const":"x"}`), `{"orderId":"4521"}`, `{"theNote":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			run := proxytest.NewPlatform(t, proxytest.World{
				Tools: []schema.Tool{declare(tt.tool, anyObject, tt.output)},
				LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
					{Type: "order", IDField: "order_id"}, {Type: "customer", IDField: "customer_id"}, {Type: "gift_card", IDField: "card_number"},
				}},
				InitialState: `{
					"order": {
						"4521": {"status": "shipped", "total_amount": 79.5, "customerId": "c1", "the_note": "a", "TheNote": "b"},
						"7": {"status": "new", "customerId": "c2"}
					},
					"customer": {"c1": {"full_name": "Ada"}, "c2": {"full_name": "Bob"}},
					"gift_card": {"g1": {"worth": 5}}
				}`,
			}, nil).NewRun()
			wantResult(t, call(t, run, tt.tool, tt.arguments), proxy.SourceOdyssey, tt.want)
		})
	}
}

// Tools in two styles agree about what is made up for an entity.
func TestInventedValuesInAnotherStyle(t *testing.T) {
	run := proxytest.NewPlatform(t, shop(
		declare("order_weight", anyObject, object(`"net_weight":{"type":"integer"}`)), declare("orderWeight", anyObject, object(`"netWeight":{"type":"integer"}`)),
	), nil).NewRun()
	first := decoded(t, call(t, run, "order_weight", `{"order_id":"4521"}`).Response)["net_weight"]
	second := decoded(t, call(t, run, "orderWeight", `{"orderId":"4521"}`).Response)["netWeight"]
	if first == nil || first != second {
		t.Errorf("%v and %v", first, second)
	}
}

// FromLedger finds its argument in any style.
func TestFromLedgerInAnotherStyle(t *testing.T) {
	w := shop(declare("status", anyObject, object(`"status":{"type":"string"}`)))
	w.Behaviors = map[string]proxytest.Behavior{"status": proxytest.FromLedger("order")}
	wantResult(t, call(t, proxytest.NewPlatform(t, w, nil).NewRun(), "status", `{"orderId":"4521"}`), proxy.SourceOdyssey, `{"status":"shipped"}`)
}

func decoded(t *testing.T, result json.RawMessage) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal(result, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
