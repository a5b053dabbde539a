package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// converse is Amazon Bedrock's Converse and ConverseStream.
type converse struct{ amazon }

func (converse) name() llm.Format { return llm.Converse }

func (converse) read(q *Request, _ func(string) ([]message, bool)) error {
	q.Model, q.Stream = modelpath.Model(q.path), strings.HasSuffix(q.path, "/converse-stream")
	if s := rawjson.Member(q.Body, "system"); s != nil {
		q.messages = append(q.messages, message{role: system, text: contentText(s)})
	}
	config := rawjson.Member(q.Body, "toolConfig")
	if err := converseTools(q, config); err != nil {
		return err
	}
	if rawjson.Member(q.Body, "messages") == nil && rawjson.Member(q.Body, "promptVariables") != nil {
		return nil // the server has the prompt
	}
	messages, err := list(q.Body, "messages")
	if err != nil {
		return err
	}
	previous := system
	for i, m := range messages {
		at := fmt.Sprintf("messages.%d", i)
		content := rawjson.Member(m, "content")
		says := message{role: user, text: contentText(content)}
		switch role := str(m, "role"); role {
		case "user":
		case "assistant":
			says.role = assistant
		default:
			return fmt.Errorf("%s.role: %q is not one of user and assistant", at, role)
		}
		if says.role == previous {
			return errors.New("a conversation must alternate between user and assistant roles")
		}
		previous = says.role
		if err := converseContent(content, at, config != nil, &says); err != nil {
			return err
		}
		q.messages = append(q.messages, says)
	}
	return q.unanswered(adjacent)
}

// converseTools reads the tools of a request.
func converseTools(q *Request, config json.RawMessage) error {
	if config == nil {
		return nil
	}
	tools, err := list(config, "tools")
	if err != nil {
		return fmt.Errorf("toolConfig.%w", err)
	}
	for i, t := range tools {
		spec := rawjson.Member(t, "toolSpec")
		if spec == nil { // a cache point, or a tool of the provider
			if provided := rawjson.Member(t, "systemTool"); provided != nil {
				q.Tools = append(q.Tools, str(provided, "name"))
			}
			continue
		}
		at, name := fmt.Sprintf("toolConfig.tools.%d.toolSpec", i), str(spec, "name")
		declared := rawjson.Member(rawjson.Member(spec, "inputSchema"), "json")
		switch {
		case !converseName.MatchString(name):
			return badName(name, converseName)
		case rawjson.Member(spec, "description") != nil && str(spec, "description") == "":
			return fmt.Errorf("%s.description: at least one character is required", at)
		case rawjson.Kind(declared) != '{':
			return fmt.Errorf("%s.inputSchema.json must be an object", at)
		case str(declared, "type") != "object":
			return fmt.Errorf("the value at %s.inputSchema.json.type must be object", at)
		}
		q.Tools = append(q.Tools, name)
	}
	return nil
}

// converseName is what the name of a tool looks like, and converseID the id of a call.
var (
	converseName = regexp.MustCompile("^[a-zA-Z0-9_-]{1,64}$")
	converseID   = regexp.MustCompile("^[a-zA-Z0-9_.:-]{1,64}$")
)

// converseContent reads the content of a message. hasTools tells that the request has tools.
func converseContent(content json.RawMessage, at string, hasTools bool, says *message) error {
	if rawjson.Kind(content) != '[' {
		return fmt.Errorf("%s.content must be a list of ContentBlock objects", at)
	}
	ids, n := map[string]bool{}, 0
	for block := range rawjson.Elements(content) {
		at := fmt.Sprintf("%s.content.%d", at, n)
		n++
		if text := rawjson.Member(block, "text"); text != nil && rawjson.Unquote(text) == "" {
			return fmt.Errorf("the text field in the ContentBlock object at %s is blank; add text to it", at)
		}
		call, result := rawjson.Member(block, "toolUse"), rawjson.Member(block, "toolResult")
		switch {
		case (call != nil || result != nil) && !hasTools:
			return errors.New("the toolConfig field must be defined when using toolUse and toolResult content blocks")
		case call != nil:
			c := part{id: str(call, "toolUseId"), name: str(call, "name")}
			switch {
			case !converseID.MatchString(c.id):
				return fmt.Errorf("%s.toolUse.toolUseId: %q does not match the pattern %s", at, c.id, converseID)
			case ids[c.id]:
				return fmt.Errorf("%s: the toolUseId %q is not unique", at, c.id)
			case rawjson.Kind(rawjson.Member(call, "input")) != '{':
				return fmt.Errorf("the value at %s.toolUse.input is invalid; provide a JSON object", at)
			}
			ids[c.id] = true
			if str(call, "type") != "server_tool_use" { // the provider has run that tool
				says.calls = append(says.calls, c)
			}
		case result != nil && says.role == user:
			r, err := converseResult(result, at+".toolResult")
			if err != nil {
				return err
			}
			says.results = append(says.results, r)
		}
	}
	if n == 0 {
		return fmt.Errorf("the content field in the Message object at %s is empty; add a ContentBlock object to it", at)
	}
	return nil
}

