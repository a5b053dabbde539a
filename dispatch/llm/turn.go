package llm

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A turn is a message that is not a tool message, with the results of its calls.
type turn struct {
	role  dispatch.Role
	texts []string
	calls []turnCall
}

type turnCall struct {
	id, name  string
	arguments json.RawMessage // an object, or text that is not one
	result    string
	answered  bool
}

// unanswered is the result of a call that has none.
var unanswered = string(toolresult.Failure("tool_call_failed", "the call was not answered", nil))

// pair brings results to their calls. A result belongs to the last call before it that has its id
// and no result.
func pair(messages []dispatch.Message) ([]turn, error) {
	var turns []turn
	for i, m := range messages {
		if m.Role == dispatch.RoleTool {
			settle(turns, m)
			continue
		}
		t := turn{role: m.Role, texts: contentTexts(m.Content)}
		switch m.Role {
		case dispatch.RoleSystem, dispatch.RoleUser:
		case dispatch.RoleAssistant:
			for j, call := range m.ToolCalls {
				if call.ID == "" || call.Name == "" {
					return nil, malformed("/"+strconv.Itoa(i)+"/tool_calls/"+strconv.Itoa(j), "needs an id and a name")
				}
				t.calls = append(t.calls, turnCall{id: call.ID, name: call.Name, arguments: argumentsText(call.Arguments), result: unanswered})
			}
		default:
			return nil, malformed("/"+strconv.Itoa(i)+"/role", "must be system, user, assistant or tool")
		}
		if t.calls != nil {
			t.texts = slices.DeleteFunc(t.texts, func(text string) bool { return text == "" })
		}
		if len(t.texts) > 0 || t.calls != nil {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// settle gives the result m to its call.
func settle(turns []turn, m dispatch.Message) {
	for _, t := range slices.Backward(turns) {
		for i := range t.calls {
			if call := &t.calls[i]; call.id == m.ToolCallID && !call.answered {
				call.answered, call.result = true, ""
				for _, text := range contentTexts(m.Content) {
					call.result += text
				}
				return
			}
		}
	}
}

// contentTexts returns the texts of a message. What is not text is a short text in brackets.
func contentTexts(content dispatch.Content) []string {
	if !json.Valid(content) {
		if len(content) == 0 {
			return nil
		}
		return []string{string(content)} // as package dispatch would send it
	}
	c := converter{}
	texts, err := c.textsOf(json.RawMessage(content))
	if err != nil {
		return []string{string(content)}
	}
	return texts
}

// argumentsText returns the arguments as the model wrote them.
func argumentsText(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(arguments) && rawjson.Kind(arguments) == '"' {
		return json.RawMessage(rawjson.Text(arguments))
	}
	return arguments
}

// object returns the arguments as an object, for the formats that have no other. What is not an
// object is the member arguments.
func (c turnCall) object() json.RawMessage {
	if rawjson.Kind(c.arguments) == '{' && json.Valid(c.arguments) {
		return c.arguments
	}
	var o rawjson.Object
	o.PutText("arguments", string(c.arguments))
	return o.Bytes()
}

// failed reports whether the result describes a failure.
func (c turnCall) failed() bool {
	return json.Valid([]byte(c.result)) && toolresult.Failed(json.RawMessage(c.result))
}
