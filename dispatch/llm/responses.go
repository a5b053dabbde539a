package llm

import (
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
		return c.content(item)
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
			texts, err := c.textsOf(member(item, name))
			if err != nil {
				return err
			}
			c.think(strings.Join(texts, "\n\n"))
		}
	case kind == "function_call", kind == "custom_tool_call":
		c.call(textOf(item, "call_id", "id"), textOf(item, "name"), argumentsOf(member(item, "arguments", "input")))
	case kind == "mcp_call":
		c.mcpCall(item)
	case strings.HasSuffix(kind, "_output"):
		texts, err := c.textsOf(responsesOutput(item))
		c.end()
		c.result(textOf(item, "call_id", "id"), "", texts, false)
		return err
	case strings.HasSuffix(kind, "_call"): // a tool of the provider, which may run it too
		name := strings.TrimSuffix(kind, "_call")
		c.call(textOf(item, "call_id", "id"), name, argumentsOf(member(item, "action", "operation")))
	case kind == "item_reference", kind == "" && member(item, "id") != nil:
		return c.fail("", "refers to an item that the server keeps; pass the item itself")
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
	return c.content(member(item, "content"))
}

// mcpCall converts a call that the provider has made, which holds its own result.
func (c *converter) mcpCall(item json.RawMessage) {
	id := textOf(item, "id")
	c.call(id, textOf(item, "name"), argumentsOf(member(item, "arguments")))
	output, failed := member(item, "output"), member(item, "error")
	if isSet(failed) {
		text := rawjson.Text(failed)
		if rawjson.Kind(failed) != '"' {
			text = string(failed)
		}
		c.result(id, "", []string{text}, true)
	} else if rawjson.Kind(output) == '"' {
		c.result(id, "", []string{rawjson.Text(output)}, false)
	}
}

// responsesOutput returns the output of a call: a string, a list of parts, or one of the
// provider's own values as a string.
func responsesOutput(item json.RawMessage) json.RawMessage {
	output := member(item, "output")
	if rawjson.Kind(output) == '{' {
		return rawjson.Quote(string(output))
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
			var o rawjson.Object
			o.PutText("type", "message")
			o.PutText("role", string(t.role))
			o.Put("content", rawjson.Quote(strings.Join(t.texts, "\n\n")))
			out = append(out, o.Bytes())
		}
		for _, call := range t.calls {
			var o rawjson.Object
			o.PutText("type", "function_call")
			o.PutText("call_id", call.id)
			o.PutText("name", call.name)
			o.Put("arguments", rawjson.Quote(string(call.arguments)))
			out = append(out, o.Bytes())
		}
		for _, call := range t.calls {
			var o rawjson.Object
			o.PutText("type", "function_call_output")
			o.PutText("call_id", call.id)
			o.Put("output", rawjson.Quote(call.result))
			out = append(out, o.Bytes())
		}
	}
	return out
}
