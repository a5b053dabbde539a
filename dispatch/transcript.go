package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// A Transcript is the recording of a run: the user's instruction, the tool calls that went through
// the run's proxy with their results, and the messages that the agent adds. [Run.Transcript]
// returns it. It is safe for concurrent use.
//
// Calls are recorded from the start of the run, with the arguments that the agent has passed, also
// those that the client refuses. Failures are recorded as the model should see them. Calls of one
// actor that begin before any of them has ended form one assistant message. The calls keep the
// model's ids if the agent passes them with [proxy.WithCallID]; other ids are made, unique within
// the session.
//
// An agent may add its whole conversation. A message that it adds replaces what was recorded of the
// same calls: an assistant message replaces the recorded calls of the same ids, or without
// [proxy.WithCallID] of the same tools and arguments; a tool message replaces the recorded result.
//
// The transcript has at most 1 MiB of JSON and 1,000 messages; what comes later is left out,
// with a problem of the code messages_removed. It keeps 64 KiB of each text of a recorded call.
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

// Bounds of a transcript. A trace shows it; more than this does not help a reader.
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

// call is one tool call: recorded, told by a message of the agent, or both.
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

// Add adds messages as they are. They must not be changed afterwards. Tool calls are those of
// [Message].ToolCalls, and their results are tool messages: a content part such as Anthropic's
// tool_use replaces no recorded call.
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

// UpdateMetadata calls change with the metadata that responses with the transcript carry, for
// example to add the tokens of a model's answer. Calls of change do not overlap.
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

// Response returns an answer with the transcript, whose last message is final, and with the
// metadata, if any. It does not change the transcript.
func (t *Transcript) Response(final string) *Response {
	r := &Response{FinalResponse: final, Messages: t.Messages(), Metadata: t.metadataCopy()}
	if n := len(r.Messages); n > 0 {
		if last := r.Messages[n-1]; last.Role == RoleAssistant && len(last.ToolCalls) == 0 && last.Content.String() == final {
			return r // the agent has added the model's last message
		}
	}
	r.Messages = append(r.Messages, Message{Role: RoleAssistant, Content: cutText(final)})
	return r
}

// Messages returns the transcript so far. It begins with the user's instruction, which follows
// leading system messages and is not repeated if the agent has added it. A call that has not ended
// has a result that says so.
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

// The rest of this section needs t.mu.

// admit reports whether a message of n bytes fits, and counts it. After the first that does not fit
// none does, so that no answer arrives without its call.
func (t *Transcript) admit(n, messages int) bool {
	if t.full || t.size+n > maxTranscriptRows || t.messages+messages > maxTranscriptMessages {
		t.full = true
		return false
	}
	t.size += n
	t.messages += messages
	return true
}

