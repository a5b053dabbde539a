package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// TestLintOfAdapters has adapters that are valid and that would not write everything in a first live
// run.
func TestLintOfAdapters(t *testing.T) {
	const closed = `{"type":"object","properties":{"order":{"type":"object","properties":{"id":{"type":"string"},"lines":{"type":"array",` +
		`"items":{"type":"object","properties":{"sku":{"type":"string"}}}}},"additionalProperties":false},"any":{},"rest":{"type":"object",` +
		`"additionalProperties":{"type":"object","properties":{"a":{}}}}}}`
	declared := &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id", Fields: []ledger.Field{{Name: "status", Type: "string"}}}}}
	closedFields := &ledger.Schema{FieldPolicy: "closed", Entities: declared.Entities}
	openEntity := &ledger.Schema{FieldPolicy: "closed", Entities: slices.Clone(declared.Entities)}
	openEntity.Entities[0].FieldPolicy = "open"
	adapter := func(members string) string { return `{"entity_type":"order","id_from":"$.order.id"` + members + `}` }
	for _, test := range []struct {
		name, adapter, output string
		ledger                *ledger.Schema
		want                  string
	}{
		{"complete", adapter(`,"field_map":{"status":"$.order.lines[0].sku","order_id":"$.order.id"},"flags":["seen:{order_id}:{id}"]`), closed, declared, ""},
		{"no schemas", adapter(`,"field_map":{"note":"$.x.y"}`), ``, nil, ""},
		{"undeclared field", adapter(`,"field_map":{"note":"$.any"}`), closed, declared, "field_undeclared /0/ledger_adapter/field_map/note"},
		{"undeclared field of an open entity", adapter(`,"field_map":{"note":"$.any"}`), closed, openEntity, "field_undeclared /0/ledger_adapter/field_map/note"},
		{"undeclared field, closed", adapter(`,"field_map":{"note":"$.any"}`), closed, closedFields, "adapter_invalid /0/ledger_adapter/field_map/note"},
		{"placeholder", adapter(`,"flags":["a","seen:{order}:{id}","b:{order_id}"]`), closed, declared, "placeholder_unknown /0/ledger_adapter/flags/1"},
		{"id without an entity", `{"op":"set_flag","flags":["seen:{id}","seen:{order_id}"]}`, closed, declared, "placeholder_unknown /0/ledger_adapter/flags/0"},
		{"misspelt member", adapter(`,"field_map":{"status":"$.order.state"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"misspelt id", `{"entity_type":"order","id_from":"$.oder.id"}`, closed, declared, "path_undeclared /0/ledger_adapter/id_from"},
		{"element of an object", adapter(`,"field_map":{"status":"$.order[0]"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"member of a list", adapter(`,"field_map":{"status":"$.order.lines.sku"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"member of an element", adapter(`,"field_map":{"status":"$.order.lines[-1].name"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"member of a string", adapter(`,"field_map":{"status":"$.order.id.x"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"after a wildcard", adapter(`,"field_map":{"status":"$.order.lines[*].name"}`), closed, declared, ""},
		{"below anything", adapter(`,"field_map":{"status":"$.any.x[1].y"}`), closed, declared, ""},
		{"below additional properties", adapter(`,"field_map":{"status":"$.rest.x.a"}`), closed, declared, ""},
		{"not below additional properties", adapter(`,"field_map":{"status":"$.rest.x.b"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"in an alternative", adapter(`,"field_map":{"status":"$.x"}`), `{"anyOf":[{"properties":{"order":{}}},{"properties":{"error":{}}}]}`, declared, ""},
		{"of the arguments", adapter(`,"field_map":{"status":"$args.order_id"}`), closed, declared, ""},
		{"not of the arguments", adapter(`,"field_map":{"status":"$args.id"}`), closed, declared, "path_undeclared /0/ledger_adapter/field_map/status"},
		{"filter", adapter(`,"field_map":{"status":"$.order.lines[?count(@.x)>1].sku"}`), closed, declared, "adapter_unsupported /0/ledger_adapter/field_map/status"},
		{"later member", adapter(`,"when":{"field":"$.ok","eq":true}`), closed, declared, "adapter_unsupported /0/ledger_adapter/when"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := parse(t, `[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"order_id":{"type":"string","description":"d"}}},`+
				`"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"e","tool_name":"t"},"ledger_write_policy":"adapter",`+
				`"ledger_adapter":`+test.adapter+`}]`)
			if test.output != "" {
				tool[0].OutputSchema = json.RawMessage(test.output)
			}
			var lines []string
			for _, w := range schema.Lint(tool, &schema.ValidateOptions{LedgerSchema: test.ledger}) {
				if w.Code == "adapter_unsupported" || strings.HasPrefix(w.Pointer, "/0/ledger_adapter") {
					lines = append(lines, fmt.Sprintf("%s %s", w.Code, w.Pointer))
				}
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

// Members of a later release are kept, listed, and do not disturb the rest of the list.
func TestLaterReleases(t *testing.T) {
	const doc = `{"tools_schema":[{"name":"run_sql","input_schema":{"type":"object"},"default_execution_mode":"executed"},` +
		`{"name":"get_order","input_schema":{"type":"object"},"ledger_read":{"op":"get","entity_type":"order","project":{"id":"order_id"}},` +
		`"preconditions":[{"entity_type":"order","id_from":{"param":"order_id"},"require":"match","error":{"message":"no order {id}"}}]},` +
		`{"name":"refund","input_schema":{"type":"object"},"ledger_adapter":{"effects":[{"op":"update","when":{"field":"ok","eq":true}}]}}]}`
	tools := parse(t, doc)
	want := "? later_release /0/default_execution_mode\n? later_release /1/ledger_read\n? later_release /1/preconditions\n" +
		"? adapter_unsupported /2/ledger_adapter/effects"
	if got := verdict(t, tools, nil); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
	set, err := schema.NewSet(t.Context(), tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if err := set.ValidateArguments(tool.Name, []byte(`{}`)); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	linted := map[string]bool{}
	for _, w := range schema.Lint(tools, nil) {
		_, member, _ := strings.Cut(w.Pointer[1:], "/") // the place of the tool is before it
		linted["/"+member] = true
	}
	for _, pointer := range []string{"/default_execution_mode", "/ledger_read", "/preconditions", "/ledger_adapter/effects"} {
		if !linted[pointer] {
			t.Errorf("Lint does not report %s", pointer)
		}
	}
	if out, err := writePlatform(tools); err != nil || string(out) != doc {
		t.Errorf("wrote %s, %v", out, err)
	}
}
