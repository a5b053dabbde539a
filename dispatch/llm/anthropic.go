package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func anthropicRequest(doc json.RawMessage) prompt {
	p := requestOf(doc, "messages")
	if p.found {
		p.system, p.at = member(doc, "system"), "/system"
	}
	return p
}

// anthropic converts a message of Anthropic's Messages.
func (c *converter) anthropic(message json.RawMessage) error {
	if rawjson.Kind(message) != '{' {
		return c.fail("", "must be an object, not %s", rawjson.KindName(rawjson.Kind(message)))
	}
	switch textOf(message, "role") {
	case "system":
		c.begin(dispatch.RoleSystem)
	case "user":
		c.begin(dispatch.RoleUser)
	case "assistant":
		c.begin(dispatch.RoleAssistant)
	default:
		return c.fail("/role", "must be user or assistant")
	}
	content := member(message, "content")
	if rawjson.Kind(content) != '[' {
		c.content(content)
		return nil
	}
	for block := range rawjson.Elements(content) {
		c.block(block)
	}
	return nil
}

// block converts a content block. A result of a tool that the provider runs stands in the
// assistant's own message, which is parted there.
func (c *converter) block(block json.RawMessage) {
	kind := textOf(block, "type")
	switch {
	case kind == "thinking":
		c.think(textOf(block, "thinking"))
		c.drop()
	case kind == "redacted_thinking":
		c.drop()
	case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
		c.call(textOf(block, "id"), textOf(block, "name"), argumentsOf(member(block, "input")))
	case strings.HasSuffix(kind, "tool_result"):
		content := member(block, "content")
		texts := textsOf(content)
		if kind != "tool_result" && kind != "mcp_tool_result" && content != nil { // its parts are the provider's own
			texts = []string{string(content)}
		}
		c.result(textOf(block, "tool_use_id"), "", texts, isTrue(member(block, "is_error")))
	default:
		if text, ok := listedPart(block); ok {
			c.say(text)
		}
	}
}

func writeAnthropic(turns []turn) []json.RawMessage {
	return blockWriter{
		text: func(text string) json.RawMessage { return textPart("text", text) },
		call: func(call turnCall) json.RawMessage {
			return object("type", "tool_use", "id", call.id, "name", call.name, "input", call.object())
		},
		result: func(call turnCall) json.RawMessage {
			var failed json.RawMessage
			if call.failed() {
				failed = json.RawMessage("true")
			}
			return object("type", "tool_result", "tool_use_id", call.id, "content", call.result, "is_error", failed)
		},
	}.write(turns)
}

// anthropicID returns the id with the characters that the API allows: letters, digits, _ and -.
func anthropicID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
}

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
		a.setModel(member(doc, "model"))
		a.content = a.keep(member(doc, "content"))
	case "message_start":
		a.setModel(member(member(doc, "message"), "model"))
	case "content_block_start":
		a.block(index(member(doc, "index")), member(doc, "content_block"))
	case "content_block_delta":
		a.delta(index(member(doc, "index")), member(doc, "delta"))
	case "message_delta":
		a.finish(member(member(doc, "delta"), "stop_reason"))
	case "message_stop":
		a.ended = true
	default:
		a.fail(member(doc, "error"))
		return
	}
	a.known = true
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
	switch kind := textOf(delta, "type"); kind {
	case "text_delta", "thinking_delta":
		kind = strings.TrimSuffix(kind, "_delta")
		if block := a.found[index]; block == nil || textOf(block.start, "type") != kind { // it begins a block
			a.block(index, object("type", kind))
		}
		if block := a.found[index]; block != nil { // there was room
			a.add(&block.text, textOf(delta, kind))
		}
	case "input_json_delta":
		if block := a.found[index]; block != nil {
			a.add(&block.text, textOf(delta, "partial_json"))
		} else {
			a.unread = true
		}
	case "signature_delta", "citations_delta", "compaction_delta": // a transcript does not show them
	default:
		a.strange = kind
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
	return []json.RawMessage{object("role", "assistant", "content", content)}
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
