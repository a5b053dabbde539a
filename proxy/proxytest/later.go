package proxytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// The formats in this file belong to later releases of the platform, as public ports of agents
// use them. The platform does not document them.

// Modes of later releases, beside schema.Executed.
const (
	modeIntercepted schema.Mode = "code_intercepted" // executed
	modeSimulated   schema.Mode = "simulated"        // sandbox
)

// known returns the tools with those modes under their other names, which package schema knows.
func known(tools []schema.Tool) []schema.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		switch tools[i].DefaultExecutionMode {
		case modeIntercepted:
			tools[i].DefaultExecutionMode = schema.Executed
		case modeSimulated:
			tools[i].DefaultExecutionMode = schema.Sandbox
		}
	}
	return tools
}

// A remark is something that this module does not check, use or execute of a tool.
type remark struct {
	tool int
	what string // not checked, ignored or not executed
	text string // with the tool, for the output of a test
	note string // for Call.Notes; "" if the call says it otherwise
}

// remarks returns the remarks about the tools.
func (c *world) remarks(tools []schema.Tool) (list []remark) {
	for _, p := range c.set.Unchecked() {
		i, pointer := problem.Element(p.Pointer)
		r := remark{i, "not checked", p.String(), "not checked: " + pointer + " " + p.Message}
		name := strings.TrimPrefix(pointer, "/")
		switch {
		case strings.HasPrefix(pointer, "/ledger_adapter"): // the outcome of the adapter is in each call
			r.what, r.note = "ignored", ""
		case p.Code == "later_release" && name == "default_execution_mode": // the calls are refused
			r.what, r.note = "not executed", ""
		case p.Code == "later_release" && declaresNothing(&tools[i], name):
			continue
		case p.Code == "later_release":
			r.what, r.note = "not executed", "the tool declares "+name+", which is of a later release and is not executed here"
		}
		list = append(list, r)
	}
	for i := range tools {
		if use := laterAdapter(&tools[i]); use != "" {
			note := "the tool declares " + use + ", which is of a later release and is not executed here"
			list = append(list, remark{i, "not executed", fmt.Sprintf("tool %q: %s", tools[i].Name, note), note})
		}
	}
	return list
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
	for _, m := range t.Extra {
		if m.Name == name && !isEmpty(m.Value) {
			return false
		}
	}
	return true
}

// isEmpty reports whether a member declares nothing.
func isEmpty(value json.RawMessage) bool {
	switch rawjson.Kind(value) {
	case 'n', 'f':
		return true
	case '"':
		return rawjson.Unquote(value) == ""
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
func (v *runRequest) serveTelemetry() {
	kind, payload := member(v.call.Arguments, "kind"), member(v.call.Arguments, "payload")
	switch {
	case rawjson.Kind(kind) != '"' || rawjson.Unquote(kind) == "":
		v.refuse(http.StatusUnprocessableEntity, "", "kind must be a string that is not empty", "")
		return
	case rawjson.Kind(payload) != '{':
		v.refuse(http.StatusUnprocessableEntity, "", "payload must be an object", "")
		return
	}
	span := Trace{Event: proxy.Event(rawjson.Unquote(kind)), Actor: v.call.Actor, Payload: v.call.Arguments, At: v.call.At}
	if actor := member(v.call.Arguments, "actor_id"); rawjson.Kind(actor) == '"' {
		span.Actor = rawjson.Unquote(actor)
	}
	writeJSON(v.w, http.StatusOK, map[string]any{"accepted": true, "sequence": v.run.acceptTrace(v.call, span, true)})
}
