package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A converter makes messages of the elements of a conversation. The functions of the formats call
// begin at the start of a message, and then add to it what they find.
type converter struct {
	dialect *dialect
	made    string   // begins ids that are made; "call_" if it is empty
	faults  *[]error // of elements that are left out; if it is nil, the first ends the conversion
	out     []dispatch.Message
	at      string // JSON Pointer of the element that is read

	kept  bool             // the open message is emitted even if it is empty
	full  bool             // a message has too many calls, which is reported
	cur   dispatch.Message // the open message, without its content
	texts [][]string       // of its content, each in pieces

	unanswered map[openKey][]*openCall // calls that have no result yet, by id, by name, and all
	ids        map[string]bool
	numbers    int // of ids that were made
}

// openCall is a call. It can be found until it has a result.
type openCall struct {
	id     string
	closed bool
}

type openKey struct{ id, name string }

// convert converts the conversation of a request.
func (c *converter) convert(p prompt) ([]dispatch.Message, error) {
	c.begin(dispatch.RoleSystem)
	c.content(p.system)
	c.end()
	switch kind := rawjson.Kind(p.list); kind {
	case 0, 'n':
	case '[':
		n := 0
		for element := range rawjson.Elements(p.list) {
			if err := c.add(element, p.listAt+"/"+strconv.Itoa(n)); err != nil {
				return nil, err
			}
			n++
		}
	default:
		if err := c.add(p.list, p.listAt); err != nil {
			return nil, err
		}
	}
	if n := len(c.out); n > 0 && c.out[n-1].Role == dispatch.RoleUser {
		c.kept = true // what comes after the user's message is an answer, even if it says nothing
	}
	c.end()
	return c.out, nil
}

// add converts an element. One that cannot be read is left out, if faults are kept.
func (c *converter) add(element json.RawMessage, at string) error {
	err := c.element(element, at)
	if err == nil || c.faults == nil {
		return err
	}
	if len(*c.faults) < maxFaults {
		*c.faults = append(*c.faults, err)
	}
	return nil
}

// maxFaults is how many elements of one request or response are reported, and maxCalls is how many calls of
// one message are read: a call takes much more memory than the two bytes that it may have in a response.
const (
	maxFaults = 5
	maxCalls  = 10_000
)

func (c *converter) element(element json.RawMessage, at string) error {
	c.at = at
	if kind := rawjson.Kind(element); kind != '{' && !(kind == '"' && c.dialect == dialects[OpenAIResponses]) {
		return c.fail("", "must be an object, not %s", rawjson.KindName(kind))
	}
	if f := formatOf(element); f != "" && dialects[f] != c.dialect && !(f == OpenAIChat && c.dialect == dialects[Ollama]) {
		return c.fail("", "is of another format: %s", f)
	}
	return c.dialect.message(c, element)
}

// formatOf returns the only format that an element can be of, or "" if there is no telling.
func formatOf(element json.RawMessage) Format {
	for name, value := range rawjson.Members(element) {
		switch {
		case name == "parts" && isSet(value):
			return Gemini
		case name == "tool_calls" && isSet(value):
			return OpenAIChat
		case name == "type" && strings.HasPrefix(rawjson.Unquote(value), "function_call"):
			return OpenAIResponses
		case name == "content":
			for part := range rawjson.Elements(value) {
				switch textOf(part, "type") {
				case "tool_use", "tool_result":
					return Anthropic
				}
				if member(part, "toolUse", "toolResult") != nil {
					return Converse
				}
			}
		}
	}
	return ""
}

// fail returns an error about a member of the element that is read.
func (c *converter) fail(at, format string, args ...any) error {
	return malformed(c.at+at, fmt.Sprintf(format, args...))
}

// begin ends the open message and begins another.
func (c *converter) begin(role dispatch.Role) {
	c.end()
	c.cur, c.kept = dispatch.Message{Role: role}, true
}

// assist makes sure that the open message is the assistant's, and a new one if fresh is set.
func (c *converter) assist(fresh bool) {
	if fresh || c.cur.Role != dispatch.RoleAssistant {
		c.begin(dispatch.RoleAssistant)
		c.drop()
	}
}

// end emits what the open message has so far. What is added afterwards makes another message of the same role.
func (c *converter) end() {
	if c.cur.Role == dispatch.RoleSystem && strings.Join(slices.Concat(c.texts...), "") == "" {
		c.kept, c.texts = false, nil // it says nothing
	}
	if c.kept || len(c.texts) > 0 || c.cur.ToolCalls != nil || c.cur.Thinking != nil {
		texts := make([]string, len(c.texts))
		for i, pieces := range c.texts {
			texts[i] = strings.Join(pieces, "")
		}
		c.cur.Content = dispatch.Content(contentOf(texts))
		c.out = append(c.out, c.cur)
	}
	c.cur, c.texts, c.kept = dispatch.Message{Role: c.cur.Role}, nil, false
}

// drop says that the open message is not emitted unless something is added to it.
func (c *converter) drop() { c.kept = false }

// say adds texts to the open message.
func (c *converter) say(texts ...string) {
	for _, text := range texts {
		c.texts = append(c.texts, []string{text})
	}
}

