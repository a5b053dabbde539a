package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// chatAnswer is a response of Chat Completions: one object with a message, or chunks with deltas.
type chatAnswer struct {
	facts
	message   json.RawMessage // of a response that is not streamed
	finished  bool
	ambiguous bool // there are several choices

	content, refusal, reasoning strings.Builder
	calls                       []*chatCall
}

type chatCall struct {
	index     int
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
			for choice := range rawjson.Elements(value) {
				a.choice(choice)
			}
		}
	}
}

func (a *chatAnswer) choice(choice json.RawMessage) {
	if index(member(choice, "index")) != 0 {
		a.ambiguous = true
		return
	}
	for name, value := range rawjson.Members(choice) {
		switch name {
		case "message":
			a.message, a.finished = a.keep(value), true
		case "delta":
			a.delta(value)
		case "finish_reason":
			a.finished = a.finished || rawjson.Kind(value) == '"'
		}
	}
}

func (a *chatAnswer) delta(delta json.RawMessage) {
	for name, value := range rawjson.Members(delta) {
		switch name {
		case "content":
			a.add(&a.content, rawjson.Text(value))
		case "refusal":
			a.add(&a.refusal, rawjson.Text(value))
		case "reasoning_content", "reasoning":
			a.add(&a.reasoning, rawjson.Text(value))
		case "tool_calls":
			for call := range rawjson.Elements(value) {
				a.call(call)
			}
		case "function_call":
			a.function(a.at(-1, ""), value)
		}
	}
}

func (a *chatAnswer) call(delta json.RawMessage) {
	id := textOf(delta, "id")
	call := a.at(index(member(delta, "index")), id)
	if call.id == "" {
		call.id = id
	}
	a.function(call, member(delta, "function"))
}

// at returns the call of an index. Some servers give all calls one index, but never one id. After
// [maxCalls] all are one, and the answer is not used.
func (a *chatAnswer) at(index int, id string) *chatCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if call := a.calls[i]; call.index == index && (id == "" || call.id == "" || call.id == id) {
			return call
		}
	}
	call := &chatCall{index: index}
	if len(a.calls) == maxCalls {
		a.ambiguous = true
		return call
	}
	a.calls = append(a.calls, call)
	return call
}

func (a *chatAnswer) function(call *chatCall, function json.RawMessage) {
	if call.name == "" {
		call.name = textOf(function, "name")
	}
	a.add(&call.arguments, textOf(function, "arguments"))
}

func (a *chatAnswer) elements() []json.RawMessage {
	if !a.finished || a.ambiguous {
		return nil
	}
	if a.message != nil {
		return []json.RawMessage{a.message}
	}
	var m rawjson.Object
	m.PutText("role", "assistant")
	m.PutText("content", a.content.String())
	m.PutText("refusal", a.refusal.String())
	m.PutText("reasoning_content", a.reasoning.String())
	var calls []json.RawMessage
	for _, call := range a.calls {
		var function, entry rawjson.Object
		function.PutText("name", call.name)
		function.PutText("arguments", call.arguments.String())
		entry.PutText("id", call.id)
		entry.Put("function", function.Bytes())
		calls = append(calls, entry.Bytes())
	}
	if calls != nil {
		m.Put("tool_calls", rawjson.Array(calls))
	}
	return []json.RawMessage{m.Bytes()}
}
