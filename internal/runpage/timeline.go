package runpage

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
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Item is one entry of the timeline. Kind says which other fields are set.
type Item struct {
	ID    string // of the element, the same while the run goes on
	Kind  string // ping, dispatch, call, trace, trace-refused, path-refused or answer
	At    time.Duration
	Actor string

	Exchange *Reply // ping and answer
	Turn     int    // dispatch and answer; 0 in a run of one turn
	Said     Text   // dispatch and answer
	Call     *Call
	Trace    *Trace
}

// Reply is the status and the duration of a response of the agent.
type Reply struct {
	Status int // 0 for none
	Took   time.Duration
}

// Call is a tool call with all its attempts.
type Call struct {
	Tool      string
	Arguments Text
	Response  Text
	Source    string // "" while there is no result
	Latency   time.Duration
	Rule      *int
	Reason    string
	Waiting   bool // the last attempt is not answered yet
	Attempts  []Attempt
	Policy    string
	Adapter   []string // what the ledger adapter decided
	Notes     []string // what else decided the call
	Writes    []Write

	// How many more there were before Bound.
	MoreAttempts, MoreSteps, MoreNotes, MoreWrites int
}

// Bound keeps at most n entries of each list of the call.
func (c *Call) Bound(n int) {
	c.Attempts, c.MoreAttempts = First(c.Attempts, n)
	c.Adapter, c.MoreSteps = First(c.Adapter, n)
	c.Notes, c.MoreNotes = First(c.Notes, n)
	c.Writes, c.MoreWrites = First(c.Writes, n)
	for i := range c.Writes {
		w := &c.Writes[i]
		w.Violations, w.More = First(w.Violations, n)
	}
}

// First returns at most n elements, and how many more there are.
func First[E any](all []E, n int) (first []E, more int) {
	first = all[:min(len(all), n)]
	return first, len(all) - len(first)
}

// Result reports whether the call has a result.
func (c *Call) Result() bool { return c.Source != "" }

// Attempt is one request.
type Attempt struct {
	N       int
	At      time.Duration
	Status  int
	Class   string
	Reason  string
	Rule    *int
	Latency time.Duration
	OK      bool
}

// Write is an update of the ledger.
type Write struct {
	What, Result string
	Violations   []string
	More         int // violations, before Bound
}

// Trace is a trace event.
type Trace struct {
	Event    string
	From, To string // of a handoff
	Text     Text   // what the platform shows inline
	Payload  Text   // the rest
	Late     string // when it occurred, if it was sent much later
}

// clockGrain is how long before its arrival a trace event may have occurred and keep its place.
// Clocks have a resolution of milliseconds, and a request takes time.
const clockGrain = 100 * time.Millisecond

// event is an item with its place.
type event struct {
	at    time.Time
	order int
	Item
}

// Leg is an exchange with the agent: the ping, then a dispatch per turn.
type Leg struct {
	At     time.Duration
	Last   int    // the order of its last event at the proxy
	Answer *Reply // nil while there is none
	Final  string // the final response of a turn
}

// LegsOf returns the legs of a run that is over. Each begins when the one before it ends. last has
// [proxytest.Log.LastOrder] of each turn; a turn that it does not have gets all events that are left.
func LegsOf(result *dispatchtest.Result, last []int) []Leg {
	legs := []Leg{{Answer: replyOf(result.Ping)}}
	for i, turn := range result.Turns {
		before := legs[len(legs)-1]
		l := Leg{At: before.At + before.Answer.Took, Last: math.MaxInt, Answer: replyOf(turn.Exchange), Final: turn.FinalResponse}
		if i < len(last) {
			l.Last = max(before.Last, last[i])
		}
		legs = append(legs, l)
	}
	return legs
}

func replyOf(ex dispatchtest.Exchange) *Reply { return &Reply{ex.Status, Milliseconds(ex.TookMS)} }

// addTimeline adds all events in order.
func (r *Run) addTimeline(t *Texts, started time.Time, log *proxytest.Log, legs []Leg) {
	events := r.events(t, started, log)
	after := 0
	for k, l := range legs {
		turn, said := 0, r.Instruction
		if len(r.Turns) > 0 {
			turn = k
		}
		if k > 1 {
			said = r.Turns[k-2]
		}
		if k == 0 {
			r.Items = append(r.Items, Item{ID: t.Prefix + "ping", Kind: "ping", At: l.At, Exchange: l.Answer})
		} else {
			r.Items = append(r.Items, Item{ID: fmt.Sprintf("%sdispatch-%d", t.Prefix, k), Kind: "dispatch", At: l.At, Said: said,
				Turn: turn})
		}
		r.between(events, after, l.Last)
		after = l.Last
		if k > 0 && l.Answer != nil {
			said = Text{}
			if turn > 0 && l.Final != "" {
				said = t.Text("answer-"+strconv.Itoa(k), l.Final)
			}
			r.Items = append(r.Items, Item{ID: fmt.Sprintf("%sanswer-%d", t.Prefix, k), Kind: "answer", At: l.At + l.Answer.Took,
				Exchange: l.Answer, Said: said, Turn: turn})
		}
	}
	r.between(events, after, math.MaxInt) // what the agent sent with its answer
}

// between adds the events that belong to an exchange.
func (r *Run) between(events []event, after, last int) {
	for _, e := range events {
		if e.order > after && e.order <= last {
			r.Items = append(r.Items, e.Item)
		}
	}
}

