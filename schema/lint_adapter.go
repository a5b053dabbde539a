package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
)

// adapter adds the warnings about what an adapter would not write in a first live run.
func (l *linter) adapter(a *ledger.Adapter, s *ledger.Schema) {
	const at = "/ledger_adapter"
	l.path(at+"/id_from", a.IDFrom)
	for _, field := range slices.Sorted(maps.Keys(a.FieldMap)) {
		l.path(at+"/field_map"+pointerTo(field), a.FieldMap[field])
	}
	l.undeclaredFields(at, a, s)
	for i, flag := range a.Flags {
		template, err := jsonpath.ParseTemplate(flag)
		if err != nil {
			continue // Validate reports it
		}
		for _, name := range template.Names {
			if !l.hasArgument(name) && (name != "id" || a.Op == ledger.OpSetFlag) {
				l.add("placeholder_unknown", at+"/flags"+"/"+strconv.Itoa(i),
					"has the placeholder {%s}, which is not an argument of the tool, so the flag is never set", text.Cut(name, 80))
			}
		}
	}
}

// undeclaredFields reports fields that the ledger schema does not declare and that its open field
// policy allows. It asks package ledger what a closed policy would reject.
func (l *linter) undeclaredFields(at string, a *ledger.Adapter, s *ledger.Schema) {
	if s == nil {
		return
	}
	closed := &ledger.Schema{FieldPolicy: "closed", Entities: slices.Clone(s.Entities)}
	for i := range closed.Entities {
		closed.Entities[i].FieldPolicy = ""
	}
	open, _ := a.Validate(s)
	all, _ := a.Validate(closed)
	for _, p := range all {
		if p.Code == "undeclared" && strings.HasPrefix(p.Pointer, "/field_map/") && !slices.Contains(open, p) {
			l.add("field_undeclared", at+p.Pointer, "%s; simulated tools do not know it", p.Message)
		}
	}
}

// hasArgument reports whether the input schema declares a property, or may declare it where this
// package does not look.
func (l *linter) hasArgument(name string) bool {
	raw, err := readDocument(l.tool.InputSchema)
	return err != nil || part(raw, jsonpath.Step{Name: name}) != nil
}

// path reports a path that leads to nothing that the schema of its document describes.
func (l *linter) path(pointer, s string) {
	syntax, err := jsonpath.Parse(s)
	if err != nil {
		return // Validate lists it, or it is missing
	}
	of, raw := "output_schema", l.tool.OutputSchema
	if syntax.Root == jsonpath.Args {
		of, raw = "input_schema", l.tool.InputSchema
	}
	schema, err := readDocument(raw)
	if err != nil {
		return
	}
	for _, step := range syntax.Steps() {
		if schema = part(schema, step); schema == nil {
			name := "an element"
			if !step.Element {
				name = rawjson.Token(text.Cut(step.Name, 80))[1:]
			}
			l.add("path_undeclared", pointer, "leads to %s, which the %s does not describe", name, of)
			return
		}
	}
}

var anything = json.RawMessage("{}")

// part returns the schema of a part of what a schema describes. It returns {} if it does not know,
// and nil if the schema does not describe such a part.
func part(schema json.RawMessage, step jsonpath.Step) json.RawMessage {
	list := membersOf(schema)
	for _, keyword := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties",
		"prefixItems", "dependentSchemas"} {
		if member(list, keyword) != nil {
			return anything
		}
	}
	kind, inner, others := "object", member(list, "properties"), member(list, "additionalProperties")
	if step.Element {
		kind, inner, others = "array", nil, member(list, "items")
	}
	if t := member(list, "type"); t != nil && !includes(t, kind) {
		return nil
	}
	if value := rawjson.Member(inner, step.Name); value != nil && !step.Element {
		return orAnything(value)
	}
	switch {
	case string(others) == "false":
		return nil
	case others != nil:
		return orAnything(others)
	case inner != nil: // other properties are allowed, and not described
		return nil
	}
	return anything
}

// orAnything returns {} for a schema that is not an object.
func orAnything(schema json.RawMessage) json.RawMessage {
	if rawjson.Kind(schema) != '{' {
		return anything
	}
	return schema
}

// includes reports whether a "type" includes a type.
func includes(t json.RawMessage, kind string) bool {
	if rawjson.Kind(t) == '[' {
		return slices.ContainsFunc(slices.Collect(rawjson.Elements(t)), func(e json.RawMessage) bool {
			return rawjson.Unquote(e) == kind
		})
	}
	return rawjson.Unquote(t) == kind
}
