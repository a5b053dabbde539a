package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// call is a recorded tool call.
type call struct {
	transcript *Transcript
	group      *group
	of         *actor // the conversation whose last answer made the call; nil if there is no telling
	index      int    // in the turn of its group
	id         string // in the transcript, if the agent does not tell the call
	modelID    string // of proxy.WithCallID; "" for none
	tool       string
	arguments  json.RawMessage
	hash       string  // see hashOf; "" until a transcript is made, because most runs send none
	content    Content // of the result; empty until the call has ended
}

// group is the calls of one actor that belong to one turn, or that began before any of them ended.
type group struct {
	actor string
	at    int // see position
	calls []*call
	ended bool // one of the calls
}

// takes reports whether a further call joins the message. Calls of one turn of the model share a message. Calls
// without a turn share one until a call has ended or the agent has added a message, at lastAdded.
func (g *group) takes(turn *runctx.Turn, lastAdded int) bool {
	return turn != nil || !g.ended && g.at >= lastAdded
}

// beginCall records the start of a call. It returns nil if there is no room.
func (t *Transcript) beginCall(ctx context.Context, info proxy.CallInfo) *call {
	turn, index := runctx.TakeTurn(ctx)
	c := &call{
		transcript: t, index: index, modelID: info.CallID, id: info.CallID, arguments: recordable(info.Arguments),
		tool: text.Cut(cmp.Or(info.Tool, "(no name)"), maxTranscriptName), // a model may leave it out
	}
	if c.id == "" {
		c.id = t.newID(nil)
	}
	if !bytes.Equal(c.arguments, info.Arguments) { // what is recorded is not what was passed
		c.hash = hashOf(c.tool, info.Arguments)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.keep(2*messageOverhead + len(info.Actor) + len(c.tool) + len(c.id) + len(c.arguments)) {
		t.lost += 2
		return nil
	}
	a := t.actor(ctx, actorKey{label: info.Actor})
	c.of = t.asker(info.Actor, c)
	g := a.groups[turn]
	if g == nil || !g.takes(turn, t.lastAdded) {
		g = &group{actor: info.Actor, at: t.nextPosition(turn, index).at}
		a.groups[turn] = g
		t.groups = append(t.groups, g)
	}
	c.group, g.calls = g, append(g.calls, c)
	return c
}

// endCall records the result of a call, as the model should see it.
func (t *Transcript) endCall(c *call, result Content) {
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

// unfinished is the result of a call that has not ended.
var unfinished = Text(string(toolresult.Failure("tool_call_failed", "the call has not ended", nil)))

// recordable returns arguments as they can be sent. JSON objects and strings of at most 64 KiB stay
// as they are. Anything else becomes a JSON string of at most 64 KiB.
func recordable(given json.RawMessage) json.RawMessage {
	if len(given) <= maxTranscriptText && validArguments(given) {
		return given
	}
	return json.RawMessage(textContent(string(given)))
}

// textContent returns s as content of at most maxTranscriptText bytes of JSON.
func textContent(s string) Content {
	limit := maxTranscriptText - 2
	for {
		content := Text(text.Cut(s, limit))
		if len(content) <= maxTranscriptText {
			return content
		}
		limit = limit * maxTranscriptText / len(content) // what has to be escaped takes more
	}
}

// callStart is the CallStart of the first observer of a run's client.
func (t *Transcript) callStart(ctx context.Context, info proxy.CallInfo) context.Context {
	t.calls.Add(1)
	return runctx.With(ctx, t.beginCall(ctx, info))
}

// callEnd is the CallEnd of the first observer of a run's client.
func callEnd(ctx context.Context, end proxy.CallEnd) {
	c := runctx.From[*call](ctx)
	if c == nil { // there was no room
		return
	}
	var response json.RawMessage // as the model should see it
	if end.Err != nil {
		response = proxy.ToolResult(end.Err)
	} else {
		response = end.Result.Response
	}
	c.transcript.endCall(c, textContent(toolresult.Plain(response)))
}
