package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
)

// An Event is the type of a trace event. The proxy refuses any type that is not listed here.
type Event string

const (
	EventAssistantMessage Event = "assistant_message" // an intermediate assistant turn
	EventThinking         Event = "thinking"          // a reasoning block
	EventSystemPrompt     Event = "system_prompt"     // the resolved system prompt, once near the start
	EventCustom           Event = "custom"            // anything else
	EventHandoff          Event = "handoff"           // control passes from one sub-agent to another
	EventSubagentMessage  Event = "subagent_message"  // a message between sub-agents
	EventSubagentFinal    Event = "subagent_final"    // a sub-agent's own result; not the run's final response
)

// Reserved reports whether e is one of these types.
func (e Event) Reserved() bool {
	switch e {
	case EventAssistantMessage, EventThinking, EventSystemPrompt, EventCustom, EventHandoff, EventSubagentMessage,
		EventSubagentFinal:
		return true
	}
	return false
}

// Trace posts a trace event. payload is any value that encoding/json writes as an object, or raw
// JSON; nil means {}. The trace shows the members text and content, and other members as raw
// payload. If the payload has no member __occurred_at (ISO 8601), Trace adds the current time. The
// platform sorts the trace by this member.
//
// sequence is the number that the proxy gave the event. It orders events of equal time and grows
// within a run. It is 0 if the answer contains none.
//
// Trace repeats an event like a call, and the event counts against the same limits. Every error is
// an [*Error]. If the proxy answers with "accepted": false, the code is [toolwire.CodeRefused]. If a lost
// event need not fail the run, ignore the error: the client's logger receives it as a warning.
func (c *Client) Trace(ctx context.Context, event Event, payload any) (sequence int64, err error) {
	start := time.Now()
	sequence, failure := c.trace(ctx, event, payload)
	return c.endTrace(ctx, start, TraceEnd{Event: event, Sequence: sequence}, failure)
}

// endTrace logs and reports the end of an event. It returns what [Client.Trace] returns.
func (c *Client) endTrace(ctx context.Context, start time.Time, end TraceEnd, failure *Error) (int64, error) {
	end.Actor, end.Duration = c.actorFor(ctx), time.Since(start)
	if failure != nil {
		end.Err = failure
		c.run.log.LogAttrs(ctx, slog.LevelWarn, "proxy trace event lost",
			slog.String("event", failure.Tool), slog.String("code", string(failure.Code)))
	}
	for _, o := range c.observers {
		if o.TraceEnd != nil {
			o.TraceEnd(ctx, end)
		}
	}
	return end.Sequence, end.Err
}

func (c *Client) trace(ctx context.Context, event Event, payload any) (sequence int64, failure *Error) {
	info := CallInfo{Tool: string(event), Actor: c.actorFor(ctx)}
	if !event.Reserved() {
		return 0, localError(codeEvent, text.Code(info.Tool),
			errors.New("the type is not one of the seven reserved ones; use EventCustom"))
	}
	if err := c.checkActor(info); err != nil {
		return 0, err
	}
	body, err := marshalObject(payload)
	if err != nil {
		return 0, localError(toolwire.CodeInvalidArguments, info.Tool, err)
	}
	body = withTime(body, time.Now())
	if err := checkSize(info.Tool, "the body has", body); err != nil {
		return 0, err
	}
	ans, failure := c.run.send(ctx, &request{
		plane: "/traces/", name: info.Tool, actor: info.Actor, body: body, observers: c.observers,
	})
	if failure != nil {
		e := *failure // another client may hold the end of the run
		e.about = anEvent
		return 0, &e
	}
	refused := false
	err = rawjson.Read(ans.body, resultLimits, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) error { // later members may differ from these by case
			switch name {
			case "accepted":
				v, err := r.Value()
				refused = string(v) == "false"
				return err
			case "sequence":
				n, err := r.Int()
				if n != nil {
					sequence = *n
				}
				return err
			}
			_, err := r.Value()
			return err
		}, "accepted", "sequence")
	})
	e := &Error{Delivery: Unknown, Tool: info.Tool, Status: ans.status, Attempts: ans.attempts, about: anEvent}
	switch {
	case err != nil:
		e.Code, e.Err = toolwire.CodeBadResponse, c.run.withoutSecrets(err)
		return 0, e
	case refused:
		e.Code, e.Err = toolwire.CodeRefused, errors.New("the proxy did not accept the event")
		return 0, e
	}
	return sequence, nil
}

// Handoff records that control passes from one sub-agent to another. Attribute the target's calls
// to the target, through [Client.As] or [WithActor], before its first call. The sequence and the
// errors are as documented for [Client.Trace].
//
// The member names of this payload are not documented; from_sub_agent and to_sub_agent are the
// names in the platform's telemetry. Use [Client.Trace] with [EventHandoff] to send others.
func (c *Client) Handoff(ctx context.Context, from, to string) (sequence int64, err error) {
	start, end := time.Now(), TraceEnd{Event: EventHandoff, From: from, To: to}
	if err := cmp.Or(runctx.CheckActor(from), runctx.CheckActor(to)); err != nil {
		return c.endTrace(ctx, start, end, localError(codeActor, string(EventHandoff), err))
	}
	var failure *Error
	end.Sequence, failure = c.trace(ctx, EventHandoff, struct {
		From string `json:"from_sub_agent"`
		To   string `json:"to_sub_agent"`
		Text string `json:"text"`
	}{from, to, from + " → " + to})
	return c.endTrace(ctx, start, end, failure)
}

// withTime puts __occurred_at in front of a JSON object that has none.
func withTime(object json.RawMessage, now time.Time) json.RawMessage {
	const name = `"__occurred_at"`
	if bytes.Contains(object, []byte(name)) {
		var top map[string]json.RawMessage
		if json.Unmarshal(object, &top) == nil && top["__occurred_at"] != nil {
			return object
		}
	}
	rest := bytes.TrimSpace(object)[1:]
	var b bytes.Buffer
	b.WriteString("{" + name + ":" + strconv.Quote(now.UTC().Format(time.RFC3339Nano)))
	if bytes.TrimSpace(rest)[0] != '}' {
		b.WriteByte(',')
	}
	b.Write(rest)
	return b.Bytes()
}
