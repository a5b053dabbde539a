package proxytest_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// What a tape has answered changes the ledger as the call itself would have done.
func TestWritesOfAnswersFromATape(t *testing.T) {
	adapter := &ledger.Adapter{EntityType: "order", IDFrom: "$.order_id", FieldMap: map[string]string{"status": "$.status"}}
	w := shop(live(declare("get_order", anyObject, ""), "adapter", adapter), declare("refund_order", anyObject, ""))
	refund := proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`})
	w.Behaviors = map[string]proxytest.Behavior{
		"get_order": proxytest.Canned(`null`),
		"refund_order": func(r *proxytest.Request) (any, error) {
			_, err := refund(r)
			return nil, errors.Join(err, errors.New("the mail was not sent"))
		},
	}
	for _, tt := range []struct{ name, tool, source, response, status string }{
		{"a live result", "get_order", "passthrough", `{"order_id":"4521","status":"paid"}`, "paid"},
		{"an error of the live hop", "get_order", "transport_error", `{"order_id":"4521","status":"paid"}`, "shipped"},
		{"a result of a rule", "refund_order", "injected", `{"order_id":"4521","status":"paid"}`, "shipped"},
		{"a tool that failed after its write", "refund_order", "error", `{"error":"the mail was not sent"}`, "refunded"},
		{"a result", "refund_order", "odyssey", `{"ok":true}`, "refunded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := proxytest.NewPlatform(t, w, nil)
			run := p.NewRun()
			r := httptest.NewRequest("POST", run.Path+"/tools/"+tt.tool, strings.NewReader(`{"order_id":"4521"}`))
			r.Header = bearer(run)
			body := `{"tool_name":"` + tt.tool + `","response":` + tt.response + `,"source":"` + tt.source + `"}`
			p.ServeHTTP(httptest.NewRecorder(), r.WithContext(memhttp.WithReplayed(r.Context(),
				memhttp.Replayed{Status: 200, Body: []byte(body)})))
			log := run.Log()
			log.AssertState(t, "order/4521", `{"status":"`+tt.status+`"}`)
			if len(log.Calls) != 1 || string(log.Calls[0].Response) != tt.response || string(log.Calls[0].Source) != tt.source {
				t.Errorf("%+v", log.Calls)
			}
		})
	}
}
