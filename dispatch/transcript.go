package dispatch

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/runctx"
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
// An agent may add its whole conversation. An added assistant message replaces the recorded calls with
// the same ids, or else with the same tools and arguments. An added tool message replaces the recorded
// result.
//
// The transcript keeps 64 KiB of each text of a recorded call, and 4 MiB each of what was recorded
// and added, of the agent's own conversation, and of the conversations of its sub-agents. A
// response contains at most 1,000 messages and 1 MiB of them as JSON. A problem with the code
// messages_removed counts the messages that were not kept or not sent.
type Transcript struct {
	run     *Run
	numbers *atomic.Int64 // of the ids that were made; shared by the dispatches of a run token
	asked   atomic.Bool   // the agent has called Run.Transcript, or a recorder has written
	calls   atomic.Int64  // that have begun

	others *runctx.Kept[Run] // what other packages keep for the run; nil if this package did not make the run

	readReplayed sync.Once
	replayed     map[int64]bool // numbers of ids in the replayed messages; read when the first id is made

	mu       sync.Mutex
	agent    context.Context // of the agent, once it runs
	metadata *Metadata
	problems []Problem // that were added

	actors []*actor            // of the conversations that were set, and of the recorded calls
	byKey  map[actorKey]*actor // the actors
	added  []row               // the messages that were added
	groups []*group            // the calls that were recorded, in the order in which the groups began

	clock     int                  // counts what has a position
	turns     map[*runctx.Turn]int // positions of what belongs to a turn
	lastAdded int                  // position of the last message that was added

	kept            int // bytes of what was recorded and added
	keptOfAgent     int // bytes of the agent's own conversation
	keptOfSubAgents int // bytes of the other conversations
	lost            int // messages that were recorded or added, and not kept
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

// nextPosition returns the next position, or the position in a turn that has one. It must be called
// with t.mu held.
func (t *Transcript) nextPosition(turn *runctx.Turn, index int) position {
	if at, ok := t.turns[turn]; ok {
		return position{at, index}
	}
	t.clock++
	if turn != nil {
		if t.turns == nil {
			t.turns = map[*runctx.Turn]int{}
		}
		t.turns[turn] = t.clock
	}
	return position{t.clock, index}
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
		p := t.nextPosition(nil, 0)
		t.added, t.lastAdded = append(t.added, row{Message: m, position: p}), p.at
	}
}

// keep counts n bytes that were recorded or added, if there is room. After the first that have none,
// nothing is kept, so that no result is without its call. It must be called with t.mu held.
func (t *Transcript) keep(n int) bool {
	ok := takeRoom(&t.kept, n)
	if !ok {
		t.kept = maxKept
	}
	return ok
}

// takeRoom counts n bytes more in kept, if there is room.
func takeRoom(kept *int, n int) bool {
	ok := n <= maxKept-*kept
	if ok {
		*kept += n
	}
	return ok
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

// An actorKey names an actor: its label, which is "" for the agent itself, and one of its conversations,
// if a transport has found several.
type actorKey struct {
	label  string
	thread runctx.Thread
}

// An actor is a sub-agent, or the agent itself, with the conversation that was set for it.
type actor struct {
	actorKey
	position position                // of its first request or call; the agent itself comes first
	groups   map[*runctx.Turn]*group // the latest of each turn, and of calls that belong to no turn
	prompt   int                     // place of the present prompt in what was set, from 1; 0 for none
	messages []Message               // the kept ones
	size     int                     // of messages, in bytes
	lost     int                     // messages that were not kept
	last     []ToolCall              // the calls of the last answer
	asked    map[string]int          // counts of the calls in last that have not begun, by id and by hash; see asker
}

// actor returns the actor of a key. It must be called with t.mu held.
func (t *Transcript) actor(ctx context.Context, key actorKey) *actor {
	if a := t.byKey[key]; a != nil {
		return a
	}
	a := &actor{actorKey: key, groups: map[*runctx.Turn]*group{}}
	if key != (actorKey{}) {
		a.position = t.nextPosition(runctx.TurnOf(ctx))
	}
	if t.byKey == nil {
		t.byKey = map[actorKey]*actor{}
	}
	t.actors, t.byKey[key] = append(t.actors, a), a
	return a
}

// conversation returns the actor whose conversation a context is of.
func (t *Transcript) conversation(ctx context.Context) *actor {
	return t.actor(ctx, actorKey{runctx.Actor(ctx), runctx.From[runctx.Thread](ctx)})
}

// A recorder is how package llm, which sees all requests to a model, writes into a transcript. The
// response then contains the transcript, as if the agent had called [Run.Transcript].
type recorder struct{ *Transcript }

var _ runctx.Recorder[Message, Problem, Metadata] = recorder{}

// SetConversation sets the conversation of a sub-agent with its model, from its first message to
// its last. The sub-agent is the label of [proxy.WithActor] in ctx. Without a label, the
// conversation is the agent's own. The conversation replaces the one that was set for the label
// before. If messages is empty, the label has no conversation. The messages must not be changed
// afterwards.
//
// A recorded call is left out of [Transcript.Messages] if a conversation contains it: a tool call
// with the same id, or else with the same tool and arguments. If the conversation does not contain the
// result of the call, the recorded one follows, with the id of [proxy.WithCallID]. In a session,
// messages of earlier turns are left out.
func (t recorder) SetConversation(ctx context.Context, messages []Message) {
	t.asked.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.conversation(ctx)
	kept := &t.keptOfAgent
	if a.actorKey != (actorKey{}) {
		kept = &t.keptOfSubAgents
	}
	*kept -= a.size
	a.messages, a.size, a.lost = a.ofThisTurn(t.run, messages), 0, 0
	a.setEnd(slices.Backward(messages))
	for i, m := range a.messages {
		n := m.size()
		if !takeRoom(kept, n) {
			a.messages, a.lost = a.messages[:i:i], len(a.messages)-i
			break
		}
		a.size += n
	}
}

// SetEnd tells how a conversation that has gone on ends, from its last message on. SetConversation sets all of it
// before the transcript is read.
func (t recorder) SetEnd(ctx context.Context, backward iter.Seq2[int, Message]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conversation(ctx).setEnd(backward)
}

// ofThisTurn leaves out the messages of earlier turns of the session. These end where the user says
// the present prompt: at the same place as before, because later messages may repeat it, or else at
// its last occurrence. System messages at the beginning belong to every turn.
func (a *actor) ofThisTurn(r *Run, messages []Message) []Message {
	if r.Instruction == "" || r.SessionID == "" && r.Messages == nil {
		return messages
	}
	if a.prompt == 0 || a.prompt > len(messages) || !r.saidIn(messages[a.prompt-1]) {
		a.prompt = 0
		for i, m := range slices.Backward(messages) {
			if r.saidIn(m) {
				a.prompt = i + 1
				break
			}
		}
	}
	system := slices.IndexFunc(messages, func(m Message) bool { return m.Role != RoleSystem })
	if a.prompt-1 <= system {
		return messages
	}
	return slices.Concat(messages[:system], messages[a.prompt-1:])
}

// UpdateMetadata calls change with the metadata that is sent with the response, for example to add
// the tokens of a model's answer. Calls of change do not overlap. change must not call methods of
// the transcript.
func (t recorder) UpdateMetadata(change func(*Metadata)) {
	t.asked.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.metadata == nil {
		t.metadata = &Metadata{}
	}
	change(t.metadata)
}

// AddProblem adds a problem of the response. The handler logs it with the answer, and package
// dispatchtest shows it in its results. Repeated problems, and problems after the first 100, are
// ignored.
func (t recorder) AddProblem(p Problem) {
	t.asked.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.problems) < maxTranscriptProblems && !slices.Contains(t.problems, p) {
		t.problems = append(t.problems, p)
	}
}

