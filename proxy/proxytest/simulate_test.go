package proxytest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// shop has the entities order, by order_id, and customer, by customer_id.
func shop(tools ...schema.Tool) proxytest.World {
	return proxytest.World{
		Tools: tools,
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
			{Type: "order", IDField: "order_id"}, {Type: "customer", IDField: "customer_id"},
			{Type: "book", IDField: "isbn"}, {Type: "note", IDField: "note_id"}, {Type: "invoice", IDField: "number"}, {Type: "parcel", IDField: "number"},
		}},
		InitialState: `{
			"order": {"4521": {"status": "shipped", "total": 79.5, "customer_id": "c1", "eta": null}},
			"customer": {"c1": {"name": "Ada", "status": "gold"}},
			"book": {"7": {"isbn": "7", "title": "Emma"}},
			"note": {"n1": {"text": "fragile"}},
			"invoice": {"7": {"paid": true}, "8": {"paid": true}},
			"parcel": {"8": {"weight": 3}, "9": {"weight": 4}}
		}`,
	}
}

func object(properties string) string {
	return `{"type":"object","properties":{` + properties + `}}`
}

const anyObject = `{"type":"object"}`

// A tool without a behavior answers with what the ledger has of the entity that the arguments name.
func TestGeneratedResultsAgreeWithTheLedger(t *testing.T) {
	const status = `"status":{"type":"string"}`
	for _, tt := range []struct {
		name, output, arguments, want string
		notes                         []string
	}{
		{
			"fields of the entity", object(status + `,"total":{"type":"number"}`), `{"order_id":"4521"}`,
			`{"status":"shipped","total":79.5}`, []string{"from order/4521 in the ledger: /status, /total"},
		},
		{
			"a number names it too", object(status), `{"order_id":4521}`,
			`{"status":"shipped"}`, []string{"from order/4521 in the ledger: /status"},
		},
		{
			"null is a value", object(`"eta":{"type":["string","null"]}`), `{"order_id":"4521"}`,
			`{"eta":null}`, []string{"from order/4521 in the ledger: /eta"},
		},
		{
			"the rest is generated", object(status + `,"order_id":{"type":"string"},"eta_days":{"const":3}`),
			`{"order_id":"4521"}`,
			`{"eta_days":3,"order_id":"4521","status":"shipped"}`,
			[]string{"from order/4521 in the ledger: /status", "from the arguments: /order_id", "generated: /eta_days"},
		},
		{
			"the id as a string", object(status + `,"order_id":{"$ref":"#/$defs/id"}},"$defs":{"id":{"type":"string"}`),
			`{"order_id":4.521e3}`, `{"order_id":"4521","status":"shipped"}`,
			[]string{"from order/4521 in the ledger: /status", "from the arguments: /order_id"},
		},
		{
			"the id as a number", object(status + `,"order_id":{"type":["integer","null"]}`), `{"order_id":"4521"}`,
			`{"order_id":4521,"status":"shipped"}`,
			[]string{"from order/4521 in the ledger: /status", "from the arguments: /order_id"},
		},
		{
			"in a member with the name of the type", object(`"order":` + object(status)), `{"order_id":"4521"}`,
			`{"order":{"status":"shipped"}}`, []string{"from order/4521 in the ledger: /order/status"},
		},
		{
			"a required member without a schema", `{"type":"object","required":["status"]}`, `{"order_id":"4521"}`,
			`{"status":"shipped"}`, []string{"from order/4521 in the ledger: /status"},
		},
		{
			"the ledger before the arguments", object(status), `{"order_id":"4521","status":"refunded"}`,
			`{"status":"shipped"}`, []string{"from order/4521 in the ledger: /status"},
		},
		{
			"not in the elements of another list", object(`"lines":{"type":"array","maxItems":1,"items":` +
				object(`"status":{"const":"x"}`) + `}`),
			`{"order_id":"4521"}`, `{"lines":[{"status":"x"}]}`, []string{"generated: /lines"},
		},
		{
			"not there", object(`"status":{"const":"x"}`), `{"order_id":"1"}`, `{"error":"order not found"}`,
			[]string{"the ledger has no order/1: the call is answered with not found"},
		},
		{
			"an order and its customer", object(`"name":{"type":"string"},` + status + `,"total":{"type":"number"}`),
			`{"order_id":"4521","customer_id":"c1"}`, `{"name":"Ada","status":"shipped","total":79.5}`,
			[]string{"from customer/c1 in the ledger: /name", "from order/4521 in the ledger: /status, /total"},
		},
		{
			"behind the order", object(status + `,"customer":` + object(`"name":{"type":"string"},`+status)), `{"order_id":"4521"}`,
			`{"customer":{"name":"Ada","status":"gold"},"status":"shipped"}`,
			[]string{"from customer/c1 in the ledger: /customer/name, /customer/status", "from order/4521 in the ledger: /status"},
		},
		{
			"in an envelope", object(`"data":` + object(`"order":`+object(status)) + `,"meta":` + object(`"page":{"const":1}`)),
			`{"order_id":"4521"}`, `{"data":{"order":{"status":"shipped"}},"meta":{"page":1}}`,
			[]string{"from order/4521 in the ledger: /data/order/status"},
		},
		{
			"not in another part of the entity", object(status + `,"carrier":` + object(`"status":{"const":"late"}`)), `{"order_id":"4521"}`,
			`{"carrier":{"status":"late"},"status":"shipped"}`, []string{"generated: /carrier"},
		},
		{
			"an order that is not there yet", object(`"order_id":{"const":"o1"},"status":{"const":"x"}`), `{"customer_id":"c1"}`,
			`{"order_id":"o1","status":"x"}`, nil,
		},
		{
			"two entities that are not related", object(`"title":{"type":"string"},"text":{"type":"string"}`), `{"isbn":7,"note_id":"n1"}`,
			`{"text":"fragile","title":"Emma"}`, []string{"from book/7 in the ledger: /title", "from note/n1 in the ledger: /text"},
		},
		{
			"one name for two types", object(`"paid":{"type":"boolean"},"weight":{"type":"integer"}`), `{"number":8}`,
			`{"paid":true,"weight":3}`, []string{"from invoice/8 in the ledger: /paid", "from parcel/8 in the ledger: /weight"},
		},
		{
			"one name for two types, and one entity", object(`"weight":{"type":"integer"}`), `{"number":9}`, `{"weight":4}`,
			[]string{"from parcel/9 in the ledger: /weight"},
		},
		{"one name for two types, and none", object(`"weight":{"type":"integer"}`), `{"number":1}`, `{"error":"invoice or parcel not found"}`, nil},
		{
			"the argument id", object(`"id":{"type":"string"},` + status), `{"id":"4521"}`, `{"id":"4521","status":"shipped"}`,
			[]string{"from order/4521 in the ledger: /status", "from the arguments: /id"},
		},
		{"the property id", object(`"id":{"type":"string"}`), `{"order_id":"4521"}`, `{"id":"4521"}`, nil},
		{
			"not in a list of another name", object(`"results":{"type":"array","maxItems":1,"items":{"type":"object"}}`), `{}`,
			`{"results":[{}]}`, nil,
		},
		{"two arguments with one id", object(status), `{"id":"4521","order_id":"4521"}`, `{"status":"shipped"}`, nil},
		{"the argument id is not there", object(status), `{"id":"1"}`, `{"error":"order not found"}`, nil},
		{"an argument that is not scalar", object(`"status":{"const":"x"}`), `{"order_id":["4521"]}`, `{"status":"x"}`, nil},
		{
			"no output_schema", "", `{"order_id":"4521"}`,
			`{"customer_id":"c1","eta":null,"order_id":"4521","status":"shipped","total":79.5}`, []string{"from order/4521 in the ledger"},
		},
		{
			"no output_schema, and two entities", "", `{"isbn":"7","note_id":"n1"}`,
			`{"book":{"isbn":"7","title":"Emma"},"note":{"note_id":"n1","text":"fragile"}}`, nil,
		},
		{"no output_schema, and no entity", "", `{}`, `{}`, []string{"no output_schema is declared: the result is {}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := proxytest.NewPlatform(t, shop(declare("order_status", anyObject, tt.output)), nil)
			run := p.NewRun()
			got := call(t, run, "order_status", tt.arguments)
			if got.Source != proxy.SourceOdyssey || string(got.Response) != tt.want {
				t.Errorf("%s %s, want %s", got.Source, got.Response, tt.want)
			}
			log := run.Log()
			log.AssertOnlyChanged(t)
			for _, note := range tt.notes {
				if !slices.Contains(log.Calls[0].Notes, note) {
					t.Errorf("the notes %q do not have %q", log.Calls[0].Notes, note)
				}
				if !strings.Contains(log.String(), note) {
					t.Errorf("%q is not in\n%s", note, log)
				}
			}
		})
	}
}

