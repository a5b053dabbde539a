package schema

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
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

// Validate reports every reason for which the platform would reject the tools, as one [*toolwire.Error] with
// toolwire.CodeInvalid. The rules are from the Tools schema, "Validation"; [toolwire.Problem] lists their codes,
// and the package comment says where the page leaves a choice. If o is nil, the defaults apply.
//
// The list unchecked contains what does not make the platform reject a tool and what this library
// cannot check or use: what [Validator.Unchecked] returns for the schemas, malformed ledger
// adapters, adapter paths outside the grammar of package ledger, unknown values, and members of
// later releases. Validate returns the list with and without an error.
//
// If ctx ends, everything except the endpoints that are not yet looked up is still checked. These
// endpoints are reported as endpoint_lookup, and the error unwraps to the error of ctx. Validate is safe
// for concurrent use as long as the tools do not change.
func Validate(ctx context.Context, tools []Tool, o *ValidateOptions) (unchecked []toolwire.Problem, err error) {
	var opts ValidateOptions
	if o != nil {
		opts = *o
	}
	return newChecker(ctx, &opts).list(tools)
}

// list checks a list of tools.
func (c *checker) list(tools []Tool) (unchecked []toolwire.Problem, err error) {
	first := make(map[string]int, len(tools))
	all := c.opts.Limits.problems()
	var notes problem.List[toolwire.Problem]
	for i := range tools {
		t := &tools[i]
		ps := problemsAt(element(i), t.Name)
		c.tool(ps, t)
		if before, ok := first[t.Name]; ok && t.Name != "" {
			ps.add("name_duplicate", "/name", "is taken by tool[%d] already; names must be unique per agent", before)
		} else {
			first[t.Name] = i
		}
		all.Join(ps.list)
		notes.Join(ps.unchecked)
	}
	return notes.All(), invalid(all, c.causes...)
}

// checker is the state of one call of Validate.
type checker struct {
	ctx      context.Context // of the one call
	opts     *ValidateOptions
	options  jsonschema.Options
	compiled map[string]compiled // by text of the schema: lists often repeat one
	resolved map[endpointKey]resolved
	causes   []error
}

// compiled is a schema, or nil if it is not valid.
type compiled struct {
	schema *jsonschema.Schema
	faults jsonschema.Faults // and what is not checked
	notes  jsonschema.Faults // what is read otherwise than it is written
}

func newChecker(ctx context.Context, o *ValidateOptions) *checker {
	return &checker{ctx: ctx, opts: o, options: jsonschema.Options{Limits: o.Limits.inner(), AllowUnchecked: true},
		compiled: map[string]compiled{}, resolved: map[endpointKey]resolved{}}
}

// tool checks a tool: first what was read, then the rules of the Tools schema, in its order. What the
// platform rejects goes to ps.add, everything else to ps.note.
func (c *checker) tool(ps *problems, t *Tool) {
	wrong := t.wrong()
	ps.unchecked.More += wrong.More // names in the wrong case, which come last
	for _, p := range wrong.Found {
		switch {
		case p.Pointer == "":
			ps.add("not_object", "", "%s", p.Message)
			return
		case p.Code == "wrong_case", p.Pointer == "/description", strings.HasPrefix(p.Pointer, "/ledger_write_policy"):
			ps.note(p.Code, p.Pointer, "%s", p.Message) // not among the reasons for a rejection
		default:
			ps.add(p.Code, p.Pointer, "%s", p.Message)
		}
	}
	c.name(ps, t.Name)
	c.schemas(ps, t)
	switch mode := t.Mode(); mode {
	case Sandbox, Passthrough:
	case "executed":
		ps.note("later_release", "/default_execution_mode", "is executed, a mode of a later release of the platform: "+
			"the tool runs in the agent's own sandbox, and the proxy does not answer its calls")
	default:
		ps.add("mode_invalid", "/default_execution_mode", "must be sandbox or passthrough, not %q",
			text.Cut(string(mode), 40))
	}
	for _, m := range []struct {
		name, code string
		set        bool
	}{{"default_execution_mode", "mode_invalid", t.DefaultExecutionMode != ""}, {"ledger_write_policy", "policy_invalid", t.LedgerWritePolicy != ""}} {
		if !m.set && t.kept.Blank(m.name) {
			ps.note(m.code, "/"+m.name, `is "", which counts as absent here; the platform may reject it, so leave it out`)
		}
	}
	c.binding(ps, t.PassthroughBinding, t.Mode() == Passthrough)
	switch policy := t.WritePolicy(); policy {
	case PolicyAdapter, PolicyRecordOnly, PolicyNone:
	default:
		ps.note("policy_invalid", "/ledger_write_policy", "must be record_only, adapter or none, not %q",
			text.Cut(string(policy), 40))
	}
	c.adapter(ps, t.LedgerAdapter, t.WritePolicy() == PolicyAdapter)
	for _, m := range t.Extra {
		if slices.Contains(laterMembers, m.Name) {
			ps.note("later_release", pointerTo(m.Name), "is a member of a later release of the platform; it is kept and "+
				"not evaluated here")
		}
	}
}

