package dispatch

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// conversation is what [Transcript.SetConversation] has set for a label.
type conversation struct {
	actor    string
	prompt   int       // place of the present prompt in what was set, from 1; 0 for none
	messages []Message // those that fit
	sizes    []int     // of messages, as JSON, with room for the answers to their calls
	dropped  int       // messages that did not fit
	size     int       // of all messages
	rows     int       // messages, and answers that they lack
	made     []made    // calls without an answer, in their order
}

// made is a tool call in a conversation, and its recording.
type made struct {
	at   int // index of the assistant message
	id   string
	call *call
}

// SetConversation sets the conversation of a sub-agent with its model, from its first message to
// its last. actor is the label of the sub-agent, or "" for an agent without one. The conversation
// replaces the one that was set for the label before. If messages is empty, the label has no
// conversation. The messages must not be changed afterwards.
//
// [Transcript.Messages] contains the conversations in the order in which they were set last, so that
// the one with the final response ends the transcript. A recorded call is left out if a conversation
// contains it: a tool call with the same id, or without [proxy.WithCallID] with the same tool and
// arguments. If the conversation does not contain the result of the call, the recorded one follows.
// In a session, messages of earlier turns are left out.
//
// SetConversation is for code that sees all requests to a model. An agent that adds messages one by
// one uses [Transcript.Add] instead.
func (t *Transcript) SetConversation(actor string, messages []Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.conversations, func(c *conversation) bool { return c.actor == actor })
	if i < 0 {
		i = len(t.conversations)
		t.conversations = append(t.conversations, &conversation{actor: actor})
		t.rows = append(t.rows, &row{conversation: t.conversations[i]})
	}
	c := t.conversations[i]
	c.set(t, c.ofThisTurn(t.run, messages))
	at := slices.IndexFunc(t.rows, func(r *row) bool { return r.conversation == c })
	if slices.ContainsFunc(t.rows[at+1:], func(r *row) bool { return r.conversation != nil }) {
		own := t.rows[at]
		t.rows = append(slices.Delete(t.rows, at, at+1), own)
	}
}

// AddProblem adds a problem to those that the handler logs with the answer, and that package
// dispatchtest shows in its results. A problem that was added before is ignored, and so are those
// after the first 100.
func (t *Transcript) AddProblem(p Problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.problems) < maxTranscriptProblems && !slices.Contains(t.problems, p) {
		t.problems = append(t.problems, p)
	}
}

const maxTranscriptProblems = 100

func (t *Transcript) foundProblems() []Problem {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.problems)
}

// ofThisTurn returns the messages without those of earlier turns of the session. These end where
// the user says the present prompt: at the same place as before, because later messages may repeat
// it, or else for the last time. System messages at the beginning belong to every turn.
func (c *conversation) ofThisTurn(r *Run, messages []Message) []Message {
	if r.Instruction == "" || r.SessionID == "" && r.Messages == nil {
		return messages
	}
	if c.prompt == 0 || c.prompt > len(messages) || !r.saidIn(messages[c.prompt-1]) {
		c.prompt = 0
		for i, m := range slices.Backward(messages) {
			if r.saidIn(m) {
				c.prompt = i + 1
				break
			}
		}
	}
	system := slices.IndexFunc(messages, func(m Message) bool { return m.Role != RoleSystem })
	if c.prompt-1 <= system {
		return messages
	}
	return slices.Concat(messages[:system], messages[c.prompt-1:])
}

// saidIn reports whether the user says the instruction in m, perhaps among other text.
func (r *Run) saidIn(m Message) bool {
	return m.Role == RoleUser && strings.Contains(m.Content.String(), r.Instruction)
}

