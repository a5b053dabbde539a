package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A thread is a conversation: requests that each append to the one before. A request that has only a
// part of a thread's messages begins another thread, which comes after it.
type thread struct {
	request         // the last one
	first, last int // numbers of requests

	parent *thread            // what was said before; nil if this is not known to come after anything
	before []dispatch.Message // the messages of parent
	known  int                // how many of messages are in before, or replace some of it

	answer   []dispatch.Message // to the last request, with prefill; nil if it is not known
	answerID string

	turn    int  // rises with each request that adds messages
	open    int  // requests of this turn without their responses
	several bool // two responses to one request came at once
}

// request is the conversation of a request.
type request struct {
	system   []dispatch.Message // the system messages at the beginning
	messages []dispatch.Message // after those, without prefill
	prefill  []dispatch.Message // the beginning of the answer that the request ends with

	previous string // the id of the response that the request names
	chained  int    // how many of messages come before the messages of the request itself
}

// read returns the whole conversation of a request, or why it is not known.
func (l *label) read(run *dispatch.Run, d *dialect, p prompt) (r request, reason string) {
	if p.stored {
		return r, reasonStored
	}
	c := converter{dialect: d}
	messages, err := c.convert(p)
	if err != nil {
		return r, "a request cannot be read: " + err.Error()
	}
	n := 0
	for n < len(messages) && messages[n].Role == dispatch.RoleSystem {
		n++
	}
	r = request{system: messages[:n], messages: messages[n:], previous: p.previous}
	if p.previous != "" && !l.chain(run, &r) {
		return r, reasonStored
	}
	if n := len(r.messages) - 1; n >= 0 {
		if last := r.messages[n]; last.Role == dispatch.RoleAssistant && len(last.ToolCalls) == 0 {
			r.messages, r.prefill = r.messages[:n:n], r.messages[n:]
		}
	}
	return r, ""
}

// chain completes a request that has only what follows a response. That is the last response of a
// thread, or the same as before if the request is repeated. The first request of a turn of a session
// may name the response of an earlier turn, which does not belong to the transcript, if it has the
// prompt of this turn.
func (l *label) chain(run *dispatch.Run, r *request) bool {
	for _, th := range slices.Backward(l.threads) {
		before := th.messages
		switch r.previous {
		case th.answerID:
			before = slices.Concat(before, th.answer)
		case th.previous:
			before = before[:min(th.chained, len(before))]
		default:
			continue
		}
		if len(r.system) == 0 { // instructions belong to each request
			r.system = th.system
		}
		r.messages, r.chained = slices.Concat(before, r.messages), len(before)
		return true
	}
	return l.threads == nil && run.SessionID != "" && slices.ContainsFunc(r.messages, prompts(run, strings.Contains))
}

// prompts returns a function that reports whether a message of the user has the prompt of the run.
func prompts(run *dispatch.Run, has func(text, prompt string) bool) func(dispatch.Message) bool {
	return func(m dispatch.Message) bool {
		return m.Role == dispatch.RoleUser && run.Instruction != "" && has(m.Content.String(), run.Instruction)
	}
}

// follow returns the thread that a request belongs to: the one that it appends to, or a new one. A
// new thread comes after another one if it has a part of its messages. It is aside if it has none.
func (l *label) follow(run *dispatch.Run, messages []dispatch.Message) (th *thread, aside bool) {
	for _, old := range l.threads {
		if len(old.messages) == 0 && len(l.threads) > 1 { // anything appends to a system prompt
			continue
		}
		if old.isBefore(messages) && (th == nil || len(old.messages) >= len(th.messages)) {
			th = old
		}
	}
	if th != nil {
		for _, other := range l.threads {
			if other.parent == th { // it did not come after th, which goes on
				other.parent, aside = nil, aside || other.turn == 1
			}
		}
		return th, aside
	}
	th = &thread{}
	for _, old := range slices.Backward(l.threads) {
		if known := old.shares(messages); known > 0 {
			th.follows(old, known)
			break
		}
	}
	aside = th.parent == nil && l.threads != nil
	if len(l.threads) == maxThreads {
		main, _ := l.main(run)
		i := slices.IndexFunc(l.threads, func(old *thread) bool { return old != main })
		l.threads = slices.Delete(l.threads, i, i+1)
	}
	l.threads = append(l.threads, th)
	return th, aside
}

