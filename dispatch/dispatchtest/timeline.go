package dispatchtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/terminal"
)

// How many characters of a text from outside are shown: of a value on a line, of the reason of a
// failure, of a final response, and of a fault with its stack.
const (
	maxShown  = 160
	maxReason = 500
	maxFinal  = 2000
	maxFault  = 8000
)

// String returns the timeline of the run for people, a line or two per event: ping, dispatches,
// tool calls, trace events, answers, the agent's error, waits, changes of the ledger, verdict. Long
// texts are cut, with their length. It is safe to print to a terminal.
func (r *Result) String() string { return r.timeline("") }

// timeline is [Result.String] below a line that names the cause of the failure already.
func (r *Result) timeline(cause string) string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		b.WriteString(terminal.Entry(what, fmt.Sprintf(format, args...)))
	}
	if r.Ping.Request != nil {
		line("ping", "%s", r.Ping.summary(""))
	}
	after := 0
	for i, turn := range r.Turns {
		line("dispatch", "%s", instruction(turn.Request))
		b.WriteString(r.hideInLog(testrun.Between(&r.Log, after, turn.last)).String())
		after = turn.last
		agentError := ""
		if i == len(r.Turns)-1 {
			agentError = r.AgentError
		}
		line("answer", "%s", turn.summary(agentError))
		for _, p := range turn.Problems {
			if text := bounded.Line(p.String(), maxReason); text != cause {
				line("contract", "%s", text)
			}
		}
	}
	if r.Ended != "" {
		line("ended", "%s", reason(r.Ended))
	}
	if text := reason(r.AgentError); text != "" && !strings.Contains(cause, text) {
		line("error", "%s", text)
	}
	for _, w := range r.Waits {
		line("wait", "%s waited %s: %s", bounded.Line(w.Tool, maxShown), w.Duration, bounded.Line(w.Reason, maxReason))
	}
	for _, c := range r.Changes {
		line("ledger", "%s", bounded.Line(r.secrets.Redact(c.String()), maxReason))
	}
	for _, text := range r.Warnings {
		line("warning", "%s", text)
	}
	for _, text := range r.Faults {
		if !r.faultsTold && bounded.Paragraph(text, maxFault) != cause {
			line("fault", "%s", bounded.Lines(text, maxFault))
		}
	}
	if r.WouldBeGraded() {
		line("final", "%s", bounded.Lines(r.secrets.Redact(r.FinalResponse), maxFinal))
	}
	line("verdict", "%s", r.verdict(cause))
	return b.String()
}

// verdict says how the run ended, and why unless the lines above it or the cause do.
func (r *Result) verdict(cause string) string {
	said := r.Error == cause || r.AgentError != "" && strings.Contains(r.Error, reason(r.AgentError)) ||
		r.ErrorClass == Agent4xx || r.ErrorClass == Agent5xx ||
		slices.ContainsFunc(r.Problems, func(p dispatch.Problem) bool { return p.Fatal })
	switch {
	case r.OK():
		return "ok: the run would be graded"
	case r.WouldBeGraded() && said:
		return fmt.Sprintf("failed: %s (the platform would grade the run)", r.StandIn)
	case r.WouldBeGraded():
		return fmt.Sprintf("failed: %s: %s (the platform would grade the run)", r.StandIn, r.Error)
	case said:
		return fmt.Sprintf("failed: %s", r.ErrorClass)
	}
	return fmt.Sprintf("failed: %s: %s", r.ErrorClass, r.Error)
}

// summary describes a response. Of the failure of an agent whose error is known it has the code.
func (ex Exchange) summary(agentError string) string {
	most := maxShown
	if ex.Status >= 300 {
		most = maxReason
	}
	text := bounded.Line(strings.TrimSpace(ex.Body), most)
	var failure struct{ Error string }
	switch {
	case ex.Status == 0:
		return "no answer"
	case text == "":
		text = "with an empty body"
	case agentError != "" && ex.Status >= 300 && json.Unmarshal([]byte(ex.Body), &failure) == nil && failure.Error != "":
		text = bounded.Name(failure.Error)
	}
	return fmt.Sprintf("%d %s  (%.1f ms)", ex.Status, text, ex.TookMS)
}

func instruction(envelope json.RawMessage) string {
	var e struct {
		Input struct {
			Instruction string          `json:"user_instruction"`
			Input       json.RawMessage `json:"input"`
		} `json:"input"`
	}
	_ = json.Unmarshal(envelope, &e) // written by Dispatch
	return fmt.Sprintf("%s with input %s", bounded.Quoted(e.Input.Instruction, maxReason), bounded.Line(string(e.Input.Input), maxShown))
}