// events returns the calls, trace events and telemetry spans. A trace event has its place where it
// occurred, as on the platform.
func (r *Run) events(t *Texts, started time.Time, log *proxytest.Log) []event {
	var events []event
	type request struct {
		trace                  bool
		tool, actor, arguments string
		n                      int
	}
	next := map[request][]*Call{} // calls without a result, by their next attempt
	for _, c := range Requests(log) {
		at := c.At.Sub(started)
		this := request{c.Trace, c.Tool, c.Actor, string(c.Arguments), c.Attempt}
		var of *Call
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
			of = &Call{Tool: t.Line(c.Tool), Arguments: t.JSON(id+"-arguments", c.Arguments)}
			events = append(events, event{c.At, c.Order, Item{ID: t.Prefix + id, Kind: kind, At: at, Actor: t.Line(c.Actor), Call: of}})
		}
		of.add(t, c, at)
		if this.n++; !of.Result() {
			next[this] = append(next[this], of)
		}
	}
	for i, tr := range slices.Concat(log.Traces, log.Telemetry) {
		shown, occurred := newTrace(t, tr)
		if i >= len(log.Traces) {
			shown, occurred = newSpan(t, tr)
		}
		e := event{tr.At, tr.Order, Item{ID: t.Prefix + "event-" + strconv.Itoa(tr.Order), Kind: "trace", Actor: t.Line(tr.Actor),
			Trace: shown}}
		if !occurred.IsZero() && occurred.Add(clockGrain).Before(tr.At) {
			e.at, shown.Late = occurred, "sent "+Length(tr.At.Sub(occurred))+" after it occurred"
		}
		e.At = e.at.Sub(started)
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
		if e.Actor != "" && !slices.Contains(r.Actors, e.Actor) {
			r.Actors = append(r.Actors, e.Actor)
		}
	}
	return events
}

// Requests returns the requests of a log in the order of their arrival.
func Requests(log *proxytest.Log) []proxytest.Call {
	requests := slices.Concat(log.Calls, log.Refused)
	slices.SortFunc(requests, func(a, b proxytest.Call) int { return cmp.Compare(a.Order, b.Order) })
	return requests
}

// Waiting reports whether the request was not answered when the record was made.
func Waiting(c proxytest.Call) bool { return c.Status == 0 && c.Reason == "not answered yet" }

// add adds a request to its call.
func (c *Call) add(t *Texts, r proxytest.Call, at time.Duration) {
	ok := r.Status == 200 && r.Source != ""
	c.Attempts = append(c.Attempts, Attempt{
		N: len(c.Attempts) + 1, At: at, Status: r.Status, Class: t.Line(r.ErrorClass), Reason: t.Line(r.Reason), Rule: r.Rule,
		Latency: Milliseconds(r.LatencyMS), OK: ok,
	})
	c.Waiting = Waiting(r)
	c.Latency, c.Rule, c.Policy = Milliseconds(r.LatencyMS), r.Rule, string(r.Policy)
	if !ok {
		return
	}
	c.Source, c.Reason = t.Line(string(r.Source)), t.Line(r.Reason)
	c.Response = t.JSON("event-"+strconv.Itoa(r.Order)+"-response", r.Response)
	if r.Adapter != nil {
		for _, step := range r.Adapter.Steps {
			c.Adapter = append(c.Adapter, t.Line(step.Message))
		}
	}
	for _, note := range r.Notes {
		if !strings.HasPrefix(note, "ledger_adapter: ") { // Adapter has those
			c.Notes = append(c.Notes, t.Line(note))
		}
	}
	for _, applied := range r.Writes {
		c.Writes = append(c.Writes, newWrite(t, applied))
	}
}

func newWrite(t *Texts, applied ledger.Applied) Write {
	w := Write{What: t.Line(applied.Update.String()), Result: applied.Status}
	for _, v := range applied.Violations {
		w.Violations = append(w.Violations, t.Line(v.String()))
	}
	return w
}

// newTrace shows a trace event: text or content inline, the rest as raw payload.
func newTrace(t *Texts, tr proxytest.Trace) (*Trace, time.Time) {
	shown := &Trace{Event: string(tr.Event)}
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
		shown.From, shown.To = t.Line(p.From), t.Line(p.To)
	}
	for _, raw := range []json.RawMessage{p.Text, p.Content} {
		var s string
		if shown.Text.Empty() && json.Unmarshal(raw, &s) == nil {
			shown.Text = t.Text(key+"-text", s)
		}
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(tr.Payload, &members)
	delete(members, "__occurred_at")
	switch {
	case len(members) == 2 && shown.From != "" && shown.To != "", len(members) == 1 && !shown.Text.Empty():
	case shown.From != "" && shown.To != "" && len(members) == 3 && shown.Text.Shown == shown.From+" → "+shown.To:
		shown.Text = Text{}
	default:
		shown.Payload = t.JSON(key+"-payload", tr.Payload)
	}
	occurred, _ := time.Parse(time.RFC3339Nano, p.At)
	return shown, occurred
}

// newSpan shows a telemetry span: its text inline, the rest as raw payload.
func newSpan(t *Texts, tr proxytest.Trace) (*Trace, time.Time) {
	key := "event-" + strconv.Itoa(tr.Order)
	shown := &Trace{Event: "telemetry: " + t.Line(string(tr.Event)), Payload: t.JSON(key+"-payload", tr.Payload)}
	var span struct {
		At string `json:"occurred_at"`
	}
	_ = json.Unmarshal(tr.Payload, &span) // a member of another type stays empty
	occurred, _ := time.Parse(time.RFC3339Nano, span.At)
	return shown, occurred
}

// Length formats a duration for people.
func Length(d time.Duration) string {
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
