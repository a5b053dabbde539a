package llm

import (
	"cmp"
	"encoding/json"
	"strings"

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
	c.think(chatReasoning(message))
	texts, thinking, err := c.chatContent(content)
	if err != nil {
		return err
	}
	for _, text := range thinking {
		c.think(text)
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
		name, arguments := chatFunction(call)
		c.call(textOf(call, "id"), name, argumentsOf(arguments))
	}
	if call := member(message, "function_call"); textOf(call, "name") != "" { // an SDK may write an empty one
		c.call("", textOf(call, "name"), argumentsOf(member(call, "arguments")))
	}
	return nil
}

// chatReasoning returns the reasoning in a message or a delta. Servers that write it under two names
// write the same text.
func chatReasoning(message json.RawMessage) string {
	return cmp.Or(textOf(message, "reasoning_content"), textOf(message, "reasoning"))
}

// chatContent returns the texts of the assistant, and the thinking that some models put among them.
func (c *converter) chatContent(content json.RawMessage) (texts, thinking []string, err error) {
	if rawjson.Kind(content) != '[' {
		texts, err = c.textsOf(content)
		return texts, nil, err
	}
	for part := range rawjson.Elements(content) {
		if textOf(part, "type") == "thinking" {
			thoughts, err := c.textsOf(member(part, "thinking"))
			if err != nil {
				return nil, nil, err
			}
			thinking = append(thinking, strings.Join(thoughts, ""))
		} else if text, ok := partText(part); ok {
			texts = append(texts, text)
		}
	}
	return texts, thinking, nil
}

// chatFunction returns the name and the arguments of a call, or of a piece of one.
func chatFunction(call json.RawMessage) (name string, arguments json.RawMessage) {
	function, custom := member(call, "function"), member(call, "custom")
	if custom != nil && (function == nil || textOf(call, "type") == "custom") {
		return textOf(custom, "name"), member(custom, "input")
	}
	return textOf(function, "name"), member(function, "arguments")
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