// A value of the ledger that the output_schema forbids is reported, not replaced.
func TestValuesOfTheLedgerThatTheSchemaForbids(t *testing.T) {
	for _, output := range []string{
		object(`"status":{"enum":["new","done"]}`), object(`"status":{"type":"integer"},"total":{"type":"number"}`),
	} {
		run := proxytest.NewPlatform(t, shop(declare("order_status", anyObject, output)), nil).NewRun()
		got := call(t, run, "order_status", `{"order_id":"4521"}`)
		if got.Source != proxy.SourceError || !strings.Contains(string(got.Response), "no valid response") {
			t.Errorf("%s %s", got.Source, got.Response)
		}
		const note = "order/4521 in the ledger has a status that the output_schema does not allow"
		if notes := run.Log().Calls[0].Notes; !slices.Contains(notes, note) {
			t.Errorf("the notes %q do not have %q", notes, note)
		}
	}
}

// The tools of one world agree with the ledger and with each other, over a sequence of calls.
func TestASequenceOfCallsAgreesWithTheWorld(t *testing.T) {
	const text, number = `{"type":"string"}`, `{"type":"number"}`
	order := object(`"order_id":` + text + `,"status":` + text + `,"total":` + number + `,"carrier":` + text)
	tools := []schema.Tool{
		declare("get_order", anyObject, order),
		declare("order_summary", anyObject, object(`"data":`+order)),
		declare("order_price", anyObject, object(`"total":`+number+`,"weight":`+number)),
		declare("order_weight", anyObject, object(`"weight":{"type":["number","null"]}`)),
		declare("list_orders", anyObject, object(`"orders":{"type":"array","items":`+order+`},"count":{"const":0}`)),
		declare("search", anyObject, `{"type":"array","items":`+order+`}`),
		declare("get_customer", anyObject, object(`"customer_id":`+text+`,"name":`+text+`,"orders":{"type":"array","items":`+order+`}`)),
		declare("order_list", anyObject, object(`"orders":{"type":"array","items":{"type":"object"}}`)),
		declare("create_order", anyObject, object(`"order_id":`+text+`,"status":`+text)),
		declare("order_height", anyObject, object(`"height":`+number)),
		declare("order_height_class", anyObject, object(`"height":{"type":"number","enum":[0]}`)),
		declare("order_height_text", anyObject, object(`"height":`+text)),
		declare("order_and_others", anyObject, object(`"status":`+text+`,"others":{"type":"array","items":`+object(`"order_id":`+text)+`}`)),
		declare("cancel_order", anyObject, ""), declare("update_order", anyObject, ""),
	}
	w := proxytest.World{
		Tools: tools,
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
			{Type: "order", IDField: "order_id", Fields: []ledger.Field{
				{Name: "status", Type: "string"}, {Name: "total", Type: "number"}, {Name: "buyer", Type: "string", Ref: "customer"},
			}},
			{Type: "customer", IDField: "customer_id", Fields: []ledger.Field{{Name: "name", Type: "string"}, {Name: "status", Type: "string"}}},
		}},
		InitialState: `{
			"order": {"1": {"status": "new", "buyer": "c1"}, "2": {"status": "sent", "total": 5, "buyer": "c2"}},
			"customer": {"c1": {"name": "Ada", "status": "gold"}, "c2": {"name": "Bob", "status": "silver"}}
		}`,
		Behaviors: map[string]proxytest.Behavior{
			"cancel_order": proxytest.Remove("order", "order_id", nil),
			"update_order": proxytest.Update("order", "order_id", nil),
		},
	}
	run := proxytest.NewPlatform(t, w, nil).NewRun()
	ask := func(tool, arguments string) (result map[string]any) {
		t.Helper()
		got := call(t, run, tool, arguments)
		if got.Source != proxy.SourceOdyssey || json.Unmarshal(got.Response, &result) != nil && got.Response[0] == '{' {
			t.Fatalf("%s: %s %s", tool, got.Source, got.Response)
		}
		return result
	}
	raw := func(tool, arguments string) string { t.Helper(); return string(call(t, run, tool, arguments).Response) }
	ids := func(list any) (ids []string) {
		for _, e := range list.([]any) {
			ids = append(ids, e.(map[string]any)["order_id"].(string))
		}
		return ids
	}

	first := ask("get_order", `{"order_id":"1"}`)
	if first["status"] != "new" || first["total"] == nil || first["carrier"] == nil {
		t.Errorf("%v", first)
	}
	for tool, path := range map[string]string{"order_summary": "data", "order_price": ""} {
		other := ask(tool, `{"order_id":"1"}`)
		if path != "" {
			other = other[path].(map[string]any)
		}
		if other["total"] != first["total"] {
			t.Errorf("%s: total %v, get_order says %v", tool, other["total"], first["total"])
		}
	}
	if a, b := ask("order_price", `{"order_id":"1"}`)["weight"], ask("order_weight", `{"order_id":"1"}`)["weight"]; a != b {
		t.Errorf("weight %v and %v", a, b)
	}
	if ask("order_weight", `{"order_id":"1"}`)["weight"] == ask("order_weight", `{"order_id":"2"}`)["weight"] {
		t.Error("two orders have the same weight")
	}
	all := ask("list_orders", `{}`)
	if got := ids(all["orders"]); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("orders %v", got)
	}
	if total := all["orders"].([]any)[0].(map[string]any)["total"]; total != first["total"] {
		t.Errorf("in the list the total is %v, get_order says %v", total, first["total"])
	}
	if got := ids(ask("list_orders", `{"status":"sent","limit":10}`)["orders"]); !slices.Equal(got, []string{"2"}) {
		t.Errorf("orders that were sent: %v", got)
	}
	// An order without a total has no total of 5. null and names of unknown fields select nothing.
	if got := ids(ask("list_orders", `{"total":5,"status":null,"page":1}`)["orders"]); !slices.Equal(got, []string{"2"}) {
		t.Errorf("orders with the total 5: %v", got)
	}
	if got := ids(ask("list_orders", `{"customer_id":"c1"}`)["orders"]); !slices.Equal(got, []string{"1"}) {
		t.Errorf("orders of c1: %v", got)
	}
	customer := ask("get_customer", `{"customer_id":"c2"}`)
	if got := ids(customer["orders"]); customer["name"] != "Bob" || !slices.Equal(got, []string{"2"}) {
		t.Errorf("customer %v", customer)
	}
	if got := raw("order_list", `{"status":"sent"}`); got != `{"orders":[{"buyer":"c2","order_id":"2","status":"sent","total":5}]}` {
		t.Errorf("%s", got)
	}
	if got := raw("search", `{"status":"lost"}`); got != "[]" {
		t.Errorf("%s", got)
	}
	if got := ask("create_order", `{"customer_id":"c1"}`); got["status"] == "gold" {
		t.Errorf("the new order has the status of the customer: %v", got)
	}
	if got := raw("list_orders", `{"customer_id":"c3"}`); got != `{"error":"customer not found"}` {
		t.Errorf("%s", got)
	}

	// Another type, and a value that another tool does not allow, are made up anew.
	for _, tt := range []struct{ tool, validation string }{
		{"order_height", `{"attempts":1,"ok":true}`}, {"order_height_class", `{"attempts":2,"ok":true}`},
		{"order_height_text", `{"attempts":1,"ok":true}`},
	} {
		if got := call(t, run, tt.tool, `{"order_id":"1"}`); string(got.Validation) != tt.validation {
			t.Errorf("%s: %s %s (%s)", tt.tool, got.Source, got.Response, got.Validation)
		}
	}
	other := call(t, run, "order_and_others", `{"order_id":"1"}`)
	wantResult(t, other, proxy.SourceOdyssey, `{"others":[{"order_id":"1"},{"order_id":"2"}],"status":"new"}`)

	ask("update_order", `{"order_id":"1","status":"sent","total":7}`)
	ask("update_order", `{"order_id":"2","total":8}`)
	if got := ask("get_customer", `{"customer_id":"c2"}`)["orders"].([]any)[0].(map[string]any)["total"]; got != 8.0 {
		t.Errorf("the order of the customer has the total %v", got)
	}
	if got := ask("order_price", `{"order_id":"1"}`); got["total"] != 7.0 {
		t.Errorf("after the update: %v", got)
	}
	ask("cancel_order", `{"order_id":"2"}`)
	if got := ids(ask("list_orders", `{"status":"sent"}`)["orders"]); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after the removal: %v", got)
	}
	for _, tool := range []string{"get_order", "update_order"} {
		if got := raw(tool, `{"order_id":"2"}`); got != `{"error":"order not found"}` {
			t.Errorf("%s of a removed order: %s", tool, got)
		}
	}
	if again := proxytest.NewPlatform(t, w, nil).NewRun(); string(call(t, again, "order_price", `{"order_id":"1"}`).Response) !=
		fmt.Sprintf(`{"total":%v,"weight":%v}`, first["total"], ask("order_weight", `{"order_id":"1"}`)["weight"]) {
		t.Error("another run, with its calls in another order, has other values")
	}
}

