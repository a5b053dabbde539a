package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/ledger"
)

// A Format is the form in which an SDK prints a tool list.
type Format string

// The formats, with the members of an entry.
const (
	// Platform is the platform's own format: name, description, input_schema, output_schema and the
	// registration members. Export writes {"tools_schema": [...]}.
	Platform Format = "platform"
	// OpenAIChat is the format of OpenAI's Chat Completions: {"type":"function","function":{name,
	// description, parameters, strict}}. Export writes an array.
	OpenAIChat Format = "openai_chat"
	// OpenAIResponses is the flat format of OpenAI's Responses API: type, name, description,
	// parameters, strict. Import also reads params_json_schema and strict_json_schema of the OpenAI
	// Agents SDK, and function declarations of Gemini. Export writes an array.
	OpenAIResponses Format = "openai_responses"
	// Anthropic is the format of the Messages API: name, description, input_schema, cache_control
	// and others. Export writes an array.
	Anthropic Format = "anthropic"
	// MCP is the result of tools/list: name, title, description, inputSchema, outputSchema,
	// annotations and others. Export writes {"tools": [...]}.
	MCP Format = "mcp"
	// LangChain is what LangChain's tools print: name, description, args_schema. Import also reads
	// "schema", "parameters" and the entries of OpenAIChat. Export writes an array.
	LangChain Format = "langchain"
	// Strands is the format of Strands' tool specs: name, description, {"inputSchema":{"json":...}},
	// {"outputSchema":{"json":...}}, strict. Import also reads {"toolSpec": ...} around each, as the toolConfig
	// of Amazon Bedrock's Converse has it, and schemas without "json" around them. Export writes an array.
	Strands Format = "strands"
	// Bedrock is the format of the page Bedrock tools: name, description, parameters, handler or
	// url, detail_url. Export writes an array.
	Bedrock Format = "bedrock"
	// AgentCLI is the tools manifest: name, description, schema, command, timeoutSec,
	// envPassthrough. Export writes {"tools": [...]}.
	AgentCLI Format = "agentcli"
)

// dialect describes how a format writes an entry.
type dialect struct {
	title    string   // for messages
	wrapper  string   // the member that contains the entry; "" if none does
	schema   []string // members that may contain the input schema; the first is written
	output   string   // the member that contains the output schema; "" if the format has none
	inJSON   bool     // schemas are {"json": schema}
	optional bool     // an entry without an input schema takes no arguments
	custom   bool     // tools of the type "custom" have a schema
	list     string   // the member that contains the list when it is written; "" for an array
	own      []string // further members of the format
	needs    []string // required members
}