// laterMembers are members of a tool that later releases of the platform know. The members of
// adapters are from package ledger.
var laterMembers = []string{"ledger_read", "preconditions", "effects", "when", "requires_human_approval", "context_store"}

func (c *checker) name(ps *problems, name string) {
	if name == "" {
		if !ps.has("/name") {
			ps.add("name_missing", "/name", "is required and must not be empty")
		}
		return
	}
	switch at := toolresult.NameFault(name); {
	case at < 0:
	case at == toolresult.LongestName:
		ps.add("name_invalid", "/name", "%s; this one has %d bytes", toolresult.NameRule, len(name))
	default:
		r, _ := utf8.DecodeRuneInString(name[at:])
		ps.add("name_invalid", "/name", "%s; %s at byte %d is not allowed there",
			toolresult.NameRule, strconv.QuoteToASCII(string(r)), at)
	}
}

// otherSpelling recognizes the input schema under the name that another SDK gives it.
func otherSpelling(extra []ledger.Member) string {
	for _, m := range extra {
		if slices.Contains(schemaMembers, m.Name) {
			advice := "; this entry has " + strconv.Quote(m.Name) + " as another SDK prints it: read the list with Import"
			if f, _ := recognizeEntry(extra); f != "" && f != Platform {
				advice += " and the format " + string(f)
			}
			return advice
		}
	}
	return ""
}

// schemas checks the schemas of a tool, and that the root of the input schema describes an object. A
// response may be any JSON, but the platform does not accept a boolean as a schema.
func (c *checker) schemas(ps *problems, t *Tool) {
	if len(t.InputSchema) == 0 {
		ps.add("input_schema_missing", "/input_schema", "is required: the JSON Schema of the arguments object%s",
			otherSpelling(t.Extra))
	}
	for _, part := range []struct {
		pointer string
		raw     json.RawMessage
	}{{"/input_schema", t.InputSchema}, {"/output_schema", t.OutputSchema}} {
		if len(part.raw) == 0 {
			continue
		}
		found := c.compile(part.raw).faults
		if !slices.ContainsFunc(found.Found, func(f jsonschema.Fault) bool { return f.Code == "not_json" }) {
			if kind := rawjson.Kind(part.raw); kind != '{' {
				ps.add("schema_not_object", part.pointer, "must be a JSON Schema object, not %s", rawjson.KindName(kind))
				continue
			}
			if part.pointer == "/input_schema" {
				at := jsonschema.NotObject(part.raw)
				if at != "" && !slices.ContainsFunc(found.Found, func(f jsonschema.Fault) bool { return f.Pointer == at }) {
					ps.add("schema_not_object", part.pointer+at, `must be "object": the arguments of a call are an object`)
				}
			}
		}
		ps.addFaults(part.pointer, found)
	}
}

// compile compiles a schema once.
func (c *checker) compile(raw json.RawMessage) compiled {
	known, ok := c.compiled[string(raw)]
	if !ok {
		known.schema, known.faults = jsonschema.Compile(raw, &c.options)
		if known.schema != nil {
			known.faults, known.notes = known.schema.Unchecked(), known.schema.Notes()
		}
		c.compiled[string(raw)] = known
	}
	return known
}

// addFaults adds the faults of a schema, each to the list where it belongs. Those that are only counted
// are counted where the last one belongs.
func (ps *problems) addFaults(pointer string, found jsonschema.Faults) {
	list := &ps.list
	for _, f := range found.Found {
		if list = &ps.list; f.Unchecked() {
			list = &ps.unchecked
		}
		ps.fault(list, pointer, f)
	}
	list.More += found.More
}

// addNotes adds what a schema writes otherwise than draft 2020-12 does to a list.
func (ps *problems) addNotes(list *problem.List[toolwire.Problem], pointer string, notes jsonschema.Faults) {
	for _, f := range notes.Found {
		ps.fault(list, pointer, f)
	}
	list.More += notes.More
}

