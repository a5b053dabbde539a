package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// found returns the problems of a list, one per line: code, pointer.
func found(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok {
		t.Fatalf("error is a %T (%v), want *toolwire.Error", err, err)
	}
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, fmt.Sprintf("%s %s", p.Code, p.Pointer))
		if p.Message == "" || strings.Contains(p.Message, "%!") {
			t.Errorf("bad message %q of %s", p.Message, p.Code)
		}
	}
	return strings.Join(lines, "\n")
}

// verdict returns the problems of a list like found, then the unchecked ones, marked with "?".
func verdict(t testing.TB, tools []schema.Tool, o *schema.ValidateOptions) string {
	t.Helper()
	unchecked, err := schema.Validate(t.Context(), tools, o)
	lines := found(t, err)
	if len(unchecked) > 0 {
		lines += "\n? " + strings.ReplaceAll(found(t, &toolwire.Error{Problems: unchecked}), "\n", "\n? ")
	}
	return strings.TrimPrefix(lines, "\n")
}

// rejected returns only the error of Validate.
func rejected(ctx context.Context, tools []schema.Tool, o *schema.ValidateOptions) error {
	_, err := schema.Validate(ctx, tools, o)
	return err
}

func parse(t testing.TB, doc string) []schema.Tool {
	t.Helper()
	tools, err := importAs([]byte(doc), schema.Platform)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func writePlatform(tools []schema.Tool) ([]byte, error) {
	out, _, err := schema.Export(tools, schema.Platform)
	return out, err
}

func hasCode(e *toolwire.Error, code string) bool {
	return slices.ContainsFunc(e.Problems, func(p toolwire.Problem) bool { return p.Code == code })
}

func orders(t testing.TB) *ledger.Schema {
	t.Helper()
	var s ledger.Schema
	if err := json.Unmarshal([]byte(`{"entities":[{"type":"order","id_field":"order_id"}]}`), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

const uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"

// TestValidate breaks every rule of the Tools schema, "Validation".
func TestValidate(t *testing.T) {
	tool := func(members string) string { return `[{"name":"t","input_schema":{"type":"object"}` + members + `}]` }
	named := func(name string) string { return `[{"name":"` + name + `","input_schema":{"type":"object"}}]` }
	input := func(s string) string { return `[{"name":"t","input_schema":` + s + `}]` }
	pass := func(binding string) string {
		return tool(`,"default_execution_mode":"passthrough","passthrough_binding":` + binding)
	}
	adapted := func(adapter string) string {
		return tool(`,"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"e","tool_name":"t"},` +
			`"ledger_write_policy":"adapter","ledger_adapter":` + adapter)
	}
	var chain strings.Builder
	for i := range 40 {
		fmt.Fprintf(&chain, `"l%d":{"$ref":"#/$defs/l%d"},`, i, i+1)
	}
	for _, test := range []struct{ name, tools, want string }{
		{"the least", tool(``), ``},
		{"no tools", `[]`, ``},
		{"no object", `[1,null,"x",[]]`, "not_object /0\nnot_object /1\nnot_object /2\nnot_object /3"},
		{"empty object", `[{}]`, "name_missing /0/name\ninput_schema_missing /0/input_schema"},
		{"nulls", `[{"name":null,"input_schema":null}]`, "name_missing /0/name\ninput_schema_missing /0/input_schema"},
		{"wrong types", `[{"name":1,"description":2,"input_schema":{},"default_execution_mode":3,"ledger_write_policy":4}]`,
			"wrong_type /0/name\nwrong_type /0/default_execution_mode\n? wrong_type /0/description\n? wrong_type /0/ledger_write_policy"},
		{"wrong case", tool(`,"Description":"x"`), "? wrong_case /0/Description"},
		{"unknown members", tool(`,"x_later":{"a":1}`), ``},

		{"name empty", named(``), "name_missing /0/name"},
		{"name 128", named(strings.Repeat("a", 128)), ``},
		{"name 129", named(strings.Repeat("a", 129)), "name_invalid /0/name"},
		{"name with the first and last letters and digits", named(`azAZ09`), ``},
		{"name with leading digit", named(`1a`), "name_invalid /0/name"},
		{"name with hyphen", named(`a-b`), ``},
		{"name with leading hyphen", named(`-a`), "name_invalid /0/name"},
		{"name with leading underscore", named(`_a`), ``},
		{"name with dot", named(`a.b`), "name_invalid /0/name"},
		{"name with space", named(`a b`), "name_invalid /0/name"},
		{"name with line break", named(`ab\n`), "name_invalid /0/name"},
		{"name with Cyrillic a", named("get_\u0430"), "name_invalid /0/name"},
		{"name with Kelvin sign", named("\u212a"), "name_invalid /0/name"},
		{"name with long s", named("get_\u017f"), "name_invalid /0/name"},
		{"name with full-width a", named("\uff41"), "name_invalid /0/name"},
		{"names that differ by case", `[{"name":"a","input_schema":{}},{"name":"A","input_schema":{}}]`, ``},
		{"same name", `[{"name":"a","input_schema":{}},{"name":"b","input_schema":{}},{"name":"a","input_schema":{}}]`,
			"name_duplicate /2/name"},

		{"input schema true", input(`true`), "schema_not_object /0/input_schema"},
		{"input schema string", input(`"object"`), "schema_not_object /0/input_schema"},
		{"input schema array", input(`[]`), "schema_not_object /0/input_schema"},
		{"input schema of any type", input(`{"type":"any"}`), ""},
		{"input schema of any type, among others", input(`{"allOf":[{"type":["null","any"]}]}`), ""},
		{"input schema of any type in a draft", input(`{"type":"any","$schema":"http://json-schema.org/draft-07/schema#"}`), "schema_invalid /0/input_schema/type"},
		{"input schema of an array", input(`{"type":"array"}`), "schema_not_object /0/input_schema/type"},
		{"input schema of an object or null", input(`{"type":["object","null"]}`), "schema_not_object /0/input_schema/type"},
		{"input schema of an object as list", input(`{"type":["object"]}`), ``},
		{"input schema of an object or null as list", input(`{"type":["object","object"]}`),
			"schema_invalid /0/input_schema/type\nschema_invalid /0/input_schema/type"},
		{"input schema without type", input(`{}`), ``},
		{"input schema of an unknown type", input(`{"type":"objct"}`),
			"schema_invalid /0/input_schema/type"},
		{"input schema by ref", input(`{"$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}}`), ``},
		{"input schema by ref to an array", input(`{"$ref":"#/$defs/x","$defs":{"x":{"type":"array"}}}`),
			"schema_not_object /0/input_schema/$defs/x/type"},
		{"input schema by ref through names with escapes", input(`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"array"}}}`),
			"schema_not_object /0/input_schema/$defs/a~1b c/type"},
		{"input schema by ref into a list", input(`{"$ref":"#/anyOf/1","anyOf":[{},{"type":"string"}]}`), "schema_not_object /0/input_schema/anyOf/1/type"},
		{"input schema by refs in a row", input(`{"$ref":"#/$defs/x","$defs":{"x":{"allOf":[{},{"$ref":"#/$defs/y"}]},"y":{"type":"string"}}}`),
			"schema_not_object /0/input_schema/$defs/y/type"},
		{"input schema of all of a text", input(`{"allOf":[{"type":"string"}]}`), "schema_not_object /0/input_schema/allOf/0/type"},
		{"input schema of an object and all of a text", input(`{"type":"object","allOf":[{},{"type":"string"}]}`),
			"schema_not_object /0/input_schema/allOf/1/type"},
		{"input schema of all of an object or null", input(`{"allOf":[{"type":["object","null"]}]}`), "schema_not_object /0/input_schema/allOf/0/type"},
		{"input schema of an object, and of an object or null", input(`{"type":"object","allOf":[{"type":["object","null"]}]}`), ``},
		{"input schema of all of an object, or null of it", input(`{"allOf":[{"type":["object","null"]},{"type":"object"}]}`), ``},
		{"input schema of any of a text", input(`{"anyOf":[{"type":"string"},{"type":"object"}]}`), ``},
		{"input schema by ref to an anchor", input(`{"$ref":"#x","$defs":{"x":{"$anchor":"x","type":"array"}}}`), ``},
		{"input schema by ref into another document", input(`{"$ref":"#/$defs/x","$defs":{"x":{"$id":"https://x.test/y","$ref":"#/$defs/z",` +
			`"$defs":{"z":{"type":"object"}}},"z":{"type":"array"}}}`), ``},
		{"input schema by ref through another document", input(`{"$ref":"#/$defs/x/$defs/z","$defs":{"x":{"$id":"https://x.test/y",` +
			`"$defs":{"z":{"$ref":"#/$defs/w"},"w":{"type":"object"}}},"w":{"type":"array"}}}`), ``},
		{"input schema by a long row of refs", input(`{"$ref":"#/$defs/l0","$defs":{` + chain.String() + `"l40":{"type":"string"}}}`), ``},
		{"input schema by ref to itself", input(`{"$ref":"#"}`), "schema_ref_cycle /0/input_schema"},
		{"input schema by ref to a cycle", input(`{"$ref":"#/$defs/x","$defs":{"x":{"type":"string","allOf":[{"$ref":"#/$defs/x"}]}}}`),
			"schema_not_object /0/input_schema/$defs/x/type\nschema_ref_cycle /0/input_schema/$defs/x"},
		{"input schema of many", input(`{"allOf":[` + strings.Repeat(`{},`, 40) + `{"type":"string"}]}`), ``},
		{"input schema with a broken ref", input(`{"properties":{"a":{"$ref":"#/$defs/b"}}}`), "schema_ref_broken /0/input_schema/properties/a/$ref"},
		{"input schema with a bad regex", input(`{"properties":{"a":{"pattern":"("}}}`),
			"? schema_pattern_unsupported /0/input_schema/properties/a/pattern"},
		{"input schema of an unknown draft", input(`{"$schema":"http://json-schema.org/draft-99/schema"}`),
			"? schema_draft_unknown /0/input_schema/$schema"},
		{"input schema with two problems", input(`{"required":"a","properties":{"a":{"type":1}}}`),
			"schema_invalid /0/input_schema/properties/a/type\nschema_invalid /0/input_schema/required"},
		{"output schema", tool(`,"output_schema":{"type":"array"}`), ``},
		{"output schema null", tool(`,"output_schema":null`), ``},
		{"output schema true", tool(`,"output_schema":true`), "schema_not_object /0/output_schema"},
		{"output schema broken", tool(`,"output_schema":{"minimum":"1"}`), "schema_invalid /0/output_schema/minimum"},

		{"mode sandbox", tool(`,"default_execution_mode":"sandbox"`), ``},
		{"mode null", tool(`,"default_execution_mode":null`), ``},
		{"mode empty", tool(`,"default_execution_mode":""`), "? mode_invalid /0/default_execution_mode"},
		{"mode of a later release", tool(`,"default_execution_mode":"executed"`), "? later_release /0/default_execution_mode"},
		{"mode in capitals", tool(`,"default_execution_mode":"Sandbox"`), "mode_invalid /0/default_execution_mode"},
		{"mode unknown", tool(`,"default_execution_mode":"simulated"`), "mode_invalid /0/default_execution_mode"},
		{"passthrough without binding", tool(`,"default_execution_mode":"passthrough"`), "binding_missing /0/passthrough_binding"},
		{"binding null", pass(`null`), "binding_missing /0/passthrough_binding"},
		{"binding no object", pass(`"e"`), "wrong_type /0/passthrough_binding"},
		{"binding empty", pass(`{}`), "binding_no_endpoint /0/passthrough_binding\nbinding_tool_name /0/passthrough_binding/tool_name"},
		{"binding by name", pass(`{"endpoint_name":"e","tool_name":"t"}`), ``},
		{"binding by id", pass(`{"endpoint_id":"` + uuid + `","tool_name":"t"}`), ``},
		{"binding by id in capitals", pass(`{"endpoint_id":"` + strings.ToUpper(uuid) + `","tool_name":"t"}`), ``},
		{"binding by what is not an id", pass(`{"endpoint_id":"orders-api","tool_name":"t"}`),
			"binding_endpoint_id /0/passthrough_binding/endpoint_id"},
		{"binding by id without hyphens", pass(`{"endpoint_id":"` + strings.ReplaceAll(uuid, "-", "") + `","tool_name":"t"}`), ``},
		{"binding by id with one hyphen", pass(`{"endpoint_id":"` + strings.Replace(strings.ReplaceAll(uuid, "-", ""), "b", "-", 1) + `","tool_name":"t"}`),
			"binding_endpoint_id /0/passthrough_binding/endpoint_id"},
		{"binding by name and an empty id", pass(`{"endpoint_id":"","endpoint_name":"e","tool_name":"t"}`), ``},
		{"binding by id and an empty name", pass(`{"endpoint_id":"` + uuid + `","endpoint_name":"","tool_name":"t"}`), ``},
		{"binding by both", pass(`{"endpoint_id":"` + uuid + `","endpoint_name":"e","tool_name":"t"}`),
			"binding_both_ids /0/passthrough_binding"},
		{"binding by id and a null name", pass(`{"endpoint_id":"` + uuid + `","endpoint_name":null,"tool_name":"t"}`), ``},
		{"binding with empty strings", pass(`{"endpoint_id":"","endpoint_name":"","tool_name":""}`),
			"binding_no_endpoint /0/passthrough_binding\nbinding_tool_name /0/passthrough_binding/tool_name"},
		{"binding with a null tool", pass(`{"endpoint_name":"e","tool_name":null}`), "binding_tool_name /0/passthrough_binding/tool_name"},
		{"binding with wrong types", pass(`{"endpoint_name":1,"tool_name":[]}`),
			"wrong_type /0/passthrough_binding/endpoint_name\nwrong_type /0/passthrough_binding/tool_name"},
		{"binding with wrong case", pass(`{"endpoint_name":"e","tool_name":"t","Endpoint_ID":"x"}`),
			"? wrong_case /0/passthrough_binding/Endpoint_ID"},
		{"binding on a sandbox tool", tool(`,"passthrough_binding":{"endpoint_name":"e","tool_name":"t"}`), ``},
		{"binding on a sandbox tool, incomplete", tool(`,"passthrough_binding":{"endpoint_id":"","tool_name":null}`), ``},
		{"binding on a sandbox tool, empty", tool(`,"passthrough_binding":{}`), ``},
		{"binding on a sandbox tool, null", tool(`,"passthrough_binding":null`), ``},
		{"binding on a sandbox tool, no object", tool(`,"passthrough_binding":5`), "wrong_type /0/passthrough_binding"},
		{"binding on a sandbox tool, wrong types", tool(`,"default_execution_mode":"sandbox","passthrough_binding":{"endpoint_id":[],"tool_name":1,"Tool_Name":"t"}`),
			"wrong_type /0/passthrough_binding/endpoint_id\nwrong_type /0/passthrough_binding/tool_name\n? wrong_case /0/passthrough_binding/Tool_Name"},
		{"binding on a sandbox tool, both", tool(`,"passthrough_binding":{"endpoint_id":"x","endpoint_name":"y"}`), "binding_both_ids /0/passthrough_binding"},
		{"binding on a sandbox tool, no id", tool(`,"passthrough_binding":{"endpoint_id":"x"}`),
			"binding_endpoint_id /0/passthrough_binding/endpoint_id"},
		{"binding in an unknown mode", tool(`,"default_execution_mode":"x","passthrough_binding":[]`),
			"wrong_type /0/passthrough_binding\nmode_invalid /0/default_execution_mode"},

		{"policy record_only", tool(`,"ledger_write_policy":"record_only"`), ``},
		{"policy on a sandbox tool", tool(`,"ledger_write_policy":"none"`), ``},
		{"policy unknown", tool(`,"ledger_write_policy":"adapt"`), "? policy_invalid /0/ledger_write_policy"},
		{"policy empty", tool(`,"ledger_write_policy":""`), "? policy_invalid /0/ledger_write_policy"},
		{"policy adapter without adapter", tool(`,"ledger_write_policy":"adapter"`), "adapter_missing /0/ledger_adapter"},
		{"adapter without policy", tool(`,"ledger_adapter":{"entity_type":"order","id_from":"$.id"}`), ``},
		{"adapter without policy for an undeclared entity", tool(`,"ledger_adapter":{"entity_type":"refund","id_from":"$.id"}`),
			"? adapter_undeclared /0/ledger_adapter/entity_type"},
		{"adapter", adapted(`{"op":"update","entity_type":"order","id_from":"$.order_id","field_map":{"status":"$.status"},"flags":["f:{id}"]}`), ``},
		{"adapter without op", adapted(`{"entity_type":"order","id_from":"$.order_id"}`), ``},
		{"adapter no object", adapted(`"x"`), "? adapter_invalid /0/ledger_adapter"},
		{"adapter empty", adapted(`{}`), "? adapter_invalid /0/ledger_adapter/entity_type\n? adapter_invalid /0/ledger_adapter/id_from"},
		{"adapter with unknown op", adapted(`{"op":"upsert","entity_type":"order","id_from":"$.id"}`), "? adapter_unsupported /0/ledger_adapter/op"},
		{"adapter with bad path", adapted(`{"entity_type":"order","id_from":"$..a..b"}`), "? adapter_unsupported /0/ledger_adapter/id_from"},
		{"adapter for an undeclared entity", adapted(`{"entity_type":"refund","id_from":"$.id"}`),
			"adapter_undeclared /0/ledger_adapter/entity_type"},
		{"set_flag", adapted(`{"op":"set_flag","flags":["seen"]}`), ``},
		{"set_flag without flags", adapted(`{"op":"set_flag"}`), "? adapter_invalid /0/ledger_adapter/flags"},
		{"set_flag with entity members", adapted(`{"op":"set_flag","entity_type":"order","id_from":"$.id","field_map":{},"flags":["seen"]}`),
			"? adapter_invalid /0/ledger_adapter/entity_type\n? adapter_invalid /0/ledger_adapter/id_from\n? adapter_invalid /0/ledger_adapter/field_map"},

		{"all problems of all tools", `[{"name":"1","input_schema":true},{"name":"b","input_schema":{}},{"input_schema":{},"default_execution_mode":"x"}]`,
			"name_invalid /0/name\nschema_not_object /0/input_schema\nname_missing /2/name\nmode_invalid /2/default_execution_mode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tools := parse(t, test.tools)
			if got := verdict(t, tools, &schema.ValidateOptions{LedgerSchema: orders(t)}); got != test.want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestValidateWithoutLedgerSchema(t *testing.T) {
	tools := parse(t, `[{"name":"a","input_schema":{},"ledger_write_policy":"adapter","ledger_adapter":{"entity_type":"order","id_from":"$.id"}},
		{"name":"b","input_schema":{},"ledger_write_policy":"adapter","ledger_adapter":{"op":"set_flag","flags":["f"]}},
		{"name":"c","input_schema":{},"ledger_write_policy":"none","ledger_adapter":{"entity_type":"order","id_from":"$.id"}}]`)
	if got, want := found(t, rejected(t.Context(), tools, nil)), "adapter_undeclared /0/ledger_adapter/entity_type"; got != want {
		t.Errorf("problems = %q, want %q", got, want)
	}
}

// resolver is the type of ValidateOptions.Endpoint.
type resolver = func(ctx context.Context, id, name string) (schema.Endpoint, bool, error)

// countingResolver remembers what it was asked, and in which context.
type countingResolver struct {
	asked []string
	ctx   context.Context
	then  func()
}

func (r *countingResolver) endpoint(ctx context.Context, id, name string) (schema.Endpoint, bool, error) {
	r.asked, r.ctx = append(r.asked, id+name), ctx
	if r.then != nil {
		r.then()
	}
	if name == "none" {
		return schema.Endpoint{}, false, errors.New("refused")
	}
	return schema.Endpoint{Type: "code", Tools: []string{"t"}}, true, nil
}

// Endpoint gets the caller's context and is called once for each endpoint. It is not called after
// the end of the context.
func TestValidateContext(t *testing.T) {
	var list []string
	for i, binding := range []string{`"endpoint_name":"a"`, `"endpoint_name":"none"`, `"endpoint_id":"` + uuid + `"`, `"endpoint_name":"a"`,
		`"endpoint_name":"none"`, `"endpoint_id":"` + strings.ToUpper(uuid) + `"`} {
		list = append(list, fmt.Sprintf(`{"name":"t%d","input_schema":{},"default_execution_mode":"passthrough","passthrough_binding":{%s,"tool_name":"t"}}`,
			i, binding))
	}
	tools := parse(t, "["+strings.Join(list, ",")+"]")
	type key struct{}
	r := &countingResolver{}
	err := rejected(context.WithValue(t.Context(), key{}, "ours"), tools, &schema.ValidateOptions{Endpoint: r.endpoint})
	const unchecked = "endpoint_lookup /1/passthrough_binding/endpoint_name\nendpoint_lookup /4/passthrough_binding/endpoint_name"
	if got := found(t, err); got != unchecked {
		t.Errorf("problems = %q", got)
	}
	if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Err == nil || e.Err.Error() != "refused" {
		t.Errorf("the cause is %v, want one error", e.Err)
	}
	if got := strings.Join(r.asked, " "); got != "a none "+uuid || r.ctx.Value(key{}) != "ours" {
		t.Errorf("asked %q in %v", got, r.ctx)
	}

	ctx, cancel := context.WithCancel(t.Context())
	r = &countingResolver{then: cancel}
	err = rejected(ctx, tools, &schema.ValidateOptions{Endpoint: r.endpoint})
	if !errors.Is(err, context.Canceled) || len(r.asked) != 1 {
		t.Errorf("after the end of the context: asked %q, %v", r.asked, err)
	}
}

// A negative limit is an error, not the default.
func TestNegativeLimitsAreReported(t *testing.T) {
	limits := schema.Limits{Depth: -1, SchemaBytes: -5, Bytes: 7}
	const want = "limits_invalid \nlimits_invalid "
	_, err := schema.Compile(json.RawMessage(`{"type":1}`), &schema.CompileOptions{Limits: limits})
	if got := found(t, err); got != want {
		t.Errorf("Compile: problems = %q", got)
	}
	if text := fmt.Sprint(err); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(text, "Limits.Depth must not be negative; use 0 for the default") ||
		!strings.Contains(text, "Limits.SchemaBytes must not be negative; use 0 for the default") {
		t.Errorf("Compile: %v", err)
	}
	tools := parse(t, `[{"name":"1","input_schema":{"type":"object"}}]`)
	if got := found(t, rejected(t.Context(), tools, &schema.ValidateOptions{Limits: limits})); got != want+"\nname_invalid /0/name" {
		t.Errorf("Validate: problems = %q", got)
	}
	if _, err := schema.NewSet(t.Context(), nil, &schema.ValidateOptions{Limits: limits}); found(t, err) != want {
		t.Errorf("NewSet: problems = %q", found(t, err))
	}
}

func TestValidateChecksEndpoints(t *testing.T) {
	list := map[string]schema.Endpoint{
		uuid:     {Type: "mcp_server", Tools: []string{"t"}},
		"api":    {Type: "http_openapi", Org: "ours", Tools: []string{"t", "u"}},
		"code":   {Type: "code", Tools: []string{"t"}},
		"queue":  {Type: "sqs", Tools: []string{"t"}},
		"theirs": {Type: "code", Org: "theirs", Tools: []string{"t"}},
		"empty":  {Type: "code", Tools: []string{}},
		"later":  {Type: "code"},
	}
	endpoints := func(_ context.Context, id, name string) (schema.Endpoint, bool, error) {
		e, ok := list[id+name]
		return e, ok, nil
	}
	broken := errors.New("connection refused")
	failing := func(context.Context, string, string) (schema.Endpoint, bool, error) {
		return schema.Endpoint{}, false, broken
	}
	for _, test := range []struct {
		binding  string
		resolver resolver
		want     string
	}{
		{`{"endpoint_id":"` + uuid + `","tool_name":"t"}`, endpoints, ``},
		{`{"endpoint_id":"` + strings.ToUpper(uuid) + `","tool_name":"t"}`, endpoints, ``},
		{`{"endpoint_id":"` + strings.ReplaceAll(strings.ToUpper(uuid), "-", "") + `","tool_name":"t"}`, endpoints, ``},
		{`{"endpoint_name":"api","tool_name":"u"}`, endpoints, ``},
		{`{"endpoint_name":"later","tool_name":"x"}`, endpoints, ``},
		{`{"endpoint_name":"code","tool_name":"t"}`, endpoints, ``},
		{`{"endpoint_name":"none","tool_name":"t"}`, endpoints, `endpoint_missing /0/passthrough_binding/endpoint_name`},
		{`{"endpoint_id":"1` + uuid[1:] + `","tool_name":"t"}`, endpoints, `endpoint_missing /0/passthrough_binding/endpoint_id`},
		{`{"endpoint_name":"queue","tool_name":"t"}`, endpoints, `endpoint_type /0/passthrough_binding/endpoint_name`},
		{`{"endpoint_name":"theirs","tool_name":"t"}`, endpoints, `endpoint_foreign /0/passthrough_binding/endpoint_name`},
		{`{"endpoint_name":"code","tool_name":"x"}`, endpoints, `endpoint_tool /0/passthrough_binding/tool_name`},
		{`{"endpoint_name":"empty","tool_name":"x"}`, endpoints, `endpoint_tool /0/passthrough_binding/tool_name`},
		{`{"endpoint_name":"code"}`, endpoints, `binding_tool_name /0/passthrough_binding/tool_name`},
		{`{"endpoint_name":"code","tool_name":"t"}`, failing, `endpoint_lookup /0/passthrough_binding/endpoint_name`},
		{`{"endpoint_id":"x","tool_name":"t"}`, failing, `binding_endpoint_id /0/passthrough_binding/endpoint_id`},
	} {
		tools := parse(t, `[{"name":"a","input_schema":{},"default_execution_mode":"passthrough","passthrough_binding":`+test.binding+`}]`)
		err := rejected(t.Context(), tools, &schema.ValidateOptions{Endpoint: test.resolver, Org: "ours"})
		if got := found(t, err); got != test.want {
			t.Errorf("%s: problems = %q, want %q", test.binding, got, test.want)
		}
		sandboxed := parse(t, `[{"name":"a","input_schema":{},"passthrough_binding":`+test.binding+`}]`)
		for _, code := range []string{"endpoint_missing", "endpoint_lookup", "endpoint_tool", "binding_tool_name"} {
			sandboxedErr := rejected(t.Context(), sandboxed, &schema.ValidateOptions{Endpoint: test.resolver, Org: "ours"})
			if e, ok := errors.AsType[*toolwire.Error](sandboxedErr); ok && hasCode(e, code) {
				t.Errorf("%s: looked up for a sandbox tool: %v", test.binding, sandboxedErr)
			}
		}
		if unchecked := strings.Contains(test.want, "endpoint_lookup"); errors.Is(err, broken) != unchecked {
			t.Errorf("%s: errors.Is(err, the resolver's error) = %v", test.binding, !unchecked)
		}
	}
}

func TestValidationErrorForPeopleAndPrograms(t *testing.T) {
	tools := parse(t, `[{"name":"a","input_schema":{}},{"name":"1","default_execution_mode":"x"},{"name":"b"}]`)
	err := rejected(t.Context(), tools, nil)
	want := `schema: invalid: 4 problems:
  - tool "1": /1/name must be 1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _; "1" at byte 0 is not allowed there [name_invalid]
  - tool "1": /1/input_schema is required: the JSON Schema of the arguments object [input_schema_missing]
  - tool "1": /1/default_execution_mode must be sandbox or passthrough, not "x" [mode_invalid]
  - tool "b": /2/input_schema is required: the JSON Schema of the arguments object [input_schema_missing]`
	if err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
	if got := toolwire.CodeOf(fmt.Errorf("tools.json: %w", err)); got != toolwire.CodeInvalid {
		t.Errorf("CodeOf = %q", got)
	}
	if got := toolwire.CodeOf(errors.New("other")); got != "" {
		t.Errorf("CodeOf another error = %q", got)
	}
}

func TestParseRefusesWhatIsNoList(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{``, "not_json "}, {`[`, "not_json "}, {`[{"name":"a","name":"b"}]`, "not_json /0/name"}, {`[] []`, "not_json "},
		{`null`, "not_list "}, {`"x"`, "not_list "}, {`{}`, "not_list /tools_schema"},
		{`{"tools_schema":{}}`, "not_list /tools_schema"}, {`{"Tools_Schema":[]}`, "wrong_case /Tools_Schema"},
	} {
		_, err := importAs([]byte(test.doc), schema.Platform)
		if got := found(t, err); got != test.want {
			t.Errorf("%s: problems = %q, want %q", test.doc, got, test.want)
		}
	}
}

func TestMarshalWritesBackWhatParseRead(t *testing.T) {
	for _, doc := range []string{
		`{"tools_schema":[]}`,
		`{"tools_schema":[{"name":"a","input_schema":{"type" : "object","x":[1.0,1e2,"<&>\u00e9"]}}]}`,
		`{"tools_schema":[{"name":"a","input_schema":{},"z":{"k" : 1},"a":"<\/b>","m":12345678901234567890.10,"z2":null}]}`,
		`{"tools_schema":[{"name":null,"description":"","input_schema":null,"output_schema":null,"default_execution_mode":"",` +
			`"passthrough_binding":null,"ledger_write_policy":7,"ledger_adapter":null}]}`,
		`{"tools_schema":[{"name":"a","input_schema":true,"passthrough_binding":{"endpoint_id":"","tool_name":3,"later":[1 ,2]}}]}`,
		`{"tools_schema":[{"name":"a","input_schema":[],"passthrough_binding":"x","ledger_adapter":{"op":"add","later":{"a" : 1}}}]}`,
		`{"tools_schema":[1,"x",null,[{}],{}]}`,
	} {
		tools, err := importAs([]byte(doc), schema.Platform)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		out, err := writePlatform(tools)
		if err != nil {
			t.Fatal(err)
		}
		if string(out) != doc {
			t.Errorf("wrote %s\nread  %s", out, doc)
		}
	}
}

func TestMarshalRefusesWhatIsNoJSON(t *testing.T) {
	broken := []schema.Tool{
		{Name: "a", InputSchema: json.RawMessage(`{"type":`)},
		{Name: "b", InputSchema: json.RawMessage(`{}},{"name":"smuggled","input_schema":{}`)},
		{Name: "c", Extra: []ledger.Member{{Name: "x", Value: json.RawMessage(`1,"name":"d"`)}}},
	}
	const want = "not_json /0/input_schema\nnot_json /1/input_schema\nnot_json /2/x"
	if _, err := writePlatform(broken); found(t, err) != want {
		t.Errorf("Marshal: problems = %q", found(t, err))
	}
	if _, _, err := schema.Export(broken, schema.OpenAIChat); found(t, err) != want {
		t.Errorf("Export: problems = %q", found(t, err))
	}
	if _, err := json.Marshal(broken[1]); err == nil {
		t.Error("json.Marshal wrote it")
	}
	err := rejected(t.Context(), []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"type":`)}}, nil)
	if got := found(t, err); got != "schema_not_json /0/input_schema/type" {
		t.Errorf("problems = %q", got)
	}
	err = rejected(t.Context(), []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{"type":"` + strings.Repeat("x", 70_000))}}, nil)
	if got := found(t, err); got != "schema_not_json /0/input_schema/type" {
		t.Errorf("problems = %q", got)
	}
}

// Import must be able to read what Export writes.
func TestWritingRefusesAMemberTwice(t *testing.T) {
	one := json.RawMessage(`1`)
	tools := []schema.Tool{
		{Name: "a", Extra: []ledger.Member{{Name: "x", Value: one}, {Name: "y", Value: one}, {Name: "x", Value: one}}},
		{Name: "b", Extra: []ledger.Member{{Name: "x", Value: one}, {Name: "description", Value: one}}},
		{Name: "c", PassthroughBinding: &schema.Binding{Extra: []ledger.Member{{Name: "tool_name", Value: one}}}},
		{Name: "d", Extra: []ledger.Member{{Name: "tool_name", Value: one}, {Name: "Name", Value: one}, {Name: "x"}, {Name: "x", Value: one}}},
	}
	const want = "member_clash /0/x\nmember_clash /1/description\nmember_clash /2/passthrough_binding/tool_name"
	if _, err := writePlatform(tools); found(t, err) != want {
		t.Errorf("Marshal: problems = %q", found(t, err))
	}
	if _, _, err := schema.Export(tools, schema.MCP); found(t, err) != want {
		t.Errorf("Export: problems = %q", found(t, err))
	}
	if _, err := json.Marshal(tools[1]); err == nil {
		t.Error("json.Marshal wrote it")
	}
}

func TestToolIsJSON(t *testing.T) {
	const doc = `{"name":"a","input_schema":{"type":"object"},"passthrough_binding":{"endpoint_name":"e","tool_name":"t"},"later":1}`
	var tool schema.Tool
	if err := json.Unmarshal([]byte(doc), &tool); err != nil {
		t.Fatal(err)
	}
	if tool.PassthroughBinding.EndpointName != "e" || len(tool.Extra) != 1 || tool.Mode() != schema.Sandbox || tool.WritePolicy() != schema.PolicyRecordOnly {
		t.Errorf("tool = %+v", tool)
	}
	var binding schema.Binding
	if err := json.Unmarshal([]byte(`{"tool_name":"t","later":[1]}`), &binding); err != nil || binding.ToolName != "t" || len(binding.Extra) != 1 {
		t.Errorf("binding = %+v, %v", binding, err)
	}
	out, err := json.Marshal(tool)
	if err != nil || string(out) != doc {
		t.Errorf("wrote %s, %v", out, err)
	}
}

// What was read and is not a tool counts only as long as the tool has nothing else.
func TestToolReadFromAnotherValue(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*schema.Tool)
		want   string
		found  string
	}{
		"unchanged": {func(*schema.Tool) {}, `5`, "not_object /0"},
		"a field":   {func(tool *schema.Tool) { tool.Name = "a" }, `{"name":"a"}`, "input_schema_missing /0/input_schema"},
		"extra":     {func(tool *schema.Tool) { tool.Extra = []ledger.Member{{Name: "x", Value: json.RawMessage(`1`)}} }, `{"x":1}`, "name_missing /0/name\ninput_schema_missing /0/input_schema"},
		"extra with the name of a field": {func(tool *schema.Tool) {
			tool.Name, tool.InputSchema = "a", json.RawMessage(`{}`)
			tool.Extra = []ledger.Member{{Name: "name"}}
		}, `{"name":"a","input_schema":{}}`, ""},
		"without text": {func(tool *schema.Tool) { tool.Name, tool.Extra = "a", []ledger.Member{{Name: "name"}} }, `{"name":"a"}`, "input_schema_missing /0/input_schema"},
	} {
		var tool schema.Tool
		if err := json.Unmarshal([]byte(`5`), &tool); err != nil {
			t.Fatal(err)
		}
		test.change(&tool)
		text, err := tool.MarshalJSON()
		if err != nil || string(text) != test.want {
			t.Errorf("%s: wrote %s, %v; want %s", name, text, err, test.want)
		}
		if got := verdict(t, []schema.Tool{tool}, nil); got != test.found {
			t.Errorf("%s: problems %q, want %q", name, got, test.found)
		}
	}
}
