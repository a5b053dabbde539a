package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// ollama is the API /api/chat of Ollama. It checks types, but not which results belong to which calls.
type ollama struct{}

func (ollama) name() llm.Format                  { return llm.Ollama }
func (ollama) header(http.Header, string, int)   {}
func (ollama) failure(f failure) json.RawMessage { return object("error", f.message) }
func (f ollama) failed(_ *answer, e failure, _ int) []event {
	return []event{{data: f.failure(e), form: line}}
}

func (ollama) read(q *Request, _ func(string) ([]message, bool)) error {
	stream := rawjson.Member(q.Body, "stream")
	q.Model, q.Stream = str(q.Body, "model"), stream == nil || rawjson.Kind(stream) == 'n' || yes(q.Body, "stream")
	for t := range rawjson.Elements(rawjson.Member(q.Body, "tools")) {
		q.Tools = append(q.Tools, str(rawjson.Member(t, "function"), "name"))
	}
	if q.Model == "" {
		return errors.New("model is required")
	}
	messages, err := list(q.Body, "messages")
	if err != nil {
		return err
	}
	var open openCalls // of the model's last turn
	for i, m := range messages {
		content := rawjson.Member(m, "content")
		if kind := rawjson.Kind(content); kind != 0 && kind != 'n' && kind != '"' {
			return fmt.Errorf("json: messages[%d].content must be a string, not %s", i, rawjson.KindName(kind))
		}
		for image := range rawjson.Elements(rawjson.Member(m, "images")) {
			if _, err := base64.StdEncoding.DecodeString(rawjson.Unquote(image)); err != nil || rawjson.Kind(image) != '"' {
				return fmt.Errorf("json: messages[%d].images must be data in base64", i)
			}
		}
		says := message{role: user, text: rawjson.Unquote(content)}
		switch strings.ToLower(str(m, "role")) {
		case "system":
			says.role = system
		case "assistant":
			says.role = assistant
			for c := range rawjson.Elements(rawjson.Member(m, "tool_calls")) {
				function := rawjson.Member(c, "function")
				if kind := rawjson.Kind(rawjson.Member(function, "arguments")); kind != 0 && kind != 'n' && kind != '{' {
					return fmt.Errorf("json: messages[%d].tool_calls.function.arguments must be an object, not %s", i, rawjson.KindName(kind))
				}
				says.calls = append(says.calls, part{id: str(c, "id"), name: str(function, "name")})
			}
			open = openCalls{calls: says.calls}
		case "tool":
			r := Result{CallID: str(m, "tool_call_id"), Name: str(m, "tool_name"), Content: says.text}
			if call, ok := open.take(r); ok {
				r.CallID = call.id
			}
			says = message{role: tool, results: []Result{r}}
		}
		q.messages = append(q.messages, says)
	}
	return nil
}

// response returns a response or a line of a stream.
func (ollama) response(a *answer, done bool, members ...any) json.RawMessage {
	all := []any{"model", a.Model, "created_at", "2023-11-14T22:13:20Z", "message", object(append([]any{"role", "assistant"}, members...)...), "done", done}
	if !done {
		return object(all...)
	}
	all = append(all, "done_reason", a.reason("", "length", "stop", "stop"), "total_duration", 5_000_000, "load_duration", 1_000_000)
	if n := a.input - a.cached; n > 0 { // what is in the cache is not evaluated
		all = append(all, "prompt_eval_count", n)
	}
	return object(append(all, "eval_count", a.output)...)
}

// call returns the part as a call, or nil if it is none. What is not an object stays a text.
func (p part) ollamaCall(index int) json.RawMessage {
	arguments := p.arguments()
	if p.kind != callPart || rawjson.Kind(arguments) != '{' {
		return nil
	}
	call := []any{"function", object("index", index, "name", p.name, "arguments", arguments)}
	if p.id != "" {
		call = append([]any{"id", p.id}, call...)
	}
	return object(call...)
}

func (f ollama) whole(a *answer) json.RawMessage {
	content, calls := "", []json.RawMessage(nil)
	var members []any
	for _, p := range a.parts {
		switch call := p.ollamaCall(len(calls)); {
		case call != nil:
			calls = append(calls, call)
		case p.kind == rawPart:
			for name, value := range rawjson.Members(p.arguments()) {
				members = append(members, name, value)
			}
		case p.kind == thinkingPart:
			members = append(members, "thinking", p.text)
		default:
			content += p.text
		}
	}
	members = append([]any{"content", content}, members...)
	if calls != nil {
		members = append(members, "tool_calls", calls)
	}
	return f.response(a, true, members...)
}

func (f ollama) events(a *answer) (events []event) {
	send := func(members ...any) {
		events = append(events, event{data: f.response(a, false, members...), form: line})
	}
	n := 0
	for _, p := range a.parts {
		switch call := p.ollamaCall(n); {
		case call != nil:
			send("content", "", "tool_calls", []json.RawMessage{call})
			n++
		case p.kind == rawPart:
			var members []any
			for name, value := range rawjson.Members(p.arguments()) {
				members = append(members, name, value)
			}
			send(members...)
		default:
			for _, s := range pieces(p.text) {
				if p.kind == thinkingPart {
					send("content", "", "thinking", s)
				} else {
					send("content", s)
				}
			}
		}
	}
	return append(events, event{data: f.response(a, true, "content", ""), form: line})
}
