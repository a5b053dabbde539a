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

// gemini is Gemini's generateContent.
type gemini struct{}

func (gemini) name() llm.Format                       { return llm.Gemini }
func (gemini) header(h http.Header, id string, _ int) { h.Set("X-Request-Id", id) }

func (gemini) read(q *Request, _ func(string) ([]message, bool)) error {
	model, method, _ := strings.Cut(q.path[strings.LastIndexByte(q.path, '/')+1:], ":")
	q.Model, q.Stream = model, method == "streamGenerateContent"
	if s := camel(q.Body, "systemInstruction"); s != nil {
		q.messages = append(q.messages, message{role: system, text: contentText(rawjson.Member(s, "parts"))})
	}
	for t := range rawjson.Elements(rawjson.Member(q.Body, "tools")) {
		for name, declared := range rawjson.Members(t) {
			if name != "functionDeclarations" && name != "function_declarations" {
				q.Tools = append(q.Tools, name) // a tool of the provider
				continue
			}
			for d := range rawjson.Elements(declared) {
				if !geminiName.MatchString(str(d, "name")) {
					return badName(str(d, "name"), geminiName)
				}
				q.Tools = append(q.Tools, str(d, "name"))
			}
		}
	}
	contents, err := list(q.Body, "contents")
	if err != nil {
		return err
	}
	var open openCalls // of the model's last turn
	for _, c := range contents {
		m := message{role: user, text: contentText(rawjson.Member(c, "parts"))}
		switch role := str(c, "role"); role {
		case "", "user", "function":
		case "model":
			m.role = assistant
			if n := len(q.messages); n > 0 && q.messages[n-1].role == assistant {
				// The SDK's chats keep each event of a stream as a content of its own.
				m.calls, q.messages[n-1].calls, open = open.calls, nil, openCalls{}
			}
		default:
			return fmt.Errorf("the role %q of a content is not known: use user or model", role)
		}
		for p := range rawjson.Elements(rawjson.Member(c, "parts")) {
			if call := camel(p, "functionCall"); call != nil {
				m.calls = append(m.calls, part{id: str(call, "id"), name: str(call, "name")})
			}
			result := camel(p, "functionResponse")
			if result == nil {
				continue
			}
			r := Result{CallID: str(result, "id"), Name: str(result, "name"), Content: string(rawjson.Member(result, "response"))}
			call, ok := open.take(r)
			if !ok {
				return fmt.Errorf("the function response for %q does not belong to a function call of the turn before it", r.Name)
			}
			r.CallID = call.id
			m.results = append(m.results, r)
		}
		if m.role == assistant || len(m.results) == 0 { // results may come in several contents
			if err := open.missing(); err != nil {
				return err
			}
		}
		if m.role == assistant {
			if len(m.calls) > 0 && (len(q.messages) == 0 || q.messages[len(q.messages)-1].role == system) {
				return errors.New("a function call must come immediately after a turn of the user or of function responses")
			}
			open = openCalls{calls: m.calls}
		}
		q.messages = append(q.messages, m)
	}
	return open.missing()
}

// geminiName is what the name of a function looks like.
var geminiName = regexp.MustCompile("^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$")

// camel returns a member that may also have the name of the API's protocol buffers.
func camel(object json.RawMessage, name string) json.RawMessage {
	if value := rawjson.Member(object, name); value != nil {
		return value
	}
	snake := upper.ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
	return rawjson.Member(object, snake)
}

var upper = regexp.MustCompile("[A-Z]")

// openCalls are the calls of a turn, and which of them have no result yet.
type openCalls struct {
	calls    []part
	answered []bool         // of calls; nil before the first result
	places   map[part][]int // of calls that may be open, by name, and by name and id
}

// take returns the call that a result is for: the one with its id, or the first one of its tool if the
// result has no id.
func (o *openCalls) take(r Result) (call part, ok bool) {
	if o.answered == nil {
		o.answered, o.places = make([]bool, len(o.calls)), make(map[part][]int)
		for i, c := range o.calls {
			o.places[part{name: c.name}] = append(o.places[part{name: c.name}], i)
			if c.id != "" {
				o.places[part{name: c.name, id: c.id}] = append(o.places[part{name: c.name, id: c.id}], i)
			}
		}
	}
	wanted := part{name: r.Name, id: r.CallID}
	for i := range o.places[wanted] {
		if at := o.places[wanted][i]; !o.answered[at] {
			o.answered[at], o.places[wanted] = true, o.places[wanted][i+1:]
			return o.calls[at], true
		}
	}
	return part{}, false
}

// missing returns an error about the first call without a result.
func (o *openCalls) missing() error {
	for i, c := range o.calls {
		if o.answered == nil || !o.answered[i] {
			return fmt.Errorf("the function response for %q is missing: a turn must have as many function responses as the turn before it has function calls", c.name)
		}
	}
	return nil
}

