package dispatch

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
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

// asker returns the conversation of an actor whose last answer makes a call that has not begun yet, with
// the call's id or else with its tool and arguments. It returns nil if the actor has only one conversation.
// It must be called with t.mu held.
func (t *Transcript) asker(label string, c *call) *actor {
	var several []*actor
	for _, a := range t.actors {
		if a.label == label && len(a.messages) > 0 {
			several = append(several, a)
		}
	}
	if len(several) < 2 {
		return nil
	}
	for _, key := range []string{c.modelID + "\x00" + c.tool, c.hashed()} {
		for _, a := range several {
			if a.asked == nil {
				a.asked = map[string]int{}
				for _, told := range a.last {
					a.asked[told.ID+"\x00"+told.Name]++
					a.asked[hashOf(told.Name, told.Arguments)]++
				}
			}
			if a.asked[key] > 0 {
				a.asked[key]--
				return a
			}
		}
	}
	return nil
}

// setEnd takes the calls after the last message of the user.
func (a *actor) setEnd(backward iter.Seq2[int, Message]) {
	a.last, a.asked = nil, nil
	for _, m := range backward {
		if m.Role == RoleUser || m.Role == RoleTool && a.last != nil {
			break
		}
		a.last = append(a.last, m.ToolCalls...)
	}
}

// rows returns what the agent told, and the recorded calls that it did not tell, in order. It must be
// called with t.mu held. The work is linear.
func (t *Transcript) rows() []row {
	var rows []row
	slices.SortStableFunc(t.actors, func(a, b *actor) int { return a.position.compare(b.position) })
	for _, a := range t.actors {
		for _, message := range a.messages {
			rows = append(rows, row{Message: message, position: a.position, actor: a})
		}
	}
	rows = append(rows, t.added...)
	for i := range rows {
		rows[i].ToolCalls = slices.Clone(rows[i].ToolCalls) // the agent may change what it gets
	}
	m := newRecordedCalls(t.groups)
	m.match(rows)
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
	for i := range rows {
		rows[i].takeIDs()
	}
	return rows
}

// takeIDs gives the calls whose recorded results follow the ids that the agent gave them.
func (r *row) takeIDs() {
	for i, c := range r.results {
		if c != nil && c.modelID != "" && c.id != r.ToolCalls[i].ID {
			r.ToolCalls[i].ID = c.id
		}
	}
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
	groups []*group
	calls  map[callKey][]*call
	found  map[*call]bool
	ids    map[string]bool // of the calls that were told
}

// callKey is what a call can be found by: the model's id and the tool, or its hash. The conversation is
// the call's, any of its actor, or any.
type callKey struct {
	of       actorKey
	id, tool string
}

// Threads of no conversation.
const (
	anyThread runctx.Thread = -1 // any of the actor
	anyActor  runctx.Thread = -2 // any
)

func newRecordedCalls(groups []*group) *recordedCalls {
	for _, g := range groups {
		slices.SortStableFunc(g.calls, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
	}
	return &recordedCalls{groups: groups, found: map[*call]bool{}, ids: map[string]bool{}}
}

// match finds the calls of all rows: first by their ids, and then those that are left by their hashes.
func (m *recordedCalls) match(rows []row) {
	m.collect(func(c *call) (id, tool string, ok bool) { return c.modelID, c.tool, c.modelID != "" })
	for i, r := range rows {
		rows[i].results = make([]*call, len(r.ToolCalls))
		for j, told := range r.ToolCalls {
			m.ids[told.ID] = true
			rows[i].results[j] = m.find(r.actor, told.ID, told.Name)
		}
	}
	if m.collect(func(c *call) (id, tool string, ok bool) { return "", c.hashed(), !m.found[c] }); len(m.calls) == 0 {
		return
	}
	for i, r := range rows {
		for j, told := range r.ToolCalls {
			if rows[i].results[j] == nil {
				rows[i].results[j] = m.find(r.actor, "", hashOf(told.Name, told.Arguments))
			}
		}
	}
}

// collect makes the calls known by a key.
func (m *recordedCalls) collect(key func(c *call) (id, tool string, ok bool)) {
	m.calls = map[callKey][]*call{}
	for _, g := range m.groups {
		for _, c := range g.calls {
			id, tool, ok := key(c)
			if !ok {
				continue
			}
			of := actorKey{g.actor, anyThread}
			if c.of != nil {
				of = c.of.actorKey
			}
			for _, of := range []actorKey{of, {thread: anyActor}} {
				k := callKey{of, id, tool}
				m.calls[k] = append(m.calls[k], c)
			}
		}
	}
}

// find returns a recorded call that was told, or nil if it was not recorded. A call of the same
// conversation comes first, then one of the same label. The actor of added messages is nil.
func (m *recordedCalls) find(a *actor, id, tool string) *call {
	keys := []actorKey{{thread: anyActor}}
	if a != nil {
		keys = []actorKey{a.actorKey, {a.label, anyThread}, {thread: anyActor}}
	}
	for _, of := range keys {
		if c := m.take(callKey{of, id, tool}); c != nil {
			return c
		}
	}
	return nil
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

// hashed returns the hash of the call. It must be called with t.mu held.
func (c *call) hashed() string {
	if c.hash == "" {
		c.hash = hashOf(c.tool, c.arguments)
	}
	return c.hash
}

// maxComparedDepth is the nesting of arguments that are compared as JSON, because the work grows with it.
const maxComparedDepth = 64

// hashOf returns what calls with the same tool and the same arguments have in common. Arguments are
// the same if the JSON values are equal, as JSON or as JSON in a string. Large or deep ones, and what is
// not JSON, must have the same text.
func hashOf(tool string, arguments json.RawMessage) string {
	text, err := rawjson.ReadArguments(arguments, valueLimits)
	if err != nil { // the model may have written a string, of which the agent passes the text
		text, _ = rawjson.ReadArguments(text, valueLimits)
	}
	if len(text) <= maxTranscriptText && readable(text, maxComparedDepth) {
		text = json.RawMessage(rawjson.Key(text))
	}
	sum := sha256.Sum256(append([]byte(tool+"\x00"), text...))
	return string(sum[:])
}
