package proxytest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// The formats in this file belong to later releases of the platform, as public ports of agents
// use them. The platform does not document them.

// executed is a mode in which a tool runs in the agent's own sandbox: the proxy does not answer its calls.
const executed schema.Mode = "executed"

// modes are the other modes, with what they stand for.
var modes = map[schema.Mode]schema.Mode{"code_intercepted": executed, "simulated": schema.Sandbox}

// known returns the tools with modes that package schema knows.
func known(tools []schema.Tool) []schema.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		if mode, ok := modes[tools[i].DefaultExecutionMode]; ok {
			tools[i].DefaultExecutionMode = mode
		}
	}
	return tools
}

// remarks returns what this module does not check, use or execute of the tools: lines for the output of
// a test, and by the index of the tool what Call.Notes say of it.
func remarks(set *schema.Set, tools []schema.Tool) (lines []string, notes map[int][]string) {
	notes = map[int][]string{}
	later := func(i int, what string) string {
		note := "the tool declares " + what + ", which is of a later release and is not executed here"
		notes[i] = append(notes[i], note)
		return note
	}
	for _, p := range set.Unchecked() {
		i, pointer := problem.Element(p.Pointer)
		if i < 0 { // it counts the others
			lines = append(lines, p.String())
			continue
		}
		name := strings.TrimPrefix(pointer, "/")
		what := "not executed"
		switch {
		case strings.HasPrefix(pointer, "/ledger_adapter"): // the outcome of the adapter is in each call
			what = "ignored"
		case p.Code != "later_release":
			what = "not checked"
			notes[i] = append(notes[i], "not checked: "+pointer+" "+p.Message)
		case name == "default_execution_mode": // the calls are refused
		case declaresNothing(&tools[i], name):
			continue
		default:
			later(i, name)
		}
		lines = append(lines, what+": "+p.String())
	}
	for i := range tools {
		if use := laterAdapter(&tools[i]); use != "" {
			lines = append(lines, fmt.Sprintf("not executed: tool %q: %s", tools[i].Name, later(i, use)))
		}
	}
	return lines, notes
}

// laterAdapter returns how later releases use a ledger adapter that this release does not use, or
// "".
func laterAdapter(t *schema.Tool) string {
	switch {
	case t.LedgerAdapter == nil:
	case t.Mode() == schema.Sandbox:
		return "ledger_adapter in sandbox mode"
	case t.LedgerWritePolicy == "" && slices.ContainsFunc(t.LedgerAdapter.Extra, func(m ledger.Member) bool {
		return m.Name == "effects"
	}):
		return "effects without a ledger_write_policy"
	}
	return ""
}

// declaresNothing reports whether a member of a later release is null, false or empty.
func declaresNothing(t *schema.Tool, name string) bool {
	nothing := []string{"null", "false", `""`, "[]", "{}"}
	return slices.ContainsFunc(t.Extra, func(m ledger.Member) bool {
		return m.Name == name && slices.Contains(nothing, string(rawjson.Compact(m.Value)))
	})
}

// adapterNotes says what the adapter did not write, and why.
func adapterNotes(outcome ledger.Outcome) (notes []string) {
	for _, step := range outcome.Steps {
		switch step.Code {
		case "id_found", "field_set", "flag_set":
		default:
			notes = append(notes, "ledger_adapter: "+step.Message)
		}
	}
	return notes
}

// serveTelemetry accepts a telemetry span. Any kind is accepted.
func (v *runRequest) serveTelemetry() {
	switch {
	case rawjson.Unquote(member(v.call.Arguments, "kind")) == "":
		v.refuse(http.StatusUnprocessableEntity, "", "kind must be a string that is not empty")
	case rawjson.Kind(member(v.call.Arguments, "payload")) != '{':
		v.refuse(http.StatusUnprocessableEntity, "", "payload must be an object")
	default:
		sequence := v.run.acceptTrace(v.call, true)
		writeBody(v.w, http.StatusOK, marshal(map[string]any{"accepted": true, "sequence": sequence}))
	}
}
