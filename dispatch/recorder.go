package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/proxy"
)

// begin records the start of a call. It returns nil if the transcript is full.
func (t *Transcript) begin(ctx context.Context, info proxy.CallInfo) *call {
	turn, index := actor.TakeTurn(ctx)
	arguments := recordable(info.Arguments)
	t.mu.Lock()
	defer t.mu.Unlock()
	tool := cmp.Or(info.Tool, "(no name)") // a model may leave it out
	if len(tool) > maxTranscriptName {
		tool = clip.Text(tool, maxTranscriptName)
	}
	if c := t.findTold(tool, info); c != nil {
		c.recorded = true
		return c
	}
	c := &call{modelID: info.CallID, tool: tool, arguments: arguments, recorded: true}
	c.size = 80 + quotedLen(tool) + max(quotedLen(c.modelID), minIDLen) + len(arguments)
	if !t.admit(c.size+answerSize(c.modelID), 2) {
		t.lost += 2
		return nil
	}
	if c.modelID != "" && !t.ids[c.modelID] {
		c.id = c.modelID
		t.use(c.id)
	} else {
		c.id = t.newID()
	}
	t.calls = append(t.calls, c)
	c.group, c.index = t.group(info.Actor, turn), index
	at := len(c.group.calls)
	for turn != nil && at > 0 && c.group.calls[at-1].index > index {
		at--
	}
	c.group.calls = slices.Insert(c.group.calls, at, c)
	return c
}

// group returns the group of recorded calls for a call that begins now: that of its turn, or the
// last one of its actor if none of its calls has ended.
func (t *Transcript) group(actor string, turn *actor.Turn) *row {
	for _, r := range slices.Backward(t.rows) {
		if r.added {
			break
		}
		if r.conversation != nil || r.actor != actor {
			continue
		}
		if turn == r.turn && (turn != nil || !r.ended) {
			return r
		}
		if turn == nil {
			break
		}
	}
	r := &row{actor: actor, turn: turn}
	t.rows = append(t.rows, r)
	return r
}

// findTold returns the call of an added message that begins now.
func (t *Transcript) findTold(tool string, info proxy.CallInfo) *call {
	open := func(c *call) bool { return c.told && !c.recorded && !c.answered && c.tool == tool }
	if info.CallID != "" {
		return t.findLast(func(c *call) bool { return open(c) && c.id == info.CallID })
	}
	return t.find(func(c *call) bool { return open(c) && equalArguments(c.arguments, info.Arguments) })
}

// end records the result of a call.
func (t *Transcript) end(c *call, end proxy.CallEnd) {
	result := json.RawMessage(nil)
	if end.Err != nil {
		result = proxy.ToolResult(end.Err)
	} else {
		result = end.Result.Response
	}
	content := cutText(string(result))
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.group != nil {
		c.group.ended = true
	}
	if c.answered {
		return
	}
	if !t.admit(len(content), 0) {
		content = Text("…") // for which there is room
	}
	c.content = content
}

// recorder is the observer of a run's calls. It calls the observer of the options before it
// records.
type recorder struct {
	transcript Transcript
	user       proxy.Observer // nil for none
}

type callKey struct{}

// CallStart implements [proxy.Observer].
func (r *recorder) CallStart(ctx context.Context, info proxy.CallInfo) context.Context {
	if r.user != nil {
		ctx = r.user.CallStart(ctx, info)
	}
	if c := r.transcript.begin(ctx, info); c != nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	return ctx
}

// CallEnd implements [proxy.Observer].
func (r *recorder) CallEnd(ctx context.Context, end proxy.CallEnd) {
	if r.user != nil {
		r.user.CallEnd(ctx, end)
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		r.transcript.end(c, end)
	}
}
