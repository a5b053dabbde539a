package proxytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// A Behavior answers the calls of one tool. Its result is encoded with encoding/json. Parallel
// calls run it concurrently.
//
// In sandbox mode the source of a result is odyssey. A failure of the tool, {"error": text}, need not
// match the tool's output_schema. If another result does not match it, the behavior is called again,
// at most three times in all, and not after it has written to the ledger. If no result matches, or
// the behavior returns an error, the source is error and the result is {"error": text}.
//
// In passthrough mode the behavior is the live tool, and the source is passthrough. If it returns
// an error, the source is transport_error. The tool's ledger_write_policy decides what is written
// to the ledger.
type Behavior func(*Request) (any, error)

// A Request is one tool call as a [Behavior] receives it. Use it only in the behavior's goroutine,
// until the behavior returns.
//
// Get, Snapshot and Apply access the ledger of the run. From the first of these calls until the
// behavior returns, no other behavior of the run uses the ledger, so what the behavior reads does
// not change before it writes. A live tool has no ledger: it reads nothing, and Apply fails.
type Request struct {
	Tool      string
	Arguments json.RawMessage // a JSON object
	Actor     string          // label of the sub-agent; "" if there is none
	Number    int             // 1 for the first call of this tool in the run
	Attempt   int             // 2 or more after results that did not match the output_schema

	// Declared is the tool as World.Tools declares it. If World.Tools is empty, only its name is
	// set. Instructions are World.BehaviorInstructions. A [World].Simulator needs them.
	Declared     schema.Tool
	Instructions string

	ctx      context.Context
	run      *Run                                  // nil for a live tool
	world    *world                                // nil outside of a run
	output   any                                   // the output_schema of a tool in sandbox mode, decoded
	turn     bool                                  // whether the behavior has the ledger
	entities map[string]map[string]json.RawMessage // of the ledger, for lists
	invented map[string]any                        // for Run.invented; not nil if the result is made up
	writes   []ledger.Applied
	notes    []string // for Call.Notes
}

// Context returns the context of the HTTP request. It ends when the agent stops waiting.
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

// Apply makes updates to the ledger, each completely or not at all, and logs them with the call.
// The error names what the ledger schema does not allow.
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
	if r.run == nil {
		return nil
	}
	if !r.turn {
		r.run.ledgerTurn <- struct{}{}
		r.turn = true
	}
	return r.run.state
}

// leave gives the ledger to the next behavior.
func (r *Request) leave() {
	if r.turn {
		<-r.run.ledgerTurn
		r.turn = false
	}
}

// Canned answers every call with the same JSON. If result is not JSON, every call fails, and so does
// the test.
func Canned(result string) Behavior {
	raw, err := readJSON("Canned: the result", result)
	return func(*Request) (any, error) { return raw, err }
}

// Lookup answers with the JSON in answers under the value of an argument: {"4521": `{…}`}. Numbers
// and booleans are looked up as the call writes them. The key "*" matches all other values, and
// calls without the argument; without that key they are errors. If an answer is not
// JSON, every call fails, and so does the test.
func Lookup(argument string, answers map[string]string) Behavior {
	raw := make(map[string]json.RawMessage, len(answers))
	for _, key := range slices.Sorted(maps.Keys(answers)) {
		var err error
		if raw[key], err = readJSON(fmt.Sprintf("Lookup: the answer for %q", key), answers[key]); err != nil {
			return mistaken(err)
		}
	}
	return lookup(argument, raw)
}

func lookup(argument string, answers map[string]json.RawMessage) Behavior {
	return func(r *Request) (any, error) {
		if value, ok := scalar(member(r.Arguments, argument)); ok && answers[value] != nil {
			return answers[value], nil
		}
		if answer, ok := answers["*"]; ok {
			return answer, nil
		}
		return nil, fmt.Errorf("no answer is declared for this %s or for %q", argument, "*")
	}
}

// scalar returns a string, number or boolean as text.
func scalar(value json.RawMessage) (string, bool) {
	switch rawjson.Kind(value) {
	case '"':
		var s string
		return s, json.Unmarshal(value, &s) == nil
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

// mistake is a behavior that cannot be made. Its calls fail the test, because only the test can mend it.
type mistake string

func (m mistake) Error() string { return "proxytest." + string(m) }

// mistaken returns the behavior in place of one that cannot be made.
func mistaken(err error) Behavior { return func(*Request) (any, error) { return nil, err } }

// readJSON returns a text that must be JSON. what names the function and the text.
func readJSON(what, text string) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, mistake(fmt.Sprintf("%s is not JSON: %v; a JSON string needs quotes of its own: `\"text\"`", what, err))
	}
	return raw, nil
}

// members returns the members of an object that is known to be JSON; an empty map for anything
// else.
func members(object json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &m)
	if m == nil {
		m = map[string]json.RawMessage{} // it was null
	}
	return m
}

// member returns a member of an object; nil if there is none.
func member(object json.RawMessage, name string) json.RawMessage { return members(object)[name] }

// marshal is for values that are made here of strings and of JSON that was checked before.
func marshal(v any) json.RawMessage {
	raw, err := rawjson.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("proxytest: %v", err))
	}
	return raw
}
