package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// exitError describes a program that failed. Message is what the program wrote to stderr, if
// anything. It may repeat an argument, so the text of the error leaves it out.
func exitError(r *Result) *Error {
	e := &Error{Code: codeExit, Message: fmt.Sprintf("exit status %d", r.ExitCode)}
	if r.Signal != "" {
		e.Code, e.Message = codeSignal, "signal: "+r.Signal
	}
	status := e.Message
	s := strings.TrimSpace(plainText(r.Stderr))
	if s == "" {
		return e
	}
	if !e.read([]byte(s)) {
		// A program may log before it prints its error.
		lastLine := s[strings.LastIndexByte(s, '\n')+1:]
		if lastLine == s || !isErrorObject(lastLine) || !e.read([]byte(lastLine)) {
			e.Message = text.Cut(s, maxMessage)
		}
	}
	e.detail = status + "; the tool's own words are in Error.Message"
	if e.Message == status {
		e.detail = status + "; what it printed is in Result.Stderr"
	}
	return e
}

// read takes Message and the hint from JSON on stderr, documented as {"error":"…"} with an optional
// "hint". It looks one level deep and returns false if stderr is not JSON.
func (e *Error) read(stderr []byte) bool {
	reason := json.RawMessage(stderr)
	switch rawjson.Kind(reason) {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(stderr, &object) != nil {
			return false
		}
		if inner, ok := object["error"]; ok {
			reason = inner
			e.reply.hint = text.Cut(rawjson.Unquote(object["hint"]), maxMessage)
		}
	case '"', '[':
		if !json.Valid(stderr) {
			return false
		}
	default: // a bare number or word is text
		return false
	}
	if kind := rawjson.Kind(reason); kind == '"' || kind == 'n' {
		e.say(reason)
		return true
	}
	if line := rawjson.Compact(reason); len(line) <= maxMessage {
		e.reply.object = line
		e.Message = string(line)
		return true
	}
	var large map[string]json.RawMessage // not a struct, because encoding/json ignores the case of its names
	_ = json.Unmarshal(reason, &large)   // fails for arrays, which have no message
	if !e.say(large["message"]) {
		e.say(large["error"])
	}
	return true
}

// say sets Message to a JSON string and returns true, unless the value is blank or not a string.
func (e *Error) say(value json.RawMessage) bool {
	s := strings.TrimSpace(rawjson.Unquote(value))
	if s != "" {
		e.Message = text.Cut(s, maxMessage)
	}
	return s != ""
}

func isErrorObject(line string) bool {
	return strings.HasPrefix(line, "{") && json.Valid([]byte(line)) &&
		rawjson.Member(json.RawMessage(line), "error") != nil
}
