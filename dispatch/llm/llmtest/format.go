package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A format is the wire format of one API.
type format interface {
	name() llm.Format

	// read fills the request from its path and its valid body. previous returns the conversation
	// that ends with an earlier response. An error is what the provider would object to.
	read(q *Request, previous func(id string) ([]message, bool)) error

	// whole returns the body of a response that is not streamed.
	whole(a *answer) json.RawMessage

	// events returns a streamed response.
	events(a *answer) []event

	// failure returns the body of an error.
	failure(f failure) json.RawMessage

	// failed returns the events that end a stream with an error. n events have been sent.
	failed(a *answer, f failure, n int) []event

	// header sets the id of the request, and for an error, which has a status, what else the provider says
	// of it in headers.
	header(h http.Header, id string, status int)
}

// event is one event of a stream.
type event struct {
	name string // of the line "event:"; "" if the format has none
	data json.RawMessage
	form form
}

// A form is how an event is written.
type form uint8

const (
	sse       form = iota
	bare           // a line of JSON without "data:", among server-sent events
	line           // a line of JSON
	framed         // a frame of Amazon's binary stream
	exception      // the same, with an error
)

// mediaTypes are the media types of streams.
var mediaTypes = map[form]string{
	sse: "text/event-stream; charset=utf-8", line: "application/x-ndjson", framed: "application/vnd.amazon.eventstream",
}

func (e event) bytes() []byte {
	switch {
	case e.form == line:
		return fmt.Appendf(nil, "%s\n", e.data)
	case e.form == bare:
		return fmt.Appendf(nil, "%s\n\n", e.data)
	case e.form == framed:
		return frame(e.data, ":event-type", e.name, ":content-type", "application/json", ":message-type", "event")
	case e.form == exception:
		return frame(e.data, ":exception-type", e.name, ":content-type", "application/json", ":message-type", "exception")
	case e.name != "":
		return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.name, e.data)
	}
	return fmt.Appendf(nil, "data: %s\n\n", e.data)
}

// answer is a response to a request, or one of its choices.
type answer struct {
	*Request
	Step
	n             int // the number of the response, for ids
	input, output int // tokens
	reasoning     int // the part of output that is for thinking
	others        []*answer
}

// newAnswer returns the response of a step with content.
func newAnswer(q *Request, s Step, n int) *answer {
	a := &answer{Request: q, Step: s, n: n}
	a.input, a.output = s.tokens()
	a.parts = nil
	for i, p := range s.parts {
		if p.kind == callPart && p.id == "" && q.Format != llm.Gemini && q.Format != llm.Ollama {
			p.id = fmt.Sprintf("call_%d_%d", n, i)
		}
		if p.kind == thinkingPart {
			a.reasoning = a.output / 4
		}
		a.parts = append(a.parts, p)
	}
	for _, choice := range s.choices {
		a.others = append(a.others, newAnswer(q, choice, n))
	}
	return a
}

// all returns the choices.
func (a *answer) all() []*answer { return append([]*answer{a}, a.others...) }

// reason returns the reason why the response ended: the one that the step sets, or else the word of the format for a
// refusal, if it has one, the limit of tokens, calls, or the usual end.
func (a *answer) reason(refused, limited, called, usual string) string {
	switch {
	case a.stop != nil:
		return *a.stop
	case refused != "" && len(a.of(refusalPart)) > 0:
		return refused
	case a.incomplete:
		return limited
	case len(a.of(callPart)) > 0:
		return called
	}
	return usual
}

// arguments returns the arguments of a call, or nil if they are not JSON. They may be empty.
func (p part) arguments() json.RawMessage {
	if p.kind == callPart && strings.TrimSpace(p.text) == "" {
		return object()
	}
	doc := bytes.TrimSpace([]byte(p.text))
	if rawjson.Check(doc, rawjson.Limits{Mode: rawjson.Liberal}) != nil {
		return nil
	}
	return doc
}

// input returns the arguments of a call for the formats in which those that are not JSON are {}.
func (p part) input() json.RawMessage {
	if arguments := p.arguments(); arguments != nil {
		return arguments
	}
	return object()
}

// of returns the parts of a kind.
func (a *answer) of(kind partKind) (parts []part) {
	for _, p := range a.parts {
		if p.kind == kind {
			parts = append(parts, p)
		}
	}
	return parts
}

// joined returns the texts of a kind as one, and whether there are any.
func (a *answer) joined(kind partKind) (string, bool) {
	var b strings.Builder
	parts := a.of(kind)
	for _, p := range parts {
		b.WriteString(p.text)
	}
	return b.String(), len(parts) > 0
}

// id returns an id for the response or a part of it.
func (a *answer) id(prefix string, more ...int) string {
	id := prefix + strconv.Itoa(a.n)
	for _, n := range more {
		id += "_" + strconv.Itoa(n)
	}
	return id
}

// created is the time of every response: equal requests have equal responses.
const created = 1_700_000_000

// failure is an error as the provider answers it.
type failure struct {
	status     int
	message    string
	retryAfter time.Duration
	n          int // the number of the response
}

// newFailure returns the error that providers answer with a status.
func newFailure(status int, n int) failure {
	message := map[int]string{
		400: "The request is not valid.",
		401: "The API key is not valid.",
		429: "The rate limit has been reached. Try again later.",
		503: "The service is unavailable. Try again later.",
		529: "Overloaded",
	}[status]
	if message == "" && status >= 500 {
		message = "The server had an error while processing the request."
	}
	if message == "" {
		message = cmp.Or(http.StatusText(status), "The request was refused.")
	}
	return failure{status: status, message: message, n: n}
}

func object(pairs ...any) json.RawMessage { return rawjson.ObjectOf(pairs...) }

// pieces cuts a text into the pieces that a stream delivers: at least two if it has two characters,
// and about 32 if it is long.
func pieces(s string) (out []string) {
	size := max(min(12, (len(s)+1)/2), (len(s)+31)/32, 1)
	begin := 0
	for i, r := range s {
		if i > begin && i+utf8.RuneLen(r)-begin > size {
			out, begin = append(out, s[begin:i]), i
		}
	}
	if s != "" {
		out = append(out, s[begin:])
	}
	return out
}
