package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/ledger"
)

// ValidateOptions configures [Validate] and [NewSet]. The zero value is the default.
type ValidateOptions struct {
	// LedgerSchema is the agent's ledger schema. If nil, the ledger is open and declares no entity
	// type, so an adapter that writes an entity is a problem.
	LedgerSchema *ledger.Schema
	// Endpoint finds a registered endpoint by id or by name, of which exactly one is not empty. It
	// is called once for each endpoint that a passthrough tool names, one at a time. It returns
	// false if there is no such endpoint. An error is reported as the problem endpoint_unchecked.
	// If Endpoint is nil, only the form of bindings is checked.
	Endpoint func(ctx context.Context, id, name string) (e Endpoint, found bool, err error)
	// Org is the agent's organisation, as Endpoint.Org spells it. If empty, organisations are not
	// compared.
	Org string
	// Limits bounds the schemas.
	Limits Limits
}

// Validate reports every reason for which the platform would reject the tools, as one [*Error] with
// CodeInvalid. The rules are those of the Tools schema, "Validation"; [Problem] lists their codes.
// If o is nil, the defaults apply.
//
// The list unchecked contains what the platform accepts, as far as its documents say, and this
// library cannot check or use: the schemas for which [Compile] returns CodeUnchecked, and ledger
// adapters that are malformed, which the platform ignores. It may be non-empty with and without an
// error.
//
// If ctx ends, everything except the endpoints that are not yet looked up is still checked. Those
// are reported as unchecked, and the error unwraps to the error of ctx. Validate is safe for
// concurrent use as long as the tools do not change.
func Validate(ctx context.Context, tools []Tool, o *ValidateOptions) (unchecked []Problem, err error) {
	var opts ValidateOptions
	if o != nil {
		opts = *o
	}
	c := newChecker(ctx, &opts)
	first := make(map[string]int, len(tools))
	all := opts.Limits.problems()
	for i := range tools {
		t := &tools[i]
		ps := problemsOf(i, t.Name)
		c.tool(ps, t)
		if before, ok := first[t.Name]; ok && t.Name != "" {
			ps.add("name_duplicate", "/name", "is taken by tool[%d] already; names must be unique per agent", before)
		} else {
			first[t.Name] = i
		}
		all = append(all, ps.list...)
		unchecked = append(unchecked, ps.unchecked...)
	}
	if len(all) == 0 {
		return unchecked, nil
	}
	return unchecked, &Error{Code: CodeInvalid, Problems: all, Err: errors.Join(c.causes...)}
}

// checker is the state of one call of Validate.
type checker struct {
	ctx      context.Context // of the one call
	opts     *ValidateOptions
	schemas  jsonschema.Options
	checked  map[string][]jsonschema.Fault // by text of the schema: lists often repeat one
	resolved map[endpointKey]resolved
	causes   []error
}

func newChecker(ctx context.Context, o *ValidateOptions) *checker {
	return &checker{ctx: ctx, opts: o, schemas: jsonschema.Options{Limits: o.Limits.inner()},
		checked: map[string][]jsonschema.Fault{}, resolved: map[endpointKey]resolved{}}
}

const (
	modeRule   = "must be sandbox or passthrough"
	policyRule = "must be record_only, adapter or none"
)

// tool checks the members of a tool in the order of the Tools schema.
func (c *checker) tool(ps *problems, t *Tool) {
	if t.kept.whole != nil {
		ps.add("not_object", "", "must be an object, not %s", rawjson.KindName(t.kept.whole))
		return
	}
	ps.kept("", &t.kept, toolMembers, t.isSet)
	c.name(ps, t.Name)
	c.inputSchema(ps, t)
	if len(t.OutputSchema) > 0 {
		c.schema(ps, "/output_schema", t.OutputSchema, false)
	}
	c.mode(ps, t)
	c.policy(ps, t)
	ps.checkCase("", t.Extra, toolMembers)
	ps.sort()
}

// sort orders the problems of a tool by member, in the order of the Tools schema.
func (ps *problems) sort() {
	sortByMember(ps.list)
	sortByMember(ps.unchecked)
}

