package llmtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// anthropic is Anthropic's Messages API.
type anthropic struct{}

func (anthropic) name() llm.Format                       { return llm.Anthropic }
func (anthropic) header(h http.Header, id string, _ int) { h.Set("Request-Id", id) }

func (anthropic) read(q *Request, _ func(string) ([]message, bool)) error {
	q.Model, q.Stream = str(q.Body, "model"), yes(q.Body, "stream")
	if model, method, onVertex := strings.Cut(q.path[strings.LastIndexByte(q.path, '/')+1:], ":"); onVertex {
		q.Model, q.Stream = model, q.Stream || method == "streamRawPredict"
	}
	if s := rawjson.Member(q.Body, "system"); s != nil {
		q.messages = append(q.messages, message{role: system, text: contentText(s)})
	}
	for t := range rawjson.Elements(rawjson.Member(q.Body, "tools")) {
		name := str(t, "name")
		if rawjson.Member(t, "input_schema") != nil && !anthropicName.MatchString(name) {
			return badName(name, anthropicName)
		}
		q.Tools = append(q.Tools, name)
	}
	if rawjson.Kind(rawjson.Member(q.Body, "max_tokens")) != '0' {
		return fmt.Errorf("max_tokens: Field required")
	}
	messages, err := list(q.Body, "messages")
	if err != nil {
		return err
	}
	if err := texts(rawjson.Member(q.Body, "system"), "system"); err != nil {
		return err
	}
	var ids map[string]bool // of the calls of a turn
	for i, m := range messages {
		content := rawjson.Member(m, "content")
		says := message{role: user, text: contentText(content)}
		final := false
		switch role := str(m, "role"); role {
		case "user":
		case "system":
			says.role = system
		case "assistant":
			says.role, final = assistant, i == len(messages)-1
			if n := len(q.messages); n == 0 || q.messages[n-1].role != assistant {
				ids = make(map[string]bool)
			}
		default:
			return fmt.Errorf("messages.%d.role: %q is not one of user, assistant and system", i, role)
		}
		if !(says.role == assistant && usesProvider(content)) { // between citations the API itself writes white space
			if err := texts(content, fmt.Sprint("messages.", i)); err != nil && !(final && says.text == "") {
				return err
			}
		}
		if final && strings.TrimRight(says.text, " \t\r\n") != says.text {
			return errors.New("messages: final assistant content cannot end with trailing whitespace")
		}
		others := rawjson.Kind(content) == '"'
		for b := range rawjson.Elements(content) {
			switch str(b, "type") {
			case "tool_use":
				call := part{id: str(b, "id"), name: str(b, "name")}
				if !plainID.MatchString(call.id) {
					return fmt.Errorf("messages.%d: the tool_use id %q should match the pattern %s", i, call.id, plainID)
				}
				if ids[call.id] {
					return fmt.Errorf("messages.%d: tool_use ids must be unique; %q is not", i, call.id)
				}
				ids[call.id] = true
				says.calls = append(says.calls, call)
			case "tool_result":
				says.results = append(says.results, Result{
					CallID: str(b, "tool_use_id"), Content: contentText(rawjson.Member(b, "content")), IsError: yes(b, "is_error"),
				})
				says.late = says.late || others
			default:
				others = true
			}
		}
		says.others = others
		q.messages = append(q.messages, says)
	}
	return q.unanswered(turns)
}

// usesProvider reports whether a content has tools of the provider or citations.
func usesProvider(content json.RawMessage) bool {
	for b := range rawjson.Elements(content) {
		if kind := str(b, "type"); kind == "server_tool_use" || strings.HasSuffix(kind, "_tool_result") || rawjson.Kind(rawjson.Member(b, "citations")) == '[' {
			return true
		}
	}
	return false
}

// anthropicName is what the name of a tool looks like.
var anthropicName = regexp.MustCompile("^[a-zA-Z0-9_-]{1,128}$")

// plainID is what an id of a call looks like.
var plainID = regexp.MustCompile("^[a-zA-Z0-9_-]+$")

// texts checks the texts of a content: none may be empty or of white space only.
func texts(content json.RawMessage, where string) error {
	blank := func(text json.RawMessage) bool {
		return rawjson.Kind(text) == '"' && strings.TrimSpace(rawjson.Unquote(text)) == ""
	}
	for b := range rawjson.Elements(content) {
		if str(b, "type") == "text" && blank(rawjson.Member(b, "text")) {
			return fmt.Errorf("%s: text content blocks must contain non-whitespace text", where)
		}
	}
	if blank(content) {
		return fmt.Errorf("%s: content must contain non-whitespace text", where)
	}
	return nil
}

