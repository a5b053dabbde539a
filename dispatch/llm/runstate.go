package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// runState is what is known of a run's models and conversations. Its methods report to the transcript of
// the run.
type runState struct {
	run        *dispatch.Run
	transcript recorder

	mu     sync.Mutex
	labels map[string]*label
	ids    callIDs
	size   int       // of all threads, in bytes
	stale  []*thread // which the transcript shows as they were
	traffic
	models []string
	model  string // what was reported of them
}

type recorder = runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata]

// stateOf returns the state of a run.
func stateOf(kept *runctx.Kept[dispatch.Run]) *runState {
	s := runctx.Keep(kept, func() *runState {
		return &runState{run: kept.Run, transcript: kept.Recorder.(recorder),
			ids: callIDs{used: map[string]bool{}, made: map[string]bool{}}}
	})
	runctx.Keep(kept, func() func() []dispatch.Problem { return s.settle })
	return s
}

// A label has the conversations of a sub-agent, or of the agent itself.
type label struct {
	who     string
	ctx     context.Context // that has it
	prompt  string          // of the run
	threads []*thread       // in the order in which they began
	shown   map[*thread]int // the threads that are in the transcript; see runctx.Thread
	began   int             // threads
}

// Bounds of what is kept of a run.
const (
	maxLabels   = 256
	maxThreads  = 32 // of a label
	maxAttempts = 8  // at one request
	maxSize     = 64 << 20
	maxPrompts  = 128 << 10 // bytes of the system prompts of a conversation after its first
	maxModels   = 8
	maxModelLen = 100
)

// Codes of problems with conversations.
const (
	codeUnclear = "conversation_unclear"
	codeLeftOut = "request_left_out"
)

const (
	problemStored = "the server keeps a part of the conversation of %s, which is not sent; send it whole, or name the response " +
		"before, of this run, with previous_response_id"
	problemCached   = "what a cachedContent of %s holds is not sent: only the provider has it"
	problemTemplate = "the prompt of %s is not sent: the server keeps it"
	problemThreads  = "%s has more than 32 conversations; further ones are not sent; give sub-agents a label with proxy.WithActor"
	problemPrompts  = "the system prompt of %s changes so often that its later forms are not sent: they have more than 128 KiB"
	problemSize     = "the conversations of the run have more than 64 MiB; what follows is not sent"
	problemLabels   = "the run has more than 256 labels; further ones have no messages"
	problemLeftOut  = "a request of %s is not a part of its conversation, like the request of a guard, a title or a summary, or the " +
		"same request to another model; it is left out unless a later request goes on with it; give it a label with proxy.WithActor to have it sent"
)

// note adds a problem that stays.
func (s *runState) note(format string, args ...any) {
	s.transcript.AddProblem(problemOf(codeUnclear, format, args...))
}

func problemOf(code, format string, args ...any) dispatch.Problem {
	return dispatch.Problem{Code: code, Pointer: "/messages", Message: fmt.Sprintf(format, args...)}
}

// settle sets the conversations that have gone on, so that the transcript can be read. It returns the problems that
// later requests may take away: requests that are left out, and answers that are missing at the end of a thread.
func (s *runState) settle() (all []dispatch.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, th := range s.stale {
		if slot, shown := th.label.shown[th]; shown && th.stale {
			s.show(th.label.ctx, th, slot)
		}
		th.stale = false
	}
	s.stale = nil
	for _, l := range s.labels {
		if len(l.threads) > len(l.shown) && slices.ContainsFunc(l.threads, l.leftOut) {
			all = append(all, problemOf(codeLeftOut, problemLeftOut, l.who))
		}
		for _, th := range l.threads {
			if _, shown := l.shown[th]; shown && th.hides {
				all = append(all, problemOf(codeUnclear, problemPrompts, l.who))
			}
			switch r := th.last; {
			case l.isReplaced(th) && (r.fault == "" || slices.ContainsFunc(l.attempts(th), func(other *thread) bool { return other.turns > th.turns })):
			case r.fault != "":
				all = append(all, faultOf(r))
			case !r.answered:
				all = append(all, problemOf(codeUnclear, "a response of the model is not in the transcript: it has not ended"))
			}
		}
	}
	all = append(all, s.traffic.problems()...)
	slices.SortFunc(all, func(a, b dispatch.Problem) int { return strings.Compare(a.Message, b.Message) })
	return slices.Compact(all)
}

