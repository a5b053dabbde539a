package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// declarable are the members of a record that a declaration can have among its extra members.
var declarable = []string{"framework", "tool_type", "tags", "version"}

// Declarations converts records to tool declarations. The problems have the code left_out. They list
// what a declaration cannot hold, and what it needs and a record lacks. name and description are
// kept. framework, tool_type, tags and version become members of [schema.Tool.Extra], where
// [FromDeclarations] finds them.
//
// A record contains no schema of the arguments; the Python class defines it. So the input schema of
// every declaration is {"type":"object","properties":{}}, any object, until the caller replaces it.
func Declarations(items []ListItem) ([]schema.Tool, []toolwire.Problem) {
	var losses problem.List[toolwire.Problem]
	tools := make([]schema.Tool, len(items))
	for n, item := range items {
		lose := func(member, message string) {
			addLoss(&losses, n, item.Name, member, message)
		}
		t := schema.Tool{Name: item.Name, Description: item.Description, InputSchema: json.RawMessage(toolresult.NoArguments)}
		record, _ := rawjson.Encode(patchOf(item.Tool)) // cannot fail: it contains texts only
		for _, member := range declarable {
			if value := rawjson.Member(record, member); value != nil {
				t.Extra = append(t.Extra, ledger.Member{Name: member, Value: value})
			}
		}
		tools[n] = t

		if _, err := schema.Validate(context.Background(), []schema.Tool{t}, nil); hasCode(err, "name_invalid") {
			lose("name", "is not a valid tool name in the Tools schema; choose another one")
		}
		lose("input_schema", "is absent from records: the declaration accepts any object until it has a schema")
		for _, own := range []struct{ member, value string }{{"id", item.ID}, {"account_id", item.AccountID},
			{"plugin_class_name", item.PluginClassName}, {"module_name", item.ModuleName},
			{"script_content", item.ScriptContent}} {
			if own.value != "" {
				lose(own.member, "belongs to the catalog; left out")
			}
		}
	}
	return tools, losses.All()
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*toolwire.Error](err)
	return ok && slices.ContainsFunc(e.Problems, func(p toolwire.Problem) bool { return p.Code == code })
}

// addLoss adds a problem of the n-th tool, with the code that [schema.Export] uses.
func addLoss(losses *problem.List[toolwire.Problem], n int, tool, member, message string) {
	losses.AddTool(text.Cut(tool, maxShown), "left_out", fmt.Sprintf("/%d%s", n, rawjson.Token(member)), "%s", message)
}

// FromDeclarations converts tool declarations to records. The problems have the code left_out. They list
// what a record cannot hold. base supplies account_id. It also supplies framework, tool_type, tags and
// version, unless a declaration has them among its extra members. FromDeclarations does not validate the
// records; see [Tool.Validate].
func FromDeclarations(tools []schema.Tool, base Tool) ([]Tool, []toolwire.Problem) {
	var losses problem.List[toolwire.Problem]
	records := make([]Tool, len(tools))
	for n := range tools {
		t := &tools[n]
		lose := func(member, message string, is bool) {
			if is {
				addLoss(&losses, n, t.Name, member, message)
			}
		}
		const left = "does not exist in a record"
		lose("input_schema", left+"; the args_schema of the Python class replaces it", len(t.InputSchema) > 0)
		lose("output_schema", left, len(t.OutputSchema) > 0)
		lose("default_execution_mode", left, t.DefaultExecutionMode != "")
		lose("passthrough_binding", left, t.PassthroughBinding != nil)
		lose("ledger_write_policy", left, t.LedgerWritePolicy != "")
		lose("ledger_adapter", left, t.LedgerAdapter != nil)

		var p Patch
		for _, m := range t.Extra {
			with, ps := p, problems(nil)
			switch {
			case !slices.Contains(declarable, m.Name):
				lose(m.Name, left, true)
			case !json.Valid(m.Value) || !with.read(&ps, m.Name, m.Value):
				lose(m.Name, "is not valid in a record; left out", true)
			default:
				p = with
			}
		}
		record := p.apply(base)
		record.Name, record.Description = t.Name, t.Description
		records[n] = record
	}
	return records, losses.All()
}