// binding checks the form of a binding. In passthrough mode the binding is used: it must be
// complete and lead to a tool.
func (c *checker) binding(ps *problems, b *Binding, used bool) {
	const at = "/passthrough_binding"
	if b == nil && used {
		ps.add("binding_missing", at, "is required in passthrough mode: name an endpoint and one of its tools")
	}
	if b == nil || ps.has(at) {
		return
	}
	wrong := ps.has(at+"/endpoint_id") || ps.has(at+"/endpoint_name")
	id, isUUID := text.CanonicalUUID(b.EndpointID)
	switch {
	case b.EndpointID != "" && b.EndpointName != "":
		ps.add("binding_both_ids", at, "has both endpoint_id and endpoint_name; keep one")
		wrong = true
	case used && b.EndpointID == "" && b.EndpointName == "" && !wrong:
		ps.add("binding_no_endpoint", at, "does not name an endpoint; set endpoint_id or endpoint_name")
		wrong = true
	case b.EndpointID != "" && !isUUID:
		ps.add("binding_endpoint_id", at+"/endpoint_id", "must be a UUID; to bind by name use endpoint_name")
		wrong = true
	}
	if used && b.ToolName == "" && !ps.has(at+"/tool_name") {
		ps.add("binding_tool_name", at+"/tool_name", "is required: the tool's name as the endpoint's discovery lists it")
	}
	if used && c.opts.Endpoint != nil && !wrong {
		c.endpoint(ps, endpointKey{id, b.EndpointName}, b.ToolName)
	}
}

// adapter reports what package ledger finds, under this package's codes. The platform rejects only
// an entity type that is not declared, with the policy adapter. An adapter that is otherwise
// malformed writes nothing, and one that the policy does not use is kept.
func (c *checker) adapter(ps *problems, a *ledger.Adapter, required bool) {
	const at = "/ledger_adapter"
	add := ps.note
	if required {
		add = ps.add
	}
	if a == nil {
		if required {
			ps.add("adapter_missing", at, "is required with ledger_write_policy adapter")
		}
		return
	}
	unchecked, err := a.Validate(c.opts.LedgerSchema)
	if found, ok := errors.AsType[*toolwire.Error](err); ok {
		for _, p := range found.Problems {
			add("adapter_undeclared", at+p.Pointer, "%s", p.Message)
		}
	}
	for _, p := range unchecked {
		code := "adapter_invalid"
		switch p.Code {
		case "unsupported":
			code = "adapter_unsupported"
		case "more_problems":
			code = p.Code
		}
		ps.note(code, at+p.Pointer, "%s", p.Message)
	}
	if c.opts.LedgerSchema == nil && a.EntityType != "" && a.Op != ledger.OpSetFlag {
		add("adapter_undeclared", at+"/entity_type",
			"is not declared: the agent has no ledger schema; add one that declares the type")
	}
}

// problems collects the problems of one tool.
type problems struct {
	at        string // the place of the tool in the list
	tool      string
	list      problem.List[toolwire.Problem]
	unchecked problem.List[toolwire.Problem] // those for which the platform does not reject the tool
}

func problemsAt(at, name string) *problems {
	return &problems{at: at, tool: text.Cut(name, 128)}
}

// element returns the pointer to a tool of a list.
func element(i int) string { return "/" + strconv.Itoa(i) }

// add adds a problem: of [Validate], one for which the platform rejects the tool.
func (ps *problems) add(code, pointer, format string, args ...any) {
	ps.list.AddTool(ps.tool, code, ps.at+pointer, format, args...)
}

// note adds a problem for which the platform does not reject the tool.
func (ps *problems) note(code, pointer, format string, args ...any) {
	ps.unchecked.AddTool(ps.tool, code, ps.at+pointer, format, args...)
}

// fault adds a fault of a schema to a list. pointer leads to the schema.
func (ps *problems) fault(list *problem.List[toolwire.Problem], pointer string, f jsonschema.Fault) {
	list.AddTool(ps.tool, "schema_"+f.Code, ps.at+pointer+f.Pointer, "%s", f.Message)
}

// has reports whether there is a problem at a place.
func (ps *problems) has(pointer string) bool {
	return slices.ContainsFunc(ps.list.Found, func(p toolwire.Problem) bool { return p.Pointer == ps.at+pointer })
}
