package dispatch

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/toolwire/toolwire/proxy"
)

// Run is one dispatch, as the agent gets it. It belongs to the agent, which must not change its raw
// JSON while other goroutines read it.
type Run struct {
	// TaskID, RunID and AgentID are the platform's ids, decimal digits today; "" if the platform
	// sent none. TokenJTI is the id of the run token. All are safe to log.
	TaskID, RunID, AgentID string
	TokenJTI               string

	// Instruction is the user's prompt of this run or turn: input.user_instruction, in a multi-turn
	// session without it input.latest_user_prompt, or else the last row of the replayed messages if
	// it is the user's. "" when the task seeds none.
	Instruction string

	// Input is the task's input, the row's current state: input.input. {} when absent or null. See
	// [Run.DecodeInput].
	Input json.RawMessage

	// Proxy calls the tools of this run.
	Proxy *proxy.Client

	// SessionID and TurnID identify a turn of a multi-turn session; "" in a single-shot run.
	SessionID, TurnID string

	// Messages is the transcript before this turn, a JSON array, where the platform replays it; nil
	// otherwise. See [Run.History].
	Messages json.RawMessage

	// Envelope is the whole request body, including members that this package does not know.
	// "[redacted]" replaces the run token where the body has it. If that cannot be JSON, because
	// the token stands in a number, Envelope has no other member than run_token.
	Envelope json.RawMessage

	transcript *Transcript
}

// FromContext returns the run of the context that an [Agent] receives, or of a context derived from
// it. It is for tools that a program registers once with a framework, and for an [http.RoundTripper]
// that serves all runs. If ctx is not derived from the context of an agent, ok is false.
func FromContext(ctx context.Context) (run *Run, ok bool) {
	run, ok = ctx.Value(runKey{}).(*Run)
	return run, ok
}

type runKey struct{}

// runContext is a context with a run. Visits have it as a field, which saves an allocation.
type runContext struct {
	context.Context
	run *Run
}

// Value implements [context.Context].
func (c *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return c.run
	}
	return c.Context.Value(key)
}

// set takes over what the envelope says.
func (r *Run) set(e *envelope, body []byte, client *proxy.Client) {
	*r = Run{
		TaskID: e.taskID, RunID: e.runID, AgentID: e.agentID, TokenJTI: e.tokenJTI, Proxy: client,
		Instruction: e.task.instruction, Input: e.task.input, Messages: e.task.messages,
		SessionID: e.task.sessionID, TurnID: e.task.turnID, Envelope: body, transcript: r.transcript,
	}
	if r.Instruction == "" {
		r.Instruction = e.task.latest
	}
	if isNull(r.Input) {
		r.Input = json.RawMessage("{}")
	}
	if isNull(r.Messages) {
		r.Messages = nil
	}
	if r.Instruction == "" && r.Messages != nil {
		if rows, err := r.replayed(); err == nil && len(rows) > 0 && rows[len(rows)-1].Role == RoleUser {
			r.Instruction = rows[len(rows)-1].Content.String()
		}
	}
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || v[0] == 'n' }

// DecodeInput decodes the task input into v with encoding/json. Its error is an [*Error] with
// [CodeInput].
func (r *Run) DecodeInput(v any) error {
	if err := json.Unmarshal(r.Input, v); err != nil {
		return &Error{Code: CodeInput, Message: "the task input does not fit what the agent expects", Err: err}
	}
	return nil
}

// Transcript returns the recording of the run, which the handler has made from its start, and has
// the handler send it: with the response of the agent if that has nil Messages, and with the
// timeout response or the failure response.
//
//	transcript := run.Transcript()
//	…
//	return transcript.Response("The refund has been issued."), nil
//
// A Run that was not made by this package has an empty transcript.
func (r *Run) Transcript() *Transcript {
	t := r.recording()
	t.ask()
	return t
}

func (r *Run) recording() *Transcript {
	if r.transcript == nil {
		r.transcript = &Transcript{run: r, numbers: new(atomic.Int64)}
	}
	return r.transcript
}

// History returns the conversation so far in one form, for a model: the rows of [Run.Messages], and
// then the present prompt as a user message, unless it is the last row already. Tool calls may have
// the flat or the nested form; arguments are objects where they are objects, also if the row holds
// them as a JSON-encoded string. Its error is an [*Error] with [CodeInput].
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
	if n := len(messages); r.Instruction != "" && (n == 0 || messages[n-1].Role != RoleUser || messages[n-1].Content.String() != r.Instruction) {
		messages = append(messages, Message{Role: RoleUser, Content: Text(r.Instruction)})
	}
	return messages, nil
}

// replayed decodes the replayed messages.
func (r *Run) replayed() ([]Message, error) {
	if r.Messages == nil {
		return nil, nil
	}
	var messages []Message
	if err := json.Unmarshal(r.Messages, &messages); err != nil {
		return nil, &Error{Code: CodeInput, Message: "the replayed messages cannot be read", Err: err}
	}
	return messages, nil
}

// objectArguments returns arguments that a JSON-encoded string holds as an object, and others as
// they are.
func objectArguments(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if object := json.RawMessage(text); Content(object).kind() == '{' && json.Valid(object) {
		return object
	}
	return raw
}
