package dispatch

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Transcript is the recording of a run: the user's instruction, the tool calls of the run's proxy
// with their results, and the messages that the agent adds. [Run.Transcript] returns it. It is safe
// for concurrent use.
//
// All calls of a run are recorded, with the arguments that the agent passed, also if the client
// rejects them. A failure is recorded as the model should see it. The calls of one [proxy.Each]
// form one assistant message. So do calls of one actor that begin before any of them has ended.
// Calls keep the ids of [proxy.WithCallID]. Other calls get ids that are unique within the session.
//
// An agent may add its whole conversation. An added assistant message replaces the recorded calls
// with the same ids, or without [proxy.WithCallID] those with the same tools and arguments. An
// added tool message replaces the recorded result.
//
// The transcript has at most 1 MiB of JSON and 1,000 messages. Later messages are not kept, and a
// problem with the code messages_removed reports them. The transcript keeps 64 KiB of each text of
// a recorded call.
type Transcript struct {
	run     *Run
	numbers *atomic.Int64 // of the ids that were made; shared by the dispatches of a run token

	mu       sync.Mutex
	asked    bool // the agent has called Run.Transcript
	rows     []*row
	calls    []*call
	ids      map[string]bool // of calls
	size     int             // of the rows, as JSON
	messages int             // in the rows
	full     bool
	lost     int // messages that did not fit
	metadata *Metadata
	problems []Problem // that were added

	conversations []*conversation
	taken         map[string]bool // ids of calls in conversations
}

// Limits of a transcript. A trace shows it, and nobody reads more than this.
const (
	maxTranscript         = 1 << 20
	maxTranscriptText     = 64 << 10
	maxTranscriptMessages = 1000
	maxTranscriptName     = 256

	// maxTranscriptRows leaves room for the instruction and the final response.
	maxTranscriptRows = maxTranscript - 2*(maxTranscriptText+100)
)

// row is a message of the agent, a group of recorded calls, or a conversation.
type row struct {
	conversation *conversation // nil for the other two

	added   bool
	message Message // if added
	calls   []*call // if added, those of message.ToolCalls
	actor   string
	turn    *actor.Turn // of the group; nil if it is not known
	ended   bool        // a call of the group has ended
}

// call is one tool call. It is recorded, or told by a message of the agent, or both.
type call struct {
	id, modelID string
	tool        string
	arguments   json.RawMessage
	content     Content // of the recorded result; empty until the call has ended
	size        int     // of the recorded call, as JSON, without its answer
	group       *row    // of the recorded call
	index       int     // of the recorded call in the turn of its group
	recorded    bool
	told        bool // an added assistant message holds the call
	answered    bool // an added tool message holds the result
	saved       int  // not 0 if a conversation contains the call: what that saves of its size
}

// result returns the recorded result as the answer to the call with this id.
func (c *call) result(id string) Message {
	content := c.content
	if len(content) == 0 {
		content = unfinished
	}
	return Message{Role: RoleTool, ToolCallID: id, Content: content}
}

// unfinished is the result of a call that has not ended.
var unfinished = Text(string(toolresult.Failure("tool_call_failed", "the call has not ended", nil)))

// Add adds messages without changing them. They must not be changed afterwards. Only ToolCalls and
// tool messages replace recorded calls. A content part such as Anthropic's tool_use does not.
func (t *Transcript) Add(messages ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range messages {
		t.add(m)
	}
}

// add needs t.mu.
func (t *Transcript) add(m Message) {
	t.unmatch()
	size, rows := messageSize(m), 1+len(m.ToolCalls) // with room for the answers
	var asked *call
	if m.Role == RoleTool {
		if asked = t.unanswered(m.ToolCallID); asked != nil {
			size -= answerSize(asked.id) + len(asked.content)
			rows--
		}
	}
	if !t.admit(size, rows) {
		t.lost++
		return
	}
	r := &row{added: true, message: m}
	t.rows = append(t.rows, r)
	for _, c := range m.ToolCalls {
		r.calls = append(r.calls, t.tell(c))
	}
	if asked != nil {
		asked.answered, asked.content = true, nil
	}
}

// UpdateMetadata calls change with the metadata that is sent with the response, for example to add
// the tokens of a model's answer. Calls of change do not overlap. change must not call methods of
// the transcript.
func (t *Transcript) UpdateMetadata(change func(*Metadata)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.metadata == nil {
		t.metadata = &Metadata{}
	}
	change(t.metadata)
}

func (t *Transcript) ask() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
}

func (t *Transcript) wasAsked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// makeID returns an id for a call that has none.
func (t *Transcript) makeID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newID()
}

// dropped returns how many messages did not fit.
func (t *Transcript) dropped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.lost
	for _, c := range t.conversations {
		n += c.dropped
	}
	return n
}

