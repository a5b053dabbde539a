package llm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// runState is what is known of a run's models and conversations. Its methods report to the
// transcript of the run.
type runState struct {
	mu     sync.Mutex
	labels map[string]*label
	models []string
	model  string // what was reported of them
}

// A label has the conversations of a sub-agent, or of the agent itself.
type label struct {
	threads  []*thread // in the order in which they began
	requests int
	unclear  bool // nothing is known any more
}

// Bounds of what is kept of a run.
const (
	maxLabels   = 256
	maxThreads  = 8    // of a label
	maxBefore   = 1000 // messages, which is as many as are sent
	maxModels   = 8
	maxModelLen = 100
)

// Codes of problems with conversations.
const (
	codeUnclear = "conversation_unclear"
	codeLeftOut = "request_left_out"
)

// Reasons to give up the conversation of a label.
const (
	reasonThreads = "two conversations go on at the same time; give each of them a label with proxy.WithActor"
	reasonStored  = "the server keeps the conversation; send it whole, or name the response before, of this run, " +
		"with previous_response_id"
)

// report adds a problem.
func report(t *dispatch.Transcript, code, message string) {
	t.AddProblem(dispatch.Problem{Code: code, Pointer: "/messages", Message: message})
}

// unclear gives up the conversation of the label in ctx.
func (s *runState) unclear(ctx context.Context, t *dispatch.Transcript, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label(t, runctx.Actor(ctx)).giveUp(ctx, t, reason)
}

func (l *label) giveUp(ctx context.Context, t *dispatch.Transcript, reason string) {
	if l.unclear {
		return
	}
	l.threads, l.unclear = nil, true
	t.SetConversation(ctx, nil)
	report(t, codeUnclear, "the messages of "+who(ctx)+" are not sent: "+reason)
}

// who names the sub-agent of ctx.
func who(ctx context.Context) string {
	if label := runctx.Actor(ctx); label != "" {
		return "the sub-agent " + text.Cut(label, maxShown)
	}
	return "the agent"
}

// label returns the label of a name. It must be called with s.mu held.
func (s *runState) label(t *dispatch.Transcript, name string) *label {
	l := s.labels[name]
	if l == nil {
		l = &label{}
		if s.labels == nil {
			s.labels = map[string]*label{}
		}
		if len(s.labels) >= maxLabels {
			report(t, codeUnclear, "the run has more than 256 labels; further ones have no messages")
			l.unclear = true
			return l
		}
		s.labels[name] = l
	}
	return l
}

// begin takes the conversation of a request that the model has accepted, and returns its thread and
// turn. The thread is nil if the conversation is not known.
func (s *runState) begin(ctx context.Context, run *dispatch.Run, d *dialect, p prompt) (th *thread, turn int) {
	t := run.Transcript()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.label(t, runctx.Actor(ctx))
	if l.unclear {
		return nil, 0
	}
	r, reason := l.read(run, d, p)
	if reason != "" {
		l.giveUp(ctx, t, reason)
		return nil, 0
	}
	th, aside := l.follow(run, r.messages)
	if aside {
		report(t, codeLeftOut, "a request of "+who(ctx)+" shares nothing with its conversation, like the request of a guard, a title "+
			"or a summary; it is left out unless a later request goes on with it; "+
			"give it a label with proxy.WithActor to have it sent")
	}
	if p.cached {
		report(t, codeUnclear, "what a cachedContent of "+who(ctx)+" holds is not sent: only the provider has it")
	}
	th.take(r)
	l.requests++
	if th.last = l.requests; th.first == 0 {
		th.first = l.requests
	}
	l.publish(ctx, run)
	return th, th.turn
}

// publish sets the conversation of the label.
func (l *label) publish(ctx context.Context, run *dispatch.Run) {
	if main, ok := l.main(run); ok {
		run.Transcript().SetConversation(ctx, slices.Concat(main.system, main.whole()))
	} else {
		l.giveUp(ctx, run.Transcript(), reasonThreads)
	}
}

// finish takes the response to a request. th is nil if the conversation is not known.
func (s *runState) finish(x *exchange, elements []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := x.run.Transcript()
	s.count(t, x.answer.common())
	l, th := s.label(t, runctx.Actor(x.ctx)), x.thread
	if l.unclear || th == nil || th.turn != x.turn {
		return
	}
	th.open--
	if th.several || elements == nil {
		return
	}
	answer, err := th.read(x.dialect, elements)
	if err != nil {
		report(t, codeUnclear, "a response of the model was not read: "+err.Error())
		return
	}
	if x.dialect.prefills && len(th.prefill) > 0 && len(answer) > 0 {
		answer[0].Content = dispatch.Text(th.prefill[0].Content.String() + answer[0].Content.String())
	} else {
		answer = slices.Concat(th.prefill, answer)
	}
	th.answer, th.answerID = answer, x.answer.common().id
	l.publish(x.ctx, x.run)
}

// count reports models and tokens. It must be called with s.mu held.
func (s *runState) count(t *dispatch.Transcript, f *facts) {
	input, output := f.usage.total()
	name := text.Cut(f.model, maxModelLen)
	if name != "" && len(s.models) < maxModels && !slices.Contains(s.models, name) {
		s.models = append(s.models, name)
	}
	listed := strings.Join(s.models, ", ")
	t.UpdateMetadata(func(m *dispatch.Metadata) {
		if m.Model == "" || m.Model == s.model { // a Model set by the agent is kept
			m.Model = listed
		}
		m.TotalInputTokens += input
		m.TotalOutputTokens += output
	})
	s.model = listed
}
