package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Call is one recorded call of a tool.
type Call struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`     // the arguments object; none counts as {}
	Response json.RawMessage `json:"response"` // what the tool answered
}

// An Entry tells what one call of a [Replay] did.
type Entry struct {
	Tool    string    `json:"tool"`
	Outcome Outcome   `json:"outcome"`
	Applied []Applied `json:"applied"` // one for each update of the outcome
}

// A Log tells what each call of a [Replay] did, in order.
type Log []Entry

// Explain returns a report for people of the whole replay. As [Outcome.Explain] it shows ids and flags but no field
// values.
func (l Log) Explain() string {
	var b strings.Builder
	for i, entry := range l {
		fmt.Fprintf(&b, "%d. %s\n", i+1, printable(entry.Tool))
		for _, a := range entry.Applied {
			b.WriteString("  " + strings.ReplaceAll(a.String(), "\n", "\n  ") + "\n")
		}
		for _, s := range entry.Outcome.Steps {
			b.WriteString("    " + s.String() + "\n")
		}
	}
	return b.String()
}

// Replay evaluates recorded calls one after the other and applies what they make to the state, which it changes. The
// rules are those of the tools, by name; a tool without one writes nothing, as under the policies record_only and none.
func Replay(state *State, rules map[string]*Rule, calls []Call) Log {
	log := make(Log, len(calls))
	for i, call := range calls {
		outcome := rules[call.Tool].Eval(call.Args, call.Response)
		log[i] = Entry{Tool: call.Tool, Outcome: outcome, Applied: state.Apply(outcome.Updates...)}
	}
	return log
}
