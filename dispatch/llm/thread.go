package llm

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
)

// A thread is a conversation: what requests have added to it, and what the model has answered, in the
// order in which it came. A request is read from its front: a message of a user stands for the equal
// one, a result for the result of the same call, and a message of the assistant for the answer with one
// of its call ids, or else with its text, or else for the next answer, if the messages around it fit.
// What stands for nothing is added where it stands, unless it stands in the place of another message.
// The thread that has the most of what the request says of the model and of tools takes it, or else the
// one with the most messages. If the request passes over what other requests have added at the end, or
// over an answer to another system prompt, a branch takes it, which takes the place of the thread until
// the thread itself goes on; if it is the last request again, another thread takes it, and of these
// threads those that go on are shown, or else the last with an answer. What the model said is always
// shown as its answer had it, but with the agent's ids of calls.
type thread struct {
	label  *label
	system *system // of the last request
	lines  []*line // an answer that has not come is one without a role
	index  lineIndex
	last   *reply  // to the last request
	parent *thread // of a branch
	again  attempt // whose answer it has another one to
	slot   int     // in the transcript
	turns  int     // requests that added something
	stored string  // the id of the conversation that the server keeps
	size   int     // of lines and system prompts, in bytes
	hides  bool    // system prompts are not shown: they are too large
	prompt bool    // it has the prompt of the run
	stale  bool    // the transcript shows it as it was
}

// request is the conversation of a request.
type request struct {
	system  *system            // the system messages at the beginning
	lines   []*line            // after those, without prefill
	prefill []dispatch.Message // the beginning of the answer that the request ends with

	previous string // the id of the response that the request names
	stored   string // the id of the conversation that the server keeps
}

// An attempt is a request that came again: the thread that it came to first, and its turns then.
type attempt struct {
	of   *thread
	turn int
}

// take takes a request that belongs to the thread. If it is the last request again, a new thread takes it, if there may
// be more of them.
func (th *thread) take(r *request, rd *reading, ids *callIDs, more bool) *reply {
	key := rd.key(r)
	rd.change(ids)
	fresh := th.insert(r, rd, ids)
	th.direct(r.system)
	if r.stored != "" {
		th.stored = r.stored
	}
	if n := len(th.lines) - 1; !fresh && n > rd.last && th.lines[n].reply != nil {
		p := th.lines[n].reply
		start, _ := th.of(p)
		start = max(start, rd.last+1)
		switch first := th.lines[start]; {
		case p.key == key: // the same request
			if !more || !p.answered && p.fault != "" {
				p.system, p.fault, p.unread = th.system, "", false
				return p
			}
			th = th.fork(start)
		case len(r.prefill) > 0 && first.text != 0 && first.text == newLine(r.prefill[0], nil).text: // it goes on with an answer
			r.prefill = []dispatch.Message{first.Message}
			th.cut(start)
			th.lines = th.lines[:start]
		}
	}
	th.turns++
	p := &reply{thread: th, system: th.system, prefill: r.prefill, key: key, turn: th.turns}
	th.lines = append(th.lines, p.waiting()...)
	th.last = p
	return p
}

// fork returns a thread for another answer to the last request. It has the first n lines.
func (th *thread) fork(n int) *thread {
	fork := *th
	fork.lines, fork.index, fork.size, fork.stale = slices.Clone(th.lines[:n]), lineIndex{}, 0, false
	if fork.again.of == nil || th.turns > th.again.turn { // it has gone on with its answer
		fork.again = attempt{th, th.turns}
	}
	fork.turns--
	return &fork
}

// waiting returns the lines of an answer that has not come.
func (r *reply) waiting() []*line {
	if begun := r.begun(); begun != nil {
		return linesOf(begun, r)
	}
	return []*line{{reply: r}}
}

