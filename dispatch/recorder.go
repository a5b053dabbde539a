package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/toolwire/toolwire/internal/actor"
	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/recording"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// begin records the start of a call. It returns nil if the transcript is full.
func (t *Transcript) begin(ctx context.Context, info recording.Call) *call {
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
func (t *Transcript) findTold(tool string, info recording.Call) *call {
	open := func(c *call) bool { return c.told && !c.recorded && !c.answered && c.tool == tool }
	if info.CallID != "" {
		return t.findLast(func(c *call) bool { return open(c) && c.id == info.CallID })
	}
	return t.find(func(c *call) bool { return open(c) && equalArguments(c.arguments, info.Arguments) })
}

// end records the result of a call, as the model should see it.
func (t *Transcript) end(c *call, result json.RawMessage) {
	content := cutText(toolresult.Text(result))
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

// recorder is the [recording.Recorder] of a run's calls.
type recorder struct {
	transcript Transcript
	calls      atomic.Int64 // that have begun
}

type callKey struct{}

// Start implements [recording.Recorder].
func (r *recorder) Start(ctx context.Context, info recording.Call) context.Context {
	r.calls.Add(1)
	if c := r.transcript.begin(ctx, info); c != nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	return ctx
}

// End implements [recording.Recorder].
func (r *recorder) End(ctx context.Context, response json.RawMessage, err error) {
	if err != nil {
		response = proxy.ToolResult(err)
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		r.transcript.end(c, response)
	}
}
