package llm

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// chat converts a message of Chat Completions.
func (c *converter) chat(message json.RawMessage) error {
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
	c.chatRan(message)
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
	c.images(message)
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

// images adds the images of a message: parts, or data.
func (c *converter) images(message json.RawMessage) {
	for image := range rawjson.Elements(member(message, "images")) {
		if rawjson.Kind(image) == '"' {
			c.say(media("image", nil, "", image))
		} else {
			c.say(textsOf(rawjson.Array([]json.RawMessage{image}))...)
		}
	}
}

// chatReasoning returns the reasoning in a message. Servers that write it under several names write the
// same text, but not all of it under each.
func chatReasoning(message json.RawMessage) (longest string) {
	for name, value := range rawjson.Members(message) {
		if isReasoning(name) {
			if text := reasoningText(value); len(text) > len(longest) {
				longest = text
			}
		}
	}
	return longest
}

// isReasoning reports whether a member of a message has reasoning, whatever the server calls it.
func isReasoning(name string) bool {
	for _, other := range []string{"signature", "encrypted", "opaque", "tokens", "effort", "_id"} {
		if strings.Contains(name, other) {
			return false
		}
	}
	return strings.Contains(name, "reason") || strings.Contains(name, "think") || strings.Contains(name, "thought")
}

// reasoningText returns the text of a string, of an object with it, or of a list of these.
func reasoningText(value json.RawMessage) string {
	switch rawjson.Kind(value) {
	case '"':
		return rawjson.Unquote(value)
	case '{':
		for _, name := range []string{"text", "summary", "thinking", "reasoning", "content"} {
			if text := member(value, name); text != nil {
				return reasoningText(text)
			}
		}
	case '[':
		var b strings.Builder
		for element := range rawjson.Elements(value) {
			b.WriteString(reasoningText(element))
		}
		return b.String()
	}
	return ""
}

// ranTools returns a list of calls that the server has made itself, from a member of any name.
func ranTools(name string, value json.RawMessage) (ran []json.RawMessage) {
	if name == "tool_calls" || rawjson.Kind(value) != '[' {
		return nil
	}
	for call := range rawjson.Elements(value) {
		if rawjson.Kind(call) != '{' || member(call, "arguments", "input") == nil || member(call, "name", "type") == nil {
			return nil
		}
		ran = append(ran, call)
	}
	return ran
}

// chatRan adds the calls that the server has made itself, with their results.
func (c *converter) chatRan(message json.RawMessage) {
	for name, value := range rawjson.Members(message) {
		for _, ran := range ranTools(name, value) {
			call := c.providerCall(textOf(ran, "id"), textOf(ran, "name", "type"), argumentsOf(member(ran, "arguments", "input")))
			if output := member(ran, "output", "result", "results"); output != nil {
				c.result(call.id, "", textsOf(output), false)
			}
		}
	}
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
		var calls json.RawMessage
		var entries, results []json.RawMessage
		for _, call := range t.calls {
			function := object("name", call.name, "arguments", string(call.arguments))
			entries = append(entries, object("id", call.id, "type", "function", "function", function))
			results = append(results, object("role", "tool", "tool_call_id", call.id, "content", call.result))
		}
		if entries != nil {
			calls = rawjson.Array(entries)
		}
		out = append(out, object("role", string(t.role), "content", contentOf(t.texts), "tool_calls", calls))
		out = append(out, results...)
	}
	return out
}

// chatAnswer is a response of Chat Completions: one object with a message, or chunks with deltas.
type chatAnswer struct {
	facts
	message json.RawMessage // of a response that is not streamed

	content, refusal, heard strings.Builder

	reasoning map[string]*strings.Builder // by the member that has it
	ran       map[string]json.RawMessage  // calls that the server has made, by member and index; the last of each
	images    []json.RawMessage

	calls      chatCalls
	wholeCalls bool // calls are not in pieces
	begun      bool // there is an alternative
}

func (a *chatAnswer) read(doc json.RawMessage) {
	a.setModel(member(doc, "model"))
	a.fail(member(doc, "error"))
	switch choices := rawjson.Member(doc, "choices"); {
	case choices != nil:
		a.known = true
		a.choices(choices)
	case member(doc, "error", "usage") == nil: // an event that is not of this API
		a.meetAll(doc)
	}
}

func (a *chatAnswer) choices(choices json.RawMessage) {
	n := 0
	for choice := range rawjson.Elements(choices) {
		n++
		var at, delta, message, text, reason json.RawMessage
		for name, value := range rawjson.Members(choice) {
			switch name {
			case "index":
				at = value
			case "delta":
				delta = value
			case "message":
				message = value
			case "text":
				text = value
			case "finish_reason":
				reason = value
			}
		}
		if a.choose(n, at); a.several {
			return
		}
		a.begun = true
		switch {
		case isSet(delta) && !(a.ended && isSet(message) && textOf(delta, "content") == "" && member(delta, "tool_calls") == nil):
			a.delta(delta) // some servers write both: in a body the message counts beside an empty delta
		case isSet(message):
			a.message, a.finished = a.keep(message), true
			a.meetAll(message)
		default: // as the older completions have it
			a.add(&a.content, plain(text))
			a.meetMessages(choice)
		}
		a.finish(reason)
	}
}

