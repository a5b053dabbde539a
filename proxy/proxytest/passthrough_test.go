package proxytest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// The case of "Writing ledger updates from passthrough" in the Tools schema: a live get_order,
// whose result a later simulated refund_order depends on.
func documented(policy schema.WritePolicy) proxytest.World {
	adapter := &ledger.Adapter{
		Op: ledger.OpUpdate, EntityType: "order", IDFrom: "$.order_id",
		FieldMap: map[string]string{"status": "$.status", "total": "$.amount"}, Flags: []string{"fetched_order:{order_id}"},
	}
	return proxytest.World{
		LedgerSchema: orders(),
		Tools: []schema.Tool{live(declare("get_order", orderID, ""), policy, adapter),
			declare("refund_order", orderID, "")},
		Behaviors: map[string]proxytest.Behavior{
			"get_order": func(r *proxytest.Request) (any, error) {
				var args struct {
					OrderID string `json:"order_id"`
				}
				err := r.Decode(&args)
				return map[string]any{"order_id": args.OrderID, "status": "shipped", "amount": 79.5}, err
			},
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	}
}

func TestALaterSandboxToolSeesWhatAnAdapterWrote(t *testing.T) {
	run := proxytest.NewPlatform(t, documented(schema.PolicyAdapter), nil).NewRun()
	wantResult(t, call(t, run, "refund_order", `{"order_id":"4521"}`), "odyssey", `{"error":"order not found"}`)
	wantResult(t, call(t, run, "get_order", `{"order_id":"4521"}`), "passthrough",
		`{"amount":79.5,"order_id":"4521","status":"shipped"}`)
	run.Log().AssertState(t, "order/4521", `{"status":"shipped","total":79.5}`)
	wantResult(t, call(t, run, "refund_order", `{"order_id":"4521"}`), "odyssey",
		`{"order_id":"4521","status":"refunded","total":79.5}`)
	record := run.Log()
	record.AssertState(t, "order/4521", `{"status":"refunded","total":79.5}`)
	record.AssertFlag(t, "fetched_order:4521")
	record.AssertOnlyChanged(t, "order/4521", "flag:fetched_order:4521")
	c := record.Calls[1]
	if c.Policy != schema.PolicyAdapter || len(c.Writes) != 2 || c.Adapter == nil ||
		!strings.Contains(c.Adapter.Explain(), "this is the entity's id") {
		t.Errorf("%+v", c)
	}
}

func TestTheOtherPoliciesWriteNothing(t *testing.T) {
	for _, policy := range []schema.WritePolicy{schema.PolicyRecordOnly, schema.PolicyNone, ""} {
		run := proxytest.NewPlatform(t, documented(policy), nil).NewRun()
		call(t, run, "get_order", `{"order_id":"4521"}`)
		record := run.Log()
		record.AssertCalled(t, "get_order", `{"order_id":"4521"}`)
		record.AssertOnlyChanged(t)
		if c := record.Calls[0]; c.Adapter != nil || c.Writes != nil || policy != "" && c.Policy != policy || policy == "" &&
			c.Policy != schema.PolicyRecordOnly {
			t.Errorf("%q: %+v", policy, c)
		}
	}
}

func TestAnAdapterNeverFailsACall(t *testing.T) {
	for response, changes := range map[string]string{
		`{"status":"shipped"}`:               "",
		`{"order_id":{},"status":"shipped"}`: "",
		`"no object"`:                        "",
		`{"order_id":"1","status":"lost"}`:   "added flag fetched_order:4521", // the entity is a violation of the schema
		`{"order_id":"1"}`:                   "added /order/1: {}\nadded flag fetched_order:4521",
	} {
		w := documented(schema.PolicyAdapter)
		w.Behaviors["get_order"] = proxytest.Canned(response)
		run := proxytest.NewPlatform(t, w, nil).NewRun()
		wantResult(t, call(t, run, "get_order", `{"order_id":"4521"}`), "passthrough", response)
		if got := strings.TrimSpace(run.Log().Changes.String()); got != changes {
			t.Errorf("%s: %q, want %q", response, got, changes)
		}
	}
}

func TestLiveToolsThatFail(t *testing.T) {
	w := documented(schema.PolicyAdapter)
	w.Behaviors["get_order"] = func(r *proxytest.Request) (any, error) {
		if _, ok := r.Get("order", "1"); ok || r.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "x"}) == nil {
			t.Error("a live tool sees the ledger")
		}
		return nil, errors.New("connection refused")
	}
	run := proxytest.NewPlatform(t, w, nil).NewRun()
	wantResult(t, call(t, run, "get_order", `{"order_id":"1"}`), "transport_error", `{"error":"connection refused"}`)
	run.Log().AssertOnlyChanged(t)

	delete(w.Behaviors, "get_order")
	p := newPlatform(t, w, nil)
	run = p.NewRun()
	if got := call(t, run, "get_order", `{"order_id":"1"}`); got.Source != proxy.SourceTransportError {
		t.Errorf("%+v", got)
	}
	if faults := run.Log().Faults; len(faults) != 1 || !strings.Contains(faults[0], "has no behavior") {
		t.Errorf("%q", faults)
	}
}

