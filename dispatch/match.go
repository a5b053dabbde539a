package dispatch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A row is a message of a transcript.
type row struct {
	Message
	position position
	actor    *actor // whose conversation it belongs to; nil for one that was added or recorded

	// results has a place for each of ToolCalls: the recorded call whose result follows the message,
	// or nil if the call was not recorded or has a result of the agent's.
	results []*call
}

// rows returns what the agent told, and the recorded calls that it did not tell, in order. It must be
// called with t.mu held. The work is linear.
func (t *Transcript) rows() []row {
	var rows []row
	m := newRecordedCalls(t.groups)
	slices.SortStableFunc(t.actors, func(a, b *actor) int { return a.position.compare(b.position) })
	for _, a := range t.actors {
		for _, message := range a.messages {
			rows = append(rows, row{message, a.position, a, m.find(a.label, message.ToolCalls)})
		}
	}
	for _, r := range t.added {
		r.results = m.find(anyActor, r.ToolCalls)
		rows = append(rows, r)
	}
	for _, g := range t.groups {
		r := row{Message: Message{Role: RoleAssistant}, position: position{g.at, g.calls[0].index}}
		for _, c := range g.calls {
			if m.found[c] {
				continue
			}
			if m.ids[c.id] {
				c.id = t.newID(m.ids)
			}
			m.ids[c.id] = true
			r.ToolCalls = append(r.ToolCalls, ToolCall{ID: c.id, Name: c.tool, Arguments: c.arguments})
			r.results = append(r.results, c)
		}
		if r.results != nil {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.position.compare(b.position) })
	dropAnswered(rows)
	return rows
}

// dropAnswered drops the recorded results of calls that have a result of the agent's. A result belongs to
// the last message before it that has a call with its id, and there to the first such call.
func dropAnswered(rows []row) {
	type key struct {
		actor *actor
		id    string
	}
	type place struct{ row, call int }
	open := map[key][]place{} // calls without a result, the next to get one last
	for i, r := range rows {
		for n, c := range slices.Backward(r.ToolCalls) {
			k := key{r.actor, c.ID}
			open[k] = append(open[k], place{i, n})
		}
		if r.Role == RoleTool {
			k := key{r.actor, r.ToolCallID}
			if last := len(open[k]) - 1; last >= 0 {
				at := open[k][last]
				rows[at.row].results[at.call] = nil
				open[k] = open[k][:last]
			}
		}
	}
}

// recordedCalls are found by the calls that the agent told, each once, in the order in which they began.
type recordedCalls struct {
	calls  map[callKey][]*call
	hashes bool // some calls can be found by their hash only
	found  map[*call]bool
	ids    map[string]bool // of the calls that were told
}

// callKey is what a call can be found by: the model's id and the tool, or if the call has no id of the
// model, its hash. The actor is the call's or any.
type callKey struct{ actor, id, tool string }

const anyActor = "\x00" // no label

func newRecordedCalls(groups []*group) *recordedCalls {
	m := &recordedCalls{calls: map[callKey][]*call{}, found: map[*call]bool{}, ids: map[string]bool{}}
	for _, g := range groups {
		slices.SortStableFunc(g.calls, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
		for _, c := range g.calls {
			tool := c.tool
			if c.modelID == "" {
				if c.hash == "" {
					c.hash = hashOf(c.tool, c.arguments)
				}
				m.hashes, tool = true, c.hash
			}
			for _, actor := range []string{g.actor, anyActor} {
				k := callKey{actor, c.modelID, tool}
				m.calls[k] = append(m.calls[k], c)
			}
		}
	}
	return m
}

// find returns the recorded calls that were told, or nil for those that were not recorded. A call of the
// same actor comes first.
func (m *recordedCalls) find(actor string, told []ToolCall) []*call {
	found := make([]*call, len(told))
	for i, c := range told {
		m.ids[c.ID] = true
		keys := []callKey{{actor, c.ID, c.Name}, {anyActor, c.ID, c.Name}}
		if m.hashes {
			hash := hashOf(c.Name, c.Arguments)
			keys = append(keys, callKey{actor, "", hash}, callKey{anyActor, "", hash})
		}
		for _, k := range keys {
			if found[i] == nil {
				found[i] = m.take(k)
			}
		}
	}
	return found
}

// take returns the first call with a key that was not told before, or nil.
func (m *recordedCalls) take(k callKey) *call {
	for len(m.calls[k]) > 0 {
		c := m.calls[k][0]
		m.calls[k] = m.calls[k][1:]
		if !m.found[c] {
			m.found[c] = true
			return c
		}
	}
	return nil
}

// maxComparedDepth is the nesting of arguments that are compared as JSON, because the work grows with it.
const maxComparedDepth = 64

// hashOf returns what calls with the same tool and the same arguments have in common. Arguments are
// the same if the JSON values are equal, as JSON or as JSON in a string. Large or deep ones, and what is
// not JSON, must have the same text.
func hashOf(tool string, arguments json.RawMessage) string {
	if rawjson.Kind(arguments) == '"' && wellFormed(arguments) {
		arguments = json.RawMessage(rawjson.Unquote(arguments))
	}
	text := cmp.Or(string(bytes.TrimSpace(arguments)), "{}")
	if len(text) <= maxTranscriptText && readable([]byte(text), maxComparedDepth) {
		text = rawjson.Key(json.RawMessage(text))
	}
	sum := sha256.Sum256([]byte(tool + "\x00" + text))
	return string(sum[:])
}