// tell finds the recorded call of a call in an added message, or makes one that may be recorded
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
	if other := t.find(func(o *call) bool { return o != c && !o.told && !o.answered && o.id == told.ID }); other != nil {
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

// newID makes an id that is not used in the session: neither here, nor in an earlier turn that this
// handler served, nor in the replayed messages of one that it did not.
func (t *Transcript) newID() string {
	for {
		id := "call_" + strconv.FormatInt(t.numbers.Add(1), 10)
		if !t.ids[id] && !t.taken[id] && !bytes.Contains(t.run.Messages, []byte(strconv.Quote(id))) {
			t.use(id)
			return id
		}
	}
}

// begin records that a call begins. It returns nil if the transcript is full.
func (t *Transcript) begin(ctx context.Context, info proxy.CallInfo) *call {
	turn, index := actor.TakeTurn(ctx)
	arguments := recordable(info.Arguments)
	t.mu.Lock()
	defer t.mu.Unlock()
	tool := cmp.Or(info.Tool, "(no name)") // a model may leave it out
	if len(tool) > maxTranscriptName {
		tool = clip.Text(tool, maxTranscriptName)
	}
	if c := t.findTold(tool, info); c != nil {
		c.recorded = true
		return c
	}
	c := &call{modelID: info.CallID, tool: tool, arguments: arguments, recorded: true}
	c.size = 80 + quotedLen(tool) + max(quotedLen(c.modelID), minIDLen) + len(arguments)
	if !t.admit(c.size+answerSize(c.modelID), 2) {
		t.lost += 2
		return nil
	}
	if c.modelID != "" && !t.ids[c.modelID] {
		c.id = c.modelID
		t.use(c.id)
	} else {
		c.id = t.newID()
	}
	t.calls = append(t.calls, c)
	c.group, c.index = t.group(info.Actor, turn), index
	at := len(c.group.calls)
	for turn != nil && at > 0 && c.group.calls[at-1].index > index {
		at--
	}
	c.group.calls = slices.Insert(c.group.calls, at, c)
	return c
}

// group returns the group of recorded calls that a call which begins now belongs to: that of its
// turn, or else the last one of its actor if none of its calls has ended.
func (t *Transcript) group(actor string, turn *actor.Turn) *row {
	for _, r := range slices.Backward(t.rows) {
		if r.added {
			break
		}
		if r.conversation != nil || r.actor != actor {
			continue
		}
		if turn == r.turn && (turn != nil || !r.ended) {
			return r
		}
		if turn == nil {
			break
		}
	}
	r := &row{actor: actor, turn: turn}
	t.rows = append(t.rows, r)
	return r
}

// findTold finds the call in an added message that a call which begins now makes.
func (t *Transcript) findTold(tool string, info proxy.CallInfo) *call {
	open := func(c *call) bool { return c.told && !c.recorded && !c.answered && c.tool == tool }
	if info.CallID != "" {
		return t.findLast(func(c *call) bool { return open(c) && c.id == info.CallID })
	}
	return t.find(func(c *call) bool { return open(c) && equalArguments(c.arguments, info.Arguments) })
}

// end records the result of a call.
func (t *Transcript) end(c *call, end proxy.CallEnd) {
	result := json.RawMessage(nil)
	if end.Err != nil {
		result = proxy.ToolResult(end.Err)
	} else {
		result = end.Result.Response
	}
	content := cutText(string(result))
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.group != nil {
		c.group.ended = true
	}
	if c.answered {
		return
	}
	if !t.admit(len(content), 0) {
		content = Text("…") // for which there is room
	}
	c.content = content
}

// recorder is the observer of a run's calls: of the transcript, and of the options' observer before
// it.
type recorder struct {
	transcript Transcript
	user       proxy.Observer // nil for none
}

type callKey struct{}

// CallStart implements [proxy.Observer].
func (r *recorder) CallStart(ctx context.Context, info proxy.CallInfo) context.Context {
	if r.user != nil {
		ctx = r.user.CallStart(ctx, info)
	}
	if c := r.transcript.begin(ctx, info); c != nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	return ctx
}

// CallEnd implements [proxy.Observer].
func (r *recorder) CallEnd(ctx context.Context, end proxy.CallEnd) {
	if r.user != nil {
		r.user.CallEnd(ctx, end)
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		r.transcript.end(c, end)
	}
}

// messageSize is an upper bound of the length of what is sent of m as JSON, with room for the
// answers to its calls.
func messageSize(m Message) int {
	n := 80 + sentLen(m.Content, validContent(m.Content)) + quotedLen(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += 40 + max(quotedLen(c.ID), minIDLen) + quotedLen(c.Name) + sentLen(c.Arguments, validArguments(c.Arguments)) + answerSize(c.ID)
	}
	for _, block := range m.Thinking {
		n += len(`{"type":"text","text":},`) + sentLen(block, wellFormed(block))
	}
	return n
}

// minIDLen is room for an id that is made.
const minIDLen = 30

// answerSize is the room for the answer to a call, also for one that is cut or that says that there
// is none yet.
func answerSize(id string) int { return 80 + len(unfinished) + max(quotedLen(id), minIDLen) }

// sentLen is an upper bound of the length of what is sent of a value: the value itself if it is
// valid, or its text.
func sentLen(value []byte, valid bool) int {
	if valid {
		return len(value)
	}
	return quotedLen(string(value))
}

// quotedLen is an upper bound of the length of s as a JSON string.
func quotedLen(s string) int {
	high := 2 // U+2028 has three bytes and is written as an escape of six
	if !utf8.ValidString(s) {
		high = 6
	}
	n := 2
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 6
		case c == '"', c == '\\':
			n += 2
		case c >= utf8.RuneSelf:
			n += high
		default:
			n++
		}
	}
	return n
}

// cutText returns s as content of at most maxTranscriptText bytes of JSON.
func cutText(s string) Content {
	limit := maxTranscriptText - 2
	for {
		content := Text(clip.Text(s, limit))
		if len(content) <= maxTranscriptText {
			return content
		}
		limit = limit * maxTranscriptText / len(content) // what has to be escaped takes more
	}
}

// recordable returns arguments as they can be sent. JSON objects and strings of at most 64 KiB stay
// as they are. Anything else becomes a JSON string of at most 64 KiB.
func recordable(given json.RawMessage) json.RawMessage {
	switch {
	case len(given) == 0:
		return json.RawMessage("{}")
	case len(given) <= maxTranscriptText && validArguments(given):
		return given
	}
	return json.RawMessage(cutText(string(given)))
}

// equalArguments reports whether a recorded call and a call of the model have the same arguments.
func equalArguments(a, b json.RawMessage) bool {
	a, b = argumentsText(a), argumentsText(b)
	return bytes.Equal(a, b) || wellFormed(a) && wellFormed(b) && rawjson.Equal(a, b)
}

// argumentsText returns what the model wrote: the text in a JSON string, or the JSON itself.
func argumentsText(raw json.RawMessage) json.RawMessage {
	if rawjson.Kind(raw) == '"' && wellFormed(raw) {
		raw = json.RawMessage(rawjson.Text(raw))
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
