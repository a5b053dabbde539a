package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// responses is OpenAI's Responses API.
type responses struct{ openAI }

func (responses) name() llm.Format { return llm.OpenAIResponses }

func (responses) read(q *Request, previous func(id string) ([]message, bool)) error {
	q.Model, q.Stream, q.previous = str(q.Body, "model"), yes(q.Body, "stream"), str(q.Body, "previous_response_id")
	q.unstored = rawjson.Kind(rawjson.Member(q.Body, "store")) == 'f'
	for i := range rawjson.Elements(rawjson.Member(q.Body, "include")) {
		q.sealed = q.sealed || rawjson.Unquote(i) == "reasoning.encrypted_content"
	}
	if i := str(q.Body, "instructions"); i != "" {
		q.messages = append(q.messages, message{role: instructions, text: i})
	}
	for t := range rawjson.Elements(rawjson.Member(q.Body, "tools")) {
		name := str(t, "name")
		if kind := str(t, "type"); (kind == "function" || kind == "custom") && !openAIName.MatchString(name) {
			return badName(name, openAIName)
		}
		q.Tools = append(q.Tools, cmp.Or(name, str(t, "type"))) // a tool of the provider has only a type
	}
	if q.previous != "" {
		earlier, ok := previous(q.previous)
		if !ok {
			return fmt.Errorf("previous_response_id: the response %q has not been made by this model or not been stored", q.previous)
		}
		q.messages = append(q.messages, earlier...)
	}
	if input := rawjson.Member(q.Body, "input"); rawjson.Kind(input) == '"' {
		q.messages = append(q.messages, message{role: user, text: rawjson.Unquote(input)})
		return q.unanswered(loose)
	} else if input == nil && (q.previous != "" || kept(q.Body, "prompt") || kept(q.Body, "conversation")) {
		return q.unanswered(loose) // the provider has the input
	}
	items, err := list(q.Body, "input")
	if err != nil {
		return err
	}
	if err := reasoningFollows(items); err != nil {
		return err
	}
	for _, i := range items {
		m, ok, err := itemMessage(i)
		if err != nil {
			return err
		}
		if ok {
			q.messages = append(q.messages, m)
		}
	}
	return q.unanswered(loose)
}

// kept reports whether a member names something that the provider keeps.
func kept(body json.RawMessage, name string) bool {
	kind := rawjson.Kind(rawjson.Member(body, name))
	return kind == '"' || kind == '{'
}

// reasoningFollows checks that an item of the model follows each reasoning item.
func reasoningFollows(items []json.RawMessage) error {
	for i, item := range items {
		if str(item, "type") != "reasoning" {
			continue
		}
		if i+1 < len(items) {
			switch kind := str(items[i+1], "type"); {
			case kind == "reasoning", strings.HasSuffix(kind, "_call"), strings.HasPrefix(kind, "mcp_"), str(items[i+1], "role") == "assistant":
				continue
			}
		}
		return fmt.Errorf("the item %q of type reasoning was provided without its required following item", str(item, "id"))
	}
	return nil
}

// itemMessage returns what an item says; ok is false if the model does not read it here.
func itemMessage(i json.RawMessage) (m message, ok bool, err error) {
	if n := len(str(i, "call_id")); n > 64 {
		return m, false, fmt.Errorf("a call_id has %d bytes; the most are 64", n)
	}
	switch str(i, "type") {
	case "function_call", "custom_tool_call":
		return message{role: assistant, calls: []part{{id: str(i, "call_id"), name: str(i, "name")}}}, true, nil
	case "function_call_output", "custom_tool_call_output":
		result := Result{CallID: str(i, "call_id"), Content: contentText(rawjson.Member(i, "output"))}
		return message{role: tool, results: []Result{result}}, true, nil
	case "message", "":
		r, known := roles[str(i, "role")]
		if !known {
			return m, false, fmt.Errorf("the role %q of a message is not known", str(i, "role"))
		}
		return message{role: r, text: contentText(rawjson.Member(i, "content"))}, true, nil
	}
	return m, false, nil
}

// conversation returns the messages of the request and the answer, for a request that continues it.
func (a *answer) conversation() []message {
	messages := slices.DeleteFunc(slices.Clone(a.messages), func(m message) bool { return m.role == instructions })
	said, _ := a.joined(textPart)
	messages = append(messages, message{role: assistant, text: said, calls: a.of(callPart)})
	for _, p := range a.of(rawPart) {
		if m, ok, _ := itemMessage(p.arguments()); ok {
			messages = append(messages, m)
		}
	}
	return messages
}

// response returns the object of the whole response. usage and failure may be nil.
func (responses) response(a *answer, status string, output []json.RawMessage, usage, failure any) json.RawMessage {
	var why, previous any
	if status == "incomplete" {
		why = object("reason", a.reason("", "max_output_tokens", "", ""))
	}
	if a.previous != "" {
		previous = a.previous
	}
	return object("id", a.id("resp_"), "object", "response", "created_at", created, "status", status, "error", failure,
		"incomplete_details", why, "instructions", nil, "max_output_tokens", nil, "model", a.Model, "output", output,
		"parallel_tool_calls", true, "previous_response_id", previous, "reasoning", object("effort", nil, "summary", nil), "store", !a.unstored,
		"temperature", 1, "text", object("format", object("type", "text")), "tool_choice", "auto", "tools", []json.RawMessage{},
		"top_p", 1, "truncation", "disabled", "usage", usage, "metadata", object())
}

