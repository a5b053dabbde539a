package testrun

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

// Wait has the fields of dispatchtest.Wait.
type Wait struct {
	Tool     string
	Duration time.Duration
	Reason   string
}

// Witness collects what the agent's handler, its clients and the proxy log about a run in this
// process. It is safe for concurrent use.
type Witness struct {
	output  io.Writer // of the test; nil if there is none
	secrets *redact.Set

	mu       sync.Mutex
	failure  string             // of the agent, since the last Take
	problems []dispatch.Problem // of the agent's answer, since the last Take
	waits    []Wait             // of the whole run
}

// record is a [report.Sink]'s Report.
func (w *Witness) record(record slog.Record) {
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
		w.problems = append(w.problems, dispatch.Problem{Code: get(report.Code), Pointer: get(report.Pointer), Message: get(report.Problem)})
	case report.WaitsForPace, report.WaitsToRepeat:
		wait, _ := time.ParseDuration(get(report.Wait)) // written by package proxy
		w.waits = append(w.waits, Wait{get(report.Tool), wait, report.WaitReason(record)})
	}
	w.show(text)
}

// show writes to the test's output, without secrets.
func (w *Witness) show(text string) {
	if w.output != nil && text != "" {
		_, _ = io.WriteString(w.output, "dispatchtest: "+w.secrets.Text(text))
	}
}

// noResult records why a program left no result.
func (w *Witness) noResult(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = text
	w.show("the agent failed: " + text + "\n")
}

// panicked records the panic of a handler that [dispatch.New] did not make.
func (w *Witness) panicked(value, stack string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.show(w.keepPanic(value, stack))
}

// keepPanic needs w.mu.
func (w *Witness) keepPanic(value, stack string) (text string) {
	w.failure = "panic: " + value + "\n" + strings.TrimSpace(stack)
	return "the agent failed: " + w.failure + "\n"
}

// Take returns what was reported about the agent since the last Take.
func (w *Witness) Take() (failure string, problems []dispatch.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	failure, problems = w.secrets.Text(w.failure), w.problems
	w.failure, w.problems = "", nil
	return failure, problems
}

// Waits returns the waits of the run.
func (w *Witness) Waits() []Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits[:len(w.waits):len(w.waits)]
}
