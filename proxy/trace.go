package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// An Event is a trace event type. The set is closed: the proxy refuses any other.
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

// Valid reports whether e is one of the reserved types.
func (e Event) Valid() bool {
	switch e {
	case EventAssistantMessage, EventThinking, EventSystemPrompt, EventCustom, EventHandoff, EventSubagentMessage, EventSubagentFinal:
		return true
	}
	return false
}

// Receipt is the proxy's answer to a trace event.
type Receipt struct {
	Accepted bool
	Sequence int64 // orders events of equal time; grows within a run
}

// Trace posts a trace event. payload is any value that encoding/json writes as an object, or raw
// JSON; nil means {}. Its members text and content are shown in the trace, the others as raw
// payload. Without a member __occurred_at (ISO 8601) it gets the present time, by which the trace
// is sorted.
//
// A trace event is repeated like a call and counts against the same limits. Use [Client.TryTrace]
// where a lost event must not fail the run.
func (c *Client) Trace(ctx context.Context, event Event, payload any) (*Receipt, error) {
	info := CallInfo{Tool: string(event), Actor: c.actorFor(ctx)}
	if !event.Valid() {
		return nil, localError(CodeEvent, identifier(info.Tool), "the type is not one of the seven reserved ones; use EventCustom")
	}
	if err := c.checkActor(info); err != nil {
		return nil, err
	}
	body, err := marshalObject(payload)
	if err != nil {
		return nil, &Error{Code: CodeArguments, Delivery: NotSent, Tool: info.Tool, Err: err}
	}
	body = withTime(body, time.Now())
	ans, failure := c.run.send(ctx, &request{plane: "/traces/", name: info.Tool, actor: info.Actor, body: body})
	if failure != nil {
		e := *failure // another client may hold the end of the run
		e.event = true
		return nil, &e
	}
	receipt := &Receipt{}
	err = strictjson.Read(ans.body, liberal, func(r *strictjson.Reader) error {
		return r.Object(nil, func(name string) error { // later members may differ from these by case
			switch name {
			case "accepted":
				v, err := r.Value()
				receipt.Accepted = string(v) == "true"
				return err
			case "sequence":
				n, err := r.Int()
				if n != nil {
					receipt.Sequence = *n
				}
				return err
			}
			_, err := r.Value()
			return err
		}, "accepted", "sequence")
	})
	if err != nil {
		return nil, &Error{
			Code: CodeBadResponse, Delivery: Unknown, Tool: info.Tool, Status: ans.status, Attempts: ans.attempts,
			Err: c.run.withoutSecrets(err), event: true,
		}
	}
	return receipt, nil
}

// TryTrace is [Client.Trace] for events that are nice to have: it reports whether the event was
// accepted, and a failure goes to the log only.
func (c *Client) TryTrace(ctx context.Context, event Event, payload any) bool {
	receipt, err := c.Trace(ctx, event, payload)
	if err != nil {
		c.run.log.WarnContext(ctx, "proxy trace event lost", "event", string(event), "code", string(CodeOf(err)))
		return false
	}
	return receipt.Accepted
}

// Handoff records that control passes from one sub-agent to another. Attribute the target's calls
// to it, through [Client.As] or [WithActor], before its first call.
//
// The member names of this payload are not documented; from_sub_agent and to_sub_agent are those of
// the platform's telemetry. Use [Client.Trace] with [EventHandoff] to send others.
func (c *Client) Handoff(ctx context.Context, from, to string) (*Receipt, error) {
	for _, id := range []string{from, to} {
		if err := ValidActor(id); err != nil {
			return nil, localError(CodeActor, string(EventHandoff), err.Error())
		}
	}
	return c.Trace(ctx, EventHandoff, struct {
		From string `json:"from_sub_agent"`
		To   string `json:"to_sub_agent"`
		Text string `json:"text"`
	}{from, to, from + " → " + to})
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
