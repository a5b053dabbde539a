package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// ollamaRequest finds the conversation. A request without messages loads a model, or unloads it.
func ollamaRequest(doc json.RawMessage) prompt {
	p := requestOf("messages")(doc)
	p.found = p.found && rawjson.Kind(p.list) == '[' && !isEmpty(p.list)
	return p
}

// ollama converts a message of Ollama. It has the members of Chat Completions, but images beside the text, and
// calls and results without ids.
func (c *converter) ollama(message json.RawMessage) error {
	content := member(message, "content")
	switch role := strings.ToLower(textOf(message, "role")); role {
	case "system", "user":
		c.begin(dispatch.Role(role))
		if texts := textsOf(content); strings.Join(texts, "") != "" {
			c.say(texts...)
		}
		c.images(message)
	case "assistant":
		c.chatAssistant(message, content)
	case "tool":
		c.end()
		c.result(c.knownID(message, "tool_call_id"), textOf(message, "tool_name", "name"), textsOf(content), false)
	default:
		return c.fail("/role", "must be system, user, assistant or tool")
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

// ollamaAnswer is a response of Ollama: one object, or several of which each has the next piece. Its calls are
// never in pieces.
type ollamaAnswer struct{ chatAnswer }

func (a *ollamaAnswer) read(doc json.RawMessage) {
	a.fail(member(doc, "error"))
	a.setModel(member(doc, "model"))
	message, done := member(doc, "message"), member(doc, "done")
	switch {
	case rawjson.Kind(message) == '{' && member(doc, "type") == nil:
		a.known, a.begun = true, true
		a.delta(message)
		a.ended, a.finished = isTrue(done), done == nil // a gateway may leave done out of a response that is not streamed
	case a.begun && message == nil && isTrue(done): // the end, as old servers send it
		a.ended = true
	default: // an event of another API
		return
	}
	a.finish(member(doc, "done_reason"))
}
