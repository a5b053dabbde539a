package llm

import (
	"encoding/json"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// responsesAnswer is a response of Responses: one object with its output, or events of which the
// last has that object.
type responsesAnswer struct {
	facts
	finished bool
	output   []json.RawMessage
	items    []json.RawMessage // of events, for servers whose last event has no output
}

func (a *responsesAnswer) read(doc json.RawMessage) {
	switch textOf(doc, "type") {
	case "": // not streamed
		a.response(doc)
	case "response.created", "response.in_progress":
		response := member(doc, "response")
		a.setModel(member(response, "model"))
	case "response.completed", "response.incomplete", "response.failed":
		a.response(member(doc, "response"))
		a.ended = true
	case "response.output_item.done":
		a.items = append(a.items, a.keep(member(doc, "item")))
	}
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
			for item := range rawjson.Elements(value) {
				a.output = append(a.output, a.keep(item))
			}
		case "status":
			status := rawjson.Text(value)
			a.finished = status == "completed" || status == "incomplete"
		}
	}
}

func (a *responsesAnswer) elements() []json.RawMessage {
	switch {
	case !a.finished:
		return nil
	case a.output != nil:
		return a.output
	}
	return a.items
}
