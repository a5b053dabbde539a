package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A block is a part of a transcript: a conversation, an added message, or a group of recorded calls.
type block struct {
	position     position
	messages     []Message
	conversation bool
}

// blocks returns what the agent told, and what was recorded besides, in order. It must be called
// with t.mu held.
func (t *Transcript) blocks() []block {
	var out []block
	m := newMatcher(t.recorded)
	slices.SortStableFunc(t.labels, func(a, b *label) int { return a.position.compare(b.position) })
	for _, l := range t.labels {
		b := block{position: l.position, conversation: true}
		results, _ := m.tell(l.actor, l.messages)
		for i, message := range l.messages {
			b.messages = append(append(b.messages, message), results[i]...)
		}
		out = append(out, b)
	}
	added := make([]Message, len(t.added))
	for i, a := range t.added {
		added[i] = a.Message
	}
	results, orphans := m.tell(anyActor, added)
	for i, a := range t.added {
		out = append(out, block{position: a.position, messages: append(added[i:i+1:i+1], results[i]...)})
	}
	m.answer(t.added, orphans)
	for _, g := range t.recorded {
		for _, c := range g.calls {
			if c.matched {
				continue
			}
			if m.ids[c.id] {
				c.id = t.newID(context.Background(), m.ids)
			}
			m.ids[c.id] = true
		}
		out = append(out, block{position: g.position(), messages: g.unmatched()})
	}
	slices.SortStableFunc(out, func(a, b block) int { return a.position.compare(b.position) })
	return out
}

// unmatched returns the calls that the agent has not told, and the results that it has not told.
func (g *group) unmatched() []Message {
	asked := Message{Role: RoleAssistant}
	var results []Message
	for _, c := range g.calls {
		if c.matched {
			continue
		}
		asked.ToolCalls = append(asked.ToolCalls, ToolCall{ID: c.id, Name: c.tool, Arguments: c.arguments})
		if !c.answered {
			results = append(results, c.result(c.id))
		}
	}
	if asked.ToolCalls == nil {
		return nil
	}
	return append([]Message{asked}, results...)
}

// A matcher finds the recorded calls that the agent tells, each once, in the order in which they
// began. Its work grows with the number of calls and no faster.
type matcher struct {
	groups []*group
	calls  map[callKey][]*call
	hashes bool            // some calls can be found by their hash only
	ids    map[string]bool // of the calls that were told
}

// callKey is what a call can be found by: the model's id and the tool; or if the model's id is not
// known, the hash, and the hash with the id that was made. The actor is the call's or any.
type callKey struct{ actor, id, tool string }

const anyActor = "\x00" // no label

func newMatcher(groups []*group) *matcher {
	m := &matcher{groups: groups, calls: map[callKey][]*call{}, ids: map[string]bool{}}
	for _, g := range groups {
		slices.SortStableFunc(g.calls, func(a, b *call) int { return cmp.Compare(a.index, b.index) })
		for _, c := range g.calls {
			c.matched, c.answered = false, false
			m.hashes = m.hashes || c.modelID == ""
			for _, actor := range []string{g.actor, anyActor} {
				keys := []callKey{{actor, c.modelID, c.tool}}
				if c.modelID == "" {
					keys = []callKey{{actor, c.id, c.callHash()}, {actor, "", c.callHash()}}
				}
				for _, k := range keys {
					m.calls[k] = append(m.calls[k], c)
				}
			}
		}
	}
	return m
}

// find returns the recorded call that was told, or nil. One of the same actor comes first.
func (m *matcher) find(actor string, toolCall ToolCall) *call {
	keys := []callKey{{actor, toolCall.ID, toolCall.Name}, {anyActor, toolCall.ID, toolCall.Name}}
	if m.hashes {
		hash := hashOf(toolCall.Name, toolCall.Arguments)
		keys = append(keys, callKey{actor, toolCall.ID, hash}, callKey{anyActor, toolCall.ID, hash},
			callKey{actor, "", hash}, callKey{anyActor, "", hash})
	}
	for _, k := range keys {
		calls := m.calls[k]
		for len(calls) > 0 && calls[0].matched {
			calls = calls[1:]
		}
		m.calls[k] = calls
		if len(calls) > 0 {
			calls[0].matched = true
			return calls[0]
		}
	}
	return nil
}

// tell finds the recorded calls of messages. It returns for each message the recorded results that
// follow it, because messages do not have them. orphans are tool messages without a call in messages.
func (m *matcher) tell(actor string, messages []Message) (results [][]Message, orphans []int) {
	var found []*call
	open := map[string][]*call{} // without a result, by the id that was told
	for i, message := range messages {
		for _, toolCall := range message.ToolCalls {
			m.ids[toolCall.ID] = true
			found = append(found, m.find(actor, toolCall))
		}
		for j, toolCall := range slices.Backward(message.ToolCalls) {
			open[toolCall.ID] = append(open[toolCall.ID], found[len(found)-len(message.ToolCalls)+j])
		}
		if message.Role != RoleTool {
			continue
		}
		id := message.ToolCallID
		n := len(open[id]) - 1 // a result belongs to the last message with its id, and there to the first call
		if n < 0 {
			orphans = append(orphans, i)
			continue
		}
		if c := open[id][n]; c != nil {
			c.answered = true
		}
		open[id] = open[id][:n]
	}
	results = make([][]Message, len(messages))
	for i, message := range messages {
		for _, toolCall := range message.ToolCalls {
			if c := found[0]; c != nil && !c.answered {
				results[i] = append(results[i], c.result(toolCall.ID))
			}
			found = found[1:]
		}
	}
	return results, orphans
}

// answer finds the recorded calls that no message mentions and that added messages answer.
func (m *matcher) answer(added []addedMessage, orphans []int) {
	open := map[string][]*call{}
	for _, g := range m.groups {
		for _, c := range g.calls {
			if id := cmp.Or(c.modelID, c.id); !c.matched {
				open[id] = append(open[id], c)
			}
		}
	}
	for _, i := range orphans {
		a := added[i]
		if calls := open[a.ToolCallID]; len(calls) > 0 && calls[0].group.at < a.position.at {
			calls[0].answered = true
			open[a.ToolCallID] = calls[1:]
		}
	}
}

// maxComparedDepth is the nesting of arguments that are compared as JSON. Clients refuse deeper ones.
const maxComparedDepth = 64

// hashOf returns what calls with the same tool and the same arguments have in common. Arguments are
// the same if the JSON values are equal, as JSON or as JSON in a string. Large or deep ones, and what is
// not JSON, must have the same text.
func hashOf(tool string, arguments json.RawMessage) string {
	if rawjson.Kind(arguments) == '"' && wellFormed(arguments) {
		arguments = json.RawMessage(rawjson.Unquote(arguments))
	}
	text, kind := cmp.Or(string(bytes.TrimSpace(arguments)), "{}"), " text "
	if len(text) <= maxTranscriptText && readable([]byte(text), maxComparedDepth) {
		text, kind = rawjson.Key(json.RawMessage(text)), " json "
	}
	sum := sha256.Sum256([]byte(tool + kind + text))
	return string(sum[:])
}