// finish returns the parts of the response, the finishReason and the finishMessage. Without content
// the parts are nil.
func (gemini) finish(a *answer) (parts []json.RawMessage, reason string, why json.RawMessage) {
	if refusal, ok := a.joined(refusalPart); ok {
		return nil, "SAFETY", rawjson.Quote(refusal)
	}
	signed := a.reasoning > 0
	for i, p := range a.parts {
		switch p.kind {
		case textPart:
			parts = append(parts, object("text", p.text))
		case thinkingPart:
			parts = append(parts, object("text", p.text, "thought", true))
		case callPart:
			arguments := p.arguments()
			if rawjson.Kind(arguments) != '{' {
				return nil, "MALFORMED_FUNCTION_CALL", rawjson.Quote("Malformed function call: " + p.name + "(" + p.text + ")")
			}
			var id, signature json.RawMessage
			if p.id != "" {
				id = rawjson.Quote(p.id)
			}
			if signed { // the first call after thinking has it
				signature, signed = json.RawMessage(`"c2ln`+fmt.Sprintf("%04d", (a.n*100+i)%10_000)+`"`), false
			}
			parts = append(parts, object("functionCall", object("id", id, "name", p.name, "args", arguments), "thoughtSignature", signature))
		case rawPart:
			parts = append(parts, p.arguments())
		}
	}
	return parts, a.reason("", "MAX_TOKENS", "STOP", "STOP"), nil
}

// candidate returns a candidate. An empty reason means that more events follow.
func (gemini) candidate(index int, parts []json.RawMessage, reason string, why json.RawMessage) json.RawMessage {
	var content, finish json.RawMessage
	if parts != nil {
		content = object("role", "model", "parts", parts)
	}
	if reason != "" {
		finish = rawjson.Quote(reason)
	}
	return object("content", content, "finishReason", finish, "finishMessage", why, "index", index)
}

// response returns a response or an event of a stream, which have the same form. last tells that no
// more events follow.
func (gemini) response(a *answer, last bool, candidates ...json.RawMessage) json.RawMessage {
	usage := []any{"promptTokenCount", a.input}
	if a.cached > 0 {
		usage = append(usage, "cachedContentTokenCount", a.cached)
	}
	if last {
		usage = append(usage, "candidatesTokenCount", a.output-a.reasoning, "thoughtsTokenCount", a.reasoning)
		usage = append(usage, "totalTokenCount", a.input+a.output)
	} else {
		usage = append(usage, "totalTokenCount", a.input)
	}
	return object("candidates", candidates,
		"usageMetadata", object(usage...), "modelVersion", a.Model, "responseId", "response-"+strconv.Itoa(a.n))
}

func (f gemini) whole(a *answer) json.RawMessage {
	var candidates []json.RawMessage
	for i, choice := range a.all() {
		parts, reason, why := f.finish(choice)
		candidates = append(candidates, f.candidate(i, parts, reason, why))
	}
	return f.response(a, true, candidates...)
}

func (f gemini) events(a *answer) (events []event) {
	for i, choice := range a.all() {
		send := func(parts ...json.RawMessage) {
			events = append(events, event{data: f.response(a, false, f.candidate(i, parts, "", nil))})
		}
		parts, reason, why := f.finish(choice)
		var calls []json.RawMessage
		for j, p := range parts { // one for each part of the step
			switch of := choice.parts[j]; {
			case of.kind == textPart || of.kind == thinkingPart:
				for _, s := range pieces(of.text) {
					send(object("text", s, "thought", rawjson.Member(p, "thought")))
				}
			case of.kind == callPart && choice.together:
				calls = append(calls, p)
			default:
				send(p)
			}
		}
		if calls != nil {
			send(calls...)
		}
		var end []json.RawMessage
		if parts != nil {
			end = []json.RawMessage{object("text", "")}
		}
		events = append(events, event{data: f.response(a, i == len(a.others), f.candidate(i, end, reason, why))})
	}
	return events
}

func (gemini) failure(f failure) json.RawMessage {
	usual := "UNAVAILABLE"
	if f.status < 500 {
		usual = "FAILED_PRECONDITION"
	}
	status := cmp.Or(map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 504: "DEADLINE_EXCEEDED",
	}[f.status], usual)
	var details json.RawMessage
	if f.retryAfter > 0 {
		delay := strconv.FormatFloat(f.retryAfter.Seconds(), 'f', -1, 64) + "s"
		details = rawjson.Array([]json.RawMessage{object("@type", "type.googleapis.com/google.rpc.RetryInfo", "retryDelay", delay)})
	}
	return object("error", object("code", f.status, "message", f.message, "status", status, "details", details))
}

// failed returns the error on a line of its own, as the provider sends it.
func (f gemini) failed(_ *answer, e failure, _ int) []event {
	return []event{{data: f.failure(e), form: bare}}
}
