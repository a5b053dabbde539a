package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// A Format is the shape in which an SDK prints a tool list.
type Format string

// The formats, with the members of an entry. A list may stand alone, or as the member "tools" of an object.
const (
	// Platform is the platform's own: name, description, input_schema, output_schema and the registration members.
	Platform Format = "platform"
	// OpenAIChat is OpenAI's Chat Completions: {"type":"function","function":{name, description, parameters, strict}}.
	OpenAIChat Format = "openai_chat"
	// OpenAIResponses is OpenAI's Responses API, flat: type, name, description, parameters, strict. The OpenAI Agents
	// SDK's params_json_schema and strict_json_schema are read too.
	OpenAIResponses Format = "openai_responses"
	// Anthropic is the Messages API: name, description, input_schema, cache_control and others.
	Anthropic Format = "anthropic"
	// MCP is the result of tools/list, or the JSON-RPC answer around it: name, title, description, inputSchema,
	// outputSchema, annotations and others.
	MCP Format = "mcp"
	// LangChain is what its tools print: name, description, args_schema.
	LangChain Format = "langchain"
	// Strands is its tool specs, with or without {"toolSpec": ...} around each: name, description,
	// {"inputSchema":{"json":...}}, {"outputSchema":{"json":...}}.
	Strands Format = "strands"
	// Bedrock is that of the page Bedrock tools: name, description, parameters, handler or url, detail_url. A list may
	// stand in "results".
	Bedrock Format = "bedrock"
	// AgentCLI is the tools manifest: {"tools":[{name, description, schema, command, timeoutSec, envPassthrough}]}.
	AgentCLI Format = "agentcli"
)

// dialect says how a format writes an entry.
type dialect struct {
	title    string   // for messages
	wrapper  string   // the member that holds the entry, if one does
	schema   []string // members that hold the input schema, the one to write first
	output   string   // the member that holds the output schema
	inJSON   bool     // schemas are {"json": schema}
	optional bool     // an entry without input schema takes no arguments
	custom   bool     // the type "custom" is that of tools with a schema
	list     string   // the member that holds the list when it is written
	own      []string // further members the format knows
	needs    []string // members it cannot do without
}

func dialectOf(f Format) (dialect, bool) {
	switch f {
	case OpenAIChat:
		return dialect{title: "OpenAI's Chat Completions", wrapper: "function", schema: []string{"parameters"}, optional: true,
			own: []string{"strict"}}, true
	case OpenAIResponses:
		return dialect{title: "OpenAI's Responses API", schema: []string{"parameters", "params_json_schema"}, optional: true,
			own: []string{"strict"}}, true
	case Anthropic:
		return dialect{title: "Anthropic's Messages API", schema: []string{"input_schema"}, custom: true,
			own: []string{"type", "cache_control", "strict", "input_examples", "defer_loading", "allowed_callers",
				"eager_input_streaming"}}, true
	case MCP:
		return dialect{title: "MCP", schema: []string{"inputSchema"}, output: "outputSchema", list: "tools",
			own: []string{"title", "annotations", "icons", "execution", "_meta"}}, true
	case LangChain:
		return dialect{title: "LangChain", schema: []string{"args_schema", "parameters"}, optional: true,
			own: []string{"return_direct", "response_format", "tags", "metadata", "extras"}}, true
	case Strands:
		return dialect{title: "Strands", wrapper: "toolSpec", schema: []string{"inputSchema"}, output: "outputSchema", inJSON: true,
			needs: []string{"description"}}, true
	case Bedrock:
		return dialect{title: "Bedrock", schema: []string{"parameters"}, optional: true,
			own:   []string{"id", "adapter", "handler", "url", "detail_url", "timeout_seconds", "auth", "forward_trace_context"},
			needs: []string{"description", "handler or url"}}, true
	case AgentCLI:
		return dialect{title: "an agentcli manifest", schema: []string{"schema"}, optional: true, list: "tools",
			own: []string{"command", "timeoutSec", "envPassthrough"}, needs: []string{"command"}}, true
	}
	return dialect{}, false
}

