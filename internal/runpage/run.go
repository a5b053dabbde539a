package runpage

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Run is a run as it is shown. All its text from outside has passed [Texts].
type Run struct {
	Prefix string // of the ids of elements: that of Texts
	Live   bool   // in progress

	Instruction Text
	Input       Text
	Turns       []Text // what the user says after that
	Final       Text

	Items  []Item // the timeline
	Actors []string

	Changes   []Change // of the ledger
	Messages  []Message
	Problems  []Problem
	Faults    []string
	Exchanges []Exchange
}

// Change is a difference of the ledger.
type Change struct {
	Kind          string
	Where         string
	Before, After Text
}

// Message is a row of the transcript.
type Message struct {
	Role     string
	Content  Text
	Answers  string // the id of the tool call that it answers
	Thinking []Text
	Calls    []MessageCall
}

// MessageCall is a tool call in a message.
type MessageCall struct {
	ID, Name  string
	Arguments Text
}

// Problem is a finding of the response contract.
type Problem struct {
	Fatal               bool
	Code, Pointer, Text string
}

// Exchange is one request to the agent and the response.
type Exchange struct {
	Name    string
	Request Text
	Status  int
	Answer  Text
	Took    time.Duration
}

// Source is what a run is built from.
type Source struct {
	Instruction string
	Input       json.RawMessage
	UserTurns   []string // what the user says after the instruction

	Started time.Time
	Log     *proxytest.Log
	Legs    []Leg
	Result  *dispatchtest.Result // nil while the run is in progress
}

// Build prepares a run.
func Build(t *Texts, s Source) *Run {
	r := &Run{
		Prefix: t.Prefix, Live: s.Result == nil,
		Instruction: t.Text("instruction", s.Instruction), Input: t.JSON("input", s.Input),
	}
	for i, turn := range s.UserTurns {
		r.Turns = append(r.Turns, t.Text("turn-"+strconv.Itoa(i+2), turn))
	}
	if s.Result != nil {
		r.addResult(t, s.Result)
	}
	r.addTimeline(t, s.Started, s.Log, s.Legs)
	for i, c := range s.Log.Changes {
		key := "change-" + strconv.Itoa(i+1)
		where := c.Pointer
		if c.Flag != "" {
			where = "flag " + c.Flag
		}
		r.Changes = append(r.Changes, Change{string(c.Kind), t.Line(where), t.JSON(key+"-before", c.Before),
			t.JSON(key+"-after", c.After)})
	}
	return r
}

// addResult adds what is known when a run is over.
func (r *Run) addResult(t *Texts, result *dispatchtest.Result) {
	r.Final = t.Text("final", result.FinalResponse)
	for _, found := range result.Problems {
		r.Problems = append(r.Problems, Problem{found.Fatal, found.Code, t.Line(found.Pointer), t.Line(found.Message)})
	}
	for _, fault := range result.Faults {
		r.Faults = append(r.Faults, t.Line(fault))
	}
	for i, m := range result.Messages {
		r.Messages = append(r.Messages, newMessage(t, "message-"+strconv.Itoa(i+1), m))
	}
	r.Exchanges = append(r.Exchanges, newExchange(t, "Ping", "ping", result.Ping))
	for i, turn := range result.Turns {
		name := "Dispatch"
		if len(result.Turns) > 1 {
			name = fmt.Sprintf("Dispatch of turn %d", i+1)
		}
		r.Exchanges = append(r.Exchanges, newExchange(t, name, "dispatch-"+strconv.Itoa(i+1), turn.Exchange))
	}
}

func newExchange(t *Texts, name, key string, ex dispatchtest.Exchange) Exchange {
	answer := t.JSON(key+"-answer", json.RawMessage(ex.Body)) // shown as it is if it is not JSON
	return Exchange{name, t.JSON(key+"-request", ex.Request), ex.Status, answer, Milliseconds(ex.TookMS)}
}

func newMessage(t *Texts, key string, m dispatch.Message) Message {
	shown := Message{Role: t.Line(string(m.Role)), Answers: t.Line(m.ToolCallID)}
	content := m.Content.String()
	switch {
	case content != "" && indented(content) != nil && (content[0] == '{' || content[0] == '['):
		shown.Content = t.JSON(key, json.RawMessage(content))
	case content != "":
		shown.Content = t.Text(key, content)
	case len(m.Content) > 0 && string(m.Content) != "null" && string(m.Content) != `""`:
		shown.Content = t.JSON(key, json.RawMessage(m.Content))
	}
	for i, block := range m.Thinking {
		var b struct {
			Text string `json:"text"`
		}
		name := fmt.Sprintf("%s-thinking-%d", key, i+1)
		if json.Unmarshal(block, &b) == nil && b.Text != "" {
			shown.Thinking = append(shown.Thinking, t.Text(name, b.Text))
		} else {
			shown.Thinking = append(shown.Thinking, t.JSON(name, block))
		}
	}
	for i, c := range m.ToolCalls {
		arguments := c.Arguments
		var inner string
		if json.Unmarshal(arguments, &inner) == nil { // JSON in a string, as some models write it
			arguments = json.RawMessage(inner)
		}
		shown.Calls = append(shown.Calls,
			MessageCall{t.Line(c.ID), t.Line(c.Name), t.JSON(fmt.Sprintf("%s-call-%d", key, i+1), arguments)})
	}
	return shown
}
