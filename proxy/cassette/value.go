package cassette

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// pointer lists the segments of a JSON Pointer. The segment * stands for any member or element.
type pointer []string

// parsePointer reports whether text is a JSON Pointer (RFC 6901) to something inside a document.
func parsePointer(text string) (pointer, bool) {
	if !strings.HasPrefix(text, "/") {
		return nil, false
	}
	p := strings.Split(text[1:], "/")
	for i, segment := range p {
		if bare := strings.NewReplacer("~0", "", "~1", "").Replace(segment); strings.Contains(bare, "~") {
			return nil, false
		}
		p[i] = rawjson.Name(segment)
	}
	return p, true
}

// without removes the values at the pointers. Elements of arrays become null, so that the other
// elements keep their indexes.
func without(v *rawjson.Node, pointers []pointer) {
	for _, p := range pointers {
		remove(v, p)
	}
}

func remove(v *rawjson.Node, p pointer) {
	object := rawjson.Kind(v.Text) == '{'
	for i := len(v.Nodes) - 1; i >= 0; i-- {
		segment := strconv.Itoa(i)
		if object {
			segment = v.Nodes[i].Name
		}
		switch {
		case p[0] != "*" && p[0] != segment:
		case len(p) > 1:
			remove(v.Nodes[i], p[1:])
		case object:
			v.Nodes = slices.Delete(v.Nodes, i, i+1)
		default:
			v.Nodes[i] = &rawjson.Node{Text: json.RawMessage("null")}
		}
	}
}

// A Difference is one place where two JSON values differ.
type Difference struct {
	Pointer string          `json:"pointer"`        // JSON Pointer; "" is the whole
	Tape    json.RawMessage `json:"tape,omitempty"` // the value on the tape; nil if there is none
	Run     json.RawMessage `json:"run,omitempty"`  // the value in the run; nil if there is none
}

// diff lists where tape and run differ, in the order of the member names. Either may be nil if it
// does not exist.
func diff(tape, run json.RawMessage) []Difference {
	var list []Difference
	for _, d := range rawjson.Diff(tape, run) {
		list = append(list, Difference{Pointer: d.Pointer, Tape: d.Before, Run: d.After})
	}
	return list
}
