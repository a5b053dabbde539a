package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

func geminiRequest(doc json.RawMessage) prompt {
	p := requestOf("contents")(doc)
	p.system, p.cached = geminiMember(doc, "systemInstruction"), plain(geminiMember(doc, "cachedContent")) != ""
	return p
}

// geminiMembers yields the members of an object by their names in the API, functionCall also for function_call.
func geminiMembers(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for name, value := range rawjson.Members(object) {
			words := strings.Split(name, "_")
			for i, word := range words[1:] {
				words[i+1] = strings.ToUpper(word[:min(len(word), 1)]) + word[min(len(word), 1):]
			}
			if !yield(strings.Join(words, ""), value) {
				return
			}
		}
	}
}

// geminiMember is [member] for the name of a member in the API.
func geminiMember(object json.RawMessage, name string) json.RawMessage {
	for known, value := range geminiMembers(object) {
		if known == name && isSet(value) {
			return value
		}
	}
	return nil
}

// gemini converts an element of Gemini's contents.
func (c *converter) gemini(content json.RawMessage) error {
	switch textOf(content, "role") {
	case "user", "function", "": // the API takes no role for user
		c.begin(dispatch.RoleUser)
	case "model": // what the pieces of a stream add is one message
		if c.cur.Role != dispatch.RoleAssistant {
			c.begin(dispatch.RoleAssistant)
		}
	case "system":
		c.begin(dispatch.RoleSystem)
	default:
		return c.fail("/role", "must be user or model")
	}
	parts := member(content, "parts")
	for name := range rawjson.Members(content) {
		if parts == nil && name != "role" && name != "parts" {
			return c.fail("", "has no parts, as a content of Gemini has")
		}
	}
	for part := range rawjson.Elements(parts) {
		c.geminiPart(part)
	}
	return nil
}

func (c *converter) geminiPart(part json.RawMessage) {
	switch {
	case isTrue(member(part, "thought")):
		c.think(textOf(part, "text"))
		return
	case c.geminiCall(part):
		return
	}
	said, ok := geminiPartText(part)
	for name, value := range geminiMembers(part) {
		if !ok && isSet(value) && !slices.Contains(geminiNotes, name) { // of a kind that is not known
			said, ok = "["+text.Cut(name, maxShown)+"]", true
		}
	}
	switch n := len(c.texts); {
	case said == "": // an empty one only carries a signature
	case n > 0 && c.cur.Role == dispatch.RoleAssistant && member(part, "text") != nil:
		c.goOn(said)
	default:
		c.say(said)
	}
}

// geminiNotes are the members of a part that are about its content.
var geminiNotes = []string{"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}

// geminiCall converts a part that is a call or a result, of a function or of a tool or code that the
// provider runs.
func (c *converter) geminiCall(part json.RawMessage) bool {
	for name, value := range geminiMembers(part) {
		if !isSet(value) {
			continue
		}
		switch name {
		case "functionCall":
			c.call(textOf(value, "id"), textOf(value, "name"), argumentsOf(member(value, "args")))
		case "toolCall":
			c.providerCall(textOf(value, "id"), geminiTool(value), argumentsOf(member(value, "args")))
		case "functionResponse", "toolResponse":
			text, failed := geminiResult(member(value, "response"))
			texts := append([]string{text}, textsOf(member(value, "parts"))...)
			c.result(c.knownID(value, "id"), cmp.Or(textOf(value, "name"), geminiTool(value)), texts, failed)
		case "executableCode":
			c.providerCall(textOf(value, "id"), "code_execution", argumentsOf(value))
		case "codeExecutionResult":
			outcome := textOf(value, "outcome")
			failed := outcome == "OUTCOME_FAILED" || outcome == "OUTCOME_DEADLINE_EXCEEDED"
			c.result(c.knownID(value, "id"), "code_execution", []string{textOf(value, "output")}, failed)
		default:
			continue
		}
		return true
	}
	return false
}

// geminiTool returns the name of a tool that the provider runs.
func geminiTool(call json.RawMessage) string {
	return strings.ToLower(plain(geminiMember(call, "toolType")))
}

// geminiResult returns what a tool has returned. The SDKs wrap it in {"output": …} or {"error": …},
// because a result must be an object.
func geminiResult(response json.RawMessage) (text string, failed bool) {
	n, name, value := 0, "", json.RawMessage(nil)
	for name, value = range rawjson.Members(response) {
		n++
	}
	if n != 1 || name != "output" && name != "result" && name != "error" {
		return string(response), false
	}
	text = string(value)
	if rawjson.Kind(value) == '"' {
		text = rawjson.Unquote(value)
	}
	return text, name == "error"
}

func writeGemini(turns []turn) (out []json.RawMessage) {
	for _, t := range turns {
		role := "user"
		switch t.role {
		case dispatch.RoleSystem:
			continue
		case dispatch.RoleAssistant:
			role = "model"
		}
		var parts, results []json.RawMessage
		for _, text := range t.texts {
			if text != "" {
				parts = append(parts, object("text", text))
			}
		}
		for _, call := range t.calls {
			parts = append(parts, object("functionCall", object("id", call.id, "name", call.name, "args", call.object())))
			results = append(results, object("functionResponse",
				object("id", call.id, "name", call.name, "response", call.geminiResponse())))
		}
		if parts != nil {
			out = append(out, object("role", role, "parts", parts))
		}
		if results != nil {
			out = append(out, object("role", "user", "parts", results))
		}
	}
	return out
}

// geminiResponse returns the result as the object that the API requires.
func (c turnCall) geminiResponse() json.RawMessage {
	value := json.RawMessage(c.result)
	if !json.Valid(value) {
		value = rawjson.Quote(c.result)
	}
	name := "output"
	if c.failed() {
		name = "error"
	}
	return object(name, value)
}

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

	begun bool // there is a candidate
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
	a.events++
	for name, value := range geminiMembers(doc) {
		switch name {
		case "modelVersion":
			a.setModel(value)
		case "candidates":
			a.known = true
			n := 0
			for candidate := range rawjson.Elements(value) {
				n++
				if a.choose(n, member(candidate, "index")); !a.several {
					a.candidate(candidate)
				}
			}
		case "promptFeedback":
			a.known = true
			a.blocked = a.blocked || plain(geminiMember(value, "blockReason")) != ""
		case "error":
			a.fail(value)
		}
	}
}

