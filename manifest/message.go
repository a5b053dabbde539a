package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// maxMessage is the most, in bytes, that an error text or hint may have in a message for the model.
const maxMessage = 1000

// maxTools is the most names of tools that a message for the model may have.
const maxTools = 100

// ToolResult returns what a model should see in place of the result of a failed call: {"error":"…"}, with the tool's "hint"
// if it gave one, and with "tools", the names that there are, when the model called a tool that does not exist. Error texts
// are cut to 1,000 bytes, at a rune's end. An error that the tool itself wrote as JSON is not encoded a second time: of an
// object larger than that, its "message" or "error" is taken if it is a text, or else the exit status.
func (e *Error) ToolResult() json.RawMessage {
	content := []byte(`{"error":`)
	if len(e.object) > 0 {
		content = append(content, e.object...)
	} else {
		content = appendText(content, e.Message)
	}
	if e.Hint != "" {
		content = appendText(append(content, `,"hint":`...), e.Hint)
	}
	for i, name := range e.tools[:min(len(e.tools), maxTools)] {
		separator := ","
		if i == 0 {
			separator = `,"tools":[`
		}
		content = appendText(append(content, separator...), clip.Text(name, 200))
	}
	if len(e.tools) > 0 {
		content = append(content, ']')
	}
	return append(content, '}')
}

// CallForModel runs a tool for a model and returns what the model should read. failed reports that the call failed: the
// result is then [Error.ToolResult], or an output with a member error that is not null, false or "".
//
// args is the model's text, a JSON object as string, []byte or json.RawMessage, which may be malformed: the result then tells
// the model what to correct. It may also be any Go value that [Manifest.Call] accepts.
//
// An error means that the agent should stop. It is an [*Error]: CodeCanceled or CodeDeadline when ctx has ended, or
// CodeArguments for a Go value that JSON cannot carry.
func (m *Manifest) CallForModel(ctx context.Context, name string, args any) (result json.RawMessage, failed bool, err error) {
	text, ok := toolresult.Text(args)
	if !ok {
		if text, err = encodeArguments(args); err != nil {
			return nil, false, &Error{Code: CodeArguments, Tool: name, Message: "invalid arguments: " + clip.Text(err.Error(), maxMessage), err: err}
		}
	}
	result, err = m.Call(ctx, name, text)
	if err == nil {
		return result, toolresult.Failed(result), nil
	}
	e, _ := errors.AsType[*Error](err) // Call returns no other
	if e.Code == CodeCanceled || e.Code == CodeDeadline || ctx.Err() != nil {
		return nil, false, err
	}
	return e.ToolResult(), true, nil
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
