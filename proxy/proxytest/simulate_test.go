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
			"a value that does not fit", object(`"status":{"const":"done"},"total":{"type":"number"}`), `{"order_id":"4521"}`,
			`{"status":"done","total":79.5}`, []string{
				"from order/4521 in the ledger: /total", "generated: /status",
				"order/4521 in the ledger has a status that the output_schema does not allow",
			},
		},
		{
			"a value that does not fit elsewhere", `{"type":"object","properties":{"status":{"examples":["new"]}},
				"not":{"properties":{"status":{"const":"shipped"}}}}`, `{"order_id":"4521"}`,
			`{"status":"new"}`, []string{"order/4521 in the ledger has a status that the output_schema does not allow"},
		},
		{
			"not in the elements of a list", object(`"lines":{"type":"array","maxItems":1,"items":` +
				object(`"status":{"const":"x"}`) + `}`),
			`{"order_id":"4521"}`, `{"lines":[{"status":"x"}]}`, []string{"generated: /lines"},
		},
		{
			"not there", object(`"status":{"const":"x"}`), `{"order_id":"1"}`,
			`{"status":"x"}`, []string{"the ledger has no order/1", "generated: /status"},
		},
		{
			"two entities", object(`"name":{"const":"x"},"total":{"const":1}`), `{"order_id":"4521","customer_id":"c1"}`,
			`{"name":"x","total":1}`,
			[]string{"the arguments identify customer/c1 and order/4521 in the ledger: nothing is taken from either",
				"generated: /name, /total"},
		},
		{
			"one name for two types", object(`"paid":{"const":false},"weight":{"const":1}`), `{"number":8}`,
			`{"paid":false,"weight":1}`,
			[]string{"the arguments identify invoice/8 and parcel/8 in the ledger: nothing is taken from either",
				"generated: /paid, /weight"},
		},
		{
			"one name for two types, and one entity", object(`"weight":{"type":"integer"}`), `{"number":9}`, `{"weight":4}`,
			[]string{"from parcel/9 in the ledger: /weight"},
		},
		{
			"an argument with another name", object(`"status":{"const":"x"}`), `{"id":"4521","note":"n1"}`,
			`{"status":"x"}`, []string{"generated: /status"},
		},
		{"an argument that is not scalar", object(`"status":{"const":"x"}`), `{"order_id":["4521"]}`, `{"status":"x"}`, nil},
		{"no output_schema", "", `{"order_id":"4521"}`, `{}`, []string{"no output_schema is declared: the result is {}"}},
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

// Everything that does not come from the ledger is generated as it is without a ledger.
func TestTheRestOfAResultIsGeneratedAsWithoutALedger(t *testing.T) {
	output := object(`"a":{"type":"string"},"status":{"type":"string"},"z":{"type":"integer"}`)
	with := shop(declare("order_status", anyObject, output))
	without := with
	without.InitialState = ""
	var results [2]map[string]any
	for i, w := range []proxytest.World{with, without} {
		got := call(t, proxytest.NewPlatform(t, w, nil).NewRun(), "order_status", `{"order_id":"4521"}`)
		if err := json.Unmarshal(got.Response, &results[i]); err != nil {
			t.Fatal(err)
		}
	}
	if results[0]["a"] != results[1]["a"] || results[0]["z"] != results[1]["z"] {
		t.Errorf("%v and %v", results[0], results[1])
	}
	if results[0]["status"] != "shipped" || results[1]["status"] == "shipped" {
		t.Errorf("%v and %v", results[0], results[1])
	}
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

	other, err := p.With("", nil, "It is open.")
	if err != nil {
		t.Fatal(err)
	}
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
