package dispatch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Codes of a [Problem]: what the platform finds, and what the handler has changed.
const (
	codeNotJSON      = "not_json"
	codeFinalMissing = "final_response_missing"
	codeFinalLong    = "final_response_long"
	codeMessages     = "messages_malformed"
	codeMetadata     = "metadata_malformed"

	codeRepaired = problem.MessagesRepaired
	codeRemoved  = problem.MessagesRemoved
)

// A Problem is one violation of the response contract.
type Problem struct {
	Tool string `json:"tool,omitempty"` // "": the platform names no tool

	// Code is stable. The platform finds final_response_missing, final_response_long, not_json,
	// messages_malformed and metadata_malformed. The handler reports what it changed before it sent
	// the response: messages_repaired and messages_removed. Package llm reports conversations that
	// it did not send, conversation_unclear, and requests that belong to no conversation,
	// request_left_out.
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer into the response
	Message string `json:"message"`

	// Fatal reports that the platform fails the run. Otherwise the platform drops the member or
	// cuts the text, with a soft warning.
	Fatal bool `json:"fatal"`
}

// String returns tool, pointer, message and code on one line. Without a pointer the message is about the response.
func (p Problem) String() string {
	place := cmp.Or(p.Pointer, "the response")
	return problem.Problem{Tool: p.Tool, Code: p.Code, Pointer: place, Message: p.Message}.String()
}

// A ResponseCheck describes what the platform does with a response.
type ResponseCheck struct {
	FinalResponse string
	Messages      []Message // nil if absent, null or dropped
	Problems      []Problem

	// Gradeable reports whether an assistant message with text arrives. Agents that are registered
	// with "Require a gradeable rich transcript" need one.
	Gradeable bool
}

// OK reports whether the platform grades the run.
func (c *ResponseCheck) OK() bool {
	for _, p := range c.Problems {
		if p.Fatal {
			return false
		}
	}
	return true
}

const longFinalResponse = 50_000

// Bounds of the nesting of JSON, in levels. Python's json module reads about 1,000. A value in a
// message is nested some levels deeper in the answer.
const (
	maxAnswerDepth = 900
	maxValueDepth  = 800
)

// CheckResponse reads the body of a response as the platform does, so that a test can see what
// arrives. The member final_response is required. The members messages and metadata are dropped if
// anything in them is malformed. Other members are allowed. Names are case-sensitive. JSON that is
// nested more than 900 levels deep is rejected.
func CheckResponse(body []byte) *ResponseCheck {
	v := &ResponseCheck{}
	add := func(fatal bool, code, pointer, format string, args ...any) {
		v.Problems = append(v.Problems, Problem{Code: code, Pointer: pointer, Message: fmt.Sprintf(format, args...), Fatal: fatal})
	}
	var final, messages, metadata json.RawMessage
	limits := rawjson.Limits{Depth: maxAnswerDepth, Mode: rawjson.Liberal}
	err := rawjson.Read(body, limits, func(r *rawjson.Reader) error {
		return r.Object(nil, func(name string) (err error) {
			switch name {
			case "final_response":
				final, err = r.Value()
			case "messages":
				messages, err = r.Value()
			case "metadata":
				metadata, err = r.Value()
			}
			return err
		}, "final_response", "messages", "metadata")
	})
	if err != nil {
		add(true, codeNotJSON, "", "is not a JSON object: %v", err)
		return v
	}
	v.FinalResponse = rawjson.Unquote(final)
	if rawjson.Kind(final) != '"' {
		add(true, codeFinalMissing, "/final_response", "must be a string")
	} else if p := checkFinalResponse(v.FinalResponse); p != nil {
		v.Problems = append(v.Problems, *p)
	}
	if !rawjson.IsNull(messages) {
		rows, found := readMessages(messages)
		if len(found) == 0 {
			v.Messages = rows
		}
		v.Problems = append(v.Problems, found...)
	}
	v.Problems = append(v.Problems, checkMetadata(metadata)...)
	v.Gradeable = gradeable(v.Messages)
	return v
}

// checkMetadata judges the keys of metadata that the platform documents. Whether it drops one of them or
// all is not documented.
func checkMetadata(metadata json.RawMessage) []Problem {
	var all found
	add := func(key, text string) {
		all.Put(Problem{Code: codeMetadata, Pointer: "/metadata" + key, Message: text})
	}
	if rawjson.IsNull(metadata) {
		return nil
	}
	if metadata[0] != '{' {
		add("", "is dropped: it is not an object")
		return all.Found
	}
	for key, value := range rawjson.Members(metadata) {
		switch kind := rawjson.Kind(value); {
		case kind == 'n':
		case (key == "model" || key == "system_prompt_id") && kind != '"':
			add("/"+key, "must be a string; the platform may drop the metadata")
		case key == "total_input_tokens", key == "total_output_tokens", key == "agent_runtime_ms":
			if kind != '0' || value[0] == '-' || !rawjson.ParseNumber(string(value)).Integer() {
				add("/"+key, "must be an integer of 0 or more; the platform may drop the metadata")
			}
		}
	}
	return all.problems(codeMetadata, "/metadata")
}

