package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// A Mode says who answers a tool's calls during a run.
type Mode string

// The modes of the Tools schema.
const (
	Sandbox     Mode = "sandbox"     // the platform's simulator answers; the default
	Passthrough Mode = "passthrough" // calls are forwarded to a registered endpoint
)

// A WritePolicy says what the platform does with the live result of a passthrough tool.
type WritePolicy string

// The policies of the Tools schema.
const (
	PolicyRecordOnly WritePolicy = "record_only" // the result shows in the trace and does not change the ledger; the default
	PolicyAdapter    WritePolicy = "adapter"     // the tool's ledger adapter turns the result into ledger updates
	PolicyNone       WritePolicy = "none"        // the result is not written to the ledger at all
)

// A Tool is one entry of an agent's tools_schema, as the Tools schema documents it. It is plain data: what is wrong with
// it is for [Validate] to say.
//
// Reading one from JSON fails only when the text is not strict JSON. A known member that is null, empty or of the wrong
// type leaves its field zero, is reported by Validate where the platform would reject it, and is written back as it was.
type Tool struct {
	// Name is the tool's name: ^[A-Za-z_][A-Za-z0-9_-]{0,127}$, unique per agent, case-sensitive.
	Name string
	// Description is what the model reads. It is optional, but see [Lint].
	Description string
	// InputSchema is the JSON Schema of the arguments object. Required; its root must describe an object.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the response, if any.
	OutputSchema json.RawMessage
	// DefaultExecutionMode is sandbox or passthrough; "" means sandbox.
	DefaultExecutionMode Mode
	// PassthroughBinding names the endpoint that passthrough calls go to; required in that mode.
	PassthroughBinding *Binding
	// LedgerWritePolicy is record_only, adapter or none; "" means record_only. It concerns passthrough tools only.
	LedgerWritePolicy WritePolicy
	// LedgerAdapter is the rule by which a result becomes ledger updates; required with the policy adapter.
	LedgerAdapter *ledger.Adapter
	// Extra are members that are not in the Tools schema, byte for byte and in order, each name once. Formats of other SDKs
	// keep what is theirs alone here, so that it is there when the tool is written in the same format.
	Extra []ledger.Member

	whole json.RawMessage // set when the entry is no object
	kept  []ledger.Member // known members that no field can hold: null, empty, wrong type
}

// A Binding names a tool of a registered endpoint, by the endpoint's id or by its name, not both.
type Binding struct {
	EndpointID   string // a UUID
	EndpointName string // unique in the organisation
	ToolName     string // required: the tool as the endpoint's discovery lists it
	Extra        []ledger.Member

	whole json.RawMessage
	kept  []ledger.Member
}

var (
	toolMembers = []string{"name", "description", "input_schema", "output_schema", "default_execution_mode",
		"passthrough_binding", "ledger_write_policy", "ledger_adapter"}
	bindingMembers = []string{"endpoint_id", "endpoint_name", "tool_name"}
)

// Mode is the mode in force: DefaultExecutionMode, or sandbox when it is empty.
func (t *Tool) Mode() Mode {
	if t.DefaultExecutionMode == "" {
		return Sandbox
	}
	return t.DefaultExecutionMode
}

// WritePolicy is the policy in force: LedgerWritePolicy, or record_only when it is empty.
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
		t.whole = doc
		return t
	}
	for _, m := range members(doc) {
		if !t.take(m) {
			t.kept = append(t.kept, m)
		}
	}
	return t
}

// take puts a member into its field; it returns false when no field can hold it.
func (t *Tool) take(m ledger.Member) bool {
	switch m.Name {
	case "name":
		return takeText(m, &t.Name)
	case "description":
		return takeText(m, &t.Description)
	case "input_schema":
		return takeSchema(m, &t.InputSchema)
	case "output_schema":
		return takeSchema(m, &t.OutputSchema)
	case "default_execution_mode":
		return takeText(m, (*string)(&t.DefaultExecutionMode))
	case "ledger_write_policy":
		return takeText(m, (*string)(&t.LedgerWritePolicy))
	case "passthrough_binding":
		if rawjson.Kind(m.Value) == 'n' {
			return false
		}
		t.PassthroughBinding = bindingFrom(m.Value)
	case "ledger_adapter":
		if rawjson.Kind(m.Value) == 'n' {
			return false
		}
		t.LedgerAdapter = new(ledger.Adapter)
		return t.LedgerAdapter.UnmarshalJSON(m.Value) == nil // cannot fail: the whole document was read strictly
	default:
		t.Extra = append(t.Extra, m)
	}
	return true
}

