package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/stage"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// item is one entry of the timeline. Kind says which other fields are set.
type item struct {
	ID    string // of the element, the same while the run goes on
	Kind  string // ping, dispatch, call, trace, trace-refused, path-refused or answer
	At    time.Duration
	Actor string

	Exchange *reply // ping and answer
	Turn     int    // dispatch and answer; 0 in a run of one turn
	Said     text   // dispatch and answer
	Call     *call
	Trace    *trace
}

// reply is the status and the duration of a response of the agent.
type reply struct {
	Status int // 0 for none
	Took   time.Duration
}

// call is a tool call with all its attempts.
type call struct {
	Tool      string
	Arguments text
	Response  text
	Source    string // "" while there is no result
	Latency   time.Duration
	Rule      *int
	Reason    string
	Waiting   bool // the last attempt is not answered yet
	Attempts  []attempt
	Policy    string
	Adapter   []string // what the ledger adapter decided
	Notes     []string // what else decided the call
	Writes    []write
}

// Result reports whether the call has a result.
func (c *call) Result() bool { return c.Source != "" }

// attempt is one request.
type attempt struct {
	N       int
	At      time.Duration
	Status  int
	Class   string
	Reason  string
	Rule    *int
	Latency time.Duration
	OK      bool
}

// write is an update of the ledger.
type write struct {
	What, Result string
	Violations   []string
}

// trace is a trace event.
type trace struct {
	Event    string
	From, To string // of a handoff
	Text     text   // what the platform shows inline
	Payload  text   // the rest
	Late     string // when it occurred, if it was sent much later
}

// clockGrain is how long before its arrival a trace event may have occurred and keep its place.
// Clocks have a resolution of milliseconds, and a request takes time.
const clockGrain = 100 * time.Millisecond

// event is an item with its place.
type event struct {
	at    time.Time
	order int
	item
}

// leg is an exchange with the agent: the ping, then a dispatch per turn.
type leg struct {
	at     time.Duration
	last   int    // the order of its last event at the proxy
	answer *reply // nil while there is none
}

// legsOf returns the legs of a run that is over. Each begins when the one before it ends.
func legsOf(result *dispatchtest.Result) []leg {
	legs := []leg{{answer: replyOf(result.Ping)}}
	for _, turn := range result.Turns {
		before := legs[len(legs)-1]
		last := max(before.last, stage.Last(turn.Log))
		legs = append(legs, leg{before.at + before.answer.Took, last, replyOf(turn.Exchange)})
	}
	return legs
}

func replyOf(ex dispatchtest.Exchange) *reply { return &reply{ex.Status, milliseconds(ex.TookMS)} }

// timeline adds all events in order.
func (p *page) timeline(t *texts, f facts, legs []leg, result *dispatchtest.Result) {
	events := p.events(t, f)
	after := 0
	for k, l := range legs {
		turn, said := 0, p.Instruction
		if len(p.Turns) > 0 {
			turn = k
		}
		if k > 1 {
			said = p.Turns[k-2]
		}
		if k == 0 {
			p.Items = append(p.Items, item{ID: "ping", Kind: "ping", At: l.at, Exchange: l.answer})
		} else {
			p.Items = append(p.Items, item{ID: fmt.Sprintf("dispatch-%d", k), Kind: "dispatch", At: l.at, Said: said,
				Turn: turn})
		}
		p.between(events, after, l.last)
		after = l.last
		if k > 0 && l.answer != nil {
			said = text{}
			if turn > 0 && result != nil {
				said = t.text("answer-"+strconv.Itoa(k), result.Turns[k-1].FinalResponse)
			}
			p.Items = append(p.Items, item{ID: fmt.Sprintf("answer-%d", k), Kind: "answer", At: l.at + l.answer.Took,
				Exchange: l.answer, Said: said, Turn: turn})
		}
	}
	p.between(events, after, math.MaxInt) // what the agent sent with its answer
}

