package dispatchtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
)

// Conversation makes a task a session: the user says something, the agent answers, in turn, in one
// world and under one run token, with one dispatch per turn. The session ends after the last turn
// of the user, after MaxTurns, with the keyword, and with a turn that fails.
type Conversation struct {
	// UserTurns is what the user says after [Task].Instruction, in the platform's terms
	// scripted_user_turns. With no Instruction, the first of them begins the session.
	UserTurns []string

	// MaxTurns is the most dispatches, from 1 to 50. Default 10.
	MaxTurns int

	// Memory says who remembers the session. Default [Replay].
	Memory Memory

	// ReplayTools replays the messages that the agent returned, tool calls and results included, as
	// later releases of the platform do. Default: a row with the text of each side.
	ReplayTools bool

	// TerminationKeyword ends the session when it appears in a final response. "" is none.
	TerminationKeyword string
}

// A Memory says who remembers a session: its memory_mode.
type Memory string

// The modes.
const (
	Replay   Memory = "replay"   // every dispatch has the transcript so far in input.messages; the default
	Stateful Memory = "stateful" // the agent remembers, by input.session_id
)

// Turn is one dispatch of a run.
type Turn struct {
	Instruction string `json:"user_instruction"`
	Exchange
	FinalResponse string             `json:"final_response"` // "" if the turn failed
	Problems      []dispatch.Problem `json:"problems,omitempty"`

	// Last is the order of the turn's last event at the proxy, for [proxytest.Record.Between]: the
	// events of a turn are those between the Last of the one before it, or 0, and its own.
	Last int `json:"-"`

	messages []dispatch.Message
}

func (c *Conversation) validate() error {
	switch {
	case c == nil:
		return nil
	case c.MaxTurns < 0 || c.MaxTurns > 50:
		return fmt.Errorf("dispatchtest: Conversation.MaxTurns is from 1 to 50, not %d", c.MaxTurns)
	case c.Memory != "" && c.Memory != Replay && c.Memory != Stateful:
		return errors.New("dispatchtest: Conversation.Memory is replay or stateful")
	}
	return nil
}

// script is everything that the user will say.
func (s *stage) script() []string {
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

// nextTurn returns the turn that follows those that went well; nil if there is none.
func (s *stage) nextTurn(before []Turn) *Turn {
	script, c, n := s.script(), s.task.Conversation, len(before)
	if n == len(script) {
		return nil
	}
	if n > 0 && c.TerminationKeyword != "" && strings.Contains(before[n-1].FinalResponse, c.TerminationKeyword) {
		return nil
	}
	turn := &Turn{Instruction: script[n]}
	input := payload{Instruction: turn.Instruction}
	if c != nil {
		input.SessionID, input.TurnID = "session-"+s.run.JTI, strconv.Itoa(n+1)
		if c.Memory != Stateful {
			input.Latest, input.Messages = &turn.Instruction, transcript(before, c.ReplayTools)
		}
	}
	turn.Request = s.envelope(input)
	return turn
}

// transcript is what is replayed: never nil.
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

// ownRows are the messages of a turn that came after what the user said in it: agents return the
// whole session or only the turn.
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
