package dispatchtest

import (
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/stage"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Conversation makes a task a session of several turns. Each turn is one dispatch. All turns share
// one world and one run token. The session ends after the last of UserTurns, after MaxTurns, after
// a final response that contains TerminationKeyword, or after a turn that fails.
type Conversation struct {
	// UserTurns is what the user says after [Task].Instruction. The platform calls them
	// scripted_user_turns. If Instruction is "", the first of them begins the session.
	UserTurns []string

	// MaxTurns limits the dispatches. It is from 1 to 50. Defaults to 10.
	MaxTurns int

	// Stateful is the memory_mode "stateful": the agent remembers the session by input.session_id.
	// If Stateful is false, the memory_mode is "replay": each dispatch has the previous turns in
	// input.messages.
	Stateful bool

	// ReplayTools replays the messages that the agent returned, with tool calls and results, as
	// later releases of the platform do. If ReplayTools is false, each turn is replayed as one user
	// row and one assistant row with text.
	ReplayTools bool

	// TerminationKeyword ends the session when a final response contains it. If it is "", no
	// keyword does.
	TerminationKeyword string
}

// Turn is one dispatch of a run.
type Turn struct {
	Instruction string `json:"user_instruction"`
	Exchange
	FinalResponse string             `json:"final_response"` // "" if the turn failed
	Problems      []dispatch.Problem `json:"problems,omitempty"`

	// Log has the events of the turn at the proxy, as they were when the agent had answered. Its
	// Changes and State are those of the run up to then.
	Log *proxytest.Log `json:"-"`

	last     int // the order of the turn's last event at the proxy
	messages []dispatch.Message
}

// maxTurns returns MaxTurns as the caller set it, or 0 without a conversation.
func (c *Conversation) maxTurns() int {
	if c == nil {
		return 0
	}
	return c.MaxTurns
}

// script returns everything that the user will say.
func (s *player) script() []string {
	c := s.task.Conversation
	if c == nil {
		return []string{s.task.Instruction}
	}
	script := c.UserTurns
	if s.task.Instruction != "" || len(script) == 0 {
		script = append([]string{s.task.Instruction}, script...)
	}
	most := 10
	if c.MaxTurns > 0 {
		most = c.MaxTurns
	}
	return script[:min(len(script), most)]
}

// nextTurn returns the turn after those that succeeded, or nil if the session has ended.
func (s *player) nextTurn(before []Turn) *Turn {
	script, c, n := s.script(), s.task.Conversation, len(before)
	if n == len(script) {
		return nil
	}
	if n > 0 && c.TerminationKeyword != "" && strings.Contains(before[n-1].FinalResponse, c.TerminationKeyword) {
		return nil
	}
	turn := &Turn{Instruction: script[n]}
	input := stage.Payload{Instruction: turn.Instruction}
	if c != nil {
		input.SessionID, input.TurnID = "session-"+s.Run.JTI, strconv.Itoa(n+1)
		if !c.Stateful {
			input.Latest, input.Messages = &turn.Instruction, transcript(before, c.ReplayTools)
		}
	}
	turn.Request = s.Envelope(input)
	return turn
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

// ownRows returns the messages after the last message of the user. Agents return the whole session
// or only the turn.
func ownRows(turn Turn) []dispatch.Message {
	var own []dispatch.Message
	for _, m := range turn.messages {
		switch m.Role {
		case dispatch.RoleUser:
			own = nil
		case dispatch.RoleAssistant, dispatch.RoleTool:
			own = append(own, m)
		}
	}
	return own
}