// goOn adds text to the last text of the open message, which must have one.
func (c *converter) goOn(text string) {
	last := &c.texts[len(c.texts)-1]
	*last = append(*last, text)
}

// think adds a reasoning block to the open message.
func (c *converter) think(text string) {
	if text != "" {
		c.cur.Thinking = append(c.cur.Thinking, textPart("text", text))
	}
}

// call adds a tool call to the open message, or to a new one if the open message is not the
// assistant's. An empty id is replaced.
func (c *converter) call(id, name string, arguments json.RawMessage) {
	call := c.providerCall(id, name, arguments)
	c.unanswered[openKey{}] = append(c.unanswered[openKey{}], call)
}

// providerCall is call for a tool that the provider runs. A result without an id and a name is not
// for it.
func (c *converter) providerCall(id, name string, arguments json.RawMessage) *openCall {
	c.assist(false)
	if n := len(c.cur.ToolCalls); n >= maxCalls && c.faults != nil {
		if len(*c.faults) < maxFaults && !c.full {
			*c.faults = append(*c.faults, c.fail("", "has more than %d tool calls; the others are left out", maxCalls))
		}
		c.full = true
		return &openCall{id: id}
	}
	if id == "" {
		id = c.newID()
	}
	if c.unanswered == nil {
		c.unanswered = map[openKey][]*openCall{}
	}
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
	call := &openCall{id: id}
	for _, key := range []openKey{{id: id}, {name: name}} {
		c.unanswered[key] = append(c.unanswered[key], call)
	}
	c.cur.ToolCalls = append(c.cur.ToolCalls, dispatch.ToolCall{ID: id, Name: name, Arguments: arguments})
	return call
}

// knownID returns the id of a result if a call has it. Otherwise the name tells the call.
func (c *converter) knownID(result json.RawMessage, names ...string) string {
	if id := textOf(result, names...); c.ids[id] {
		return id
	}
	return ""
}

func (c *converter) newID() string {
	for {
		c.numbers++
		if id := cmp.Or(c.made, "call_") + strconv.Itoa(c.numbers); !c.ids[id] {
			return id
		}
	}
}

// result emits a tool message, after what the open message has so far. The call is found by its id
// or, without one, by its name, if there is one: the first that has no result.
func (c *converter) result(id, name string, texts []string, failed bool) {
	role := c.cur.Role
	c.drop() // a message that has results only is nothing else
	c.end()
	key := openKey{id: id}
	if id == "" {
		key.name = name
	}
	calls := c.unanswered[key]
	for len(calls) > 0 && calls[0].closed {
		calls = calls[1:]
	}
	if len(calls) > 0 {
		id, calls[0].closed = calls[0].id, true
	}
	if calls != nil {
		c.unanswered[key] = calls
	}
	if failed {
		texts = failure(texts)
	}
	if len(texts) == 0 {
		texts = []string{""}
	}
	c.cur = dispatch.Message{Role: dispatch.RoleTool, ToolCallID: id}
	c.say(texts...)
	c.end()
	c.cur.Role = role
}

// failure makes texts that a model was told to be a failure look like one.
func failure(texts []string) []string {
	if len(texts) == 1 && json.Valid([]byte(texts[0])) && toolresult.Failed(json.RawMessage(texts[0])) {
		return texts
	}
	all := strings.Join(texts, "")
	return []string{string(object("error", cmp.Or(all, "the tool failed")))}
}

// content adds the texts of a value to the open message.
func (c *converter) content(value json.RawMessage) { c.say(textsOf(value)...) }

// textsOf returns the texts of a string or of a list of parts, as the formats have them. A part
// that is not text becomes a short text in brackets. Any other value becomes its JSON, also among parts.
func textsOf(value json.RawMessage) (texts []string) {
	switch rawjson.Kind(value) {
	case 0, 'n':
		return nil
	case '"':
		return []string{rawjson.Unquote(value)}
	case '[':
		isList, strange := false, false // it has a part; it has something else
		for part := range rawjson.Elements(value) {
			text, ok := listedPart(part)
			if isList = isList || ok && rawjson.Kind(part) == '{'; !ok {
				text, strange = string(part), true
			}
			if !rawjson.IsNull(part) {
				texts = append(texts, text)
			}
		}
		if strange && !isList {
			return []string{string(value)}
		}
		return texts
	case '{': // one part, or Gemini's {"parts": […]}
		if parts := rawjson.Member(value, "parts"); parts != nil {
			return textsOf(parts)
		}
		if text, ok := partText(value); ok {
			return []string{text}
		}
	}
	return []string{string(value)}
}

// contentOf makes the content of a message: a string of one text, and a list of parts of several,
// so that none run together.
func contentOf(texts []string) json.RawMessage {
	switch len(texts) {
	case 0:
		return nil
	case 1:
		return rawjson.Quote(texts[0])
	}
	return textParts("text", texts)
}

// textParts returns a list of text parts.
func textParts(kind string, texts []string) json.RawMessage {
	parts := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		parts[i] = textPart(kind, text)
	}
	return rawjson.Array(parts)
}

