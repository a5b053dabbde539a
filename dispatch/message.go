package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Role says who speaks in a [Message]. The platform knows these four.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one row of a transcript ("Porting without the SDK", rich-mode messages).
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content,omitempty"`

	// ToolCallID is required in a tool message: the id of the assistant's tool call that it answers.
	ToolCallID string `json:"tool_call_id,omitempty"`

	// ToolCalls are the calls that an assistant message makes.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// Thinking is a list of opaque reasoning blocks, most often {"type": "text", "text": "…"}.
	Thinking []json.RawMessage `json:"thinking,omitempty"`
}

// Content is what a message says, as JSON: a string, a list of content parts, or null, which an empty Content is too.
type Content json.RawMessage

// Text returns the content that says s.
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

// String returns the text: of a string the string, of a list of parts the members text of its parts one after the
// other, "" for anything else.
func (c Content) String() string {
	var s string
	if json.Unmarshal(c, &s) == nil {
		return s
	}
	var parts []json.RawMessage
	if json.Unmarshal(c, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(p, &s) == nil {
			b.WriteString(s)
		} else if json.Unmarshal(p, &part) == nil {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// kind is the first character of the JSON: '"', '[', 'n' or what is not allowed.
func (c Content) kind() byte {
	trimmed := bytes.TrimLeft(c, " \t\r\n")
	if len(trimmed) == 0 {
		return 'n'
	}
	return trimmed[0]
}

// ToolCall is one call in an assistant message. It is written in the flat form, {"id", "name", "arguments"}, and read in
// that or in the nested form of OpenAI's Chat Completions, {"id", "type": "function", "function": {…}}.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	// Arguments is an object, or a string that holds one as JSON text. Empty is written as {}.
	Arguments json.RawMessage `json:"arguments"`
}

// MarshalJSON writes the flat form.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	type flat ToolCall
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	return rawjson.Encode(flat(c))
}

// UnmarshalJSON reads either form.
func (c *ToolCall) UnmarshalJSON(b []byte) error {
	var wire struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Function  *struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(b, &wire); err != nil {
		return err
	}
	*c = ToolCall{ID: wire.ID, Name: wire.Name, Arguments: wire.Arguments}
	if wire.Function != nil {
		if wire.Name != "" {
			return errors.New("a tool call has either name and arguments or function, not both")
		}
		c.Name, c.Arguments = wire.Function.Name, wire.Function.Arguments
	}
	return nil
}
