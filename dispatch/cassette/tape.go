package cassette

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// version is the format of the tapes that this release writes. It reads this version and all
// earlier ones.
const version = 2

// A Tape is the recording of one run. [Load] reads one.
//
// A tape is a file of JSON Lines, which people can read and review. The first line is the header, with
// the format version, the time of the recording and the [Task]. Each [Interaction] is one line, in the
// order of the responses, after the lines with the messages of its request to a model that are new:
// {"part":2,"after":1,"value":{…}} is the message that follows part 1. The last line is
// {"end":true,"count":n}; without it the tape is truncated. The format is this package's own. The
// requests and responses in it follow the proxy contract ("Porting without the SDK").
type Tape struct {
	Created      time.Time // when the run's first request arrived
	Task         Task
	Interactions []Interaction

	parts []part
}

// header is the first line of a tape.
type header struct {
	Version int       `json:"cassette"`
	Created time.Time `json:"created,omitzero"`
	Task
}

// A Task describes a recorded run to the reader of the tape. Replay does not use it.
type Task struct {
	Name        string          `json:"name,omitempty"`        // name of the run and of the file of a [Recorder]
	Instruction string          `json:"instruction,omitempty"` // the instruction that the agent got; by default the instruction of the first request to a model
	Input       json.RawMessage `json:"input,omitempty"`       // the input that the agent got, as JSON
	Tools       []string        `json:"tools,omitempty"`       // names of the agent's tools
}

func (t Task) clone() Task {
	t.Input, t.Tools = slices.Clone(t.Input), slices.Clone(t.Tools)
	return t
}

// redactTask returns the task of a header without secrets. It overwrites the names of the tools.
func redactTask(r *redact.Redactor, task Task) Task {
	task.Name, task.Instruction = r.Redact(task.Name), r.Redact(task.Instruction)
	if task.Input != nil {
		_, task.Input, _ = r.Body(task.Input)
	}
	for i, tool := range task.Tools {
		task.Tools[i] = r.Redact(tool)
	}
	return task
}

// The kinds of an [Interaction].
const (
	kindTool  = "tool"
	kindTrace = "trace"
	kindOther = "other"
	kindModel = "model"
)

// The values of [Interaction.Broken].
const (
	brokenReset     = "reset"
	brokenTruncate  = "truncate"
	brokenOversize  = "oversize"
	brokenAbandoned = "abandoned"
)

// An Interaction is one request to the proxy or to a model, and the response to it. Each attempt of a repeated
// call is an interaction of its own. Secrets are replaced by "[redacted]".
type Interaction struct {
	Number int `json:"n"` // from 1, in the order of the responses

	// After is how many interactions had been answered when this one began. Interaction n was over
	// before this one began if n <= After; otherwise both were parallel. In a file a missing after
	// means that nothing was parallel.
	After int `json:"after"`

	// Kind is "tool" for POST {base}/tools/{name}, "trace" for POST {base}/traces/{type}, and
	// "other" for any other path below the base: telemetry, data, context. It is "model" for a request
	// to a model.
	Kind   string `json:"kind"`
	Name   string `json:"name"`             // the tool, the event type, or the path below the base with its query; for a model, the end of the path with the model in it
	Method string `json:"method,omitempty"` // "" is POST
	Actor  string `json:"actor,omitempty"`  // X-Pipelines-Actor-Id

	// Arguments is the body of the request if it is JSON: for a tool, its arguments. For a model it
	// lacks messages, tools and other long members, which are on lines of their own. Any other body is
	// in ArgumentsText.
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsText string          `json:"arguments_text,omitempty"`

	Status int `json:"status,omitempty"` // 0 if there was no response

	// Broken is "" for a complete response. Otherwise it is one of these:
	//
	//	reset      the connection broke before the response
	//	truncate   the connection broke in the body of the response
	//	oversize   the body was larger than 1 MiB and 64 KiB; it is not on the tape
	//	abandoned  the agent stopped waiting; replayed like reset, and the agent need not make the call
	Broken string `json:"broken,omitempty"`

	// ContentType is "" for application/json. RetryAfter is in seconds, even if the header was a
	// date.
	ContentType string `json:"content_type,omitempty"`
	RetryAfter  *int64 `json:"retry_after,omitempty"`

	// Headers are the headers of a model's response by which SDKs choose the error, and whether they repeat the
	// request: X-Amzn-Errortype and X-Should-Retry.
	Headers map[string]string `json:"headers,omitempty"`

	// Answer is the body of the response if it is JSON: for a tool, the envelope as received. Other
	// text is in AnswerText. A body that is not UTF-8 is in AnswerBytes.
	Answer      json.RawMessage `json:"answer,omitempty"`
	AnswerText  string          `json:"answer_text,omitempty"`
	AnswerBytes []byte          `json:"answer_base64,omitempty"`

	AtMS      float64 `json:"at_ms"`      // when it began, in milliseconds since the run's first request
	LatencyMS float64 `json:"latency_ms"` // duration in milliseconds, as the cassette measured it

	Line int `json:"-"` // line in the file, from 1; 0 if it was not read from a file

	parts refs // of a request to a model
}