func (responses) usage(a *answer) json.RawMessage {
	return object("input_tokens", a.input, "input_tokens_details", object("cached_tokens", a.cached),
		"output_tokens", a.output, "output_tokens_details", object("reasoning_tokens", a.reasoning), "total_tokens", a.input+a.output)
}

func (responses) status(a *answer) string {
	if a.incomplete || a.stop != nil {
		return "incomplete"
	}
	return "completed"
}

// item returns an output item for a part. Before it is done its content is empty.
func (f responses) item(a *answer, i int, p part, done bool) json.RawMessage {
	status, content := "in_progress", []json.RawMessage{}
	if done {
		status = f.status(a)
	}
	switch p.kind {
	case callPart:
		arguments := ""
		if done {
			arguments = p.text
		}
		return object("id", a.id("fc_", i), "type", "function_call", "status", status, "call_id", p.id, "name", p.name, "arguments", arguments)
	case rawPart:
		return p.arguments()
	case thinkingPart:
		if done {
			content = append(content, object("type", "summary_text", "text", p.text))
		}
		var sealed json.RawMessage
		if a.sealed {
			sealed = rawjson.Quote(a.id("sealed_", i))
		}
		return object("id", a.id("rs_", i), "type", "reasoning", "summary", content, "encrypted_content", sealed)
	}
	if done {
		content = append(content, f.content(p, p.text))
	}
	return object("id", a.id("msg_", i), "type", "message", "status", status, "role", "assistant", "content", content)
}

// content returns the content of a message with a text.
func (responses) content(p part, text string) json.RawMessage {
	if p.kind == refusalPart {
		return object("type", "refusal", "refusal", text)
	}
	return object("type", "output_text", "text", text, "annotations", []json.RawMessage{}, "logprobs", []json.RawMessage{})
}

func (f responses) output(a *answer) []json.RawMessage {
	output := []json.RawMessage{}
	for i, p := range a.parts {
		output = append(output, f.item(a, i, p, true))
	}
	return output
}

func (f responses) whole(a *answer) json.RawMessage {
	return f.response(a, f.status(a), f.output(a), f.usage(a), nil)
}

func (f responses) events(a *answer) (events []event) {
	send := func(kind string, pairs ...any) {
		kind = "response." + kind
		events = append(events, event{name: kind, data: object(append([]any{"type", kind, "sequence_number", len(events)}, pairs...)...)})
	}
	for _, kind := range []string{"created", "in_progress"} {
		send(kind, "response", f.response(a, "in_progress", []json.RawMessage{}, nil, nil))
	}
	for i, p := range a.parts {
		send("output_item.added", "output_index", i, "item", f.item(a, i, p, false))
		// at sends an event about the content of the item.
		at := func(kind, id string, pairs ...any) {
			send(kind, append([]any{"item_id", a.id(id, i), "output_index", i}, pairs...)...)
		}
		// streamed sends a text in pieces, and then as a whole.
		streamed := func(kind, id, member string, more ...any) {
			for _, s := range pieces(p.text) {
				at(kind+".delta", id, append(slices.Clip(more), "delta", s)...)
			}
			at(kind+".done", id, append(slices.Clip(more), member, p.text)...)
		}
		switch p.kind {
		case rawPart:
		case callPart:
			streamed("function_call_arguments", "fc_", "arguments")
		case thinkingPart:
			at("reasoning_summary_part.added", "rs_", "summary_index", 0, "part", object("type", "summary_text", "text", ""))
			streamed("reasoning_summary_text", "rs_", "text", "summary_index", 0)
			at("reasoning_summary_part.done", "rs_", "summary_index", 0, "part", object("type", "summary_text", "text", p.text))
		default:
			at("content_part.added", "msg_", "content_index", 0, "part", f.content(p, ""))
			if p.kind == refusalPart {
				streamed("refusal", "msg_", "refusal", "content_index", 0)
			} else {
				streamed("output_text", "msg_", "text", "content_index", 0, "logprobs", []json.RawMessage{})
			}
			at("content_part.done", "msg_", "content_index", 0, "part", f.content(p, p.text))
		}
		send("output_item.done", "output_index", i, "item", f.item(a, i, p, true))
	}
	send(f.status(a), "response", f.whole(a))
	return events
}

// failed returns the event "error" and then "response.failed", as the provider sends them.
func (f responses) failed(a *answer, e failure, n int) []event {
	code := "server_error"
	if e.status == 429 {
		code = "rate_limit_exceeded"
	}
	whole := f.response(a, "failed", []json.RawMessage{}, nil, object("code", code, "message", e.message))
	return []event{
		{name: "error", data: object("type", "error", "sequence_number", n, "code", code, "message", e.message, "param", nil)},
		{name: "response.failed", data: object("type", "response.failed", "sequence_number", n+1, "response", whole)},
	}
}
