package proxytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// Call is one request for a tool, as recorded.
type Call struct {
	Tool      string          `json:"tool"`            // of a trace event its type
	Trace     bool            `json:"trace,omitempty"` // a trace event, which is here only if it was refused
	Actor     string          `json:"actor,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // nil if they were no JSON object or too large
	Response  json.RawMessage `json:"response,omitempty"`  // nil if the tool has not run
	Source    proxy.Source    `json:"source,omitempty"`
	At        time.Time       `json:"at"`
	LatencyMS float64         `json:"latency_ms"`

	// Attempt is 2 or more for a request that repeats the one before, with the same arguments, after a 429, a 503 or a
	// broken connection.
	Attempt int `json:"attempt"`

	Status     int    `json:"status,omitempty"` // of the answer; 0 if there was no whole one
	ErrorClass string `json:"error_class,omitempty"`
	Reason     string `json:"reason,omitempty"` // why it was refused, or what the behavior's error says
	Rule       *int   `json:"rule,omitempty"`   // the failure rule that applied

	Policy  schema.WritePolicy `json:"ledger_write_policy,omitempty"` // of a tool in passthrough mode
	Adapter *ledger.Outcome    `json:"adapter,omitempty"`             // what the tool's ledger adapter made of the result, and why
	Writes  []ledger.Applied   `json:"writes,omitempty"`              // what became of the updates to the ledger

	Sequence int64 `json:"sequence,omitempty"` // shared with trace events; 0 if the request was refused
	Order    int   `json:"-"`                  // of its arrival, among everything that happened

	answered int // the order of its answer
}

// Trace is one accepted trace event, as recorded.
type Trace struct {
	Event    proxy.Event     `json:"event"`
	Actor    string          `json:"actor,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	At       time.Time       `json:"at"` // of its arrival
	Sequence int64           `json:"sequence"`
	Order    int             `json:"-"` // of its arrival, among everything that happened
}

// Record is what happened in a run, with assertions about it. Assertions report with t.Errorf, so that one test shows
// all that is wrong, and say what happened instead.
type Record struct {
	// Calls are those that were answered with a result, in that order.
	Calls []Call `json:"calls"`

	// Refused are the requests that got none: refused by the contract or by a failure rule, broken off, or not answered yet
	// when the record was made. Among them are the attempts that a client repeated, and trace events.
	Refused []Call `json:"refused,omitempty"`

	// Traces are the trace events, in the order of their sequence numbers.
	Traces []Trace `json:"traces,omitempty"`

	// Changes is what is different in the ledger from the initial state.
	Changes ledger.Changes `json:"changes,omitempty"`

	// Faults are what a test should not pass with: calls of undeclared tools, tools in passthrough mode with nothing
	// behind them, behaviors that panicked.
	Faults []string `json:"faults,omitempty"`

	state ledger.Snapshot // at the end
}

func (r *Record) copy(before, state ledger.Snapshot) *Record {
	return &Record{
		Calls: slices.Clone(r.Calls), Refused: slices.Clone(r.Refused), Traces: slices.Clone(r.Traces),
		Faults: slices.Clone(r.Faults), Changes: ledger.Diff(before, state), state: state,
	}
}

// State returns the ledger as it was when the record was made.
func (r *Record) State() ledger.Snapshot { return r.state }

// ReportFaults fails the test with the faults, if there are any. [NewPlatform] and package dispatchtest do it by
// themselves.
func (r *Record) ReportFaults(t testing.TB) {
	t.Helper()
	for _, fault := range r.Faults {
		t.Errorf("proxytest: %s", fault)
	}
}

// Between returns the part of the record that came after the event with the order from, up to the one with the order to.
// The ledger is that of the whole record.
func (r *Record) Between(from, to int) *Record {
	part := *r
	in := func(order int) bool { return order > from && order <= to }
	part.Calls = slices.DeleteFunc(slices.Clone(r.Calls), func(c Call) bool { return !in(c.Order) })
	part.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(c Call) bool { return !in(c.Order) })
	part.Traces = slices.DeleteFunc(slices.Clone(r.Traces), func(t Trace) bool { return !in(t.Order) })
	return &part
}

// Last is the order of the last event; 0 if there is none.
func (r *Record) Last() int {
	last := 0
	for _, c := range r.Calls {
		last = max(last, c.Order)
	}
	for _, c := range r.Refused {
		last = max(last, c.Order)
	}
	for _, t := range r.Traces {
		last = max(last, t.Order)
	}
	return last
}

// String is what happened for people, in its order: two lines per call, one per trace event.
func (r *Record) String() string {
	type event struct {
		order int
		text  string
	}
	var events []event
	for _, c := range r.Calls {
		events = append(events, event{c.Order, c.String()})
	}
	for _, c := range r.Refused {
		events = append(events, event{c.Order, c.String()})
	}
	for _, t := range r.Traces {
		events = append(events, event{t.Order, line("trace", "%s%s %s", label(t.Actor), t.Event, cut(string(t.Payload)))})
	}
	slices.SortFunc(events, func(a, b event) int { return a.order - b.order })
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.text)
	}
	return b.String()
}

// String returns the call on two lines: what was asked, what came back.
func (c Call) String() string {
	again := ""
	if c.Attempt > 1 {
		again = fmt.Sprintf("  (attempt %d)", c.Attempt)
	}
	what := "call"
	if c.Trace {
		what = "trace"
	}
	text := line(what, "%s%s %s%s", label(c.Actor), c.Tool, cut(string(c.Arguments)), again)
	switch {
	case c.Source != "" && c.Status == 200:
		text += line("", "-> %s  (%s, %.2f ms)", cut(string(c.Response)), c.Source, c.LatencyMS)
	case c.Status == 0:
		text += line("", "-> no answer: %s  (%.2f ms)", c.Reason, c.LatencyMS)
	default:
		text += line("", "-> %d %s: %s  (%.2f ms)", c.Status, c.ErrorClass, cut(c.Reason), c.LatencyMS)
	}
	for _, w := range c.Writes {
		if len(w.Violations) > 0 {
			text += line("", "   ledger: %s", w)
		}
	}
	return text
}

func line(what, format string, args ...any) string {
	return fmt.Sprintf("%-10s %s\n", what, fmt.Sprintf(format, args...))
}

func label(actor string) string {
	if actor == "" {
		return ""
	}
	return actor + ": "
}

// cut keeps a line on a screen.
func cut(s string) string {
	runes := []rune(s)
	if len(runes) <= 160 {
		return s
	}
	return string(runes[:159]) + "…"
}