func converseResult(result json.RawMessage, at string) (Result, error) {
	r := Result{CallID: str(result, "toolUseId"), IsError: str(result, "status") == "error"}
	var texts []string
	n := 0
	for part := range rawjson.Elements(rawjson.Member(result, "content")) {
		n++
		text, value := rawjson.Member(part, "text"), rawjson.Member(part, "json")
		switch {
		case text != nil && rawjson.Unquote(text) == "":
			return r, fmt.Errorf("%s.content: text content blocks must be non-empty", at)
		case text != nil:
			texts = append(texts, rawjson.Unquote(text))
		case value != nil && rawjson.Kind(value) != '{':
			return r, fmt.Errorf("the value at %s.content.json is invalid; provide a JSON object", at)
		case value != nil:
			texts = append(texts, string(value))
		}
	}
	switch status := str(result, "status"); {
	case n == 0 && r.IsError:
		return r, fmt.Errorf("the content field at %s cannot be empty when the status is error", at)
	case status != "" && status != "success" && !r.IsError:
		return r, fmt.Errorf("%s.status: %q is not one of success and error", at, status)
	}
	r.Content = strings.Join(texts, "\n")
	return r, nil
}

// stop returns the stopReason.
func (converse) stop(a *answer) string {
	return a.reason("guardrail_intervened", "max_tokens", "tool_use", "end_turn")
}

func (converse) usage(a *answer) json.RawMessage {
	return object("inputTokens", a.input-a.cached, "outputTokens", a.output, "totalTokens", a.input+a.output,
		"cacheReadInputTokens", a.cached, "cacheWriteInputTokens", 0)
}

func (f converse) whole(a *answer) json.RawMessage {
	content := []json.RawMessage{}
	for i, p := range a.parts {
		switch p.kind {
		case textPart, refusalPart:
			content = append(content, object("text", p.text))
		case thinkingPart:
			content = append(content, object("reasoningContent", object("reasoningText", object("text", p.text, "signature", a.id("sig_", i)))))
		case callPart:
			content = append(content, object("toolUse", object("toolUseId", p.id, "name", p.name, "input", p.input())))
		case rawPart:
			content = append(content, p.arguments())
		}
	}
	return object("output", object("message", object("role", "assistant", "content", content)), "stopReason", f.stop(a),
		"usage", f.usage(a), "metrics", object("latencyMs", 100))
}

func (f converse) events(a *answer) (events []event) {
	send := func(name string, pairs ...any) {
		events = append(events, event{name: name, data: object(pairs...), form: framed})
	}
	send("messageStart", "role", "assistant")
	for i, p := range a.parts {
		delta := func(pairs ...any) { send("contentBlockDelta", "contentBlockIndex", i, "delta", object(pairs...)) }
		switch p.kind {
		case textPart, refusalPart:
			for _, s := range pieces(p.text) {
				delta("text", s)
			}
		case thinkingPart:
			for _, s := range pieces(p.text) {
				delta("reasoningContent", object("text", s))
			}
			delta("reasoningContent", object("signature", a.id("sig_", i)))
		case callPart:
			send("contentBlockStart", "contentBlockIndex", i, "start", object("toolUse", object("toolUseId", p.id, "name", p.name)))
			for _, s := range pieces(p.text) {
				delta("toolUse", object("input", s))
			}
		case rawPart:
			f.rawEvents(p, i, send, delta)
		}
		send("contentBlockStop", "contentBlockIndex", i)
	}
	send("messageStop", "stopReason", f.stop(a))
	send("metadata", "usage", f.usage(a), "metrics", object("latencyMs", 100))
	return events
}

// rawEvents says a block that has no step of its own: its content comes in one piece.
func (converse) rawEvents(p part, i int, send func(name string, pairs ...any), delta func(pairs ...any)) {
	for kind, value := range rawjson.Members(p.arguments()) {
		if kind != "toolUse" && kind != "toolResult" && kind != "image" {
			delta(kind, value)
			continue
		}
		var start []any
		for name, v := range rawjson.Members(value) {
			if name != "input" && name != "content" && name != "source" {
				start = append(start, name, v)
			}
		}
		send("contentBlockStart", "contentBlockIndex", i, "start", object(kind, object(start...)))
		for name, v := range rawjson.Members(value) {
			switch name {
			case "input":
				delta(kind, object("input", string(v)))
			case "content":
				delta(kind, v)
			case "source":
				delta(kind, object("source", v))
			}
		}
	}
}