// modelLine is the line of a request to a model.
type modelLine struct {
	*Interaction
	refs
}

// end is the last line of a tape.
type end struct {
	End   bool `json:"end"`
	Count int  `json:"count"`
}

// method returns the method of the request.
func (i *Interaction) method() string {
	return cmp.Or(i.Method, http.MethodPost)
}

// transient reports whether a client repeats a request with such an answer.
func (i *Interaction) transient() bool {
	if i.Kind == kindModel && (i.Status == http.StatusRequestTimeout || i.Status == http.StatusConflict || i.Status >= 500) {
		return i.Broken == "" // as the SDKs of models do
	}
	return i.Broken == "" && (i.Status == http.StatusTooManyRequests || i.Status == http.StatusServiceUnavailable)
}

// body returns the body of the answer as it is replayed.
func (i *Interaction) body() []byte {
	switch {
	case i.Answer != nil:
		return i.Answer
	case i.AnswerBytes != nil:
		return i.AnswerBytes
	}
	return []byte(i.AnswerText)
}

// line returns v as a line of a tape.
func line(v any) ([]byte, error) {
	text, err := rawjson.Encode(v)
	return append(text, '\n'), err
}

// Encode returns the tape as a complete file. It fails if a value is not valid JSON.
func (t *Tape) Encode() ([]byte, error) {
	var all []byte
	write := func(v any) error {
		text, err := line(v)
		all = append(all, text...)
		return err
	}
	first := header{Version: version, Created: t.Created, Task: t.Task}
	err := cmp.Or(write(first), t.lines(write), write(end{true, len(t.Interactions)}))
	if err != nil {
		return nil, newError(codeWrite, ruleLine, "", err, "a line of the tape cannot be written as JSON")
	}
	return all, nil
}

// RequestBody returns the body of a request of the tape if it is JSON, and its text otherwise. A request
// to a model has all its messages.
func (t *Tape) RequestBody(i *Interaction) []byte {
	last := i.parts.last()
	switch {
	case i.Arguments == nil:
		return []byte(i.ArgumentsText)
	case last == 0 || last > len(t.parts):
		return i.Arguments
	}
	return together(t.parts, i.Arguments, &i.parts).body()
}

// lines writes the lines of the interactions, each after the parts that it needs.
func (t *Tape) lines(write func(line any) error) (err error) {
	written := 0
	parts := func(last int) {
		for ; written < min(last, len(t.parts)) && err == nil; written++ {
			err = write(t.parts[written])
		}
	}
	for n := range t.Interactions {
		i := &t.Interactions[n]
		if parts(i.parts.last()); err == nil {
			err = write(i.line())
		}
	}
	parts(len(t.parts))
	return err
}

// line returns what the line of an interaction has.
func (i *Interaction) line() any {
	if i.Kind == kindModel {
		return modelLine{i, i.parts}
	}
	return i
}
