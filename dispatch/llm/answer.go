package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// An answer collects one response of a model, from its body or from the events of a stream.
type answer interface {
	// read reads the body of a response, or the data of an event, which is valid JSON.
	read(doc json.RawMessage)

	// elements returns what a finished response adds to the conversation.
	elements() []json.RawMessage

	// common returns what all formats have.
	common() *facts
}

// facts are what a response says beside its content.
type facts struct {
	model string
	id    string
	usage usage

	known    bool // it is a response of this API, or an error
	finished bool // the model has said why it ended
	lost     bool // its content is not used: there are several alternatives, or an error
	unread   bool // its content cannot be read
	ended    bool // the last event has come
	kept     int  // how many bytes of the response are kept
	choice   int  // index of the alternative that was read last
}

func (f *facts) common() *facts { return f }

// maxParts is more calls, blocks, items or parts than a response has.
const maxParts = 4096

// room reports whether one more part than n can be kept. Otherwise the response is too large.
func (f *facts) room(n int) bool {
	if n >= maxParts {
		f.kept = maxAnswer + 1
	}
	return n < maxParts
}

// choose takes the index of an alternative, the nth of an event or a body. Several come together, one after
// the other has ended, or in turns. An index that counts the events of a stream is of one alternative.
func (f *facts) choose(nth int, at json.RawMessage) {
	i := index(at)
	if nth > 1 || i < f.choice || i > f.choice && f.finished {
		f.lost = true
	}
	f.choice = i
}

// finish takes the reason why the model ended, which is empty or null until it has.
func (f *facts) finish(reason json.RawMessage) {
	switch rawjson.Unquote(reason) {
	case "":
	case "error":
		f.lost = true
	default:
		f.finished = true
	}
}

// fail takes the error that ends a response, if it is one.
func (f *facts) fail(err json.RawMessage) {
	if rawjson.Kind(err) == '{' || rawjson.Unquote(err) != "" {
		f.known, f.lost = true, true
	}
}

// add keeps a piece of a text.
func (f *facts) add(to *strings.Builder, text string) {
	f.kept += len(text)
	to.WriteString(text)
}

// keep returns a copy of a value.
func (f *facts) keep(value json.RawMessage) json.RawMessage {
	f.kept += len(value)
	return bytes.Clone(value)
}

// setModel keeps the model's id. A gateway may write it in the first event only.
func (f *facts) setModel(value json.RawMessage) { f.model = cmp.Or(rawjson.Unquote(value), f.model) }

// usage counts tokens, by the names of the counters. Streams repeat and correct their counts, which only
// rise from 0.
type usage map[string]int64

// maxTokens is more than a response can have.
const maxTokens = 1 << 40

// read reads the counters of these names.
func (u *usage) read(object json.RawMessage, names []string) {
	for name, value := range rawjson.Members(object) {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if !slices.Contains(names, name) || err != nil || n > maxTokens {
			continue
		}
		if *u == nil {
			*u = usage{}
		}
		(*u)[name] = max((*u)[name], n)
	}
}

// total returns the tokens of the input and of the output. Gateways to models that think may count
// thinking in the sum only.
func (u usage) total() (input, output int64) {
	for name, n := range u {
		switch {
		case name == "total_tokens":
		case slices.Contains(outputTokens, name):
			output += n
		default:
			input += n
		}
	}
	return input, max(output, u["total_tokens"]-input)
}

// Names of the counters in each format. Tokens that were read from a cache or written to it are
// input. A format reads only its own names, because a gateway may add the names of another format
// for the same tokens.
var (
	chatTokens      = []string{"prompt_tokens", "completion_tokens", "total_tokens"}
	responsesTokens = []string{"input_tokens", "output_tokens"}
	anthropicTokens = []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"}
	geminiTokens    = []string{"promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"}

	outputTokens = []string{"completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount"}
)

func isTrue(value json.RawMessage) bool { return rawjson.Kind(value) == 't' }

// isSet reports whether a member is there and not null.
func isSet(value json.RawMessage) bool {
	kind := rawjson.Kind(value)
	return kind != 0 && kind != 'n'
}

// index returns a member that is a small number.
func index(value json.RawMessage) int {
	n, err := strconv.ParseUint(plain(value), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// events reads a stream of server-sent events as it comes, in pieces of any size.
type events struct {
	line     []byte // the line that is not complete yet
	data     []byte // of the event that is not complete yet
	has      bool   // the event has data
	long     bool   // the line is too large
	skip     bool   // the event is too large
	cr       bool   // the last byte was the CR of a line's end
	tooLarge bool   // an event was too large
}

// feed takes the next bytes of the stream and calls event with the data of each event that they
// complete. event must not keep the data.
func (e *events) feed(p []byte, event func(data []byte)) {
	for len(p) > 0 {
		if e.cr && p[0] == '\n' {
			p = p[1:]
		}
		e.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			e.add(p)
			return
		}
		e.cr = p[end] == '\r'
		e.add(p[:end])
		p = p[end+1:]
		e.endLine(event)
	}
}

// add adds to the line.
func (e *events) add(p []byte) {
	if len(e.line)+len(p) > maxAnswer {
		e.long, e.skip, e.tooLarge, e.line = true, true, true, nil
	}
	if e.long {
		return
	}
	e.line = append(e.line, p...)
}

func (e *events) endLine(event func(data []byte)) {
	line, long := e.line, e.long
	e.line, e.long = e.line[:0], false
	if long {
		return
	}
	if len(line) == 0 {
		e.flush(event)
		return
	}
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	if !isData || e.skip {
		return
	}
	data = bytes.TrimPrefix(data, []byte{' '})
	if len(e.data)+len(data) > maxAnswer {
		e.skip, e.tooLarge = true, true
		return
	}
	if e.has {
		e.data = append(e.data, '\n')
	}
	e.data, e.has = append(e.data, data...), true
}

// end ends the stream. Gemini's SDK takes an event that is not followed by an empty line.
func (e *events) end(event func(data []byte)) {
	if len(e.line) > 0 {
		e.endLine(event)
	}
	e.flush(event)
}

// flush ends the event.
func (e *events) flush(event func(data []byte)) {
	if e.has && !e.skip {
		event(e.data)
	}
	e.data, e.has, e.skip = e.data[:0], false, false
}