func bindingFrom(doc json.RawMessage) *Binding {
	b := &Binding{}
	if rawjson.Kind(doc) != '{' {
		b.whole = doc
		return b
	}
	for _, m := range members(doc) {
		taken := true
		switch m.Name {
		case "endpoint_id":
			taken = takeText(m, &b.EndpointID)
		case "endpoint_name":
			taken = takeText(m, &b.EndpointName)
		case "tool_name":
			taken = takeText(m, &b.ToolName)
		default:
			b.Extra = append(b.Extra, m)
		}
		if !taken {
			b.kept = append(b.kept, m)
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

func takeText(m ledger.Member, into *string) bool {
	*into = rawjson.Text(m.Value)
	return *into != ""
}

// takeSchema takes any value but null, so that a schema of the wrong type is judged as a schema.
func takeSchema(m ledger.Member, into *json.RawMessage) bool {
	if rawjson.Kind(m.Value) == 'n' {
		return false
	}
	*into = m.Value
	return true
}

// MarshalJSON writes the members that are set, in the order of the Tools schema, then Extra. encoding/json compacts what
// it returns; [Marshal] does not.
func (t Tool) MarshalJSON() ([]byte, error) {
	if found := t.checkRaw(noTool); len(found) > 0 {
		return nil, &ValidationError{Problems: found}
	}
	return t.write()
}

func (t *Tool) write() (json.RawMessage, error) {
	w := new(objectWriter)
	w.PutText("name", t.Name)
	w.kept("name", t.Name == "", t.kept)
	w.PutText("description", t.Description)
	w.kept("description", t.Description == "", t.kept)
	w.Put("input_schema", t.InputSchema)
	w.kept("input_schema", t.InputSchema == nil, t.kept)
	w.Put("output_schema", t.OutputSchema)
	w.kept("output_schema", t.OutputSchema == nil, t.kept)
	w.PutText("default_execution_mode", string(t.DefaultExecutionMode))
	w.kept("default_execution_mode", t.DefaultExecutionMode == "", t.kept)
	if t.PassthroughBinding != nil {
		binding, err := t.PassthroughBinding.MarshalJSON()
		if err != nil {
			return nil, err
		}
		w.Put("passthrough_binding", binding)
	}
	w.kept("passthrough_binding", t.PassthroughBinding == nil, t.kept)
	w.PutText("ledger_write_policy", string(t.LedgerWritePolicy))
	w.kept("ledger_write_policy", t.LedgerWritePolicy == "", t.kept)
	if t.LedgerAdapter != nil {
		adapter, err := t.LedgerAdapter.MarshalJSON()
		if err != nil {
			return nil, err
		}
		w.Put("ledger_adapter", adapter)
	}
	w.kept("ledger_adapter", t.LedgerAdapter == nil, t.kept)
	w.members(t.Extra)
	if w.Empty() && t.whole != nil {
		return t.whole, nil
	}
	return w.Bytes(), nil
}

// MarshalJSON writes the members that are set, then Extra.
func (b Binding) MarshalJSON() ([]byte, error) {
	w := new(objectWriter)
	w.PutText("endpoint_id", b.EndpointID)
	w.kept("endpoint_id", b.EndpointID == "", b.kept)
	w.PutText("endpoint_name", b.EndpointName)
	w.kept("endpoint_name", b.EndpointName == "", b.kept)
	w.PutText("tool_name", b.ToolName)
	w.kept("tool_name", b.ToolName == "", b.kept)
	w.members(b.Extra)
	if w.Empty() && b.whole != nil {
		return b.whole, nil
	}
	return w.Bytes(), nil
}

// kept writes what stood in the document where the field is still zero.
func (w *objectWriter) kept(name string, zero bool, kept []ledger.Member) {
	if zero {
		w.Put(name, keptMember(kept, name))
	}
}

func (w *objectWriter) members(list []ledger.Member) {
	for _, m := range list {
		w.Put(m.Name, m.Value)
	}
}

// keptMember is what stands in the document where a field could not hold it, nil when nothing does.
func keptMember(kept []ledger.Member, name string) json.RawMessage {
	i := slices.IndexFunc(kept, func(m ledger.Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return kept[i].Value
}

// Parse reads a tool list: {"tools_schema": [...]}, where other members are passed over, or the list alone. The error is
// a [*ValidationError] with the code not_json or not_list. Entries of any kind are taken; [Validate] judges them.
//
// Lists that other SDKs print are read by [Import] and the From functions.
func Parse(data []byte) ([]Tool, error) {
	doc, err := readDocument(data)
	if err != nil {
		return nil, err
	}
	list, pointer := doc, ""
	if rawjson.Kind(doc) == '{' {
		list, pointer = nil, "/tools_schema"
		for _, m := range members(doc) {
			if m.Name == "tools_schema" {
				list = m.Value
			} else if strings.EqualFold(m.Name, "tools_schema") {
				return nil, oneProblem(CodeWrongCase, pointerTo(m.Name),
					`is not a known member; names are case-sensitive, write "tools_schema"`)
			}
		}
	}
	if rawjson.Kind(list) != '[' {
		what := "is missing"
		if list != nil {
			what = "is " + rawjson.KindName(list)
		}
		return nil, oneProblem(CodeNotList, pointer, what+`; a list of tools is expected, bare or as "tools_schema"`)
	}
	entries := slices.Collect(rawjson.Elements(list))
	tools := make([]Tool, len(entries))
	for i, entry := range entries {
		tools[i] = toolFrom(entry)
	}
	return tools, nil
}

// Marshal writes the list that [Parse] reads, {"tools_schema": [...]}. Schemas and unknown members are written byte for
// byte as they were read. The error is a [*ValidationError] if a schema or an unknown member is not strict JSON, or if a
// name in Extra stands there twice or is that of a field.
func Marshal(tools []Tool) ([]byte, error) {
	list := make([]json.RawMessage, len(tools))
	var all []Problem
	for i := range tools {
		if found := tools[i].checkRaw(i); len(found) > 0 {
			all = append(all, found...)
			continue
		}
		entry, err := tools[i].write()
		if err != nil {
			return nil, err
		}
		list[i] = entry
	}
	if len(all) > 0 {
		return nil, &ValidationError{Problems: all}
	}
	w := new(objectWriter)
	w.Put("tools_schema", rawjson.Array(list))
	return w.Bytes(), nil
}

// checkRaw makes sure that what a caller put into raw members is one strict JSON value each, under names of their own.
func (t *Tool) checkRaw(index int) []Problem {
	ps := &problems{index: index, tool: clip.Text(t.Name, 128)}
	check := func(pointer string, raw json.RawMessage) {
		if len(raw) == 0 {
			return
		}
		if _, err := readDocument(raw); err != nil {
			ps.add(CodeNotJSON, pointer, "is not strict JSON, so it cannot be written")
		}
	}
	check("/input_schema", t.InputSchema)
	check("/output_schema", t.OutputSchema)
	checkAll := func(at string, list []ledger.Member, known []string) {
		extra := &extras{ps: ps, known: known}
		for _, m := range list {
			check(at+pointerTo(m.Name), m.Value)
			if len(m.Value) > 0 { // others are not written
				extra.add(at+pointerTo(m.Name), m)
			}
		}
	}
	checkAll("", t.Extra, toolMembers)
	if t.PassthroughBinding != nil {
		checkAll("/passthrough_binding", t.PassthroughBinding.Extra, bindingMembers)
	}
	return ps.list
}

// extras collects members for Extra and reports those that could not be written: an object has no name twice.
type extras struct {
	ps    *problems
	into  *[]ledger.Member // nil only reports
	known []string         // names that have fields
	seen  map[string]bool
}

func (e *extras) add(pointer string, m ledger.Member) {
	switch {
	case slices.Contains(e.known, m.Name):
		e.ps.add(CodeMemberClash, pointer, "has the name of a member of the Tools schema, which is kept in a field; leave it out")
		return
	case e.seen[m.Name]:
		e.ps.add(CodeMemberClash, pointer, "says again what another member says; keep one of them")
		return
	case e.seen == nil:
		e.seen = map[string]bool{}
	}
	e.seen[m.Name] = true
	if e.into != nil {
		*e.into = append(*e.into, m)
	}
}

func oneProblem(code Code, pointer, message string) error {
	return &ValidationError{Problems: []Problem{{Index: noTool, Code: code, Pointer: pointer, Message: message}}}
}

// pointerTo is "/" and name as a token of a JSON Pointer.
func pointerTo(name string) string { return rawjson.Token(clip.Text(name, 80)) }
