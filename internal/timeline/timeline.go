// Package timeline shows runs: what happened, in its order, and how long it took. A [Run] has plain
// values, so that every package can make one. [Print] writes its rows for a terminal, and package runhtml
// writes the whole run for pages.
//
// Package proxytest makes the rows of what a proxy saw, and package dispatchtest adds what it knows of
// the run. The values of a Run come from outside as they are; Print bounds and cleans them.
package timeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// Run is a run as it is shown.
type Run struct {
	Live  bool // in progress
	Began time.Time
	Took  time.Duration // so far, of a run in progress
	Rows  []Row
	Final Text // the final response

	Changes  []Change // of the ledger
	Messages []Message
	Problems []Problem
	Faults   []string
}

// A Kind is what a row is about.
type Kind string

// The kinds of rows.
const (
	Ping         Kind = "ping"
	Dispatch     Kind = "dispatch"
	Answer       Kind = "answer" // to a dispatch
	Model        Kind = "model"  // a request to a model
	Wait         Kind = "wait"   // of a client, before a request to the proxy
	Call         Kind = "call"   // a tool call with all its attempts
	Trace        Kind = "trace"
	Telemetry    Kind = "telemetry"
	RefusedTrace Kind = "trace-refused"
	RefusedPath  Kind = "path-refused" // a request to a path that is not served
)

// An Order is a place among all events of a run, which the run of a test kit reserves.
type Order int

// Row is one entry of the timeline. Kind says which fields are set.
type Row struct {
	Kind  Kind
	Key   string // unique in the run, the same while the run goes on
	Order int    // place in the run
	At    time.Time
	Took  time.Duration
	Open  bool // it has not ended

	Actor string // the label of a sub-agent, such as "supervisor/orders"
	Name  string // of a tool or a trace event; of the answer of an agent that failed, the code
	Turn  int    // of a dispatch or an answer; 0 in a run of one turn

	// Request is the arguments, the payload, or the user_instruction of a dispatch. Response is the
	// result of a call, or the body of an answer.
	Request, Response Text
	Input             Text // of a dispatch
	Final             Text // of an answer in a session

	Status int    // of a response; 0 if there was none
	Source string // of the result of a call; "" if there is none
	Reason string // of a wait, or of a call with a result that is an error

	Model                     string // of a request to a model; of an answer, as its metadata says
	InputTokens, OutputTokens int64  // likewise

	Attempts []Attempt // of a call
	Rule     *int      // index of the failure rule
	Policy   string
	Adapter  []string // what the ledger adapter decided
	Notes    []string // what else decided the call; of an answer, what misses the contract
	Writes   []Write

	From, To string // of a handoff
	Text     Text   // of a trace event: what the platform shows inline
	Inline   bool   // Text, From and To have the whole payload
	Late     string // when a trace event occurred, if it was sent much later

	// How many more there were before Bound.
	MoreAttempts, MoreSteps, MoreNotes, MoreWrites int
}

// Attempt is one request of a call.
type Attempt struct {
	N      int
	At     time.Time
	Took   time.Duration
	Status int
	Class  string
	Reason string
	Rule   *int
	OK     bool // it has the result of the call
}

// Write is an update of the ledger.
type Write struct {
	What, Result string
	Violations   []string
	More         int // violations, before Bound
}

