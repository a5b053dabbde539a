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
		c.chatAssistant(message, content)
		return nil
	case "tool", "function":
		c.end()
		c.result(textOf(message, "tool_call_id"), textOf(message, "name"), textsOf(content), false)
		return nil
	default:
		return c.fail("/role", "must be system, developer, user, assistant or tool")
	}
	c.content(content)
	return nil
}

func (c *converter) chatAssistant(message, content json.RawMessage) {
	c.begin(dispatch.RoleAssistant)
	c.think(chatReasoning(message))
	texts, thinking := chatContent(content)
	for _, text := range thinking {
		c.think(text)
	}
	if len(texts) > 1 || len(texts) == 1 && texts[0] != "" {
		c.say(texts...)
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
}

// chatReasoning returns the reasoning in a message or a delta. Servers that write it under two names
// write the same text.
func chatReasoning(message json.RawMessage) string {
	return cmp.Or(textOf(message, "reasoning_content"), textOf(message, "reasoning"))
}

// chatContent returns the texts of the assistant, and the thinking that some models put among them.
func chatContent(content json.RawMessage) (texts, thinking []string) {
	var others []json.RawMessage
	for part := range rawjson.Elements(content) {
		if textOf(part, "type") == "thinking" {
			thinking = append(thinking, strings.Join(textsOf(member(part, "thinking")), ""))
		} else {
			others = append(others, part)
		}
	}
	if thinking != nil {
		content = rawjson.Array(others)
	}
	return textsOf(content), thinking
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
		var content, calls json.RawMessage
		switch len(t.texts) {
		case 0:
		case 1:
			content = rawjson.Quote(t.texts[0])
		default:
			content = textParts("text", t.texts)
		}
		var entries, results []json.RawMessage
		for _, call := range t.calls {
			function := object("name", call.name, "arguments", string(call.arguments))
			entries = append(entries, object("id", call.id, "type", "function", "function", function))
			results = append(results, object("role", "tool", "tool_call_id", call.id, "content", call.result))
		}
		if entries != nil {
			calls = rawjson.Array(entries)
		}
		out = append(out, object("role", string(t.role), "content", content, "tool_calls", calls))
		out = append(out, results...)
	}
	return out
}

// chatAnswer is a response of Chat Completions: one object with a message, or chunks with deltas.
type chatAnswer struct {
	facts
	message json.RawMessage // of a response that is not streamed

	content, refusal, reasoning, heard strings.Builder

	calls chatCalls
	begun bool // there is an alternative
}

func (a *chatAnswer) read(doc json.RawMessage) {
	for name, value := range rawjson.Members(doc) {
		switch name {
		case "model":
			a.setModel(value)
		case "choices":
			a.known = true
			a.choices(value)
		case "error":
			a.fail(value)
		}
	}
}

func (a *chatAnswer) choices(choices json.RawMessage) {
	n := 0
	for choice := range rawjson.Elements(choices) {
		n++
		if a.choose(n, member(choice, "index")); a.several {
			return
		}
		delta := member(choice, "delta")
		a.begun = true
		a.delta(delta)
		if message := member(choice, "message"); message != nil && delta == nil { // some servers write it beside the delta
			a.message, a.finished = a.keep(message), true
		}
		a.finish(member(choice, "finish_reason"))
	}
}

func (a *chatAnswer) delta(delta json.RawMessage) {
	a.add(&a.reasoning, chatReasoning(delta))
	a.add(&a.heard, textOf(member(delta, "audio"), "transcript"))
	for name, value := range rawjson.Members(delta) {
		switch name {
		case "content":
			texts, thinking := chatContent(value)
			a.add(&a.content, strings.Join(texts, ""))
			a.add(&a.reasoning, strings.Join(thinking, ""))
		case "refusal":
			a.add(&a.refusal, plain(value))
		case "tool_calls":
			positions := map[int]int{}
			for call := range rawjson.Elements(value) {
				name, arguments := chatFunction(call)
				index := index(member(call, "index"))
				a.call(chatPiece{chatPlace{index, positions[index]}, textOf(call, "id"), name, arguments})
				positions[index]++
			}
		case "function_call":
			a.call(chatPiece{chatPlace{index: -1}, "", textOf(value, "name"), member(value, "arguments")})
		}
	}
}

func (a *chatAnswer) call(p chatPiece) {
	call := a.calls.find(p)
	if call != nil || a.room(len(a.calls.all)) {
		a.kept += a.calls.add(call, p)
	}
}

func (a *chatAnswer) elements() []json.RawMessage {
	switch {
	case a.message != nil:
		return []json.RawMessage{a.message}
	case !a.begun:
		return nil
	}
	return []json.RawMessage{object("role", "assistant", "content", a.content.String(), "refusal", a.refusal.String(),
		"reasoning_content", a.reasoning.String(), "audio", object("transcript", a.heard.String()), "tool_calls", a.calls.elements())}
}
