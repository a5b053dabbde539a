package llm

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
)

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
			a.setID(value)
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
