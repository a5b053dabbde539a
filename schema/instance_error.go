package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonschema"
)

// Reasons why a document is not valid.
const (
	// CodeMismatch: the document does not match its schema.
	CodeMismatch Code = "mismatch"
	// CodeNotJSON: the document is not one strict JSON value: malformed, a name that stands twice, invalid UTF-8.
	CodeNotJSON Code = "not_json"
	// CodeLimit: the document is beyond a limit, so it was not judged.
	CodeLimit Code = "limit"
	// CodeUnknownTool: the set has no tool of that name.
	CodeUnknownTool Code = "unknown_tool"
)

// An InstanceError says that a JSON document does not match its schema, and everywhere it does not. The issues are
// sorted by place, and each once. It is meant for models as well as for people: Error is short and says what to do.
// Neither Error nor any Message holds a value of the document, only names, kinds, lengths and what the schema asks for.
type InstanceError struct {
	Code   Code    `json:"code"`           // mismatch, not_json, limit or unknown_tool
	Tool   string  `json:"tool,omitempty"` // the tool concerned, when the document was checked for one
	Part   Part    `json:"part,omitempty"` // arguments or result, when the document was checked for a tool
	Issues []Issue `json:"issues"`         // at most Limits.Issues
	More   int     `json:"more,omitempty"` // further issues left out
}

// A Part tells what of a tool a document is.
type Part string

// The parts of a tool call.
const (
	Arguments Part = "arguments"
	Result    Part = "result"
)

// An Issue is one place where a document does not match its schema.
type Issue struct {
	// Pointer is the JSON Pointer (RFC 6901) of the value concerned; "" is the whole document. Names longer than 80
	// bytes are cut.
	Pointer string `json:"pointer"`
	// Keyword is the schema keyword that failed, such as "type"; "" when Code is not mismatch.
	Keyword string `json:"keyword,omitempty"`
	// Expected is what the schema asks for, in a few words.
	Expected string `json:"expected,omitempty"`
	// Got is what was there: a kind, a count, or a value cut to 80 bytes. Unlike Message it may hold text of the
	// document; keep it out of logs where arguments are secret.
	Got string `json:"got,omitempty"`
	// Message is a sentence about the value without naming it: `must be one of "open", "closed"`.
	Message string `json:"message"`
}

// String is the pointer and the message.
func (i Issue) String() string {
	if i.Pointer == "" {
		return i.Message
	}
	return i.Pointer + " " + i.Message
}

// Error is one line: the tool if known, and every issue.
func (e *InstanceError) Error() string {
	var b strings.Builder
	if e.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", e.Tool)
	}
	if e.Part != "" {
		fmt.Fprintf(&b, "%s: ", e.Part)
	}
	for n, issue := range e.Issues {
		if n > 0 {
			b.WriteString("; ")
		}
		b.WriteString(issue.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

func instanceError(err error) *InstanceError {
	inner, ok := errors.AsType[*jsonschema.InvalidError](err)
	if !ok {
		return &InstanceError{Code: CodeNotJSON, Issues: []Issue{{Message: "is not valid JSON"}}}
	}
	e := &InstanceError{Code: Code(inner.Code), More: inner.More, Issues: make([]Issue, len(inner.Issues))}
	for n, issue := range inner.Issues {
		e.Issues[n] = Issue(issue)
	}
	return e
}