func faultOf(r *reply) dispatch.Problem {
	if r.unread {
		return problemOf(codeUnclear, "a response of the model was not read: %s", r.fault)
	}
	return problemOf(codeUnclear, "a response of the model is not in the transcript: %s", r.fault)
}

// leftOut reports whether a thread is neither sent nor a part of one that is. An answer that another one to the same
// request has replaced is left out if it is another model's.
func (l *label) leftOut(th *thread) bool {
	if _, ok := l.shown[th]; ok {
		return false
	}
	if l.isReplaced(th) {
		return th.last.answered && slices.ContainsFunc(l.attempts(th), func(other *thread) bool {
			_, shown := l.shown[other]
			return shown && other.modelAt(th.last.turn) != th.last.model
		})
	}
	return !slices.ContainsFunc(l.threads, func(child *thread) bool { return child.parent == th && !l.leftOut(child) })
}

// label returns the label of a context, or nil if there are too many. It must be called with s.mu held.
func (s *runState) label(ctx context.Context) *label {
	name := runctx.Actor(ctx)
	l := s.labels[name]
	if l == nil {
		if len(s.labels) >= maxLabels {
			s.note(problemLabels)
			return nil
		}
		l = &label{who: "the agent", prompt: s.run.Instruction, shown: map[*thread]int{}, ctx: runctx.WithActor(context.Background(), name)}
		if name != "" {
			l.who = "the sub-agent " + text.Cut(name, maxShown)
		}
		if s.labels == nil {
			s.labels = map[string]*label{}
		}
		s.labels[name] = l
	}
	return l
}

