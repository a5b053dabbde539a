package llm

import (
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

func geminiRequest(doc json.RawMessage) prompt {
	p := requestOf(doc, "contents")
	if p.found {
		p.at = "/systemInstruction"
		if p.system = member(doc, "systemInstruction"); p.system == nil {
			p.system, p.at = member(doc, "system_instruction"), "/system_instruction"
		}
		p.cached = textOf(doc, "cachedContent", "cached_content") != ""
	}
	return p
}

// gemini converts an element of Gemini's contents.
func (c *converter) gemini(content json.RawMessage) error {
	if rawjson.Kind(content) != '{' {
		return c.fail("", "must be an object, not %s", rawjson.KindName(rawjson.Kind(content)))
	}
	switch textOf(content, "role") {
	case "user", "function", "": // the API takes no role for user
		c.begin(dispatch.RoleUser)
	case "model": // what the pieces of a stream add is one message
		if !c.open || c.cur.Role != dispatch.RoleAssistant {
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
	if rawjson.Kind(part) != '{' {
		return
	}
	switch {
	case isTrue(member(part, "thought")):
		c.think(textOf(part, "text"))
		return
	case c.geminiCall(part):
		return
	}
	text, ok := geminiPartText(part)
	switch n := len(c.texts); {
	case !ok || text == "": // an empty one only carries a signature
	case n > 0 && c.cur.Role == dispatch.RoleAssistant && member(part, "text") != nil:
		c.goOn(text)
	default:
		c.say(text)
	}
}

// geminiCall converts a part that is a call or a result, of a function or of code that the provider
// runs.
func (c *converter) geminiCall(part json.RawMessage) bool {
	if call := member(part, "functionCall", "function_call"); call != nil {
		c.call(textOf(call, "id"), textOf(call, "name"), argumentsOf(member(call, "args")))
		return true
	}
	if result := member(part, "functionResponse", "function_response"); result != nil {
		text, failed := geminiResult(member(result, "response"))
		c.result(c.knownID(result, "id"), textOf(result, "name"), []string{text}, failed)
		return true
	}
	if call := member(part, "toolCall", "tool_call"); call != nil {
		c.providerCall(textOf(call, "id"), geminiTool(call), argumentsOf(member(call, "args")))
		return true
	}
	if result := member(part, "toolResponse", "tool_response"); result != nil {
		text, failed := geminiResult(member(result, "response"))
		c.result(c.knownID(result, "id"), geminiTool(result), []string{text}, failed)
		return true
	}
	if code := member(part, "executableCode", "executable_code"); code != nil {
		c.providerCall(textOf(code, "id"), "code_execution", argumentsOf(code))
		return true
	}
	if result := member(part, "codeExecutionResult", "code_execution_result"); result != nil {
		outcome := textOf(result, "outcome")
		failed := outcome == "OUTCOME_FAILED" || outcome == "OUTCOME_DEADLINE_EXCEEDED"
		c.result(c.knownID(result, "id"), "code_execution", []string{textOf(result, "output")}, failed)
		return true
	}
	return false
}

// geminiTool returns the name of a tool that the provider runs.
func geminiTool(call json.RawMessage) string {
	return strings.ToLower(textOf(call, "toolType", "tool_type"))
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
				parts = append(parts, geminiPart("text", rawjson.Quote(text)))
			}
		}
		for _, call := range t.calls {
			var o rawjson.Object
			o.PutText("id", call.id)
			o.PutText("name", call.name)
			o.Put("args", call.object())
			parts = append(parts, geminiPart("functionCall", o.Bytes()))

			var r rawjson.Object
			r.PutText("id", call.id)
			r.PutText("name", call.name)
			r.Put("response", call.geminiResponse())
			results = append(results, geminiPart("functionResponse", r.Bytes()))
		}
		if parts != nil {
			out = append(out, geminiContent(role, parts))
		}
		if results != nil {
			out = append(out, geminiContent("user", results))
		}
	}
	return out
}

func geminiPart(name string, value json.RawMessage) json.RawMessage {
	var o rawjson.Object
	o.Put(name, value)
	return o.Bytes()
}

func geminiContent(role string, parts []json.RawMessage) json.RawMessage {
	var o rawjson.Object
	o.PutText("role", role)
	o.Put("parts", rawjson.Array(parts))
	return o.Bytes()
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
	return geminiPart(name, value)
}
