package dispatchtest

import (
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/report"
)

// A Wait is a wait of the agent's [proxy.Client] before it sent a tool call.
type Wait struct {
	Tool     string        `json:"tool"`
	Duration time.Duration `json:"duration_ns"` // at the beginning of the wait; a wait for the rate limit may take longer
	Reason   string        `json:"reason"`      // the rate limit and how to lift it, or the response that the client repeats the call after
}

// witness collects what the agent's handler, its clients and the proxy log about a run in this process. It is safe for
// concurrent use.
type witness struct {
	output  io.Writer // of the test; nil if there is none
	secrets *redact.Set

	mu       sync.Mutex
	failure  string             // of the agent, since the last take
	problems []dispatch.Problem // of the agent's answer, since the last take
	waits    []Wait             // of the whole run
}

// record is a [report.Sink]'s Report.
func (w *witness) record(record slog.Record) {
	get := func(name string) string { return report.Get(record, name) }
	text := report.Text(record)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch record.Message {
	case report.RunFailed:
		if w.failure == "" { // otherwise the agent panicked, which says more
			w.failure = get(report.Error)
		}
		text = "the agent failed: " + w.failure + "\n"
		if strings.HasPrefix(w.failure, "panic: ") {
			text = ""
		}
	case report.AgentPanicked:
		text = w.keepPanic(get(report.Panic), get(report.Stack))
	case report.Contract:
		w.problems = append(w.problems, dispatch.Problem{Code: get(report.Code), Pointer: get(report.Pointer), Text: get(report.Problem)})
	case report.WaitsForPace, report.WaitsToRepeat:
		wait, _ := time.ParseDuration(get(report.Wait)) // written by package proxy
		w.waits = append(w.waits, Wait{get(report.Tool), wait, report.WaitReason(record)})
	}
	w.show(text)
}

// show writes to the test's output, without secrets.
func (w *witness) show(text string) {
	if w.output != nil && text != "" {
		_, _ = io.WriteString(w.output, "dispatchtest: "+w.secrets.Text(text))
	}
}

// panicked records the panic of a handler that [dispatch.New] did not make.
func (w *witness) panicked(value, stack string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.show(w.keepPanic(value, stack))
}

// keepPanic needs w.mu.
func (w *witness) keepPanic(value, stack string) (text string) {
	w.failure = "panic: " + value + "\n" + strings.TrimSpace(stack)
	return "the agent failed: " + w.failure + "\n"
}

// take returns what was reported about the agent since the last take.
func (w *witness) take() (failure string, problems []dispatch.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	failure, problems = w.secrets.Text(w.failure), w.problems
	w.failure, w.problems = "", nil
	return failure, problems
}

func (w *witness) waited() []Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits[:len(w.waits):len(w.waits)]
}