// Change is a difference of the ledger.
type Change struct {
	Kind          string // added, changed or removed
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

// Text is a text of any length. Shown is the whole of it, and JSON reports that it may be JSON. For a
// page, package runhtml replaces it by what is shown.
type Text struct {
	Key   string // unique in the page
	Shown string
	JSON  bool
	Cut   bool
	Link  string // of the whole text; "" if it is not cut, or cannot be shown whole
	Size  string // of the whole, for people
	Tall  bool   // it may need scrolling
}

// Empty reports whether the text has no content.
func (t Text) Empty() bool { return t.Shown == "" }

// Excerpt returns the beginning of the text on one line, in at most n characters.
func (t Text) Excerpt(n int) string { return text.Line(t.Shown, n) }

// Plain returns a text that is not prepared.
func Plain(key, text string) Text { return Text{Key: key, Shown: text} }

// JSON returns a text that is not prepared, and is laid out as JSON if it is JSON.
func JSON(key string, raw json.RawMessage) Text {
	return Text{Key: key, Shown: string(raw), JSON: true}
}

// Result reports whether the call has a result.
func (r *Row) Result() bool { return r.Source != "" }

// Violated reports whether the ledger refused an update of the call.
func (r *Row) Violated() bool {
	return slices.ContainsFunc(r.Writes, func(w Write) bool { return len(w.Violations) > 0 })
}

// Exchange reports whether the row is about a request to the agent.
func (r *Row) Exchange() bool { return r.Kind == Ping || r.Kind == Dispatch || r.Kind == Answer }

// Arrange sorts rows by their order. An event that was sent late goes back to where it occurred, but
// not to before its dispatch.
func Arrange(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Order, b.Order) })
	for i, row := range rows {
		for ; row.Late != "" && i > 0 && !rows[i-1].Exchange() && rows[i-1].At.After(row.At); i-- {
			rows[i], rows[i-1] = rows[i-1], row
		}
	}
}

// Bound keeps at most n entries of each list of the row.
func (r *Row) Bound(n int) {
	r.Attempts, r.MoreAttempts = First(r.Attempts, n)
	r.Adapter, r.MoreSteps = First(r.Adapter, n)
	r.Notes, r.MoreNotes = First(r.Notes, n)
	r.Writes, r.MoreWrites = First(r.Writes, n)
	for i := range r.Writes {
		w := &r.Writes[i]
		w.Violations, w.More = First(w.Violations, n)
	}
}

// First returns at most n elements, and how many more there are.
func First[E any](all []E, n int) (first []E, more int) {
	first = all[:min(len(all), n)]
	return first, len(all) - len(first)
}

// Redact hides secrets in all texts of the rows.
func (r *Run) Redact(secrets *redact.Set) {
	r.changeRows(secrets.Redact, func(t Text) Text {
		t.Shown = secrets.Redact(t.Shown)
		return t
	})
}

// Change replaces all texts: short ones by line, and others by text.
func (r *Run) Change(line func(string) string, text func(Text) Text) {
	r.Final = text(r.Final)
	r.changeRows(line, text)
	for i := range r.Changes {
		c := &r.Changes[i]
		c.Where, c.Before, c.After = line(c.Where), text(c.Before), text(c.After)
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Role, m.Answers, m.Content = line(m.Role), line(m.Answers), text(m.Content)
		for k := range m.Thinking {
			m.Thinking[k] = text(m.Thinking[k])
		}
		for k := range m.Calls {
			c := &m.Calls[k]
			c.ID, c.Name, c.Arguments = line(c.ID), line(c.Name), text(c.Arguments)
		}
	}
	for i := range r.Problems {
		p := &r.Problems[i]
		p.Pointer, p.Text = line(p.Pointer), line(p.Text)
	}
	changeLines(r.Faults, line)
}

func (r *Run) changeRows(line func(string) string, text func(Text) Text) {
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, s := range []*string{&row.Actor, &row.Name, &row.Source, &row.Reason, &row.Model, &row.Policy, &row.From, &row.To} {
			*s = line(*s)
		}
		for _, t := range []*Text{&row.Request, &row.Input, &row.Response, &row.Final, &row.Text} {
			*t = text(*t)
		}
		for k := range row.Attempts {
			a := &row.Attempts[k]
			a.Class, a.Reason = line(a.Class), line(a.Reason)
		}
		changeLines(row.Adapter, line)
		changeLines(row.Notes, line)
		for k := range row.Writes {
			row.Writes[k].What = line(row.Writes[k].What)
			changeLines(row.Writes[k].Violations, line)
		}
	}
}

func changeLines(list []string, line func(string) string) {
	for i := range list {
		list[i] = line(list[i])
	}
}
