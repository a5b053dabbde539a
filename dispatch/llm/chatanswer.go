package llm

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

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
	var m, audio rawjson.Object
	m.PutText("role", "assistant")
	m.PutText("content", a.content.String())
	m.PutText("refusal", a.refusal.String())
	m.PutText("reasoning_content", a.reasoning.String())
	audio.PutText("transcript", a.heard.String())
	m.Put("audio", audio.Bytes())
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