// between adds the events that belong to an exchange.
func (p *page) between(events []event, after, last int) {
	for _, e := range events {
		if e.order > after && e.order <= last {
			p.Items = append(p.Items, e.item)
		}
	}
}

// events returns the calls, trace events and telemetry spans. A trace event has its place where it
// occurred, as on the platform.
func (p *page) events(t *texts, f facts) []event {
	var events []event
	requests := slices.Concat(f.record.Calls, f.record.Refused)
	slices.SortFunc(requests, func(a, b proxytest.Call) int { return cmp.Compare(a.Order, b.Order) })
	type request struct {
		trace                  bool
		tool, actor, arguments string
		n                      int
	}
	next := map[request][]*call{} // calls without a result, by their next attempt
	for _, c := range requests {
		p.count(t, c)
		at := c.At.Sub(f.started)
		this := request{c.Trace, c.Tool, c.Actor, string(c.Arguments), c.Attempt}
		var of *call
		if waiting := next[this]; len(waiting) > 0 {
			of, next[this] = waiting[len(waiting)-1], waiting[:len(waiting)-1]
		} else {
			id, kind := "event-"+strconv.Itoa(c.Order), "call"
			if c.Trace {
				kind = "trace-refused"
			}
			if plane, _, _ := strings.Cut(c.Tool, "/"); c.Trace && slices.Contains([]string{"telemetry", "data", "context"},
				plane) {
				kind = "path-refused"
			}
			of = &call{Tool: t.line(c.Tool), Arguments: t.json(id+"-arguments", c.Arguments)}
			events = append(events, event{c.At, c.Order, item{ID: id, Kind: kind, At: at, Actor: t.line(c.Actor), Call: of}})
		}
		of.add(t, c, at)
		if this.n++; !of.Result() {
			next[this] = append(next[this], of)
		}
	}
	p.Traces, p.Telemetry = len(f.record.Traces), len(f.record.Telemetry)
	for i, tr := range slices.Concat(f.record.Traces, f.record.Telemetry) {
		shown, occurred := newTrace(t, tr)
		if i >= p.Traces {
			shown, occurred = newSpan(t, tr)
		}
		e := event{tr.At, tr.Order, item{ID: "event-" + strconv.Itoa(tr.Order), Kind: "trace", Actor: t.line(tr.Actor),
			Trace: shown}}
		if behind := tr.At.Sub(occurred); behind > clockGrain && !occurred.IsZero() {
			e.at, shown.Late = occurred, "sent "+length(behind)+" after it occurred"
		}
		e.At = e.at.Sub(f.started)
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.order, b.order) })
	// The order is that of the arrivals. Only events that were sent late move back.
	for i, e := range events {
		for i > 0 && e.Trace != nil && e.Trace.Late != "" && events[i-1].at.After(e.at) {
			events[i], events[i-1] = events[i-1], e
			i--
		}
	}
	for _, e := range events {
		if e.Actor != "" && !slices.Contains(p.Actors, e.Actor) {
			p.Actors = append(p.Actors, e.Actor)
		}
	}
	return events
}

// count counts a request and its failure.
func (p *page) count(t *texts, c proxytest.Call) {
	if c.Status == 200 && c.Source != "" {
		if to := bySource[string(c.Source)]; to != "" {
			p.addFailure(string(c.Source), t.line(c.Tool), to)
		}
		return
	}
	if waiting(c) && p.Status == inProgress {
		return
	}
	p.Refused++
	class, to := c.ErrorClass, ofProxy[c.ErrorClass]
	if to == "" {
		to = byStatus(c.Status)
	}
	if class == "" {
		class = "status " + strconv.Itoa(c.Status)
	}
	if c.Status == 0 {
		class = "no answer"
	}
	p.addFailure(t.line(class), t.line(c.Tool), to)
}

