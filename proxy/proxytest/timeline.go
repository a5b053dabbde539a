package proxytest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/proxy"
)

// String returns the events in their order, for people: a line for each call, one for each of its
// attempts with the response, and one for each trace event. A trace event that was sent late is placed
// where it occurred. It is safe to print to a terminal.
func (r Log) String() string { return timeline.Print(r.timeline().Rows) }

var _ = hook.Set((*Log).timeline)

// timeline returns a row for each call with all its attempts and one for each trace event, in the order of
// arrival.
func (r *Log) timeline() timeline.Run {
	run := timeline.Run{Rows: r.rows(), Faults: slices.Clone(r.Faults)}
	for i, c := range r.Changes {
		key, where := "change-"+strconv.Itoa(i+1), c.Pointer
		if c.Flag != "" {
			where = "flag " + c.Flag
		}
		run.Changes = append(run.Changes, timeline.Change{
			Kind: string(c.Kind), Where: where, Before: timeline.JSON(key+"-before", c.Before), After: timeline.JSON(key+"-after", c.After),
		})
	}
	for _, row := range run.Rows {
		if run.Began.IsZero() || row.At.Before(run.Began) && row.Late == "" {
			run.Began = row.At
		}
	}
	return run
}

// Requests returns the calls and the refused requests in the order of their arrival.
func (r *Log) Requests() []Call {
	requests := slices.Concat(r.Calls, r.Refused)
	slices.SortFunc(requests, func(a, b Call) int { return cmp.Compare(a.Order, b.Order) })
	return requests
}

// notAnswered is the reason of a request that was not answered when the log was made.
const notAnswered = "not answered yet"

func (r *Log) rows() []timeline.Row {
	type request struct {
		trace                  bool
		tool, actor, arguments string
		n                      int
	}
	// Pointers, because rows are appended to while their calls still take attempts.
	var rows []*timeline.Row
	next := map[request][]*timeline.Row{} // calls without a result, by their next attempt
	for _, c := range r.Requests() {
		this := request{c.Trace, c.Tool, c.Actor, string(c.Arguments), c.Attempt}
		var row *timeline.Row
		if waiting := next[this]; len(waiting) > 0 {
			row, next[this] = waiting[len(waiting)-1], waiting[:len(waiting)-1]
		} else {
			key := "event-" + strconv.Itoa(c.Order)
			row = &timeline.Row{
				Kind: kindOf(c), Key: key, Order: c.Order, At: c.At, Actor: c.Actor, Name: c.Tool,
				Request: timeline.JSON(key+"-arguments", c.Arguments),
			}
			rows = append(rows, row)
		}
		c.addTo(row)
		if this.n++; !row.Result() {
			next[this] = append(next[this], row)
		}
	}
	for i, t := range slices.Concat(r.Traces, r.Telemetry) {
		rows = append(rows, t.row(i >= len(r.Traces)))
	}
	sorted := make([]timeline.Row, len(rows))
	for i, row := range rows {
		sorted[i] = *row
	}
	timeline.Arrange(sorted)
	return sorted
}

func kindOf(c Call) timeline.Kind {
	switch plane, _, _ := strings.Cut(c.Tool, "/"); {
	case !c.Trace:
		return timeline.Call
	case slices.Contains([]string{"telemetry", "data", "context"}, plane):
		return timeline.RefusedPath
	}
	return timeline.RefusedTrace
}

// addTo adds a request to its row.
func (c Call) addTo(row *timeline.Row) {
	took, ok := timeline.Milliseconds(c.LatencyMS), c.Status == 200 && c.Source != ""
	row.Attempts = append(row.Attempts, timeline.Attempt{
		N: len(row.Attempts) + 1, At: c.At, Took: took, Status: c.Status, Class: c.ErrorClass, Reason: c.Reason, Rule: c.Rule, OK: ok,
	})
	row.Took, row.Rule, row.Policy = max(c.At.Sub(row.At), 0)+took, c.Rule, string(c.Policy)
	row.Open = c.Status == 0 && c.Reason == notAnswered
	row.Notes = append(row.Notes, c.Notes...)
	for _, applied := range c.Writes {
		w := timeline.Write{What: applied.Update.String(), Result: applied.Status}
		for _, v := range applied.Violations {
			w.Violations = append(w.Violations, v.String())
		}
		row.Writes = append(row.Writes, w)
	}
	if !ok {
		return
	}
	row.Source, row.Reason = string(c.Source), c.Reason
	row.Response = timeline.JSON("event-"+strconv.Itoa(c.Order)+"-response", c.Response)
	if c.Adapter != nil {
		for _, step := range c.Adapter.Steps {
			row.Adapter = append(row.Adapter, step.Message)
		}
	}
}

// clockGrain is how long before its arrival a trace event may have occurred and keep its place.
// Clocks have a resolution of milliseconds, and a request takes time.
const clockGrain = 100 * time.Millisecond

// row shows a trace event: text or content inline, the rest as raw payload. Of a telemetry span
// everything is raw.
func (t Trace) row(telemetry bool) *timeline.Row {
	key := "event-" + strconv.Itoa(t.Order)
	row := &timeline.Row{
		Kind: timeline.Trace, Key: key, Order: t.Order, At: t.At, Actor: t.Actor, Name: string(t.Event),
		Request: timeline.JSON(key+"-payload", t.Payload),
	}
	var p struct {
		At      string          `json:"__occurred_at"`
		SpanAt  string          `json:"occurred_at"`
		Text    json.RawMessage `json:"text"`
		Content json.RawMessage `json:"content"`
		From    string          `json:"from_sub_agent"`
		To      string          `json:"to_sub_agent"`
	}
	_ = json.Unmarshal(t.Payload, &p) // members of other types stay empty
	if telemetry {
		row.Kind, p.At = timeline.Telemetry, p.SpanAt
	} else {
		if t.Event == proxy.EventHandoff {
			row.From, row.To = p.From, p.To
		}
		for _, raw := range []json.RawMessage{p.Text, p.Content} {
			var s string
			if row.Text.Empty() && json.Unmarshal(raw, &s) == nil {
				row.Text = timeline.Plain(key+"-text", s)
			}
		}
		row.Inline = inline(row, t.Payload)
	}
	if occurred, err := time.Parse(time.RFC3339Nano, p.At); err == nil && occurred.Add(clockGrain).Before(t.At) {
		row.At, row.Late = occurred, "sent "+timeline.Length(t.At.Sub(occurred))+" after it occurred"
	}
	return row
}

// inline reports whether the row of a trace event shows all of its payload. A handoff need not repeat
// in a text who hands over to whom.
func inline(row *timeline.Row, payload json.RawMessage) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(payload, &members) // nil if the payload is not an object
	delete(members, "__occurred_at")
	handoff := row.From != "" && row.To != ""
	if handoff && len(members) == 3 && row.Text.Shown == row.From+" → "+row.To {
		row.Text = timeline.Text{}
		return true
	}
	return handoff && len(members) == 2 || len(members) == 1 && !row.Text.Empty()
}
