package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/ledger"
)

// A Mode selects who answers a tool's calls during a run.
type Mode string

// The modes of the Tools schema.
const (
	Sandbox     Mode = "sandbox"     // the platform's simulator; the default
	Passthrough Mode = "passthrough" // a registered endpoint
)

// A WritePolicy selects what the platform does with the live result of a passthrough tool.
type WritePolicy string

// The policies of the Tools schema.
const (
	PolicyRecordOnly WritePolicy = "record_only" // the trace shows the result, the ledger does not change; the default
	PolicyAdapter    WritePolicy = "adapter"     // the tool's ledger adapter turns the result into ledger updates
	PolicyNone       WritePolicy = "none"        // the result is not written to the ledger
)

// A Tool is one entry of an agent's tools_schema, as the Tools schema documents it. It is plain
// data; [Validate] reports what is wrong with it.
//
// Unmarshalling a Tool fails only if the text is not strict JSON. A known member that is null, "" or
// of the wrong type leaves its field zero. Null and "" count as absent; Validate reports the wrong
// type. Marshalling writes all of them back, unless the field has been set since.
type Tool struct {
	// Name matches ^[A-Za-z_][A-Za-z0-9_-]{0,127}$. It is case-sensitive and unique per agent.
	Name string
	// Description is what the model reads. It is optional, but see [Lint].
	Description string
	// InputSchema is the JSON Schema of the arguments. Required; its root must describe an object.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the response. Optional.
	OutputSchema json.RawMessage
	// DefaultExecutionMode is sandbox or passthrough. Defaults to sandbox.
	DefaultExecutionMode Mode
	// PassthroughBinding names the endpoint of passthrough calls. Required in passthrough mode.
	PassthroughBinding *Binding
	// LedgerWritePolicy is record_only, adapter or none. Defaults to record_only. It applies to
	// passthrough tools only.
	LedgerWritePolicy WritePolicy
	// LedgerAdapter turns a result into ledger updates. Required with the policy adapter.
	LedgerAdapter *ledger.Adapter
	// Extra contains the members that the Tools schema does not document, byte for byte, in order,
	// each name once. [Import] puts the members of another format here. [Export] to the same format
	// writes them, and Export to [Platform] leaves them out.
	Extra []ledger.Member

	foreign []string // names in Extra that belong to the format from which the tool was imported
	kept    members.Kept
}

// A Binding names a tool of a registered endpoint. It names the endpoint by id or by name, not
// both.
type Binding struct {
	EndpointID   string // a UUID
	EndpointName string // unique in the organisation
	ToolName     string // required: the tool's name as the endpoint's discovery lists it
	Extra        []ledger.Member

	kept members.Kept
}

// set has the members of the Tools schema, in its order.
func (t *Tool) set() members.Set[ledger.Member] {
	return members.Set[ledger.Member]{Kept: &t.kept, Extra: &t.Extra, Fields: []members.Field{
		members.String("name", &t.Name),
		members.String("description", &t.Description),
		members.Raw("input_schema", &t.InputSchema),
		members.Raw("output_schema", &t.OutputSchema),
		members.String("default_execution_mode", &t.DefaultExecutionMode),
		members.Object("passthrough_binding", &t.PassthroughBinding, members.Reader((*Binding).set), (*Binding).wrong),
		members.String("ledger_write_policy", &t.LedgerWritePolicy),
		members.Object("ledger_adapter", &t.LedgerAdapter, adapterFrom, nil),
	}}
}

func (b *Binding) set() members.Set[ledger.Member] {
	return members.Set[ledger.Member]{Kept: &b.kept, Extra: &b.Extra, Fields: []members.Field{
		members.String("endpoint_id", &b.EndpointID),
		members.String("endpoint_name", &b.EndpointName),
		members.String("tool_name", &b.ToolName),
	}}
}

// wrong returns what is wrong with the members that were read, including the members of the binding.
func (t *Tool) wrong() members.Problems { return t.set().Problems() }

func (b *Binding) wrong() members.Problems { return b.set().Problems() }

