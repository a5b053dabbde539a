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
	parts []json.RawMessage

	text    strings.Builder // of parts that follow each other and have the same kind
	thought bool

	call json.RawMessage // the beginning of a call that goes on in the next part
	args partial         // of that call
	made int             // values in arguments that came in pieces
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
			a.known = true
			for candidate := range rawjson.Elements(value) {
				a.candidate(candidate)
			}
		case "promptFeedback":
			a.known = true
		case "error":
			a.fail(value)
		}
	}
}

func (a *geminiAnswer) candidate(candidate json.RawMessage) {
	if index(member(candidate, "index")) != 0 {
		a.lost = true
	}
	if a.lost {
		return
	}
	for part := range rawjson.Elements(member(member(candidate, "content"), "parts")) {
		a.part(part)
	}
	a.finish(member(candidate, "finishReason"))
}

func (a *geminiAnswer) part(part json.RawMessage) {
	if text := member(part, "text"); rawjson.Kind(text) == '"' {
		if thought := isTrue(member(part, "thought")); thought != a.thought {
			a.flush()
			a.thought = thought
		}
		a.add(&a.text, rawjson.Unquote(text))
		return
	}
	a.flush()
	call := member(part, "functionCall")
	goesOn, pieces := isTrue(member(call, "willContinue")), member(call, "partialArgs")
	if a.call != nil && textOf(call, "name") != "" {
		a.endCall()
	}
	switch {
	case call == nil, a.call == nil && !goesOn && pieces == nil:
		a.put(part)
		return
	case a.call == nil:
		a.call = a.keep(call)
	}
	for piece := range rawjson.Elements(pieces) {
		made, ok := a.args.add(piece)
		a.kept += len(piece)
		a.made += made
		a.unread = a.unread || !ok || !a.room(a.made)
	}
	if !goesOn {
		a.endCall()
	}
}

// endCall adds a call that has come in pieces.
func (a *geminiAnswer) endCall() {
	if a.call == nil {
		return
	}
	var call rawjson.Object
	call.PutText("id", textOf(a.call, "id"))
	call.PutText("name", textOf(a.call, "name"))
	call.Put("args", a.args.whole())
	a.call, a.args = nil, partial{}
	a.put(geminiPart("functionCall", call.Bytes()))
}

// put adds a part.
func (a *geminiAnswer) put(part json.RawMessage) {
	if a.room(len(a.parts)) {
		a.parts = append(a.parts, a.keep(part))
	}
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
	a.text.Reset()
	a.put(o.Bytes())
}

func (a *geminiAnswer) elements() []json.RawMessage {
	a.flush()
	a.endCall()
	return []json.RawMessage{geminiContent("model", a.parts)}
}