// begun returns the beginning of the answer that the request ends with, if it says something.
func (r *reply) begun() []dispatch.Message {
	if len(r.prefill) == 0 || r.prefill[0].Thinking == nil && strings.TrimSpace(r.prefill[0].Content.String()) == "" {
		return nil
	}
	return r.prefill
}

// insert adds the messages of a request that stand for nothing, and reports whether there are any.
func (th *thread) insert(r *request, rd *reading, ids *callIDs) bool {
	next := len(th.lines) // the line before which a message belongs
	before := make([]int, len(r.lines))
	for i, at := range slices.Backward(rd.at) {
		if at >= 0 {
			next = min(next, at)
		}
		before[i] = next
	}
	var lines []*line // from the first that is added on
	first, copied, reached := 0, 0, 0
	for i, l := range r.lines {
		if rd.at[i] >= 0 {
			reached = max(reached, rd.at[i]+1)
		}
		if rd.at[i] != added {
			continue
		}
		end := max(before[i], reached)
		_, isResult := rd.results[i]
		if !isResult && end < len(th.lines) && th.indexed().askedBefore(end) >= reached { // it replaces a message
			continue
		}
		if lines == nil {
			first, copied = end, end
		}
		lines = append(append(lines, th.lines[copied:end]...), l)
		copied = end
		th.size += sizeOf(l)
		th.prompt = th.prompt || th.label.isPrompt(l)
		l.adopt(rd.results[i], ids)
	}
	if lines == nil {
		return false
	}
	lines = append(lines, th.lines[copied:]...)
	th.cut(first)
	th.lines = append(th.lines[:first], lines...)
	return true
}

// adopt completes a line that is added.
func (l *line) adopt(c callOf, ids *callIDs) {
	l.name(ids)
	if c.line != nil {
		l.ToolCallID = c.line.ToolCalls[c.k].ID
		c.line.results[c.k] = l
	}
}

// answer takes the answer to a request.
func (th *thread) answer(r *reply, messages []dispatch.Message, merges bool, known *facts) {
	start, end := th.of(r)
	if start == end {
		return
	}
	if begun := r.begun(); merges && begun != nil && len(messages) > 0 && messages[0].Role == dispatch.RoleAssistant {
		messages = slices.Clone(messages)
		messages[0].Content = dispatch.Text(begun[0].Content.String() + messages[0].Content.String())
		messages[0].Thinking = slices.Concat(begun[0].Thinking, messages[0].Thinking)
	} else {
		messages = slices.Concat(begun, messages)
	}
	lines := linesOf(messages, r)
	r.id, r.model, r.answered = known.id, known.model, true
	if len(lines) == 0 {
		lines = r.waiting()
	}
	for _, l := range lines {
		th.size += sizeOf(l)
	}
	th.cut(start)
	th.lines = slices.Replace(th.lines, start, end, lines...)
}

// modelAt returns the model of the answer to a turn.
func (th *thread) modelAt(turn int) string {
	for _, l := range slices.Backward(th.lines) {
		if l.reply != nil && l.reply.turn == turn {
			return l.reply.model
		}
	}
	return ""
}

// of returns where the lines of an answer are. They are the same if there are none.
func (th *thread) of(r *reply) (start, end int) {
	for end = len(th.lines); end > 0 && th.lines[end-1].reply != r; {
		end--
	}
	for start = end; start > 0 && th.lines[start-1].reply == r; {
		start--
	}
	return start, end
}

// direct takes the system prompt of a request.
func (th *thread) direct(s *system) {
	switch {
	case th.system != nil && th.system.key == s.key: // the last stays
		th.system.messages = s.messages
	default:
		th.system = s
		th.size += s.size()
	}
}

