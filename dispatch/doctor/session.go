package doctor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A memoryMode is how the agent of a session gets to know the earlier turns.
type memoryMode struct {
	stateful        bool
	session, memory Name
	sent            string // what is dispatched
	do              string // how the agent gets to know the earlier turns
}

var (
	replay = memoryMode{
		false, sessionReplay, memoryReplay,
		"three dispatches of one session in the memory mode replay, with the previous turns in input.messages",
		"Give the model the conversation in input.messages before the prompt.",
	}
	stateful = memoryMode{
		true, sessionStateful, memoryStateful,
		"three dispatches of one session in the memory mode stateful, with input.session_id and input.turn_id",
		"Keep the conversation by input.session_id. If the tasks have the memory mode replay only, this does not matter.",
	}
)

// A session is one episode of three turns.
type session struct {
	*episode
	reference string // only the first turn has it; the second asks for it
}

// session dispatches three turns, once for each mode.
func (c *checkup) session(ctx context.Context, mode memoryMode) *session {
	if s := c.sessions[mode.stateful]; s != nil {
		return s
	}
	s := &session{reference: "R-" + rand.Text()[:10]}
	s.episode = c.dispatchAgain(ctx, &episode{
		aside: " My reference is " + s.reference + ".",
		conversation: &dispatchtest.Conversation{
			UserTurns: []string{"What is my reference? Please answer with the reference.", "Thank you. Is there anything left to do?"},
			MaxTurns:  3, Stateful: mode.stateful,
		},
	})
	c.sessions[mode.stateful] = s
	return s
}

// turns checks that each dispatch of a session is answered.
func (c *checkup) turns(ctx context.Context, mode memoryMode) Finding {
	if f := c.unplayable(false); f != nil {
		return *f
	}
	s := c.session(ctx, mode)
	f := good("three turns of a session complete")
	if !s.result.WouldBeGraded() {
		f = failed("Answer each dispatch of a session as if it were the only one; ignore the members that you do not need.",
			"turn %d of a session failed: %s", max(len(s.result.Turns), 1), c.failure(s.result))
	}
	return c.note(mode.session, f, mode.sent)
}

// memory checks that the agent knows the earlier turns. Only an agent that shows it can be judged.
func (c *checkup) memory(ctx context.Context, mode memoryMode) Finding {
	if f := c.unplayable(false); f != nil {
		return *f
	}
	s := c.session(ctx, mode)
	if !s.result.WouldBeGraded() {
		return skipped("", "the session did not complete")
	}
	var f Finding
	switch later := s.result.Turns[1:]; {
	case s.known(later):
		f = good("a later turn has what only the first turn said")
	case hasModel(later):
		f = warning(mode.do, "asked for the reference that the first turn gave, the agent answers without it: %s",
			c.quote(later[0].FinalResponse))
	default:
		f = skipped("Return messages with the conversation, so that it can be seen.",
			"the responses do not show whether the agent knows the earlier turns")
	}
	return c.note(mode.memory, f, mode.sent)
}

// known reports whether a response has the reference.
func (s *session) known(turns []dispatchtest.Turn) bool {
	for _, turn := range turns {
		body, _ := object([]byte(turn.Body))
		if shows(turn.FinalResponse, s.reference) || shows(string(body["messages"]), s.reference) {
			return true
		}
	}
	return false
}

// hasModel reports whether the metadata of a response name a model or count its tokens. A model
// that knows a reference says it when it is asked.
func hasModel(turns []dispatchtest.Turn) bool {
	for _, turn := range turns {
		body, _ := object([]byte(turn.Body))
		var metadata struct {
			Model  string      `json:"model"`
			Input  json.Number `json:"total_input_tokens"`
			Output json.Number `json:"total_output_tokens"`
		}
		if rawjson.Kind(body["metadata"]) != '{' || json.Unmarshal(body["metadata"], &metadata) != nil {
			continue
		}
		counts := strings.Trim(metadata.Input.String()+metadata.Output.String(), "0")
		if metadata.Model != "" || counts != "" {
			return true
		}
	}
	return false
}
