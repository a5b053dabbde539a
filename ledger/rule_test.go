package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
)

// eval compiles the adapter and returns the outcome as compact lines: one per update with its field
// values, then the step codes.
func eval(t testing.TB, adapter, args, response string) string {
	t.Helper()
	rule, _ := ledger.Compile(mustAdapter(t, adapter))
	return lines(t, rule.Eval(json.RawMessage(args), json.RawMessage(response)))
}

func lines(t testing.TB, out ledger.Outcome) string {
	t.Helper()
	var text []string
	for _, u := range out.Updates {
		line, err := json.Marshal(u)
		if err != nil {
			t.Fatalf("%v: %#v", err, u)
		}
		text = append(text, string(line))
	}
	var codes []string
	for _, s := range out.Steps {
		codes = append(codes, s.Code)
		if s.Message == "" {
			t.Errorf("%s has no words", s.Code)
		}
	}
	return strings.Join(append(text, strings.Join(codes, " ")), "\n")
}

// order makes an adapter of the documented example with other members on top.
func order(members string) string {
	return `{"entity_type":"order","id_from":"$.order_id"` + members + `}`
}

func flag(template string) string {
	text, _ := json.Marshal(template)
	return `{"op":"set_flag","flags":[` + string(text) + `]}`
}

// updated returns the line of an update of an order, flagged the line of a flag.
func updated(id, fields string) string {
	if fields != "" {
		fields = `,"fields":` + fields
	}
	return `{"op":"update","entity_type":"order","id":"` + id + `"` + fields + "}\n"
}

func flagged(name string) string { return `{"op":"set_flag","flag":"` + name + `"}` + "\n" }

