package dispatchtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

// How many characters of a text from outside are shown: of the reason of a failure, of a final
// response, and of a fault with its stack.
const (
	maxReason = 500
	maxFinal  = 2000
	maxFault  = 8000
)

// String returns the timeline of the run for people: ping, dispatches, requests to models, tool calls,
// trace events, waits and answers, each with its duration. The agent's error, changes of the ledger
// and the verdict follow. Long texts are cut, with their length. It is safe to print to a terminal.
func (r Result) String() string { return r.print("") }

// print is [Result.String] below a line that names the cause of the failure already.
func (r *Result) print(cause string) string {
	run, secrets := r.timeline(), r.secrets()
	for i := range run.Rows {
		row := &run.Rows[i]
		row.Notes = slices.DeleteFunc(row.Notes, func(note string) bool { return text.Line(note, maxReason) == cause })
	}
	var b strings.Builder
	line := func(what, format string, args ...any) {
		b.WriteString(terminal.Entry(what, fmt.Sprintf(format, args...)))
	}
	b.WriteString(timeline.Print(run.Rows))
	if r.Ended != "" {
		line("ended", "%s", reason(r.Ended))
	}
	if s := reason(r.AgentError); s != "" && !strings.Contains(cause, s) {
		line("error", "%s", s)
	}
	for _, c := range r.Changes {
		line("ledger", "%s", text.Line(secrets.Redact(c.String()), maxReason))
	}
	for _, s := range r.Warnings {
		line("warning", "%s", s)
	}
	for _, s := range r.Faults {
		if !r.faultsTold && text.Lines(s, maxFault) != cause {
			line("fault", "%s", text.Lines(s, maxFault))
		}
	}
	if r.WouldBeGraded() {
		line("final", "%s", text.Lines(secrets.Redact(r.FinalResponse), maxFinal))
	}
	line("verdict", "%s", r.verdict(cause))
	return b.String()
}

var _ = hook.Set((*Result).timeline)

// timeline returns the rows of the log, and one for each exchange with the agent, request to a model and
// wait. They have no secrets.
func (r *Result) timeline() timeline.Run {
	run := hook.Of[timeline.Run](&r.Log)
	events := len(run.Rows)
	run.Final = timeline.Plain("final", r.FinalResponse)
	if r.Ping.Request != nil {
		row := exchange(timeline.Ping, "ping", &r.Ping)
		row.Response = timeline.Plain("ping-answer", r.Ping.Body)
		run.Rows = append(run.Rows, row)
	}
	for i := range r.Turns {
		number := 0
		if len(r.Turns) > 1 {
			number = i + 1
		}
		run.Rows = append(run.Rows, r.Turns[i].rows(i, number)...)
	}
	if r.AgentError != "" && len(r.Turns) > 0 {
		answer := &run.Rows[len(run.Rows)-1]
		answer.Name = failureCode(answer.Status, answer.Response.Shown)
	}
	for _, row := range run.Rows[events:] {
		if !row.At.IsZero() { // the first exchange begins the run
			run.Began = row.At
			break
		}
	}
	for i, m := range r.ModelRequests {
		run.Rows = append(run.Rows, timeline.Row{
			Kind: timeline.Model, Key: fmt.Sprintf("model-%d", i+1), Order: m.Order, At: m.At, Took: timeline.Milliseconds(m.TookMS),
			Open: m.Open, Actor: m.Actor, Model: m.Model, Status: m.Status, InputTokens: m.InputTokens, OutputTokens: m.OutputTokens,
		})
	}
	for i, w := range r.Waits {
		run.Rows = append(run.Rows, timeline.Row{
			Kind: timeline.Wait, Key: fmt.Sprintf("wait-%d", i+1), Order: w.Order, At: w.At, Took: w.Duration, Actor: w.Actor,
			Name: w.Tool, Reason: w.Reason,
		})
	}
	timeline.Arrange(run.Rows)
	for i, m := range r.Messages {
		run.Messages = append(run.Messages, message("message-"+strconv.Itoa(i+1), m))
	}
	run.Redact(r.secrets())
	for _, p := range r.Problems {
		run.Problems = append(run.Problems, timeline.Problem{Fatal: p.Fatal, Code: p.Code, Pointer: p.Pointer, Text: p.Message})
	}
	return run
}

