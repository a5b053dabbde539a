package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Loss is something that a list in another format cannot say, or should say and does not.
type Loss struct {
	Index   int    // the tool's place in the list
	Tool    string // its name
	Member  string // the member concerned, as this package's Tool or the target spells it
	Message string
}

// String names tool, member and loss in one line.
func (l Loss) String() string {
	return fmt.Sprintf("tool[%d] %q: %s %s", l.Index, l.Tool, l.Member, l.Message)
}

// Export writes a tool list in a format, and reports what of it the format cannot carry. Only members that the target
// knows are written, because the APIs of models refuse a list with others: the registration members of the Tools schema
// (mode, binding, policy, adapter) are for the platform alone, and so is a tool list in the format [Platform]. Of
// Tool.Extra it writes what belongs to the format, so that a list read and written in one format comes out the same.
//
// Schemas are written byte for byte. The error is a [*ValidationError] if something raw in a tool is not strict JSON, if
// a name in Extra stands there twice or is that of a field, or if there is no such format.
func Export(tools []Tool, f Format) ([]byte, []Loss, error) {
	if f == Platform {
		doc, err := Marshal(tools)
		return doc, nil, err
	}
	d, ok := dialectOf(f)
	if !ok {
		return nil, nil, oneProblem(CodeFormatUnknown, "", fmt.Sprintf("%q is no format", clip.Text(string(f), 40)))
	}
	entries := make([]json.RawMessage, len(tools))
	var losses []Loss
	var all []Problem
	for i := range tools {
		all = append(all, tools[i].checkRaw(i)...)
	}
	if len(all) > 0 {
		return nil, nil, &ValidationError{Problems: all}
	}
	for i := range tools {
		e := &exporter{dialect: d, format: f, tool: &tools[i], index: i}
		entries[i] = e.entry()
		losses = append(losses, e.losses...)
	}
	out := rawjson.Array(entries)
	if d.list != "" {
		w := new(objectWriter)
		w.Put(d.list, out)
		out = w.Bytes()
	}
	return out, losses, nil
}

// exporter writes one tool.
type exporter struct {
	dialect
	format Format
	tool   *Tool
	index  int
	losses []Loss
}

func (e *exporter) lose(member, message string) {
	e.losses = append(e.losses, Loss{e.index, clip.Text(e.tool.Name, 128), member, message})
}

func (e *exporter) entry() json.RawMessage {
	w, t := new(objectWriter), e.tool
	if e.format == OpenAIResponses {
		w.PutText("type", "function")
	}
	w.PutText("name", t.Name)
	w.PutText("description", t.Description)
	w.Put(e.schema[0], e.schemaValue(t.InputSchema))
	if len(t.OutputSchema) > 0 {
		if e.output == "" {
			e.drop("output_schema")
		} else {
			w.Put(e.output, e.schemaValue(t.OutputSchema))
		}
	}
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"default_execution_mode", t.DefaultExecutionMode != ""}, {"passthrough_binding", t.PassthroughBinding != nil},
		{"ledger_write_policy", t.LedgerWritePolicy != ""}, {"ledger_adapter", t.LedgerAdapter != nil},
	} {
		if m.set {
			e.drop(m.name)
		}
	}
	for _, m := range t.Extra {
		if slices.Contains(e.own, m.Name) {
			w.Put(m.Name, m.Value)
		} else {
			e.drop(m.Name)
		}
	}
	for _, need := range e.needs {
		if !slices.ContainsFunc(strings.Split(need, " or "), w.Has) {
			e.lose(need, "is missing, and "+e.title+" needs it")
		}
	}
	if e.format == OpenAIChat {
		outer := new(objectWriter)
		outer.PutText("type", "function")
		outer.Put("function", w.Bytes())
		return outer.Bytes()
	}
	return w.Bytes()
}

func (e *exporter) drop(member string) {
	e.lose(member, "is left out: "+e.title+" has no place for it")
}

func (e *exporter) schemaValue(raw json.RawMessage) json.RawMessage {
	if !e.inJSON || len(raw) == 0 {
		return raw
	}
	w := new(objectWriter)
	w.Put("json", raw)
	return w.Bytes()
}