func dialectOf(f Format) (dialect, bool) {
	switch f {
	case OpenAIChat:
		return dialect{title: "OpenAI's Chat Completions", wrapper: "function", schema: []string{"parameters"},
			optional: true, own: []string{"strict"}}, true
	case OpenAIResponses:
		return dialect{title: "OpenAI's Responses API", optional: true, own: []string{"strict", "defer_loading", "allowed_callers"},
			schema: []string{"parameters", "params_json_schema", "parametersJsonSchema", "parameters_json_schema"}}, true
	case Anthropic:
		return dialect{title: "Anthropic's Messages API", schema: []string{"input_schema"}, custom: true,
			own: []string{"type", "cache_control", "strict", "input_examples", "defer_loading", "allowed_callers",
				"eager_input_streaming"}}, true
	case MCP:
		return dialect{title: "MCP", schema: []string{"inputSchema"}, output: "outputSchema", list: "tools",
			own: []string{"title", "annotations", "icons", "execution", "_meta"}}, true
	case LangChain:
		return dialect{title: "LangChain", schema: []string{"args_schema", "schema", "parameters"}, optional: true,
			own: []string{"return_direct", "response_format", "tags", "metadata", "extras"}}, true
	case Strands:
		return dialect{title: "Strands", wrapper: "toolSpec", schema: []string{"inputSchema"}, output: "outputSchema",
			inJSON: true, own: []string{"strict"}, needs: []string{"description"}}, true
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

// schemaMembers are the names under which the formats have a schema, or an entry with one.
var schemaMembers = func() (names []string) {
	for _, f := range []Format{OpenAIChat, OpenAIResponses, MCP, LangChain, Strands} {
		d, _ := dialectOf(f)
		names = append(names, d.schema...)
		if d.wrapper != "" {
			names = append(names, d.wrapper)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}()

// Import reads a tool list. If f is empty, it recognizes the format from the members of the
// entries; otherwise it reads that format only. It returns the format even if entries cannot be
// read.
//
// The list may stand alone or be the member tools, tools_schema, results or functions of an object,
// which may be the member result of a JSON-RPC response or toolConfig. It may be an object with the
// tools by name, and have entries with a list of tools: functionDeclarations of Gemini, or tools of a
// namespace or a server. With f set to [Platform] the list must stand alone or be tools_schema, as the
// platform requires. A list has at most 10,000 tools. OpenAI's two formats may be mixed if f is one of them.
//
// Members that the platform does not know go to [Tool.Extra], and schemas are kept byte for byte. Only
// types in another case, such as Gemini's "STRING", are written in lower case, since no other reader
// knows them. A Bedrock list may contain auth, which may be a secret; [Lint] warns about it.
//
// The error is a [*toolwire.Error] with toolwire.CodeInvalid and everything that cannot be read: entries that are not
// strict JSON, are not objects or have no name, members of the wrong type, members that set one thing twice
// or use a name of the platform, tools without a name or schema, which are built into a provider or take free
// text, and tools without arguments whose schema may be under another name. With this error, Import returns the
// tools of the other entries. All other entries of the format Platform are read; [Validate] reports what the
// platform would reject.
func Import(data []byte, f Format) (tools []Tool, found Format, err error) {
	if f == Platform {
		tools, err = readPlatform(data)
		return tools, f, err
	}
	if _, ok := dialectOf(f); !ok && f != "" {
		return nil, "", unknownFormat(f)
	}
	list, err := findList(data)
	if err != nil {
		return nil, f, err
	}
	if f == "" {
		if f, err = recognize(list); err != nil {
			return nil, "", cmp.Or(list.notStrict, err)
		}
	}
	if f == Platform {
		var all problem.List[toolwire.Problem]
		entries := make([]json.RawMessage, 0, len(list.entries))
		for i, entry := range list.entries {
			if list.isStrict(i, &all) {
				entries = append(entries, entry)
			}
		}
		return platformTools(entries), f, invalid(all)
	}
	tools, err = readEntries(list, f)
	return tools, f, err
}

// maxLists is how deep lists may be in each other: namespaces in an item with additional tools of a request.
const maxLists = 3

// maxTools is how many tools a list may have. A tool takes much more memory than the few bytes of an empty entry.
const maxTools = 10_000

func tooMany(tools int) error {
	return oneProblem("too_many", "", fmt.Sprintf("has %d tools; at most %d are read", tools, maxTools))
}

func unknownFormat(f Format) error {
	return oneProblem("format_unknown", "", fmt.Sprintf("%q is not a format; the formats are platform, openai_chat, "+
		"openai_responses, anthropic, mcp, langchain, strands, bedrock and agentcli", text.Cut(string(f), 40)))
}

// readEntries reads entries of a format. OpenAI's two formats and LangChain, which converts tools to
// OpenAI's, share the entries with a member "function".
func readEntries(list toolList, f Format) ([]Tool, error) {
	d, _ := dialectOf(f)
	nested, _ := dialectOf(OpenAIChat)
	hasNested := f == OpenAIChat || f == OpenAIResponses || f == LangChain
	flat := d
	if f == OpenAIChat {
		flat, _ = dialectOf(OpenAIResponses)
	}
	tools := make([]Tool, 0, len(list.entries))
	var all problem.List[toolwire.Problem]
	for i, entry := range list.entries {
		of := flat
		if hasNested && member(membersOf(entry), nested.wrapper) != nil {
			of = nested
		}
		ps := problemsAt(element(i), "")
		if !list.isStrict(i, &all) {
			continue
		}
		if t := of.read(ps, entry); ps.list.Len() == 0 {
			tools = append(tools, t)
		}
		all.Join(ps.list)
	}
	return tools, invalid(all)
}

// readPlatform reads a list as the platform does: {"tools_schema": [...]}, where it ignores other
// members, or the list alone.
func readPlatform(data []byte) ([]Tool, error) {
	doc, err := readDocument(data)
	if err != nil {
		return nil, err
	}
	list, pointer := doc, ""
	if rawjson.Kind(doc) == '{' {
		list, pointer = nil, "/tools_schema"
		for _, m := range membersOf(doc) {
			if m.Name == "tools_schema" {
				list = m.Value
			} else if strings.EqualFold(m.Name, "tools_schema") {
				return nil, oneProblem("wrong_case", pointerTo(m.Name),
					`is not a known member; names are case-sensitive, write "tools_schema"`)
			}
		}
	}
	if rawjson.Kind(list) != '[' {
		what := "is missing"
		if list != nil {
			what = "is " + rawjson.KindName(rawjson.Kind(list))
		}
		return nil, oneProblem("not_list", pointer, what+`; a list of tools is expected, alone or as "tools_schema"`)
	}
	entries := slices.Collect(rawjson.Elements(list))
	if len(entries) > maxTools {
		return nil, tooMany(len(entries))
	}
	return platformTools(entries), nil
}

func platformTools(entries []json.RawMessage) []Tool {
	tools := make([]Tool, len(entries))
	for i, entry := range entries {
		tools[i] = members.Reader((*Tool).set)(entry)
	}
	return tools
}

// toolList is a list of entries in a document.
type toolList struct {
	entries []json.RawMessage
	holder  []ledger.Member // members of the object around the list, if there is one
	names   []string        // of the members of holder that have the entries

	notStrict error // of a document that is JSON, and not strict somewhere
}

// isStrict reports whether an entry is strict JSON. If it is not, isStrict adds a problem.
func (l toolList) isStrict(i int, all *problem.List[toolwire.Problem]) bool {
	if l.notStrict == nil {
		return true
	}
	e, wrong := errors.AsType[*rawjson.Error](rawjson.Check(l.entries[i], rawjson.Limits{}))
	if wrong {
		list := membersOf(l.entries[i])
		for _, wrapper := range []string{"function", "toolSpec"} {
			list = append(list, membersOf(member(list, wrapper))...)
		}
		name := text.Cut(rawjson.Unquote(member(list, "name")), 128)
		all.AddTool(name, "not_json", element(i)+e.Pointer, "is not strict JSON: %s", e.Problem)
	}
	return !wrong
}

// Members that hold a list of tools, and those that hold an object with such a member.
var (
	listNames = []string{"tools_schema", "tools", "results", "functions", "functionDeclarations", "function_declarations"}
	holders   = []string{"result", "toolConfig", "tool_config"}
)

// findList finds the list: the document itself or a member of it.
func findList(data []byte) (toolList, error) {
	doc, err := readLiberal(data)
	if err != nil {
		return toolList{}, err
	}
	var wrong error
	if err := rawjson.Check(doc, rawjson.Limits{}); err != nil {
		wrong = notStrict(err, "")
	}
	holder := membersOf(doc)
	unclear := repeats(holder)
	for _, name := range holders {
		if inner := membersOf(member(holder, name)); inner != nil {
			unclear = unclear || repeats(inner)
			holder = append(inner, holder...)
		}
	}
	if unclear {
		return toolList{}, wrong
	}
	var names []string
	entries, ok := entriesOf(doc, maxLists)
	for _, name := range listNames {
		more, is := entriesOf(member(holder, name), maxLists)
		if is && (!ok || slices.ContainsFunc(more, isTool)) {
			entries, names, ok = append(entries, more...), append(names, name), true
		}
	}
	if !ok {
		return toolList{}, cmp.Or(wrong, oneProblem("not_list", "", "has no tool list; a list is expected, alone or as the member "+
			"tools of an object"))
	}
	if len(entries) > maxTools {
		return toolList{}, tooMany(len(entries))
	}
	if cursor := member(holder, "nextCursor"); rawjson.Unquote(cursor) != "" {
		return toolList{}, oneProblem("list_incomplete", "/nextCursor",
			"means that the list has more pages; join them into one list first")
	}
	return toolList{entries, holder, names, wrong}, nil
}

// entriesOf returns the entries of a list and of the lists of tools inside it, or of an object with
// tools by their names. If an object wraps one tool, as SDKs print their own types, it returns the tool.
// It reads lists up to a depth.
func entriesOf(list json.RawMessage, depth int) (entries []json.RawMessage, ok bool) {
	if rawjson.Kind(list) != '[' {
		return entriesByName(membersOf(list))
	}
	for entry := range rawjson.Elements(list) {
		if inner := toolsIn(entry); inner != nil && depth > 1 {
			more, _ := entriesOf(inner, depth-1)
			entries = append(entries, more...)
		} else {
			entries = append(entries, toolIn(entry))
		}
	}
	return entries, true
}

// isTool reports whether an entry has a schema under a known name.
func isTool(entry json.RawMessage) bool {
	f, _ := recognizeEntry(membersOf(entry))
	return f != ""
}

// toolsIn returns the list of tools that is a member of an entry without a schema, such as a namespace of
// OpenAI or a server; nil if there is none. A list that is not empty has an object.
func toolsIn(entry json.RawMessage) json.RawMessage {
	list := membersOf(entry)
	if f, _ := recognizeEntry(list); f != "" || repeats(list) {
		return nil
	}
	for _, name := range []string{"functionDeclarations", "function_declarations", "tools"} {
		inner := member(list, name)
		isTools := rawjson.Kind(inner) == '['
		for element := range rawjson.Elements(inner) {
			if isTools = rawjson.Kind(element) == '{'; isTools {
				break
			}
		}
		if isTools {
			return inner
		}
	}
	return nil
}

// toolIn returns the one named tool that is a member of an entry, or else the entry.
func toolIn(entry json.RawMessage) json.RawMessage {
	list, tool := membersOf(entry), entry
	if f, _ := recognizeEntry(list); f != "" || member(list, "name") != nil || repeats(list) {
		return entry
	}
	for _, m := range list {
		inner := membersOf(m.Value)
		if f, _ := recognizeEntry(inner); f == "" || member(inner, "name") == nil {
			continue
		}
		if &tool[0] != &entry[0] {
			return entry // there are several
		}
		tool = m.Value
	}
	return tool
}

// entriesByName returns the entries of an object whose members are all tools, one of them with a schema.
func entriesByName(tools []ledger.Member) (entries []json.RawMessage, ok bool) {
	if repeats(tools) {
		return nil, false
	}
	for _, tool := range tools {
		list := membersOf(tool.Value)
		f, _ := recognizeEntry(list)
		ok = ok || f != ""
		switch {
		case f == "" && member(list, "description") == nil && !isBuiltIn(list):
			return nil, false
		case member(list, "name") == nil && member(list, "function") == nil && member(list, "toolSpec") == nil:
			w := new(rawjson.Object)
			w.PutText("name", tool.Name)
			for _, m := range list {
				w.Put(m.Name, m.Value)
			}
			tool.Value = w.Bytes()
		}
		entries = append(entries, tool.Value)
	}
	return entries, ok
}

// read reads one entry.
func (d dialect) read(ps *problems, entry json.RawMessage) (t Tool) {
	if rawjson.Kind(entry) != '{' {
		ps.add("not_object", "", "must be an object, not %s", rawjson.KindName(rawjson.Kind(entry)))
		return t
	}
	list, at := membersOf(entry), ""
	t.foreign = d.own
	extra := &extras{ps: ps, into: &t.Extra, known: toolMembers}
	if inner := member(list, d.wrapper); d.wrapper != "" && inner != nil {
		if rawjson.Kind(inner) != '{' {
			ps.add("wrong_type", "/"+d.wrapper, "must be an object, not %s", rawjson.KindName(rawjson.Kind(inner)))
			return t
		}
		for _, m := range list {
			if m.Name != d.wrapper && !isFunctionType(m) && !rawjson.Equal(rawjson.Member(inner, m.Name), m.Value) {
				extra.add(pointerTo(m.Name), m)
			}
		}
		list, at = membersOf(inner), "/"+d.wrapper
	}
	ps.tool = text.Cut(rawjson.Unquote(member(list, "name")), 128)
	for _, m := range list {
		d.take(ps, at, &t, extra, m)
	}
	kind := rawjson.Unquote(member(list, "type"))
	switch {
	case (t.Name == "" || t.InputSchema == nil) && isBuiltIn(list) && (kind != "custom" || !d.custom):
		ps.add("built_in", at+"/type", "is %q, a tool without a name or a schema: it is built into the provider or takes free text; "+
			"leave it out of the list", text.Cut(kind, 60))
	case t.Name == "" && !ps.has(at+"/name"):
		ps.add("name_missing", at+"/name", "is required and must not be empty; leave entries out that are no tools, such as "+
			"marks of a cache and tools that a provider runs")
	case t.InputSchema == nil && d.optional:
		t.InputSchema = json.RawMessage(toolresult.NoArguments)
		if name := schemaElsewhere(t.Extra); name != "" {
			if member(list, name) == nil {
				at = "" // it is beside the wrapper
			}
			ps.add("input_schema_missing", at+pointerTo(name), "may be the schema of the arguments, which %s expects as %q; "+
				"rename it, or give a tool without arguments {\"type\": \"object\"} there", d.title, d.schema[0])
		}
	}
	return t
}

// noSchemas are members of the formats that are not the schema of the arguments.
var noSchemas = func() []string {
	names := []string{"response", "responseJsonSchema", "response_json_schema"} // of Gemini, a schema of results
	for _, f := range []Format{OpenAIChat, OpenAIResponses, Anthropic, MCP, LangChain, Strands, Bedrock, AgentCLI} {
		d, _ := dialectOf(f)
		names = append(append(names, d.output), d.own...)
	}
	return names
}()

// schemaElsewhere returns the first member of an entry that may be the schema of the arguments, or the arguments
// of a call. It returns "" if there is none.
func schemaElsewhere(extra []ledger.Member) string {
	for _, m := range extra {
		if mayBeSchema(m.Value) && !slices.Contains(noSchemas, m.Name) {
			return m.Name
		}
	}
	return ""
}

// mayBeSchema reports whether a value is a schema, an object or a list of parameters, or a text with an object.
func mayBeSchema(value json.RawMessage) bool {
	hasType := func(v json.RawMessage) bool {
		return rawjson.Member(v, "type") != nil || rawjson.Member(v, "properties") != nil
	}
	switch rawjson.Kind(value) {
	case '"':
		inner := json.RawMessage(rawjson.Unquote(value))
		return rawjson.Kind(inner) == '{' && rawjson.Check(inner, rawjson.Limits{}) == nil
	case '[':
		for element := range rawjson.Elements(value) {
			if rawjson.Member(element, "name") != nil {
				return true
			}
		}
	case '{':
		found := false
		for _, inner := range rawjson.Members(value) {
			if rawjson.Kind(inner) != '{' {
				return hasType(value)
			}
			found = found || hasType(inner)
		}
		return found || hasType(value)
	}
	return false
}

// isFunctionType recognizes the member that every entry of OpenAI has.
func isFunctionType(m ledger.Member) bool {
	return m.Name == "type" && rawjson.Unquote(m.Value) == "function"
}

func (d dialect) take(ps *problems, at string, t *Tool, extra *extras, m ledger.Member) {
	isText := func(into *string) {
		if *into = rawjson.Unquote(m.Value); rawjson.Kind(m.Value) != '"' && rawjson.Kind(m.Value) != 'n' {
			ps.add("wrong_type", at+"/"+m.Name, "must be a string, not %s", rawjson.KindName(rawjson.Kind(m.Value)))
		}
	}
	switch {
	case m.Name == "name":
		isText(&t.Name)
	case m.Name == "description":
		isText(&t.Description)
	case slices.Contains(d.schema, m.Name):
		d.takeSchema(ps, at, m, &t.InputSchema)
	case m.Name == "output_schema", d.output != "" && m.Name == d.output:
		d.takeSchema(ps, at, m, &t.OutputSchema)
	case m.Name == "strict_json_schema":
		extra.add(at+pointerTo(m.Name), ledger.Member{Name: "strict", Value: m.Value})
	case !isFunctionType(m):
		extra.add(at+pointerTo(m.Name), m)
	}
}

func (d dialect) takeSchema(ps *problems, at string, m ledger.Member, into *json.RawMessage) {
	value := m.Value
	if inner := member(membersOf(value), "json"); d.inJSON && inner != nil {
		value = inner
	}
	if rawjson.Kind(value) == 'n' {
		return
	}
	if *into != nil {
		ps.add("member_clash", at+"/"+m.Name, "is a second schema for the same thing; keep one of them")
		return
	}
	lowerTypes(value)
	*into = value
}

// lowerTypes writes the types of JSON Schema into a schema that has them in another case, as Gemini's have.
func lowerTypes(schema json.RawMessage) {
	for name, value := range rawjson.Members(schema) {
		if name == "type" {
			lowerType(value)
			for one := range rawjson.Elements(value) {
				lowerType(one)
			}
		}
		for _, inner := range jsonschema.Inside(name, value) {
			lowerTypes(inner)
		}
	}
}

func lowerType(value json.RawMessage) {
	lower := bytes.ToLower(value)
	if len(lower) == len(value) && slices.Contains(jsonschema.Types, rawjson.Unquote(lower)) { // İ becomes shorter
		copy(value, lower)
	}
}