// A field may have the name of the type that it refers to, and the ledger may lack the entity.
func TestAReferenceToAnEntityThatIsNotThere(t *testing.T) {
	w := proxytest.World{
		Tools: []schema.Tool{declare("get_order", anyObject, object(`"customer":`+object(`"name":{"const":"x"}`)))},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
			{Type: "order", IDField: "order_id", Fields: []ledger.Field{{Name: "customer", Type: "string", Ref: "customer"}}},
			{Type: "customer", IDField: "customer_id"},
		}},
		InitialState: `{"order":{"1":{"customer":"c9"}}}`,
	}
	run := proxytest.NewPlatform(t, w, nil).NewRun()
	wantResult(t, call(t, run, "get_order", `{"order_id":"1"}`), proxy.SourceOdyssey, `{"customer":{"name":"x"}}`)
}

// Entities may refer to themselves and to each other.
func TestReferencesInCircles(t *testing.T) {
	run := proxytest.NewPlatform(t, proxytest.World{
		Tools: []schema.Tool{
			declare("get_city", anyObject, object(`"city":{"type":"string"},"wage":{"const":7}`)), declare("get_both", anyObject, ""),
		},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{
			{Type: "person", IDField: "person_id", Fields: []ledger.Field{
				{Name: "boss", Type: "string", Ref: "person"}, {Name: "team", Type: "string", Ref: "team"}, {Name: "id", Type: "string"},
			}},
			{Type: "team", IDField: "team_id"},
		}},
		InitialState: `{"person":{"1":{"boss":"1","team":"t"},"2":{"boss":"3"},"3":{"boss":"2"}},"team":{"t":{"city":"Oulu"}}}`,
	}, nil).NewRun()
	wantResult(t, call(t, run, "get_city", `{"person_id":"1"}`), proxy.SourceOdyssey, `{"city":"Oulu","wage":7}`)
	wantResult(t, call(t, run, "get_both", `{"id":"3","person_id":"2"}`), proxy.SourceOdyssey, `{"person":{"boss":"3","person_id":"2"}}`)
}

