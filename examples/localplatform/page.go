package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/ledger"
)

// The status of a run.
const (
	inProgress = "in progress"
	completed  = "completed"
	failed     = "failed"
)

// summary is a run in the list.
type summary struct {
	ID       int
	Title    string // the instruction on one line
	URL      string
	Sample   bool
	Status   string
	Failure  *failure // of a run that failed
	Started  time.Time
	Duration time.Duration
	Calls    int // answered with a result
}

// page is a run as it is shown. All its text from outside has passed texts.
type page struct {
	summary
	Warnings []string
	Doing    string // what a run in progress waits for
	Auth     string // the name of the auth header, if one was sent
	Timeout  time.Duration
	Strict   bool

	Instruction text
	Input       text
	Turns       []text // what the user says after that
	Final       text

	Items   []item
	Actors  []string
	Refused int
	Traces  int

	Telemetry int // spans
	Failures  []failures

	Changes       []change
	Before, After text

	Messages  []message
	Judged    bool // the contract was applied to an answer
	Gradeable bool
	Problems  []problem
	Faults    []string
	Late      int

	Exchanges []exchange

	whole map[string]string // the texts that are cut, by key
	bytes int               // of all texts
}

// failure describes why a run failed.
type failure struct {
	Class    string
	Severity severity
	Error    text
	Advice   string
}

// failures counts failures of one kind.
type failures struct {
	Class string
	Count int
	Where string
	To    string // what to do
}

// change is a difference of the ledger.
type change struct {
	Kind          string
	Where         string
	Before, After text
}

// message is a row of the transcript.
type message struct {
	Role     string
	Content  text
	Answers  string // the id of the tool call that it answers
	Thinking []text
	Calls    []messageCall
}

type messageCall struct {
	ID, Name  string
	Arguments text
}

// problem is a finding of the response contract.
type problem struct {
	Fatal               bool
	Code, Pointer, Text string
}

// exchange is one request to the agent and the response.
type exchange struct {
	Name    string
	Request text
	Status  int
	Answer  text
	Took    time.Duration
}

func summarize(f facts, t *texts) summary {
	return summary{
		ID: f.id, Title: t.line(f.task.Instruction), URL: t.line(f.task.URL), Sample: f.task.Sample, Status: inProgress,
		Started: f.started, Duration: f.ended.Sub(f.started), Calls: len(f.record.Calls),
	}
}

// build makes the page of a run. If result is nil, the run is in progress.
func build(f facts, result *dispatchtest.Result) *page {
	t := newTexts(f.secrets)
	p := &page{
		summary: summarize(f, t), Timeout: f.task.Timeout, Strict: f.task.Strict,
		Instruction: t.text("instruction", f.task.Instruction), Input: t.json("input", f.task.Input), whole: t.whole,
	}
	if f.task.AuthValue != "" {
		p.Auth = cmp.Or(f.task.AuthHeader, "Authorization")
	}
	for i, turn := range f.task.UserTurns {
		p.Turns = append(p.Turns, t.text("turn-"+strconv.Itoa(i+2), turn))
	}
	legs := f.legs
	if result == nil {
		p.Doing = doing(len(legs), len(f.task.UserTurns)+1)
	} else {
		p.take(t, result)
		legs = legsOf(result)
	}
	if f.refused > 0 {
		p.Faults = append(p.Faults,
			fmt.Sprintf("requests that were refused and not kept: %d; localplatform keeps %d requests and %s of one run",
				f.refused, f.bounds.requests, size(int(f.bounds.bytes))))
	}
	p.timeline(t, f, legs, result)
	p.ledger(t, f)
	p.bytes = t.bytes
	return p
}

func doing(legs, turns int) string {
	switch {
	case legs < 2:
		return "waiting for the answer to the ping"
	case turns == 1:
		return "waiting for the agent's answer"
	}
	return fmt.Sprintf("waiting for the agent's answer to turn %d of %d", legs-1, turns)
}

