package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/ledger"
)

const oneOrder = `{"order":{"4521":{"order_id":"4521","status":"paid","total":42.50}}}`

func mustState(t testing.TB, initial string, schema *ledger.Schema) *ledger.State {
	t.Helper()
	s, err := ledger.NewState(json.RawMessage(initial), schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// update makes an update of an order from its fields as a JSON object.
func update(op ledger.Op, id, fields string) ledger.Update {
	u := ledger.Update{Op: op, EntityType: "order", ID: id}
	if fields != "" {
		if err := json.Unmarshal([]byte(fields), &u.Fields); err != nil {
			panic(err)
		}
	}
	return u
}

func TestApply(t *testing.T) {
	setFlag := func(name string) ledger.Update { return ledger.Update{Op: ledger.OpSetFlag, Flag: name} }
	for _, tt := range []struct {
		name    string
		update  ledger.Update
		result  string
		changes string
	}{
		{"update an entity", update(ledger.OpUpdate, "4521", `{"status":"refunded"}`), "changed",
			`changed /order/4521/status: "paid" -> "refunded"`},
		{"update with a new field", update(ledger.OpUpdate, "4521", `{"note":"n"}`), "changed",
			`added /order/4521/note: "n"`},
		{"update to null", update(ledger.OpUpdate, "4521", `{"status":null}`), "changed",
			`changed /order/4521/status: "paid" -> null`},
		{"update to the same", update(ledger.OpUpdate, "4521", `{"status":"p\u0061id","total":4.25e1}`), "unchanged",
			``},
		{"update nothing", update(ledger.OpUpdate, "4521", ``), "unchanged", ``},
		{"update a missing entity", update(ledger.OpUpdate, "1", `{"status":"open"}`), "created",
			`added /order/1: {"status":"open"}`},
		{"update a missing entity with nothing", update(ledger.OpUpdate, "1", ``), "created", `added /order/1: {}`},
		{"add a missing entity", update(ledger.OpAdd, "1", `{"status":"open"}`), "created",
			`added /order/1: {"status":"open"}`},
		{"add an existing entity", update(ledger.OpAdd, "4521", `{"status":"open"}`), "changed",
			`changed /order/4521/status: "paid" -> "open"`},
		{"add an existing entity as it is", update(ledger.OpAdd, "4521", `{"status":"paid"}`), "unchanged", ``},
		{"remove", update(ledger.OpRemove, "4521", ``), "removed",
			`removed /order/4521: {"order_id":"4521","status":"paid","total":42.50}`},
		{"remove a missing entity", update(ledger.OpRemove, "1", ``), "unchanged", ``},
		{"set a flag", setFlag("new"), "flag_set", `added flag new`},
		{"set a flag again", setFlag("old"), "unchanged", ``},
		{"another type", ledger.Update{Op: ledger.OpAdd, EntityType: "refund", ID: "4521"}, "created",
			`added /refund/4521: {}`},
		{"an id with a slash", update(ledger.OpAdd, "a/b~c", ``), "created", `added /order/a~1b~0c: {}`},

		{"an unknown op", update("upsert", "1", ``), "violation", ``},
		{"no type", ledger.Update{Op: ledger.OpAdd, ID: "1"}, "violation", ``},
		{"no id", update(ledger.OpAdd, "", ``), "violation", ``},
		{"remove without an id", update(ledger.OpRemove, "", ``), "violation", ``},
		{"no flag", setFlag(""), "violation", ``},
		{"a value that is not JSON", ledger.Update{Op: ledger.OpAdd, EntityType: "order", ID: "1",
			Fields: map[string]json.RawMessage{"a": json.RawMessage(`{"x":1,"x":2}`)}}, "violation", ``},
		{"a value that is missing", ledger.Update{Op: ledger.OpAdd, EntityType: "order", ID: "1",
			Fields: map[string]json.RawMessage{"a": nil}}, "violation", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := mustState(t, oneOrder, nil)
			state.Apply(setFlag("old"))
			before := state.Snapshot()
			applied := state.Apply(tt.update)
			violated := len(applied[0].Violations) > 0
			if len(applied) != 1 || applied[0].Status != tt.result || violated != (tt.result == "violation") {
				t.Errorf("applied: %v, want %s", applied, tt.result)
			}
			if got := strings.TrimSuffix(ledger.Diff(before, state.Snapshot()).String(), "\n"); got != tt.changes {
				t.Errorf("changes:\n%s\nwant:\n%s", got, tt.changes)
			}
			if same := before.Hash() == state.Snapshot().Hash(); same != (tt.changes == "") {
				t.Errorf("hashes equal: %v, but changes are %q", same, tt.changes)
			}
		})
	}
}

const strictSchema = `{"entities":[
	{"type":"order","id_field":"order_id","fields":[
		{"name":"status","type":"string","enum":["open","paid"]},
		{"name":"total","type":"number"},{"name":"count","type":"integer","enum":[0,1,2,10]},
		{"name":"mark","type":"string","enum":["<b>","\u0061"]},{"name":"rate","type":"number","enum":[1.50]},
		{"name":"gift","type":"boolean"},{"name":"address","type":"object"},{"name":"lines","type":"array"}]},
	{"type":"sealed","id_field":"id","field_policy":"closed","fields":[{"name":"a","type":"string"}]}],
	"flags":{"policy":"closed","values":["known"]}}`

func TestApplyChecksTheSchema(t *testing.T) {
	sealed := func(fields string) ledger.Update {
		u := update(ledger.OpUpdate, "1", fields)
		u.EntityType = "sealed"
		return u
	}
	for _, tt := range []struct {
		name   string
		update ledger.Update
		want   []string
	}{
		{"all types", update(ledger.OpAdd, "1", `{"status":"open","total":1.5,"count":2,"gift":true,"address":{},"lines":[]}`),
			nil},
		{"null in every field",
			update(ledger.OpAdd, "1", `{"status":null,"total":null,"count":null,"gift":null,"address":null,"lines":null}`), nil},
		{"enum members in other words", update(ledger.OpAdd, "1", `{"mark":"\u003cb>","rate":15e-1}`), nil},
		{"an enum member with an escape", update(ledger.OpAdd, "1", `{"mark":"a"}`), nil},
		{"an integer with a fraction of zero", update(ledger.OpAdd, "1", `{"count":10.0}`), nil},
		{"an integer that is zero", update(ledger.OpAdd, "1", `{"count":-0.00e-5}`), nil},
		{"an integer with an exponent", update(ledger.OpAdd, "1", `{"count":1e1}`), nil},
		{"an undeclared field, open", update(ledger.OpAdd, "1", `{"note":"n"}`), nil},
		{"a declared flag", ledger.Update{Op: ledger.OpSetFlag, Flag: "known"}, nil},
		{"closed fields", sealed(`{"a":"x","id":"1"}`), nil},

		{"wrong types", update(ledger.OpAdd, "1", `{"status":1,"total":"1","count":1.5,"gift":0,"address":[],"lines":{}}`),
			[]string{"wrong_type /order/1/address", "wrong_type /order/1/count", "wrong_type /order/1/gift",
				"wrong_type /order/1/lines",
				"wrong_type /order/1/status", "wrong_type /order/1/total"}},
		{"not in the enum", update(ledger.OpUpdate, "4521", `{"status":"shipped","count":3}`),
			[]string{"not_in_enum /order/4521/count", "not_in_enum /order/4521/status"}},
		{"an undeclared type", ledger.Update{Op: ledger.OpAdd, EntityType: "refund", ID: "1"},
			[]string{"undeclared /refund/1"}},
		{"removing an undeclared type", ledger.Update{Op: ledger.OpRemove, EntityType: "refund", ID: "1"},
			[]string{"undeclared /refund/1"}},
		{"an undeclared field, closed", sealed(`{"a":"x","b":1}`), []string{"undeclared /sealed/1/b"}},
		{"an undeclared flag", ledger.Update{Op: ledger.OpSetFlag, Flag: "unknown"}, []string{"undeclared "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := mustState(t, oneOrder, mustSchema(t, strictSchema))
			before := state.Snapshot().Hash()
			applied := state.Apply(tt.update)[0]
			var got []string
			for _, v := range applied.Violations {
				got = append(got, v.Code+" "+v.Pointer)
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("violations %q, want %q", got, tt.want)
			}
			if (state.Snapshot().Hash() != before) != (tt.want == nil) {
				t.Errorf("result %s, but the state changed: %v", applied.Status, state.Snapshot().Hash() != before)
			}
		})
	}
}

// One violation does not keep the other updates from being applied.
func TestApplyJudgesEachUpdate(t *testing.T) {
	state := mustState(t, oneOrder, mustSchema(t, strictSchema))
	applied := state.Apply(update(ledger.OpUpdate, "4521", `{"status":"lost","total":1}`),
		update(ledger.OpUpdate, "4521", `{"total":2}`), ledger.Update{Op: ledger.OpSetFlag, Flag: "known"})
	results := fmt.Sprint(applied[0].Status, applied[1].Status, applied[2].Status)
	if results != fmt.Sprint("violation", "changed", "flag_set") {
		t.Error(results)
	}
	if got, _ := state.Get("order", "4521"); string(got) != `{"order_id":"4521","status":"paid","total":2}` {
		t.Errorf("%s", got)
	}
}

func TestNewState(t *testing.T) {
	for _, tt := range []struct {
		name, initial, schema string
		want                  []string
	}{
		{"nothing", ``, "", nil},
		{"blanks", " \n", "", nil},
		{"null", `null`, strictSchema, nil},
		{"an order", oneOrder, strictSchema, nil},
		{"a type without entities", `{"order":{}}`, strictSchema, nil},
		{"an undeclared type without entities", `{"ordr":{},"order":{"1":{}}}`, strictSchema, []string{"undeclared /ordr"}},
		{"no schema, a type without entities", `{"ordr":{}}`, "", nil},
		{"an empty type", `{"":{}}`, "", []string{"missing /"}},
		{"the reserved key", `{"_context_stores":{"docs":{"entity_type":"doc","access_modes":["lexical"]}}}`, strictSchema,
			nil},
		{"not JSON", `{"order":1`, "", []string{"invalid_json "}},
		{"an id twice", `{"order":{"1":{},"1":{}}}`, "", []string{"invalid_json /order/1"}},
		{"a list", `[]`, "", []string{"wrong_type "}},
		{"types that are not objects", `{"a":1,"b":[],"c":{"1":{}}}`, "", []string{"wrong_type /a", "wrong_type /b"}},
		{"entities that are not objects", `{"a":{"1":"x","2":{},"3":null}}`, "", []string{"wrong_type /a/1",
			"wrong_type /a/3"}},
		{"everything the schema forbids",
			`{"refund":{"1":{}},"order":{"2":{"status":"lost"},"1":{"total":"x"}},"sealed":{"x/y":{"z":1}}}`, strictSchema,
			[]string{"wrong_type /order/1/total", "not_in_enum /order/2/status", "undeclared /refund/1",
				"undeclared /sealed/x~1y/z"}},
		{"a schema with a mistake", oneOrder, `{"entities":[{"type":"order"}]}`, []string{"missing /entities/0/id_field"}},
		{"an empty id", `{"order":{"":{}}}`, "", []string{"missing /order/"}},
		{"200 levels in a field", `{"order":{"1":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}}`, "",
			nil},
		{"201 levels in a field", `{"order":{"1":{"a":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}}}`, "",
			[]string{"invalid_json /order/1/a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var schema *ledger.Schema
			if tt.schema != "" {
				schema = mustSchema(t, tt.schema)
			}
			state, err := ledger.NewState(json.RawMessage(tt.initial), schema)
			checkProblems(t, err, tt.want...)
			if (state == nil) != (err != nil) {
				t.Errorf("state %v with error %v", state, err)
			}
		})
	}
}

func TestTheZeroStateIsEmpty(t *testing.T) {
	var s ledger.State
	if _, ok := s.Get("order", "1"); ok || len(s.Snapshot().Flags) != 0 {
		t.Error("not empty")
	}
	if s.Snapshot().Hash() != mustState(t, "", nil).Snapshot().Hash() {
		t.Error("another hash than an empty state")
	}
	s.Apply(update(ledger.OpAdd, "1", `{"a":1}`),
		ledger.Update{Op: ledger.OpSetFlag, Flag: "b"}, ledger.Update{Op: ledger.OpSetFlag, Flag: "a"})
	if got, ok := s.Get("order", "1"); !ok || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, ok)
	}
	if flags := s.Snapshot().Flags; fmt.Sprint(flags) != "[a b]" {
		t.Errorf("flags %v", flags)
	}
}

