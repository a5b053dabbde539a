package llm

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// runs has the state of each run, for as long as the run exists. The state must not refer to the
// run, or neither would ever be freed.
type runs struct {
	states sync.Map // weak.Pointer[dispatch.Run] to *runState
}

func (s *runs) of(run *dispatch.Run) *runState {
	key := weak.Make(run)
	if state, ok := s.states.Load(key); ok {
		return state.(*runState)
	}
	state, loaded := s.states.LoadOrStore(key, &runState{})
	if !loaded {
		runtime.AddCleanup(run, func(key weak.Pointer[dispatch.Run]) { s.states.Delete(key) }, key)
	}
	return state.(*runState)
}

// runState is what is known of a run's models and conversations. Its methods report to the
// transcript of the run.
type runState struct {
	mu      sync.Mutex
	threads map[string]*thread // by label
	models  []string
	model   string // what was reported of them
}

// A thread is the conversation of a label.
type thread struct {
	messages []dispatch.Message // of the last request
	answer   []dispatch.Message // to it; nil if it is not known
	answerID string

	previous string // the id of the response that the last request names
	chained  int    // how many messages come before those of that request

	turn    int  // rises with each request that adds messages
	open    int  // requests of this turn without their responses
	several bool // two responses to one request came at once
	unclear bool // the conversation is not known any more
}

// Bounds of what is kept of a run.
const (
	maxThreads  = 256
	maxModels   = 8
	maxModelLen = 100
)

// codeUnclear is the code of problems with conversations.
const codeUnclear = "conversation_unclear"

// report adds a problem.
func report(t *dispatch.Transcript, message string) {
	t.AddProblem(dispatch.Problem{Code: codeUnclear, Pointer: "/messages", Message: message})
}

// unclear gives up the conversation of a label.
func (s *runState) unclear(t *dispatch.Transcript, label, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp(t, label, s.thread(t, label), reason)
}

// giveUp needs s.mu.
func (s *runState) giveUp(t *dispatch.Transcript, label string, th *thread, reason string) {
	if th.unclear {
		return
	}
	*th = thread{unclear: true}
	t.SetConversation(label, nil)
	who := "the agent"
	if label != "" {
		who = "the sub-agent " + clip.Text(label, maxShown)
	}
	report(t, "the messages of "+who+" are not sent: "+reason)
}

// thread needs s.mu.
func (s *runState) thread(t *dispatch.Transcript, label string) *thread {
	th := s.threads[label]
	if th == nil {
		th = &thread{}
		if s.threads == nil {
			s.threads = map[string]*thread{}
		}
		if len(s.threads) >= maxThreads {
			report(t, "the run has more than 256 labels; those after them have no messages")
			th.unclear = true
			return th
		}
		s.threads[label] = th
	}
	return th
}

// begin takes the conversation of a request that the model has accepted, and returns its turn.
func (s *runState) begin(run *dispatch.Run, label string, d *dialect, p prompt) (turn int) {
	t := run.Transcript()
	s.mu.Lock()
	defer s.mu.Unlock()
	th := s.thread(t, label)
	if th.unclear {
		return 0
	}
	messages, reason := th.follow(run, d, p)
	if reason != "" {
		s.giveUp(t, label, th, reason)
		return 0
	}
	if th.turn > 0 && len(messages) == len(th.messages) { // the same request again
		th.several = th.open > 0
	} else {
		th.turn, th.open, th.several = th.turn+1, 0, false
	}
	th.open++
	th.messages, th.answer, th.answerID = messages, nil, ""
	t.SetConversation(label, messages)
	return th.turn
}

// Reasons to give up a conversation.
const (
	reasonAppend = "a request does not append to the one before it; the agent has shortened or changed its history, or changed its " +
		"system prompt, or has several conversations; give each of them a label with proxy.WithActor"
	reasonStored = "the server keeps the conversation; send it whole, or name the response before, of this run, with previous_response_id"
)

// follow returns the whole conversation of a request, or why it is not known.
func (th *thread) follow(run *dispatch.Run, d *dialect, p prompt) (messages []dispatch.Message, reason string) {
	if p.stored {
		return nil, reasonStored
	}
	c := converter{dialect: d}
	messages, err := c.convert(p)
	if err != nil {
		return nil, "a request cannot be read: " + err.Error()
	}
	if p.previous != "" {
		return th.chain(run, p.previous, messages)
	}
	if !th.begins(messages) {
		return nil, reasonAppend
	}
	// An agent may leave out thinking when it sends a response back.
	rest := messages[len(th.messages):]
	whole := slices.Concat(th.messages, rest)
	if n := min(len(rest), len(th.answer)); slices.EqualFunc(th.answer[:n], rest[:n], same) {
		copy(whole[len(th.messages):], th.answer[:n])
	}
	return whole, ""
}