const maxTranscriptProblems = 100

// Messages returns the transcript so far. It begins with the user's instruction, after leading
// system messages. If the agent has added the instruction, it is not repeated. The agent's own
// conversation comes first. Recorded calls, added messages and the conversations of sub-agents
// follow in the order of time. A sub-agent's conversation stands at its first request or call. The
// result of a call that has not ended is a failure. The caller may change the list and the calls in it,
// but not their JSON.
func (t *Transcript) Messages() []Message {
	t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages(t.rows())
}

// Response returns a response with the metadata and the messages of the transcript. The last message is
// the assistant's, with the text final. If a conversation already ends with this message, the message is
// moved. Response does not change the transcript.
func (t *Transcript) Response(final string) *Response {
	t.settle()
	t.mu.Lock()
	rows, last := t.rows(), Message{Role: RoleAssistant, Content: textContent(final)}
	for i, r := range rows {
		ends := i == len(rows)-1 || r.actor != nil && r.actor != rows[i+1].actor
		if ends && r.isText() && r.Content.String() == final { // it has the thinking
			last, rows = r.Message, slices.Delete(rows, i, i+1)
			break
		}
	}
	messages := append(t.messages(rows), last)
	t.mu.Unlock()
	return &Response{FinalResponse: final, Messages: messages, Metadata: t.metadataCopy()}
}

// messages returns the messages of rows, with the recorded results and the instruction.
func (t *Transcript) messages(rows []row) []Message {
	var out []Message
	for _, r := range rows {
		out = append(out, r.Message)
		for i, c := range r.results {
			if c != nil {
				out = append(out, c.result(r.ToolCalls[i].ID))
			}
		}
	}
	if t.run.Instruction == "" || slices.ContainsFunc(out, t.run.saidIn) {
		return out
	}
	at := slices.IndexFunc(out, func(m Message) bool { return m.Role != RoleSystem })
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, Message{Role: RoleUser, Content: textContent(t.run.Instruction)})
}

// saidIn reports whether the user says the instruction in m, perhaps among other text.
func (r *Run) saidIn(m Message) bool {
	return m.Role == RoleUser && strings.Contains(m.Content.String(), r.Instruction)
}

// isText reports whether a message is a text of the assistant, and nothing that goes on.
func (m *Message) isText() bool {
	return len(m.ToolCalls) == 0 && m.hasText()
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

// losses returns the problems that were added, the problems that another package finds as things stand, and
// how many messages were not kept.
func (t *Transcript) losses() (problems []Problem, lost int) {
	problems = t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	lost = t.lost
	for _, a := range t.actors {
		lost += a.lost
	}
	return slices.Concat(t.problems, problems), lost
}

// settle lets package llm set what it has not set yet, and returns the problems that it finds as things stand.
func (t *Transcript) settle() []Problem {
	if settle := runctx.Find[func() []Problem](t.others); settle != nil {
		return settle() // it uses the transcript
	}
	return nil
}

// start says that the agent runs with ctx.
func (t *Transcript) start(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agent = ctx
}
