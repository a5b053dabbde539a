package llm

import (
	"encoding/json"
	"slices"
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
		return c.content(content)
	}
	for block := range rawjson.Elements(content) {
		if err := c.block(block); err != nil {
			return err
		}
	}
	return nil
}

// block converts a content block. A result of a tool that the provider runs stands in the
// assistant's own message, which is parted there.
func (c *converter) block(block json.RawMessage) error {
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
		texts, err := c.textsOf(content)
		if kind != "tool_result" && kind != "mcp_tool_result" && content != nil { // its parts are the provider's own
			texts, err = []string{string(content)}, nil
		}
		c.result(textOf(block, "tool_use_id"), "", texts, isTrue(member(block, "is_error")))
		return err
	default:
		if text, ok := partText(block); ok {
			c.say(text)
		}
	}
	return nil
}

func writeAnthropic(turns []turn) (out []json.RawMessage) {
	turns = slices.DeleteFunc(turns, func(t turn) bool { return t.role == dispatch.RoleSystem })
	if n := len(turns); n > 0 && turns[n-1].role == dispatch.RoleAssistant && turns[n-1].calls == nil {
		for i, text := range turns[n-1].texts { // the API rejects white space where its answer goes on
			turns[n-1].texts[i] = strings.TrimRight(text, " \t\r\n")
		}
	}
	for i := 0; i < len(turns); i++ {
		t := turns[i]
		blocks := anthropicTexts(t.texts)
		for _, call := range t.calls {
			var o rawjson.Object
			o.PutText("type", "tool_use")
			o.PutText("id", call.id)
			o.PutText("name", call.name)
			o.Put("input", call.object())
			blocks = append(blocks, o.Bytes())
		}
		if len(blocks) > 0 {
			out = append(out, anthropicMessage(string(t.role), blocks))
		}
		if t.calls == nil {
			continue
		}
		blocks = nil
		for _, call := range t.calls {
			var o rawjson.Object
			o.PutText("type", "tool_result")
			o.PutText("tool_use_id", call.id)
			o.Put("content", rawjson.Quote(call.result))
			if call.failed() {
				o.Put("is_error", json.RawMessage("true"))
			}
			blocks = append(blocks, o.Bytes())
		}
		if i+1 < len(turns) && turns[i+1].role == dispatch.RoleUser { // of two messages the API makes one, results first
			i++
			blocks = append(blocks, anthropicTexts(turns[i].texts)...)
		}
		out = append(out, anthropicMessage("user", blocks))
	}
	return out
}

// anthropicTexts returns text blocks. The API rejects blocks that contain only white space.
func anthropicTexts(texts []string) (blocks []json.RawMessage) {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			blocks = append(blocks, textPart("text", text))
		}
	}
	return blocks
}

func anthropicMessage(role string, blocks []json.RawMessage) json.RawMessage {
	var o rawjson.Object
	o.PutText("role", role)
	o.Put("content", rawjson.Array(blocks))
	return o.Bytes()
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
