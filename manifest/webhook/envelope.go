package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// bodyMembers are the members of a body that parse reads, besides the arguments. If several name
// the tool, the first in this list applies.
var bodyMembers = []string{"tool_name", "tool", "function", "tool_call", "name", "agent_id"}

const functionMember, nameMember, idMember = 2, 4, 5 // indexes into bodyMembers

// envelope is what parse reads from a body.
type envelope struct {
	tool      string
	toolRank  int // of the member that names the tool; the lowest applies
	arguments json.RawMessage
	rank      int // of the member with the arguments; the lowest applies
	agentID   string
}

const unranked = 1 << 20

// parse reads a body in one pass.
func (h *handler) parse(body []byte) (envelope, error) {
	e := envelope{toolRank: unranked, rank: unranked}
	err := rawjson.Read(body, h.json, func(r *rawjson.Reader) error { return h.object(r, &e, 0, 0) })
	if err != nil {
		return e, &toolwire.Error{Package: "webhook", Code: toolwire.CodeInvalidJSON, Message: err.Error(), Err: err}
	}
	if e.rank == unranked {
		return e, errorf(codeEnvelope, "the body has no arguments; one of %s is expected, "+
			"in the body or in its member tool, function or tool_call", strings.Join(h.opts.ArgumentKeys, ", "))
	}
	if e.arguments, err = rawjson.ReadArguments(e.arguments, h.json); err != nil {
		return e, &toolwire.Error{Package: "webhook", Code: codeEnvelope, Message: err.Error(), Err: err}
	}
	return e, nil
}

// object reads the body or an object in it that can have the name and the arguments. holder is 0
// for the body, otherwise the index of the object in bodyMembers. depth bounds the nesting of such
// objects.
func (h *handler) object(r *rawjson.Reader, e *envelope, holder, depth int) error {
	return r.Object(h.known, func(name string) error {
		if key := slices.Index(h.opts.ArgumentKeys, name); key >= 0 {
			value, err := r.Value()
			rank := holder*len(h.opts.ArgumentKeys) + key
			if string(value) == "null" { // applies only if no other member does
				rank += unranked / 2
			}
			if err == nil && rank < e.rank {
				e.arguments, e.rank = value, rank
			}
			return err
		}
		member := slices.Index(bodyMembers, name)
		switch {
		case member < 0:
			return nil
		case member == idMember:
			if depth > 0 || !h.opts.StandaloneHarness || r.Kind() != '"' {
				return nil
			}
			id, err := r.String()
			e.agentID = id
			return err
		case member == nameMember && depth > 0:
			member = holder
		case r.Kind() == '{' && depth == 0 && member > 0 && member < nameMember:
			return h.object(r, e, member, 1)
		case r.Kind() == '{' && depth == 1 && member == functionMember: // the form of OpenAI
			return h.object(r, e, holder, 2)
		}
		if r.Kind() != '"' || depth > 0 && name != "name" {
			return nil
		}
		text, err := r.String()
		if err == nil && member < e.toolRank {
			e.tool, e.toolRank = text, member
		}
		return err
	})
}
