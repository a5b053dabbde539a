package cassette

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// planes are the first segments of paths below a proxy base URL.
var planes = []string{"tools", "traces", "telemetry", "data", "context"}

// split splits an escaped path into the proxy base and the rest. The rest is tools/{name} or
// traces/{type} at the end of the path. Otherwise it begins with the last segment that names a
// plane, or is the last segment.
func split(path string) (kind, name, rest string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	n := len(segments)
	if n >= 2 && (segments[n-2] == "tools" || segments[n-2] == "traces") {
		kind = kindTool
		if segments[n-2] == "traces" {
			kind = kindTrace
		}
		name, rest = segments[n-1], "/"+segments[n-2]+"/"+segments[n-1]
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		return kind, name, rest
	}
	at := n - 1
	for i, segment := range segments {
		if slices.Contains(planes, segment) {
			at = i
		}
	}
	rest = "/" + strings.Join(segments[at:], "/")
	return kindOther, cmp.Or(rest[1:], rest), rest
}

// credentials returns the run token of a request, and then all other values that could be one.
func credentials(header http.Header) []string {
	tokens, _ := httpserve.Tokens(header, "X-Pipelines-Run-Token")
	return slices.DeleteFunc(tokens, func(token string) bool { return token == "" })
}

// identity consists of the parts of a request that are compared. Two requests are equal if their keys are.
type identity struct {
	key      string
	compared json.RawMessage // the parts of the arguments that are compared; nil if they are not JSON
}

// identify redacts the request in i, of a run or of a tape, and returns its identity.
func (s *settings) identify(i *Interaction, redactor *redact.Redactor) identity {
	var id identity
	text := i.ArgumentsText
	var v *rawjson.Node
	if i.Arguments != nil {
		v, i.Arguments, text = redactor.Body(i.Arguments)
	}
	i.ArgumentsText = redactor.Redact(text)
	i.Name, i.Actor = redactor.Redact(i.Name), redactor.Redact(i.Actor)

	parts := []string{string(i.Kind), i.method(), i.Name, i.Actor, mask(i.ArgumentsText, s.Mask)}
	if v != nil {
		s.prune(i, v)
		id.compared = v.Append(nil)
		parts[4] = "json " + rawjson.Key(id.compared)
	}
	key, _ := json.Marshal(parts)
	id.key = string(key)
	return id
}

// prune removes the parts of the arguments that are not compared.
func (s *settings) prune(i *Interaction, v *rawjson.Node) {
	without(v, s.ignore)
	maskAll(v, s.Mask)
	switch {
	case i.Kind == kindTrace:
		without(v, []pointer{{"__occurred_at"}})
	case i.telemetry():
		without(v, []pointer{{"occurred_at"}})
	}
}

func (i *Interaction) telemetry() bool { return i.Kind == kindOther && i.Name == "telemetry" }

// loose reports whether the interaction is optional in a run.
func (i *Interaction) loose() bool {
	return i.Kind == kindTrace || i.telemetry()
}

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
