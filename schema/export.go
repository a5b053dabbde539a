package schema

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Export writes a tool list in a format. The losses are the members that the format cannot carry
// (left_out) and the required members that the tool lacks (required). Schemas that this package
// cannot check are written like all others, and losses names them with the codes of [Validate].
//
// It writes only members that the target knows, because the APIs of models reject a list with
// others. Mode, binding, policy and adapter are for the platform alone, so only the format
// [Platform] contains them. From Tool.Extra, Export writes the members of the format, so a list
// that is imported and exported in one format stays the same. For Platform, it writes all members
// except the ones of the format from which the tool was imported.
//
// Schemas are written byte for byte, except in one case: in all formats but Platform, an input schema of
// the type object without "properties" gets an empty one, without which OpenAI refuses the whole list.
//
// Each [Format] says whether the list is an array or a member of an object. Properties keep the
// order of the schema, and models write arguments in this order. An SDK that decodes a schema into
// a map sorts the properties by name; pass it the schema as json.RawMessage if its type is any.
// "required" is an array and keeps its order in every SDK.
//
// The error is a [*toolwire.Error] with toolwire.CodeInvalid if a schema or a member of Extra is not strict JSON, if
// a name in Extra repeats or is the name of a field, or if f is not a format.
func Export(tools []Tool, f Format) (list json.RawMessage, losses []toolwire.Problem, err error) {
	d, ok := dialectOf(f)
	if !ok && f != Platform {
		return nil, nil, unknownFormat(f)
	}
	var all problem.List[toolwire.Problem]
	for i := range tools {
		all.Join(tools[i].checkRaw(element(i)))
	}
	if err := invalid(all); err != nil {
		return nil, nil, err
	}
	var lost problem.List[toolwire.Problem]
	if f == Platform {
		list, err = writePlatform(tools, &lost)
		addUnchecked(tools, &lost)
		return list, lost.All(), err
	}
	entries := make([]json.RawMessage, len(tools))
	for i := range tools {
		e := &exporter{dialect: d, format: f, tool: &tools[i], losses: problemsAt(element(i), tools[i].Name)}
		entries[i] = e.entry()
		lost.Join(e.losses.list)
	}
	out := rawjson.Array(entries)
	if d.list != "" {
		w := new(rawjson.Object)
		w.Put(d.list, out)
		out = w.Bytes()
	}
	addUnchecked(tools, &lost)
	return out, lost.All(), nil
}

// addUnchecked adds what this package cannot check of schemas, and what it reads although draft
// 2020-12 does not have it.
func addUnchecked(tools []Tool, to *problem.List[toolwire.Problem]) {
	c := newChecker(context.Background(), &ValidateOptions{})
	for i := range tools {
		ps := problemsAt(element(i), tools[i].Name)
		for j, raw := range []json.RawMessage{tools[i].InputSchema, tools[i].OutputSchema} {
			if len(raw) > 0 {
				at, found := [...]string{"/input_schema", "/output_schema"}[j], c.compile(raw)
				ps.addFaults(at, found.faults)
				ps.addNotes(&ps.unchecked, at, found.notes)
			}
		}
		to.Join(ps.unchecked)
	}
}

// writePlatform leaves out the members of the formats from which tools were imported.
func writePlatform(tools []Tool, lost *problem.List[toolwire.Problem]) (doc []byte, err error) {
	entries := make([]json.RawMessage, len(tools))
	for i := range tools {
		ps, t := problemsAt(element(i), tools[i].Name), tools[i]
		t.Extra = nil
		for _, m := range tools[i].Extra {
			if slices.Contains(t.foreign, m.Name) {
				ps.add("left_out", pointerTo(m.Name), "is left out; the platform does not have it")
			} else {
				t.Extra = append(t.Extra, m)
			}
		}
		if entries[i], err = t.MarshalJSON(); err != nil {
			return nil, err
		}
		lost.Join(ps.list)
	}
	var w rawjson.Object
	w.Put("tools_schema", rawjson.Array(entries))
	return w.Bytes(), nil
}

// exporter writes one tool and collects what it loses.
type exporter struct {
	dialect
	format Format
	tool   *Tool
	losses *problems
}

func (e *exporter) entry() json.RawMessage {
	w, t := new(rawjson.Object), e.tool
	if e.format == OpenAIResponses {
		w.PutText("type", "function")
	}
	w.PutText("name", t.Name)
	w.PutText("description", t.Description)
	w.Put(e.schema[0], e.schemaValue(toolresult.Parameters(t.InputSchema)))
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
			e.require(need)
		}
	}
	if e.format == OpenAIChat {
		outer := new(rawjson.Object)
		outer.PutText("type", "function")
		outer.Put("function", w.Bytes())
		return outer.Bytes()
	}
	return w.Bytes()
}

func (e *exporter) require(need string) {
	if strings.Contains(need, " or ") {
		e.losses.add("required", "", "%s is missing; %s requires one", need, e.title)
		return
	}
	e.losses.add("required", "/"+need, "is missing; %s requires it", e.title)
}

func (e *exporter) drop(member string) {
	e.losses.add("left_out", pointerTo(member), "is left out; %s does not have it", e.title)
}

func (e *exporter) schemaValue(raw json.RawMessage) json.RawMessage {
	if !e.inJSON || len(raw) == 0 {
		return raw
	}
	w := new(rawjson.Object)
	w.Put("json", raw)
	return w.Bytes()
}
