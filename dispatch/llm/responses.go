package llm

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func responsesRequest(doc json.RawMessage) prompt {
	p := requestOf("input")(doc)
	previous, stored, template := textOf(doc, "previous_response_id"), member(doc, "conversation"), member(doc, "prompt")
	if !p.found && (previous != "" || stored != nil || template != nil) { // the server has the input
		p = prompt{found: true}
	}
	p.system, p.previous, p.template = member(doc, "instructions"), previous, template != nil
	p.stored = cmp.Or(textOf(stored, "id"), plain(stored))
	return p
}

// responses converts an item of a conversation. What the model does before it gets results is one
// assistant message.
func (c *converter) responses(item json.RawMessage) error {
	if rawjson.Kind(item) == '"' { // the whole input
		c.begin(dispatch.RoleUser)
		c.content(item)
		return nil
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

// responsesAnswer is a response of Responses: one object with its output, or events of which the last has
// that object.
type responsesAnswer struct {
	facts
	output []json.RawMessage

	blocks // of events, for servers whose last event has no output; their kind is the kind of their deltas
}

func (a *responsesAnswer) read(doc json.RawMessage) {
	switch kind := textOf(doc, "type"); kind {
	case "response.created", "response.in_progress", "response.queued":
		a.known = true
		a.setModel(member(member(doc, "response"), "model"))
		a.setID(member(member(doc, "response"), "id"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		a.response(member(doc, "response"))
		a.known, a.ended, a.waits = true, true, false
		a.failed = a.failed || kind == "response.failed" || kind == "response.cancelled"
	case "error":
		a.fail(doc)
	default:
		if strings.HasPrefix(kind, "response.") {
			a.event(strings.TrimPrefix(kind, "response."), doc)
		} else { // not streamed
			a.response(doc)
		}
	}
}

// event reads an event about an item.
func (a *responsesAnswer) event(kind string, doc json.RawMessage) {
	var item, delta, at, id, nth json.RawMessage
	for name, value := range rawjson.Members(doc) {
		switch name {
		case "item":
			item = value
		case "delta", "text", "refusal", "arguments", "input": // the last ones are of events that end a piece
			delta = value
		case "output_index":
			at = value
		case "item_id":
			id = value
		case "content_index", "summary_index":
			nth = value
		}
	}
	of, part, _ := strings.Cut(kind, ".")
	switch of {
	case "output_item":
		if !isSet(item) {
			return
		}
	case "output_text", "refusal":
		of = "text"
	case "reasoning_summary_text", "reasoning_text":
		of = "thinking"
	case "function_call_arguments", "mcp_call_arguments", "custom_tool_call_input":
		of = "arguments"
	default:
		return
	}
	a.known = true
	key := cmp.Or(plain(at), plain(id), textOf(item, "id"))
	b := a.open[key]
	if b == nil || b.done && (key == "" || item != nil && textOf(item, "call_id", "id") != textOf(b.start, "call_id", "id")) {
		b = a.begin(&a.facts, key, "", nil)
	}
	switch {
	case b.done: // it receives no more events
	case of != "output_item":
		if n := index(nth); isSet(nth) && (n > b.part || n < b.part && part == "delta") { // not the end of one before
			if b.part = n; b.text.Len() > 0 {
				a.add(&b.text, "\n\n")
			}
			b.from = b.text.Len()
		}
		if part == "delta" || b.text.Len() == b.from { // a server may send the end of a piece only
			b.kind = of
			a.add(&b.text, plain(delta))
		}
	default:
		if b.start = a.keep(item); part == "done" {
			a.kept -= b.text.Len()
			b.text.Reset()
			b.done = true
		}
	}
}

func (a *responsesAnswer) setID(value json.RawMessage) { a.id = cmp.Or(plain(value), a.id) }

func (a *responsesAnswer) response(response json.RawMessage) {
	a.setModel(member(response, "model"))
	a.setID(member(response, "id"))
	a.fail(member(response, "error"))
	if output := member(response, "output"); rawjson.Kind(output) == '[' {
		a.known, a.output = true, []json.RawMessage{}
		for item := range rawjson.Elements(output) {
			if a.room(len(a.output)) {
				a.output = append(a.output, a.keep(item))
			}
		}
	}
	status := rawjson.Member(response, "status")
	switch a.known = a.known || status != nil; plain(status) {
	case "failed", "cancelled":
		a.failed = true
	case "queued", "in_progress":
		a.waits = true
	default:
		a.finish(status)
	}
}

func (a *responsesAnswer) elements() []json.RawMessage {
	if len(a.output) > 0 || a.all == nil {
		return a.output
	}
	var items []json.RawMessage
	for _, b := range a.all {
		if item := responsesItem(b); item != nil {
			items = append(items, item)
		}
	}
	return items
}

// responsesItem returns an item as a response that is not streamed has it.
func responsesItem(b *block) json.RawMessage {
	text := b.text.String()
	switch {
	case b.done || text == "":
		return b.start
	case b.kind == "thinking":
		return object("type", "reasoning", "summary", textParts("summary_text", []string{text}))
	case b.kind == "text":
		return object("type", "message", "role", "assistant", "content", textParts("output_text", []string{text}))
	case textOf(b.start, "type") == "custom_tool_call":
		return withText(b.start, "input", text)
	}
	return withText(b.start, "arguments", text)
}
