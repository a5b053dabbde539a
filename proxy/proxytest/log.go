package proxytest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// A Call is one request for a tool in a [Log].
type Call struct {
	Tool      string          `json:"tool"`            // name of the tool, or type of the trace event, or path
	Trace     bool            `json:"trace,omitempty"` // set if it is not a tool call; a Log lists those only in Refused
	Actor     string          `json:"actor,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // nil if the body was not a JSON object, or too large
	Response  json.RawMessage `json:"response,omitempty"`  // nil if the tool did not run
	Source    proxy.Source    `json:"source,omitempty"`
	At        time.Time       `json:"at"`
	LatencyMS float64         `json:"latency_ms"`

	// Attempt is 2 or more for a request that repeats the one before, with the same arguments,
	// after a 429, a 503 or a broken connection.
	Attempt int `json:"attempt"`

	Status     int    `json:"status,omitempty"` // of the response; 0 if there was no complete one
	ErrorClass string `json:"error_class,omitempty"`
	Reason     string `json:"reason,omitempty"` // why it was refused, or the text of the behavior's error
	Rule       *int   `json:"rule,omitempty"`   // index of the failure rule that applied

	Policy  schema.WritePolicy `json:"ledger_write_policy,omitempty"` // of a tool in passthrough mode
	Adapter *ledger.Outcome    `json:"adapter,omitempty"`             // the evaluation of the tool's ledger adapter
	// Writes are the updates to the ledger, and whether they were applied.
	Writes []ledger.Applied `json:"writes,omitempty"`

	// Notes say what else decided the call: where the parts of a generated result come from, what a
	// ledger adapter did not write and why, which parts of a schema are not checked, and what the
	// tool declares that is not executed.
	Notes []string `json:"notes,omitempty"`

	Sequence int64 `json:"sequence,omitempty"` // shared with trace events; 0 if the request was refused
	Order    int   `json:"order,omitempty"`    // place of its arrival among all events of the run

	answered int // place of its response
}

// A Trace is one accepted trace event in a [Log].
type Trace struct {
	Event    proxy.Event     `json:"event"`
	Actor    string          `json:"actor,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	At       time.Time       `json:"at"` // of its arrival
	Sequence int64           `json:"sequence"`
	Order    int             `json:"order,omitempty"` // of its arrival, among everything that happened
}

// A Log is what the platform saw of a run up to one moment: calls, trace events and the changes of
// the ledger. Its assertions report failures with t.Errorf, and print the events of the run. An
// assertion about a name that the world does not declare fails.
type Log struct {
	// Calls are the calls with a result, in the order of the responses.
	Calls []Call `json:"calls"`

	// Refused are the requests without a result: refused by the contract or by a failure rule,
	// broken off, or not answered when the log was made. They include attempts that a client
	// repeated, and requests that are not tool calls.
	Refused []Call `json:"refused,omitempty"`

	// Traces are the trace events, in the order of their sequence numbers.
	Traces []Trace `json:"traces,omitempty"`

	// Telemetry are the telemetry spans of later releases of the platform, in the order of their
	// sequence numbers. Event is the kind, Payload the whole body.
	Telemetry []Trace `json:"telemetry,omitempty"`

	// Changes are the differences of the ledger from the initial state.
	Changes ledger.Changes `json:"changes,omitempty"`

	// Faults are mistakes that should fail a test: calls of undeclared tools, tools in passthrough
	// mode without a behavior, and panics of behaviors.
	Faults []string `json:"faults,omitempty"`

	// State is the ledger as it was when the log was made.
	State ledger.Snapshot `json:"state"`

	declared text.Declared // the names of the world; an assertion about any other name fails
}

var _ = hook.Set(func(r *Log) *text.Declared { return &r.declared })

func (r *Log) copy(before, state ledger.Snapshot) *Log {
	return &Log{
		Calls: slices.Clone(r.Calls), Refused: slices.Clone(r.Refused), Traces: slices.Clone(r.Traces),
		Telemetry: slices.Clone(r.Telemetry),
		Faults:    slices.Clone(r.Faults), Changes: ledger.Diff(before, state), State: state,
	}
}

// How many characters of a text from outside are shown: of a value on a line, of the reason of a
// failure, of a value that an assertion is about, and of a fault.
const (
	maxShown  = 160
	maxReason = 500
	maxValue  = 2000
	maxFault  = 8000 // with a stack
)
