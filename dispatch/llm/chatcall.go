package llm

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A chatCall is a tool call that comes in pieces.
type chatCall struct {
	index     int
	id, name  string
	arguments strings.Builder
	nesting   nesting // of arguments
	doubtful  bool    // it has only the name of the call before it
}

// A chatPiece is a piece of a call, as an event has it.
type chatPiece struct {
	place     chatPlace
	id, name  string
	arguments json.RawMessage
}

// A chatPlace is the index of a piece, and its position among the pieces of an event that have the same
// index. The index of a piece without one is 0.
type chatPlace struct{ index, position int }

// chatCalls puts calls together. A piece belongs to the call with its id, or else to the last call at its
// place. It begins another call if it has another name, or the name again after arguments that are whole.
// An id alone begins none, because some servers give each piece an id of its own.
type chatCalls struct {
	all    []*chatCall
	named  map[string]*chatCall    // by id
	placed map[chatPlace]*chatCall // the last one of each place
}

// find returns the call that a piece belongs to, or nil if it begins one.
func (c *chatCalls) find(p chatPiece) *chatCall {
	call, named := c.placed[p.place], false
	if known := c.named[p.id]; known != nil {
		if named = p.name == "" || known.index == p.place.index; named && (call == nil || call.id != p.id) {
			call = known
		}
	}
	switch {
	case p.name == "":
		stray := call == nil && p.arguments != nil || call != nil && call.nesting.closed()
		if n := len(c.all); n > 0 && stray && !named && !c.all[n-1].nesting.closed() {
			return c.all[n-1] // the place is not the place of a call
		}
		return call
	case call == nil, call.name == "", call.name == p.name && !call.nesting.closed():
		return call
	case call.name == p.name && named && call.tells(plain(p.arguments)): // the whole call again
		return call
	}
	return nil
}

// tells reports whether a call has these arguments already.
func (c *chatCall) tells(arguments string) bool {
	return arguments == "" || arguments == c.arguments.String()
}

// add adds a piece, and returns how many bytes are kept of it. The call that it begins must have room.
func (c *chatCalls) add(call *chatCall, p chatPiece) (kept int) {
	if call == nil {
		before := c.placed[p.place]
		call = &chatCall{index: p.place.index, doubtful: before != nil && p.id == "" && before.name == p.name}
		c.all = append(c.all, call)
	}
	if c.placed == nil {
		c.placed, c.named = map[chatPlace]*chatCall{}, map[string]*chatCall{}
	}
	c.placed[p.place] = call
	if p.id != "" {
		c.named[p.id] = call
	}
	call.id, call.name = cmp.Or(call.id, p.id), cmp.Or(call.name, p.name)
	return len(p.id) + call.addArguments(p)
}

// addArguments adds the arguments of a piece: text, or a value that is all of them.
func (c *chatCall) addArguments(p chatPiece) (kept int) {
	text := plain(p.arguments)
	if c.nesting.closed() && c.tells(text) || text == "" {
		return 0
	}
	if rawjson.Kind(p.arguments) != '"' {
		c.arguments.Reset()
		c.nesting = nesting{}
	}
	c.arguments.WriteString(text)
	c.nesting.feed([]byte(text))
	c.doubtful = false
	return len(text)
}

// elements returns the calls of a message.
func (c *chatCalls) elements() []json.RawMessage {
	list := []json.RawMessage{}
	for _, call := range c.all {
		if call.doubtful || call.name == "" && call.id == "" && call.arguments.Len() == 0 {
			continue
		}
		function := object("name", call.name, "arguments", call.arguments.String())
		list = append(list, object("id", call.id, "function", function))
	}
	return list
}

// nesting tells where a JSON object that comes in pieces ends.
type nesting struct {
	depth           int
	begun           bool
	quoted, escaped bool
}

func (n *nesting) feed(text []byte) {
	for _, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted:
		case c == '{', c == '[':
			n.depth, n.begun = n.depth+1, true
		case c == '}', c == ']':
			n.depth--
		}
	}
}

// closed reports whether the object is whole.
func (n *nesting) closed() bool { return n.begun && n.depth <= 0 }
