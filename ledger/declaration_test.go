package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
)

// problemsOf lists the problems of err as "code pointer".
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		t.Fatalf("err is a %T, want *toolwire.Error: %v", err, err)
	}
	if e.Code == "" || toolwire.CodeOf(err) != e.Code {
		t.Errorf("Code = %q, CodeOf = %q", e.Code, toolwire.CodeOf(err))
	}
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.Code+" "+p.Pointer)
		if p.Message == "" {
			t.Errorf("%s has no message", p.Code)
		}
	}
	return lines
}

func checkProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	got := problemsOf(t, err)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("problems:\n  %s\nwant:\n  %s\n%v", strings.Join(got, "\n  "), strings.Join(want, "\n  "), err)
	}
}

const orderSchema = `{"entities":[{"type":"order","id_field":"order_id","fields":[
	{"name":"status","type":"string","enum":["open","paid","refunded"]},{"name":"total","type":"number"}]}]}`

func mustSchema(t testing.TB, text string) *ledger.Schema {
	t.Helper()
	s := new(ledger.Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func mustAdapter(t testing.TB, text string) *ledger.Adapter {
	t.Helper()
	a := new(ledger.Adapter)
	if err := json.Unmarshal([]byte(text), a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSchemaValidate(t *testing.T) {
	entities := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"type":"t%d","id_field":"id"}`, i)
		}
		return `{"entities":[` + strings.Join(list, ",") + `]}`
	}
	fields := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"f%d","type":"string"}`, i)
		}
		return `{"entities":[{"type":"order","id_field":"id","fields":[` + strings.Join(list, ",") + `]}]}`
	}
	field := func(text string) string {
		return `{"entities":[{"type":"order","id_field":"id","fields":[` + text + `]}]}`
	}
	for _, tt := range []struct {
		name, doc string
		want      []string
	}{
		{"an order", orderSchema, nil},
		{"no entity types", `{"entities":[]}`, nil},
		{"all six types", field(`{"name":"a","type":"string"},{"name":"b","type":"number"},{"name":"c","type":"integer"},
			{"name":"d","type":"boolean"},{"name":"e","type":"object"},{"name":"f","type":"array"}`), nil},
		{"every kind of scalar", field(`{"name":"a","type":"string","enum":["x",1,1.5,true,null]}`), nil},
		{"100 entity types", entities(100), nil},
		{"101 entity types", entities(101), []string{"too_many /entities"}},
		{"100 fields", fields(100), nil},
		{"101 fields", fields(101), []string{"too_many /entities/0/fields"}},
		{"flags", `{"entities":[],"flags":{"policy":"closed","values":["a"]}}`, nil},
		{"policies", `{"entities":[{"type":"a","id_field":"id","field_policy":"open"}],"field_policy":"closed"}`, nil},
		{"a ref", `{"entities":[{"type":"a","id_field":"id","fields":[{"name":"b_id","type":"string","ref":"b"}]},
			{"type":"b","id_field":"id"}]}`, nil},
		{"null is absent", `{"entities":[],"flags":null,"field_policy":null}`, nil},

		{"nothing", `{}`, []string{"missing /entities"}},
		{"not an object", `[]`, []string{"wrong_type "}},
		{"entities of the wrong type", `{"entities":{}}`, []string{"wrong_type /entities"}},
		{"an entity that is not an object", `{"entities":[1,{"type":"a"}]}`,
			[]string{"wrong_type /entities/0", "missing /entities/1/id_field"}},
		{"wrong case", `{"Entities":[]}`, []string{"wrong_case /Entities", "missing /entities"}},
		{"a type twice", `{"entities":[{"type":"a","id_field":"id"},{"type":"a","id_field":"id"}]}`,
			[]string{"duplicate /entities/1/type"}},
		{"names", `{"entities":[{"type":"Order","id_field":"order-id","fields":[{"name":"1st","type":"string"}]}]}`,
			[]string{"invalid_name /entities/0/type", "invalid_name /entities/0/id_field",
				"invalid_name /entities/0/fields/0/name"}},
		{"a field without all", field(`{}`), []string{"missing /entities/0/fields/0/name",
			"missing /entities/0/fields/0/type"}},
		{"a field twice", field(`{"name":"a","type":"string"},{"name":"a","type":"number"}`),
			[]string{"duplicate /entities/0/fields/1/name"}},
		{"an unknown type", field(`{"name":"a","type":"date"}`), []string{"invalid_value /entities/0/fields/0/type"}},
		{"an empty enum", field(`{"name":"a","type":"string","enum":[]}`), []string{"missing /entities/0/fields/0/enum"}},
		{"an enum of objects", field(`{"name":"a","type":"string","enum":["x",{},[]]}`),
			[]string{"wrong_type /entities/0/fields/0/enum/1", "wrong_type /entities/0/fields/0/enum/2"}},
		{"an unknown ref", field(`{"name":"a","type":"string","ref":"b"}`), []string{"undeclared /entities/0/fields/0/ref"}},
		{"flags without a policy", `{"entities":[],"flags":{}}`, []string{"missing /flags/policy"}},
		{"flags of the wrong type", `{"entities":[],"flags":["a"]}`, []string{"wrong_type /flags"}},
		{"flag values of the wrong type", `{"entities":[],"flags":{"policy":"closed","values":["a",1]}}`,
			[]string{"wrong_type /flags/values/1"}},
		{"unknown policies",
			`{"entities":[{"type":"a","id_field":"id","field_policy":"x"}],"flags":{"policy":"y"},"field_policy":"z"}`,
			[]string{"invalid_value /entities/0/field_policy", "invalid_value /flags/policy", "invalid_value /field_policy"}},
		{"everything at once",
			`{"entities":[{"type":5},{"type":"a","id_field":"id"},{"type":"a","fields":[{"name":"A","type":"x"}]}],` +
				`"flags":{"policy":1}}`,
			[]string{"wrong_type /entities/0/type", "missing /entities/0/id_field", "missing /entities/2/id_field",
				"invalid_name /entities/2/fields/0/name", "invalid_value /entities/2/fields/0/type", "duplicate /entities/2/type",
				"wrong_type /flags/policy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkProblems(t, mustSchema(t, tt.doc).Validate(), tt.want...)
		})
	}
}

