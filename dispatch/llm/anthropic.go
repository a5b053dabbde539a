package llm

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// anthropic converts a message of Anthropic's Messages.
func (c *converter) anthropic(message json.RawMessage) error {
	switch role := textOf(message, "role"); role {
	case "system", "user", "assistant":
		c.begin(dispatch.Role(role))
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
		if kind != "tool_result" && kind != "mcp_tool_result" { // its parts are the provider's own
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

// anthropicAnswer is a response of Messages.
type anthropicAnswer struct{ blockAnswer }

func (a *anthropicAnswer) read(doc json.RawMessage) {
	switch textOf(doc, "type") {
	case "message": // not streamed
		a.setModel(member(doc, "model"))
		a.content = a.keep(member(doc, "content"))
	case "message_start":
		message := member(doc, "message")
		a.setModel(member(message, "model"))
		for start := range rawjson.Elements(member(message, "content")) { // blocks that a gateway sends whole
			a.begin(&a.facts, strconv.Itoa(len(a.all)), textOf(start, "type"), start).done = true
		}
	case "content_block_start":
		if start := member(doc, "content_block"); start != nil {
			a.begin(&a.facts, textOf(doc, "index"), textOf(start, "type"), start)
		}
	case "content_block_delta":
		a.delta(textOf(doc, "index"), member(doc, "delta"))
	case "content_block_stop":
		a.end(textOf(doc, "index"))
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

func (a *anthropicAnswer) delta(index string, delta json.RawMessage) {
	switch kind := textOf(delta, "type"); kind {
	case "text_delta", "thinking_delta":
		kind = strings.TrimSuffix(kind, "_delta")
		b := a.open[index]
		if b == nil || b.kind != kind {
			b = a.begin(&a.facts, index, kind, object("type", kind))
		}
		a.add(&b.text, textOf(delta, kind))
	case "input_json_delta":
		b := a.open[index]
		if a.unread = a.unread || b == nil; b != nil {
			a.add(&b.text, textOf(delta, "partial_json"))
		}
	case "signature_delta", "citations_delta", "compaction_delta": // a transcript does not show them
	default:
		a.strange = kind
	}
}

// anthropicBlock returns a block as a response that is not streamed has it. Input that is not JSON is a string.
func anthropicBlock(b *block) json.RawMessage {
	switch {
	case b.kind == "text", b.kind == "thinking":
		return withText(b.start, b.kind, textOf(b.start, b.kind)+b.text.String())
	case b.text.Len() > 0:
		return withText(b.start, "input", b.text.String())
	}
	return b.start
}
