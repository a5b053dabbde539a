package ledger_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
)

// exampleAdapter is the documented adapter of a get_order tool.
var exampleAdapter = ledger.Adapter{
	EntityType: "order",
	IDFrom:     "$.order_id",
	FieldMap:   map[string]string{"status": "$.status", "total": "$.amount"},
	Flags:      []string{"fetched_order:{order_id}"},
}

func Example() {
	rule, err := ledger.Compile(&exampleAdapter)
	if err != nil {
		log.Fatal(err)
	}
	state, err := ledger.NewState(json.RawMessage(`{"order":{"4521":{"status":"open"}}}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	before := state.Snapshot()

	outcome := rule.Eval(json.RawMessage(`{"order_id":"4521"}`),
		json.RawMessage(`{"order_id":"4521","status":"paid","amount":42.5}`))
	state.Apply(outcome.Updates...)

	fmt.Print(ledger.Diff(before, state.Snapshot()))
	// Output:
	// changed /order/4521/status: "open" -> "paid"
	// added /order/4521/total: 42.5
	// added flag fetched_order:4521
}

func ExampleRule_Eval() {
	rule, err := ledger.Compile(&exampleAdapter)
	if err != nil {
		log.Fatal(err)
	}
	args := json.RawMessage(`{"order_id":"4521"}`)
	outcome := rule.Eval(args, json.RawMessage(`{"order_id":4521,"status":"paid","amount":42.5}`))
	for _, u := range outcome.Updates {
		fmt.Println(u)
	}
	outcome = rule.Eval(args, json.RawMessage(`{"order_id":{"number":4521}}`))
	fmt.Println(len(outcome.Updates), outcome.Steps[0].Code)
	// Output:
	// update order/4521: status, total
	// set_flag fetched_order:4521
	// 0 id_not_scalar
}

func ExampleOutcome_Explain() {
	rule, err := ledger.Compile(&exampleAdapter)
	if err != nil {
		log.Fatal(err)
	}
	args := json.RawMessage(`{"id":"4521"}`)
	fmt.Print(rule.Eval(args, json.RawMessage(`{"order_id":"4521","status":"paid"}`)).Explain())
	fmt.Print(rule.Eval(args, json.RawMessage(`{"order":{"order_id":"4521"}}`)).Explain())
	// Output:
	// 1 update
	//   update order/4521: status
	// because
	//   id_from "$.order_id" matched a string: this is the entity's id
	//   field_map/status "$.status" matched a string: the field is written
	//   field_map/total "$.amount" matched nothing: the field is left out
	//   flags/0 "fetched_order:{order_id}" has no argument for {order_id}: the flag is dropped
	// nothing written
	// because
	//   id_from "$.order_id" matched nothing, so there is no id: nothing is written
}

func ExampleDiff() {
	state, err := ledger.NewState(json.RawMessage(`{"order":{"4521":{"status":"paid","address":{"city":"Turku"}},`+
		`"17":{}}}`), nil)
	if err != nil {
		log.Fatal(err)
	}
	before := state.Snapshot()
	state.Apply(
		ledger.Update{Op: ledger.OpUpdate, EntityType: "order", ID: "4521", Fields: map[string]json.RawMessage{
			"status":  json.RawMessage(`"refunded"`),
			"address": json.RawMessage(`{"city":"Helsinki"}`),
		}},
		ledger.Update{Op: ledger.OpRemove, EntityType: "order", ID: "17"},
		ledger.Update{Op: ledger.OpSetFlag, Flag: "refunded:4521"},
	)
	fmt.Print(ledger.Diff(before, state.Snapshot()))
	// Output:
	// removed /order/17: {}
	// changed /order/4521/address/city: "Turku" -> "Helsinki"
	// changed /order/4521/status: "paid" -> "refunded"
	// added flag refunded:4521
}

func ExampleAdapter_Validate() {
	schema := &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}}
	adapter := ledger.Adapter{
		EntityType: "orders",
		FieldMap:   map[string]string{"total": "$.lines[?length(@.notes) > 1].total"},
		Flags:      []string{"fetched:{{order_id}}"},
	}
	unchecked, err := adapter.Validate(schema)
	fmt.Println(err)
	for _, p := range unchecked {
		fmt.Println("unchecked:", p)
	}
	// Output:
	// ledger: invalid_adapter: /entity_type "orders" is not an entity type of the ledger schema [undeclared]
	// unchecked: /id_from is required with op update; give the path of the id, such as $.order_id [missing]
	// unchecked: /field_map/total has a filter that calls a function, which is not evaluated here; the platform may evaluate it; write comparisons and tests of members, such as [?@.kind == "main" && @.id] [unsupported]
	// unchecked: /flags/0 has a brace that does not belong to a {name}; braces cannot be escaped [invalid_template]
}

func ExampleSchema_Validate() {
	var schema ledger.Schema
	err := json.Unmarshal([]byte(`{"entities":[{"type":"Order","fields":[{"name":"status","type":"text"}]}]}`), &schema)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema.Validate())
	// Output:
	// ledger: invalid_schema: 3 problems:
	//   - /entities/0/type "Order" must be lower case letters, digits and _, beginning with a letter [invalid_name]
	//   - /entities/0/id_field is required [missing]
	//   - /entities/0/fields/0/type must be string, number, integer, boolean, object or array [invalid_value]
}

func ExampleState_Apply() {
	schema := &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id", Fields: []ledger.Field{
		{Name: "status", Type: "string", Enum: []any{"open", "paid", "refunded"}},
	}}}}
	state, err := ledger.NewState(nil, schema)
	if err != nil {
		log.Fatal(err)
	}
	for _, status := range []string{`"paid"`, `"lost"`} {
		for _, applied := range state.Apply(ledger.Update{Op: ledger.OpUpdate, EntityType: "order", ID: "4521",
			Fields: map[string]json.RawMessage{"status": json.RawMessage(status)}}) {
			fmt.Println(applied)
		}
	}
	// Output:
	// update order/4521: status - created
	// update order/4521: status - violation
	//   /order/4521/status is not one of the values in the ledger schema's enum [not_in_enum]
}

func ExampleCompile() {
	rule, err := ledger.Compile(&ledger.Adapter{EntityType: "order", IDFrom: "$.orders..lines..id"})
	fmt.Println(toolwire.CodeOf(err))
	fmt.Print(rule.Eval(nil, nil).Explain())
	// Output:
	// invalid_adapter
	// nothing written
	// because
	//   id_from "$.orders..lines..id" has more than one .. segment, which is not evaluated here; the platform may evaluate it: nothing is written
}

func ExampleNewState() {
	schema := &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}}
	state, err := ledger.NewState(json.RawMessage(`{"order":{"4521":{"status":"paid"}}}`), schema)
	if err != nil {
		log.Fatal(err)
	}
	order, ok := state.Get("order", "4521")
	fmt.Println(string(order), ok)
	_, err = ledger.NewState(json.RawMessage(`{"refund":{"1":{}}}`), schema)
	fmt.Println(err)
	// Output:
	// {"status":"paid"} true
	// ledger: invalid_state: /refund/1 "refund" is not an entity type of the ledger schema [undeclared]
}

func ExampleCodeOf() {
	_, err := ledger.NewState(json.RawMessage(`[]`), nil)
	fmt.Println(toolwire.CodeOf(err))
	// Output: invalid_state
}

func ExampleState_Snapshot() {
	var state ledger.State
	state.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "vip"})
	text, err := json.Marshal(state.Snapshot())
	fmt.Println(string(text), err)
	// Output: {"entities":{},"flags":["vip"]} <nil>
}