func TestEval(t *testing.T) {
	for _, tt := range []struct{ name, adapter, args, response, want string }{
		{"the documented example", getOrder, `{"order_id":"4521"}`, `{"order_id":"4521","status":"paid","amount":42.5}`,
			updated("4521", `{"status":"paid","total":42.5}`) + flagged("fetched_order:4521") +
				"id_found field_set field_set flag_set"},

		// id_from
		{"id matches nothing", getOrder, `{"order_id":"4521"}`, `{"error":"not found"}`, "id_not_found"},
		{"id is an object", getOrder, `{"order_id":"4521"}`, `{"order_id":{}}`, "id_not_scalar"},
		{"id is an array", getOrder, `{"order_id":"4521"}`, `{"order_id":["4521"]}`, "id_not_scalar"},
		{"id is null", getOrder, `{"order_id":"4521"}`, `{"order_id":null}`, "id_empty"},
		{"id is empty", getOrder, `{"order_id":"4521"}`, `{"order_id":""}`, "id_empty"},
		{"id is an integer", order(""), ``, `{"order_id":4521}`, updated("4521", "") + "id_found"},
		{"id is a large integer", order(""), ``, `{"order_id":12345678901234567890123}`,
			updated("12345678901234567890123", "") + "id_found"},
		{"id is 2^53+1", order(""), ``, `{"order_id":9007199254740993}`, updated("9007199254740993", "") + "id_found"},
		{"id has an exponent", order(""), ``, `{"order_id":4.521e3}`, updated("4521", "") + "id_found"},
		{"id has a fraction of zero", order(""), ``, `{"order_id":4521.0}`, updated("4521", "") + "id_found"},
		{"id has a fraction", order(""), ``, `{"order_id":1.5}`, updated("1.5", "") + "id_found"},
		{"id is a boolean", order(""), ``, `{"order_id":true}`, updated("true", "") + "id_found"},
		{"id is a huge number", order(""), ``, `{"order_id":1e999999999}`, "id_unusable"},
		{"id is a long string", order(""), ``, `{"order_id":"` + strings.Repeat("x", 1025) + `"}`, "id_unusable"},
		{"id has escapes", order(""), ``, `{"order_id":"a\u002fb\n"}`,
			`{"op":"update","entity_type":"order","id":"a/b\n"}` + "\nid_found"},
		{"id is the whole response", `{"entity_type":"order","id_from":"$"}`, ``, ` "4521" `, updated("4521", "") +
			"id_found"},
		{"id is the only match of a wildcard", `{"entity_type":"order","id_from":"$.orders[*].id"}`, ``, `{"orders":[{"id":7},{}]}`,
			updated("7", "") + "id_found"},
		{"id has a name that is a number", `{"entity_type":"order","id_from":"$.orders['1']"}`, ``, `{"orders":{"1":"a"}}`,
			updated("a", "") + "id_found"},
		{"a wildcard matches two ids", `{"entity_type":"order","id_from":"$..id"}`, ``, `{"orders":[{"id":7},{"id":7}]}`, "id_not_scalar"},
		{"a wildcard matches one list", `{"entity_type":"order","id_from":"$..id"}`, ``, `{"id":["7"]}`, "id_not_scalar"},
		{"id comes from the arguments", `{"entity_type":"order","id_from":"$args.order_id"}`, `{"order_id":7}`, `no JSON`,
			updated("7", "") + "id_found"},

		// field_map
		{"a field path matches nothing", order(`,"field_map":{"a":"$.a","b":"$.b"}`), ``, `{"order_id":"1","b":2}`,
			updated("1", `{"b":2}`) + "id_found field_not_found field_set"},
		{"a field path matches null", order(`,"field_map":{"a":"$.a"}`), ``, `{"order_id":"1","a":null}`,
			updated("1", `{"a":null}`) + "id_found field_set"},
		{"no field matches", order(`,"field_map":{"a":"$.a"}`), ``, `{"order_id":"1"}`,
			updated("1", "") + "id_found field_not_found"},
		{"fields of every kind", order(`,"field_map":{"a":"$.v[0]","b":"$.v[1]","c":"$.v[2]","d":"$.v[3]","e":"$['v'][4]"}`),
			``,
			`{"order_id":"1","v":["x",12345678901234567890.10,false,{"k":[1]},[]]}`,
			updated("1", `{"a":"x","b":12345678901234567890.10,"c":false,"d":{"k":[1]},"e":[]}`) +
				"id_found field_set field_set field_set field_set field_set"},
		{"a wildcard is the array of all matches", order(`,"field_map":{"skus":"$.items[*].sku"}`), ``,
			`{"order_id":"1","items":[{"sku":"A"},{},{"sku":"B"}]}`,
			updated("1", `{"skus":["A","B"]}`) + "id_found field_set"},
		{"also of one match", order(`,"field_map":{"skus":"$..sku"}`), ``, `{"order_id":"1","items":[{"sku":"A"}]}`,
			updated("1", `{"skus":["A"]}`) + "id_found field_set"},
		{"a wildcard without a match", order(`,"field_map":{"skus":"$.items[*].sku"}`), ``, `{"order_id":"1","items":[]}`,
			updated("1", "") + "id_found field_not_found"},
		{"members are in the order of their names", order(`,"field_map":{"all":"$.m.*"}`), ``,
			`{"order_id":"1","m":{"c":3,"a":1,"b":2}}`,
			updated("1", `{"all":[1,2,3]}`) + "id_found field_set"},
		{"a field from the arguments", order(`,"field_map":{"note":"$args.note","x":"$args.x"}`), `{"note":"n"}`,
			`{"order_id":"1"}`,
			updated("1", `{"note":"n"}`) + "id_found field_set field_not_found"},
		{"a bare name", `{"entity_type":"order","id_from":"order_id","field_map":{"s":"status"}}`, ``,
			`{"order_id":"1","status":"open"}`,
			updated("1", `{"s":"open"}`) + "id_found field_set"},

		// op
		{"add", order(`,"op":"add","field_map":{"a":"$.a"}`), ``, `{"order_id":"1","a":1}`,
			`{"op":"add","entity_type":"order","id":"1","fields":{"a":1}}` + "\nid_found field_set"},
		{"remove", order(`,"op":"remove","field_map":{"a":"$.a"},"flags":["gone:{id}"]`), ``, `{"order_id":"1","a":1}`,
			`{"op":"remove","entity_type":"order","id":"1"}` + "\n" + flagged("gone:1") + "id_found fields_ignored flag_set"},
		{"set_flag looks at no response", flag("seen"), `no JSON`, `no JSON`, flagged("seen") + "flag_set"},

		// flags
		{"an unresolved placeholder drops its flag only", order(`,"flags":["a:{nope}","b:{id}","c:{order_id}"]`),
			`{"order_id":"2"}`, `{"order_id":"1"}`,
			updated("1", "") + flagged("b:1") + flagged("c:2") +
				"id_found flag_unresolved flag_set flag_set"},
		{"{id} is the entity's id, not the argument", order(`,"flags":["{id}"]`), `{"id":"argument"}`,
			`{"order_id":"entity"}`,
			updated("entity", "") + flagged("entity") + "id_found flag_set"},
		{"{id} without an entity is the argument", flag("{id}"), `{"id":5}`, ``, flagged("5") + "flag_set"},
		{"{id} without either", flag("{id}"), `{}`, ``, "flag_unresolved"},
		{"no arguments at all", flag("a:{x}"), ``, ``, "flag_unresolved"},
		{"arguments that are null", flag("a:{x}"), ` null `, ``, "flag_unresolved"},
		{"repeated placeholders", flag("{a}-{b}-{a}{a}"), `{"a":"x","b":"y"}`, ``, flagged("x-y-xx") + "flag_set"},
		{"placeholders are not interpolated twice", flag("{a}"), `{"a":"{b}","b":"x"}`, ``, flagged("{b}") + "flag_set"},
		{"a large integer", flag("{n}"), `{"n":123456789012345678901234567890}`, ``,
			flagged("123456789012345678901234567890") + "flag_set"},
		{"no exponent for a million", flag("{n}"), `{"n":1000000}`, ``, flagged("1000000") + "flag_set"},
		{"no exponent for 1e21", flag("{n}"), `{"n":1e21}`, ``, flagged("1000000000000000000000") + "flag_set"},
		{"no exponent for 1e-7", flag("{n}"), `{"n":1E-7}`, ``, flagged("0.0000001") + "flag_set"},
		{"a fraction", flag("{n}"), `{"n":-12.50}`, ``, flagged("-12.5") + "flag_set"},
		{"zero", flag("{n}"), `{"n":-0.0e5}`, ``, flagged("0") + "flag_set"},
		{"a number that would be too long", flag("{n}"), `{"n":1e64}`, ``, "flag_unresolved"},
		{"a longest number", flag("{n}"), `{"n":1e63}`, ``,
			`{"op":"set_flag","flag":"1` + strings.Repeat("0", 63) + `"}` + "\nflag_set"},
		{"a number that would be too long with its sign", flag("{n}"), `{"n":-1e63}`, ``, "flag_unresolved"},
		{"a fraction that would be too long", flag("{n}"), `{"n":1e-63}`, ``, "flag_unresolved"},
		{"booleans", flag("{a}{b}"), `{"a":true,"b":false}`, ``, flagged("truefalse") + "flag_set"},
		{"null is not a scalar to write", flag("{a}"), `{"a":null}`, ``, "flag_unresolved"},
		{"an object argument", flag("{a}"), `{"a":{"b":1}}`, ``, "flag_unresolved"},
		{"an array argument", flag("{a}"), `{"a":[1]}`, ``, "flag_unresolved"},
		{"a nested argument", flag("{a.b}"), `{"a":{"b":1}}`, ``, "flag_unresolved"},
		{"an argument with a dot in its name", flag("{a.b}"), `{"a.b":1}`, ``, flagged("1") + "flag_set"},
		{"names are case-sensitive", flag("{A}"), `{"a":1}`, ``, "flag_unresolved"},
		{"names are not trimmed", flag("{ a }"), `{"a":1}`, ``, "flag_unresolved"},
		{"an empty argument", flag("a:{a}"), `{"a":""}`, ``, flagged("a:") + "flag_set"},
		{"a flag that comes out empty", flag("{a}"), `{"a":""}`, ``, "flag_unusable"},
		{"a longest flag", flag("{a}{a}"), `{"a":"` + strings.Repeat("x", 512) + `"}`, ``,
			`{"op":"set_flag","flag":"` + strings.Repeat("x", 1024) + `"}` + "\nflag_set"},
		{"a flag that comes out too long", flag("{a}{a}y"), `{"a":"` + strings.Repeat("x", 512) + `"}`, ``, "flag_unusable"},
		{"double braces", flag("{{a}}"), `{"a":1}`, ``, "flag_malformed"},
		{"an open brace", flag("a{"), `{"a":1}`, ``, "flag_malformed"},
		{"a closing brace", flag("a}"), `{"a":1}`, ``, "flag_malformed"},
		{"closing braces", flag("a}b}"), `{"b":1}`, ``, "flag_malformed"},
		{"no name", flag("a{}"), `{"a":1}`, ``, "flag_malformed"},
		{"an empty template", flag(""), `{"a":1}`, ``, "flag_malformed"},
		{"a malformed flag leaves the others", `{"op":"set_flag","flags":["{{a}}","b"]}`, ``, ``,
			flagged("b") + "flag_malformed flag_set"},

		// documents that cannot be used
		{"a response that is not JSON", getOrder, `{}`, `<html>`, "response_unusable"},
		{"no response", getOrder, `{}`, ``, "response_unusable"},
		{"a response with a member twice", getOrder, `{}`, `{"order_id":"1","order_id":"2"}`, "response_unusable"},
		{"a response in two parts", getOrder, `{}`, `{"order_id":"1"}{}`, "response_unusable"},
		{"a response nested 64 deep", order(""), ``,
			`{"order_id":"1","x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`,
			updated("1", "") + "id_found"},
		{"a response nested deeper", order(""), ``,
			`{"order_id":"1","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "response_unusable"},
		{"a response nested without end", order(""), ``, strings.Repeat("[", 1<<20), "response_unusable"},
		{"a response of more than 1 MiB", order(""), ``, `{"order_id":"1","x":"` + strings.Repeat("x", 1<<20) + `"}`,
			"response_unusable"},
		{"a response that is a scalar", getOrder, `{}`, `5`, "id_not_found"},
		{"arguments that are not JSON", order(`,"flags":["a","{x}"]`), `{"x":`, `{"order_id":"1"}`,
			updated("1", "") + flagged("a") + "args_unusable id_found flag_set flag_unresolved"},
		{"arguments that are not an object", flag("{x}"), `[1]`, ``, "args_unusable flag_unresolved"},
		{"fields that would take more than 1 MiB", order(`,"field_map":{"a":"$.x","b":"$.x","c":"$.y"}`), ``,
			`{"order_id":"1","y":1,"x":"` + strings.Repeat("x", 600_000) + `"}`,
			`{"op":"update","entity_type":"order","id":"1","fields":{"a":"` + strings.Repeat("x", 600_000) + `","c":1}}` +
				"\nid_found field_set field_unusable field_set"},

		// declarations that cannot be used
		{"an empty adapter", `{}`, `{}`, `{"order_id":"1"}`, "adapter_malformed adapter_malformed"},
		{"not an adapter", `"x"`, `{}`, `{}`, "adapter_malformed"},
		{"wrong types", `{"op":1,"flags":2}`, `{}`, `{}`,
			"adapter_malformed adapter_malformed adapter_malformed adapter_malformed"},
		{"an unknown op", order(`,"op":"upsert"`), `{}`, `{"order_id":"1"}`, "adapter_unsupported"},
		{"members of a later release", order(`,"when":{"field":"x","eq":1},"list_append":{}`), `{}`, `{"order_id":"1"}`,
			"adapter_unsupported adapter_unsupported"},
		{"an id path that is not evaluated", `{"entity_type":"order","id_from":"$.a[?(@.main)][1,2]"}`, `{}`, `{"a":1}`,
			"adapter_unsupported"},
		{"a malformed id path", `{"entity_type":"order","id_from":"$.a*2"}`, `{}`, `{"a":1}`, "adapter_malformed"},
		{"field paths that cannot be evaluated",
			order(`,"field_map":{"a":"$.a[?@.x == $.x].x","b":"$..a..b","c":"$.c*2","d":"","sku":"$.items[-1].sku"},` +
				`"flags":["f:{id}"]`),
			`{}`, `{"order_id":"1","items":[{"sku":"A"},{"sku":"B"}]}`, updated("1", `{"sku":"B"}`) + flagged("f:1") +
				"id_found field_unsupported field_unsupported field_malformed field_malformed field_set flag_set"},
		{"the one that a filter selects", `{"entity_type":"order","id_from":"$.orders[?@.current == true].id","field_map":{` +
			`"skus":"$.orders[?@.current == true].lines[?@.count > 1].sku"}}`, `{}`,
			`{"orders":[{"id":"1","lines":[]},{"id":"2","current":true,"lines":[{"sku":"A","count":1},{"sku":"B","count":2}]}]}`,
			updated("2", `{"skus":["B"]}`) + "id_found field_set"},
		{"every kind of path", order(`,"field_map":{"a":"$.items[-1].sku","b":"$.items[0:2].n","c":"$.items[0,2].n",` +
			`"d":"$['x','y']",` +
			`"e":"$.items[0]..*","f":"$.items[ 0 ].n","g":"$.order-id","h":"order-id"}`), `{}`,
			`{"order_id":"1","items":[{"sku":"A","n":1},{"n":2},{"n":3,"sku":"C"}],"y":[],"x":0,"order-id":7}`,
			updated("1", `{"a":"C","b":[1,2],"c":[1,3],"d":[0,[]],"e":[1,"A"],"f":1,"g":7,"h":7}`) +
				"id_found" + strings.Repeat(" field_set", 8)},
		{"set_flag with an entity", `{"op":"set_flag","entity_type":"order","flags":["a"]}`, `{}`, `{}`, "adapter_malformed"},
		{"set_flag without flags", `{"op":"set_flag"}`, `{}`, `{}`, "adapter_malformed"},
		{"a later release", `{"effects":[{"op":"set_flag","flags":["x"]}]}`, `{}`, `{}`, "adapter_unsupported"},
		{"conditions of a later release", order(`,"when":{"field":"ok","eq":true}`), `{}`, `{"order_id":"1"}`,
			"adapter_unsupported"},
		{"unknown members change nothing", order(`,"comment":"x"`), `{}`, `{"order_id":"1"}`, updated("1", "") + "id_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := eval(t, tt.adapter, tt.args, tt.response); got != tt.want {
				t.Errorf("got\n%.2000s\nwant\n%.2000s", got, tt.want)
			}
		})
	}
}

func TestCompileReportsWhatCannotBeEvaluated(t *testing.T) {
	for _, tt := range []struct {
		adapter string
		want    []string
	}{
		{getOrder, nil},
		{`{}`, []string{"missing /entity_type", "missing /id_from"}},
		{`{"op":"set_flag","flags":["{{x}}"]}`, []string{"invalid_template /flags/0"}},
		{`{"effects":[]}`, []string{"unsupported /effects"}},
		{order(`,"when":{},"list_append":{},"list_remove":{}`),
			[]string{"unsupported /when", "unsupported /list_append", "unsupported /list_remove"}},
	} {
		rule, err := ledger.Compile(mustAdapter(t, tt.adapter))
		if rule == nil {
			t.Fatalf("%s: no rule", tt.adapter)
		}
		checkProblems(t, err, tt.want...)
	}
	rule, err := ledger.Compile(nil)
	checkProblems(t, err, "wrong_type ")
	if got := lines(t, rule.Eval(nil, nil)); got != "adapter_malformed" {
		t.Errorf("a rule of nil: %s", got)
	}
	for _, none := range []*ledger.Rule{nil, {}} {
		if got := lines(t, none.Eval(nil, json.RawMessage(`{}`))); got != "no_adapter" {
			t.Errorf("no rule: %s", got)
		}
	}
}

// TestLimits holds each limit of an evaluation to a response at it and one beyond it.
func TestLimits(t *testing.T) {
	rule, err := ledger.Compile(mustAdapter(t, order(`,"flags":["{id}"]`)))
	if err != nil {
		t.Fatal(err)
	}
	response := func(id, rest string) string { return `{"order_id":"` + id + `"` + rest + `}` }
	list := func(n int) string { return `,"v":[` + strings.Repeat("0,", n-1) + `0]` }
	levels := func(n int) string { return `,"v":` + strings.Repeat("[", n) + strings.Repeat("]", n) }
	padded := func(n int) string {
		text := response("1", "")
		return text + strings.Repeat(" ", n-len(text))
	}
	for _, tt := range []struct{ name, response, want string }{
		{"most bytes", padded(1 << 20), "id_found flag_set"},
		{"a byte more", padded(1<<20 + 1), "response_unusable"},
		{"most levels", response("1", levels(63)), "id_found flag_set"},
		{"a level more", response("1", levels(64)), "response_unusable"},
		{"many values", response("1", list(500_000)), "id_found flag_set"},
		{"the longest id", response(strings.Repeat("x", 1024), ""), "id_found flag_set"},
		{"a longer id", response(strings.Repeat("x", 1025), ""), "id_unusable"},
	} {
		text := lines(t, rule.Eval(nil, json.RawMessage(tt.response)))
		if got := text[strings.LastIndexByte(text, '\n')+1:]; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Steps and errors must not contain values of a call; only updates do.
func TestStepsHoldNoValues(t *testing.T) {
	const secret = "s3cret"
	args := json.RawMessage(`{"x":"` + secret + `","y":{"z":"` + secret + `"}}`)
	adapters := []string{getOrder, flag("{x}"), flag("{y}"), flag("{nope}"),
		order(`,"field_map":{"a":"$.a"}`), order(`,"flags":["{x}"]`)}
	responses := []string{`{"order_id":"` + secret + `","a":"` + secret + `"}`, `{"order_id":{"` + secret + `":1}}`,
		`"` + secret + `"`, `"` + secret, `{"order_id":"` + secret + strings.Repeat("x", 1024) + `"}`}
	for _, adapter := range adapters {
		for _, response := range responses {
			rule, _ := ledger.Compile(mustAdapter(t, adapter))
			text, err := json.Marshal(rule.Eval(args, json.RawMessage(response)).Steps)
			if err != nil || strings.Contains(string(text), secret) {
				t.Errorf("%s: %s, %v", adapter, text, err)
			}
		}
	}
}

// The test runs many wildcards, slices and descents on the worst responses. BenchmarkEvalHostile
// measures their time.
func TestHostileResponses(t *testing.T) {
	fields := make(map[string]string)
	paths := []string{"$..id", "$.x[*].id", "$..x[0]", "$.x[100000].id", "$.*.*", "$..*", "$.x[::-1].id", "$.x[-1].id",
		"$.x[0:]['id','x']", "$.*[*].*"}
	for i := range 2 * len(paths) {
		fields[fmt.Sprintf("f%02d", i)] = paths[i%len(paths)]
	}
	rule, err := ledger.Compile(&ledger.Adapter{EntityType: "order", IDFrom: "$.order_id", FieldMap: fields})
	if err != nil {
		t.Fatal(err)
	}
	bound := uint64(256 << 20)
	if testkit.Race { // the detector changes what is allocated: the code asks for about half as much again
		bound *= 2
	}
	for name, response := range hostileResponses() {
		var out ledger.Outcome
		if spent := cost.Allocated(func() { out = rule.Eval(nil, response) }); spent > bound {
			t.Errorf("%s: %d bytes allocated", name, spent)
		}
		if len(out.Updates) != 1 || len(out.Steps) != 1+len(fields) {
			t.Errorf("%s: %d updates, %d steps", name, len(out.Updates), len(out.Steps))
		}
	}
}

// A hundred descents with nested matches cost about as much as a few: the rest are left out.
func TestNestedMatches(t *testing.T) {
	const levels = 58
	nested := func(inner string) []byte {
		return []byte(`{"order_id":"1","x":` + strings.Repeat(`{"x":`, levels) + inner + strings.Repeat(`}`, levels) + `}`)
	}
	for _, tt := range []struct{ name, path, inner string }{
		{"a string", "$..x.zz", `"` + strings.Repeat("y", 1_000_000) + `"`},
		{"an array", "$..x.zz", `["` + strings.Repeat("y", 1_000_000) + `"]`},
		{"a long name", "$..x.zz", `{"` + strings.Repeat("y", 1_000_000) + `":1}`},
		{"a long path", "$..x" + strings.Repeat(".x", levels) + ".zz", `"` + strings.Repeat("y", 1_000_000) + `"`},
		{"escapes", "$..x.zz", `"` + strings.Repeat(`\"`, 500_000) + `"`},
		{"numbers", "$..x.zz", "[1" + strings.Repeat(",1", 400_000) + "]"},
		{"nothing after it", "$..x", `"` + strings.Repeat("y", 1_000_000) + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fields := make(map[string]string)
			for i := range 100 {
				fields[fmt.Sprintf("f%d", i)] = tt.path
			}
			rule, err := ledger.Compile(&ledger.Adapter{EntityType: "order", IDFrom: "$.order_id", FieldMap: fields})
			if err != nil {
				t.Fatal(err)
			}
			document := nested(tt.inner)
			var out ledger.Outcome
			if spent := cost.Allocated(func() { out = rule.Eval(nil, document) }); spent > 48<<20 {
				t.Errorf("%d bytes allocated", spent)
			}
			if len(out.Updates) != 1 || len(out.Updates[0].Fields) != 0 || len(out.Steps) != 1+100 {
				t.Errorf("%d updates, %d steps", len(out.Updates), len(out.Steps))
			}
		})
	}
}

// A rule keeps nothing between calls, so the thousandth call costs as much as the first.
func TestEvalAllocatesTheSameEveryTime(t *testing.T) {
	rule, err := ledger.Compile(mustAdapter(t, getOrder))
	if err != nil {
		t.Fatal(err)
	}
	args, response := json.RawMessage(`{"order_id":"4521"}`), json.RawMessage(orderResponse(1<<10))
	run := func() { rule.Eval(args, response) }
	first := testing.AllocsPerRun(100, run)
	for range 10_000 {
		run()
	}
	if later := testing.AllocsPerRun(100, run); later > first+2 || later > 320 {
		t.Errorf("%v allocations, then %v; at most 320 are allowed", first, later)
	}
}

// A key that would break the report is quoted in it.
func TestReportsStayOnTheirLines(t *testing.T) {
	rule, err := ledger.Compile(mustAdapter(t, order(`,"field_map":{"a":"$..x"},"flags":["{x}","y"]`)))
	if err != nil {
		t.Fatal(err)
	}
	out := rule.Eval(json.RawMessage(`{"x":"a\nb"}`), json.RawMessage(`{"order_id":"1\n2","x":0}`))
	const want = `3 updates
  update order/"1\n2": a
  set_flag "a\nb"
  set_flag y
because
  id_from "$.order_id" matched a string: this is the entity's id
  field_map/a "$..x" matched an array: the field is written
  flags/0 "{x}" is complete: the flag is set
  flags/1 "y" is complete: the flag is set
`
	if got := out.Explain(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExplainMalformedAdapters(t *testing.T) {
	for _, tt := range []struct{ adapter, want string }{
		{`"x"`,
			"nothing written\nbecause\n  the adapter must be an object, not a string: the adapter is malformed and nothing " +
				"is written\n"},
		{`{"entity_type":"order","id_from":"$.a["}`,
			"nothing written\nbecause\n  id_from \"$.a[\" has a [ that is not closed (at byte 5): the adapter is malformed " +
				"and nothing is written\n"},
		{`{"entity_type":"order","id_from":"$..b..c"}`,
			"nothing written\nbecause\n  id_from \"$..b..c\" has more than one .. segment, which is not evaluated here; " +
				"the platform may evaluate it: nothing is written\n"},
		{`{"op":"upsert","when":{}}`,
			"nothing written\nbecause\n  op must be add, update, remove or set_flag; ops of later releases are not " +
				"evaluated here: nothing is written\n" +
				"  when belongs to a later release and is not evaluated here: nothing is written\n"},
		{`{"op":"set_flag","flags":["seen:{id}","seen:{order_id}"]}`,
			"nothing written\nbecause\n" +
				"  flags/0 \"seen:{id}\" has no argument for {id}, and set_flag has no entity with an id: the flag is dropped\n" +
				"  flags/1 \"seen:{order_id}\" has no argument for {order_id}: the flag is dropped\n"},
		{`{"effects":[]}`,
			"nothing written\nbecause\n  effects belongs to a later release and is not evaluated here: nothing is written\n"},
	} {
		rule, _ := ledger.Compile(mustAdapter(t, tt.adapter))
		if got := rule.Eval(nil, nil).Explain(); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

// The outcome must not change if the caller reuses its buffers.
func TestEvalKeepsNoInput(t *testing.T) {
	rule, err := ledger.Compile(mustAdapter(t, order(`,"field_map":{"a":"$.a","all":"$.*"},"flags":["{x}"]`)))
	if err != nil {
		t.Fatal(err)
	}
	args, response := []byte(`{"x":"abc"}`), []byte(`{"order_id":"1","a":[1,2,3]}`)
	out := rule.Eval(args, response)
	before := lines(t, out)
	for i := range response {
		response[i] = '#'
	}
	for i := range args {
		args[i] = '#'
	}
	if after := lines(t, out); after != before {
		t.Errorf("the outcome changed from\n%s\nto\n%s", before, after)
	}
}

func TestRuleIsSafeForConcurrentUse(t *testing.T) {
	rule, err := ledger.Compile(mustAdapter(t, order(`,"field_map":{"a":"$..a","b":"$.b[0]"},"flags":["{x}"]`)))
	if err != nil {
		t.Fatal(err)
	}
	args, response := json.RawMessage(`{"x":1}`), json.RawMessage(`{"order_id":"1","b":[{"a":1}]}`)
	want := lines(t, rule.Eval(args, response))
	done := make(chan string)
	for range 8 {
		go func() {
			got := ""
			for range 200 {
				got = fmt.Sprint(rule.Eval(args, response))
			}
			done <- got
		}()
	}
	first := <-done
	for range 7 {
		if got := <-done; got != first {
			t.Errorf("%s\n%s", got, first)
		}
	}
	if got := lines(t, rule.Eval(args, response)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
