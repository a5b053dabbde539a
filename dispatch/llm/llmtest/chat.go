package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// chat is OpenAI's Chat Completions API.
type chat struct{ openAI }

func (chat) name() llm.Format { return llm.OpenAIChat }

func (chat) read(q *Request, _ func(string) ([]message, bool)) error {
	q.Model, q.Stream = str(q.Body, "model"), yes(q.Body, "stream")
	q.usage = yes(rawjson.Member(q.Body, "stream_options"), "include_usage")
	for t := range rawjson.Elements(rawjson.Member(q.Body, "tools")) {
		kind := str(t, "type")
		name, ofAgent := str(rawjson.Member(t, kind), "name"), rawjson.Member(t, kind) != nil
		if ofAgent && !openAIName.MatchString(name) {
			return badName(name, openAIName)
		}
		q.Tools = append(q.Tools, cmp.Or(name, kind)) // a tool of the provider has only a type
	}
	messages, err := list(q.Body, "messages")
	if err != nil {
		return err
	}
	for _, m := range messages {
		name, content := str(m, "role"), contentText(rawjson.Member(m, "content"))
		who, known := roles[name]
		says := message{role: who, text: content}
		switch {
		case name == "tool":
			says = message{role: tool, results: []Result{{CallID: str(m, "tool_call_id"), Content: content}}}
		case name == "function":
			says = message{role: tool, results: []Result{{Name: str(m, "name"), Content: content}}}
		case !known:
			return fmt.Errorf("the role %q of a message is not known", name)
		case who == assistant:
			if call := rawjson.Member(m, "function_call"); rawjson.Kind(call) == '{' {
				says.calls = append(says.calls, part{name: str(call, "name")})
			}
			for c := range rawjson.Elements(rawjson.Member(m, "tool_calls")) {
				says.calls = append(says.calls, part{id: str(c, "id"), name: str(rawjson.Member(c, str(c, "type")), "name")})
			}
		}
		q.messages = append(q.messages, says)
	}
	return q.unanswered(adjacent)
}

// openAIName is what the name of a tool looks like.
var openAIName = regexp.MustCompile("^[a-zA-Z0-9_-]{1,64}$")

func (chat) usage(a *answer) json.RawMessage {
	return object("prompt_tokens", a.input, "completion_tokens", a.output, "total_tokens", a.input+a.output,
		"prompt_tokens_details", object("cached_tokens", a.cached), "completion_tokens_details", object("reasoning_tokens", a.reasoning))
}

func (chat) finish(a *answer) string { return a.reason("", "length", "tool_calls", "stop") }

func (c chat) whole(a *answer) json.RawMessage {
	var choices []json.RawMessage
	for i, choice := range a.all() {
		choices = append(choices, object("index", i, "message", c.message(choice), "logprobs", nil, "finish_reason", c.finish(choice)))
	}
	return object("id", a.id("chatcmpl-"), "object", "chat.completion", "created", created, "model", a.Model,
		"choices", choices, "usage", c.usage(a))
}

func (c chat) message(a *answer) json.RawMessage {
	var content, refusal any
	if t, ok := a.joined(textPart); ok {
		content = t
	}
	if t, ok := a.joined(refusalPart); ok {
		refusal = t
	}
	says := []any{"role", "assistant", "content", content, "refusal", refusal}
	if t, ok := a.joined(thinkingPart); ok {
		says = append(says, "reasoning_content", t)
	}
	if calls := c.calls(a); calls != nil {
		says = append(says, "tool_calls", calls)
	}
	for _, p := range a.of(rawPart) {
		for name, value := range rawjson.Members(p.arguments()) {
			if i := slices.Index(says, any(name)); i >= 0 && i%2 == 0 {
				says[i+1] = value
			} else {
				says = append(says, name, value)
			}
		}
	}
	return object(says...)
}

// calls returns the whole calls of a choice.
func (chat) calls(a *answer) (calls []json.RawMessage) {
	for _, p := range a.of(callPart) {
		calls = append(calls, object("id", p.id, "type", "function", "function", object("name", p.name, "arguments", p.text)))
	}
	return calls
}

func (c chat) events(a *answer) (events []event) {
	chunk := func(choices []json.RawMessage, usage any) {
		pairs := []any{"id", a.id("chatcmpl-"), "object", "chat.completion.chunk", "created", created, "model", a.Model, "choices", choices}
		if a.usage {
			pairs = append(pairs, "usage", usage)
		}
		events = append(events, event{data: object(pairs...)})
	}
	for i, choice := range a.all() {
		c.deltas(choice, func(finish any, delta json.RawMessage) {
			chunk([]json.RawMessage{object("index", i, "delta", delta, "logprobs", nil, "finish_reason", finish)}, nil)
		})
	}
	if a.usage {
		chunk([]json.RawMessage{}, c.usage(a))
	}
	return append(events, event{data: json.RawMessage("[DONE]")})
}

// deltas says a choice piece by piece.
func (c chat) deltas(a *answer, say func(finish any, delta json.RawMessage)) {
	say(nil, object("role", "assistant", "content", "", "refusal", nil))
	call := 0
	for _, p := range a.parts {
		switch {
		case p.kind == rawPart:
			say(nil, p.arguments())
		case p.kind == callPart && a.together:
		case p.kind == callPart:
			delta := func(pairs ...any) {
				say(nil, object("tool_calls", []json.RawMessage{object(append([]any{"index", call}, pairs...)...)}))
			}
			delta("id", p.id, "type", "function", "function", object("name", p.name, "arguments", ""))
			for _, s := range pieces(p.text) {
				delta("function", object("arguments", s))
			}
			call++
		default:
			member := map[partKind]string{textPart: "content", refusalPart: "refusal", thinkingPart: "reasoning_content"}[p.kind]
			for _, s := range pieces(p.text) {
				say(nil, object(member, s))
			}
		}
	}
	if calls := c.calls(a); a.together && calls != nil {
		for i, call := range calls {
			calls[i] = append(append(json.RawMessage(`{"index":`), strconv.Itoa(i)+","...), call[1:]...)
		}
		say(nil, object("tool_calls", calls))
	}
	say(c.finish(a), object())
}

func (c chat) failed(_ *answer, f failure, _ int) []event { return []event{{data: c.failure(f)}} }

// openAI has what OpenAI's APIs share.
type openAI struct{}

func (openAI) header(h http.Header, id string, _ int) { h.Set("X-Request-Id", id) }

func (openAI) failure(f failure) json.RawMessage {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case f.status == 401:
		code = "invalid_api_key"
	case f.status == 429:
		kind, code = "requests", "rate_limit_exceeded"
	case f.status >= 500:
		kind = "server_error"
	}
	return object("error", object("message", f.message, "type", kind, "param", nil, "code", code))
}