// A type without entities is not part of a state.
func TestEmptyTypesAreLeftOut(t *testing.T) {
	state := mustState(t, `{"order":{},"_context_stores":{}}`, mustSchema(t, strictSchema))
	if n := len(state.Snapshot().Entities); n != 0 || state.Snapshot().Hash() != mustState(t, "", nil).Snapshot().Hash() {
		t.Errorf("%d types", n)
	}
}

// The hash is stable: tests and files may contain it.
func TestHashIsStable(t *testing.T) {
	state := mustState(t, `{"order":{"2":{"b":[1,{"y":1.0,"x":"é"}],"a":null},"10":{}}}`, nil)
	state.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "seen"})
	const want = "b6f0daf1276f605709299c9faf344e278cc8ed16f1c91eed936059963d9f87fb"
	if got := state.Snapshot().Hash(); got != want {
		t.Errorf("Hash() = %s, want %s", got, want)
	}
	same := mustState(t, ` {"x":{}, "order": {"10":{}, "2":{"a":null, "b":[10e-1,{"x":"\u00e9","y":1}]}}}`, nil)
	same.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "seen"})
	if same.Snapshot().Hash() != want {
		t.Error("an equal state has another hash")
	}
	for _, other := range []string{
		`{"order":{"2":{"b":[1,{"y":1.0,"x":"e"}],"a":null},"10":{}}}`,
		`{"order":{"2":{"b":[1,{"y":1.0,"x":"é"}]},"10":{}}}`,
		`{"orders":{"2":{"b":[1,{"y":1.0,"x":"é"}],"a":null},"10":{}}}`,
		`{"order":{"2":{"b":[1,{"y":1.0000000000000000000001,"x":"é"}],"a":null},"10":{}}}`,
	} {
		s := mustState(t, other, nil)
		s.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "seen"})
		if s.Snapshot().Hash() == want {
			t.Errorf("%s has the same hash", other)
		}
	}
}

