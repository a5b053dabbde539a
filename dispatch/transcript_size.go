package dispatch

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// messageSize is an upper bound of the length of what is sent of m as JSON, with room for the
// answers to its calls.
func messageSize(m Message) int {
	n := 80 + sentLen(m.Content, validContent(m.Content)) + quotedLen(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += 40 + max(quotedLen(c.ID), minIDLen) + quotedLen(c.Name) + answerSize(c.ID)
		n += sentLen(c.Arguments, validArguments(c.Arguments))
	}
	for _, block := range m.Thinking {
		n += len(`{"type":"text","text":},`) + sentLen(block, wellFormed(block))
	}
	return n
}

// minIDLen is room for an id that is made.
const minIDLen = 30

// answerSize is the room for the result of a call, also for one that is cut or missing.
func answerSize(id string) int { return 80 + len(unfinished) + max(quotedLen(id), minIDLen) }

// sentLen is an upper bound of the length of what is sent of a value: the value itself if it is
// valid, or its text.
func sentLen(value []byte, valid bool) int {
	if valid {
		return len(value)
	}
	return quotedLen(string(value))
}

// quotedLen is an upper bound of the length of s as a JSON string.
func quotedLen(s string) int {
	high := 2 // U+2028 has three bytes and is written as an escape of six
	if !utf8.ValidString(s) {
		high = 6
	}
	n := 2
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 6
		case c == '"', c == '\\':
			n += 2
		case c >= utf8.RuneSelf:
			n += high
		default:
			n++
		}
	}
	return n
}

// cutText returns s as content of at most maxTranscriptText bytes of JSON.
func cutText(s string) Content {
	limit := maxTranscriptText - 2
	for {
		content := Text(clip.Text(s, limit))
		if len(content) <= maxTranscriptText {
			return content
		}
		limit = limit * maxTranscriptText / len(content) // what has to be escaped takes more
	}
}

// recordable returns arguments as they can be sent. JSON objects and strings of at most 64 KiB stay
// as they are. Anything else becomes a JSON string of at most 64 KiB.
func recordable(given json.RawMessage) json.RawMessage {
	switch {
	case len(given) == 0:
		return json.RawMessage("{}")
	case len(given) <= maxTranscriptText && validArguments(given):
		return given
	}
	return json.RawMessage(cutText(string(given)))
}

// equalArguments reports whether a recorded call and a call of the model have the same arguments.
func equalArguments(a, b json.RawMessage) bool {
	a, b = argumentsText(a), argumentsText(b)
	return bytes.Equal(a, b) || wellFormed(a) && wellFormed(b) && rawjson.Equal(a, b)
}

// argumentsText returns what the model wrote: the text in a JSON string, or the JSON itself.
func argumentsText(raw json.RawMessage) json.RawMessage {
	if rawjson.Kind(raw) == '"' && wellFormed(raw) {
		raw = json.RawMessage(rawjson.Text(raw))
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
