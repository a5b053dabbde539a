package proxytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

var ctx = context.Background()

// begin makes a platform and begins a run. Tests use NewPlatform.
func begin(w proxytest.World) *proxytest.Run {
	platform, err := proxytest.New(w, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return platform.NewRun()
}

func show(result toolwire.ModelResult, err error) { fmt.Println(result.Text, err) }

type getOrder struct {
	OrderID string `json:"order_id"`
}

type order struct {
	OrderID string  `json:"order_id"`
	Amount  float64 `json:"amount"`
}

// A behavior is a Go func. What it returns is the tool's result.
func Example() {
	platform, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": func(r *proxytest.Request) (any, error) {
			var args getOrder
			if err := r.Decode(&args); err != nil {
				return nil, err
			}
			return map[string]string{"order_id": args.OrderID, "status": "shipped"}, nil
		},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := platform.NewRun()
	result, err := proxy.Call[json.RawMessage](ctx, run.Client(nil), "get_order", getOrder{OrderID: "4521"})
	fmt.Println(string(result), err)
	fmt.Println(run.Log().Calls[0].Tool, string(run.Log().Calls[0].Arguments))
	// Output:
	// {"order_id":"4521","status":"shipped"} <nil>
	// get_order {"order_id":"4521"}
}

// Behaviors of tools that read and write the ledger need no code.
func ExampleUpdate() {
	run := begin(proxytest.World{
		InitialState: `{"order":{"4521":{"status":"shipped","total":79.5}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "order_id", nil),
			"list_orders":  proxytest.List("order", &proxytest.ReadOptions{Wrap: "orders"}),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
			"add_note":     proxytest.Add("note", "", nil),
			"drop_order":   proxytest.Remove("order", "order_id", nil),
		},
	})
	client := run.Client(nil)
	show(client.CallForModel(ctx, "refund_order", getOrder{OrderID: "4521"}))
	show(client.CallForModel(ctx, "list_orders", nil))
	show(client.CallForModel(ctx, "add_note", map[string]string{"text": "refunded"}))
	show(client.CallForModel(ctx, "drop_order", getOrder{OrderID: "4521"}))
	show(client.CallForModel(ctx, "get_order", getOrder{OrderID: "4521"}))
	fmt.Print(run.Log().Changes)
	// Output:
	// {"status":"refunded","total":79.5} <nil>
	// {"orders":[{"status":"refunded","total":79.5}]} <nil>
	// {"text":"refunded"} <nil>
	// {"status":"refunded","total":79.5} <nil>
	// {"error":"order not found"} <nil>
	// added /note/note_1: {"text":"refunded"}
	// removed /order/4521: {"status":"shipped","total":79.5}
}

// Answers can be kept by the value of an argument.
func ExampleLookup() {
	client := begin(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_weather": proxytest.Lookup("city", map[string]string{"Oulu": `{"degrees":-12}`,
			"*": `{"error":"no such city"}`}),
	}}).Client(nil)
	show(client.CallForModel(ctx, "get_weather", map[string]string{"city": "Oulu"}))
	show(client.CallForModel(ctx, "get_weather", map[string]string{"city": "Atlantis"}))
	// Output:
	// {"degrees":-12} <nil>
	// {"error":"no such city"} <nil>
}

// Declared tools need no behavior: results are made from their output_schema, and arguments are
// validated.
func ExampleWorld_generated() {
	tool, err := schema.Define[getOrder, order]("get_order", "Look up an order.", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := begin(proxytest.World{Tools: []schema.Tool{tool}, Seed: 1}).Client(nil)
	show(client.CallForModel(ctx, "get_order", getOrder{OrderID: "4521"}))
	_, err = client.Do(ctx, "get_order", map[string]int{"order_id": 4521})
	fmt.Println(toolwire.CodeOf(err), string(proxy.ToolResult(err)))
	// Output:
	// {"amount":432.38,"order_id":"4521"} <nil>
	// invalid_arguments {"error":"invalid_arguments","detail":"tool \"get_order\": arguments: /order_id must be a string, not a number"}
}

// Failure rules make calls fail that would have gone well.
func ExampleParseRules() {
	rules, err := proxytest.ParseRules([]byte(`[
		{"tool": "get_order", "arguments": {"order_id": "77"}, "response": {"error": "the backend is busy"}},
		{"tool": "get_order", "nth": 2, "break": "truncate"}
	]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	run := begin(proxytest.World{
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)},
		FailureRules: rules,
	})
	client := run.Client(nil)
	show(client.CallForModel(ctx, "get_order", getOrder{OrderID: "77"}))
	_, err = client.Do(ctx, "get_order", getOrder{OrderID: "4521"})
	fmt.Println(toolwire.CodeOf(err))
	fmt.Println(run.Log().Calls[0].Source, *run.Log().Calls[0].Rule, run.Log().Refused[0].Reason)
	// Output:
	// {"error":"the backend is busy"} <nil>
	// transport
	// injected 0 truncate
}

// A tool in passthrough mode has a live tool behind it: a Go func, or a URL with Forward. Its
// adapter writes what it answers into the ledger, where simulated tools see it.
func ExampleBehavior_passthrough() {
	tools, _, err := schema.Import([]byte(`[
		{"name": "get_order", "input_schema": {"type": "object"}, "default_execution_mode": "passthrough",
		 "passthrough_binding": {"endpoint_name": "orders-api", "tool_name": "get_order"}, "ledger_write_policy": "adapter",
		 "ledger_adapter": {"entity_type": "order", "id_from": "$.order_id", "field_map": {"status": "$.status"}}},
		{"name": "refund_order", "input_schema": {"type": "object"}}
	]`), schema.Platform)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := begin(proxytest.World{
		Tools:        tools,
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}},
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Canned(`{"order_id":"4521","status":"shipped"}`),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	})
	client := run.Client(nil)
	show(client.CallForModel(ctx, "get_order", nil))
	show(client.CallForModel(ctx, "refund_order", getOrder{OrderID: "4521"}))
	fmt.Print(run.Log().Calls[0].Source, "\n", run.Log().Calls[0].Adapter.Explain())
	// Output:
	// {"order_id":"4521","status":"shipped"} <nil>
	// {"order_id":"4521","status":"refunded"} <nil>
	// passthrough
	// 1 update
	//   update order/4521: status
	// because
	//   id_from "$.order_id" matched a string: this is the entity's id
	//   field_map/status "$.status" matched a string: the field is written
}

