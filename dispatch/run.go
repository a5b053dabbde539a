package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/proxy"
)

// A Run is one dispatch, as the agent receives it. Its methods are safe for concurrent use. The agent must not
// change its fields or their raw JSON: the handler reads them too, even while the agent runs.
type Run struct {
	// TaskID, RunID and AgentID are the platform's ids. Today they are decimal digits. They are ""
	// if the platform sent none. TokenJTI is the id of the run token. They are safe to log.
	TaskID, RunID, AgentID string
	TokenJTI               string

	// Instruction is the user's prompt of this run or turn: input.user_instruction, or in a
	// multi-turn session input.latest_user_prompt, or the last replayed message if it is the
	// user's. It is "" if the task has none.
	Instruction string

	// Input is the task's input, the row's current state: the member input.input, or {} if it is
	// absent or null. See [Run.DecodeInput].
	Input json.RawMessage

	// Proxy calls the tools of this run.
	Proxy *proxy.Client

	// SessionID and TurnID identify a turn of a multi-turn session. They are "" in a single-shot
	// run.
	SessionID, TurnID string

	// Messages is the transcript before this turn, a JSON array. It is nil if the platform does not
	// replay it. See [Run.History].
	Messages json.RawMessage

	// Envelope is the whole request body, including unknown members. The text "[redacted]" replaces
	// the run token. If the result is not JSON, because the token is part of a number, Envelope
	// contains only the member run_token.
	Envelope json.RawMessage

	transcript *Transcript
}

// FromContext returns the run of the context that an [Agent] receives, or of a context derived from
// it. It is for tools that a program registers once with a framework, and for an
// [http.RoundTripper] that serves all runs. If ctx is not derived from the context of an agent, ok
// is false.
func FromContext(ctx context.Context) (run *Run, ok bool) {
	kept := runctx.From[*runctx.Kept[Run]](ctx)
	if kept == nil {
		return nil, false
	}
	return kept.Run, true
}

// complete adds the client and the transcript, and fills in defaults.
func (r *Run) complete(e envelope, client *proxy.Client, transcript *Transcript) {
	r.Proxy, r.transcript, r.Envelope = client, transcript, withoutToken(e.run.Envelope, e.runToken)
	r.TaskID = cmp.Or(r.TaskID, e.taskID)
	if r.Input == nil {
		r.Input = json.RawMessage("{}")
	}
	if r.Instruction = cmp.Or(r.Instruction, e.latest); r.Instruction == "" {
		r.Instruction = lastPrompt(r.Messages)
	}
}

// DecodeInput decodes the task input into v with encoding/json. Its error is a [*toolwire.Error] with
// invalid_input.
func (r *Run) DecodeInput(v any) error {
	if err := json.Unmarshal(r.Input, v); err != nil {
		return &toolwire.Error{Package: "dispatch", Code: codeInput, Message: "the task input cannot be decoded into the agent's type", Err: err}
	}
	return nil
}

// Transcript returns the recording of the run from its start. After this call the handler sends the
// recording with the agent's response, if the response has nil Messages. Timeout and failure
// responses always contain it.
//
//	transcript := run.Transcript()
//	…
//	return transcript.Response("The refund has been issued."), nil
//
// The transcript of a Run that this package did not make is empty.
func (r *Run) Transcript() *Transcript {
	t := r.recording()
	t.asked.Store(true)
	return t
}

// Err returns nil while the run goes on. Afterwards it returns the cause of the agent's context. It
// is for code whose context does not end with the run, see [context.WithoutCancel]. For a Run that
// this package did not make, Err returns nil.
func (r *Run) Err() error {
	t := r.recording()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.agent == nil {
		return nil
	}
	return context.Cause(t.agent)
}

// byHand guards the transcripts of runs that this package did not make, which may be copied.
var byHand sync.Mutex

func (r *Run) recording() *Transcript {
	byHand.Lock()
	defer byHand.Unlock()
	if r.transcript == nil {
		r.transcript = &Transcript{run: r, numbers: new(atomic.Int64)}
	}
	return r.transcript
}

// History returns the conversation so far, for a model: the rows of [Run.Messages] and the present
// prompt as a user message, unless the last row is that prompt. Rows may contain tool calls in the
// flat or the nested form. Arguments that are a JSON-encoded object become objects, and null and blank
// text become {}. The error is an [*toolwire.Error] with invalid_input.
func (r *Run) History() ([]Message, error) {
	messages, err := r.replayed()
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		for i, c := range m.ToolCalls {
			m.ToolCalls[i].Arguments = objectArguments(c.Arguments)
		}
	}
	if r.Instruction == "" {
		return messages, nil
	}
	if n := len(messages); n > 0 && messages[n-1].Role == RoleUser && messages[n-1].Content.String() == r.Instruction {
		return messages, nil
	}
	return append(messages, Message{Role: RoleUser, Content: Text(r.Instruction)}), nil
}

// lastPrompt returns the text of the last replayed message if it is the user's, or "". It decodes no other
// message, since there may be very many.
func lastPrompt(messages json.RawMessage) string {
	var last json.RawMessage
	for last = range rawjson.Elements(messages) {
	}
	var m Message
	err := readMembers(last, func(name string) any {
		switch name {
		case "role":
			return &m.Role
		case "content":
			return &m.Content
		}
		return nil
	})
	if err != nil || m.Role != RoleUser {
		return ""
	}
	return m.Content.String()
}

// replayed decodes the replayed messages.
func (r *Run) replayed() ([]Message, error) {
	if r.Messages == nil {
		return nil, nil
	}
	var messages []Message
	if json.Valid(r.Messages) { // made at once, a list takes half as much
		rows := 0
		for range rawjson.Elements(r.Messages) {
			rows++
		}
		messages = make([]Message, 0, rows+1) // and the instruction
	}
	if err := json.Unmarshal(r.Messages, &messages); err != nil {
		return nil, &toolwire.Error{Package: "dispatch", Code: codeInput, Message: "the replayed messages cannot be read", Err: err}
	}
	return messages, nil
}

// objectArguments returns the object that arguments are or contain. It returns other arguments unchanged.
func objectArguments(raw json.RawMessage) json.RawMessage {
	if object, err := rawjson.ReadArguments(raw, valueLimits); err == nil {
		return object
	}
	return raw
}