// stop returns the stop_reason and the stop_details.
func (anthropic) stop(a *answer) (reason string, details any) {
	if why, refuses := a.joined(refusalPart); refuses {
		details = object("type", "refusal", "category", nil, "explanation", why)
	}
	return a.reason("refusal", "max_tokens", "tool_use", "end_turn"), details
}

func (anthropic) usage(a *answer, output int) json.RawMessage {
	return object("input_tokens", a.input-a.cached, "cache_creation_input_tokens", 0, "cache_read_input_tokens", a.cached, "output_tokens", output)
}

func (f anthropic) message(a *answer, content []json.RawMessage, reason, details any, output int) json.RawMessage {
	return object("id", a.id("msg_"), "type", "message", "role", "assistant", "model", a.Model, "content", content,
		"stop_reason", reason, "stop_sequence", nil, "stop_details", details, "usage", f.usage(a, output))
}

// An anthropicBlock is a content block: as a stream begins it, whole, and the text in the deltas of a stream.
type anthropicBlock struct {
	start, whole        json.RawMessage
	delta, member, text string
}

func (anthropic) block(a *answer, i int, p part) (b anthropicBlock, ok bool) {
	switch p.kind {
	case textPart:
		return anthropicBlock{object("type", "text", "text", ""), object("type", "text", "text", p.text), "text_delta", "text", p.text}, true
	case thinkingPart:
		block := func(text, signature string) json.RawMessage {
			return object("type", "thinking", "thinking", text, "signature", signature)
		}
		return anthropicBlock{block("", ""), block(p.text, a.id("sig_", i)), "thinking_delta", "thinking", p.text}, true
	case callPart:
		block := func(input json.RawMessage) json.RawMessage {
			return object("type", "tool_use", "id", p.id, "name", p.name, "input", input)
		}
		return anthropicBlock{block(object()), block(p.input()), "input_json_delta", "partial_json", p.text}, true
	case rawPart:
		var start []any
		var input json.RawMessage
		for name, value := range rawjson.Members(p.arguments()) {
			if name == "input" {
				input, value = value, object()
			}
			start = append(start, name, value)
		}
		return anthropicBlock{object(start...), p.arguments(), "input_json_delta", "partial_json", string(input)}, true
	}
	return b, false
}

func (f anthropic) whole(a *answer) json.RawMessage {
	content := []json.RawMessage{}
	for i, p := range a.parts {
		if b, ok := f.block(a, i, p); ok {
			content = append(content, b.whole)
		}
	}
	reason, details := f.stop(a)
	return f.message(a, content, reason, details, a.output)
}

func (f anthropic) events(a *answer) (events []event) {
	send := func(kind string, pairs ...any) {
		events = append(events, event{name: kind, data: object(append([]any{"type", kind}, pairs...)...)})
	}
	send("message_start", "message", f.message(a, []json.RawMessage{}, nil, nil, 1))
	index := 0
	for i, p := range a.parts {
		b, ok := f.block(a, i, p)
		if !ok {
			continue
		}
		delta := func(kind, member, text string) {
			send("content_block_delta", "index", index, "delta", object("type", kind, member, text))
		}
		send("content_block_start", "index", index, "content_block", b.start)
		if index == 0 {
			send("ping")
		}
		if p.kind == callPart {
			delta(b.delta, b.member, "")
		}
		for _, s := range pieces(b.text) {
			delta(b.delta, b.member, s)
		}
		if p.kind == thinkingPart {
			delta("signature_delta", "signature", a.id("sig_", i))
		}
		send("content_block_stop", "index", index)
		index++
	}
	reason, details := f.stop(a)
	send("message_delta", "delta", object("stop_reason", reason, "stop_sequence", nil, "stop_details", details),
		"usage", f.usage(a, a.output))
	send("message_stop")
	return events
}

func (anthropic) failure(f failure) json.RawMessage {
	usual := "api_error"
	if f.status < 500 {
		usual = "invalid_request_error"
	}
	kind := cmp.Or(map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}[f.status], usual)
	return object("type", "error", "error", object("type", kind, "message", f.message), "request_id", "req_"+strconv.Itoa(f.n))
}

func (f anthropic) failed(_ *answer, e failure, _ int) []event {
	return []event{{name: "error", data: f.failure(e)}}
}
