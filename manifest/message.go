package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// maxMessage is the most, in bytes, that an error text or hint may have in a message for the model.
const maxMessage = 1000

// ToolMessage is the content of the tool message that answers a call: the tool's output as it is, {} when it printed
// nothing, and on failure {"error":"…"}, with the tool's "hint" when it gave one. Error texts are cut to 1,000 bytes, at
// a rune's end. An error that the tool itself wrote as JSON is not encoded a second time: of an object larger than that,
// its "message" or "error" is taken if it is a text, or else the exit status.
func ToolMessage(r *Result) string {
	if r.Err == nil {
		switch {
		case r.text && len(bytes.TrimSpace(r.Stdout)) > 0:
			return plainText(r.Stdout)
		case r.text || len(r.Output) == 0:
			return "{}"
		}
		return string(r.Output)
	}
	e, ok := errors.AsType[*Error](r.Err)
	if !ok {
		e = &Error{Message: r.Err.Error()}
	}
	content := []byte(`{"error":`)
	if len(e.object) > 0 {
		content = append(content, e.object...)
	} else {
		content = appendText(content, e.Message)
	}
	if e.Hint != "" {
		content = appendText(append(content, `,"hint":`...), e.Hint)
	}
	return string(append(content, '}'))
}

func appendText(dst []byte, text string) []byte {
	return rawjson.AppendQuote(dst, clip.Text(strings.ToValidUTF8(text, "\ufffd"), maxMessage))
}

func quoteName(name string) string { return strconv.Quote(clip.Text(name, 200)) }

// exitError says why a program failed: to the model in its own words, if it wrote any to stderr. They may repeat an
// argument, so the text of the error only says where they are.
func exitError(r *Result) *Error {
	e := &Error{Code: CodeExit, Message: fmt.Sprintf("exit status %d", r.ExitCode)}
	if r.Signal != "" {
		e.Code, e.Message = CodeSignal, "signal: "+r.Signal
	}
	status := e.Message
	text := strings.TrimSpace(plainText(r.Stderr))
	if text == "" {
		return e
	}
	if !e.unwrap([]byte(text)) {
		lastLine := text[strings.LastIndexByte(text, '\n')+1:] // a program may log before it gives its reason
		if lastLine == text || !isErrorObject(lastLine) || !e.unwrap([]byte(lastLine)) {
			e.Message = clip.Text(text, maxMessage)
		}
	}
	e.detail = status + "; the tool's own words are in Error.Message"
	if e.Message == status {
		e.detail = status + "; what it printed is in Result.Stderr"
	}
	return e
}

// unwrap takes the reason out of JSON that a tool wrote to stderr, documented as {"error":"…"} with an optional "hint".
// It goes one level deep, and reports false for what is not JSON.
func (e *Error) unwrap(stderr []byte) bool {
	reason := json.RawMessage(stderr)
	switch kindOf(reason) {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(stderr, &object) != nil {
			return false
		}
		if inner, ok := object["error"]; ok {
			reason = inner
			if hint := object["hint"]; kindOf(hint) == '"' {
				e.Hint = clip.Text(unquote(hint), maxMessage)
			}
		}
	case '"', '[':
		if !json.Valid(stderr) {
			return false
		}
	default: // a bare number or word is a text
		return false
	}
	if kind := kindOf(reason); kind == '"' || kind == 'n' {
		e.say(reason)
		return true
	}
	var line bytes.Buffer
	_ = json.Compact(&line, reason) // known to be valid
	if line.Len() <= maxMessage {
		e.object = line.Bytes()
		e.Message = line.String()
		return true
	}
	var large map[string]json.RawMessage // names exactly as they are written
	_ = json.Unmarshal(reason, &large)   // of a list or a number nothing can be taken
	if !e.say(large["message"]) {
		e.say(large["error"])
	}
	return true
}

// say makes a JSON string the message and reports whether it is one and says something; else the exit status has to do.
func (e *Error) say(value json.RawMessage) bool {
	if kindOf(value) != '"' {
		return false
	}
	text := strings.TrimSpace(unquote(value))
	if text != "" {
		e.Message = clip.Text(text, maxMessage)
	}
	return text != ""
}

func isErrorObject(line string) bool {
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	return strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &object) == nil && len(object.Error) > 0
}
