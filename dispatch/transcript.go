package dispatch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Transcript is the recording of a run: the user's instruction, the tool calls of the run's proxy
// with their results, and the messages that the agent adds. [Run.Transcript] returns it. It is safe
// for concurrent use.
//
// All calls of a run are recorded, with the arguments that the agent passed, even if the client
// rejects them. A failure is recorded as the model should see it. The calls of one [proxy.Each]
// form one assistant message. So do calls of one actor that begin before any of them has ended.
// Calls keep the ids of [proxy.WithCallID]. Other calls get ids that are unique within the session.
//
// An agent may add its whole conversation. An added assistant message replaces the recorded calls
// with the same ids, or, for calls without [proxy.WithCallID], with the same tools and arguments.
// An added tool message replaces the recorded result.
//
// The transcript keeps 64 KiB of each text of a recorded call, and 4 MiB each of what was recorded
// and added, of the agent's own conversation, and of the conversations of its sub-agents. A
// response contains at most 1,000 messages and 1 MiB of them as JSON. A problem with the code
// messages_removed counts the messages that were not kept or not sent.
type Transcript struct {
	run     *Run
	numbers *atomic.Int64 // of the ids that were made; shared by the dispatches of a run token
	earlier replayedIDs

	mu       sync.Mutex
	agent    context.Context // of the agent, once it runs
	asked    bool            // the agent has called Run.Transcript
	metadata *Metadata
	problems []Problem // that were added

	recorded []*group // in the order in which they began
	groups   map[groupKey]*group
	added    []addedMessage
	labels   []*label

	clock int                 // counts what has a position
	turns map[*actor.Turn]int // places of what belongs to a turn
	kept  int                 // bytes of what was recorded and added
	full  bool
	lost  int // messages that were not kept
}

// Limits of what is kept, in bytes. Names and texts are measured as JSON. A response sends less,
// see fit.
const (
	maxKept           = 4 << 20
	maxTranscriptText = 64 << 10
	maxTranscriptName = 256
	messageOverhead   = 200 // of a message in memory
)

// A position orders what a transcript contains. What happens in the calls of one [proxy.Each] has the
// order of these calls, whichever begins first.
type position struct{ at, index int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.index, q.index))
}

// nextPosition returns the next position. It must be called with t.mu held.
func (t *Transcript) nextPosition(turn *actor.Turn, index int) position {
	if at, ok := t.turns[turn]; ok {
		return position{at, index}
	}
	t.clock++
	if turn != nil {
		if t.turns == nil {
			t.turns = map[*actor.Turn]int{}
		}
		t.turns[turn] = t.clock
	}
	return position{t.clock, index}
}

// addedMessage is a message of [Transcript.Add].
type addedMessage struct {
	Message
	position position
}

// Add adds messages without changing them. They must not be changed afterwards. Only ToolCalls and
// tool messages replace recorded calls. A content part such as Anthropic's tool_use does not.
func (t *Transcript) Add(messages ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range messages {
		if !t.keep(m.size()) {
			t.lost++
			continue
		}
		t.added = append(t.added, addedMessage{m, t.nextPosition(nil, 0)})
	}
}

// keep counts n bytes more, if there is room. After the first that have none, nothing is kept, so
// that no result is without its call. It must be called with t.mu held.
func (t *Transcript) keep(n int) bool {
	t.full = t.full || t.kept+n > maxKept
	if !t.full {
		t.kept += n
	}
	return !t.full
}

