package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// A Role is the author of a [Message]. The platform accepts these four.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// valid reports whether the platform accepts the role.
func (r Role) valid() bool {
	return r == RoleSystem || r == RoleUser || r == RoleAssistant || r == RoleTool
}

// Message is one row of a transcript ("Porting without the SDK", rich-mode messages).
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content,omitempty"`

	// ToolCallID is required in a tool message: the id of the assistant's tool call that it
	// answers.
	ToolCallID string `json:"tool_call_id,omitempty"`

	// ToolCalls are the calls that an assistant message makes.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// Thinking is a list of opaque reasoning blocks, most often {"type": "text", "text": "…"}.
	Thinking []json.RawMessage `json:"thinking,omitempty"`
}

// UnmarshalJSON reads members by their exact names.
func (m *Message) UnmarshalJSON(b []byte) error {
	*m = Message{}
	return readMembers(b, func(name string) any {
		switch name {
		case "role":
			return &m.Role
		case "content":
			return &m.Content
		case "tool_call_id":
			return &m.ToolCallID
		case "tool_calls":
			return &m.ToolCalls
		case "thinking":
			return &m.Thinking
		}
		return nil
	})
}

// readMembers decodes the members of an object for whose exact names into returns a pointer. Package
// encoding/json also accepts names that differ by case. null changes nothing. If a name repeats, its last
// member counts.
func readMembers(object []byte, into func(name string) any) error {
	if kind := rawjson.Kind(object); kind != '{' && kind != 'n' {
		return errors.New("must be an object, not " + rawjson.KindName(rawjson.Kind(object)))
	}
	for name, value := range rawjson.Members(object) {
		if v := into(name); v != nil {
			if err := json.Unmarshal(value, v); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// maxPrinted is how many characters of a text String prints.
const maxPrinted = 500

// String returns the message on one line for people: role, id of the answered call, text and calls.
// It prints at most 500 characters of each text. Control characters are replaced, so that the line is
// safe to print.
func (m Message) String() string {
	parts := []string{text.Name(string(m.Role)) + ":"}
	if m.ToolCallID != "" {
		parts = append(parts, text.Name(m.ToolCallID))
	}
	s := m.Content.String()
	if kind := m.Content.kind(); s == "" && kind != '"' && kind != 'n' { // parts without text, such as an image
		s = string(m.Content)
	}
	if s != "" {
		parts = append(parts, text.Line(s, maxPrinted))
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, call.String())
	}
	return strings.Join(parts, " ")
}

// Content is the content of a message as JSON: a string, a list of content parts, or null. An empty
// Content is null.
type Content json.RawMessage

// Text returns s as content: a JSON string.
func Text(s string) Content { return Content(rawjson.Quote(s)) }

// MarshalJSON writes null for an empty Content.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c) == 0 {
		return []byte("null"), nil
	}
	return c, nil
}

// UnmarshalJSON keeps the JSON as it is.
func (c *Content) UnmarshalJSON(b []byte) error {
	*c = append((*c)[:0], b...)
	return nil
}

// String returns the text of a string, or the concatenated members text of a list of parts. It
// returns "" for anything else.
func (c Content) String() string {
	var s string
	if json.Unmarshal(c, &s) == nil {
		return s
	}
	if rawjson.Kind(c) != '[' || !json.Valid(c) {
		return ""
	}
	var b strings.Builder
	for part := range rawjson.Elements(json.RawMessage(c)) {
		if rawjson.Kind(part) == '{' {
			part = rawjson.Member(part, "text")
		}
		b.WriteString(rawjson.Unquote(part))
	}
	return b.String()
}

// kind is the first character of the JSON: '"', '[', 'n' or what is not allowed.
func (c Content) kind() byte {
	return cmp.Or(rawjson.Kind(c), 'n')
}

// ToolCall is one call in an assistant message. It is written in the flat form, {"id", "name",
// "arguments"}. It is read in the flat form and in the nested form of OpenAI's Chat Completions,
// {"id", "type": "function", "function": {…}}.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	// Arguments is a JSON object, or a JSON string that contains one as text. If it is blank, {} is
	// written.
	Arguments json.RawMessage `json:"arguments"`
}

// String returns the call on one line for people, as id, name and arguments. It prints at most 500
// characters of the arguments.
func (c ToolCall) String() string {
	s := text.Name(c.Name) + " " + text.Line(string(objectArguments(c.Arguments)), maxPrinted)
	if c.ID != "" {
		s = text.Name(c.ID) + " " + s
	}
	return s
}

// MarshalJSON writes the flat form.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type flat ToolCall
	if rawjson.Kind(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	return rawjson.Encode(flat(c))
}

// UnmarshalJSON reads either form. Names are case-sensitive.
func (c *ToolCall) UnmarshalJSON(b []byte) error {
	*c = ToolCall{}
	var function json.RawMessage
	flat := func(name string) any {
		switch name {
		case "name":
			return &c.Name
		case "arguments":
			return &c.Arguments
		}
		return nil
	}
	err := readMembers(b, func(name string) any {
		switch name {
		case "id":
			return &c.ID
		case "function":
			return &function
		}
		return flat(name)
	})
	if err != nil || rawjson.IsNull(function) {
		return err
	}
	if c.Name != "" {
		return errors.New("a tool call must have either name and arguments or function")
	}
	if err := readMembers(function, flat); err != nil {
		return fmt.Errorf("function: %w", err)
	}
	return nil
}
