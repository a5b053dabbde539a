package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// recordMembers are those of a record that a declaration can hold among its extra members.
var recordMembers = []string{"framework", "tool_type", "tags", "version"}

// Declarations makes tool declarations of records, and reports what of them a declaration cannot say and what of a
// declaration a record does not. name and description are the declaration's own; framework, tool_type, tags and version
// become members of [schema.Tool.Extra], where [FromDeclarations] finds them again.
//
// A record has no schema of the arguments: it is in the Python class. The input schema of every declaration is
// {"type":"object"}, any object, until the caller puts a better one there.
func Declarations(items []ListItem) ([]schema.Tool, []schema.Problem) {
	var losses []schema.Problem
	tools := make([]schema.Tool, len(items))
	for n, item := range items {
		lose := func(member, message string) {
			losses = append(losses, loss(n, item.Name, member, message))
		}
		t := schema.Tool{Name: item.Name, Description: item.Description, InputSchema: json.RawMessage(`{"type":"object"}`)}
		extra := func(member string, value any, has bool) {
			if !has {
				return
			}
			raw, err := json.Marshal(value)
			if err != nil { // texts can be written
				lose(member, "cannot be written")
				return
			}
			t.Extra = append(t.Extra, ledger.Member{Name: member, Value: raw})
		}
		extra("framework", item.Framework, item.Framework != "")
		extra("tool_type", item.Type, item.Type != "")
		extra("tags", item.Tags, len(item.Tags) > 0)
		extra("version", item.Version, item.Version != "")
		tools[n] = t

		if hasCode(schema.Validate(context.Background(), []schema.Tool{t}, nil), "name_invalid") {
			lose("name", "is no tool name for the Tools schema; choose another one")
		}
		lose("input_schema", "is in no record: the declaration takes any object until it gets one")
		for _, own := range []struct{ member, value string }{{"id", item.ID}, {"account_id", item.AccountID},
			{"plugin_class_name", item.PluginClassName}, {"module_name", item.ModuleName}, {"script_content", item.ScriptContent}} {
			if own.value != "" {
				lose(own.member, "belongs to the catalog and is left out")
			}
		}
	}
	return tools, losses
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*schema.Error](err)
	return ok && slices.ContainsFunc(e.Problems, func(p schema.Problem) bool { return p.Code == code })
}

// loss returns a problem of the n-th tool, with the code that [schema.Export] uses.
func loss(n int, tool, member, message string) schema.Problem {
	return schema.Problem{Index: n, Tool: clip.Text(tool, maxShown), Code: "left_out", Pointer: rawjson.Token(member), Message: message}
}

// FromDeclarations makes records of tool declarations, and reports what of them a record cannot hold. base says what no
// declaration does: account_id; and framework, tool_type, tags and version, unless a declaration has them among its extra
// members. The records are not validated; [Tool.Validate] does that.
func FromDeclarations(tools []schema.Tool, base Tool) ([]Tool, []schema.Problem) {
	var losses []schema.Problem
	records := make([]Tool, len(tools))
	for n := range tools {
		t := &tools[n]
		lose := func(member, message string, is bool) {
			if is {
				losses = append(losses, loss(n, t.Name, member, message))
			}
		}
		const left = "has no place in a record"
		lose("input_schema", left+"; the args_schema of the Python class takes its place", len(t.InputSchema) > 0)
		lose("output_schema", left, len(t.OutputSchema) > 0)
		lose("default_execution_mode", left, t.DefaultExecutionMode != "")
		lose("passthrough_binding", left, t.PassthroughBinding != nil)
		lose("ledger_write_policy", left, t.LedgerWritePolicy != "")
		lose("ledger_adapter", left, t.LedgerAdapter != nil)

		var p Patch
		for _, m := range t.Extra {
			if !slices.Contains(recordMembers, m.Name) {
				lose(m.Name, left, true)
				continue
			}
			lose(m.Name, "is not what a record has there, and is left out", p.read(m) != nil)
		}
		record := p.apply(base)
		record.Name, record.Description = t.Name, t.Description
		records[n] = record
	}
	return records, losses
}

// read takes over one member of a record.
func (p *Patch) read(m ledger.Member) error {
	doc, err := json.Marshal(map[string]json.RawMessage{m.Name: m.Value})
	if err != nil {
		return err
	}
	one, ps, err := readPatch(doc)
	if err == nil {
		err = ps.error("", "")
	}
	if err != nil {
		return err
	}
	p.Framework, p.Type = cmp.Or(one.Framework, p.Framework), cmp.Or(one.Type, p.Type)
	p.Tags, p.Version = cmp.Or(one.Tags, p.Tags), cmp.Or(one.Version, p.Version)
	return nil
}
