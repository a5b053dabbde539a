package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/ledger"
)

// ValidateOptions adds to what [Validate] can check. The zero value is the default.
type ValidateOptions struct {
	// LedgerSchema is the agent's ledger schema. Without one, nil, the ledger is open and declares no entity, so every
	// adapter that writes an entity is a problem.
	LedgerSchema *ledger.Schema
	// Endpoints finds the endpoints that bindings name. Without it bindings are checked for their form only.
	Endpoints EndpointResolver
	// Org is the agent's organisation, to be compared with Endpoint.Org; "" compares nothing.
	Org string
	// Limits bounds the schemas; see [Compile].
	Limits Limits
}

// Validate reports everything for which the platform would reject the tools, all of it at once, as a
// [*ValidationError]. The rules are those of the Tools schema, "Validation"; the package comment lists their codes.
// Options may be nil. It is safe for concurrent use as long as nobody changes the tools. With an [EndpointResolver] that
// takes its time use [ValidateContext].
func Validate(tools []Tool, o *ValidateOptions) error {
	return ValidateContext(context.Background(), tools, o)
}

// ValidateContext is [Validate] with a context for the [EndpointResolver]. When the context ends, all else is still
// checked; the endpoints not yet looked up are reported as unchecked, and the error unwraps to that of the context.
func ValidateContext(ctx context.Context, tools []Tool, o *ValidateOptions) error {
	var opts ValidateOptions
	if o != nil {
		opts = *o
	}
	c := newChecker(ctx, opts)
	first := make(map[string]int, len(tools))
	all := opts.Limits.problems()
	for i := range tools {
		t := &tools[i]
		ps := &problems{index: i, tool: clip.Text(t.Name, 128)}
		c.tool(ps, t)
		if before, ok := first[t.Name]; ok && t.Name != "" {
			ps.add(CodeNameDuplicate, "/name", "is taken by tool[%d] already; names must be unique per agent", before)
		} else {
			first[t.Name] = i
		}
		all = append(all, ps.list...)
	}
	if len(all) == 0 {
		return nil
	}
	return &ValidationError{Problems: all, causes: c.causes}
}

// checker holds what one call of ValidateContext shares.
type checker struct {
	ctx       context.Context // of the one call
	ledger    *ledger.Schema
	endpoints EndpointResolver
	org       string
	options   jsonschema.Options
	checked   map[string][]Problem // by text of the schema: lists often repeat one
	looked    map[endpointKey]foundEndpoint
	causes    []error
}

func newChecker(ctx context.Context, o ValidateOptions) *checker {
	return &checker{ctx: ctx, ledger: o.LedgerSchema, endpoints: o.Endpoints, org: o.Org,
		checked: map[string][]Problem{}, looked: map[endpointKey]foundEndpoint{},
		options: jsonschema.Options{Limits: jsonschema.Limits(o.Limits)}}
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)
)

func (c *checker) tool(ps *problems, t *Tool) {
	if t.whole != nil {
		ps.add(CodeNotObject, "", "must be an object, not %s", rawjson.KindName(t.whole))
		return
	}
	c.name(ps, t)
	checkText(ps, t.kept, "", "description")
	c.schemas(ps, t)
	c.mode(ps, t)
	c.policy(ps, t)
	checkCase(ps, "", t.Extra, toolMembers)
}

func (c *checker) name(ps *problems, t *Tool) {
	switch {
	case t.Name != "":
		if !namePattern.MatchString(t.Name) {
			ps.add(CodeNameInvalid, "/name", "must be %s", nameAdvice(t.Name))
		}
	case !checkText(ps, t.kept, "", "name"):
		ps.add(CodeNameMissing, "/name", "is required and must not be empty")
	}
}

func nameAdvice(name string) string {
	const rule = "1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _"
	if len(name) > 128 {
		return rule + "; this one has " + strconv.Itoa(len(name)) + " bytes"
	}
	for i, r := range name {
		if !namePattern.MatchString(name[:i] + string(r)) {
			return rule + "; " + strconv.QuoteToASCII(string(r)) + " at byte " + strconv.Itoa(i) + " is not allowed there"
		}
	}
	return rule
}

func (c *checker) schemas(ps *problems, t *Tool) {
	if len(t.InputSchema) == 0 {
		ps.add(CodeInputSchemaMissing, "/input_schema", "is required: the JSON Schema of the arguments object%s",
			otherSpelling(t.Extra))
	} else {
		c.schema(ps, "/input_schema", t.InputSchema, true)
	}
	if len(t.OutputSchema) > 0 {
		c.schema(ps, "/output_schema", t.OutputSchema, false)
	}
}

// otherSpelling recognises the input schema under the name that another SDK gives it.
func otherSpelling(extra []ledger.Member) string {
	for _, m := range extra {
		switch m.Name {
		case "parameters", "inputSchema", "args_schema", "params_json_schema", "schema", "function", "toolSpec":
			return "; this entry has " + strconv.Quote(m.Name) + " as another SDK prints it: read the list with Import"
		}
	}
	return ""
}

// schema checks a schema, and that its root describes an object. What a response may be is free, except that the
// platform takes no boolean for a schema.
func (c *checker) schema(ps *problems, pointer string, raw json.RawMessage, arguments bool) {
	found, ok := c.checked[string(raw)]
	if !ok {
		if err := jsonschema.Check(raw, &c.options); err != nil {
			found = schemaProblems(err)
		}
		c.checked[string(raw)] = found
	}
	root := bytes.TrimSpace(raw)
	switch {
	case len(found) > 0 && !isDocument(raw): // what is no JSON, or beyond a limit, cannot be looked into
	case rawjson.Kind(root) != '{':
		ps.add(CodeSchemaNotObject, pointer, "must be a JSON Schema object, not %s", rawjson.KindName(root))
		return
	case arguments:
		if at := notObject(root); at != "" {
			ps.add(CodeSchemaNotObject, pointer+at, `must be "object": the arguments of a call are an object`)
		}
	}
	ps.under(pointer, found)
}