// A field named id is not a reference, even if the ledger has one type alone.
func TestAFieldNamedID(t *testing.T) {
	run := proxytest.NewPlatform(t, proxytest.World{
		Tools:        []schema.Tool{declare("get_order", anyObject, object(`"extra":{"const":"x"}`))},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}},
		InitialState: `{"order":{"1":{"id":"2"},"2":{"extra":"y"}}}`,
	}, nil).NewRun()
	wantResult(t, call(t, run, "get_order", `{"order_id":"1"}`), proxy.SourceOdyssey, `{"extra":"x"}`)
}

// What an earlier call wrote is what a later call reads.
func TestGeneratedResultsFollowTheLedger(t *testing.T) {
	w := shop(declare("order_status", anyObject, object(`"status":{"type":"string"}`)),
		declare("refund_order", anyObject, ""))
	w.Behaviors = map[string]proxytest.Behavior{
		"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
	}
	run := proxytest.NewPlatform(t, w, nil).NewRun()
	call(t, run, "refund_order", `{"order_id":"4521"}`)
	wantResult(t, call(t, run, "order_status", `{"order_id":"4521"}`), proxy.SourceOdyssey, `{"status":"refunded"}`)
}

func TestFromLedger(t *testing.T) {
	both := object(`"name":{"type":"string"},"status":{"type":"string"},"x":{"const":1}`)
	for _, tt := range []struct {
		name, entityType, output, arguments string
		source                              proxy.Source
		want                                string
	}{
		{"one of two entities", "customer", both, `{"order_id":"4521","customer_id":"c1"}`, "odyssey",
			`{"name":"Ada","status":"gold","x":1}`},
		{"in a member", "customer", object(`"customer":` + both), `{"customer_id":"c1"}`, "odyssey",
			`{"customer":{"name":"Ada","status":"gold","x":1}}`},
		{"no output_schema", "customer", "", `{"customer_id":"c1"}`, "odyssey",
			`{"customer_id":"c1","name":"Ada","status":"gold"}`},
		{"not there", "customer", "", `{"customer_id":"c2"}`, "odyssey", `{"error":"customer not found"}`},
		{"no argument", "customer", "", `{}`, "error",
			`{"error":"FromLedger: the arguments have no customer_id, which identifies a customer in the ledger"}`},
		{"an empty argument", "customer", "", `{"customer_id":""}`, "error",
			`{"error":"FromLedger: the arguments have no customer_id, which identifies a customer in the ledger"}`},
		{"an entity with its id", "book", object(`"isbn":{"type":"integer"},"title":{"type":"string"}`), `{"isbn":7}`, "odyssey",
			`{"isbn":7,"title":"Emma"}`},
		{"no such type", "nope", "", `{}`, "error",
			`{"error":"FromLedger: World.LedgerSchema does not declare the type \"nope\": declare it with its id_field, or use Get"}`},
		{"a value that does not fit", "customer", object(`"name":{"type":"integer"}`), `{"customer_id":"c1"}`, "error", ""},
	} {
		w := shop(declare("get", anyObject, tt.output))
		w.Behaviors = map[string]proxytest.Behavior{"get": proxytest.FromLedger(tt.entityType)}
		run := proxytest.NewPlatform(t, w, nil).NewRun()
		got := call(t, run, "get", tt.arguments)
		if got.Source != tt.source || tt.want != "" && string(got.Response) != tt.want {
			t.Errorf("%s: %s %s, want %s", tt.name, got.Source, got.Response, tt.want)
		}
		run.Log().AssertOnlyChanged(t)
	}
	world, err := proxytest.ParseWorld([]byte(`{
		"ledger_schema": {"entities": [{"type": "order", "id_field": "order_id"}]}, "initial_state": {"order": {"1": {"status": "new"}}},
		"behaviors": {"get_order": {"from_ledger": "order"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	got := call(t, proxytest.NewPlatform(t, world, nil).NewRun(), "get_order", `{"order_id":"1"}`)
	wantResult(t, got, proxy.SourceOdyssey, `{"order_id":"1","status":"new"}`)
}

// World.Simulator answers for the tools in sandbox mode that have no behavior.
func TestSimulator(t *testing.T) {
	w := shop(
		declare("order_status", anyObject, object(`"text":{"type":"string"}`)), declare("own", anyObject, ""),
		live(declare("search", anyObject, ""), "", nil),
	)
	w.BehaviorInstructions = "The shop is closed."
	w.Behaviors = map[string]proxytest.Behavior{"own": proxytest.Canned(`1`), "search": proxytest.Canned(`2`)}
	w.Simulator = func(r *proxytest.Request) (any, error) {
		if r.Attempt == 1 {
			return map[string]int{"text": 1}, nil // does not match the output_schema
		}
		order, _ := r.Get("order", "4521")
		text := fmt.Sprintf("%s %s %s %s | %s", r.Declared.Name, r.Declared.OutputSchema, r.Arguments, order, r.Instructions)
		return map[string]string{"text": text}, r.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "asked"})
	}
	p := proxytest.NewPlatform(t, w, nil)
	run := p.NewRun()
	wantResult(t, call(t, run, "own", `{}`), proxy.SourceOdyssey, "1")
	wantResult(t, call(t, run, "search", `{}`), proxy.SourcePassthrough, "2")
	var said struct{ Text string }
	got := call(t, run, "order_status", `{"a":1}`)
	if err := json.Unmarshal(got.Response, &said); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"order_status {", `"properties"`, `{"a":1}`, `"status":"shipped"`,
		"| The shop is closed."} {
		if !strings.Contains(said.Text, part) {
			t.Errorf("%q does not have %q", said.Text, part)
		}
	}
	run.Log().AssertFlag(t, "asked")
	if notes := run.Log().Calls[2].Notes; !slices.Contains(notes, "World.Simulator answered") {
		t.Errorf("notes %q", notes)
	}

	other := with(t, p, "", "It is open.")
	if got := call(t, other.NewRun(), "order_status", `{}`); !strings.Contains(string(got.Response), "It is open.") {
		t.Errorf("%s", got.Response)
	}
}

func TestASimulatorNeedsTools(t *testing.T) {
	_, err := proxytest.New(proxytest.World{Simulator: proxytest.Canned("1")}, nil)
	if err == nil || !strings.Contains(err.Error(), "Simulator answers declared tools: set Tools") {
		t.Errorf("%v", err)
	}
}
