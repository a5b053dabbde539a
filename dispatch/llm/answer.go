package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// An answer collects one response of a model, from its body or from the events of a stream.
type answer interface {
	// read reads the body of a response, or the data of an event, which is valid JSON.
	read(doc json.RawMessage)

	// elements returns what a complete response adds to the conversation. It is nil if the response has no
	// answer.
	elements() []json.RawMessage

	// common returns what all formats have.
	common() *facts
}

// facts are what a response says beside its content.
type facts struct {
	model string
	id    string

	known    bool // it is a response of this API, or an error
	finished bool // the model has said why it ended
	ended    bool // the last event has come, or the whole body
	failed   bool // the provider has said that it failed
	waits    bool // the agent fetches it later
	several  bool // it has several alternatives
	blocked  bool // the provider has refused the request
	untold   bool // the event with its tokens has not come
	unread   bool // its content cannot be read
	kept     int  // how many bytes of the response are kept
	choice   int  // index of the alternative that was read last

	strange string // the name of a member with text that is not read; "" for none

	events int            // objects that have been read
	said   map[uint64]int // whole calls with an id: the events that have them
}

// fault returns why the answer of a response is not used, or "".
func (f *facts) fault() string {
	switch {
	case f.failed:
		return "it ended with an error"
	case f.several:
		return "it has several alternatives, and the agent has not gone on with one"
	case f.waits:
		return "it is not finished; the agent fetches the answer later, which is not read"
	case !f.finished && !f.ended:
		return "it broke off, or ended without a reason"
	}
	return ""
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

// blocks are the pieces of a streamed answer: blocks of content, or items.
type blocks struct {
	all  []*block
	open map[string]*block // the last one of each key, such as an index
}

type block struct {
	kind, id string
	start    json.RawMessage   // as it began, or whole
	text     strings.Builder   // of the deltas: text, thinking or JSON
	parts    []json.RawMessage // of a result
	part     int               // the index of the part of an item that comes
	from     int               // where that part begins in text
	done     bool              // it has ended, or start is whole
	again    *block            // the one before it with its id, whose end has come
}

// begin begins a block, which is not kept if the response is too large. A text, or an id, that begins again belongs to
// the block that is open.
func (bs *blocks) begin(f *facts, key, kind string, start json.RawMessage) *block {
	id := textOf(start, "id", "tool_use_id", "toolUseId")
	b, again := bs.open[key], (*block)(nil)
	if b != nil && b.kind == kind && b.id == id && (id != "" || start != nil && textOf(start, "name") == "") {
		if !b.done {
			return b
		}
		again = b
	}
	b = &block{kind: kind, id: id, start: f.keep(start), again: again}
	if f.room(len(bs.all)) {
		if bs.open == nil {
			bs.open = map[string]*block{}
		}
		bs.all, bs.open[key] = append(bs.all, b), b
	}
	return b
}

// end ends a block.
func (bs *blocks) end(key string) {
	if b := bs.open[key]; b != nil {
		b.done = true
	}
}

// A blockAnswer is a response whose content is a list of blocks: one message, or events that build one block by block.
type blockAnswer struct {
	facts
	content json.RawMessage // of a response that is not streamed
	blocks
	whole func(b *block) json.RawMessage // returns a block as a response that is not streamed has it
}

func (a *blockAnswer) elements() []json.RawMessage {
	content := a.content
	if content == nil {
		var whole []json.RawMessage
		for _, b := range a.all {
			if !a.repeats(b) {
				whole = append(whole, a.whole(b))
			}
		}
		content = rawjson.Array(whole)
	}
	return []json.RawMessage{object("role", "assistant", "content", content)}
}

// repeats reports whether a block says what the one before it at its place has said, perhaps in the start of the message.
func (a *blockAnswer) repeats(b *block) bool {
	switch {
	case b.again == nil:
		return false
	case b.id == "":
		return b.again.text.Len() == 0 && bytes.Equal(a.whole(b), a.whole(b.again))
	}
	text := b.text.String()
	return text == b.again.text.String() || text == string(member(b.again.start, "input"))
}

// withText returns an object with a text as the member of that name.
func withText(start json.RawMessage, name, text string) json.RawMessage {
	var o rawjson.Object
	for n, v := range rawjson.Members(start) {
		if n != name {
			o.Put(n, v)
		}
	}
	o.Put(name, rawjson.Quote(text))
	return o.Bytes()
}

// choose takes the index of an alternative, the nth of an event or a body. Several come together, one after
// the other has ended, or in turns. An index that counts the events of a stream is of one alternative.
func (f *facts) choose(nth int, at json.RawMessage) {
	i := index(at)
	f.several = f.several || nth > 1 || i < f.choice || i > f.choice && f.finished
	f.choice = i
}

// finish takes the reason why the model ended, in whatever word. It is empty, null or Gemini's number 0
// until the model has ended.
func (f *facts) finish(reason json.RawMessage) {
	switch plain(reason) {
	case "", "0":
	case "error":
		f.failed = true
	default:
		f.finished = true
	}
}

// again reports whether an event before has this call, whose id is not empty.
func (f *facts) again(id string, call json.RawMessage) bool {
	if id == "" {
		return false
	}
	if f.said == nil {
		f.said = map[uint64]int{}
	}
	key := maphash.Bytes(seed, call)
	event, known := f.said[key]
	if !known {
		f.said[key] = f.events
	}
	return known && event != f.events
}

// fail takes the error that ends a response, if it is one.
func (f *facts) fail(err json.RawMessage) {
	if rawjson.Kind(err) == '{' || rawjson.Unquote(err) != "" {
		f.known, f.failed = true, true
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