// noArguments is the input schema of a tool that takes none.
const noArguments = `{"type":"object","properties":{}}`

// FromOpenAI reads a tool list of OpenAI's Chat Completions or Responses API, or of the OpenAI Agents SDK.
//
// It and the other From functions keep members that the platform does not know in [Tool.Extra], take schemas byte for
// byte, and report everything they cannot read as one [*ValidationError]: entries that are no objects, members of the
// wrong type, members that say one thing twice or are the platform's own, and tools that are built into a provider or take
// free text and so have no schema. What the platform would say of the tools is for [Validate] to find out.
func FromOpenAI(data []byte) ([]Tool, error) { return read(data, OpenAIResponses, OpenAIChat) }

// FromAnthropic reads the tools of Anthropic's Messages API: the array that is passed to messages.create.
func FromAnthropic(data []byte) ([]Tool, error) { return read(data, Anthropic) }

// FromMCP reads the result of tools/list, or the whole JSON-RPC answer. A page with a nextCursor is an error: join the
// pages first.
func FromMCP(data []byte) ([]Tool, error) { return read(data, MCP) }

// FromLangChain reads a list with the args_schema of LangChain's tools; "parameters" and OpenAI's nested entries, to
// which LangChain converts tools, are read too.
func FromLangChain(data []byte) ([]Tool, error) { return read(data, LangChain, OpenAIChat) }

// FromStrands reads tool specs of Strands, with or without "toolSpec" around each.
func FromStrands(data []byte) ([]Tool, error) { return read(data, Strands) }

// FromBedrock reads the tools of a Bedrock adapter. handler, url and detail_url stay in Extra; so does auth, which some
// servers add and which may hold a secret: [Lint] warns of it.
func FromBedrock(data []byte) ([]Tool, error) { return read(data, Bedrock) }

// FromAgentCLI reads a tools manifest for its declarations. command and the other members of the runner stay in Extra;
// package manifest runs them.
func FromAgentCLI(data []byte) ([]Tool, error) { return read(data, AgentCLI) }

// Import reads a tool list of any format, and tells which it was. See [Recognize] and [FromOpenAI].
func Import(data []byte) ([]Tool, Format, error) {
	f, err := Recognize(data)
	if err != nil {
		return nil, "", err
	}
	if f == Platform {
		tools, err := Parse(platformList(data))
		return tools, f, err
	}
	tools, err := read(data, f)
	return tools, f, err
}

// read reads entries in the first format, except those that are wrapped as one of the others wraps them.
func read(data []byte, formats ...Format) ([]Tool, error) {
	list, err := findList(data)
	if err != nil {
		return nil, err
	}
	tools := make([]Tool, len(list.entries))
	var all []Problem
	for i, entry := range list.entries {
		d, _ := dialectOf(formats[0])
		for _, f := range formats[1:] {
			if other, _ := dialectOf(f); member(members(entry), other.wrapper) != nil {
				d = other
			}
		}
		ps := &problems{index: i}
		tools[i] = d.read(ps, entry)
		all = append(all, ps.list...)
	}
	if len(all) > 0 {
		return nil, &ValidationError{Problems: all}
	}
	return tools, nil
}

// toolList is a list of entries as it was found in a document.
type toolList struct {
	entries []json.RawMessage
	holder  []ledger.Member // of the object around the list, if there is one
}

// findList finds the list: the document itself, or a member of it.
func findList(data []byte) (toolList, error) {
	doc, err := readDocument(data)
	if err != nil {
		return toolList{}, err
	}
	holder := members(doc)
	if result := member(holder, "result"); rawjson.Kind(result) == '{' { // a JSON-RPC answer
		holder = append(members(result), holder...)
	}
	list := doc
	if rawjson.Kind(doc) == '{' {
		list = nil
		for _, name := range []string{"tools_schema", "tools", "results"} {
			if value := member(holder, name); rawjson.Kind(value) == '[' && list == nil {
				list = value
			}
		}
	}
	if rawjson.Kind(list) != '[' {
		return toolList{}, oneProblem(CodeNotList, "", "has no tool list: a list is expected, bare or as the member tools of an object")
	}
	if cursor := member(holder, "nextCursor"); rawjson.Text(cursor) != "" {
		return toolList{}, oneProblem(CodeListIncomplete, "/nextCursor",
			"says that the list has more pages; join them into one list first")
	}
	return toolList{slices.Collect(rawjson.Elements(list)), holder}, nil
}

