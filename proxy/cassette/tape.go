package cassette

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// Version is the format of the tapes that this release writes. It reads this one and all before it.
const Version = 1

// A Tape is what was recorded of one run. [Load] and [Parse] make one; it must not be changed and is then safe for
// concurrent use.
//
// As a file it is JSON Lines, readable and fit for review: a line with a [Header], a line per [Interaction] in the order in
// which they were answered, and a line {"end":true,"count":n}, without which the tape is known to be cut off. The format is
// this package's own; the requests and answers in it are those of the proxy contract ("Porting without the SDK").
type Tape struct {
	Header       Header
	Interactions []Interaction

	// Truncated says where and how the tape ends early; "" if it is whole.
	Truncated string
}

// A Header is the first line of a tape.
type Header struct {
	Version int       `json:"cassette"`
	Created time.Time `json:"created,omitzero"`
	Task
}

// A Task says what was recorded. All of it is for the reader of the tape; nothing depends on it.
type Task struct {
	Name        string          `json:"name,omitempty"`        // of the run; for a [Recorder] of the file, too
	Instruction string          `json:"instruction,omitempty"` // what the agent was to do
	Input       json.RawMessage `json:"input,omitempty"`       // the task's input, JSON
	Tools       []string        `json:"tools,omitempty"`       // that the agent had
}

func (t Task) clone() Task {
	t.Input, t.Tools = slices.Clone(t.Input), slices.Clone(t.Tools)
	return t
}

// A Kind says what an interaction is about.
type Kind string

// The kinds.
const (
	KindTool  Kind = "tool"  // POST {base}/tools/{name}
	KindTrace Kind = "trace" // POST {base}/traces/{type}
	KindOther Kind = "other" // anything else below the base: telemetry, data, context
)

// A Break is a way in which an answer did not arrive as it should.
type Break string

// The ways.
const (
	Reset     Break = "reset"     // the connection broke before there was an answer
	Truncate  Break = "truncate"  // it broke in the middle of the answer's body
	Oversize  Break = "oversize"  // the body was larger than [Options.MaxBytes]; it is not on the tape
	Abandoned Break = "abandoned" // the agent gave up waiting; replayed like Reset, and no call that must be made
)

// An Interaction is one request to the proxy and what came back. Attempts that a client repeated are interactions of their
// own. Secrets are replaced by [Redacted].
type Interaction struct {
	Number int `json:"n"` // from 1, in the order of the answers

	// After is how many interactions had been answered when this one began, so that the tape tells what was parallel: the
	// interaction n was over before this one began if n <= After. Left out of a file it means that nothing was parallel.
	After int `json:"after"`

	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`             // of the tool, type of the event, or path below the base, with the query
	Method string `json:"method,omitempty"` // "" is POST
	Actor  string `json:"actor,omitempty"`  // X-Pipelines-Actor-Id

	// Arguments is the body of the request if it is JSON, for a tool its arguments; otherwise ArgumentsText is.
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsText string          `json:"arguments_text,omitempty"`

	Status int   `json:"status,omitempty"` // 0 if there was no answer
	Broken Break `json:"broken,omitempty"` // "" for an answer that arrived whole

	// ContentType is left out where it is application/json. RetryAfter is in seconds, also where the answer had a date.
	ContentType string `json:"content_type,omitempty"`
	RetryAfter  *int64 `json:"retry_after,omitempty"`

	// Answer is the body of the answer if it is JSON, for a tool the envelope as it came; otherwise it is in AnswerText, or
	// in AnswerBytes if it is no UTF-8.
	Answer      json.RawMessage `json:"answer,omitempty"`
	AnswerText  string          `json:"answer_text,omitempty"`
	AnswerBytes []byte          `json:"answer_base64,omitempty"`

	AtMS      float64 `json:"at_ms"`      // when it began, milliseconds since the run's first request
	LatencyMS float64 `json:"latency_ms"` // how long it took, as seen here

	Line int `json:"-"` // of the file; 0 before it is in one
}

// end is the last line of a tape.
type end struct {
	End   bool `json:"end"`
	Count int  `json:"count"`
}

// method is the request's method.
func (i *Interaction) method() string {
	if i.Method == "" {
		return http.MethodPost
	}
	return i.Method
}

// transient reports whether a client repeats a request with such an answer.
func (i *Interaction) transient() bool {
	return i.Broken == "" && (i.Status == http.StatusTooManyRequests || i.Status == http.StatusServiceUnavailable)
}

// body is the body of the answer as it is replayed.
func (i *Interaction) body() []byte {
	switch {
	case i.Answer != nil:
		return i.Answer
	case i.AnswerBytes != nil:
		return i.AnswerBytes
	}
	return []byte(i.AnswerText)
}

// line writes v as a line of a tape.
func line(v any) ([]byte, error) {
	text, err := rawjson.Encode(v)
	return append(text, '\n'), err
}

// Encode writes the tape as a file has it, whole, with an end. Its error is that of a value that is no JSON.
func (t *Tape) Encode() ([]byte, error) {
	lines := []any{t.Header}
	for _, i := range t.Interactions {
		lines = append(lines, i)
	}
	lines = append(lines, end{true, len(t.Interactions)})
	var all [][]byte
	for _, v := range lines {
		text, err := line(v)
		if err != nil {
			return nil, newError(CodeWrite, "", err, "a line of the tape cannot be written as JSON")
		}
		all = append(all, text)
	}
	return slices.Concat(all...), nil
}

// compact writes JSON that was checked before without white space.
func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw
	}
	return b.Bytes()
}