func isDocument(raw json.RawMessage) bool {
	_, err := readDocument(raw)
	return err == nil
}

func (c *checker) mode(ps *problems, t *Tool) {
	switch {
	case t.DefaultExecutionMode == "" && keptMember(t.kept, "default_execution_mode") != nil:
		if kept := keptMember(t.kept, "default_execution_mode"); rawjson.Kind(kept) != 'n' {
			ps.add(CodeModeInvalid, "/default_execution_mode", "must be sandbox or passthrough")
		}
	case t.Mode() != Sandbox && t.Mode() != Passthrough:
		ps.add(CodeModeInvalid, "/default_execution_mode", "must be sandbox or passthrough, not %q",
			clip.Text(string(t.DefaultExecutionMode), 40))
	}
	used := t.Mode() == Passthrough
	if t.PassthroughBinding != nil {
		c.binding(ps, t.PassthroughBinding, used)
	} else if used {
		ps.add(CodeBindingMissing, "/passthrough_binding", "is required in passthrough mode: name an endpoint and a tool of it")
	}
}

// binding checks the form of a binding, and if it is used, that it is complete and leads to a tool.
func (c *checker) binding(ps *problems, b *Binding, used bool) {
	const at = "/passthrough_binding"
	if b.whole != nil {
		ps.add(CodeWrongType, at, "must be an object, not %s", rawjson.KindName(b.whole))
		return
	}
	wrong := false
	for _, name := range bindingMembers {
		if !used && rawjson.Kind(keptMember(b.kept, name)) == '"' {
			continue // empty
		}
		wrong = checkText(ps, b.kept, at, name) || wrong
	}
	checkCase(ps, at, b.Extra, bindingMembers)
	switch {
	case b.EndpointID != "" && b.EndpointName != "":
		ps.add(CodeBindingBoth, at, "has both endpoint_id and endpoint_name; keep one")
		wrong = true
	case used && b.EndpointID == "" && b.EndpointName == "" && !wrong:
		ps.add(CodeBindingNoEndpoint, at, "names no endpoint; give endpoint_id or endpoint_name")
		wrong = true
	case b.EndpointID != "" && !uuid.Valid(b.EndpointID):
		ps.add(CodeBindingEndpointID, at+"/endpoint_id", "must be a UUID; to bind by name use endpoint_name")
		wrong = true
	}
	if !used {
		return
	}
	if b.ToolName == "" && keptMember(b.kept, "tool_name") == nil {
		ps.add(CodeBindingToolName, at+"/tool_name", "is required: the tool as the endpoint's discovery lists it")
	}
	if c.endpoints != nil && !wrong {
		c.checkEndpoint(ps, b)
	}
}

func (c *checker) policy(ps *problems, t *Tool) {
	switch {
	case t.LedgerWritePolicy == "" && keptMember(t.kept, "ledger_write_policy") != nil:
		if kept := keptMember(t.kept, "ledger_write_policy"); rawjson.Kind(kept) != 'n' {
			ps.add(CodePolicyInvalid, "/ledger_write_policy", "must be record_only, adapter or none")
		}
	case t.WritePolicy() == PolicyAdapter:
		if t.LedgerAdapter == nil {
			ps.add(CodeAdapterMissing, "/ledger_adapter", "is required with ledger_write_policy adapter")
		}
	case t.WritePolicy() != PolicyRecordOnly && t.WritePolicy() != PolicyNone:
		ps.add(CodePolicyInvalid, "/ledger_write_policy", "must be record_only, adapter or none, not %q",
			clip.Text(string(t.LedgerWritePolicy), 40))
	}
	if t.LedgerAdapter != nil {
		c.adapter(ps, t.LedgerAdapter)
	}
}

// adapter passes on what package ledger finds, under this package's codes.
func (c *checker) adapter(ps *problems, a *ledger.Adapter) {
	const at = "/ledger_adapter"
	if found, ok := errors.AsType[*ledger.Error](a.Validate(c.ledger)); ok {
		for _, p := range found.Problems {
			code := CodeAdapterInvalid
			if p.Code == ledger.CodeUndeclared {
				code = CodeAdapterUndeclared
			}
			ps.add(code, at+p.Pointer, "%s", p.Message)
		}
	}
	if c.ledger == nil && a.EntityType != "" && a.Op != ledger.OpSetFlag {
		ps.add(CodeAdapterUndeclared, at+"/entity_type",
			"is not declared: the agent has no ledger schema; add one that declares the type")
	}
}

// checkText reports a member that should be a string with something in it and is not. A null counts as absent, and an
// empty description as none.
func checkText(ps *problems, kept []ledger.Member, at, name string) bool {
	value := keptMember(kept, name)
	switch rawjson.Kind(value) {
	case 0, 'n':
		return false
	case '"':
		if at == "" {
			return false
		}
		ps.add(CodeEmpty, at+"/"+name, "is empty; fill it in or leave it out")
	default:
		ps.add(CodeWrongType, at+"/"+name, "must be a string, not %s", rawjson.KindName(value))
	}
	return true
}

// checkCase reports members that are known but for their case: the platform does not read them.
func checkCase(ps *problems, at string, extra []ledger.Member, known []string) {
	for _, m := range extra {
		for _, k := range known {
			if m.Name != k && strings.EqualFold(m.Name, k) {
				ps.add(CodeWrongCase, at+pointerTo(m.Name), "is not a known member; names are case-sensitive, write %q", k)
			}
		}
	}
}
