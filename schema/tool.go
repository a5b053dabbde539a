package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
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
// Unmarshalling a Tool fails only if the text is not strict JSON. A known member that is null,
// empty or of the wrong type leaves its field zero. Validate reports it where the platform would
// reject it, and marshalling writes it back, unless the field has been set since.
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
	// each name once. [Import] puts the members of another format here, and [Export] to the same
	// format writes them.
	Extra []ledger.Member

	kept keptMembers
}

// A Binding names a tool of a registered endpoint. It names the endpoint by id or by name, not
// both.
type Binding struct {
	EndpointID   string // a UUID
	EndpointName string // unique in the organisation
	ToolName     string // required: the tool's name as the endpoint's discovery lists it
	Extra        []ledger.Member

	kept keptMembers
}

var (
	toolMembers = []string{"name", "description", "input_schema", "output_schema", "default_execution_mode",
		"passthrough_binding", "ledger_write_policy", "ledger_adapter"}
	bindingMembers = []string{"endpoint_id", "endpoint_name", "tool_name"}
)

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

// UnmarshalJSON reads a tool. See [Tool] for what is an error.
func (t *Tool) UnmarshalJSON(data []byte) error {
	doc, err := readDocument(data)
	if err != nil {
		return err
	}
	*t = toolFrom(doc)
	return nil
}

// toolFrom reads an entry of a document that is known to be strict JSON.
func toolFrom(doc json.RawMessage) (t Tool) {
	if rawjson.Kind(doc) != '{' {
		t.kept.whole = doc
		return t
	}
	for _, m := range members(doc) {
		t.take(m)
	}
	return t
}

func (t *Tool) take(m ledger.Member) {
	switch m.Name {
	case "name":
		t.kept.text(m, &t.Name, kept{})
	case "description":
		t.kept.text(m, &t.Description, kept{})
	case "input_schema":
		if t.kept.present(m) { // a schema of the wrong type is reported as a schema
			t.InputSchema = m.Value
		}
	case "output_schema":
		if t.kept.present(m) {
			t.OutputSchema = m.Value
		}
	case "default_execution_mode":
		t.kept.choice(m, (*string)(&t.DefaultExecutionMode), "mode_invalid", modeRule)
	case "passthrough_binding":
		if t.kept.present(m) {
			t.PassthroughBinding = bindingFrom(m.Value)
		}
	case "ledger_write_policy":
		t.kept.choice(m, (*string)(&t.LedgerWritePolicy), "policy_invalid", policyRule)
	case "ledger_adapter":
		if t.kept.present(m) {
			t.LedgerAdapter = new(ledger.Adapter)
			_ = t.LedgerAdapter.UnmarshalJSON(m.Value) // cannot fail: the document is strict JSON
		}
	default:
		t.Extra = append(t.Extra, m)
	}
}

func bindingFrom(doc json.RawMessage) *Binding {
	b := &Binding{}
	if rawjson.Kind(doc) != '{' {
		b.kept.whole = doc
		return b
	}
	empty := kept{code: "empty", message: "is empty; set it or leave it out"}
	for _, m := range members(doc) {
		switch m.Name {
		case "endpoint_id":
			b.kept.text(m, &b.EndpointID, empty)
		case "endpoint_name":
			b.kept.text(m, &b.EndpointName, empty)
		case "tool_name":
			b.kept.text(m, &b.ToolName, empty)
		default:
			b.Extra = append(b.Extra, m)
		}
	}
	return b
}

// UnmarshalJSON reads a binding. See [Tool] for what is an error.
func (b *Binding) UnmarshalJSON(data []byte) error {
	doc, err := readDocument(data)
	if err != nil {
		return err
	}
	*b = *bindingFrom(doc)
	return nil
}

// isSet reports whether the field of a member is set.
func (t *Tool) isSet(name string) bool {
	value, err := t.member(name)
	return err != nil || len(value) > 0
}

// member returns the text of a known member, or nil if its field is not set.
func (t *Tool) member(name string) (json.RawMessage, error) {
	switch name {
	case "name":
		return text(t.Name), nil
	case "description":
		return text(t.Description), nil
	case "input_schema":
		return t.InputSchema, nil
	case "output_schema":
		return t.OutputSchema, nil
	case "default_execution_mode":
		return text(string(t.DefaultExecutionMode)), nil
	case "passthrough_binding":
		if t.PassthroughBinding != nil {
			return t.PassthroughBinding.MarshalJSON()
		}
	case "ledger_write_policy":
		return text(string(t.LedgerWritePolicy)), nil
	case "ledger_adapter":
		if t.LedgerAdapter != nil {
			return t.LedgerAdapter.MarshalJSON()
		}
	}
	return nil, nil
}

// member returns the value of a known member, or "" if its field is not set.
func (b *Binding) member(name string) string {
	switch name {
	case "endpoint_id":
		return b.EndpointID
	case "endpoint_name":
		return b.EndpointName
	}
	return b.ToolName
}

// text returns a JSON string, or nil if s is empty.
func text(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return rawjson.Quote(s)
}

// MarshalJSON writes the members that are set, in the order of the Tools schema, then Extra. The
// error is that of [Export]. encoding/json compacts what MarshalJSON returns; Export does not.
func (t Tool) MarshalJSON() ([]byte, error) {
	if err := invalid(t.checkRaw(noTool)); err != nil {
		return nil, err
	}
	return t.write()
}

func (t *Tool) write() (json.RawMessage, error) {
	var w rawjson.Object
	for _, name := range toolMembers {
		value, err := t.member(name)
		if err != nil {
			return nil, err
		}
		if len(value) == 0 {
			value = t.kept.value(name)
		}
		w.Put(name, value)
	}
	return end(&w, t.Extra, t.kept.whole), nil
}

// MarshalJSON writes the members that are set, then Extra.
func (b Binding) MarshalJSON() ([]byte, error) {
	var w rawjson.Object
	for _, name := range bindingMembers {
		value := text(b.member(name))
		if value == nil {
			value = b.kept.value(name)
		}
		w.Put(name, value)
	}
	return end(&w, b.Extra, b.kept.whole), nil
}

// end adds the unknown members to an object. An object without members is whole, if that is set.
func end(w *rawjson.Object, extra []ledger.Member, whole json.RawMessage) json.RawMessage {
	for _, m := range extra {
		w.Put(m.Name, m.Value)
	}
	if w.Empty() && whole != nil {
		return whole
	}
	return w.Bytes()
}

// checkRaw reports raw members that are not one strict JSON value each, and names that repeat.
func (t *Tool) checkRaw(index int) []Problem {
	ps := problemsOf(index, t.Name)
	ps.raw("/input_schema", t.InputSchema)
	ps.raw("/output_schema", t.OutputSchema)
	ps.extra("", t.Extra, toolMembers)
	if t.PassthroughBinding != nil {
		ps.extra("/passthrough_binding", t.PassthroughBinding.Extra, bindingMembers)
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