// all returns one error with the problems of an adapter and its unchecked ones.
func all(unchecked []toolwire.Problem, err error) error {
	if len(unchecked) == 0 {
		return err
	}
	var list []toolwire.Problem
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		list = e.Problems
	}
	return &toolwire.Error{Code: "invalid_adapter", Problems: append(unchecked, list...)}
}

// A name from a declaration is cut before it is put into a message.
func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, err := range []error{
		all((&ledger.Adapter{EntityType: long, IDFrom: "$." + long}).Validate(mustSchema(t, orderSchema))),
		(&ledger.Schema{Entities: []ledger.Entity{{Type: long, IDField: "id"}}}).Validate(),
	} {
		if text := err.Error(); len(text) > 1000 || !utf8.ValidString(text) {
			t.Errorf("a message of %d bytes: %.200s", len(text), text)
		}
	}
}

func TestNoSchemaIsValid(t *testing.T) {
	if err := (*ledger.Schema)(nil).Validate(); err != nil {
		t.Error(err)
	}
}

func TestSchemaWrittenInGo(t *testing.T) {
	s := &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id", Fields: []ledger.Field{
		{Name: "status", Type: "string", Enum: []any{"open", 1, nil, []string{"x"}}},
	}}}}
	checkProblems(t, s.Validate(), "invalid_value /entities/0/fields/0/enum/3")
}