// take adds the result of a run that is over.
func (p *page) take(t *texts, result *dispatchtest.Result) {
	p.Status = completed
	if !result.OK() {
		p.fail(t, string(result.ErrorClass), result.Error)
	}
	p.Warnings, p.Gradeable = result.Warnings, result.Gradeable
	p.Judged = result.Dispatch.Status >= 200 && result.Dispatch.Status < 300
	p.Final = t.text("final", result.FinalResponse)
	for _, found := range result.Problems {
		p.Problems = append(p.Problems, problem{found.Fatal, found.Code, t.line(found.Pointer), t.line(found.Message)})
	}
	for _, fault := range result.Faults {
		p.Faults = append(p.Faults, t.line(fault))
	}
	for i, m := range result.Messages {
		p.Messages = append(p.Messages, newMessage(t, "message-"+strconv.Itoa(i+1), m))
	}
	p.Exchanges = append(p.Exchanges, newExchange(t, "Ping", "ping", result.Ping))
	for i, turn := range result.Turns {
		name := "Dispatch"
		if len(result.Turns) > 1 {
			name = fmt.Sprintf("Dispatch of turn %d", i+1)
		}
		p.Exchanges = append(p.Exchanges, newExchange(t, name, "dispatch-"+strconv.Itoa(i+1), turn.Exchange))
	}
}

func (p *page) fail(t *texts, class, reason string) {
	a, ok := ofRun[class]
	if !ok {
		a = advice{danger, "See the raw exchange below."}
	}
	p.Status, p.Failure = failed, &failure{class, a.severity, t.text("error", reason), a.text}
	p.Failures = append(p.Failures, failures{class, 1, "the run", a.text})
}

func newExchange(t *texts, name, key string, ex dispatchtest.Exchange) exchange {
	answer := t.json(key+"-answer", json.RawMessage(ex.Body)) // shown as it is if it is not JSON
	return exchange{name, t.json(key+"-request", ex.Request), ex.Status, answer, milliseconds(ex.TookMS)}
}

func newMessage(t *texts, key string, m dispatch.Message) message {
	shown := message{Role: t.line(string(m.Role)), Answers: t.line(m.ToolCallID)}
	content := m.Content.String()
	switch {
	case content != "" && indented(content) != nil && (content[0] == '{' || content[0] == '['):
		shown.Content = t.json(key, json.RawMessage(content))
	case content != "":
		shown.Content = t.text(key, content)
	case len(m.Content) > 0 && string(m.Content) != "null" && string(m.Content) != `""`:
		shown.Content = t.json(key, json.RawMessage(m.Content))
	}
	for i, block := range m.Thinking {
		var b struct {
			Text string `json:"text"`
		}
		name := fmt.Sprintf("%s-thinking-%d", key, i+1)
		if json.Unmarshal(block, &b) == nil && b.Text != "" {
			shown.Thinking = append(shown.Thinking, t.text(name, b.Text))
		} else {
			shown.Thinking = append(shown.Thinking, t.json(name, block))
		}
	}
	for i, c := range m.ToolCalls {
		arguments := c.Arguments
		var inner string
		if json.Unmarshal(arguments, &inner) == nil { // JSON in a string, as some models write it
			arguments = json.RawMessage(inner)
		}
		shown.Calls = append(shown.Calls,
			messageCall{t.line(c.ID), t.line(c.Name), t.json(fmt.Sprintf("%s-call-%d", key, i+1), arguments)})
	}
	return shown
}

// ledger adds the ledger before and after the run, and the changes.
func (p *page) ledger(t *texts, f facts) {
	p.Before, p.After = snapshot(t, "ledger-before", f.before), snapshot(t, "ledger-after", f.record.State)
	for i, c := range f.record.Changes {
		key := "change-" + strconv.Itoa(i+1)
		where := c.Pointer
		if c.Flag != "" {
			where = "flag " + c.Flag
		}
		p.Changes = append(p.Changes, change{string(c.Kind), t.line(where), t.json(key+"-before", c.Before),
			t.json(key+"-after", c.After)})
	}
}

func snapshot(t *texts, key string, s ledger.Snapshot) text {
	raw, err := json.Marshal(s)
	if err != nil {
		return text{}
	}
	return t.json(key, raw)
}

// addFailure counts a failure.
func (p *page) addFailure(class, where, to string) {
	i := slices.IndexFunc(p.Failures, func(f failures) bool { return f.Class == class && f.Where == where })
	if i < 0 {
		p.Failures = append(p.Failures, failures{Class: class, Where: where, To: to})
		i = len(p.Failures) - 1
	}
	p.Failures[i].Count++
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
