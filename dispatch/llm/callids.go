package llm

import (
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
)

// callIDs gives calls ids that no other call has.
type callIDs struct {
	used, made map[string]bool
	n          int
}

// made begins the id of a call that has none. A number follows, until the call gets a name in a thread.
const made = "\x00"

func isMade(id string) bool { return strings.HasPrefix(id, made) }

// next returns a new id.
func (ids *callIDs) next() string {
	for {
		ids.n++
		if id := "call_" + strconv.Itoa(ids.n); !ids.used[id] {
			ids.made[id] = true
			return id
		}
	}
}

// name names the calls of messages that have no id, and their results.
func (ids *callIDs) name(messages []dispatch.Message) {
	names := map[string]string{}
	for i, m := range messages {
		for k, call := range m.ToolCalls {
			if isMade(call.ID) {
				names[call.ID] = ids.next()
				m.ToolCalls[k].ID = names[call.ID]
			}
			ids.used[m.ToolCalls[k].ID] = true
		}
		if name, ok := names[m.ToolCallID]; ok {
			messages[i].ToolCallID = name
		}
	}
}

// name names the calls of a line.
func (l *line) name(ids *callIDs) {
	m := []dispatch.Message{l.Message}
	ids.name(m)
	l.Message = m[0]
}