// toolMembers are the names of the members of the Tools schema, in its order.
var toolMembers = names(new(Tool).set().Fields)

func names(fields []members.Field) []string {
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = f.Name
	}
	return list
}

// Mode returns DefaultExecutionMode, or Sandbox if it is empty.
func (t *Tool) Mode() Mode {
	if t.DefaultExecutionMode == "" {
		return Sandbox
	}
	return t.DefaultExecutionMode
}

// WritePolicy returns LedgerWritePolicy, or PolicyRecordOnly if it is empty.
func (t *Tool) WritePolicy() WritePolicy {
	if t.LedgerWritePolicy == "" {
		return PolicyRecordOnly
	}
	return t.LedgerWritePolicy
}

// UnmarshalJSON reads a tool. [Tool] says when it fails.
func (t *Tool) UnmarshalJSON(data []byte) error { return unmarshal(data, t, (*Tool).set) }

func unmarshal[T any](data []byte, into *T, set func(*T) members.Set[ledger.Member]) error {
	doc, err := readDocument(data)
	if err == nil {
		*into = members.Reader(set)(doc)
	}
	return err
}

func adapterFrom(doc json.RawMessage) (a ledger.Adapter) {
	_ = a.UnmarshalJSON(doc) // cannot fail: the document is strict JSON
	return a
}

// UnmarshalJSON reads a binding. See [Tool] for what is an error.
func (b *Binding) UnmarshalJSON(data []byte) error { return unmarshal(data, b, (*Binding).set) }

// MarshalJSON writes the members that are set, in the order of the Tools schema, then Extra. The parameter
// reasoning of a toolbox, which only a model is asked for, is not required in what it writes. Errors are as
// for [Export]. encoding/json compacts what MarshalJSON returns; Export does not.
func (t Tool) MarshalJSON() ([]byte, error) {
	if err := invalid(t.checkRaw("")); err != nil {
		return nil, err
	}
	t.InputSchema = toolresult.Registered(t.InputSchema)
	return t.set().Write()
}

// MarshalJSON writes the members that are set, then Extra.
func (b Binding) MarshalJSON() ([]byte, error) {
	return b.set().Write()
}

// checkRaw reports raw members that are not one strict JSON value each, and names that repeat. at is
// the place of the tool.
func (t *Tool) checkRaw(at string) problem.List[toolwire.Problem] {
	ps := problemsAt(at, t.Name)
	ps.raw("/input_schema", t.InputSchema)
	ps.raw("/output_schema", t.OutputSchema)
	ps.extra("", t.Extra, toolMembers)
	if b := t.PassthroughBinding; b != nil {
		ps.extra("/passthrough_binding", b.Extra, names(b.set().Fields))
	}
	return ps.list
}

func (ps *problems) raw(pointer string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	if _, err := readDocument(raw); err != nil {
		ps.add("not_json", pointer, "is not strict JSON, so it cannot be written")
	}
}

func (ps *problems) extra(at string, list []ledger.Member, known []string) {
	extra := &extras{ps: ps, known: known}
	for _, m := range list {
		ps.raw(at+pointerTo(m.Name), m.Value)
		if len(m.Value) > 0 { // others are not written
			extra.add(at+pointerTo(m.Name), m)
		}
	}
}

// extras collects members for Extra. It reports those that cannot be written because an object must
// not repeat a name.
type extras struct {
	ps    *problems
	into  *[]ledger.Member // if nil, members are only checked
	known []string         // names that have fields
	seen  map[string]bool
}

func (e *extras) add(pointer string, m ledger.Member) {
	switch {
	case slices.Contains(e.known, m.Name):
		e.ps.add("member_clash", pointer, "has the name of a member of the Tools schema, which has a field; leave it out")
		return
	case e.seen[m.Name]:
		e.ps.add("member_clash", pointer, "repeats what another member sets; keep one of them")
		return
	case e.seen == nil:
		e.seen = map[string]bool{}
	}
	e.seen[m.Name] = true
	if e.into != nil {
		*e.into = append(*e.into, m)
	}
}
