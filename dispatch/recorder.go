package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/observe"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// call is a recorded tool call.
type call struct {
	transcript *Transcript
	group      *group
	index      int    // in the turn of its group
	id         string // in the transcript, if the agent does not tell the call
	modelID    string // of proxy.WithCallID; "" for none
	tool       string
	arguments  json.RawMessage
	hash       string  // see callHash
	content    Content // of the result; empty until the call has ended

	matched, answered bool // by the agent; see matcher
}

// group is the calls of one actor that belong to one turn, or that began before any of them ended.
type group struct {
	actor string
	at    int // see position
	calls []*call
	ended bool // one of the calls
}

type groupKey struct {
	actor string
	turn  *actor.Turn
}

func (g *group) position() position { return position{g.at, g.calls[0].index} }

// begin records the start of a call. It returns nil if there is no room.
func (t *Transcript) begin(ctx context.Context, info proxy.CallInfo) *call {
	turn, index := actor.TakeTurn(ctx)
	c := &call{
		transcript: t, index: index, modelID: info.CallID, id: info.CallID, arguments: recordable(info.Arguments),
		tool: bounded.Cut(cmp.Or(info.Tool, "(no name)"), maxTranscriptName), // a model may leave it out
	}
	if c.id == "" {
		c.id = t.newID(ctx, nil)
		if !bytes.Equal(c.arguments, info.Arguments) { // what is recorded is not what was passed
			c.hash = hashOf(c.tool, info.Arguments)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.keep(2*messageOverhead + len(info.Actor) + len(c.tool) + len(c.id) + len(c.arguments)) {
		t.lost += 2
		return nil
	}
	t.label(ctx, info.Actor)
	key := groupKey{info.Actor, turn}
	g := t.groups[key]
	if g == nil || turn == nil && (g.ended || t.addedAfter(g)) {
		g = &group{actor: info.Actor, at: t.nextPosition(turn, index).at}
		if t.groups == nil {
			t.groups = map[groupKey]*group{}
		}
		t.groups[key] = g
		t.recorded = append(t.recorded, g)
	}
	c.group, g.calls = g, append(g.calls, c)
	return c
}

// addedAfter reports whether the agent has added a message since a group began.
func (t *Transcript) addedAfter(g *group) bool {
	n := len(t.added)
	return n > 0 && t.added[n-1].position.at > g.at
}

// end records the result of a call, as the model should see it.
func (t *Transcript) end(c *call, result Content) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.group.ended = true
	if !t.keep(len(result)) {
		result = Text("…")
	}
	c.content = result
}

// result returns the recorded result as the answer to the call with this id.
func (c *call) result(id string) Message {
	content := c.content
	if len(content) == 0 {
		content = unfinished
	}
	return Message{Role: RoleTool, ToolCallID: id, Content: content}
}

// callHash returns the hash by which a call without an id of the model is found; see hashOf. It is made
// when it is asked for, because most runs send no transcript. It must be called with t.mu held.
func (c *call) callHash() string {
	if c.hash == "" {
		c.hash = hashOf(c.tool, c.arguments)
	}
	return c.hash
}

// unfinished is the result of a call that has not ended.
var unfinished = Text(string(toolresult.Failure("tool_call_failed", "the call has not ended", nil)))

// recordable returns arguments as they can be sent. JSON objects and strings of at most 64 KiB stay
// as they are. Anything else becomes a JSON string of at most 64 KiB.
func recordable(given json.RawMessage) json.RawMessage {
	switch {
	case len(given) == 0:
		return json.RawMessage("{}")
	case len(given) <= maxTranscriptText && validArguments(given):
		return given
	}
	return json.RawMessage(cutText(string(given)))
}

// cutText returns s as content of at most maxTranscriptText bytes of JSON.
func cutText(s string) Content {
	limit := maxTranscriptText - 2
	for {
		content := Text(bounded.Cut(s, limit))
		if len(content) <= maxTranscriptText {
			return content
		}
		limit = limit * maxTranscriptText / len(content) // what has to be escaped takes more
	}
}

// recorder is the first observer of a run's client.
type recorder struct {
	transcript Transcript
	calls      atomic.Int64 // that have begun
	observer   proxy.Observer
}

// init prepares the recorder of a run. numbers counts the ids that were made for the run token.
func (r *recorder) init(run *Run, numbers *atomic.Int64) {
	r.transcript.run, r.transcript.numbers = run, numbers
	r.observer = proxy.Observer{CallStart: r.callStart, CallEnd: callEnd}
}

func (r *recorder) callStart(ctx context.Context, info proxy.CallInfo) context.Context {
	r.calls.Add(1)
	return observe.With(ctx, r.transcript.begin(ctx, info))
}

func callEnd(ctx context.Context, end proxy.CallEnd) {
	c := observe.From[*call](ctx)
	if c == nil { // there was no room
		return
	}
	var response json.RawMessage // as the model should see it
	if end.Err != nil {
		response = proxy.ToolResult(end.Err)
	} else {
		response = end.Result.Response
	}
	c.transcript.end(c, cutText(toolresult.Plain(response)))
}
