package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/ledger"
)

const (
	longestDescription = 1024 // the limit of OpenAI for descriptions of functions
	deepestOutput      = 24   // nesting of an output schema that the platform accepts
)

// Lint reports what [Validate] accepts but is likely to cause trouble, including what Validate
// lists as unchecked; see [toolwire.Problem] for the codes. It uses only LedgerSchema and Limits of o. If o
// is nil, the defaults apply. Lint ignores what cannot be read, so run it on lists that are valid.
// Warnings are ordered by tool, then by rule.
func Lint(tools []Tool, o *ValidateOptions) []toolwire.Problem {
	var all problem.List[toolwire.Problem]
	var opts ValidateOptions
	if o != nil {
		opts = ValidateOptions{LedgerSchema: o.LedgerSchema, Limits: o.Limits}
	}
	c := newChecker(context.Background(), &opts)
	folded := map[string]int{}
	for i := range tools {
		l := &linter{tool: &tools[i], checker: c, problems: *problemsAt(element(i), tools[i].Name)}
		checked := problemsAt(element(i), tools[i].Name)
		c.tool(checked, l.tool)
		l.list = checked.unchecked
		l.addNotes(&l.list, "/input_schema", c.compile(tools[i].InputSchema).notes)
		l.addNotes(&l.list, "/output_schema", c.compile(tools[i].OutputSchema).notes)
		l.names()
		if before, ok := folded[strings.ToLower(tools[i].Name)]; ok && tools[before].Name != tools[i].Name {
			l.add("name_case", "/name", "differs from tool[%d] by case only; models confuse such names", before)
		} else {
			folded[strings.ToLower(tools[i].Name)] = i
		}
		l.input()
		l.output()
		l.registration()
		if l.tool.LedgerAdapter != nil {
			l.adapter(l.tool.LedgerAdapter, opts.LedgerSchema)
		}
		all.Join(l.list)
	}
	return all.All()
}

type linter struct {
	problems
	tool    *Tool
	checker *checker
	members int // of schemas that were looked at
}

func (l *linter) names() {
	if n := len(l.tool.Name); n > toolresult.LongestModelName {
		l.add("name_long", "/name", "has %d characters; OpenAI and Anthropic take at most %d", n,
			toolresult.LongestModelName)
	}
	switch n := len(l.tool.Description); {
	case strings.TrimSpace(l.tool.Description) == "":
		l.add("no_description", "/description",
			"is missing; the model chooses tools by it, so say what the tool does and when to use it")
	case n > longestDescription:
		l.add("description_long", "/description", "has %d bytes; OpenAI takes at most %d", n, longestDescription)
	}
}

func (l *linter) input() {
	const at = "/input_schema"
	raw, err := readDocument(l.tool.InputSchema)
	if err != nil || rawjson.Kind(raw) != '{' {
		return
	}
	list := membersOf(raw)
	if member(list, "type") == nil {
		l.add("no_type", at, `has no "type"; write "type": "object", which providers ask for`)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "$ref"} {
		if member(list, keyword) != nil {
			l.add("root_keyword", at+"/"+keyword, "is at the root, where providers reject it; move it into a property")
		}
	}
	if len(membersOf(member(list, "properties"))) == 0 && member(list, "$ref") == nil && member(list, "allOf") == nil &&
		string(member(list, "additionalProperties")) != "false" && member(list, "patternProperties") == nil {
		l.add("empty_object", at, `has no properties, so the model may send anything; declare some, or write `+
			`"properties": {} and "additionalProperties": false if there are none`)
	}
	if compiled := l.checker.compile(l.tool.InputSchema).schema; compiled != nil {
		for _, issue := range compiled.WrongDefaults() {
			l.add("default_invalid", at+issue.Pointer, "does not match its own schema, so it is never filled in: %s", issue.Message)
		}
	}
	l.schema(at, raw, true)
}