// size returns how many bytes a message holds.
func (m *Message) size() int {
	n := messageOverhead + len(m.Content) + len(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += messageOverhead + len(c.ID) + len(c.Name) + len(c.Arguments)
	}
	for _, block := range m.Thinking {
		n += len(block)
	}
	return n
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

// start says that the agent runs with ctx.
func (t *Transcript) start(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agent = ctx
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

// notKept returns how many messages were not kept.
func (t *Transcript) notKept() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.lost
	for _, l := range t.labels {
		n += l.lost
	}
	return n
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

// Messages returns the transcript so far. It begins with the user's instruction, after leading
// system messages. If the agent has added the instruction, it is not repeated. The agent's own
// conversation comes first. Recorded calls, added messages and the conversations of sub-agents
// follow in the order of time. A sub-agent's conversation stands at its first request or call. The
// result of a call that has not ended is a failure.
func (t *Transcript) Messages() []Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.withInstruction(t.blocks())
}

// Response returns a response with the metadata and the messages of the transcript. The last
// message is the assistant's, with the text final. If a conversation already ends with this message, the message is moved.
// Response does not change the transcript.
func (t *Transcript) Response(final string) *Response {
	t.mu.Lock()
	blocks := t.blocks()
	last := Message{Role: RoleAssistant, Content: cutText(final)}
	for i, b := range blocks {
		end := len(b.messages) - 1
		if end < 0 || !b.conversation && i < len(blocks)-1 {
			continue
		}
		if m := b.messages[end]; m.isText() && m.Content.String() == final { // it has the thinking
			last, blocks[i].messages = m, b.messages[:end]
			break
		}
	}
	messages := append(t.withInstruction(blocks), last)
	t.mu.Unlock()
	return &Response{FinalResponse: final, Messages: messages, Metadata: t.metadataCopy()}
}

// withInstruction joins blocks.
func (t *Transcript) withInstruction(blocks []block) []Message {
	var out []Message
	for _, b := range blocks {
		out = append(out, b.messages...)
	}
	if t.run.Instruction == "" || slices.ContainsFunc(out, t.run.saidIn) {
		return out
	}
	at := slices.IndexFunc(out, func(m Message) bool { return m.Role != RoleSystem })
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, Message{Role: RoleUser, Content: cutText(t.run.Instruction)})
}

// saidIn reports whether the user says the instruction in m, perhaps among other text.
func (r *Run) saidIn(m Message) bool {
	return m.Role == RoleUser && strings.Contains(m.Content.String(), r.Instruction)
}

// isText reports whether a message is a text of the assistant, and nothing that goes on.
func (m *Message) isText() bool {
	return m.Role == RoleAssistant && len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content.String()) != ""
}

// newID returns an id that is not among used, not in an earlier turn of this handler, and not in the
// replayed messages. If ctx ends before those have been read, the id is random.
func (t *Transcript) newID(ctx context.Context, used map[string]bool) string {
	earlier, ok := t.earlier.of(ctx, t.run)
	if !ok {
		return "call_" + rand.Text()
	}
	for {
		n := t.numbers.Add(1)
		if id := "call_" + strconv.FormatInt(n, 10); !earlier[n] && !used[id] {
			return id
		}
	}
}

// replayedIDs holds the numbers of the ids "call_1" and so on in the replayed messages of a run.
// They are read when the first id is made.
type replayedIDs struct {
	mu      sync.Mutex
	numbers map[int64]bool
	read    bool
}

// of returns the numbers. ok is false if ctx has ended before they were read.
func (r *replayedIDs) of(ctx context.Context, run *Run) (numbers map[int64]bool, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read {
		return r.numbers, true
	}
	found := map[int64]bool{}
	add := func(id json.RawMessage) {
		digits, made := strings.CutPrefix(rawjson.Unquote(id), "call_")
		if n, err := strconv.ParseInt(digits, 10, 64); made && err == nil {
			found[n] = true
		}
	}
	if json.Valid(run.Messages) { // a test may have made the run
		for message := range rawjson.Elements(run.Messages) {
			if ctx.Err() != nil {
				return nil, false
			}
			add(rawjson.Member(message, "tool_call_id"))
			for call := range rawjson.Elements(rawjson.Member(message, "tool_calls")) {
				add(rawjson.Member(call, "id"))
			}
		}
	}
	r.numbers, r.read = found, true
	return found, true
}