// readMessages decodes the member messages of an answer. It returns the messages if there are no problems.
func readMessages(list json.RawMessage) ([]Message, []Problem) {
	var unread found // messages that cannot be decoded
	contract := newMessageCheck()
	rows := []Message{} // an empty list is not nil
	if rawjson.Kind(list) != '[' {
		unread.add("must be a list of messages", "/messages")
	}
	i := 0
	for value := range rawjson.Elements(list) {
		var m Message
		if rawjson.Kind(value) != '{' {
			unread.add("must be an object, not "+rawjson.KindName(rawjson.Kind(value)), "/messages/", i)
		} else if err := json.Unmarshal(value, &m); err != nil {
			unread.add("is not a message: "+err.Error(), "/messages/", i)
		} else if contract.message(i, m); unread.Found == nil && contract.Found == nil {
			rows = append(rows, m)
		} else {
			rows = nil // nobody reads them
		}
		i++
	}
	if unread.Found != nil {
		return nil, unread.problems(codeMessages, "/messages")
	}
	return rows, contract.problems(codeMessages, "/messages")
}

// found collects problems, and then has one more that counts those that are not listed.
type found struct{ problem.Bounded[Problem] }

// add adds a problem of messages at the pointer that the parts of at make.
func (f *found) add(text string, at ...any) {
	f.Put(Problem{Code: codeMessages, Pointer: fmt.Sprint(at...), Message: text})
}

// problems returns the problems that are listed, and one with the code, at pointer, that counts the others.
func (f *found) problems(code, pointer string) []Problem {
	if f.More == 0 {
		return f.Found
	}
	return append(f.Found, Problem{Code: code, Pointer: pointer, Message: fmt.Sprintf("has %d more problems", f.More)})
}

func checkFinalResponse(s string) *Problem {
	if strings.TrimSpace(s) == "" {
		return &Problem{Code: codeFinalMissing, Pointer: "/final_response", Message: "is empty", Fatal: true}
	}
	if len(s) > longFinalResponse && utf8.RuneCountInString(s) > longFinalResponse {
		return &Problem{Code: codeFinalLong, Pointer: "/final_response",
			Message: "has more than 50,000 characters and is cut off by the platform"}
	}
	return nil
}

// CheckMessages returns the problems for which the platform drops all messages ("Porting without
// the SDK", rich-mode messages):
//
//   - an unknown role
//   - content that is not a string, a list of parts or null
//   - a tool message that does not match an earlier tool call
//   - a tool call outside of an assistant message, or without an id or a name
//   - arguments that are neither an object nor a JSON-encoded string
//   - JSON that is not valid UTF-8, or is nested more than 800 levels deep
//
// A string may contain any text, so arguments may be text that is not JSON. A part is a text or any
// object: no document lists their kinds. CheckMessages examines messages as they arrive. The handler
// repairs messages before it sends them, as the package comment lists. It returns at most 100 problems,
// and one more that counts the rest.
func CheckMessages(messages []Message) []Problem {
	c := newMessageCheck()
	for i, m := range messages {
		c.message(i, m)
	}
	return c.problems(codeMessages, "/messages")
}

// messageCheck checks messages one after the other.
type messageCheck struct {
	found
	calls map[string]bool // ids
}

func newMessageCheck() *messageCheck { return &messageCheck{calls: map[string]bool{}} }

func (check *messageCheck) message(i int, m Message) {
	add := func(at, text string) { check.add(text, "/messages/", i, at) }
	if m.Role == "" {
		add("/role", "is missing")
	} else if !m.Role.valid() {
		add("/role", "must be system, user, assistant or tool")
	}
	if !validContent(m.Content) {
		add("/content", "must be a string, a list of parts or null")
	}
	if len(m.ToolCalls) > 0 && m.Role != RoleAssistant {
		add("/tool_calls", "belongs to assistant messages only")
	}
	for j, c := range m.ToolCalls {
		at := fmt.Sprintf("/tool_calls/%d", j)
		if c.ID == "" {
			add(at+"/id", "is missing")
		}
		if c.Name == "" {
			add(at+"/name", "is missing")
		}
		if !validArguments(c.Arguments) {
			add(at+"/arguments", "must be an object or a JSON-encoded string")
		}
		check.calls[c.ID] = true
	}
	switch {
	case m.Role == RoleTool && m.ToolCallID == "":
		add("/tool_call_id", "is missing")
	case m.Role == RoleTool && !check.calls[m.ToolCallID]:
		add("/tool_call_id", "answers no tool call before it")
	}
	for j, block := range m.Thinking {
		if !wellFormed(block) {
			add(fmt.Sprintf("/thinking/%d", j), "is not JSON")
		}
	}
}

// validContent reports whether c is a JSON string, a list of parts (objects or strings), or null.
func validContent(c Content) bool {
	switch c.kind() {
	case 'n':
		return len(c) == 0 || wellFormed(c)
	case '"':
		return wellFormed(c)
	case '[':
		if !wellFormed(c) {
			return false
		}
		for part := range rawjson.Elements(json.RawMessage(c)) {
			if part[0] != '{' && part[0] != '"' {
				return false
			}
		}
		return true
	}
	return false
}

// validArguments reports whether raw is a JSON object, a JSON string, or blank, which is written as {}.
func validArguments(raw json.RawMessage) bool {
	kind := rawjson.Kind(raw)
	return kind == 0 || (kind == '{' || kind == '"') && wellFormed(raw)
}

// valueLimits bound the depth of a value in a message.
var valueLimits = rawjson.Limits{Depth: maxValueDepth, Mode: rawjson.Liberal}

// wellFormed reports whether a value in a message is JSON in UTF-8 that is not nested too deep.
func wellFormed(value []byte) bool { return rawjson.Check(value, valueLimits) == nil }

func readable(value []byte, depth int) bool {
	return rawjson.Check(value, rawjson.Limits{Depth: depth, Mode: rawjson.Liberal}) == nil
}

func gradeable(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.hasText() })
}

// hasText reports whether a message has a text of the assistant.
func (m *Message) hasText() bool {
	return m.Role == RoleAssistant && strings.TrimSpace(m.Content.String()) != ""
}
