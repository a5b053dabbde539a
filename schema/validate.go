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
	"github.com/toolwire/toolwire/internal/declaration"
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
	// Endpoint finds a registered endpoint by id or by name, of which exactly one is not empty. The
	// id is a UUID in lower case with hyphens. Names are unique in one organisation only, so look
	// for a name among the endpoints of Org. Endpoint is called once for each endpoint that a
	// passthrough tool names, one at a time. It returns false if there is no such endpoint. An
	// error is reported as the problem endpoint_lookup. If Endpoint is nil, only the form of
	// bindings is checked.
	Endpoint func(ctx context.Context, id, name string) (e Endpoint, found bool, err error)
	// Org is the agent's organisation, as Endpoint.Org spells it. If empty, organisations are not
	// compared.
	Org string
	// Limits bounds the schemas.
	Limits Limits
}

// Validate reports every reason for which the platform would reject the tools, as one [*Error] with
// CodeInvalid. The rules are those of the Tools schema, "Validation"; [Problem] lists their codes,
// and the package comment says where the page leaves a choice. If o is nil, the defaults apply.
//
// The list unchecked contains what does not make the platform reject a tool, and what this library cannot check
// or use: schemas for which [Compile] returns CodeUnchecked, malformed ledger adapters, adapter
// paths outside the grammar of package ledger, unknown values, and members of later releases. It may
// be non-empty with and without an error.
//
// If ctx ends, everything except the endpoints that are not yet looked up is still checked. Those
// are reported as endpoint_lookup, and the error unwraps to the error of ctx. Validate is safe for
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

// tool checks a tool, member by member, in the order of the Tools schema.
func (c *checker) tool(ps *problems, t *Tool) {
	fields := t.fields()
	if message := t.kept.NotObject(fields, len(t.Extra)); message != "" {
		ps.add("not_object", "", "%s", message)
		return
	}
	for _, f := range fields {
		if wrong := t.kept.Problems(f); len(wrong) > 0 {
			list := &ps.list
			if f.Name == "description" || f.Name == "ledger_write_policy" { // not among the reasons for rejection
				list = &ps.unchecked
			}
			ps.kept(list, "", wrong)
			continue
		}
		switch f.Name {
		case "name":
			c.name(ps, t.Name)
		case "input_schema":
			c.inputSchema(ps, t)
		case "output_schema":
			if len(t.OutputSchema) > 0 {
				c.schema(ps, "/output_schema", t.OutputSchema, false)
			}
		case "default_execution_mode":
			c.mode(ps, t.Mode())
		case "passthrough_binding":
			c.binding(ps, t.PassthroughBinding, t.Mode() == Passthrough)
		case "ledger_write_policy":
			c.policy(ps, t.WritePolicy())
		case "ledger_adapter":
			c.adapter(ps, t.LedgerAdapter, t.WritePolicy() == PolicyAdapter)
		}
	}
	ps.kept(&ps.unchecked, "", declaration.WrongCase(fields, t.Extra))
	for _, m := range t.Extra {
		if slices.Contains(laterMembers, m.Name) {
			ps.note("later_release", pointerTo(m.Name), "is a member of a later release of the platform; it is kept and not evaluated here")
		}
	}
}

// laterMembers are members of a tool that later releases of the platform know. The members of
// adapters are those of package ledger.
var laterMembers = []string{"ledger_read", "preconditions", "effects", "when"}

// kept adds the problems of members that were read and that no field holds to a list.
func (ps *problems) kept(list *[]Problem, at string, found []declaration.Problem) {
	for _, p := range found {
		ps.under(list, at, []Problem{{Code: p.Code, Pointer: p.Pointer, Message: p.Message}})
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

func (c *checker) name(ps *problems, name string) {
	switch {
	case name == "":
		ps.add("name_missing", "/name", "is required and must not be empty")
	case !namePattern.MatchString(name):
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

func (c *checker) mode(ps *problems, mode Mode) {
	switch mode {
	case Sandbox, Passthrough:
	case Executed:
		ps.note("later_release", "/default_execution_mode", "is executed, a mode of a later release of the platform: the tool runs in the "+
			"agent's own sandbox, and the proxy does not answer its calls")
	default:
		ps.add("mode_invalid", "/default_execution_mode", "must be sandbox or passthrough, not %q", clip.Text(string(mode), 40))
	}
}

// binding checks the form of a binding. In passthrough mode the binding is used: it must be
// complete and lead to a tool.
func (c *checker) binding(ps *problems, b *Binding, used bool) {
	const at = "/passthrough_binding"
	if b == nil {
		if used {
			ps.add("binding_missing", at, "is required in passthrough mode: name an endpoint and one of its tools")
		}
		return
	}
	fields := b.fields()
	if message := b.kept.NotObject(fields, len(b.Extra)); message != "" {
		ps.add("wrong_type", at, "%s", message)
		return
	}
	wrong := false
	for _, f := range fields {
		found := b.kept.Problems(f)
		ps.kept(&ps.list, at, found)
		wrong = wrong || len(found) > 0
	}
	ps.kept(&ps.unchecked, at, declaration.WrongCase(fields, b.Extra))
	switch {
	case b.EndpointID != "" && b.EndpointName != "":
		ps.add("binding_both_ids", at, "has both endpoint_id and endpoint_name; keep one")
		wrong = true
	case used && b.EndpointID == "" && b.EndpointName == "" && !wrong:
		ps.add("binding_no_endpoint", at, "does not name an endpoint; set endpoint_id or endpoint_name")
		wrong = true
	case b.EndpointID != "" && !isUUID(b.EndpointID):
		ps.add("binding_endpoint_id", at+"/endpoint_id", "must be a UUID; to bind by name use endpoint_name")
		wrong = true
	}
	if !used {
		return
	}
	if b.ToolName == "" && !b.kept.Wrong("tool_name") {
		ps.add("binding_tool_name", at+"/tool_name", "is required: the tool's name as the endpoint's discovery lists it")
	}
	if c.opts.Endpoint != nil && !wrong {
		c.endpoint(ps, b)
	}
}

// isUUID accepts UUIDs with and without hyphens, in either case.
func isUUID(s string) bool { return uuid.Valid(canonicalID(s)) }

// canonicalID returns an id as lookups compare it: in lower case, and a UUID with hyphens.
func canonicalID(id string) string {
	id = strings.ToLower(id)
	if len(id) == 32 {
		return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	}
	return id
}

func (c *checker) policy(ps *problems, policy WritePolicy) {
	if policy != PolicyAdapter && policy != PolicyRecordOnly && policy != PolicyNone {
		ps.note("policy_invalid", "/ledger_write_policy", "must be record_only, adapter or none, not %q", clip.Text(string(policy), 40))
	}
}

// adapter reports what package ledger finds, under this package's codes. The platform rejects only
// an entity type that is not declared. An adapter that is otherwise malformed writes nothing.
func (c *checker) adapter(ps *problems, a *ledger.Adapter, required bool) {
	const at = "/ledger_adapter"
	if a == nil {
		if required {
			ps.add("adapter_missing", at, "is required with ledger_write_policy adapter")
		}
		return
	}
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
		ps.note(code, at+p.Pointer, "%s", p.Message)
	}
	if c.opts.LedgerSchema == nil && a.EntityType != "" && a.Op != ledger.OpSetFlag {
		ps.add("adapter_undeclared", at+"/entity_type",
			"is not declared: the agent has no ledger schema; add one that declares the type")
	}
}