func (a *chatAnswer) delta(delta json.RawMessage) {
	a.events++
	for name, value := range rawjson.Members(delta) {
		switch name {
		case "content":
			texts, thinking := chatContent(value)
			a.add(&a.content, strings.Join(texts, ""))
			a.reason(name, strings.Join(thinking, ""))
		case "refusal":
			a.add(&a.refusal, plain(value))
		case "audio":
			a.add(&a.heard, textOf(value, "transcript"))
		case "tool_calls":
			positions := map[int]int{}
			for call := range rawjson.Elements(value) {
				name, arguments := chatFunction(call)
				index, id := index(member(call, "index")), textOf(call, "id")
				if !a.wholeCalls || !a.again(id, call) {
					a.call(chatPiece{chatPlace{index, positions[index]}, id, name, arguments})
				}
				positions[index]++
			}
		case "function_call":
			a.call(chatPiece{chatPlace{index: -1}, "", textOf(value, "name"), member(value, "arguments")})
		case "images":
			for image := range rawjson.Elements(value) {
				if a.room(len(a.images)) {
					a.images = append(a.images, a.keep(image))
				}
			}
		default:
			if a.meet(name, value); isReasoning(name) {
				a.reason(name, reasoningText(value))
			}
			for i, call := range ranTools(name, value) {
				key := name + cmp.Or(textOf(call, "index"), strconv.Itoa(i))
				if _, known := a.ran[key]; known || a.room(len(a.ran)) {
					if a.ran == nil {
						a.ran = map[string]json.RawMessage{}
					}
					a.ran[key] = a.keep(call)
				}
			}
		}
	}
}

// meetAll takes note of texts in members that are not read.
func (a *chatAnswer) meetAll(object json.RawMessage) {
	for name, value := range rawjson.Members(object) {
		a.meet(name, value)
	}
}

// meetMessages takes note of a message where none is read: an object with a role, or a list of them.
func (a *chatAnswer) meetMessages(choice json.RawMessage) {
	for _, value := range rawjson.Members(choice) {
		isMessage := rawjson.Member(value, "role") != nil
		for element := range rawjson.Elements(value) {
			isMessage = isMessage || rawjson.Member(element, "role") != nil
		}
		if isMessage {
			a.strange = "choices"
		}
	}
}

// meet takes note of a text in a member that is not read.
func (a *chatAnswer) meet(name string, value json.RawMessage) {
	if rawjson.Kind(value) == '"' && modelpath.IsWord(name) && !isReasoning(name) && !slices.Contains(chatTexts, name) && strings.TrimSpace(rawjson.Unquote(value)) != "" {
		a.strange = name
	}
}

// chatTexts are the members of a message or an event with texts that are read, or that say nothing to a reader.
var chatTexts = []string{
	"content", "refusal", "role", "name", "id", "type", "object", "model", "tool_call_id", "finish_reason", "stop_reason", "obfuscation", "padding",
	"system_fingerprint", "service_tier", "provider",
	"reasoning_signature", "thought_signature", "reasoning_opaque", "reasoning_encrypted_content", "reasoning_id", "phase", "channel", "status", "recipient",
}

// reason adds a piece of reasoning.
func (a *chatAnswer) reason(name, text string) {
	if text == "" {
		return
	}
	b := a.reasoning[name]
	if b == nil {
		if a.reasoning == nil {
			a.reasoning = map[string]*strings.Builder{}
		}
		if !a.room(len(a.reasoning)) {
			return
		}
		b = &strings.Builder{}
		a.reasoning[name] = b
	}
	a.add(b, text)
}

func (a *chatAnswer) call(p chatPiece) {
	if a.wholeCalls {
		a.calls = chatCalls{all: a.calls.all} // it belongs to none before it
	}
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
	reasoning := ""
	for _, b := range a.reasoning {
		if b.Len() > len(reasoning) {
			reasoning = b.String()
		}
	}
	var ran []json.RawMessage
	for _, key := range slices.Sorted(maps.Keys(a.ran)) {
		ran = append(ran, a.ran[key])
	}
	return []json.RawMessage{object("role", "assistant", "content", a.content.String(), "refusal", a.refusal.String(), "reasoning", reasoning,
		"audio", object("transcript", a.heard.String()), "images", a.images, "executed_tools", ran, "tool_calls", a.calls.elements())}
}
