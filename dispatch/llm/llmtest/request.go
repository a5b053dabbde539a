package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Request is one request that the model received, in terms that all formats share. It contains no
// headers, because these carry the API key. Do not change it.
type Request struct {
	Format  llm.Format
	Model   string
	Stream  bool
	System  string          // system and developer texts, each on lines of its own
	Users   []string        // the texts of the user's messages, in order
	Tools   []string        // the names of the tools offered, in order
	Results []Result        // what tools returned since the model's last message or call, in order
	Body    json.RawMessage // as it was sent

	path     string
	messages []message
	usage    bool   // Chat Completions: stream_options.include_usage
	previous string // Responses: previous_response_id
	unstored bool   // Responses: store is false
	sealed   bool   // Responses: include has reasoning.encrypted_content
	list     bool   // Gemini: the stream is one JSON array
}

// A Result is what a tool returned to the model.
type Result struct {
	CallID  string // "" if the request contains no id for it
	Name    string // of the tool; "" if the conversation does not say it
	Content string // text, or the JSON of Gemini's response
	IsError bool   // as the formats of Anthropic and Converse report it
}

// message is one message of a conversation.
type message struct {
	role    role
	text    string
	calls   []part
	results []Result
	late    bool // Anthropic: a result comes after other content of the message
	others  bool // Anthropic: it has other content than results
}

type role uint8

const (
	system       role = iota
	instructions      // of Responses, which apply to one request
	user
	assistant
	tool // of Chat Completions, Responses and Ollama; the user's message has the results in the other formats
)

// roles are the names of roles that OpenAI's APIs share.
var roles = map[string]role{"system": system, "developer": system, "user": user, "assistant": assistant}

// maxBody bounds a request in bytes.
const maxBody = 32 << 20

// read reads a request of the format.
func read(f format, path string, body []byte, previous func(id string) ([]message, bool)) (*Request, error) {
	q := &Request{Format: f.name(), Body: body, path: path}
	err := rawjson.Read(body, rawjson.Limits{Mode: rawjson.Liberal, Depth: 1000}, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			return r.Errorf("the request is not an object")
		}
		return nil
	})
	if err != nil {
		return q, fmt.Errorf("the body is not valid: %w", err)
	}
	err = f.read(q, previous)
	q.path = "" // an ARN in it names an account
	q.summarize()
	return q, err
}

// summarize fills the fields that follow from the messages.
func (q *Request) summarize() {
	names := make(map[string]string)
	var systems []string
	for _, m := range q.messages {
		for _, c := range m.calls {
			names[c.id] = c.name
		}
		switch m.role {
		case system, instructions:
			systems = append(systems, m.text)
		case assistant:
			q.Results = nil
		case user:
			if len(m.results) == 0 || m.text != "" {
				q.Users = append(q.Users, m.text)
			}
		}
		for _, r := range m.results {
			if r.Name == "" {
				r.Name = names[r.CallID]
			}
			q.Results = append(q.Results, r)
		}
	}
	q.System = strings.Join(systems, "\n")
}

// An order says how the messages of an API follow each other.
type order uint8

const (
	loose    order = iota // results come somewhere after their calls
	adjacent              // results come directly after the message with their calls
	turns                 // the same, where messages of one role that follow each other are one turn
)

// unanswered checks that the messages after each message with calls have one result for each call, and that
// there are no others.
func (q *Request) unanswered(order order) error {
	open := make(map[string]int) // calls of an id that wait for a result
	var ids []string             // in order, including calls that already have one
	missing := func() error {
		for _, id := range ids {
			if open[id] > 0 {
				return fmt.Errorf("the result of the tool call %q is missing", id)
			}
		}
		ids = nil
		return nil
	}
	others := false // the turn has other content than results
	for i, m := range q.messages {
		goesOn := order == turns && i > 0 && q.messages[i-1].role == m.role
		ends := order != turns || m.role == assistant && !goesOn || m.role != assistant && (i+1 == len(q.messages) || q.messages[i+1].role != m.role)
		for _, r := range m.results {
			if open[r.CallID] == 0 {
				return fmt.Errorf("the result for %q does not belong to a tool call that waits for one", r.CallID)
			}
			open[r.CallID]--
		}
		if m.late || goesOn && others && len(m.results) > 0 {
			return fmt.Errorf("results of tools must come before other content of a message")
		}
		others = m.others || goesOn && others
		if order != loose && m.role != tool && ends {
			if err := missing(); err != nil {
				return err
			}
		}
		for _, c := range m.calls {
			open[c.id]++
			ids = append(ids, c.id)
		}
	}
	return missing()
}

// contentText returns the text of a content: a string, or an array of parts with the member "text".
func contentText(content json.RawMessage) string {
	if rawjson.Kind(content) == '"' {
		return rawjson.Unquote(content)
	}
	var texts []string
	for p := range rawjson.Elements(content) {
		if t := rawjson.Member(p, "text"); t != nil {
			texts = append(texts, rawjson.Unquote(t))
		}
	}
	return strings.Join(texts, "\n")
}

// badName is what the provider objects to in the name of a tool.
func badName(name string, valid *regexp.Regexp) error {
	return fmt.Errorf("the name %q of a tool does not match the pattern %s", name, valid)
}

// str returns a member that is a string.
func str(object json.RawMessage, name string) string {
	return rawjson.Unquote(rawjson.Member(object, name))
}

// yes reports whether a member is true.
func yes(object json.RawMessage, name string) bool {
	return rawjson.Kind(rawjson.Member(object, name)) == 't'
}

// list returns a member that is an array with elements.
func list(object json.RawMessage, name string) ([]json.RawMessage, error) {
	elements := slices.Collect(rawjson.Elements(rawjson.Member(object, name)))
	if len(elements) == 0 {
		return nil, fmt.Errorf("%s must be an array with at least one element", name)
	}
	for i, e := range elements {
		if rawjson.Kind(e) != '{' {
			return nil, fmt.Errorf("%s[%d] must be an object", name, i)
		}
	}
	return elements, nil
}