func (a *geminiAnswer) candidate(candidate json.RawMessage) {
	a.begun = true
	content := member(candidate, "content")
	isRead := content == nil || rawjson.Kind(content) == '{'
	for name, value := range rawjson.Members(content) {
		isRead = isRead && (name == "role" || name == "parts" && rawjson.Kind(value) == '[' || !isSet(value))
	}
	if !isRead {
		a.strange = "content"
	}
	for part := range rawjson.Elements(member(content, "parts")) {
		a.part(part)
	}
	a.finish(geminiMember(candidate, "finishReason"))
}

func (a *geminiAnswer) part(part json.RawMessage) {
	if text := member(part, "text"); text != nil {
		if thought := isTrue(member(part, "thought")); thought != a.thought {
			a.flush()
			a.thought = thought
		}
		a.add(&a.text, plain(text))
		return
	}
	a.flush()
	call := geminiMember(part, "functionCall")
	goesOn, pieces, id := isTrue(geminiMember(call, "willContinue")), geminiMember(call, "partialArgs"), textOf(call, "id")
	switch ofOpen := id != "" && id == textOf(a.call, "id"); {
	case ofOpen && member(call, "args") != nil: // all of it
		a.call, a.args = nil, partial{}
	case a.call != nil && textOf(call, "name") != "" && !ofOpen:
		a.endCall()
	}
	switch {
	case call == nil, a.call == nil && !goesOn && pieces == nil:
		if !a.again(id, call) {
			a.put(part)
		}
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
	call := object("id", textOf(a.call, "id"), "name", textOf(a.call, "name"), "args", a.args.whole())
	a.call, a.args = nil, partial{}
	a.put(object("functionCall", call))
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
	text := a.text.String()
	a.text.Reset()
	a.put(object("text", text, "thought", a.thought))
}

func (a *geminiAnswer) elements() []json.RawMessage {
	a.flush()
	a.endCall()
	if !a.begun {
		return nil
	}
	return []json.RawMessage{object("role", "model", "parts", a.parts)}
}

// A partial is a value that comes in pieces: members or elements, a text, or the whole of another
// value.
type partial struct {
	names    []string // of the children, in the order in which they came
	children map[string]*partial
	list     bool
	text     strings.Builder
	value    json.RawMessage
}

// step is the first step of a path such as .orders[0]['a b'].
var step = regexp.MustCompile(`^(?:\.([^.\[\]'"]+)|\['([^'\\]*)'\]|\["([^"\\]*)"\]|\[([0-9]+)\])`)

// maxSteps bounds the nesting of arguments that come in pieces.
const maxSteps = 100

// add adds one of Gemini's partialArgs. It returns how many values it has made, or false if it does
// not know the place of the piece.
func (p *partial) add(piece json.RawMessage) (made int, ok bool) {
	path, ok := strings.CutPrefix(plain(geminiMember(piece, "jsonPath")), "$")
	for n := 0; path != ""; n++ {
		found := step.FindStringSubmatch(path)
		if found == nil || n == maxSteps {
			return made, false
		}
		path, p.list = path[len(found[0]):], found[4] != ""
		name := found[1] + found[2] + found[3] + found[4]
		if p.children[name] == nil {
			if p.children == nil {
				p.children = map[string]*partial{}
			}
			p.names, p.children[name] = append(p.names, name), &partial{}
			made++
		}
		p = p.children[name]
	}
	for name, value := range geminiMembers(piece) {
		switch name {
		case "stringValue":
			p.text.WriteString(plain(value))
		case "numberValue", "boolValue":
			p.value = bytes.Clone(value)
		case "nullValue":
			p.value = json.RawMessage("null")
		}
	}
	return made, ok
}

// whole returns the value.
func (p *partial) whole() json.RawMessage {
	switch {
	case p.list:
		var elements []json.RawMessage
		for _, name := range p.names {
			elements = append(elements, p.children[name].whole())
		}
		return rawjson.Array(elements)
	case p.children != nil:
		var o rawjson.Object
		for _, name := range p.names {
			o.Put(name, p.children[name].whole())
		}
		return o.Bytes()
	case p.value != nil:
		return p.value
	}
	return rawjson.Quote(p.text.String())
}
