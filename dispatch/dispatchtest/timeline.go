package dispatchtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
)

// String returns the timeline of the run for people, a line or two per event: ping, dispatches,
// tool calls, trace events, answers, the agent's error, waits, changes of the ledger, verdict.
func (r *Result) String() string {
	var b bytes.Buffer
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("ping", "%s", r.Ping.summary())
	after := 0
	for _, turn := range r.Turns {
		line("dispatch", "%s", instruction(turn.Request))
		b.WriteString(testrun.Between(&r.Log, after, turn.last).String())
		after = turn.last
		line("answer", "%s", turn.summary())
		for _, p := range turn.Problems {
			line("contract", "%s", p)
		}
	}
	if r.Ended != "" {
		line("ended", "%s", cut(firstLine(r.Ended)))
	}
	if r.AgentError != "" {
		line("error", "%s", firstLine(r.AgentError))
	}
	for _, w := range r.Waits {
		line("wait", "%s waited %s: %s", w.Tool, w.Duration, w.Reason)
	}
	for _, c := range r.Changes {
		line("ledger", "%s", cut(c.String()))
	}
	for _, text := range r.Warnings {
		line("warning", "%s", text)
	}
	for _, text := range r.Faults {
		line("fault", "%s", text)
	}
	if r.OK() {
		line("final", "%s", r.FinalResponse)
		line("verdict", "ok: the run would be graded")
	} else {
		line("verdict", "failed: %s: %s", r.ErrorClass, r.Error)
	}
	return b.String()
}

func (ex Exchange) summary() string {
	if ex.Status == 0 {
		return "no answer"
	}
	return fmt.Sprintf("%d %s  (%.1f ms)", ex.Status, cut(strings.TrimSpace(ex.Body)), ex.TookMS)
}

func instruction(envelope json.RawMessage) string {
	var e struct {
		Input struct {
			Instruction string          `json:"user_instruction"`
			Input       json.RawMessage `json:"input"`
		} `json:"input"`
	}
	_ = json.Unmarshal(envelope, &e) // written by Dispatch
	return fmt.Sprintf("%q with input %s", e.Input.Instruction, cut(string(e.Input.Input)))
}

// cut shortens a text to a line on a screen.
func cut(s string) string {
	runes := []rune(s)
	if len(runes) <= 160 {
		return s
	}
	return string(runes[:159]) + "…"
}
