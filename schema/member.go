package schema

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// kept is a known member that its field cannot hold: null, an empty string, or a value of the wrong
// type. Reading records what is wrong with it, and writing puts it back. It counts only as long as
// the field is not set.
type kept struct {
	name    string
	value   json.RawMessage
	code    string // of the problem; "" if the member counts as absent
	message string
}

// keptMembers are the kept members of one object.
type keptMembers struct {
	whole   json.RawMessage // set if the value is not an object
	members []kept
}

func (k *keptMembers) find(name string) *kept {
	i := slices.IndexFunc(k.members, func(m kept) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &k.members[i]
}

// value returns the text of a kept member, or nil.
func (k *keptMembers) value(name string) json.RawMessage {
	if m := k.find(name); m != nil {
		return m.value
	}
	return nil
}

// text reads a string. What an empty one means is up to the member: empty is its problem, if any.
func (k *keptMembers) text(m ledger.Member, into *string, empty kept) {
	*into = rawjson.Text(m.Value)
	problem := kept{}
	switch kind := rawjson.Kind(m.Value); {
	case *into != "":
		return
	case kind == '"':
		problem = empty
	case kind != 'n':
		problem = kept{code: "wrong_type", message: "must be a string, not " + rawjson.KindName(m.Value)}
	}
	k.members = append(k.members, kept{m.Name, m.Value, problem.code, problem.message})
}

// choice reads a string of a few. code and message are the problem of any other value but null.
func (k *keptMembers) choice(m ledger.Member, into *string, code, message string) {
	*into = rawjson.Text(m.Value)
	switch {
	case *into != "":
	case rawjson.Kind(m.Value) == 'n':
		k.members = append(k.members, kept{name: m.Name, value: m.Value})
	default:
		k.members = append(k.members, kept{m.Name, m.Value, code, message})
	}
}

// present keeps a null. It reports whether there is anything else to read.
func (k *keptMembers) present(m ledger.Member) bool {
	if rawjson.Kind(m.Value) != 'n' {
		return true
	}
	k.members = append(k.members, kept{name: m.Name, value: m.Value})
	return false
}

// kept adds the problems of kept members whose field is still not set, in the order of names. It
// reports whether it added any.
func (ps *problems) kept(at string, k *keptMembers, names []string, isSet func(name string) bool) bool {
	before := len(ps.list)
	for _, name := range names {
		if m := k.find(name); m != nil && m.code != "" && !isSet(name) {
			ps.add(m.code, at+"/"+name, "%s", m.message)
		}
	}
	return len(ps.list) > before
}

// has reports whether there is a problem at a place.
func (ps *problems) has(pointer string) bool {
	return slices.ContainsFunc(ps.list, func(p Problem) bool { return p.Pointer == pointer })
}
