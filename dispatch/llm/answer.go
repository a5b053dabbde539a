package llm

import (
	"bytes"
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
func (f *facts) setModel(value json.RawMessage) {
	if name := rawjson.Unquote(value); name != "" {
		f.model = name
	}
}

func (f *facts) setID(value json.RawMessage) {
	if id := rawjson.Unquote(value); id != "" {
		f.id = id
	}
}

// usage counts tokens. Streams repeat and correct their counts, which only rise from 0.
type usage struct {
	names  []string
	counts []int64
}

// maxTokens is more than a response can have.
const maxTokens = 1 << 40

// read reads the counters of these names.
func (u *usage) read(object json.RawMessage, names []string) {
	for name, value := range rawjson.Members(object) {
		if !slices.Contains(names, name) {
			continue
		}
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n > maxTokens {
			continue
		}
		i := slices.Index(u.names, name)
		if i < 0 {
			i = len(u.names)
			u.names, u.counts = append(u.names, name), append(u.counts, 0)
		}
		u.counts[i] = max(u.counts[i], n)
	}
}

// total returns the tokens of the input and of the output. Gateways to models that think may count
// thinking in the sum only.
func (u *usage) total() (input, output int64) {
	var sum int64
	for i, name := range u.names {
		switch {
		case name == "total_tokens":
			sum = u.counts[i]
		case slices.Contains(outputTokens, name):
			output += u.counts[i]
		default:
			input += u.counts[i]
		}
	}
	return input, max(output, sum-input)
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
	n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}
