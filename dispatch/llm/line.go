package llm

import (
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A line is one message of a thread.
type line struct {
	dispatch.Message
	reply   *reply  // the answer that has it; nil if a request added it
	results []*line // of ToolCalls; nil for a call without one

	key   uint64 // equal for messages that say the same
	tight uint64 // equal for answers with the same text, but for white space; 0 for no text
	text  uint64 // equal for answers with the same text, but for thinking too
}

var seed = maphash.MakeSeed()

func newLine(m dispatch.Message, r *reply) *line {
	l := &line{Message: m, reply: r, results: make([]*line, len(m.ToolCalls))}
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(string(m.Role) + "\x00" + m.ToolCallID + "\x00")
	if m.Role != dispatch.RoleAssistant {
		_, _ = h.Write(m.Content)
	} else {
		said := strings.Join(contentTexts(m.Content), "")
		l.tight = textKey(said)
		_, _ = h.WriteString(strconv.FormatUint(l.tight, 16))
		for _, call := range m.ToolCalls {
			_, _ = h.WriteString("\x00" + callKey(call))
		}
		if l.text = l.tight; strings.Contains(said, "</") {
			l.text = textKey(withoutThinking(said))
		}
	}
	l.key = h.Sum64() | 1
	return l
}

// callKey returns what calls with the same tool and arguments have in common.
func callKey(call dispatch.ToolCall) string { return call.Name + "\x00" + rawjson.Key(call.Arguments) }

// textKey returns the key of a text without its white space, or 0 for nothing else.
func textKey(text string) uint64 {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for word := range strings.FieldsSeq(text) {
		_, _ = h.WriteString(word)
	}
	return h.Sum64() | 1
}

// withoutThinking returns what follows the thinking that some servers write into the text of an answer,
// such as <think>…</think>.
func withoutThinking(text string) string {
	for end := len(text); ; {
		if end = strings.LastIndex(text[:end], "</"); end < 0 {
			return text
		}
		tag, _, found := strings.Cut(text[end+2:min(end+20, len(text))], ">")
		if found && (strings.Contains(tag, "think") || strings.Contains(tag, "thought") || strings.Contains(tag, "reason")) {
			return text[end+2+len(tag)+1:]
		}
	}
}

// linesOf makes lines of the messages of an answer.
func linesOf(messages []dispatch.Message, r *reply) []*line {
	lines := make([]*line, len(messages))
	open := map[string]callOf{}
	for i, m := range messages {
		l := newLine(m, r)
		lines[i] = l
		for k, call := range m.ToolCalls {
			open[call.ID] = callOf{l, k}
		}
		if c, ok := open[m.ToolCallID]; ok && m.Role == dispatch.RoleTool {
			c.line.results[c.k] = l
		}
	}
	return lines
}

// A callOf is one of the tool calls of a line.
type callOf struct {
	line *line
	k    int
}

// A reply is the answer to a request.
type reply struct {
	id      string // of the response
	model   string // of the response
	thread  *thread
	turn    int                // of the thread
	system  *system            // of the request
	prefill []dispatch.Message // the beginning of the answer that the request ends with
	key     uint64             // of the request

	answered bool
	fault    string // why there is no answer
	unread   bool   // the agent may have understood the response
}
