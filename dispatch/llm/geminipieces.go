package llm

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A partial is a value that comes in pieces: members or elements, a text, or the whole of another
// value.
type partial struct {
	names    []string // of the children, in the order in which they came
	children map[string]*partial
	list     bool
	text     strings.Builder
	value    json.RawMessage
}

// step is the first step of a path such as .orders[0]['a b'].
var step = regexp.MustCompile(`^(?:\.([^.\[\]'"]+)|\['([^'\\]*)'\]|\["([^"\\]*)"\]|\[([0-9]+)\])`)

// maxSteps bounds the nesting of arguments that come in pieces.
const maxSteps = 100

// add adds one of Gemini's partialArgs. It returns how many values it has made, or false if it does
// not know the place of the piece.
func (p *partial) add(piece json.RawMessage) (made int, ok bool) {
	path, ok := strings.CutPrefix(textOf(piece, "jsonPath"), "$")
	for n := 0; path != ""; n++ {
		found := step.FindStringSubmatch(path)
		if found == nil || n == maxSteps {
			return made, false
		}
		path, p.list = path[len(found[0]):], found[4] != ""
		name := found[1] + found[2] + found[3] + found[4]
		if p.children[name] == nil {
			if p.children == nil {
				p.children = map[string]*partial{}
			}
			p.names, p.children[name] = append(p.names, name), &partial{}
			made++
		}
		p = p.children[name]
	}
	for name, value := range rawjson.Members(piece) {
		switch name {
		case "stringValue":
			p.text.WriteString(rawjson.Unquote(value))
		case "numberValue", "boolValue":
			p.value = bytes.Clone(value)
		case "nullValue":
			p.value = json.RawMessage("null")
		}
	}
	return made, ok
}

// whole returns the value.
func (p *partial) whole() json.RawMessage {
	switch {
	case p.list:
		var elements []json.RawMessage
		for _, name := range p.names {
			elements = append(elements, p.children[name].whole())
		}
		return rawjson.Array(elements)
	case p.children != nil:
		var o rawjson.Object
		for _, name := range p.names {
			o.Put(name, p.children[name].whole())
		}
		return o.Bytes()
	case p.value != nil:
		return p.value
	}
	return rawjson.Quote(p.text.String())
}
