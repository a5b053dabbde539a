package proxytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// The formats in this file are those of later releases of the platform, as public ports of agents
// use them. The platform does not document them.

// Modes of later releases.
const (
	modeExecuted    schema.Mode = "executed"         // the tool runs where the agent runs
	modeIntercepted schema.Mode = "code_intercepted" // the same
	modeSimulated   schema.Mode = "simulated"        // sandbox
)

// executed reports whether the tool runs where the agent runs.
func executed(t *schema.Tool) bool {
	return t.DefaultExecutionMode == modeExecuted || t.DefaultExecutionMode == modeIntercepted
}

// checkable returns the tools with modes of this release, so that they can be validated.
func checkable(tools []schema.Tool) []schema.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		if t := &tools[i]; executed(t) || t.DefaultExecutionMode == modeSimulated {
			t.DefaultExecutionMode = schema.Sandbox
		}
	}
	return tools
}

// laterMembers are members of a tool that change what its calls do.
var laterMembers = []string{"ledger_read", "preconditions", "requires_human_approval", "context_store"}

// laterNotes names what a tool declares that is not executed here.
func laterNotes(t *schema.Tool, live bool) []string {
	var names []string
	for _, m := range t.Extra {
		if slices.Contains(laterMembers, m.Name) && !isEmpty(m.Value) {
			names = append(names, m.Name)
		}
	}
	if t.LedgerAdapter != nil && !live {
		names = append(names, "ledger_adapter in sandbox mode")
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("the tool declares %s, which is of a later release and is not executed here", names[0])}
	}
	const text = "the tool declares %s, which are of a later release and are not executed here"
	return []string{fmt.Sprintf(text, strings.Join(names, ", "))}
}

// isEmpty reports whether a member declares nothing.
func isEmpty(value json.RawMessage) bool {
	switch rawjson.Kind(value) {
	case 'n', 'f':
		return true
	case '"':
		return rawjson.Text(value) == ""
	case '[':
		for range rawjson.Elements(value) {
			return false
		}
		return true
	case '{':
		return len(members(value)) == 0
	}
	return false
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
func (v *visit) serveTelemetry() {
	kind, payload := member(v.call.Arguments, "kind"), member(v.call.Arguments, "payload")
	switch {
	case rawjson.Kind(kind) != '"' || rawjson.Text(kind) == "":
		v.refuse(http.StatusUnprocessableEntity, "", "kind must be a string that is not empty", "")
		return
	case rawjson.Kind(payload) != '{':
		v.refuse(http.StatusUnprocessableEntity, "", "payload must be an object", "")
		return
	}
	span := Trace{Event: proxy.Event(rawjson.Text(kind)), Actor: v.call.Actor, Payload: v.call.Arguments, At: v.call.At}
	if actor := member(v.call.Arguments, "actor_id"); rawjson.Kind(actor) == '"' {
		span.Actor = rawjson.Text(actor)
	}
	writeJSON(v.w, http.StatusOK, map[string]any{"accepted": true, "sequence": v.run.acceptTrace(v.call, span, true)})
}
