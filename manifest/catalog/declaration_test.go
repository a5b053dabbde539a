package catalog_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/schema"
)

// lost returns the members that the problems concern.
func lost(losses []toolwire.Problem) string {
	var all []string
	for _, l := range losses {
		i, member, _ := strings.Cut(l.Pointer[1:], "/")
		all = append(all, strings.Repeat("-", int(i[0]-'0'))+member)
	}
	return strings.Join(all, " ")
}

func TestDeclarations(t *testing.T) {
	full := catalog.Tool{Name: "analytics", Framework: catalog.LangGraph, Type: catalog.Custom, Description: "Analyses.",
		Tags: []string{"a", "b,c"}, Version: "2.1.0"}
	bare := catalog.Tool{Name: "2nd tool", Framework: catalog.LangChain, Type: catalog.Native}
	untagged := bare
	untagged.Tags = []string{}
	items := []catalog.ListItem{
		{ID: unknown, Tool: full, PluginClassName: "A", ModuleName: "a", ScriptContent: "secret"},
		{Tool: untagged},
	}
	items[0].AccountID = account
	tools, losses := catalog.Declarations(items)
	if got, want := lost(losses),
		"input_schema id account_id plugin_class_name module_name script_content -name -input_schema"; got != want {
		t.Errorf("lost is %s, want %s", got, want)
	}
	if _, err := schema.Validate(t.Context(), tools[:1], nil); err != nil {
		t.Errorf("the declaration is not valid: %v", err)
	}
	written, err := json.Marshal(tools[0])
	if want := `{"name":"analytics","description":"Analyses.","input_schema":{"type":"object","properties":{}},` +
		`"framework":"langgraph","tool_type":"custom","tags":["a","b,c"],"version":"2.1.0"}`; err != nil ||
		string(written) != want {
		t.Errorf("the declaration is %s, %v, want %s", written, err, want)
	}

	back, losses := catalog.FromDeclarations(tools, catalog.Tool{})
	if !reflect.DeepEqual(back, []catalog.Tool{full, bare}) || lost(losses) != "input_schema -input_schema" {
		t.Errorf("the records are %+v, with %s lost", back, lost(losses))
	}
}

func TestFromDeclarations(t *testing.T) {
	tools, _, err := schema.Import([]byte(`[{"name":"a","description":"d","input_schema":{"type":"object"},"output_schema":{},"default_execution_mode":"passthrough",
		"passthrough_binding":{"tool_name":"x","endpoint_id":"y"},"ledger_write_policy":"adapter","ledger_adapter":{"op":"update"},"strict":true,"tags":3,"version":"7"},{"name":"b"}]`), schema.Platform)
	if err != nil {
		t.Fatal(err)
	}
	base := catalog.Tool{Name: "unused", Description: "unused", Framework: catalog.GoogleADK, Type: catalog.Custom,
		AccountID: account, Tags: []string{"base"}, Version: "1"}
	records, losses := catalog.FromDeclarations(tools, base)
	if got, want := lost(losses),
		"input_schema output_schema default_execution_mode passthrough_binding ledger_write_policy ledger_adapter strict tags"; got != want {
		t.Errorf("lost is %s, want %s", got, want)
	}
	want := []catalog.Tool{
		{Name: "a", Description: "d", Framework: catalog.GoogleADK, Type: catalog.Custom, AccountID: account,
			Tags: []string{"base"}, Version: "7"},
		{Name: "b", Framework: catalog.GoogleADK, Type: catalog.Custom, AccountID: account, Tags: []string{"base"},
			Version: "1"},
	}
	if !reflect.DeepEqual(records, want) {
		t.Errorf("the records are\n\t%+v, want\n\t%+v", records, want)
	}
	records[0].Tags[0] = "changed"
	if base.Tags[0] != "base" || records[1].Tags[0] != "base" {
		t.Error("the records share their tags")
	}

	broken := schema.Tool{Name: "c", Extra: []ledger.Member{{Name: "framework", Value: json.RawMessage(`{`)},
		{Name: "version", Value: json.RawMessage(`null`)}, {Name: "tool_type", Value: json.RawMessage(`"`)},
		{Name: "tags", Value: json.RawMessage(`["a"`)}}}
	records, losses = catalog.FromDeclarations([]schema.Tool{broken}, base)
	if lost(losses) != "framework tool_type tags" || records[0].Type != catalog.Custom || records[0].Framework != catalog.GoogleADK || records[0].Version != "" {
		t.Errorf("the record is %+v, with %s lost", records[0], lost(losses))
	}
}