func exchange(kind timeline.Kind, key string, ex *Exchange) timeline.Row {
	return timeline.Row{
		Kind: kind, Key: key, Order: ex.Order, At: ex.At, Took: timeline.Milliseconds(ex.TookMS), Status: ex.Status,
		Open: ex.Order > 0 && ex.Answered == 0,
	}
}

// rows returns the dispatch and the answer of the i-th turn. number is 0 in a run of one turn.
func (t *Turn) rows(i, number int) []timeline.Row {
	n := strconv.Itoa(i + 1)
	sent := exchange(timeline.Dispatch, "dispatch-"+n, &t.Exchange)
	var e struct {
		Input struct {
			Instruction string          `json:"user_instruction"`
			Input       json.RawMessage `json:"input"`
		} `json:"input"`
	}
	_ = json.Unmarshal(t.Request, &e) // written by Dispatch
	sent.Turn, sent.Request = number, timeline.Plain("instruction-"+n, e.Input.Instruction)
	sent.Input = timeline.JSON("input-"+n, e.Input.Input)
	if sent.Open {
		return []timeline.Row{sent}
	}
	answer := exchange(timeline.Answer, "answer-"+n, &t.Exchange)
	answer.Turn, answer.Order, answer.At = number, t.Answered, t.At.Add(sent.Took)
	answer.Response = timeline.Plain("answer-body-"+n, t.Body)
	if number > 0 {
		answer.Final = timeline.Plain("answer-final-"+n, t.FinalResponse)
	}
	var body struct {
		Metadata struct {
			Model  string  `json:"model"`
			Input  float64 `json:"total_input_tokens"` // 1e3 is an integer too
			Output float64 `json:"total_output_tokens"`
		} `json:"metadata"`
	}
	if m := &body.Metadata; json.Unmarshal([]byte(t.Body), &body) == nil { // else the platform drops it
		answer.Model, answer.InputTokens, answer.OutputTokens = m.Model, int64(min(m.Input, 1<<53)), int64(min(m.Output, 1<<53))
	}
	for _, p := range t.Problems {
		answer.Notes = append(answer.Notes, p.String())
	}
	return []timeline.Row{sent, answer}
}

func message(key string, m dispatch.Message) timeline.Message {
	shown := timeline.Message{Role: string(m.Role), Answers: m.ToolCallID}
	switch content := m.Content.String(); {
	case content != "" && (content[0] == '{' || content[0] == '['):
		shown.Content = timeline.JSON(key, json.RawMessage(content))
	case content != "":
		shown.Content = timeline.Plain(key, content)
	case len(m.Content) > 0 && string(m.Content) != "null" && string(m.Content) != `""`:
		shown.Content = timeline.JSON(key, json.RawMessage(m.Content))
	}
	for i, block := range m.Thinking {
		var b struct {
			Text string `json:"text"`
		}
		name := fmt.Sprintf("%s-thinking-%d", key, i+1)
		if json.Unmarshal(block, &b) == nil && b.Text != "" {
			shown.Thinking = append(shown.Thinking, timeline.Plain(name, b.Text))
		} else {
			shown.Thinking = append(shown.Thinking, timeline.JSON(name, block))
		}
	}
	for i, c := range m.ToolCalls {
		arguments, _ := rawjson.ReadArguments(c.Arguments, rawjson.Limits{Mode: rawjson.Liberal}) // or what was written
		name := fmt.Sprintf("%s-call-%d", key, i+1)
		shown.Calls = append(shown.Calls, timeline.MessageCall{ID: c.ID, Name: c.Name, Arguments: timeline.JSON(name, arguments)})
	}
	return shown
}

// failureCode returns the code in the response of an agent that failed, or "".
func failureCode(status int, body string) string {
	var failure struct{ Error string }
	if status < 300 || json.Unmarshal([]byte(body), &failure) != nil {
		return ""
	}
	return failure.Error
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