func TestSnapshotAsJSON(t *testing.T) {
	state := mustState(t, `{"order":{"2":{"big":12345678901234567890.10},"10":{"s":"\u0061<"}}}`, nil)
	state.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: "z"}, ledger.Update{Op: ledger.OpSetFlag, Flag: "a"})
	text, err := json.Marshal(state.Snapshot())
	const want = `{"entities":{"order":{"10":{"s":"a\u003c"},"2":{"big":12345678901234567890.10}}},"flags":["a","z"]}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	if text, err := json.Marshal(state); err != nil || string(text) != want {
		t.Errorf("the state itself: %s, %v, want %s", text, err, want)
	}
	var again ledger.Snapshot
	if err := json.Unmarshal(text, &again); err != nil || again.Hash() != state.Snapshot().Hash() {
		t.Errorf("the snapshot read again differs: %v", err)
	}
	state.Apply(update(ledger.OpRemove, "2", ``), update(ledger.OpRemove, "10", ``))
	if text, err := json.Marshal(state.Snapshot()); err != nil || string(text) != `{"entities":{},"flags":["a","z"]}` {
		t.Errorf("without its last order: %s, %v", text, err)
	}
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", oneOrder, oneOrder, ``},
		{"the same in other words", `{"a":{"1":{"x":[1,{"p":1,"q":2}]}}}`,
			`{"b":{},"a":{"1":{"x":[1.0,{"q":20e-1,"p":1}]}}}`, ``},
		{"an entity more", `{}`, `{"a":{"1":{"x":1}}}`, `added /a/1: {"x":1}`},
		{"an entity less", `{"a":{"1":{"x":1}}}`, `{}`, `removed /a/1: {"x":1}`},
		{"a field more", `{"a":{"1":{}}}`, `{"a":{"1":{"x":null}}}`, `added /a/1/x: null`},
		{"a field less", `{"a":{"1":{"x":[]}}}`, `{"a":{"1":{}}}`, `removed /a/1/x: []`},
		{"another type", `{"a":{"1":{"x":1}}}`, `{"a":{"1":{"x":"1"}}}`, `changed /a/1/x: 1 -> "1"`},
		{"a large integer", `{"a":{"1":{"x":9007199254740992}}}`, `{"a":{"1":{"x":9007199254740993}}}`,
			`changed /a/1/x: 9007199254740992 -> 9007199254740993`},
		{"numbers beyond all bounds", `{"a":{"1":{"x":1e400,"y":-1e-400}}}`, `{"a":{"1":{"x":10e399,"y":-1e-401}}}`,
			`changed /a/1/y: -1e-400 -> -1e-401`},
		{"deep inside", `{"a":{"1":{"x":{"y":[{"z":1},2]}}}}`, `{"a":{"1":{"x":{"y":[{"z":3},2]}}}}`,
			`changed /a/1/x/y/0/z: 1 -> 3`},
		{"a longer array", `{"a":{"1":{"x":[1]}}}`, `{"a":{"1":{"x":[1,2]}}}`, `added /a/1/x/1: 2`},
		{"a shorter array", `{"a":{"1":{"x":[1,{"y":2}]}}}`, `{"a":{"1":{"x":[3]}}}`,
			"changed /a/1/x/0: 1 -> 3\nremoved /a/1/x/1: {\"y\":2}"},
		{"an object for an array", `{"a":{"1":{"x":[]}}}`, `{"a":{"1":{"x":{}}}}`, `changed /a/1/x: [] -> {}`},
		{"in order", `{"b":{"1":{}},"a":{"2":{"z":1,"y":1},"1":{}}}`, `{"c":{"1":{}},"a":{"2":{"z":2,"y":2}}}`,
			"removed /a/1: {}\nchanged /a/2/y: 1 -> 2\nchanged /a/2/z: 1 -> 2\nremoved /b/1: {}\nadded /c/1: {}"},
		{"names with slashes", `{}`, `{"a/b":{"c~d":{}}}`, `added /a~1b/c~0d: {}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, after := mustState(t, tt.before, nil).Snapshot(), mustState(t, tt.after, nil).Snapshot()
			if got := strings.TrimSuffix(ledger.Diff(before, after).String(), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if (before.Hash() == after.Hash()) != (tt.want == "") {
				t.Error("the hashes say otherwise")
			}
		})
	}
	got := ledger.Diff(ledger.Snapshot{Flags: []string{"b", "a"}}, ledger.Snapshot{Flags: []string{"c", "b"}}).String()
	if got != "removed flag a\nadded flag c\n" {
		t.Errorf("flags: %s", got)
	}
}