// schema adds the warnings about a schema and those in it.
func (l *linter) schema(at string, raw json.RawMessage, arguments bool) {
	list := membersOf(raw)
	l.keywords(at, list)
	properties := membersOf(member(list, "properties"))
	if rawjson.Kind(member(list, "type")) == '[' && arguments {
		l.add("type_list", at+"/type", `is a list of types, which some providers reject; use "anyOf"`)
	}
	for i, name := range slices.Collect(rawjson.Elements(member(list, "required"))) {
		if arguments && !l.declares(list, properties, rawjson.Unquote(name)) {
			l.add("required_unknown", fmt.Sprintf("%s/required/%d", at, i),
				"names %q, which is not a property; the model cannot know what to send",
				text.Cut(rawjson.Unquote(name), 80))
		}
	}
	if arguments {
		for _, p := range properties {
			inner := membersOf(p.Value)
			s := rawjson.Unquote(member(inner, "description")) + rawjson.Unquote(member(inner, "title"))
			if s == "" && member(inner, "$ref") == nil && member(inner, "const") == nil {
				l.add("property_undescribed", at+"/properties"+pointerTo(p.Name), "has no description; the model must guess "+
					"what to send")
			}
		}
	}
	for _, m := range list {
		for place, inner := range jsonschema.Inside(m.Name, m.Value) {
			l.schema(at+pointerTo(m.Name)+place, inner, arguments)
		}
	}
}

// declares reports whether a schema describes a property that it requires.
func (l *linter) declares(list, properties []ledger.Member, name string) bool {
	if slices.ContainsFunc(properties, func(p ledger.Member) bool { return p.Name == name }) {
		return true
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "$ref", "patternProperties"} {
		if member(list, keyword) != nil {
			return true // it may be declared there
		}
	}
	// A schema that has only "required" is a part of one that declares the property, such as an
	// alternative.
	return member(list, "properties") == nil && member(list, "type") == nil
}

// failure is the usual response of a tool that fails.
const failure = `{"error":"not found"}`

func (l *linter) output() {
	const at = "/output_schema"
	raw, err := readDocument(l.tool.OutputSchema)
	if err != nil || rawjson.Kind(raw) != '{' {
		return
	}
	l.schema(at, raw, false)
	if nesting(raw) > deepestOutput {
		l.add("output_deep", at, "is nested more than %d levels deep, which later releases of the platform reject",
			deepestOutput)
	}
	if v := l.checker.compile(l.tool.OutputSchema).schema; v != nil && v.Validate([]byte(failure)) != nil {
		l.add("output_no_failure", at,
			`cannot express a failure such as {"error": "not found"}, so the simulator cannot make the tool fail; `+
				`allow it with OrFailure in Go, with "anyOf", or by leaving "required" and "additionalProperties" out`)
	}
}

func nesting(raw json.RawMessage) int {
	deepest := 0
	for _, m := range membersOf(raw) {
		deepest = max(deepest, nesting(m.Value))
	}
	for _, item := range slices.Collect(rawjson.Elements(raw)) {
		deepest = max(deepest, nesting(item))
	}
	if k := rawjson.Kind(raw); k == '{' || k == '[' {
		deepest++
	}
	return deepest
}

func (l *linter) registration() {
	t := l.tool
	if t.Mode() == Sandbox {
		if t.PassthroughBinding != nil {
			l.add("binding_unused", "/passthrough_binding", "is not used in sandbox mode; it is kept for passthrough mode")
		}
		if t.LedgerWritePolicy != "" {
			l.add("policy_unused", "/ledger_write_policy",
				"concerns passthrough tools only; in sandbox mode the simulator writes the ledger")
		}
		if t.LedgerAdapter != nil {
			l.add("adapter_unused", "/ledger_adapter",
				"concerns passthrough tools only; in sandbox mode the simulator writes the ledger")
		}
	} else if t.LedgerAdapter != nil && t.WritePolicy() != PolicyAdapter {
		l.add("adapter_unused", "/ledger_adapter", "is not used with ledger_write_policy %s; set it to adapter",
			t.WritePolicy())
	}
	for _, m := range t.Extra {
		if m.Name == "auth" {
			l.add("secret", "/auth", "may hold a credential; remove it before you publish the list")
		}
	}
}