func TestAdapterValidate(t *testing.T) {
	for _, tt := range []struct {
		name, doc, schema string
		want              []string
	}{
		{"the documented example", getOrder, orderSchema, nil},
		{"set_flag", `{"op":"set_flag","flags":["x"]}`, orderSchema, nil},
		{"remove", `{"op":"remove","entity_type":"order","id_from":"$.id"}`, orderSchema, nil},
		{"members of a later release", `{"effects":[{"op":"set_flag","flags":["x"]}],"when":{},"note":1}`, orderSchema,
			[]string{"unsupported /effects", "unsupported /when"}},
		{"lenient paths", `{"entity_type":"order","id_from":"order_id","field_map":{"status":"$args.status"}}`, orderSchema,
			nil},

		{"nothing", `{}`, "", []string{"missing /entity_type", "missing /id_from"}},
		{"null and empty are absent", `{"op":"","entity_type":null,"id_from":"","field_map":null,"flags":null}`, "",
			[]string{"missing /entity_type", "missing /id_from"}},
		{"not an object", `"x"`, "", []string{"wrong_type "}},
		{"wrong types", `{"op":1,"entity_type":2,"id_from":[],"field_map":[],"flags":"x"}`, "",
			[]string{"wrong_type /op", "wrong_type /entity_type", "wrong_type /id_from", "wrong_type /field_map",
				"wrong_type /flags"}},
		{"wrong types inside", `{"entity_type":"order","id_from":"$.id","field_map":{"a/b":1,"c":"$.c"},"flags":["x",2]}`, "",
			[]string{"wrong_type /field_map/a~1b", "wrong_type /flags/1"}},
		{"100 fields", manyFields(100), "", nil},
		{"101 fields", manyFields(101), "", []string{"too_many /field_map"}},
		{"a field without a name", `{"entity_type":"order","id_from":"$.id","field_map":{"":"$.a"}}`, "",
			[]string{"missing /field_map/"}},
		{"unknown op", `{"op":"upsert"}`, "", []string{"unsupported /op"}},
		{"wrong case", `{"Op":"add","entity_type":"order","id_from":"$.id"}`, "", []string{"wrong_case /Op"}},
		{"set_flag with entity members",
			`{"op":"set_flag","entity_type":"order","id_from":"$.id","field_map":{},"flags":["x"]}`, "",
			[]string{"forbidden /entity_type", "forbidden /id_from", "forbidden /field_map"}},
		{"set_flag without flags", `{"op":"set_flag","flags":[]}`, "", []string{"missing /flags"}},
		{"bad paths", `{"entity_type":"order","id_from":"$.a[?count(@.b)>1]","field_map":{"a":"$..a..b","b":"$.a*2",` +
			`"c":"$.a[1:2]","d":""}}`, "",
			[]string{"unsupported /id_from", "unsupported /field_map/a", "invalid_path /field_map/b",
				"invalid_path /field_map/d"}},
		{"an id that may be many", `{"entity_type":"order","id_from":"$..id"}`, "", nil},
		{"bad templates", `{"op":"set_flag","flags":["{{a}}","","a}","{","{}","ok:{a}"]}`, "",
			[]string{"invalid_template /flags/0", "invalid_template /flags/1", "invalid_template /flags/2",
				"invalid_template /flags/3", "invalid_template /flags/4"}},
		{"undeclared type", `{"entity_type":"refund","id_from":"$.id"}`, orderSchema, []string{"undeclared /entity_type"}},
		{"undeclared field, open", `{"entity_type":"order","id_from":"$.id","field_map":{"note":"$.n"}}`, orderSchema, nil},
		{"undeclared field, closed", `{"entity_type":"order","id_from":"$.id","field_map":{"note":"$.n","order_id":"$.id"}}`,
			strings.Replace(orderSchema, `{"entities"`, `{"field_policy":"closed","entities"`, 1),
			[]string{"undeclared /field_map/note"}},
		{"undeclared field, open in a closed schema", `{"entity_type":"order","id_from":"$.id","field_map":{"note":"$.n"}}`,
			`{"field_policy":"closed","entities":[{"type":"order","id_field":"order_id","field_policy":"open"}]}`, nil},
		{"undeclared flag, closed", `{"op":"set_flag","flags":["a","b","c:{x}"]}`,
			`{"entities":[],"flags":{"policy":"closed","values":["a"]}}`,
			[]string{"undeclared /flags/1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var schema *ledger.Schema
			if tt.schema != "" {
				schema = mustSchema(t, tt.schema)
			}
			unchecked, err := mustAdapter(t, tt.doc).Validate(schema)
			checkProblems(t, all(unchecked, err), tt.want...)
			// The platform rejects nothing else.
			if rejected := strings.Contains(strings.Join(tt.want, " "), "undeclared /entity_type"); rejected != (err != nil) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func manyFields(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"f%d":"$.f"`, i)
	}
	return `{"entity_type":"order","id_from":"$.id","field_map":{` + strings.Join(list, ",") + `}}`
}

const getOrder = `{
	"op": "update",
	"entity_type": "order",
	"id_from": "$.order_id",
	"field_map": { "status": "$.status", "total": "$.amount" },
	"flags": ["fetched_order:{order_id}"]
}`

// Reading and writing a declaration keeps everything: unknown members, wrong types and digits
// included.
func TestDeclarationsKeepWhatTheyDoNotKnow(t *testing.T) {
	for _, doc := range []string{
		`{"op":"update","entity_type":"order","id_from":"$.order_id","field_map":{"status":"$.status",` +
			`"total":"$.amount"},"flags":["f:{id}"]}`,
		`{"op":5,"id_from":["x"],"flags":[1],"zeta":{"b":1,"a":12345678901234567890},"alpha":1.50}`,
		`{"effects":[{"op":"add"}],"when":{"field":"x","eq":1}}`,
		`{"Op":"add"}`,
		`{"flags":[],"field_map":{}}`,
		`{"op":null}`,
		`{"op":"","entity_type":"","id_from":null,"field_map":null,"flags":null,"x":null}`,
		`"not an object"`,
	} {
		a := mustAdapter(t, doc)
		if got, err := json.Marshal(a); err != nil || !sameMembers(string(got), doc) {
			t.Errorf("adapter\n %s\nbecame\n %s, %v", doc, got, err)
		}
	}
	for _, doc := range []string{
		`{"entities":[{"type":"order","id_field":"id","description":"d","fields":[` +
			`{"name":"n","type":"integer","enum":[9007199254740993,1.50],"description":"d","ref":"order","x":1}],` +
			`"field_policy":"closed","y":2}],"flags":{"policy":"open","values":["a"],"z":[]},"field_policy":"open",` +
			`"later":{"b":1,"a":2}}`,
		`{"entities":[{"type":"","id_field":null,"description":"","fields":[{"name":null,"type":"","enum":null,` +
			`"description":"",` +
			`"ref":""}],"field_policy":""}],"flags":{"policy":"","values":null},"field_policy":null}`,
		`{"entities":null,"flags":null}`,
		`{"entities":[7,{"type":1,"fields":[null,{"enum":[[]]}]}],"flags":"x","field_policy":0}`,
		`[1]`,
	} {
		s := mustSchema(t, doc)
		if got, err := json.Marshal(s); err != nil || !sameMembers(string(got), doc) {
			t.Errorf("schema\n %s\nbecame\n %s, %v", doc, got, err)
		}
	}
}

// MarshalJSON writes the text that was read, at every level, without escapes for HTML.
func TestDeclarationsAreWrittenByteForByte(t *testing.T) {
	for _, tt := range []struct {
		into json.Marshaler
		doc  string
	}{
		{new(ledger.Adapter), `{"op":"update","field_map":{"a":"$['<']","b":"$.b"},"flags":["<&>"],"x":"<&>"}`},
		{new(ledger.Schema), `{"entities":[{"type":"a","id_field":"id","description":"a & b <c>","fields":[` +
			`{"name":"n","type":"string","enum":["<",1.50,null],"description":"<d>","x":{"a": "\u003c&"}}],"x_y":"<&>"}],` +
			`"flags":{"policy":"open","values":["<&>"],"x":[ "<" ]},"zz":1.0}`},
	} {
		if err := json.Unmarshal([]byte(tt.doc), tt.into); err != nil {
			t.Fatal(err)
		}
		if got, err := tt.into.MarshalJSON(); err != nil || string(got) != tt.doc {
			t.Errorf("\n %s\nbecame\n %s, %v", tt.doc, got, err)
		}
	}
}

// sameMembers compares texts, but malformed known members may come after the well-formed ones.
func sameMembers(a, b string) bool {
	return a == b || reflect.DeepEqual(decode(a), decode(b))
}

func decode(doc string) (v any) {
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func TestExtraCannotRepeatAMember(t *testing.T) {
	extra := []ledger.Member{{Name: "op", Value: json.RawMessage(`"add"`)}}
	_, err := json.Marshal(ledger.Adapter{Op: ledger.OpAdd, Extra: extra})
	checkProblems(t, err, "duplicate /op")
	extra = append(extra, ledger.Member{Name: "later", Value: json.RawMessage(`[1, 2]`)})
	text, err := json.Marshal(ledger.Adapter{Flags: []string{"<x>"}, Extra: extra})
	if want := `{"flags":["\u003cx\u003e"],"op":"add","later":[1,2]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

func TestDeclarationsMustBeStrictJSON(t *testing.T) {
	for _, doc := range []string{
		`{"op":"add","op":"remove"}`, `{"field_map":{"a":"$.a","a":"$.b"}}`, `{"op":"add"} x`, "{\"op\":\"\xff\"}", ``,
	} {
		var a ledger.Adapter
		var s ledger.Schema
		checkProblems(t, a.UnmarshalJSON([]byte(doc)), problemsOf(t, s.UnmarshalJSON([]byte(doc)))...)
		if err := a.UnmarshalJSON([]byte(doc)); err == nil {
			t.Errorf("%q was accepted", doc)
		}
	}
}

// A problem of a member disappears once its field is set; the other problems stay.
func TestSettingAFieldCorrectsIt(t *testing.T) {
	a := mustAdapter(t, `{"op":5,"entity_type":["order"],"id_from":"$.id","Flags":[]}`)
	a.Op = ledger.OpAdd
	checkProblems(t, all(a.Validate(nil)), "wrong_type /entity_type", "wrong_case /Flags")
	a.EntityType, a.Extra = "order", nil
	checkProblems(t, all(a.Validate(nil)))

	s := mustSchema(t, `{"entities":[{"type":"order","id_field":1,"fields":[{"name":"n","type":2}]}],"field_policy":3}`)
	s.FieldPolicy, s.Entities[0].IDField = "open", "id"
	checkProblems(t, s.Validate(), "wrong_type /entities/0/fields/0/type")
	s.Entities[0].Fields[0].Type = "string"
	checkProblems(t, s.Validate())
}