// A snapshot is a copy: neither can change the other.
func TestSnapshotIsACopy(t *testing.T) {
	state := mustState(t, oneOrder, nil)
	snapshot := state.Snapshot()
	entity, _ := state.Get("order", "4521")
	hash := state.Snapshot().Hash()
	copy(entity, "XXXXX")
	copy(snapshot.Entities["order"]["4521"], "XXXXX")
	delete(snapshot.Entities, "order")
	if state.Snapshot().Hash() != hash {
		t.Error("the state changed with its copies")
	}
	snapshot = state.Snapshot()
	state.Apply(update(ledger.OpUpdate, "4521", `{"status":"x"}`), update(ledger.OpAdd, "1", ``))
	if snapshot.Hash() != hash {
		t.Error("the snapshot changed with the state")
	}
}

func TestStateIsSafeForConcurrentUse(t *testing.T) {
	state := mustState(t, oneOrder, mustSchema(t, orderSchema))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				id := fmt.Sprint(g, "-", i)
				state.Apply(update(ledger.OpAdd, id, `{"total":1}`), ledger.Update{Op: ledger.OpSetFlag, Flag: id})
				state.Apply(update(ledger.OpUpdate, "4521", fmt.Sprintf(`{"total":%d}`, i)))
				before := state.Snapshot()
				state.Get("order", id)
				if i%10 == 0 {
					state.Snapshot().Hash()
					ledger.Diff(before, state.Snapshot())
				}
				if i%2 == 0 {
					state.Apply(update(ledger.OpRemove, id, ``))
				}
			}
		})
	}
	wg.Wait()
	if n := len(state.Snapshot().Entities["order"]); n != 1+8*25 {
		t.Errorf("%d orders", n)
	}
	if n := len(state.Snapshot().Flags); n != 8*50 {
		t.Errorf("%d flags", n)
	}
}

