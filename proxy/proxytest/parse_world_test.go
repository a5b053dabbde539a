package proxytest_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func TestParseWorld(t *testing.T) {
	live := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`["AF 1"]`))
	}))
	t.Cleanup(live.Close)
	data, err := os.ReadFile("testdata/world.json")
	if err != nil {
		t.Fatal(err)
	}
	world, err := proxytest.ParseWorld([]byte(strings.Replace(string(data), "http://127.0.0.1:9/", live.URL, 1)))
	if err != nil {
		t.Fatal(err)
	}
	run := proxytest.NewPlatform(t, world, nil).NewRun()
	client := run.Client(nil)
	for _, step := range []struct{ tool, arguments, want string }{
		{"get_order", `{"order_id":"4521"}`, `{"id":"4521","status":"shipped"}`},
		{"get_order", `{"order_id":"1"}`, `{"error":"no such order"}`},
		{"create_order", `{"order_id":"9","customer":"c1","total":3}`, `{"created":true}`},
		{"create_order", `{"order_id":"9","customer":"c1","total":3}`, `{"error":"order exists already"}`},
		{"list_orders", `{"customer":"c1"}`, `{"orders":[{"id":"4521","total":79.5},{"id":"9"}]}`},
		{"refund_order", `{"order_id":"4521"}`, `{"refund":"rf_1"}`},
		{"refund_order", `{"order_id":"1"}`, `"none"`},
		{"delete_order", `{"order_id":"9"}`, `{"id":"9","status":"new","customer":"c1"}`},
		{"get_weather", `{}`, `{"celsius":21}`},
		{"get_country", `{"city":"Paris"}`, `"FR"`},
		{"get_country", `{"city":"Ulm"}`, `null`},
		{"search_flights", `{}`, `["AF 1"]`},
		{"flaky", `{}`, `{"error":"try later"}`},
		{"flaky", `{}`, `"fine"`},
	} {
		got, err := client.Do(t.Context(), step.tool, json.RawMessage(step.arguments))
		if err != nil || !sameJSON(t, got.Response, step.want) {
			t.Errorf("%s %s: %+v, error %v, want %s", step.tool, step.arguments, got, err, step.want)
		}
	}
	for _, c := range run.Log().Calls {
		if live := c.Tool == "search_flights"; live != (c.Source == proxy.SourcePassthrough) {
			t.Errorf("%s has the source %s", c.Tool, c.Source)
		}
	}
	run.Log().AssertState(t, "order/4521", `{"status":"refunded"}`)
	run.Log().AssertNoEntity(t, "order/9")
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestParseWorldRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, "invalid_world"},
		{`[]`, "must be an object"},
		{`{"seed":-1}`, "seed"},
		{`{"seed":null}`, "seed"},
		{`{"worlds":1}`, "worlds is not a member; the members are behaviors, failure_rules"},
		{`{"Seed":1}`, "Seed is not a member; did you mean seed?"},
		{`{"tools_schema":{}}`, "tools_schema"},
		{`{"ledger_schema":[]}`, "ledger: invalid_schema"},
		{`{"initial_state":[]}`, "initial"},
		{`{"failure_rules":[{"nth":0}]}`, "/failure_rules/0 "},
		{`{"behaviors":[]}`, "/behaviors must be an object"},
		{`{"behaviors":{"t":1}}`, `/behaviors/t must be an object`},
		{`{"behaviors":{"t":{}}}`, `must have one of add, canned, forward, from_ledger, get, list, lookup, remove, update, and has none of them`},
		{`{"behaviors":{"t":{"get":"order","canned":1}}}`, `and has get, canned`},
		{`{"behaviors":{"t":{"get":"order"}}}`, `must name in "id" the argument`},
		{`{"behaviors":{"t":{"get":"","id":"x"}}}`, `empty "get"`},
		{`{"behaviors":{"t":{"get":1,"id":"x"}}}`, `must be a string`},
		{`{"behaviors":{"t":{"get":"order","id":"x","set":{}}}}`, `/behaviors/t set is not a member; the members are fields, get, id, not_found`},
		{`{"behaviors":{"t":{"get":"order","id":"x","colour":1}}}`, `colour is not a member`},
		{`{"behaviors":{"t":{"get":"order","ID":"x"}}}`, `ID`},
		{`{"behaviors":{"t":{"get":"order","id":"x","fields":"status"}}}`, `must be a list of strings`},
		{`{"behaviors":{"t":{"list":"order","where":{"a":1}}}}`, `must be an object of strings`},
		{`{"behaviors":{"t":{"add":"order","set":[]}}}`, `must be an object`},
		{`{"behaviors":{"t":{"lookup":"city","answers":null}}}`, `must be an object`},
		{`{"behaviors":{"t":{"forward":"ftp://user:hunter2@x"}}}`, `http or https URL`},
		{`{"behaviors":{"t":{"forward":"http://x","timeout_ms":0}}}`, `milliseconds`},
		{`{"seed":18446744073709551616}`, "/seed must be an integer"},
		{`{"seed":1.5}`, "/seed must be an integer"},
		{`{"initial_state":null}`, "/initial_state must be an object, not null"},
		{`{"behaviors":{"t":{"lookup":"city"}}}`, `/behaviors/t must have "answers"`},
		{`{"behaviors":{"t":{"get":"order","id":"x","fields":["a",null]}}}`,
			`/behaviors/t a list must have strings that are not empty`},
		{`{"behaviors":{"t":{"list":"order","where":{"a":null}}}}`,
			`/behaviors/t /where must be an object of strings that are not empty`},
		{`{"behaviors":{"t":{"add":"order","copy":[""]}}}`,
			`/behaviors/t a list must have strings that are not empty`},
		{`{"tools_schema":[{"name":"a","input_schema":{"type":"object"}}],"behaviors":{"b":{"canned":1}}}`,
			`/behaviors/b the tool "b" is not declared`},
	} {
		_, err := proxytest.ParseWorld([]byte(tt.in))
		e, ok := errors.AsType[*toolwire.Error](err)
		if !ok || e.Code != "invalid_world" || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one with %q", tt.in, err, tt.want)
		}
	}
	all := `{"failure_rules":[{"every":-1,"status":503}],"behaviors":{"a":{},"b":{"get":"x"}},"tools_schema":7,"extra":1}`
	_, err := proxytest.ParseWorld([]byte(all))
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || len(e.Problems) != 5 {
		t.Errorf("%v: want 5 problems at once", err)
	}
	// A mistake does not hide others: of the same behavior, after a wrong seed, or of what New
	// finds.
	for all, want := range map[string]int{
		`{"behaviors":{"t":{"list":"order","fields":0,"wrap":7,"colour":1}}}`:                                 3,
		`{"seed":-1,"behaviors":{"t":{"get":"order","set":{}}},"extra":1}`:                                    4,
		`{"seed":"x","initial_state":{"order":1},"failure_rules":[{"tool":"nobody","status":503}]}`:           3,
		`{"behaviors":{"t":{}},"initial_state":{"order":1},"failure_rules":[{"tool":"nobody","status":503}]}`: 2,
		`{"initial_state":{"order":1},"tools_schema":[{"name":"a"}],"failure_rules":[{}]}`:                    3,
	} {
		_, err := proxytest.ParseWorld([]byte(all))
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || len(e.Problems) != want ||
			strings.Contains(err.Error(), "World.") {
			t.Errorf("%s: %v: want %d problems at once", all, err, want)
		}
	}
	_, err = proxytest.ParseWorld([]byte(`{"initial_state":{"order":1}}`))
	if _, ok := errors.AsType[*toolwire.Error](err); !ok {
		t.Errorf("the error of package ledger cannot be found in %v", err)
	}
	if world, err := proxytest.ParseWorld([]byte(`{"seed":18446744073709551615}`)); err != nil ||
		world.Seed != math.MaxUint64 {
		t.Errorf("seed %d, error %v", world.Seed, err)
	}
	// An entity can be added without an id among the arguments.
	world, err := proxytest.ParseWorld([]byte(`{"behaviors":{"t":{"add":"order"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	wantResult(t, call(t, proxytest.NewPlatform(t, world, nil).NewRun(), "t", `{"a":1}`), proxy.SourceOdyssey, `{"a":1}`)
	// What New would refuse is refused here.
	if _, err := proxytest.ParseWorld([]byte(`{"failure_rules":[{"tool":"nobody","status":503}]}`)); err == nil ||
		!strings.Contains(err.Error(), "not declared") {
		t.Errorf("error %v, want one about the undeclared tool", err)
	}
}

func FuzzParseWorld(f *testing.F) {
	data, err := os.ReadFile("testdata/world.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"behaviors":{"t":{"add":"order","set":{"a":1},"copy":["b"]}}}`))
	f.Add([]byte(`{"add":"order","set":{"a":1},"copy":["b"]}`))
	f.Add([]byte(`{"name":"t","input_schema":{"type":"object"}}`))
	f.Add([]byte(`{"tool":"t","nth":[1],"status":503}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, document := range []func(n int) []byte{
			cost.List(`{"tools":[`, data, `]}`), cost.Members(`{"behaviors":`, data, `}`), cost.List(`{"failure_rules":[`, data, `]}`),
		} {
			cost.Linear(t, "ParseWorld", data, document, func(doc []byte) {
				if _, err := proxytest.ParseWorld(doc); err != nil {
					_ = err.Error()
				}
			})
		}
		world, err := proxytest.ParseWorld(data)
		if err != nil {
			return
		}
		if _, err := proxytest.New(world, nil); err != nil {
			t.Errorf("what was parsed is refused: %v", err)
		}
	})
}
