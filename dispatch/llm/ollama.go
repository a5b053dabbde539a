package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// ollamaRequest finds the conversation. A request without messages loads a model, or unloads it.
func ollamaRequest(doc json.RawMessage) prompt {
	p := requestOf(doc, "messages")
	p.found = p.found && rawjson.Kind(p.list) == '[' && !isEmpty(p.list)
	return p
}

// ollama converts a message of Ollama. It has the members of Chat Completions, but images beside the text, and
// calls and results without ids.
func (c *converter) ollama(message json.RawMessage) error {
	texts := textsOf(member(message, "content"))
	switch role := strings.ToLower(textOf(message, "role")); role {
	case "system", "user":
		c.begin(dispatch.Role(role))
	case "assistant":
		c.begin(dispatch.RoleAssistant)
		c.think(textOf(message, "thinking"))
	case "tool":
		c.end()
		c.result(c.knownID(message, "tool_call_id"), textOf(message, "tool_name", "name"), texts, false)
		return nil
	default:
		return c.fail("/role", "must be system, user, assistant or tool")
	}
	if strings.Join(texts, "") != "" {
		c.say(texts...)
	}
	for image := range rawjson.Elements(member(message, "images")) {
		c.say(media("image", nil, "", image))
	}
	for call := range rawjson.Elements(member(message, "tool_calls")) {
		name, arguments := chatFunction(call)
		c.call(textOf(call, "id"), name, argumentsOf(arguments))
	}
	return nil
}

func writeOllama(turns []turn) (out []json.RawMessage) {
	for _, t := range turns {
		var calls, results []json.RawMessage
		for _, call := range t.calls {
			calls = append(calls, object("id", call.id, "function", object("name", call.name, "arguments", call.object())))
			results = append(results, object("role", "tool", "content", call.result, "tool_name", call.name, "tool_call_id", call.id))
		}
		message := []any{"role", string(t.role), "content", strings.Join(t.texts, "\n")}
		if calls != nil {
			message = append(message, "tool_calls", calls)
		}
		out = append(append(out, object(message...)), results...)
	}
	return out
}

// ollamaAnswer is a response of Ollama: one object, or several of which each has the next piece. Calls are
// never in pieces.
type ollamaAnswer struct {
	facts
	content, thinking strings.Builder
	images, calls     []json.RawMessage
}

func (a *ollamaAnswer) read(doc json.RawMessage) {
	a.fail(member(doc, "error"))
	a.setModel(member(doc, "model"))
	message, done := member(doc, "message"), member(doc, "done")
	if message == nil || member(doc, "type") != nil { // an event of another API
		return
	}
	a.known = true
	a.add(&a.content, strings.Join(textsOf(member(message, "content")), ""))
	a.add(&a.thinking, textOf(message, "thinking"))
	a.events++
	a.images = a.append(a.images, member(message, "images"))
	a.calls = a.append(a.calls, member(message, "tool_calls"))
	if a.ended = isTrue(done); done == nil || a.ended { // a gateway may leave done out of a response that is not streamed
		a.finish(member(doc, "done_reason"))
		a.finished = true
	}
}

// append adds the elements of a list.
func (a *ollamaAnswer) append(to []json.RawMessage, list json.RawMessage) []json.RawMessage {
	for element := range rawjson.Elements(list) {
		if !a.again(textOf(element, "id"), element) && a.room(len(to)) {
			to = append(to, a.keep(element))
		}
	}
	return to
}

func (a *ollamaAnswer) elements() []json.RawMessage {
	return []json.RawMessage{object("role", "assistant", "content", a.content.String(), "thinking", a.thinking.String(),
		"images", a.images, "tool_calls", a.calls)}
}