// Response returns a response with the metadata and the messages of the transcript. The last
// message is the assistant's and has the text final. Response does not change the transcript.
func (t *Transcript) Response(final string) *Response {
	r := &Response{FinalResponse: final, Messages: t.Messages(), Metadata: t.metadataCopy()}
	if n := len(r.Messages); n > 0 {
		last := r.Messages[n-1]
		if last.Role == RoleAssistant && len(last.ToolCalls) == 0 && last.Content.String() == final {
			return r // the agent has added the model's last message
		}
	}
	r.Messages = append(r.Messages, Message{Role: RoleAssistant, Content: cutText(final)})
	return r
}

// Messages returns the transcript so far. It begins with the user's instruction, after system
// messages that are first. If the agent has added the instruction, it is not repeated. A call that
// has not ended has a result that says so.
func (t *Transcript) Messages() []Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.match()
	out := make([]Message, 0, t.messages+2)
	for _, r := range t.rows {
		out = r.appendTo(out)
	}
	if t.run.Instruction != "" && !t.hasInstruction() {
		at := slices.IndexFunc(out, func(m Message) bool { return m.Role != RoleSystem })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, Message{Role: RoleUser, Content: cutText(t.run.Instruction)})
	}
	return out
}

func (t *Transcript) hasInstruction() bool {
	return slices.ContainsFunc(t.rows, func(r *row) bool {
		if r.conversation != nil {
			return slices.ContainsFunc(r.conversation.messages, t.run.saidIn)
		}
		return r.added && r.message.Role == RoleUser && r.message.Content.String() == t.run.Instruction
	})
}

func (t *Transcript) metadataCopy() *Metadata {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.metadata == nil {
		return nil
	}
	m := *t.metadata
	m.Extra = maps.Clone(m.Extra) // the agent may still change it, after the time is over
	return &m
}

// appendTo appends the messages of the row.
func (r *row) appendTo(out []Message) []Message {
	if r.conversation != nil {
		return r.conversation.appendTo(out)
	}
	if r.added {
		out = append(out, r.message)
	} else {
		m := Message{Role: RoleAssistant}
		for _, c := range r.calls {
			if !c.told && c.saved == 0 {
				m.ToolCalls = append(m.ToolCalls, ToolCall{ID: c.id, Name: c.tool, Arguments: c.arguments})
			}
		}
		if m.ToolCalls != nil {
			out = append(out, m)
		}
	}
	for _, c := range r.calls {
		if c.told == r.added && c.recorded && !c.answered && c.saved == 0 {
			out = append(out, c.result(c.id))
		}
	}
	return out
}

// The functions below need t.mu.

// admit reports whether a message of n bytes fits, and counts it. After the first message that does
// not fit no other does, so that no result is kept without its call.
func (t *Transcript) admit(n, messages int) bool {
	if t.full || t.size+n > maxTranscriptRows || t.messages+messages > maxTranscriptMessages {
		t.full = true
		return false
	}
	t.size += n
	t.messages += messages
	return true
}

// tell returns the recorded call of a call in an added message, or a new one that may be recorded
// later.
func (t *Transcript) tell(told ToolCall) *call {
	c := t.find(func(c *call) bool { return !c.told && c.modelID == told.ID && c.modelID != "" && c.tool == told.Name })
	same := func(c *call) bool {
		return !c.told && c.modelID == "" && c.tool == told.Name && equalArguments(c.arguments, told.Arguments)
	}
	if c == nil {
		c = t.find(func(c *call) bool { return c.id == told.ID && same(c) })
	}
	if c == nil {
		c = t.find(same)
	}
	taken := func(o *call) bool { return o != c && !o.told && !o.answered && o.id == told.ID }
	if other := t.find(taken); other != nil {
		other.id = t.newID()
	}
	if c == nil {
		c = &call{tool: told.Name, arguments: told.Arguments}
		t.calls = append(t.calls, c)
	} else { // the room for the message counts the call and its answer again
		t.size -= c.size + answerSize(c.id)
		t.messages -= 2
		c.size = 0
	}
	c.id, c.told = told.ID, true
	t.use(told.ID)
	return c
}

// unanswered finds the call that an added tool message answers.
func (t *Transcript) unanswered(id string) *call {
	matches := func(c *call) bool { return !c.answered && (c.id == id || c.modelID == id && id != "") }
	if c := t.findLast(func(c *call) bool { return c.told && matches(c) }); c != nil {
		return c
	}
	return t.find(matches)
}

func (t *Transcript) find(ok func(*call) bool) *call {
	for _, c := range t.calls {
		if ok(c) {
			return c
		}
	}
	return nil
}

func (t *Transcript) findLast(ok func(*call) bool) *call {
	for _, c := range slices.Backward(t.calls) {
		if ok(c) {
			return c
		}
	}
	return nil
}

func (t *Transcript) use(id string) {
	if t.ids == nil {
		t.ids = map[string]bool{}
	}
	t.ids[id] = true
}

// newID returns an id that the session does not use: not in this transcript, not in an earlier turn
// of this handler, and not in replayed messages.
func (t *Transcript) newID() string {
	for {
		id := "call_" + strconv.FormatInt(t.numbers.Add(1), 10)
		if !t.ids[id] && !t.taken[id] && !bytes.Contains(t.run.Messages, []byte(strconv.Quote(id))) {
			t.use(id)
			return id
		}
	}
}