func TestRulesAndLiveTools(t *testing.T) {
	w := documented("")
	w.FailureRules = []proxytest.FailureRule{{Response: []byte(`{"error":"no"}`)}, {Nth: []int{2}, Status: 500}}
	run := proxytest.NewPlatform(t, w, nil).NewRun()
	if got := call(t, run, "get_order", `{"order_id":"1"}`); got.Source != proxy.SourcePassthrough {
		t.Errorf("%+v", got) // the platform gives responses in place of simulated ones only
	}
	if _, err := run.Client(nil).Do(t.Context(), "get_order",
		map[string]string{"order_id": "1"}); toolwire.CodeOf(err) != toolwire.CodeServerError {
		t.Errorf("%v", err)
	}
	if got := call(t, run, "refund_order", `{"order_id":"1"}`); got.Source != proxy.SourceInjected {
		t.Errorf("%+v", got)
	}
}

func TestForward(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			fmt.Fprintf(w, `{"method":%q,"type":%q,"key":%q,"body":%s}`, r.Method, r.Header.Get("Content-Type"),
				r.Header.Get("X-Key"), body)
		case "/text":
			_, _ = io.WriteString(w, "plain <text>")
		case "/binary":
			_, _ = w.Write([]byte{0xff})
		case "/big":
			_, _ = w.Write(make([]byte, 1<<20+1))
		case "/moved":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer upstream.Close()
	for _, tt := range []struct {
		address, response string
		source            proxy.Source
	}{
		{upstream.URL + "/echo", `{"method":"POST","type":"application/json","key":"k","body":{"order_id":"4521"}}`,
			"passthrough"},
		{upstream.URL + "/text", `"plain <text>"`, "passthrough"},
		{upstream.URL + "/nope?key=hunter2", `{"error":"the live tool answered 418"}`, "transport_error"},
		{upstream.URL + "/moved", `{"error":"the live tool answered 307"}`, "transport_error"},
		{upstream.URL + "/binary", `{"error":"the live tool's answer is neither JSON nor text"}`, "transport_error"},
		{upstream.URL + "/big", `{"error":"the live tool's answer has more than 1048576 bytes"}`, "transport_error"},
		{upstream.URL + "/broken", `{"error":"the live tool's answer broke off"}`, "transport_error"},
		{"http://127.0.0.1:1/?key=hunter2", `cannot be reached`, "transport_error"},
	} {
		w := documented("")
		w.Behaviors["get_order"] = proxytest.Forward(tt.address, &http.Client{Transport: keyed{}})
		got := call(t, proxytest.NewPlatform(t, w, nil).NewRun(), "get_order", `{"order_id":"4521"}`)
		if got.Source != tt.source || string(got.Response) != tt.response &&
			!strings.Contains(string(got.Response), "cannot be reached") {
			t.Errorf("%s: %s %s", tt.address, got.Source, got.Response)
		}
		if strings.Contains(string(got.Response), "hunter2") {
			t.Errorf("the address is in %s", got.Response)
		}
	}
}

func TestForwardTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		w := documented("")
		w.Behaviors["get_order"] = proxytest.Forward("http://live.test/", &http.Client{
			Transport: proxytest.NewTransport(slow), Timeout: 5 * time.Second,
		})
		start := time.Now()
		got := call(t, proxytest.NewPlatform(t, w, nil).NewRun(), "get_order", `{"order_id":"4521"}`)
		wantResult(t, got, "transport_error", `{"error":"the live tool did not answer in time"}`)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("after %s", took)
		}
	})
}

// keyed is a transport that adds a header.
type keyed struct{}

func (keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Key", "k")
	return http.DefaultTransport.RoundTrip(r)
}
