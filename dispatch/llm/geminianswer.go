package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// geminiAnswer is a response of generateContent: one object, or several of which each has the next
// parts.
type geminiAnswer struct {
	facts
	finished  bool
	ambiguous bool // there are several candidates
	parts     []json.RawMessage

	text    strings.Builder // of parts that follow each other and have the same kind
	thought bool
}

func (a *geminiAnswer) read(doc json.RawMessage) {
	if rawjson.Kind(doc) == '[' { // a stream without alt=sse is a list
		for element := range rawjson.Elements(doc) {
			a.response(element)
		}
		return
	}
	a.response(doc)
}

func (a *geminiAnswer) response(doc json.RawMessage) {
	for name, value := range rawjson.Members(doc) {
		switch name {
		case "modelVersion":
			a.setModel(value)
		case "usageMetadata":
			a.usage.read(value, geminiTokens)
		case "candidates":
			for candidate := range rawjson.Elements(value) {
				a.candidate(candidate)
			}
		}
	}
}

func (a *geminiAnswer) candidate(candidate json.RawMessage) {
	if index(member(candidate, "index")) != 0 {
		a.ambiguous = true
		return
	}
	for part := range rawjson.Elements(member(member(candidate, "content"), "parts")) {
		a.part(part)
	}
	a.finished = a.finished || rawjson.Kind(member(candidate, "finishReason")) == '"'
}

func (a *geminiAnswer) part(part json.RawMessage) {
	text := member(part, "text")
	if rawjson.Kind(text) != '"' {
		a.flush()
		a.parts = append(a.parts, a.keep(part))
		return
	}
	if thought := isTrue(member(part, "thought")); thought != a.thought {
		a.flush()
		a.thought = thought
	}
	a.add(&a.text, rawjson.Text(text))
}

// flush ends a text.
func (a *geminiAnswer) flush() {
	if a.text.Len() == 0 {
		return
	}
	var o rawjson.Object
	o.PutText("text", a.text.String())
	if a.thought {
		o.Put("thought", json.RawMessage("true"))
	}
	a.parts = append(a.parts, o.Bytes())
	a.text.Reset()
}

func (a *geminiAnswer) elements() []json.RawMessage {
	if !a.finished || a.ambiguous {
		return nil
	}
	a.flush()
	return []json.RawMessage{geminiContent("model", a.parts)}
}