func sortByMember(list []Problem) {
	rank := func(p Problem) int {
		name, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		if i := slices.Index(toolMembers, name); i >= 0 {
			return i
		}
		return len(toolMembers)
	}
	slices.SortStableFunc(list, func(a, b Problem) int { return rank(a) - rank(b) })
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

func (c *checker) name(ps *problems, name string) {
	switch {
	case name == "" && !ps.has("/name"):
		ps.add("name_missing", "/name", "is required and must not be empty")
	case name != "" && !namePattern.MatchString(name):
		ps.add("name_invalid", "/name", "must be %s", nameRule(name))
	}
}

func nameRule(name string) string {
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

func (c *checker) inputSchema(ps *problems, t *Tool) {
	if len(t.InputSchema) == 0 {
		ps.add("input_schema_missing", "/input_schema", "is required: the JSON Schema of the arguments object%s",
			otherSpelling(t.Extra))
		return
	}
	c.schema(ps, "/input_schema", t.InputSchema, true)
}

// otherSpelling recognizes the input schema under the name that another SDK gives it.
func otherSpelling(extra []ledger.Member) string {
	for _, m := range extra {
		switch m.Name {
		case "parameters", "inputSchema", "args_schema", "params_json_schema", "schema", "function", "toolSpec":
			return "; this entry has " + strconv.Quote(m.Name) + " as another SDK prints it: read the list with Import"
		}
	}
	return ""
}

// schema checks a schema, and that the root of an input schema describes an object. A response may
// be any JSON, but the platform does not accept a boolean as a schema.
func (c *checker) schema(ps *problems, pointer string, raw json.RawMessage, arguments bool) {
	found := c.faults(raw)
	root := bytes.TrimSpace(raw)
	switch {
	case slices.ContainsFunc(found, func(f jsonschema.Fault) bool { return f.Code == "not_json" }):
	case rawjson.Kind(root) != '{':
		ps.add("schema_not_object", pointer, "must be a JSON Schema object, not %s", rawjson.KindName(root))
		return
	case arguments:
		if at := notObject(root); at != "" {
			ps.add("schema_not_object", pointer+at, `must be "object": the arguments of a call are an object`)
		}
	}
	ps.faults(pointer, found)
}

// faults returns what is wrong with a schema.
func (c *checker) faults(raw json.RawMessage) []jsonschema.Fault {
	found, ok := c.checked[string(raw)]
	if !ok {
		found = jsonschema.Check(raw, &c.schemas)
		c.checked[string(raw)] = found
	}
	return found
}

// faults adds the faults of a schema, each to the list where it belongs.
func (ps *problems) faults(pointer string, found []jsonschema.Fault) {
	for i, p := range schemaProblems(found) {
		list := &ps.list
		if found[i].Unchecked() {
			list = &ps.unchecked
		}
		ps.under(list, pointer, []Problem{p})
	}
}

func (c *checker) mode(ps *problems, t *Tool) {
	mode := t.Mode()
	if mode != Sandbox && mode != Passthrough {
		ps.add("mode_invalid", "/default_execution_mode", modeRule+", not %q", clip.Text(string(mode), 40))
	}
	switch {
	case t.PassthroughBinding != nil:
		c.binding(ps, t.PassthroughBinding, mode == Passthrough)
	case mode == Passthrough:
		ps.add("binding_missing", "/passthrough_binding", "is required in passthrough mode: name an endpoint and one of its tools")
	}
}

// binding checks the form of a binding. In passthrough mode the binding is used: it must be
// complete and lead to a tool.
func (c *checker) binding(ps *problems, b *Binding, used bool) {
	const at = "/passthrough_binding"
	if b.kept.whole != nil {
		ps.add("wrong_type", at, "must be an object, not %s", rawjson.KindName(b.kept.whole))
		return
	}
	wrong := ps.kept(at, &b.kept, bindingMembers, func(name string) bool {
		m := b.kept.find(name)
		return b.member(name) != "" || !used && m.code == "empty"
	})
	ps.checkCase(at, b.Extra, bindingMembers)
	switch {
	case b.EndpointID != "" && b.EndpointName != "":
		ps.add("binding_both_ids", at, "has both endpoint_id and endpoint_name; keep one")
		wrong = true
	case used && b.EndpointID == "" && b.EndpointName == "" && !wrong:
		ps.add("binding_no_endpoint", at, "does not name an endpoint; set endpoint_id or endpoint_name")
		wrong = true
	case b.EndpointID != "" && !uuid.Valid(b.EndpointID):
		ps.add("binding_endpoint_id", at+"/endpoint_id", "must be a UUID; to bind by name use endpoint_name")
		wrong = true
	}
	if !used {
		return
	}
	if b.ToolName == "" && !ps.has(at+"/tool_name") {
		ps.add("binding_tool_name", at+"/tool_name", "is required: the tool's name as the endpoint's discovery lists it")
	}
	if c.opts.Endpoint != nil && !wrong {
		c.endpoint(ps, b)
	}
}

func (c *checker) policy(ps *problems, t *Tool) {
	switch policy := t.WritePolicy(); {
	case policy == PolicyAdapter && t.LedgerAdapter == nil:
		ps.add("adapter_missing", "/ledger_adapter", "is required with ledger_write_policy adapter")
	case policy != PolicyAdapter && policy != PolicyRecordOnly && policy != PolicyNone:
		ps.add("policy_invalid", "/ledger_write_policy", policyRule+", not %q", clip.Text(string(policy), 40))
	}
	if t.LedgerAdapter != nil {
		c.adapter(ps, t.LedgerAdapter)
	}
}

// adapter reports what package ledger finds, under this package's codes. The platform rejects only
// an entity type that is not declared. An adapter that is otherwise malformed writes nothing.
func (c *checker) adapter(ps *problems, a *ledger.Adapter) {
	const at = "/ledger_adapter"
	unchecked, err := a.Validate(c.opts.LedgerSchema)
	if found, ok := errors.AsType[*ledger.Error](err); ok {
		for _, p := range found.Problems {
			ps.add("adapter_undeclared", at+p.Pointer, "%s", p.Message)
		}
	}
	for _, p := range unchecked {
		code := "adapter_invalid"
		if p.Code == "unsupported" {
			code = "adapter_unsupported"
		}
		ps.under(&ps.unchecked, at, []Problem{{Code: code, Pointer: p.Pointer, Message: p.Message}})
	}
	if c.opts.LedgerSchema == nil && a.EntityType != "" && a.Op != ledger.OpSetFlag {
		ps.add("adapter_undeclared", at+"/entity_type",
			"is not declared: the agent has no ledger schema; add one that declares the type")
	}
}

// checkCase reports members whose names differ from known ones by case only. The platform does not
// read them.
func (ps *problems) checkCase(at string, extra []ledger.Member, known []string) {
	for _, m := range extra {
		for _, k := range known {
			if m.Name != k && strings.EqualFold(m.Name, k) {
				ps.add("wrong_case", at+pointerTo(m.Name), "is not a known member; names are case-sensitive, write %q", k)
			}
		}
	}
}
