package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// This file repairs messages before the handler sends them. contract.go checks messages as the
// platform does when they arrive.

// sendable returns messages that the platform does not drop. The package comment lists what is
// repaired and what is removed. Each such place is a Problem. The messages of the agent are not
// changed. Ids that are made are unique in the session of t.
func sendable(messages []Message, t *Transcript) ([]Message, []Problem) {
	if len(CheckMessages(messages)) == 0 {
		return messages, nil
	}
	s := sender{transcript: t, ids: map[string]bool{}, calls: map[string][]*sentCall{}}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			s.ids[c.ID] = true
		}
	}
	for i, m := range messages {
		s.at = fmt.Sprintf("/messages/%d", i)
		s.send(m)
	}
	return s.out, s.problems(codeRepaired, "/messages")
}

// sender makes sendable messages, one after the other.
type sender struct {
	at  string // JSON Pointer of the message
	out []Message
	found
	ids        map[string]bool // of all tool calls, so that made ids differ
	transcript *Transcript
	calls      map[string][]*sentCall // that have been sent and not answered, by id
	open       []*sentCall            // some of which have been answered
}

type sentCall struct {
	id       string
	answered bool
}

func (s *sender) report(code, at, text string) {
	s.Put(Problem{Code: code, Pointer: s.at + at, Message: text})
}

func (s *sender) send(m Message) {
	if !m.Role.valid() {
		s.report(codeRemoved, "/role", "is not system, user, assistant or tool: the message is not sent")
		return
	}
	if m.Role == RoleTool && !s.answer(&m) {
		return
	}
	s.content(&m)
	s.thinking(&m)
	if len(m.ToolCalls) > 0 {
		s.toolCalls(&m)
		if len(m.ToolCalls) == 0 && m.Content.kind() == 'n' && len(m.Thinking) == 0 {
			return // the message is empty now
		}
	}
	s.out = append(s.out, m)
}

// answer pairs a tool message with its call. It returns false if there is no such call.
func (s *sender) answer(m *Message) bool {
	if m.ToolCallID == "" {
		for len(s.open) > 0 && s.open[0].answered {
			s.open = s.open[1:]
		}
		if len(s.open) == 0 {
			s.report(codeRemoved, "/tool_call_id",
				"is missing, and every tool call has a result: the message is not sent")
			return false
		}
		m.ToolCallID = s.open[0].id
		s.report(codeRepaired, "/tool_call_id",
			"was missing: the id of the first tool call without a result is sent")
	}
	calls, ok := s.calls[m.ToolCallID]
	if !ok {
		s.report(codeRemoved, "/tool_call_id", "does not match an earlier tool call: the message is not sent")
		return false
	}
	if len(calls) > 0 {
		calls[0].answered = true
		s.calls[m.ToolCallID] = calls[1:]
	}
	return true
}

func (s *sender) content(m *Message) {
	if validContent(m.Content) {
		return
	}
	if fixed := Content(inUTF8(m.Content)); validContent(fixed) {
		m.Content = fixed
		s.report(codeRepaired, "/content", "was not UTF-8")
		return
	}
	m.Content = Text(string(m.Content))
	s.report(codeRepaired, "/content",
		"was neither a JSON string, a list of parts nor null: it is sent as text; use Text")
}

func (s *sender) thinking(m *Message) {
	for j, block := range m.Thinking {
		if wellFormed(block) {
			continue
		}
		m.Thinking = slices.Clone(m.Thinking)
		if m.Thinking[j] = inUTF8(block); !wellFormed(m.Thinking[j]) {
			m.Thinking[j] = append(rawjson.AppendQuote([]byte(`{"type":"text","text":`), string(block)), '}')
		}
		s.report(codeRepaired, "/thinking/"+strconv.Itoa(j), "was not JSON in UTF-8: it is sent as text")
	}
}

func (s *sender) toolCalls(m *Message) {
	if m.Role != RoleAssistant {
		s.report(codeRemoved, "/tool_calls", "belong to assistant messages only: they are not sent")
		m.ToolCalls = nil
		return
	}
	calls := m.ToolCalls
	m.ToolCalls = nil
	for j, c := range calls {
		at := "/tool_calls/" + strconv.Itoa(j)
		if c.Name == "" {
			s.report(codeRemoved, at+"/name", "is missing: the tool call is not sent")
			continue
		}
		if c.ID == "" {
			c.ID = s.transcript.newID(s.ids)
			s.report(codeRepaired, at+"/id", "was missing: "+c.ID+" is sent")
		}
		switch fixed := json.RawMessage(inUTF8(c.Arguments)); {
		case validArguments(c.Arguments):
		case validArguments(fixed):
			c.Arguments = fixed
			s.report(codeRepaired, at+"/arguments", "were not UTF-8")
		case rawjson.Kind(c.Arguments) == 'n' && wellFormed(c.Arguments):
			c.Arguments = nil
			s.report(codeRepaired, at+"/arguments", "were null: {} is sent")
		default:
			c.Arguments = rawjson.Quote(string(c.Arguments))
			s.report(codeRepaired, at+"/arguments",
				"were neither an object nor a JSON string: they are sent as a string")
		}
		m.ToolCalls = append(m.ToolCalls, c)
		sent := &sentCall{id: c.ID}
		s.calls[c.ID] = append(s.calls[c.ID], sent)
		s.open = append(s.open, sent)
	}
}

func inUTF8(raw []byte) []byte { return bytes.ToValidUTF8(raw, []byte("\ufffd")) }
