package llm

import (
	"encoding/json"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func chatRequest(doc json.RawMessage) prompt { return requestOf(doc, "messages") }

// chat converts a message of Chat Completions.
func (c *converter) chat(message json.RawMessage) error {
	if rawjson.Kind(message) != '{' {
		return c.fail("", "must be an object, not %s", rawjson.KindName(rawjson.Kind(message)))
	}
	content := member(message, "content")
	switch role := textOf(message, "role"); role {
	case "system", "developer":
		c.begin(dispatch.RoleSystem)
	case "user":
		c.begin(dispatch.RoleUser)
	case "assistant":
		return c.chatAssistant(message, content)
	case "tool", "function":
		c.end()
		texts, err := c.textsOf(content)
		c.result(textOf(message, "tool_call_id"), textOf(message, "name"), texts, false)
		return err
	default:
		return c.fail("/role", "must be system, developer, user, assistant or tool")
	}
	return c.content(content)
}

func (c *converter) chatAssistant(message, content json.RawMessage) error {
	c.begin(dispatch.RoleAssistant)
	c.think(textOf(message, "reasoning_content", "reasoning"))
	texts, err := c.textsOf(content)
	if err != nil {
		return err
	}
	if len(texts) > 1 || len(texts) == 1 && texts[0] != "" {
		c.texts = texts
	}
	if refusal := textOf(message, "refusal"); refusal != "" {
		c.say(refusal)
	}
	if len(c.texts) == 0 {
		if heard := textOf(member(message, "audio"), "transcript"); heard != "" {
			c.say(heard)
		}
	}
	for call := range rawjson.Elements(member(message, "tool_calls")) {
		function, arguments := member(call, "function"), "arguments"
		if textOf(call, "type") == "custom" {
			function, arguments = member(call, "custom"), "input"
		}
		c.call(textOf(call, "id"), textOf(function, "name"), argumentsOf(member(function, arguments)))
	}
	if call := member(message, "function_call"); textOf(call, "name") != "" { // an SDK may write an empty one
		c.call("", textOf(call, "name"), argumentsOf(member(call, "arguments")))
	}
	return nil
}

func writeChat(turns []turn) (out []json.RawMessage) {
	for _, t := range turns {
		var o rawjson.Object
		o.PutText("role", string(t.role))
		switch len(t.texts) {
		case 0:
		case 1:
			o.Put("content", rawjson.Quote(t.texts[0]))
		default:
			o.Put("content", textParts("text", t.texts))
		}
		var calls []json.RawMessage
		for _, call := range t.calls {
			var function, entry rawjson.Object
			function.PutText("name", call.name)
			function.Put("arguments", rawjson.Quote(string(call.arguments)))
			entry.PutText("id", call.id)
			entry.PutText("type", "function")
			entry.Put("function", function.Bytes())
			calls = append(calls, entry.Bytes())
		}
		if calls != nil {
			o.Put("tool_calls", rawjson.Array(calls))
		}
		out = append(out, o.Bytes())
		for _, call := range t.calls {
			var result rawjson.Object
			result.PutText("role", "tool")
			result.PutText("tool_call_id", call.id)
			result.Put("content", rawjson.Quote(call.result))
			out = append(out, result.Bytes())
		}
	}
	return out
}