// A tool of a world with a ledger answers with what the ledger has. All other properties are
// generated.
func ExampleFromLedger() {
	run := begin(proxytest.World{
		Tools: []schema.Tool{{
			Name: "order_status", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{
				"order_id":{"type":"string"},"status":{"type":"string"},"carrier":{"enum":["post"]}}}`),
		}},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}},
		InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
		Behaviors:    map[string]proxytest.Behavior{"order_status": proxytest.FromLedger("order")},
	})
	show(run.Client(nil).CallForModel(ctx, "order_status", getOrder{OrderID: "4521"}))
	for _, note := range run.Log().Calls[0].Notes {
		fmt.Println(note)
	}
	// Output:
	// {"carrier":"post","order_id":"4521","status":"shipped"} <nil>
	// from order/4521 in the ledger: /status
	// from the arguments: /order_id
	// generated: /carrier
}

// A simulator answers all tools without a behavior. It can ask a model; this one looks the answer up.
func ExampleWorld_simulator() {
	run := begin(proxytest.World{
		Tools: []schema.Tool{{
			Name: "opening_hours", Description: "Tells when a shop is open.", InputSchema: json.RawMessage(`{"type":"object"}`),
		}},
		InitialState:         `{"shop":{"oulu":{"open":"9 to 5"}}}`,
		BehaviorInstructions: "Every shop is closed on Sunday.",
		Simulator: func(r *proxytest.Request) (any, error) {
			shop, _ := r.Get("shop", "oulu")
			return map[string]any{"asked": r.Declared.Description, "known": shop, "rule": r.Instructions}, nil
		},
	})
	show(run.Client(nil).CallForModel(ctx, "opening_hours", nil))
	// Output:
	// {"asked":"Tells when a shop is open.","known":{"open":"9 to 5"},"rule":"Every shop is closed on Sunday."} <nil>
}

// A world from a file, for an agent in any language.
func ExampleParseWorld() {
	world, err := proxytest.ParseWorld([]byte(`{
		"initial_state": {"order": {"4521": {"status": "shipped"}}},
		"behaviors": {"refund_order": {"update": "order", "id": "order_id", "set": {"status": "refunded"}}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	platform, err := proxytest.New(world, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := platform.NewRun()
	answer, err := proxy.Call[json.RawMessage](context.Background(), run.Client(nil), "refund_order", map[string]string{"order_id": "4521"})
	fmt.Println(string(answer), err)
	fmt.Println(run.Log().Changes)
	// Output:
	// {"status":"refunded"} <nil>
	// changed /order/4521/status: "shipped" -> "refunded"
}

// An HTTP client reaches a handler without a network. In a testing/synctest bubble the client of a
// model's SDK needs this.
func ExampleNewTransport() {
	model := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"text":"The order is on its way."}`)
	})
	client := &http.Client{Transport: proxytest.NewTransport(model)}
	response, err := client.Post("https://model.test/v1/messages", "application/json", strings.NewReader(`{}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(body), err)
	// Output: 200 {"text":"The order is on its way."} <nil>
}

// A program without a test serves a platform with net/http.
func ExampleNew() {
	platform, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_weather": proxytest.Canned(`{"celsius":21}`),
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(platform)
	defer server.Close()
	run := platform.NewRun()
	client, err := proxy.New(server.URL+run.Path, run.Token, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	weather, err := proxy.Call[json.RawMessage](context.Background(), client, "get_weather", map[string]string{"city": "Oulu"})
	fmt.Println(string(weather), err)
	fmt.Println(run.Log().Calls[0].Tool)
	// Output:
	// {"celsius":21} <nil>
	// get_weather
}

// Behaviors read and write the ledger of the run.
func ExampleAdd() {
	platform, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"create_order": proxytest.Add("order", "order_id", nil),
		"list_orders":  proxytest.List("order", &proxytest.ReadOptions{Wrap: "orders"}),
		"get_order":    proxytest.Get("order", "order_id", nil),
		"delete_order": proxytest.Remove("order", "order_id", nil),
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := platform.NewRun()
	client := run.Client(nil)
	for _, call := range []struct{ tool, arguments string }{
		{"create_order", `{"order_id":"1","total":9}`}, {"list_orders", `{}`}, {"delete_order", `{"order_id":"1"}`},
		{"get_order", `{"order_id":"1"}`},
	} {
		result, err := client.CallForModel(context.Background(), call.tool, call.arguments)
		fmt.Println(result.Text, err)
	}
	// Output:
	// {"total":9} <nil>
	// {"orders":[{"total":9}]} <nil>
	// {"total":9} <nil>
	// {"error":"order not found"} <nil>
}

// The live tool behind a tool in passthrough mode is an HTTP endpoint.
func ExampleForward() {
	search := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `["AF 1"]`)
	}))
	defer search.Close()
	platform, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"search_flights": proxytest.Forward(search.URL, nil),
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	flights, err := proxy.Call[json.RawMessage](context.Background(), platform.NewRun().Client(nil), "search_flights", nil)
	fmt.Println(string(flights), err)
	// Output: ["AF 1"] <nil>
}
