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
	calls                              []*chatCall
	found                              map[chatKey]*chatCall // by index and id, and the last one of each index
}

type chatKey struct {
	index int
	id    string
}

type chatCall struct {
	id, name  string
	arguments strings.Builder
}

func (a *chatAnswer) read(doc json.RawMessage) {
	for name, value := range rawjson.Members(doc) {
		switch name {
		case "model":
			a.setModel(value)
		case "usage":
			a.usage.read(value, chatTokens)
		case "choices":
			a.known = true
			for choice := range rawjson.Elements(value) {
				a.choice(choice)
			}
		case "error":
			a.fail(value)
		}
	}
}

func (a *chatAnswer) choice(choice json.RawMessage) {
	if index(member(choice, "index")) != 0 {
		a.lost = true
	}
	if a.lost {
		return
	}
	for name, value := range rawjson.Members(choice) {
		switch name {
		case "message":
			a.message, a.finished = a.keep(value), true
		case "delta":
			a.delta(value)
		case "finish_reason":
			a.finish(value)
		}
	}
}

func (a *chatAnswer) delta(delta json.RawMessage) {
	a.add(&a.reasoning, chatReasoning(delta))
	a.add(&a.heard, textOf(member(delta, "audio"), "transcript"))
	for name, value := range rawjson.Members(delta) {
		switch name {
		case "content":
			texts, thinking, _ := (&converter{}).chatContent(value)
			a.add(&a.content, strings.Join(texts, ""))
			a.add(&a.reasoning, strings.Join(thinking, ""))
		case "refusal":
			a.add(&a.refusal, rawjson.Unquote(value))
		case "tool_calls":
			for call := range rawjson.Elements(value) {
				name, arguments := chatFunction(call)
				a.call(index(member(call, "index")), textOf(call, "id"), name, rawjson.Unquote(arguments))
			}
		case "function_call":
			a.call(-1, "", textOf(value, "name"), textOf(value, "arguments"))
		}
	}
}

// call adds a piece of a call, which is found by its index. Some servers give all calls one index,
// but never one id.
func (a *chatAnswer) call(index int, id, name, arguments string) {
	call := a.found[chatKey{index, id}]
	if last := a.found[chatKey{index, ""}]; call == nil && last != nil && last.id == "" {
		call = last
	}
	if call == nil || id == "" && name != "" && call.whole(name) {
		if !a.room(len(a.calls)) {
			return
		}
		call = &chatCall{}
		a.calls = append(a.calls, call)
	}
	call.id, call.name = cmp.Or(call.id, id), cmp.Or(call.name, name)
	a.add(&call.arguments, arguments)
	if a.found == nil {
		a.found = map[chatKey]*chatCall{}
	}
	a.found[chatKey{index, ""}], a.found[chatKey{index, id}] = call, call
}

// whole reports whether a name begins another call, where no id tells.
func (c *chatCall) whole(next string) bool {
	return c.name != "" && (c.name != next || strings.HasSuffix(c.arguments.String(), "}"))
}

func (a *chatAnswer) elements() []json.RawMessage {
	if a.message != nil {
		return []json.RawMessage{a.message}
	}
	calls := []json.RawMessage{}
	for _, call := range a.calls {
		function := object("name", call.name, "arguments", call.arguments.String())
		calls = append(calls, object("id", call.id, "function", function))
	}
	return []json.RawMessage{object("role", "assistant", "content", a.content.String(), "refusal", a.refusal.String(),
		"reasoning_content", a.reasoning.String(), "audio", object("transcript", a.heard.String()), "tool_calls", calls)}
}
