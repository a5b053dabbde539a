package dispatch

import (
	"context"
	"slices"

	"github.com/toolwire/toolwire/internal/actor"
)

// A label is a sub-agent, or the agent itself, with the conversation that was set for it.
type label struct {
	actor    string
	position position  // of its first request or call; the agent itself comes first
	prompt   int       // place of the present prompt in what was set, from 1; 0 for none
	messages []Message // the kept ones
	size     int       // of messages, in bytes
	lost     int       // messages that were not kept
}

// label returns the label of an actor. It must be called with t.mu held.
func (t *Transcript) label(ctx context.Context, name string) *label {
	for _, l := range t.labels {
		if l.actor == name {
			return l
		}
	}
	l := &label{actor: name}
	if name != "" {
		l.position = t.nextPosition(actor.TurnOf(ctx))
	}
	t.labels = append(t.labels, l)
	return l
}

// SetConversation sets the conversation of a sub-agent with its model, from its first message to
// its last. The sub-agent is the label of [proxy.WithActor] in ctx. Without a label, the
// conversation is the agent's own. The conversation replaces the one that was set for the label
// before. If messages is empty, the label has no conversation. The messages must not be changed
// afterwards.
//
// A recorded call is left out of [Transcript.Messages] if a conversation contains it: a tool call
// with the same id, or, for a call without [proxy.WithCallID], with the same tool and arguments. If
// the conversation does not contain the result of the call, the recorded one follows. In a session,
// messages of earlier turns are left out.
//
// SetConversation is for code that sees all requests to a model. An agent that adds messages one by
// one uses [Transcript.Add] instead.
func (t *Transcript) SetConversation(ctx context.Context, messages []Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.label(ctx, actor.From(ctx))
	messages = l.ofThisTurn(t.run, messages)
	room := maxKept
	for _, other := range t.labels {
		if other != l && other.actor != "" && l.actor != "" {
			room -= other.size
		}
	}
	l.size, l.lost = 0, 0
	for i := range messages {
		n := messages[i].size()
		if l.size+n > room {
			messages, l.lost = messages[:i:i], len(messages)-i
			break
		}
		l.size += n
	}
	l.messages = messages
}

// AddProblem adds a problem of the response. The handler logs it with the answer, and package
// dispatchtest shows it in its results. Repeated problems, and problems after the first 100, are
// ignored.
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

// ofThisTurn leaves out the messages of earlier turns of the session. These end where the user says
// the present prompt: at the same place as before, because later messages may repeat it, or else at
// its last occurrence. System messages at the beginning belong to every turn.
func (l *label) ofThisTurn(r *Run, messages []Message) []Message {
	if r.Instruction == "" || r.SessionID == "" && r.Messages == nil {
		return messages
	}
	if l.prompt == 0 || l.prompt > len(messages) || !r.saidIn(messages[l.prompt-1]) {
		l.prompt = 0
		for i, m := range slices.Backward(messages) {
			if r.saidIn(m) {
				l.prompt = i + 1
				break
			}
		}
	}
	system := slices.IndexFunc(messages, func(m Message) bool { return m.Role != RoleSystem })
	if l.prompt-1 <= system {
		return messages
	}
	return slices.Concat(messages[:system], messages[l.prompt-1:])
}