// messages returns what the thread has. A system prompt stands before the first answer to it, and before the
// messages of users which that answers.
func (th *thread) messages() []dispatch.Message {
	var out []dispatch.Message
	shown, room, answers := &system{}, maxPrompts, false
	for _, l := range th.whole() {
		if l.reply != nil && len(l.reply.system.messages) > 0 && l.reply.system.key != shown.key {
			at := 0
			if answers {
				room -= l.reply.system.size()
				for at = len(out); at > 0 && out[at-1].Role == dispatch.RoleUser; {
					at--
				}
			}
			shown = l.reply.system
			if th.hides = room < 0; !th.hides {
				out = slices.Insert(out, at, shown.messages...)
			}
		}
		answers = answers || l.reply != nil
		if l.Role != "" {
			out = append(out, l.Message)
		}
	}
	return out
}

// whole returns the lines of the thread. Those of a branch come after its parent's.
func (th *thread) whole() []*line {
	if th.parent == nil {
		return th.lines
	}
	before := th.parent.whole()
	known := make(map[*line]bool, len(before))
	for _, l := range before {
		known[l] = true
	}
	all := slices.Clone(before)
	for _, l := range th.lines {
		if !known[l] {
			all = append(all, l)
		}
	}
	return all
}

// goesOn reports whether the thread has more than one request that may be a guard or the like.
func (th *thread) goesOn() bool {
	return th.turns > 1 || th.parent != nil && th.parent.goesOn() || len(th.lines) > 0 && th.lines[len(th.lines)-1].asks()
}

// asks reports whether a line is an answer with calls that has no results.
func (l *line) asks() bool {
	return l.reply != nil && slices.Contains(l.results, nil)
}

// answered reports whether the model has answered.
func (th *thread) answered() bool {
	return slices.ContainsFunc(th.lines, func(l *line) bool { return l.reply != nil && l.reply.answered })
}

// hasPrompt reports whether the user says the prompt of the run.
func (th *thread) hasPrompt() bool { return th.prompt || th.parent != nil && th.parent.hasPrompt() }

// backward yields the messages of the thread from the last one on.
func (th *thread) backward(yield func(int, dispatch.Message) bool) {
	for i, l := range slices.Backward(th.lines) {
		if !yield(i, l.Message) {
			return
		}
	}
}

// A system is the system prompt of a request.
type system struct {
	messages []dispatch.Message
	key      uint64 // equal for prompts that differ in numbers only, such as the time
}

func newSystem(messages []dispatch.Message) *system {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, m := range messages {
		for _, text := range contentTexts(m.Content) {
			for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= '0' && r <= '9' }) {
				_, _ = h.WriteString(word)
			}
		}
		_ = h.WriteByte(0)
	}
	return &system{messages, h.Sum64()}
}

func (s *system) size() (n int) {
	for _, m := range s.messages {
		n += lineOverhead + len(m.Content)
	}
	return n
}

// sizeOf returns about how many bytes a line holds.
func sizeOf(l *line) int {
	n := lineOverhead + len(l.Content)
	for _, call := range l.ToolCalls {
		n += lineOverhead + len(call.Arguments)
	}
	for _, block := range l.Thinking {
		n += len(block)
	}
	return n
}

const lineOverhead = 200

// from returns how many lines come before the messages of a request that continues a response, or a
// conversation that the server keeps. It returns 0 if the request continues none of the thread.
func (th *thread) from(r *request) int {
	if r.stored != "" && r.stored == th.stored {
		return len(th.lines)
	}
	for i, l := range slices.Backward(th.lines) {
		if r.previous == "" {
			break
		}
		if l.reply != nil && l.reply.id == r.previous {
			return i + 1
		}
	}
	return 0
}

// isEmpty reports whether the thread, too, has only the system prompt of a request.
func (th *thread) isEmpty(r *request) bool {
	return len(r.system.messages) > 0 && th.system.key == r.system.key &&
		!slices.ContainsFunc(th.lines, func(l *line) bool { return l.reply == nil })
}

// isAfter reports whether the thread is a branch of another.
func (th *thread) isAfter(other *thread) bool {
	return th.parent != nil && (th.parent == other || th.parent.isAfter(other))
}
