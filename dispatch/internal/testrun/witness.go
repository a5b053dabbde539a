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

	mu    sync.Mutex
	seen  Seen   // since the last Take
	waits []Wait // of the whole run
}

// record is a [report.Sink]'s Report.
func (w *Witness) record(record slog.Record) {
	get := func(name string) string { return report.Get(record, name) }
	text := report.Text(record)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch record.Message {
	case report.RunFailed:
		if w.seen.Failure == "" { // otherwise the agent panicked, which says more
			w.seen.Failure = get(report.Error)
		}
		text = "the agent failed: " + w.seen.Failure + "\n"
		if strings.HasPrefix(w.seen.Failure, "panic: ") {
			text = ""
		}
	case report.TimedOut:
		w.seen.TimedOut = true
	case report.AgentPanicked:
		text = w.keepPanic(get(report.Panic), get(report.Stack))
	case report.Contract:
		w.seen.Problems = append(w.seen.Problems, dispatch.Problem{Code: get(report.Code), Pointer: get(report.Pointer), Message: get(report.Problem)})
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
	w.seen.Failure = text
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
	w.seen.Failure = "panic: " + value + "\n" + strings.TrimSpace(stack)
	return "the agent failed: " + w.seen.Failure + "\n"
}

// Seen is what was reported about the agent in one turn.
type Seen struct {
	Failure  string             // the agent's error or panic; "" if it did not fail
	TimedOut bool               // the handler answered because the time was over
	Problems []dispatch.Problem // of the agent's answer
}

// Take returns what was reported about the agent since the last Take.
func (w *Witness) Take() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = Seen{}
	seen.Failure = w.secrets.Text(seen.Failure)
	return seen
}

// Waits returns the waits of the run.
func (w *Witness) Waits() []Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits[:len(w.waits):len(w.waits)]
}
