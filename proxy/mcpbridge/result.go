package mcpbridge

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A result is what a tool answered.
type result struct {
	value  json.RawMessage // as [Peer.Call] says
	text   string          // all texts, with a line break between them; "" if they are blank or there is other content
	failed bool
}

// read reads a result. The error is a refusal.
func read(answer *mcp.CallToolResult) (*result, error) {
	texts, other := textsOf(answer.Content)
	s := strings.Join(texts, "\n")
	switch {
	case answer.IsError:
		s = text.Cut(s, maxText)
	case len(s) > maxResult:
		return nil, tooLarge()
	}
	r := &result{failed: answer.IsError}
	if blank := strings.TrimSpace(s) == ""; !other && !blank {
		r.text = s
	}
	var lost bool
	if answer.StructuredContent != nil {
		r.value, lost = structured(texts, answer.StructuredContent)
	}
	switch {
	case r.value != nil:
	case other:
		r.value, _ = rawjson.Encode(map[string]any{"content": answer.Content}) // nil if it cannot be written
	case r.text == "" && answer.IsError:
		r.value = toolresult.Failure("tool_failed", textSilent, nil)
		r.text = textSilent
	case r.text == "" && lost:
		return nil, &refusal{code: "tool_failed", text: textDigits}
	case len(texts) == 1 && isJSON(s):
		r.value = json.RawMessage(strings.TrimSpace(s))
	default:
		r.value = rawjson.Quote(s)
	}
	switch {
	case r.value == nil:
		return nil, &refusal{code: "tool_failed", text: textMalformed}
	case len(r.value) > maxResult:
		return nil, tooLarge()
	}
	return r, nil
}

// textsOf returns all texts. other reports whether there is other content.
func textsOf(list []mcp.Content) (texts []string, other bool) {
	for _, content := range list {
		if t, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		} else {
			other = true
		}
	}
	return texts, other
}

// structured returns structured content with the digits that the server sent, which are in a text. If no
// text has the value, lost reports whether its digits are lost.
func structured(texts []string, content any) (value json.RawMessage, lost bool) {
	values, raw := make([]any, len(texts)), make([]json.RawMessage, len(texts))
	for i, text := range texts {
		raw[i] = json.RawMessage(strings.TrimSpace(text))
		if !isJSON(text) || json.Unmarshal([]byte(text), &values[i]) != nil {
			values[i] = notJSON{text}
		}
	}
	inner := any(struct{}{}) // equals nothing
	if object, ok := content.(map[string]any); ok && len(object) == 1 && object["result"] != nil {
		inner = object["result"]
	}
	for i, text := range texts {
		switch {
		case reflect.DeepEqual(values[i], content), reflect.DeepEqual(values[i], inner):
			return raw[i], false
		case reflect.DeepEqual(any(text), inner):
			return rawjson.Quote(text), false
		}
	}
	if len(values) > 0 && (reflect.DeepEqual(any(values), content) || reflect.DeepEqual(any(values), inner)) {
		return rawjson.Array(raw), false
	}
	if !exact(content) {
		return nil, true
	}
	value, _ = rawjson.Encode(content) // the SDK decoded it
	return value, false
}

// notJSON is a text that is not JSON, which equals no decoded value.
type notJSON struct{ string }

func isJSON(text string) bool {
	return rawjson.Check([]byte(text), rawjson.Limits{Mode: rawjson.Liberal}) == nil
}

// exact reports whether a decoded value has the digits that were sent. A larger integer may have been
// rounded to a neighbour.
func exact(value any) bool {
	switch v := value.(type) {
	case float64:
		return math.Abs(v) < 1<<53 || v != math.Trunc(v)
	case []any:
		for _, element := range v {
			if !exact(element) {
				return false
			}
		}
	case map[string]any:
		for _, member := range v {
			if !exact(member) {
				return false
			}
		}
	}
	return true
}
