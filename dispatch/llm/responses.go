package llm

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func responsesRequest(doc json.RawMessage) prompt {
	p := requestOf(doc, "input")
	if p.found {
		p.system, p.at = member(doc, "instructions"), "/instructions"
		p.previous = textOf(doc, "previous_response_id")
		kind := rawjson.Kind(member(doc, "conversation"))
		p.stored = kind == '"' || kind == '{'
	}
	return p
}

// responses converts an item of a conversation. What the model does before it gets results is one
// assistant message.
func (c *converter) responses(item json.RawMessage) error {
	switch rawjson.Kind(item) {
	case '"': // the whole input
		c.begin(dispatch.RoleUser)
		c.content(item)
		return nil
	case '{':
	default:
		return c.fail("", "must be an object, not %s", rawjson.KindName(rawjson.Kind(item)))
	}
	kind := textOf(item, "type")
	switch {
	case kind == "message", kind == "" && member(item, "role") != nil:
		return c.responsesMessage(item)
	case kind == "reasoning":
		c.assist(len(c.texts) > 0 || c.cur.ToolCalls != nil)
		for _, name := range []string{"summary", "content"} {
			c.think(strings.Join(textsOf(member(item, name)), "\n\n"))
		}
	case kind == "function_call", kind == "custom_tool_call":
		c.call(textOf(item, "call_id", "id"), textOf(item, "name"), argumentsOf(member(item, "arguments", "input")))
	case kind == "function_call_output", kind == "custom_tool_call_output":
		c.responsesResult(textOf(item, "call_id", "id"), "", item)
	case strings.HasSuffix(kind, "_output"):
		tool := strings.TrimSuffix(strings.TrimSuffix(kind, "_output"), "_call")
		c.responsesResult(cmp.Or(textOf(item, "call_id"), c.knownID(item, "id")), tool, item)
	case kind == "program", strings.HasSuffix(kind, "_call"): // a tool of the provider, which may run it too
		c.responsesCall(strings.TrimSuffix(kind, "_call"), item)
	case kind == "item_reference", kind == "" && member(item, "id") != nil:
		return c.fail("", "refers to an item that the server keeps; pass the item itself")
	case kind == "":
		return c.fail("", "has neither a type nor a role, as an item of Responses has")
	default: // lists of tools, approvals and the like say nothing to a reader
	}
	return nil
}

func (c *converter) responsesMessage(item json.RawMessage) error {
	switch textOf(item, "role") {
	case "system", "developer":
		c.begin(dispatch.RoleSystem)
	case "user":
		c.begin(dispatch.RoleUser)
	case "assistant":
		c.assist(len(c.texts) > 0 || c.cur.ToolCalls != nil)
	default:
		return c.fail("/role", "must be system, developer, user or assistant")
	}
	c.content(member(item, "content"))
	return nil
}

// responsesCall converts a call of a tool of the provider. If the provider has run it, the call may
// hold its own result.
func (c *converter) responsesCall(tool string, item json.RawMessage) {
	arguments := member(item, "arguments", "action", "operation")
	for _, name := range []string{"code", "queries", "actions", "revised_prompt"} {
		if value := member(item, name); value != nil && arguments == nil {
			arguments = object(name, value)
		}
	}
	call := c.providerCall(textOf(item, "call_id", "id"), cmp.Or(textOf(item, "name"), tool), argumentsOf(arguments))
	switch failed, image := member(item, "error"), member(item, "result"); {
	case failed != nil:
		c.result(call.id, "", []string{plain(failed)}, true)
	case image != nil:
		c.result(call.id, "", []string{media("image", nil, textOf(item, "output_format"), image)}, false)
	case responsesOutput(item) != nil:
		c.responsesResult(call.id, "", item)
	}
}

// responsesResult converts the result of a call.
func (c *converter) responsesResult(id, tool string, item json.RawMessage) {
	c.end()
	c.result(id, tool, textsOf(responsesOutput(item)), false)
}

// responsesOutput returns the output of a call: a string, a list of parts, or one of the provider's own
// values.
func responsesOutput(item json.RawMessage) json.RawMessage {
	output := member(item, "output", "outputs", "result", "results")
	if tools := member(item, "tools"); output == nil && tools != nil {
		return rawjson.Quote(string(tools))
	}
	for part := range rawjson.Elements(output) {
		if rawjson.Kind(part) == '{' && member(part, "type") == nil {
			return rawjson.Quote(string(output))
		}
	}
	return output
}

func writeResponses(turns []turn) (out []json.RawMessage) {
	for _, t := range turns {
		if len(t.texts) > 0 {
			out = append(out, object("type", "message", "role", string(t.role), "content", strings.Join(t.texts, "\n\n")))
		}
		var results []json.RawMessage
		for _, call := range t.calls {
			out = append(out, object("type", "function_call", "call_id", call.id, "name", call.name,
				"arguments", string(call.arguments)))
			results = append(results, object("type", "function_call_output", "call_id", call.id, "output", call.result))
		}
		out = append(out, results...)
	}
	return out
}

// responsesAnswer is a response of Responses: one object with its output, or events of which the
// last has that object.
type responsesAnswer struct {
	facts
	output []json.RawMessage
	items  []json.RawMessage // of events, for servers whose last event has no output
}

func (a *responsesAnswer) read(doc json.RawMessage) {
	switch textOf(doc, "type") {
	case "": // not streamed
		a.response(doc)
	case "response.created", "response.in_progress":
		a.known = true
		a.setModel(member(member(doc, "response"), "model"))
	case "response.completed", "response.incomplete", "response.failed":
		a.known, a.ended = true, true
		a.response(member(doc, "response"))
	case "response.output_item.done":
		a.known = true
		a.items = a.item(a.items, member(doc, "item"))
	case "error":
		a.fail(doc)
	}
}

// item adds an item to the items of the response.
func (a *responsesAnswer) item(items []json.RawMessage, item json.RawMessage) []json.RawMessage {
	if item == nil || !a.room(len(items)) {
		return items
	}
	return append(items, a.keep(item))
}

func (a *responsesAnswer) response(response json.RawMessage) {
	for name, value := range rawjson.Members(response) {
		switch name {
		case "model":
			a.setModel(value)
		case "id":
			a.id = cmp.Or(plain(value), a.id)
		case "usage":
			a.usage.read(value, responsesTokens)
		case "output":
			a.known = true
			for item := range rawjson.Elements(value) {
				a.output = a.item(a.output, item)
			}
		case "status":
			status := rawjson.Unquote(value)
			a.known, a.finished = true, status == "completed" || status == "incomplete"
		case "error":
			a.fail(value)
		}
	}
}

func (a *responsesAnswer) elements() []json.RawMessage {
	if a.output != nil {
		return a.output
	}
	return a.items
}
