package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// anthropicAnswer is a response of Messages: one message, or events that build one block by block.
type anthropicAnswer struct {
	facts
	content json.RawMessage // of a response that is not streamed
	blocks  []*anthropicBlock
	found   map[int]*anthropicBlock // the last one of each index
}

type anthropicBlock struct {
	start json.RawMessage
	text  strings.Builder // of the deltas: text, thinking or JSON
}

func (a *anthropicAnswer) read(doc json.RawMessage) {
	switch textOf(doc, "type") {
	case "message": // not streamed
		a.message(doc)
		a.content, a.finished = a.keep(member(doc, "content")), true
	case "message_start":
		a.message(member(doc, "message"))
	case "content_block_start":
		a.block(index(member(doc, "index")), member(doc, "content_block"))
	case "content_block_delta":
		a.delta(index(member(doc, "index")), member(doc, "delta"))
	case "message_delta":
		a.usage.read(member(doc, "usage"), anthropicTokens)
		a.finish(member(member(doc, "delta"), "stop_reason"))
	case "message_stop":
		a.ended, a.finished = true, true
	default:
		a.fail(member(doc, "error"))
		return
	}
	a.known = true
}

func (a *anthropicAnswer) message(message json.RawMessage) {
	a.setModel(member(message, "model"))
	a.usage.read(member(message, "usage"), anthropicTokens)
}

func (a *anthropicAnswer) block(index int, start json.RawMessage) {
	if start == nil || !a.room(len(a.blocks)) {
		return
	}
	if a.found == nil {
		a.found = map[int]*anthropicBlock{}
	}
	block := &anthropicBlock{start: a.keep(start)}
	a.blocks, a.found[index] = append(a.blocks, block), block
}

func (a *anthropicAnswer) delta(index int, delta json.RawMessage) {
	block := a.found[index]
	if block == nil {
		return
	}
	switch textOf(delta, "type") {
	case "text_delta":
		a.add(&block.text, textOf(delta, "text"))
	case "thinking_delta":
		a.add(&block.text, textOf(delta, "thinking"))
	case "input_json_delta":
		a.add(&block.text, textOf(delta, "partial_json"))
	}
}

func (a *anthropicAnswer) elements() []json.RawMessage {
	content := a.content
	if content == nil {
		var blocks []json.RawMessage
		for _, block := range a.blocks {
			blocks = append(blocks, block.whole())
		}
		content = rawjson.Array(blocks)
	}
	var m rawjson.Object
	m.PutText("role", "assistant")
	m.Put("content", content)
	return []json.RawMessage{m.Bytes()}
}

// whole returns the block as a response that is not streamed has it. Input that is not JSON is a
// string.
func (b *anthropicBlock) whole() json.RawMessage {
	name, value := "input", json.RawMessage(nil)
	switch text := b.text.String(); textOf(b.start, "type") {
	case "text":
		name, value = "text", rawjson.Quote(textOf(b.start, "text")+text)
	case "thinking":
		name, value = "thinking", rawjson.Quote(textOf(b.start, "thinking")+text)
	default:
		if text == "" {
			return b.start
		}
		value = rawjson.Quote(text)
	}
	var o rawjson.Object
	for n, v := range rawjson.Members(b.start) {
		if n != name {
			o.Put(n, v)
		}
	}
	o.Put(name, value)
	return o.Bytes()
}
