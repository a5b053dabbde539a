package webhook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// bodyMembers are the members of a body with a meaning, beside those that hold arguments. Where several could name the
// tool, the one that stands first here does.
var bodyMembers = []string{"tool_name", "tool", "function", "tool_call", "name", "agent_id"}

const functionMember, nameMember, idMember = 2, 4, 5 // in bodyMembers

// envelope is what a body says.
type envelope struct {
	tool      string
	toolRank  int // of the member that named the tool; the lowest wins
	arguments json.RawMessage
	rank      int // of the member that holds the arguments
	agentID   string
}

const unranked = 1 << 20

// parse reads a body in one pass.
func (h *Handler) parse(body []byte) (envelope, error) {
	e := envelope{toolRank: unranked, rank: unranked}
	err := strictjson.Read(body, h.json, func(r *strictjson.Reader) error { return h.object(r, &e, 0, 0) })
	if err != nil {
		return e, &Error{Code: CodeJSON, Message: err.Error(), Err: err}
	}
	if e.rank == unranked {
		return e, errorf(CodeEnvelope, "the body has no arguments; one of %s is expected, in the body or in its member tool, "+
			"function or tool_call", strings.Join(h.opts.ArgumentKeys, ", "))
	}
	err = h.normalize(&e)
	return e, err
}

// object reads the body, or an object in it that may hold the name and the arguments. holder is 0 for the body itself,
// else the place of the object among bodyMembers; depth keeps an object from holding others without end.
func (h *Handler) object(r *strictjson.Reader, e *envelope, holder, depth int) error {
	return r.Object(h.known, func(name string) error {
		if key := slices.Index(h.opts.ArgumentKeys, name); key >= 0 {
			value, err := r.Value()
			rank := holder*len(h.opts.ArgumentKeys) + key
			if string(value) == "null" { // good only if there is nothing better
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
			if depth > 0 || !h.opts.IdentityFromBody || r.Kind() != '"' {
				return nil
			}
			id, err := r.String()
			e.agentID = id
			return err
		case member == nameMember && depth > 0:
			member = holder
		case r.Kind() == '{' && depth == 0 && member > 0 && member < nameMember:
			return h.object(r, e, member, 1)
		case r.Kind() == '{' && depth == 1 && member == functionMember: // OpenAI's form of a definition or a call
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

// normalize makes an object of the arguments, whose form is checked already unless they are a string.
func (h *Handler) normalize(e *envelope) error {
	switch e.arguments[0] {
	case '{':
		return nil
	case 'n':
		e.arguments = json.RawMessage("{}")
		return nil
	case '"':
		var text string
		if err := json.Unmarshal(e.arguments, &text); err != nil {
			return errorf(CodeEnvelope, "the arguments are a string that cannot be read")
		}
		raw, err := rawjson.EncodeArguments([]byte(text), h.json)
		if err != nil {
			message := "the arguments are a string, but what it holds is not usable: " + err.Error()
			return &Error{Code: CodeEnvelope, Message: message, Err: err}
		}
		e.arguments = raw
		return nil
	}
	kind := e.arguments[0]
	if kind == '-' || kind >= '0' && kind <= '9' {
		kind = '0'
	}
	return errorf(CodeEnvelope, "the arguments must be an object, not %s", strictjson.KindName(kind))
}