func textPart(kind, text string) json.RawMessage { return object("type", kind, "text", text) }

func object(pairs ...any) json.RawMessage { return rawjson.ObjectOf(pairs...) }

// argumentsOf returns the arguments of a call as a transcript shows them: an object if they are
// one, also one in a string, and otherwise a string with what the model wrote.
func argumentsOf(value json.RawMessage) json.RawMessage {
	text, err := rawjson.ReadArguments(value, readable)
	if err != nil && rawjson.Kind(value) != '"' {
		return rawjson.Quote(string(text))
	}
	if err != nil {
		text = value // with its escapes
	}
	return bytes.Clone(text)
}

// member returns the member of the first name that an object has. A member that is null is none.
func member(object json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		if value := rawjson.Member(object, name); isSet(value) {
			return value
		}
	}
	return nil
}

// textOf returns the text of a member.
func textOf(object json.RawMessage, names ...string) string { return plain(member(object, names...)) }

// plain returns the text of a value for which the formats have a string. Of another value it is the JSON,
// because some servers write numbers as ids and objects as arguments. A boolean, an empty object and an
// empty list say nothing.
func plain(value json.RawMessage) string {
	switch rawjson.Kind(value) {
	case '"':
		return rawjson.Unquote(value)
	case '{', '[':
		if isEmpty(value) {
			return ""
		}
	case 0, 'n', 't', 'f':
		return ""
	}
	return string(bytes.TrimSpace(value))
}

// isEmpty reports whether an object or a list has nothing in it.
func isEmpty(value json.RawMessage) bool {
	return len(bytes.TrimSpace(value[1:len(value)-1])) == 0
}

// listedPart is partText for one of several, whose kind need not be known.
func listedPart(part json.RawMessage) (s string, ok bool) {
	if s, ok = partText(part); ok {
		return s, true
	}
	kind := textOf(part, "type")
	return "[" + text.Cut(kind, maxShown) + "]", kind != ""
}

// partText returns the text of a content part, in any of the formats. Of an image, a sound or a
// file it is a text such as "[image image/png, 5120 bytes]": never the data, and never a URL,
// which may be signed. ok is false if the part is of no known kind.
func partText(part json.RawMessage) (s string, ok bool) {
	if rawjson.Kind(part) == '"' {
		return rawjson.Unquote(part), true
	}
	switch kind := textOf(part, "type"); kind {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text":
		return textOf(part, "text"), true
	case "logs": // of a code interpreter
		return textOf(part, "logs"), true
	case "refusal":
		return textOf(part, "refusal"), true
	case "image_url", "input_image", "computer_screenshot":
		url := member(part, "image_url")
		if rawjson.Kind(url) == '{' {
			url = rawjson.Member(url, "url")
		}
		return media("image", url, "", nil), true
	case "input_audio":
		sound := member(part, "input_audio")
		return media("audio", nil, textOf(sound, "format"), member(sound, "data")), true
	case "file", "input_file":
		file := part
		if inner := member(part, "file"); inner != nil {
			file = inner
		}
		return media("file", member(file, "file_data"), textOf(file, "filename"), nil), true
	case "image", "document":
		source := member(part, "source")
		if textOf(source, "type") == "text" {
			return textOf(source, "data"), true
		}
		return media(kind, nil, textOf(source, "media_type"), member(source, "data")), true
	case "search_result":
		return "[search result " + text.Cut(textOf(part, "title"), maxShown) + "]", true
	}
	return geminiPartText(part)
}

// geminiPartText returns the text of a part of Gemini's, which has no type.
func geminiPartText(part json.RawMessage) (string, bool) {
	for name, value := range geminiMembers(part) {
		switch name {
		case "text":
			return plain(value), true
		case "inlineData":
			return media("data", nil, plain(geminiMember(value, "mimeType")), member(value, "data")), true
		case "fileData":
			return media("file", nil, plain(geminiMember(value, "mimeType")), nil), true
		}
	}
	return "", false
}

// maxShown bounds what a text in brackets repeats, in bytes.
const maxShown = 100

// media describes data that is left out. dataURL or data, in base64, may be empty. detail is a
// media type or the name of a file.
func media(kind string, dataURL json.RawMessage, detail string, data json.RawMessage) string {
	if head, rest, found := bytes.Cut(dataURL, []byte(";base64,")); found && bytes.HasPrefix(head, []byte(`"data:`)) {
		data = rest
		mediaType, _, _ := mime.ParseMediaType(string(head[len(`"data:`):]))
		detail = cmp.Or(detail, mediaType)
	}
	var b strings.Builder
	b.WriteString("[" + kind)
	if detail != "" {
		b.WriteString(" " + text.Cut(detail, maxShown))
	}
	if n := decodedLen(data); n > 0 {
		b.WriteString(", " + strconv.Itoa(n) + " bytes")
	}
	b.WriteString("]")
	return b.String()
}

// decodedLen returns how many bytes a text in base64 stands for. It may have JSON's quotes and
// escapes.
func decodedLen(text []byte) int {
	n := 0
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '-', c == '_':
			n++
		}
	}
	return n * 3 / 4
}
