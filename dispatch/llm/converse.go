package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

func converseRequest(doc json.RawMessage) prompt {
	p := requestOf("messages")(doc)
	if member(doc, "promptVariables") != nil {
		p.found, p.template = true, true
		if rawjson.Member(doc, "messages") == nil {
			p.list = nil
		}
	}
	p.system = textParts("text", converseTexts(member(doc, "system")))
	return p
}

// converse converts a message of Converse.
func (c *converter) converse(message json.RawMessage) error {
	switch role := textOf(message, "role"); role {
	case "user", "assistant":
		c.begin(dispatch.Role(role))
	default:
		return c.fail("/role", "must be user or assistant")
	}
	// A result of a tool that the provider runs stands in the assistant's own message, which is parted there.
	converseMembers(member(message, "content"), func(name string, value json.RawMessage) {
		switch {
		case !isSet(value), name == "text" && plain(value) == "":
		case name == "toolUse":
			c.call(textOf(value, "toolUseId"), textOf(value, "name"), argumentsOf(member(value, "input")))
		case name == "toolResult":
			c.result(textOf(value, "toolUseId"), "", converseTexts(member(value, "content")), textOf(value, "status") == "error")
		case name == "reasoningContent":
			c.think(textOf(member(value, "reasoningText"), "text"))
			c.drop()
		default:
			c.say(converseText(name, value)...)
		}
	})
	return nil
}

// converseMembers calls f for the members of content blocks. Content may be one block, and a block may be a text.
func converseMembers(content json.RawMessage, f func(name string, value json.RawMessage)) {
	if kind := rawjson.Kind(content); kind == '{' || kind == '"' {
		content = rawjson.Array([]json.RawMessage{content})
	}
	for block := range rawjson.Elements(content) {
		if rawjson.Kind(block) == '"' {
			f("text", block)
		}
		for name, value := range rawjson.Members(block) {
			f(name, value)
		}
	}
}

// converseTexts returns the texts of content blocks.
func converseTexts(content json.RawMessage) (texts []string) {
	converseMembers(content, func(name string, value json.RawMessage) {
		texts = append(texts, converseText(name, value)...)
	})
	return texts
}

// converseText returns the texts of a block, which is the member of that name: several of a document or a
// citation.
func converseText(name string, value json.RawMessage) []string {
	source := member(value, "source")
	switch name {
	case "text":
		return []string{plain(value)}
	case "json":
		return []string{string(value)}
	case "cachePoint", "toolAddition", "toolRemoval":
		return nil
	case "citationsContent":
		return converseTexts(member(value, "content"))
	case "guardContent":
		if guarded := member(value, "text"); guarded != nil {
			return []string{textOf(guarded, "text")}
		}
		return converseTexts(value)
	case "searchResult":
		return []string{"[search result " + text.Cut(textOf(value, "title"), maxShown) + "]"}
	case "document":
		if text := member(source, "text"); text != nil {
			return converseTexts(text)
		}
		if content := member(source, "content"); content != nil {
			return converseTexts(content)
		}
		return []string{media(name, nil, textOf(value, "format"), member(source, "bytes"))}
	case "image", "video", "audio":
		detail := textOf(value, "format")
		if detail != "" {
			detail = name + "/" + detail
		}
		return []string{media(name, nil, detail, member(source, "bytes"))}
	}
	return []string{"[" + text.Cut(name, maxShown) + "]"}
}

func writeConverse(turns []turn) []json.RawMessage {
	return blockWriter{
		text: func(text string) json.RawMessage { return object("text", text) },
		call: func(call turnCall) json.RawMessage {
			return object("toolUse", object("toolUseId", call.id, "name", call.name, "input", call.object()))
		},
		result: func(call turnCall) json.RawMessage {
			status := "success"
			if call.failed() {
				status = "error"
			}
			content := object("text", call.result)
			if strings.TrimSpace(call.result) == "" {
				content = object("json", object()) // the API rejects an empty text
			}
			return object("toolResult", object("toolUseId", call.id, "content", []json.RawMessage{content}, "status", status))
		},
	}.write(turns)
}

// converseAnswer is a response of Converse.
type converseAnswer struct{ blockAnswer }

func (a *converseAnswer) read(doc json.RawMessage) {
	for name, value := range rawjson.Members(doc) {
		switch name {
		case "output":
			message := member(value, "message")
			if message == nil {
				continue
			}
			a.content = a.keep(member(message, "content"))
		case "messageStart":
		case "contentBlockStart":
			for kind, start := range rawjson.Members(member(value, "start")) {
				a.begin(&a.facts, textOf(value, "contentBlockIndex"), kind, start)
			}
		case "contentBlockDelta":
			for kind, delta := range rawjson.Members(member(value, "delta")) {
				a.delta(textOf(value, "contentBlockIndex"), kind, delta)
			}
		case "contentBlockStop":
			a.end(textOf(value, "contentBlockIndex"))
		case "messageStop":
			a.finish(member(value, "stopReason"))
			a.untold = true
		case "metadata":
			a.untold, a.ended = false, true
		case "error":
			a.fail(value)
		default:
			continue
		}
		a.known = true
	}
}

func (a *converseAnswer) delta(index, kind string, delta json.RawMessage) {
	if kind == "citation" { // of the text beside it
		return
	}
	b := a.open[index]
	if b == nil || b.done || b.kind != kind {
		a.unread = a.unread || kind == "toolUse"
		b = a.begin(&a.facts, index, kind, nil)
	}
	switch kind {
	case "text":
		a.add(&b.text, plain(delta))
	case "toolUse":
		a.add(&b.text, textOf(delta, "input"))
	case "reasoningContent":
		a.add(&b.text, textOf(delta, "text"))
	case "toolResult":
		for part := range rawjson.Elements(delta) {
			if a.room(len(b.parts)) {
				b.parts = append(b.parts, a.keep(part))
			}
		}
	default:
		if b.start == nil {
			b.start = a.keep(delta)
		}
	}
}

// converseBlock returns a block as a response that is not streamed has it. Input that is not JSON is a string.
func converseBlock(b *block) json.RawMessage {
	value, s := b.start, rawjson.Quote(b.text.String())
	switch b.kind {
	case "text":
		value = s
	case "reasoningContent":
		value = object("reasoningText", object("text", s))
	case "toolUse":
		value = object("toolUseId", b.id, "name", textOf(b.start, "name"), "input", s)
	case "toolResult":
		value = object("toolUseId", b.id, "status", textOf(b.start, "status"), "content", b.parts)
	}
	return object(b.kind, value)
}