// waiting reports whether the request was not answered when the record was made.
func waiting(c proxytest.Call) bool { return c.Status == 0 && c.Reason == "not answered yet" }

// add adds a request to its call.
func (c *call) add(t *texts, r proxytest.Call, at time.Duration) {
	ok := r.Status == 200 && r.Source != ""
	c.Attempts = append(c.Attempts, attempt{
		N: len(c.Attempts) + 1, At: at, Status: r.Status, Class: t.line(r.ErrorClass), Reason: t.line(r.Reason), Rule: r.Rule,
		Latency: milliseconds(r.LatencyMS), OK: ok,
	})
	c.Waiting = waiting(r)
	c.Latency, c.Rule, c.Policy = milliseconds(r.LatencyMS), r.Rule, string(r.Policy)
	if !ok {
		return
	}
	c.Source, c.Reason = t.line(string(r.Source)), t.line(r.Reason)
	c.Response = t.json("event-"+strconv.Itoa(r.Order)+"-response", r.Response)
	if r.Adapter != nil {
		for _, step := range r.Adapter.Steps {
			c.Adapter = append(c.Adapter, t.line(step.Message))
		}
	}
	for _, note := range r.Notes {
		if !strings.HasPrefix(note, "ledger_adapter: ") { // Adapter has those
			c.Notes = append(c.Notes, t.line(note))
		}
	}
	for _, applied := range r.Writes {
		c.Writes = append(c.Writes, newWrite(t, applied))
	}
}

func newWrite(t *texts, applied ledger.Applied) write {
	w := write{What: t.line(applied.Update.String()), Result: applied.Status}
	for _, v := range applied.Violations {
		w.Violations = append(w.Violations, t.line(v.String()))
	}
	return w
}

// newTrace shows a trace event: text or content inline, the rest as raw payload.
func newTrace(t *texts, tr proxytest.Trace) (*trace, time.Time) {
	shown := &trace{Event: string(tr.Event)}
	key := "event-" + strconv.Itoa(tr.Order)
	var p struct {
		At      string          `json:"__occurred_at"`
		Text    json.RawMessage `json:"text"`
		Content json.RawMessage `json:"content"`
		From    string          `json:"from_sub_agent"`
		To      string          `json:"to_sub_agent"`
	}
	_ = json.Unmarshal(tr.Payload, &p) // members of other types stay empty
	if tr.Event == proxy.EventHandoff {
		shown.From, shown.To = t.line(p.From), t.line(p.To)
	}
	for _, raw := range []json.RawMessage{p.Text, p.Content} {
		var s string
		if shown.Text.Empty() && json.Unmarshal(raw, &s) == nil {
			shown.Text = t.text(key+"-text", s)
		}
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(tr.Payload, &members)
	delete(members, "__occurred_at")
	switch {
	case len(members) == 2 && shown.From != "" && shown.To != "", len(members) == 1 && !shown.Text.Empty():
	case shown.From != "" && shown.To != "" && len(members) == 3 && shown.Text.Shown == shown.From+" → "+shown.To:
		shown.Text = text{}
	default:
		shown.Payload = t.json(key+"-payload", tr.Payload)
	}
	occurred, _ := time.Parse(time.RFC3339Nano, p.At)
	return shown, occurred
}

// newSpan shows a telemetry span: its text inline, the rest as raw payload.
func newSpan(t *texts, tr proxytest.Trace) (*trace, time.Time) {
	key := "event-" + strconv.Itoa(tr.Order)
	shown := &trace{Event: "telemetry: " + t.line(string(tr.Event)), Payload: t.json(key+"-payload", tr.Payload)}
	var span struct {
		At string `json:"occurred_at"`
	}
	_ = json.Unmarshal(tr.Payload, &span) // a member of another type stays empty
	occurred, _ := time.Parse(time.RFC3339Nano, span.At)
	return shown, occurred
}

// length formats a duration for people.
func length(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