// begin takes the conversation of a request that the model has accepted, and returns the place of its
// answer, or nil if there is none.
func (s *runState) begin(ctx context.Context, d *dialect, p prompt) *reply {
	r, faults := readRequest(d, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = true
	l := s.label(ctx)
	if l == nil {
		return nil
	}
	for _, fault := range faults {
		s.note("a part of a request of %s was not read: %s", l.who, fault.Error())
	}
	if p.cached {
		s.note(problemCached, l.who)
	}
	if p.template {
		s.note(problemTemplate, l.who)
	}
	if s.size > maxSize {
		s.note(problemSize)
		return nil
	}
	if len(l.threads) > maxThreads-maxAttempts {
		s.forget(l)
	}
	th, rd := s.thread(ctx, l, r)
	if th == nil {
		s.note(problemThreads, l.who)
		return nil
	}
	before, size := th.last, th.size
	answer := th.take(r, rd, &s.ids, len(l.threads) < maxThreads && len(l.attempts(th)) < maxAttempts)
	if answer.thread != th {
		th, size = answer.thread, 0
		s.add(ctx, l, th)
	}
	s.size += th.size - size
	if before != nil && before.unread { // the thread goes on, but what it said is not known
		s.transcript.AddProblem(faultOf(before))
	}
	s.publish(ctx, th)
	return answer
}

// readRequest returns the conversation of a request, and what could not be read of it.
func readRequest(d *dialect, p prompt) (r *request, faults []error) {
	c := converter{dialect: d, made: made, faults: &faults}
	messages, _ := c.convert(p)
	r = &request{previous: p.previous, stored: p.stored}
	n := slices.IndexFunc(messages, func(m dispatch.Message) bool { return m.Role != dispatch.RoleSystem })
	if n < 0 {
		n = len(messages)
	}
	r.system, messages = newSystem(messages[:n:n]), messages[n:]
	if n := len(messages) - 1; n >= 0 {
		if last := messages[n]; last.Role == dispatch.RoleAssistant && len(last.ToolCalls) == 0 {
			messages, r.prefill = messages[:n:n], messages[n:]
		}
	}
	for _, m := range messages {
		r.lines = append(r.lines, newLine(m, nil))
	}
	return r, faults
}

// thread returns the thread that takes a request: one that it goes on with, a branch of one, or a new one. It
// returns nil if there are too many.
func (s *runState) thread(ctx context.Context, l *label, r *request) (*thread, *reading) {
	var best *reading
	var of *thread
	for _, th := range l.threads {
		from := th.from(r)
		rd := th.compare(r, from)
		if (rd.belongs() || len(r.lines) == 0 && th.isEmpty(r)) && rd.better(best) {
			of, best = th, rd
		}
		if from > 0 {
			break
		}
	}
	if n := len(l.threads); best == nil && r.previous != "" && n > 0 && l.threads[n-1].last.unread { // its id is not known
		of = l.threads[n-1]
		best = of.compare(r, len(of.lines))
	}
	if (r.previous != "" || r.stored != "") && (best == nil || best.fits == 0) && !s.began(l, r) {
		s.note(problemStored, l.who)
	}
	if best != nil && !best.branches(of, r) {
		for _, other := range l.threads {
			if other.parent == of { // it did not take the place of the thread, which goes on
				other.parent = nil
			}
		}
		return of, best
	}
	if len(l.threads) == maxThreads {
		return nil, nil
	}
	th, from := &thread{label: l}, 0
	if best != nil && best.adds() {
		th.parent, th.lines, from = of, best.chosen(), best.from
		th.prompt = slices.ContainsFunc(th.lines, l.isPrompt)
	}
	s.add(ctx, l, th)
	return th, th.compare(r, from)
}

// add adds a thread, which has its place in the transcript from now on.
func (s *runState) add(ctx context.Context, l *label, th *thread) {
	l.threads = append(l.threads, th)
	l.began++
	th.slot = l.began
	s.transcript.SetConversation(slotOf(ctx, th.slot), nil)
}

// forget drops the threads with answers that the agent has not gone on with, because it has with others.
func (s *runState) forget(l *label) {
	l.threads = slices.DeleteFunc(l.threads, func(th *thread) bool {
		drop := !l.isParent(th) && l.isReplaced(th) && slices.ContainsFunc(l.attempts(th), func(other *thread) bool { return other.turns > th.turns })
		if drop && l.leftOut(th) {
			s.transcript.AddProblem(problemOf(codeLeftOut, problemLeftOut, l.who))
		}
		return drop
	})
}

// attempts returns the threads with answers to the same request as a thread, if the request came again.
func (l *label) attempts(th *thread) (all []*thread) {
	first := th.again
	if first.of == nil {
		first = attempt{th, th.turns}
	}
	for _, other := range l.threads {
		if other == first.of || other.again == first {
			all = append(all, other)
		}
	}
	return all
}

// isReplaced reports whether the agent has gone on with another answer to the request of a thread, or has another
// one at the end: the last.
func (l *label) isReplaced(th *thread) bool {
	for _, fork := range l.threads {
		first := fork.again
		if first.of == nil || th != first.of && th.again != first {
			continue
		}
		if th.turns > first.turn {
			continue // it has gone on itself
		}
		var last *thread
		for _, other := range l.attempts(fork) {
			if last == nil || other.turns > first.turn || last.turns <= first.turn && (other.last.answered || !last.last.answered) {
				last = other
			}
		}
		if last != th {
			return true
		}
	}
	return false
}

// began reports whether a request that names an earlier response begins the conversation of a run: the
// first request of a turn of a session may name the response of an earlier turn, which does not belong to
// the transcript, if it has the prompt of this turn.
func (s *runState) began(l *label, r *request) bool {
	return l.threads == nil && r.previous != "" && s.run.SessionID != "" && slices.ContainsFunc(r.lines, func(l *line) bool {
		return l.Role == dispatch.RoleUser && s.run.Instruction != "" && strings.Contains(l.Content.String(), s.run.Instruction)
	})
}

// slotOf returns a context for the nth conversation of a label, see [runctx.Thread].
func slotOf(ctx context.Context, n int) context.Context {
	return runctx.With(ctx, runctx.Thread(n))
}

// publish shows the conversations of a label after a change of one. Of one that is shown already, only its end is
// told until the transcript is read.
func (s *runState) publish(ctx context.Context, changed *thread) {
	l := changed.label
	main := l.main()
	for _, th := range l.threads {
		slot, shown := th.slot, th == main || th.goesOn() && !l.isParent(th) && !l.isReplaced(th)
		if th == main {
			slot = 0
		}
		was, wasShown := l.shown[th]
		if wasShown && (!shown || was != slot) {
			if was != 0 { // another thread has or gets the place of the agent's own
				s.transcript.SetConversation(slotOf(ctx, was), nil)
			}
			delete(l.shown, th)
		}
		switch {
		case shown && (was != slot || !wasShown):
			s.show(ctx, th, slot)
		case shown && (th == changed || th.isAfter(changed)):
			s.transcript.SetEnd(slotOf(ctx, slot), th.backward)
			if !th.stale {
				th.stale, s.stale = true, append(s.stale, th)
			}
		}
	}
}

// show sets a conversation.
func (s *runState) show(ctx context.Context, th *thread, slot int) {
	s.transcript.SetConversation(slotOf(ctx, slot), th.messages())
	th.label.shown[th] = slot
}

// isPrompt reports whether a line is the prompt of the run.
func (l *label) isPrompt(said *line) bool {
	return l.prompt != "" && said.Role == dispatch.RoleUser && said.Content.String() == l.prompt
}

// isParent reports whether a branch has taken the place of a thread.
func (l *label) isParent(th *thread) bool {
	return slices.ContainsFunc(l.threads, func(child *thread) bool { return child.parent == th })
}

// main returns the thread that is the agent's own. Of those that go on, it is the first that has the prompt
// of the run, or else the first. If none goes on, it is the last with the prompt and an answer: what comes before
// it is a guard or an attempt.
func (l *label) main() (main *thread) {
	if len(l.threads) == 1 {
		return l.threads[0]
	}
	best := -1
	for _, th := range l.threads {
		if l.isParent(th) || l.isReplaced(th) {
			continue
		}
		rank := 0
		if th.goesOn() {
			rank += 4
		}
		if th.hasPrompt() {
			rank += 2
		}
		if th.answered() {
			rank++
		}
		if rank > best || rank == best && rank == 3 {
			main, best = th, rank
		}
	}
	return main
}

// finish takes the response to a request. problem is why it cannot be read; the agent may have understood it.
func (s *runState) finish(x *exchange, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(x)
	r, known := x.reply, x.answer.common()
	if r == nil {
		return
	}
	var elements []json.RawMessage
	r.fault, r.unread = cmp.Or(problem, known.fault()), problem != ""
	if r.fault == "" {
		if elements = x.answer.elements(); elements == nil && !known.blocked {
			r.fault = "it has no answer"
		}
	}
	th := r.thread
	if r.fault != "" {
		if r.unread && th.last != r {
			s.transcript.AddProblem(faultOf(r))
		}
		return
	}
	c := converter{dialect: x.dialect, made: made, faults: new([]error)}
	for _, element := range elements {
		c.add(element, "")
	}
	c.end()
	for _, fault := range *c.faults {
		s.note("a part of a response of the model was not read: %s", fault.Error())
	}
	s.ids.name(c.out)
	size := th.size
	th.answer(r, c.out, x.dialect.prefills, known)
	s.size += th.size - size
	s.publish(x.ctx, th)
}

// count reports the model and the tokens of a response. It must be called with s.mu held.
func (s *runState) count(x *exchange) {
	known := x.answer.common()
	input, output := x.usage.total(&x.dialect.tokens, known.known)
	if input+output == 0 && x.usage.numbers && known.known {
		s.note("the tokens of a response are not counted: its usage has none under a known name")
	}
	name := text.Cut(known.model, maxModelLen)
	if name != "" && len(s.models) < maxModels && !slices.Contains(s.models, name) {
		s.models = append(s.models, name)
	}
	listed := strings.Join(s.models, ", ")
	s.transcript.UpdateMetadata(func(m *dispatch.Metadata) {
		if m.Model == "" || m.Model == s.model { // a Model set by the agent is kept
			m.Model = listed
		}
		m.TotalInputTokens += input
		m.TotalOutputTokens += output
	})
	s.model = listed
}