func platformList(data []byte) []byte {
	list, err := findList(data)
	if err != nil {
		return data
	}
	return rawjson.Array(list.entries)
}

// read reads one entry.
func (d dialect) read(ps *problems, entry json.RawMessage) (t Tool) {
	if rawjson.Kind(entry) != '{' {
		ps.add(CodeNotObject, "", "must be an object, not %s", rawjson.KindName(entry))
		return t
	}
	list, at := members(entry), ""
	extra := &extras{ps: ps, into: &t.Extra, known: toolMembers}
	if inner := member(list, d.wrapper); d.wrapper != "" && inner != nil {
		if rawjson.Kind(inner) != '{' {
			ps.add(CodeWrongType, "/"+d.wrapper, "must be an object, not %s", rawjson.KindName(inner))
			return t
		}
		for _, m := range list {
			if m.Name != d.wrapper && !isFunctionType(m) {
				extra.add(pointerTo(m.Name), m)
			}
		}
		list, at = members(inner), "/"+d.wrapper
	}
	ps.tool = clip.Text(rawjson.Text(member(list, "name")), 128)
	for _, m := range list {
		d.take(ps, at, &t, extra, m)
	}
	if t.InputSchema == nil {
		if builtIn := rawjson.Text(member(list, "type")); builtIn != "" && builtIn != "function" && (builtIn != "custom" || !d.custom) {
			ps.add(CodeBuiltIn, at+"/type", "is %q, a tool without a schema, as those are that are built into the provider or take "+
				"free text; leave it out of the list", clip.Text(builtIn, 60))
		} else if d.optional {
			t.InputSchema = json.RawMessage(noArguments)
		}
	}
	return t
}

// isFunctionType recognises the member that says of every entry that it is a function.
func isFunctionType(m ledger.Member) bool {
	return m.Name == "type" && rawjson.Text(m.Value) == "function"
}

func (d dialect) take(ps *problems, at string, t *Tool, extra *extras, m ledger.Member) {
	isText := func(into *string) {
		if *into = rawjson.Text(m.Value); rawjson.Kind(m.Value) != '"' && rawjson.Kind(m.Value) != 'n' {
			ps.add(CodeWrongType, at+"/"+m.Name, "must be a string, not %s", rawjson.KindName(m.Value))
		}
	}
	switch {
	case m.Name == "name":
		isText(&t.Name)
	case m.Name == "description":
		isText(&t.Description)
	case slices.Contains(d.schema, m.Name):
		d.takeSchema(ps, at, m, &t.InputSchema)
	case d.output != "" && m.Name == d.output:
		d.takeSchema(ps, at, m, &t.OutputSchema)
	case m.Name == "strict_json_schema":
		extra.add(at+pointerTo(m.Name), ledger.Member{Name: "strict", Value: m.Value})
	case !isFunctionType(m):
		extra.add(at+pointerTo(m.Name), m)
	}
}

func (d dialect) takeSchema(ps *problems, at string, m ledger.Member, into *json.RawMessage) {
	value := m.Value
	if d.inJSON && rawjson.Kind(value) == '{' {
		if value = member(members(value), "json"); value == nil {
			ps.add(CodeWrongType, at+"/"+m.Name, `must be {"json": ...} around a schema`)
			return
		}
	}
	if rawjson.Kind(value) == 'n' {
		return
	}
	if *into != nil {
		ps.add(CodeMemberClash, at+"/"+m.Name, "is a second schema of the same, and they may differ; keep one of them")
		return
	}
	*into = value
}