// set replaces the messages. It needs t.mu.
func (c *conversation) set(t *Transcript, messages []Message) {
	before, sizes := c.messages, c.sizes
	t.size -= c.size
	t.messages -= c.rows
	c.messages, c.sizes, c.dropped, c.size, c.rows = messages, make([]int, len(messages)), 0, 0, 0
	t.match()
	open := map[string]int{} // room for the answer, by id
	for i, m := range messages {
		if i < len(before) && equalMessages(before[i], m) {
			c.sizes[i] = sizes[i]
		} else {
			c.sizes[i] = messageSize(m)
		}
		size, rows := c.sizes[i], 1+len(m.ToolCalls)
		if room, ok := open[m.ToolCallID]; ok && m.Role == RoleTool {
			size -= room
			rows--
		}
		if t.size+c.size+size > maxTranscriptRows || t.messages+c.rows+rows > maxTranscriptMessages {
			c.messages, c.sizes, c.dropped = messages[:i:i], c.sizes[:i], len(messages)-i
			break
		}
		c.size += size
		c.rows += rows
		delete(open, m.ToolCallID)
		for _, call := range m.ToolCalls {
			open[call.ID] = answerSize(call.ID)
		}
	}
	t.size += c.size
	t.messages += c.rows
	if c.dropped > 0 {
		t.match()
	}
}

func equalMessages(a, b Message) bool {
	return a.Role == b.Role && a.ToolCallID == b.ToolCallID && bytes.Equal(a.Content, b.Content) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Arguments, b.Arguments)
		}) &&
		slices.EqualFunc(a.Thinking, b.Thinking, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// match finds the recorded calls that conversations contain. Such a call takes no room of its own.
// It needs t.mu.
func (t *Transcript) match() {
	if t.conversations == nil {
		return
	}
	t.unmatch()
	byID := map[string][]*call{} // "" has those without an id of the model
	for _, c := range t.calls {
		if c.recorded && !c.told {
			byID[c.modelID] = append(byID[c.modelID], c)
		}
	}
	t.taken = map[string]bool{}
	for _, c := range t.conversations {
		c.match(t, byID)
	}
	for _, c := range t.calls {
		if c.saved > 0 {
			t.size -= c.saved
			t.messages -= 2
		} else if t.taken[c.id] && c.id != c.modelID && !c.told {
			c.id = t.newID()
		}
	}
}

// unmatch undoes match. It needs t.mu.
func (t *Transcript) unmatch() {
	for _, c := range t.calls {
		if c.saved > 0 {
			t.size += c.saved
			t.messages += 2
			c.saved = 0
		}
	}
	for _, c := range t.conversations {
		c.made = nil
	}
}

func (c *conversation) match(t *Transcript, byID map[string][]*call) {
	for i, m := range c.messages {
		for _, told := range m.ToolCalls {
			t.taken[told.ID] = true
			if found := c.take(byID, told); found != nil {
				found.saved = found.size + answerSize(found.id) // the message has room for both
				c.made = append(c.made, made{i, told.ID, found})
			}
		}
		if m.Role != RoleTool {
			continue
		}
		if n := slices.IndexFunc(c.made, func(x made) bool { return x.id == m.ToolCallID }); n >= 0 {
			c.made[n].call.saved += len(c.made[n].call.content)
			c.made = slices.Delete(c.made, n, n+1)
		}
	}
}

// take takes the recorded call of a call in the conversation out of byID. It returns nil if there
// is none.
func (c *conversation) take(byID map[string][]*call, told ToolCall) *call {
	find := func(id string, ok func(*call) bool) *call {
		i := slices.IndexFunc(byID[id], func(x *call) bool { return x.tool == told.Name && ok(x) })
		if i < 0 {
			return nil
		}
		found := byID[id][i]
		byID[id] = slices.Delete(byID[id], i, i+1)
		return found
	}
	if told.ID != "" {
		if x := find(told.ID, func(x *call) bool { return x.group.actor == c.actor }); x != nil {
			return x
		}
		if x := find(told.ID, func(*call) bool { return true }); x != nil {
			return x
		}
	}
	return find("", func(x *call) bool { return equalArguments(x.arguments, told.Arguments) })
}

// appendTo appends the messages, and the recorded results that they lack. It needs the mutex of the
// transcript.
func (c *conversation) appendTo(out []Message) []Message {
	made := c.made
	for i, m := range c.messages {
		out = append(out, m)
		for ; len(made) > 0 && made[0].at == i; made = made[1:] {
			out = append(out, made[0].call.result(made[0].id))
		}
	}
	return out
}
