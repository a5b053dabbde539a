package dispatchtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Conversation makes a task a session of several turns. Each turn is one dispatch. All turns share
// one world and one run token. The session ends after the last of UserTurns, when User ends it, after
// MaxTurns, after a final response that contains TerminationKeyword, or after a turn that fails.
// [Result].Ended says which.
type Conversation struct {
	// UserTurns are the user's messages after [Task].Instruction. The platform calls them
	// scripted_user_turns. If Instruction is "", the first of them begins the session.
	UserTurns []string

	// User returns the user's next message after UserTurns. It may ask a model for it. turns are
	// the turns so far. User is called after each turn, including the last that MaxTurns allows, so
	// that it can end the session there. If Instruction is "" and there are no UserTurns, the first
	// call begins the session. User returns [ErrDone] to end the session. With any other error, or
	// with "", the session ends too, and [Dispatch] returns an error. If User is nil, the session
	// ends after UserTurns.
	User func(ctx context.Context, turns []Turn) (string, error) `json:"-"`

	// MaxTurns limits the dispatches. It is from 1 to 50. Defaults to 10.
	MaxTurns int

	// Stateful selects the memory_mode "stateful": the agent remembers the session by
	// input.session_id. If Stateful is false, the memory_mode is "replay": each dispatch has the
	// previous turns in input.messages.
	Stateful bool

	// ReplayTools replays the messages that the agent returned, with tool calls and results, as
	// later releases of the platform do. If ReplayTools is false, each turn is replayed as one user
	// row and one assistant row with text.
	ReplayTools bool

	// TerminationKeyword ends the session when a final response contains it. If it is "", no
	// keyword does.
	TerminationKeyword string
}

// ErrDone is returned by [Conversation].User when the user has nothing more to say. An error that
// wraps it can give the reason.
var ErrDone = errors.New("done")

// Turn is one dispatch of a run.
type Turn struct {
	Instruction string `json:"user_instruction"`
	Exchange
	FinalResponse string             `json:"final_response"` // "" if the turn failed
	Problems      []dispatch.Problem `json:"problems,omitempty"`

	// Log contains the turn's events at the proxy up to the agent's answer. Its Changes and State
	// cover the run up to then. A turn that left the ledger as it was has the maps of the turn before.
	Log *proxytest.Log `json:"-"`

	messages []dispatch.Message
}

// maxTurns returns MaxTurns as the caller set it, or 0 without a conversation.
func (c *Conversation) maxTurns() int {
	if c == nil {
		return 0
	}
	return c.MaxTurns
}

// script returns everything that is known in advance of what the user will say.
func (s *player) script() []string {
	c := s.task.Conversation
	if s.task.Instruction != "" || len(c.UserTurns) == 0 && c.User == nil {
		return append([]string{s.task.Instruction}, c.UserTurns...)
	}
	return c.UserTurns
}

// says returns what the user says next. ok is false if the session has ended.
func (s *player) says(ctx context.Context, r *Result) (text string, ok bool) {
	c, n := s.task.Conversation, len(r.Turns)
	if c == nil {
		return s.task.Instruction, n == 0
	}
	if n > 0 && c.TerminationKeyword != "" && strings.Contains(r.Turns[n-1].FinalResponse, c.TerminationKeyword) {
		r.Ended = "agent: the final response contains the termination keyword"
		return "", false
	}
	script, most := s.script(), 10
	if c.MaxTurns > 0 {
		most = c.MaxTurns
	}
	switch {
	case n < len(script) && n < most:
		return script[n], true
	case n < len(script):
		r.Ended = fmt.Sprintf("limit: the script goes on after turn %d", most)
		return "", false
	case c.User == nil:
		r.Ended = "user: the script is over"
		return "", false
	}
	turns := slices.Clone(r.Turns)
	for i := range turns {
		turns[i].hide(s.Secrets())
	}
	text, err := c.User(ctx, turns)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errNothingSaid
	}
	switch {
	case errors.Is(err, ErrDone):
		r.Ended = "user: " + err.Error()
	case err != nil:
		r.Ended, s.userErr = "user: failed", fmt.Errorf("dispatchtest: Conversation.User: %w", err)
	case n >= most:
		r.Ended = fmt.Sprintf("limit: the user goes on after turn %d", most)
	default:
		return text, true
	}
	return "", false
}

var errNothingSaid = errors.New("it returned no text: it must return ErrDone to end the session")

// nextTurn returns the turn after the turns that succeeded, or nil if the session has ended.
func (s *player) nextTurn(ctx context.Context, r *Result) *Turn {
	text, ok := s.says(ctx, r)
	if !ok {
		return nil
	}
	before, c := slices.Concat(s.earlier, r.Turns), s.task.Conversation
	turn := &Turn{Instruction: text}
	input := testrun.Payload{Instruction: turn.Instruction}
	if c != nil {
		input.SessionID, input.TurnID = s.session(), strconv.Itoa(len(before)+1)
		if !c.Stateful {
			input.Latest, input.Messages = &turn.Instruction, transcript(before, c.ReplayTools)
		}
	}
	turn.Request = s.Envelope(input)
	return turn
}

// session returns the id of the session. Earlier turns may have set it.
func (s *player) session() string {
	var envelope struct {
		Input testrun.Payload `json:"input"`
	}
	if n := len(s.earlier); n > 0 {
		_ = json.Unmarshal(s.earlier[n-1].Request, &envelope) // it was encoded here
	}
	return cmp.Or(envelope.Input.SessionID, "session-"+s.Run.JTI)
}

// transcript returns the messages to replay. It never returns nil.
func transcript(turns []Turn, tools bool) []dispatch.Message {
	rows := []dispatch.Message{}
	for _, turn := range turns {
		rows = append(rows, dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Text(turn.Instruction)})
		own := ownRows(turn)
		if !tools || len(own) == 0 {
			own = []dispatch.Message{{Role: dispatch.RoleAssistant, Content: dispatch.Text(turn.FinalResponse)}}
		}
		rows = append(rows, own...)
	}
	return rows
}

// ownRows returns the agent's messages of a turn: those that follow the prompt, up to the conversation
// of a sub-agent, and the final response at the end. Agents return the whole session or only the turn.
func ownRows(turn Turn) []dispatch.Message {
	rows, begin := turn.messages, 0
	for i, m := range rows {
		if m.Role == dispatch.RoleUser && m.Content.String() == turn.Instruction {
			begin = i + 1
		}
	}
	if begin == 0 { // the agent words the prompt itself
		for i, m := range rows {
			if m.Role == dispatch.RoleUser {
				begin = i + 1
			}
		}
	}
	end := begin
	for end < len(rows) && (rows[end].Role == dispatch.RoleAssistant || rows[end].Role == dispatch.RoleTool) {
		end++
	}
	own := slices.Clone(rows[begin:end])
	if last := len(rows) - 1; end <= last && rows[last].Role == dispatch.RoleAssistant && len(rows[last].ToolCalls) == 0 {
		own = append(own, rows[last])
	}
	return own
}
