package proxytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/ledger"
)

// A Behavior answers the calls of one tool. What it returns is written with encoding/json and is the tool's result. It is
// called concurrently for parallel calls.
//
// In sandbox mode the source is odyssey. A result that the tool's output_schema refuses is asked for again, three times in
// all unless the behavior has written to the ledger; then the source is error and the result {"error": text}. An error
// means that the simulator found no valid response, with the same outcome at once.
//
// In passthrough mode the behavior is the live tool: the source is passthrough, an error is a failure on the way there
// with the source transport_error, and what the tool's ledger_write_policy says happens to the ledger.
type Behavior func(*Request) (any, error)

// Request is one tool call as a [Behavior] sees it. It is for the behavior's goroutine alone and until the behavior
// returns.
//
// Its methods are the behavior's way to the run's ledger. From the first of them until it returns no other behavior of the
// run uses the ledger, so what it reads does not change before it writes. A live tool has no ledger: it reads nothing, and
// Apply is an error.
type Request struct {
	Tool      string
	Arguments json.RawMessage // a JSON object
	Actor     string          // the sub-agent's label; "" for none
	Number    int             // 1 for the first call of this tool in the run
	Attempt   int             // 1, or more after results that the output_schema refused

	ctx    context.Context
	run    redact.Hidden[*Run] // nil for a live tool
	idOf   func(entityType string) string
	turn   bool // whether the behavior has the ledger
	writes []ledger.Applied
}

// Context returns the context of the HTTP request; it ends when the agent gives the call up.
func (r *Request) Context() context.Context {
	if r.ctx == nil {
		return context.Background()
	}
	return r.ctx
}

// Decode decodes the arguments into v with encoding/json.
func (r *Request) Decode(v any) error { return json.Unmarshal(r.Arguments, v) }

// Get returns an entity of the ledger as a JSON object.
func (r *Request) Get(entityType, id string) (entity json.RawMessage, ok bool) {
	if state := r.ledger(); state != nil {
		return state.Get(entityType, id)
	}
	return nil, false
}

// Snapshot returns a copy of the ledger.
func (r *Request) Snapshot() ledger.Snapshot {
	if state := r.ledger(); state != nil {
		return state.Snapshot()
	}
	return ledger.Snapshot{}
}

// Apply makes updates to the ledger, each whole or not at all, and records them with the call. The error names what the
// ledger schema does not allow.
func (r *Request) Apply(updates ...ledger.Update) error {
	state := r.ledger()
	if state == nil {
		return errors.New("a live tool has no ledger to write to")
	}
	applied := state.Apply(updates...)
	r.writes = append(r.writes, applied...)
	var problems []error
	for _, a := range applied {
		for _, v := range a.Violations {
			problems = append(problems, errors.New(v.String()))
		}
	}
	return errors.Join(problems...)
}

func (r *Request) ledger() *ledger.State {
	run := r.run.Reveal()
	if run == nil {
		return nil
	}
	if !r.turn {
		run.ledgerTurn <- struct{}{}
		r.turn = true
	}
	return run.state
}

// leave gives the ledger to the next behavior.
func (r *Request) leave() {
	if r.turn {
		<-r.run.Reveal().ledgerTurn
		r.turn = false
	}
}

// Canned answers every call with the same JSON. It panics if that is not JSON.
func Canned(result string) Behavior {
	raw := mustJSON("Canned", result)
	return func(*Request) (any, error) { return raw, nil }
}

// Lookup answers by the value of an argument, with the JSON in answers that has it as key: {"4521": `{…}`}. Numbers and
// booleans are looked up as they are written. The key "*" is for all other values, and for calls without the argument;
// without that key they are errors. It panics if an answer is not JSON.
func Lookup(argument string, answers map[string]string) Behavior {
	raw := make(map[string]json.RawMessage, len(answers))
	for key, answer := range maps.All(answers) {
		raw[key] = mustJSON("Lookup", answer)
	}
	return func(r *Request) (any, error) {
		if value, ok := scalarArgument(r.Arguments, argument); ok {
			if answer, ok := raw[value]; ok {
				return answer, nil
			}
		}
		if answer, ok := raw["*"]; ok {
			return answer, nil
		}
		return nil, fmt.Errorf("there is no answer for this %s, and none for %q", argument, "*")
	}
}

// scalarArgument returns an argument that is a string, number or boolean as text.
func scalarArgument(arguments json.RawMessage, name string) (string, bool) {
	value := member(arguments, name)
	switch rawjson.Kind(value) {
	case '"':
		var s string
		return s, json.Unmarshal(value, &s) == nil
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

func mustJSON(who, text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		panic("proxytest." + who + ": the text is not JSON")
	}
	return json.RawMessage(text)
}