// follows says that th comes after parent, whose messages th has no longer. The first ones of th,
// as many as are known, are not new.
func (th *thread) follows(parent *thread, known int) {
	before := parent.whole()
	th.parent, th.before, th.known = parent, before[:min(len(before), maxBefore)], known
}

// isBefore reports whether messages begin with the messages of the last request.
func (th *thread) isBefore(messages []dispatch.Message) bool {
	return len(messages) >= len(th.messages) && slices.EqualFunc(th.messages, messages[:len(th.messages)], same)
}

// shares returns how many of messages are not new in a thread whose history is shortened: those up to
// its end, or those with which it begins. It returns 0 if messages are not of this thread.
func (th *thread) shares(messages []dispatch.Message) int {
	if whole := slices.Concat(th.messages, th.answer); len(whole) > 0 {
		for i, m := range slices.Backward(messages) {
			if same(m, whole[len(whole)-1]) {
				return i + 1
			}
		}
	}
	n := 0
	for n < min(len(messages), len(th.messages)) && same(messages[n], th.messages[n]) {
		n++
	}
	if n == len(messages) { // it has nothing new
		return 0
	}
	return n
}

// take takes a request that belongs to the thread. An agent may leave out thinking when it sends a
// response back.
func (th *thread) take(r request) {
	rest := r.messages[len(th.messages):]
	r.messages = slices.Concat(th.messages, rest)
	if n := min(len(rest), len(th.answer)); slices.EqualFunc(th.answer[:n], rest[:n], same) {
		copy(r.messages[len(th.messages):], th.answer[:n])
	}
	if th.turn > 0 && len(rest) == 0 { // the same request again
		th.several = th.open > 0
	} else {
		th.turn, th.open, th.several = th.turn+1, 0, false
	}
	th.open++
	th.request, th.answer, th.answerID = r, nil, ""
}

// whole returns all messages of the thread but the system prompt.
func (th *thread) whole() []dispatch.Message {
	answer := th.answer
	if answer == nil {
		answer = th.prefill
	}
	return slices.Concat(th.before, th.messages[th.known:], answer)
}

// goesOn reports whether the thread has more than a request that may be a guard or the like.
func (th *thread) goesOn() bool { return th.turn > 1 || th.parent != nil }

// main returns the thread that is the conversation: the one that goes on. If several do, each must
// begin when the one before it has ended. If none does, it is the one with the prompt of the run, or
// else the first. ok is false if several go on at once.
func (l *label) main(run *dispatch.Run) (main *thread, ok bool) {
	ended := map[*thread]bool{}
	for _, th := range l.threads {
		ended[th.parent] = true
	}
	for _, th := range l.threads {
		switch {
		case !th.goesOn() || ended[th]:
		case main == nil:
			main = th
		case main.last < th.first:
			th.follows(main, th.known)
			main = th
		default:
			return nil, false
		}
	}
	if main != nil {
		return main, true
	}
	i := slices.IndexFunc(l.threads, func(th *thread) bool {
		return slices.ContainsFunc(th.messages, prompts(run, func(text, prompt string) bool { return text == prompt }))
	})
	return l.threads[max(i, 0)], true
}

// same reports whether two messages are equal, but for their thinking.
func same(a, b dispatch.Message) bool {
	return a.Role == b.Role && a.ToolCallID == b.ToolCallID && bytes.Equal(a.Content, b.Content) &&
		slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b dispatch.ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && rawjson.Equal(a.Arguments, b.Arguments) // SDKs sort members
		})
}

// read converts a response. Made ids continue the numbers of the conversation.
func (th *thread) read(d *dialect, elements []json.RawMessage) ([]dispatch.Message, error) {
	c := converter{dialect: d, ids: map[string]bool{}}
	for _, m := range slices.Concat(th.before, th.messages) {
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
