package dispatch

import (
	"encoding/json"
	"sync/atomic"

	"github.com/toolwire/toolwire/proxy"
)

// Run is one dispatch, as the agent gets it. It belongs to the agent; its raw JSON is shared with nobody but must not be
// changed while several goroutines read it.
type Run struct {
	// TaskID, RunID and AgentID are the platform's ids, decimal digits today; "" if the platform sent none. TokenJTI is
	// the id of the run token. All are safe to log.
	TaskID, RunID, AgentID string
	TokenJTI               string

	// Instruction is the user's prompt of this run or turn: input.user_instruction, in a multi-turn session without it
	// input.latest_user_prompt, or else the last row of the replayed messages if it is the user's. "" when the task seeds
	// none.
	Instruction string

	// Input is the task's input, the row's current state: input.input. {} when absent or null. See [Run.DecodeInput].
	Input json.RawMessage

	// Proxy calls the tools of this run.
	Proxy *proxy.Client

	// SessionID and TurnID identify a turn of a multi-turn session; "" in a single-shot run.
	SessionID, TurnID string

	// Messages is the transcript before this turn, a JSON array, where the platform replays it; nil otherwise. See
	// [Run.History].
	Messages json.RawMessage

	// Envelope is the whole request body, including members that this package does not know. "[redacted]" replaces the run
	// token where the body has it.
	Envelope json.RawMessage

	numbers *atomic.Int64 // of the ids that transcripts make
}

// set takes over what the envelope says.
func (r *Run) set(e *envelope, body []byte, client *proxy.Client) {
	*r = Run{
		TaskID: e.taskID, RunID: e.runID, AgentID: e.agentID, TokenJTI: e.tokenJTI, Proxy: client,
		Instruction: e.task.instruction, Input: e.task.input, Messages: e.task.messages,
		SessionID: e.task.sessionID, TurnID: e.task.turnID, Envelope: body, numbers: r.numbers,
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
		if rows, err := r.History(); err == nil && len(rows) > 0 && rows[len(rows)-1].Role == RoleUser {
			r.Instruction = rows[len(rows)-1].Content.String()
		}
	}
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || v[0] == 'n' }

// DecodeInput decodes the task input into v with encoding/json. Its error is an [*Error] with [CodeInput].
func (r *Run) DecodeInput(v any) error {
	if err := json.Unmarshal(r.Input, v); err != nil {
		return &Error{Code: CodeInput, Message: "the task input does not fit what the agent expects", Err: err}
	}
	return nil
}

// History decodes [Run.Messages]. Rows may have the flat or the nested form of tool calls. Its error is an [*Error] with
// [CodeInput].
func (r *Run) History() ([]Message, error) {
	if r.Messages == nil {
		return nil, nil
	}
	var messages []Message
	if err := json.Unmarshal(r.Messages, &messages); err != nil {
		return nil, &Error{Code: CodeInput, Message: "the replayed messages cannot be read", Err: err}
	}
	return messages, nil
}