// TestRulesAndState applies what the rules of several tools make of recorded calls.
func TestRulesAndState(t *testing.T) {
	rules := make(map[string]*ledger.Rule)
	for tool, text := range map[string]string{
		"get_order": getOrder,
		"refund_order": `{"entity_type":"order","id_from":"$args.order_id","field_map":{"status":"$.status"},` +
			`"flags":["refunded:{id}"]}`,
		"cancel_order": `{"op":"remove","entity_type":"order","id_from":"$.order_id"}`,
	} {
		rule, err := ledger.Compile(mustAdapter(t, text))
		if err != nil {
			t.Fatal(err)
		}
		rules[tool] = rule
	}
	state := mustState(t, `{"order":{"7":{"status":"open"}}}`, mustSchema(t, orderSchema))
	before := state.Snapshot()
	for _, call := range []struct{ tool, args, response, want string }{
		{"get_order", `{"order_id":"4521"}`, `{"order_id":"4521","status":"paid","amount":42.5}`,
			"update order/4521: status, total - created\nset_flag fetched_order:4521 - flag_set"},
		{"get_order", `{"order_id":"9"}`, `{"error":"not found"}`, ""},
		{"web_search", `{"q":"x"}`, `[]`, ""},
		{"refund_order", `{"order_id":"4521"}`, `{"status":"refunded"}`,
			"update order/4521: status - changed\nset_flag refunded:4521 - flag_set"},
		{"refund_order", `{"order_id":"4521"}`, `{"status":"unheard of"}`, "update order/4521: status - violation\n" +
			"  /order/4521/status is not one of the values in the ledger schema's enum [not_in_enum]\nset_flag refunded:4521 - unchanged"},
		{"cancel_order", `{}`, `{"order_id":"7"}`, "remove order/7 - removed"},
	} {
		outcome := rules[call.tool].Eval(json.RawMessage(call.args), json.RawMessage(call.response))
		var lines []string
		for _, applied := range state.Apply(outcome.Updates...) {
			lines = append(lines, applied.String())
		}
		if got := strings.Join(lines, "\n"); got != call.want {
			t.Errorf("%s:\n%s\nwant:\n%s", call.tool, got, call.want)
		}
	}
	if got, want := ledger.Diff(before, state.Snapshot()).String(), `added /order/4521: {"status":"refunded","total":42.5}
removed /order/7: {"status":"open"}
added flag fetched_order:4521
added flag refunded:4521
`; got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}
