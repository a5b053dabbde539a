package llm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

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
	arguments json.RawMessage // an object, or the text that the model wrote
	isObject  bool
	result    string
}

// A callAt is the position of a call in a list of turns.
type callAt struct{ turn, call int }

// unanswered is the result of a call that has none.
var unanswered = string(toolresult.Failure("tool_call_failed", "the call was not answered", nil))

// pair brings results to their calls. A result belongs to the last call before it that has its id
// and no result.
func pair(messages []dispatch.Message) ([]turn, error) {
	var turns []turn
	open := map[string][]callAt{} // calls without a result, by id
	for i, m := range messages {
		if m.Role == dispatch.RoleTool {
			if calls := open[m.ToolCallID]; len(calls) > 0 {
				last := calls[len(calls)-1]
				turns[last.turn].calls[last.call].result = strings.Join(contentTexts(m.Content), "")
				open[m.ToolCallID] = calls[:len(calls)-1]
			}
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
				arguments, err := rawjson.ReadArguments(call.Arguments, readable)
				t.calls = append(t.calls, turnCall{id: call.ID, name: call.Name, arguments: arguments, isObject: err == nil,
					result: unanswered})
			}
			for j, call := range slices.Backward(m.ToolCalls) { // the first of equal ids is taken first
				open[call.ID] = append(open[call.ID], callAt{len(turns), j})
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

// renameCalls gives the calls ids that an API accepts: with characters that it takes, not longer than
// it takes, and none twice.
func renameCalls(turns []turn, d *dialect) {
	const room = 8 // for what tells ids apart
	used, copies := map[string]bool{}, map[string]int{}
	for _, t := range turns {
		for i := range t.calls {
			id := t.calls[i].id
			if d.plainIDs {
				id = anthropicID(id)
			}
			stem := strings.ToValidUTF8(id[:min(len(id), d.maxID-room)], "")
			for len(id) > d.maxID || used[id] {
				copies[stem]++
				id = stem + "_" + strconv.Itoa(copies[stem]+1)
			}
			used[id], t.calls[i].id = true, id
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
	return textsOf(json.RawMessage(content))
}

// object returns the arguments as an object, for the formats that have no other. What is not an
// object is the member arguments.
func (c turnCall) object() json.RawMessage {
	if c.isObject {
		return c.arguments
	}
	return object("arguments", string(c.arguments))
}

// failed reports whether the result describes a failure.
func (c turnCall) failed() bool {
	return json.Valid([]byte(c.result)) && toolresult.Failed(json.RawMessage(c.result))
}

// A blockWriter makes the content blocks of a format in which results of tools are content of the user. The
// APIs of these formats reject blocks of white space, and some reject messages of one role that follow each
// other.
type blockWriter struct {
	text         func(text string) json.RawMessage
	call, result func(call turnCall) json.RawMessage
}

func (w blockWriter) write(turns []turn) (out []json.RawMessage) {
	role, blocks := dispatch.Role(""), []json.RawMessage(nil) // of the message that is not complete
	say := func(by dispatch.Role, block json.RawMessage) {
		if by != role && blocks != nil {
			out = append(out, object("role", string(role), "content", blocks))
			blocks = nil
		}
		role, blocks = by, append(blocks, block)
	}
	turns = slices.DeleteFunc(turns, func(t turn) bool {
		return t.role == dispatch.RoleSystem || t.calls == nil && strings.TrimSpace(strings.Join(t.texts, "")) == ""
	})
	for i, t := range turns {
		for _, text := range t.texts {
			if i == len(turns)-1 && t.role == dispatch.RoleAssistant && t.calls == nil {
				text = strings.TrimRight(text, " \t\r\n") // the APIs reject white space where the answer goes on
			}
			if strings.TrimSpace(text) != "" {
				say(t.role, w.text(text))
			}
		}
		for _, call := range t.calls {
			say(t.role, w.call(call))
		}
		for _, call := range t.calls {
			say(dispatch.RoleUser, w.result(call))
		}
	}
	if blocks != nil {
		out = append(out, object("role", string(role), "content", blocks))
	}
	return out
}