// begins reports whether messages begin with those of the last request.
func (th *thread) begins(messages []dispatch.Message) bool {
	return len(messages) >= len(th.messages) && slices.EqualFunc(th.messages, messages[:len(th.messages)], same)
}

// chain returns the conversation of a request that has only what follows a response. That is the
// last response, or the same as before if the request is repeated. The first request of a turn of a
// session may name the response of an earlier turn, which does not belong to the transcript, if it
// has the prompt of this turn.
func (th *thread) chain(run *dispatch.Run, previous string, messages []dispatch.Message) ([]dispatch.Message, string) {
	var before []dispatch.Message
	switch {
	case th.turn == 0:
		if !prompts(run, messages) {
			return nil, reasonStored
		}
	case previous == th.answerID:
		before = slices.Concat(th.messages, th.answer)
	case previous == th.previous:
		before = th.messages[:th.chained]
	default:
		return nil, reasonStored
	}
	whole, reason := chained(before, messages)
	if reason == "" && !th.begins(whole) {
		reason = reasonAppend
	}
	if reason != "" {
		return nil, reason
	}
	th.previous, th.chained = previous, len(before)
	return whole, ""
}

// prompts reports whether messages have the prompt of a turn of a session.
func prompts(run *dispatch.Run, messages []dispatch.Message) bool {
	return run.SessionID != "" && run.Instruction != "" && slices.ContainsFunc(messages, func(m dispatch.Message) bool {
		return m.Role == dispatch.RoleUser && strings.Contains(m.Content.String(), run.Instruction)
	})
}

// chained joins messages to those before them. Instructions belong to each request.
func chained(before, messages []dispatch.Message) ([]dispatch.Message, string) {
	system := func(messages []dispatch.Message) int {
		if len(messages) > 0 && messages[0].Role == dispatch.RoleSystem {
			return 1
		}
		return 0
	}
	if n := system(messages); n > 0 && len(before) > 0 {
		if system(before) == 0 || !same(messages[0], before[0]) {
			return nil, reasonAppend
		}
		messages = messages[n:]
	}
	return slices.Concat(before, messages), ""
}

// same reports whether two messages are equal, but for their thinking.
func same(a, b dispatch.Message) bool {
	return a.Role == b.Role && a.ToolCallID == b.ToolCallID && bytes.Equal(a.Content, b.Content) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b dispatch.ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && rawjson.Equal(a.Arguments, b.Arguments) // SDKs sort members
		})
}

// finish takes the response to a request.
func (s *runState) finish(t *dispatch.Transcript, label string, turn int, d *dialect, f *facts, elements []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(t, f)
	th := s.thread(t, label)
	if th.unclear || th.turn != turn {
		return
	}
	th.open--
	if th.several || elements == nil {
		return
	}
	answer, err := th.read(d, elements)
	if err != nil {
		return // the next request tells
	}
	th.answer, th.answerID = answer, f.id
	t.SetConversation(label, slices.Concat(th.messages, answer))
}

// read converts a response. Ids that are made continue those of the conversation.
func (th *thread) read(d *dialect, elements []json.RawMessage) ([]dispatch.Message, error) {
	c := converter{dialect: d, ids: map[string]bool{}}
	for _, m := range th.messages {
		for _, call := range m.ToolCalls {
			c.ids[call.ID] = true
		}
	}
	for _, element := range elements {
		if err := c.element(element, ""); err != nil {
			return nil, err
		}
	}
	c.end()
	return c.out, nil
}

// count reports models and tokens. It needs s.mu.
func (s *runState) count(t *dispatch.Transcript, f *facts) {
	input, output := f.usage.total()
	name := clip.Text(f.model, maxModelLen)
	if name != "" && len(s.models) < maxModels && !slices.Contains(s.models, name) {
		s.models = append(s.models, name)
	}
	listed := strings.Join(s.models, ", ")
	t.UpdateMetadata(func(m *dispatch.Metadata) {
		if m.Model == "" || m.Model == s.model { // the agent's own word wins
			m.Model = listed
		}
		m.TotalInputTokens += input
		m.TotalOutputTokens += output
	})
	s.model = listed
}
